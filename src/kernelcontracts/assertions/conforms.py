"""The assertion, and the error it raises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernelcontracts.assertions.arrays import to_numpy
from kernelcontracts.assertions.message import describe
from kernelcontracts.assertions.subject import Subject, finished, plain_reading, subject_of
from kernelcontracts.engine.domain import in_order, outside_types
from kernelcontracts.engine.judge import Judge, outside_claims
from kernelcontracts.evaluate.connectives import margins_of
from kernelcontracts.evaluate.dependence import nodes
from kernelcontracts.evaluate.expressions import evaluate
from kernelcontracts.evaluate.meaning import sharpen
from kernelcontracts.lang.claims import from_literal
from kernelcontracts.lang.decisions import ClaimError
from kernelcontracts.lang.decl import Always
from kernelcontracts.lang.expr import Call, Name
from kernelcontracts.lang.instance import instances_for
from kernelcontracts.lang.library import Library
from kernelcontracts.lang.values import Unspecified

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kernelcontracts.evaluate.field import Margins
    from kernelcontracts.lang.decl import Operator
    from kernelcontracts.lang.instance import Instance
    from kernelcontracts.lang.values import ClaimValue


class ConformanceError(AssertionError):
    """An output that breaks a contract, or inputs about which no contract says anything.

    To accept the output, either correct the kernel or claim what it really does: ``accumulator="f16"``,
    ``operand_rounding="to(tf32)"``. The message names the claims that were used.
    """


NEEDS_CALLS = frozenset({"impl", "under", "identical_over", "unchanged", "guard", "raised"})
"""What only a running candidate can answer; clauses that ask for it are not judged here."""


def assert_conforms(
    output: Any,
    *,
    operator: str,
    inputs: Sequence[Any],
    claims: Mapping[str, str | int] | None = None,
    msg: str | None = None,
) -> None:
    """Assert that an output is one its operator may return for these inputs, under what is claimed.

    The tolerance is derived from the formats, the claims and the inputs; there is none to choose.

    Parameters
    ----------
    output
        The kernel's result: a NumPy array or a torch tensor.
    operator
        ``matmul``, ``reduce_sum``, ``softmax`` or ``gather_rows``.
    inputs
        The operator's inputs, in order, in the formats the kernel was given.
    claims
        Decision to value, ``{"accumulator": "f32"}``. What is not claimed takes the plain reading: an f32
        accumulator, round to nearest, operands as given, subnormals preserved, a shifted softmax.
    msg
        Put before the message of a failure.

    Raises
    ------
    ConformanceError
        If a clause is violated, cannot be decided, or the inputs lie outside every contract's domain.
    TypeError
        If an argument is no array of a known format.
    ValueError
        If the operator, a claim or the shapes make no sense.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.ones((2, 3), np.float32)
    >>> b = np.ones((3, 2), np.float32)
    >>> assert_conforms(a @ b, operator="matmul", inputs=(a, b), claims={"accumulator": "f32"})
    """
    __tracebackhide__ = True
    library = Library.shipped()
    arrays = [to_numpy(value, f"inputs[{i}]") for i, value in enumerate(inputs)]
    result = to_numpy(output, "output")
    subject = subject_of(library, operator, arrays, result)
    reading = plain_reading(subject.operator) | _definite(claims or {}, subject.operator)
    problem = _judge(library, subject, reading)
    if problem is not None:
        raise ConformanceError(f"{msg}\n\n{problem}" if msg else problem)


def _definite(claims: Mapping[str, str | int], operator: Operator) -> dict[str, ClaimValue]:
    """Read claims; an assertion has nothing to say about a decision that is left open."""
    try:
        read = from_literal(claims, operator)
    except ClaimError as error:
        raise ValueError(f"{error}; {error.hint}" if error.hint else str(error)) from error
    return {name: value for name, value in read.items() if not isinstance(value, Unspecified)}


def _judge(library: Library, subject: Subject, reading: Mapping[str, ClaimValue]) -> str | None:
    """Return what is wrong, or ``None``."""
    reasons = []
    judged = 0
    for instance in in_order(instances_for(library, subject.operator.name)):
        why = _outside(instance, subject, reading)
        if why:
            reasons.append(f"{instance.id}: {why}")
            continue
        for clause, margins in _judged(instance, subject, reading):
            judged += 1
            if not bool((margins.hi <= 1).all()):
                return describe(instance, clause, margins, subject, reading)
    if not judged:
        return "no contract says anything about these inputs under these claims:\n  " + "\n  ".join(reasons)
    return None


def _outside(instance: Instance, subject: Subject, reading: Mapping[str, ClaimValue]) -> str:
    why = outside_types(instance, subject.types)
    if why:
        return why
    lacking = outside_claims(instance, reading)
    if lacking:
        return f"the contract asks that `{lacking}` be claimed"
    judge = Judge(instance, (reading,))
    why = judge.admits(judge.scopes(subject.case)[0])
    return f"precondition `{why}` does not hold" if why else ""


def _judged(
    instance: Instance, subject: Subject, reading: Mapping[str, ClaimValue]
) -> Iterator[tuple[Always, Margins]]:
    """Yield the margins of every clause that one finished call can answer, whatever the inputs."""
    judge = Judge(instance, (reading,))
    scope = judge.scopes(subject.case)[0].observing(finished(subject.case, subject.output))
    for clause in instance.contract.post or ():
        if isinstance(clause, Always) and not _asks_candidate(clause):
            margins = margins_of(evaluate(clause.predicate, scope))
            if ((margins.lo <= 1) & (margins.hi > 1)).any() and sharpen(subject.case):
                scope.cache.clear()
                margins = margins_of(evaluate(clause.predicate, scope))
            yield clause, margins


def _asks_candidate(clause: Always) -> bool:
    return any(
        (isinstance(node, Call) and node.function in NEEDS_CALLS) or (isinstance(node, Name) and node.id in NEEDS_CALLS)
        for node in nodes(clause.predicate)
    )
