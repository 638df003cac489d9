"""What a failed assertion says, in the shape users know from ``torch.testing.assert_close``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kernelcontracts.assertions.subject import finished
from kernelcontracts.engine.judge import Judge
from kernelcontracts.engine.plan import PlannedCase
from kernelcontracts.engine.tally import Failure, Finding
from kernelcontracts.engine.witness import explained
from kernelcontracts.evaluate.dependence import nodes
from kernelcontracts.lang.expr import Member, Name
from kernelcontracts.lang.printer import print_expr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernelcontracts.assertions.subject import Subject
    from kernelcontracts.evaluate.field import Margins
    from kernelcontracts.lang.decl import Always
    from kernelcontracts.lang.instance import Instance
    from kernelcontracts.lang.values import ClaimValue


def describe(
    instance: Instance, clause: Always, margins: Margins, subject: Subject, reading: Mapping[str, ClaimValue]
) -> str:
    """Return the message of a violated or undecided clause."""
    wrong = margins.lo > 1
    lines = [f"`{subject.operator.name}` output does not conform to {instance.id}#{clause.label}", ""]
    if not wrong.any():
        lines[0] = f"{instance.id}#{clause.label} cannot be decided: the reference is too wide"
    elif margins.dims == subject.case.output_dims():
        lines += _elements(instance, clause, margins, subject, reading)
    lines.append(f"Clause: {print_expr(clause.predicate)}")
    lines += [f"Bound: {text}" for text in _bounds(instance, clause)]
    lines.append(f"Formats: {_pairs(subject.types)}")
    lines.append(f"Claims: {_pairs({n: str(reading[n]) for n in instance.needs if n in reading})}")
    return "\n".join(lines)


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in values.items())


def _elements(
    instance: Instance, clause: Always, margins: Margins, subject: Subject, reading: Mapping[str, ClaimValue]
) -> list[str]:
    wrong = margins.lo > 1
    count, total = int(wrong.sum()), wrong.size
    index = tuple(int(i) for i in np.unravel_index(int(margins.lo.argmax()), margins.lo.shape))
    lines = [f"Mismatched elements: {count} / {total} ({100 * count / total:.1f}%)"]
    found = _numbers(instance, clause, index, subject, reading)
    lines.append(f"Greatest margin: {margins.lo[index]:.6g} at index {index} (up to 1 allowed)")
    if found.got is not None and found.expected is not None:
        lines.append(f"Got {found.got!r} ({found.got.hex()}), expected {found.expected!r} ({found.expected.hex()})")
    if found.tolerance is not None and found.got is not None and found.expected is not None:
        lines.append(f"Absolute difference: {abs(found.got - found.expected)!r} (up to {found.tolerance!r} allowed)")
    return lines


def _numbers(
    instance: Instance, clause: Always, index: tuple[int, ...], subject: Subject, reading: Mapping[str, ClaimValue]
) -> Finding:
    judge = Judge(instance, (reading,))
    planned = PlannedCase(0, instance.strata[0], subject.case.shape, "")
    finding = Finding(clause.label, np.inf, np.inf, index)
    return explained(judge, Failure(planned, subject.case, finished(subject.case, subject.output), finding))


def _bounds(instance: Instance, clause: Always) -> list[str]:
    """Return the definitions of the tolerances a clause names."""
    errors = {bound.name: bound for bound in instance.operator.errors}
    found = []
    for bound in instance.contract.tolerance or ():
        if Name(bound.name) not in list(nodes(clause.predicate)):
            continue
        member = bound.value
        source = errors.get(member.name) if isinstance(member, Member) else bound
        if source is not None:
            why = f"  ({source.because.text})" if source.because else ""
            found.append(f"{bound.name} = {print_expr(source.value)}{why}")
    return found
