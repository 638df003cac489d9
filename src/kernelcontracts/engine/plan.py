"""The plan of a check: a pure value that lists every case, the same on every machine.

A case is named by its stratum, shape and seed; its random inputs come from a counter-based generator keyed by
the plan's hash, the typing and that name, so one case can be drawn again alone, anywhere, bit for bit. Claims
are not part of the key: nothing a vendor says moves the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING

from kernelcontracts.lang.decl import OnAverage
from kernelcontracts.lang.expr import Call, Number
from kernelcontracts.strata.shapes import shapes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelcontracts.lang.decl import Stratum
    from kernelcontracts.lang.expr import Expr
    from kernelcontracts.lang.instance import Instance

ShapeMap = "Mapping[str, int | tuple[int, ...]]"


@dataclass(frozen=True, slots=True)
class PlannedCase:
    """One case by name.

    Attributes
    ----------
    index
        Its place in the plan; negative for cases added for averages.
    stratum, shape
        Where its inputs come from and how large they are.
    seed
        The text that tells it from its siblings.
    statistical
        Whether it was added for a clause that speaks about averages.
    """

    index: int
    stratum: Stratum
    shape: Mapping[str, int | tuple[int, ...]]
    seed: str
    statistical: bool = False

    def cell(self) -> str:
        """Return the (stratum, shape) cell in words."""
        return f"{self.stratum.name} at {shape_text(self.shape)}"


@dataclass(frozen=True, slots=True)
class Plan:
    """All cases of one contract for one typing, in order, and the rate they are to establish.

    Attributes
    ----------
    hash
        Of everything that decides the inputs.
    promised
        The failure rate ``p`` and the confidence ``c`` of ``conclude: rate(p, c)``.
    """

    instance: Instance
    types: Mapping[str, str]
    run_seed: int
    fresh: bool
    hash: str
    cases: tuple[PlannedCase, ...]
    averages: tuple[PlannedCase, ...]
    promised: tuple[float, float]

    def key(self, case: PlannedCase) -> bytes:
        """Return the key from which a case's inputs are drawn."""
        text = "\0".join((self.hash, case.stratum.name, shape_text(case.shape), case.seed))
        return sha256(text.encode()).digest()

    def more_cases(self, round_: int) -> tuple[PlannedCase, ...]:
        """Return the plan's cells once more, with seeds not used before: for cells that do not exist to be made up."""
        base = len(self.cases) * round_
        return tuple(
            PlannedCase(base + i, case.stratum, case.shape, f"{case.seed}+{round_}")
            for i, case in enumerate(self.cases)
        )

    def more_averages(self, round_: int) -> tuple[PlannedCase, ...]:
        """Return further cases of the statistical cells: the same cells with seeds not used before."""
        base = -1 - len(self.averages) * round_
        return tuple(
            PlannedCase(base - i, case.stratum, case.shape, f"{case.seed}+{round_}", statistical=True)
            for i, case in enumerate(self.averages)
        )


def shape_text(shape: Mapping[str, int | tuple[int, ...]]) -> str:
    """Return a shape in words: ``L=() M=3 N=4``."""
    return " ".join(
        f"{name}={'x'.join(map(str, size)) or '()' if isinstance(size, tuple) else size}"
        for name, size in shape.items()
    )


def make_plan(instance: Instance, types: Mapping[str, str], *, run_seed: int, redraw: bool = False) -> Plan:
    """List the cases of a contract for one typing.

    Parameters
    ----------
    run_seed
        What ``fresh`` seeds are drawn from.
    redraw
        Draw every seed from ``run_seed``, not the fresh ones alone.
    """
    settings = {setting.label: setting.value for setting in instance.settings}
    fresh = redraw or _is_fresh(settings["seeds"])
    typing = " ".join(f"{name}:{fmt}" for name, fmt in sorted(types.items()))
    key = sha256(f"{instance.plan_hash}\0{typing}\0{run_seed if fresh else ''}".encode()).hexdigest()
    cases = tuple(_cases(instance, settings["shapes"], settings["seeds"], instance.strata, key, "s"))
    averages: tuple[PlannedCase, ...] = ()
    names = _averaged(instance)
    if names and "average_over" in settings:
        strata = tuple(s for s in instance.strata if s.name in names)
        drawn = _cases(instance, settings["average_over"], settings["average_seeds"], strata, key, "a")
        averages = tuple(replace(case, index=-1 - case.index) for case in drawn)
    return Plan(instance, types, run_seed, fresh, key, cases, averages, _promised(settings))


def _averaged(instance: Instance) -> set[str]:
    """Return the strata that statistical clauses look at."""
    clauses = [c for c in instance.contract.post or () if isinstance(c, OnAverage)]
    every = {s.name for s in instance.strata}
    return {name for clause in clauses for name in (clause.strata or every)}


def _cases(
    instance: Instance,
    shape_rule: Expr,
    seed_rule: Expr,
    strata: tuple[Stratum, ...],
    key: str,
    tag: str,
) -> Iterator[PlannedCase]:
    count, start = _seeds(seed_rule)
    index = 0
    sizes = shapes(shape_rule, operator=instance.operator, seed_words=bytes.fromhex(key))
    for stratum in strata:
        weight = 1 if tag == "a" else stratum.weight
        for shape in sizes:
            for number in range(count * weight):
                yield PlannedCase(index, stratum, shape, f"{tag}{start + number}", statistical=tag == "a")
                index += 1


def _is_fresh(rule: Expr) -> bool:
    return isinstance(rule, Call) and rule.function == "fresh"


def _seeds(rule: Expr) -> tuple[int, int]:
    assert isinstance(rule, Call)
    count = rule.args[0]
    start = dict(rule.kwargs).get("start")
    assert isinstance(count, Number)
    return int(count.value), int(start.value) if isinstance(start, Number) else 0


def _promised(settings: Mapping[str, Expr]) -> tuple[float, float]:
    rule = settings["conclude"]
    assert isinstance(rule, Call)
    p, c = rule.args
    assert isinstance(p, Number)
    assert isinstance(c, Number)
    return float(p.value), float(c.value)
