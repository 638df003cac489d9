"""Check kernels that keep their promises, and count how many are convicted all the same: none may be.

The kernels are emulators under claims that are their own switches, drawn at random over decisions, formats and
seeds, and the real kernels of NumPy (and PyTorch, where it can be imported) under their shipped claim sheets. Every
run is one contract on a part of its plan, redrawn from a seed of its own. Run ``i`` is the same on every machine, so
that a log can be continued, and any line of it repeated with ``--only i``.

    python benchmarks/no_false_conviction.py --runs 240 --seconds 1200 --log runs.jsonl

Exit status: 0 without a conviction, 1 with one, 2 for a log that is not one of this script.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import random
import sys
import time
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelcontracts.cli.threads import load_numpy_with_one_thread

load_numpy_with_one_thread()

import numpy as np  # noqa: E402  # the line above decides how many threads its BLAS has

from kernelcontracts.engine.contract import check_contract  # noqa: E402
from kernelcontracts.engine.plan import make_plan  # noqa: E402
from kernelcontracts.engine.run import Candidate  # noqa: E402
from kernelcontracts.kernels.address import parse_address  # noqa: E402
from kernelcontracts.kernels.observation import Observation, Outcome  # noqa: E402
from kernelcontracts.kernels.session import open_session  # noqa: E402
from kernelcontracts.lang.claims import claims_for, tensors_named  # noqa: E402
from kernelcontracts.lang.decisions import representatives  # noqa: E402
from kernelcontracts.lang.instance import instances_for  # noqa: E402
from kernelcontracts.lang.library import Library  # noqa: E402
from kernelcontracts.operators.emulate import OperatorRaised, emulate  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelcontracts.engine.contract import Outcome as Found
    from kernelcontracts.engine.plan import Plan
    from kernelcontracts.lang.decl import Operator
    from kernelcontracts.lang.instance import Instance

OPERATORS = ("matmul", "reduce_sum", "softmax", "gather_rows")
REAL_SHARE = 4
"""Every fourth run asks a real kernel."""

THINNED = 6
"""Which share of a plan's cases one run takes; its offset is drawn, so that runs together see the whole plan."""

REAL_TYPES = {
    "numpy": {
        "matmul": ("f32", "f16"),
        "reduce_sum": ("f32", "f16"),
        "softmax": ("f32", "f16"),
        "gather_rows": ("f32", "f16"),
    },
    "torch": dict.fromkeys(OPERATORS, ("f32", "f16", "bf16")),
}
"""The typings that the shipped claim sheets speak about, one format for all tensors."""


@dataclasses.dataclass(frozen=True, slots=True)
class Emulated:
    """An emulator in this process: much faster than a worker, and as honest."""

    operator: Operator
    decisions: Mapping[str, Any]
    calls: list[int] = dataclasses.field(default_factory=lambda: [0])

    def call(self, inputs: Mapping[str, Any], *, types: Mapping[str, str], **_: Any) -> Observation:
        """Answer one call, as a kernel that touches nothing but its output."""
        self.calls[0] += 1
        try:
            outputs = emulate(self.operator.name, inputs, types, self.decisions, call=self.calls[0])
        except OperatorRaised as error:
            return Observation(Outcome.RAISED, kind="IndexError", message=str(error), **_manners(self.operator))
        return Observation(Outcome.COMPLETED, outputs=outputs, owned=True, **_manners(self.operator))


def _manners(operator: Operator) -> dict[str, Any]:
    names = [p.name for p in (*operator.inputs, *operator.outputs)]
    inputs = {p.name: True for p in operator.inputs}
    return {"inputs_unchanged": inputs, "guards_unchanged": dict.fromkeys(names, True)}


@dataclasses.dataclass(frozen=True, slots=True)
class Subject:
    """One run: a kernel with its true claims, a contract, a typing, and what the inputs are drawn from."""

    kernel: str
    instance: Instance
    types: Mapping[str, str]
    claims: Mapping[str, Any]
    seed: int
    offset: int


def subject(number: int, library: Library) -> Subject:
    """Draw run ``number``; the same wherever it is drawn."""
    rng = random.Random(f"no false conviction {number}")
    operator = library.operator(rng.choice(OPERATORS)).declaration
    real = number % REAL_SHARE == 0
    names = ["numpy", *(["torch"] if importlib.util.find_spec("torch") else [])]
    adapter = rng.choice(names) if real else "emulator"
    seed, offset = rng.randrange(2**32), rng.randrange(THINNED)
    instance = rng.choice(instances_for(library, operator.name))
    if real:
        types = _one_format(operator, rng.choice(REAL_TYPES[adapter][operator.name]))
        sheets = [s.declaration for s in library.claim_sheets if s.declaration.name == adapter]
        claims: Mapping[str, Any] = claims_for(sheets, operator, types).values
    else:
        types = _typing(operator, instance, rng)
        claims = _decisions(operator, instance, rng)
    return Subject(f"{adapter}:{operator.name}", instance, types, claims, seed, offset)


def _one_format(operator: Operator, fmt: str) -> dict[str, str]:
    return {p.name: "i64" if p.element == "i64" else fmt for p in (*operator.inputs, *operator.outputs)}


def _typing(operator: Operator, instance: Instance, rng: random.Random) -> dict[str, str]:
    """Draw a typing inside the contract's scope and the operator's signature."""
    scope = {
        tensor: typing.formats
        for typing in instance.contract.scope.types
        for name in typing.names
        for tensor in tensors_named(operator, name)
    }
    elements: dict[str, str] = {"i64": "i64"}
    types = {}
    for p in (*operator.inputs, *operator.outputs):
        if p.element not in elements:
            elements[p.element] = rng.choice(scope[p.name])
        types[p.name] = elements[p.element]
    return types


def _decisions(operator: Operator, instance: Instance, rng: random.Random) -> dict[str, Any]:
    """Draw a value of every decision that the contract admits; half of the values are those of common kernels."""
    allowed = {}
    for predicate in instance.contract.scope.claimed:
        allowed[predicate.item.id] = {item.id for item in predicate.domain.items}
    drawn = {}
    for decision in operator.decisions:
        values = [
            v for v in representatives(decision) if decision.name not in allowed or str(v) in allowed[decision.name]
        ]
        if decision.name == "determinism":
            values = [v for v in values if str(v) not in ("cross_device", "none", "run_to_run")] + values[-1:]
        drawn[decision.name] = rng.choice(values)
    return drawn


def run(subject: Subject, *, whole: bool = False) -> tuple[Plan, Found]:
    """Check one kernel against one contract on a part of its plan."""
    plan = make_plan(subject.instance, subject.types, run_seed=subject.seed, redraw=True)
    if not whole:
        plan = dataclasses.replace(plan, cases=plan.cases[subject.offset :: THINNED])
    operator = subject.instance.operator
    emulated = subject.kernel.startswith("emulator:")
    caller = (
        nullcontext(Emulated(operator, subject.claims))
        if emulated
        else open_session(parse_address(subject.kernel), operator)
    )
    with caller as asked:
        return plan, check_contract(plan, Candidate(asked, plan), subject.claims, enough=1)


def line_of(number: int, subject: Subject, found: Found, seconds: float) -> dict[str, Any]:
    """Return what a run found, as a line of the log."""
    concluded = found.conclusion
    failure = found.run.failures[0] if found.run is not None and found.run.failures else None
    return {
        "run": number,
        "kernel": subject.kernel,
        "contract": subject.instance.id,
        "types": dict(subject.types),
        "claims": {name: str(value) for name, value in subject.claims.items()},
        "seed": subject.seed,
        "verdict": concluded.verdict.value,
        "clause": concluded.clause,
        "reason": concluded.reason,
        "cases": found.run.cases if found.run is not None else 0,
        "margin": max((c.margin.hi.value for c in concluded.clauses if c.margin), default=0.0).hex(),
        "case": None if failure is None else f"{failure.planned.cell()} {failure.planned.seed} {failure.finding}",
        "seconds": round(seconds, 1),
    }


def done_before(log: Path | None) -> dict[int, dict[str, Any]]:
    """Return the runs that a log holds, by number; a last line cut short is left out."""
    found: dict[int, dict[str, Any]] = {}
    if log is None or not log.exists():
        return found
    lines = log.read_text("utf-8").splitlines()
    for place, text in enumerate(lines):
        try:
            line = json.loads(text)
            found[line["run"]] = line
        except (ValueError, KeyError, TypeError):
            if place < len(lines) - 1:
                print(f"`{log}` is not a log of this script: line {place + 1}", file=sys.stderr)
                sys.exit(2)
    return found


def runs(args: argparse.Namespace, known: Mapping[int, Any], library: Library) -> Iterator[dict[str, Any]]:
    """Yield the runs that are still to be made, until the time is spent."""
    numbers = range(args.only, args.only + 1) if args.only is not None else range(args.runs)
    end = time.monotonic() + args.seconds
    for number in numbers:
        if number in known and args.only is None:
            continue
        if time.monotonic() > end:
            return
        drawn, began = subject(number, library), time.monotonic()
        _, found = run(drawn, whole=args.whole)
        yield line_of(number, drawn, found, time.monotonic() - began)


def main() -> int:
    """Run, print the counts, and answer with the exit status."""
    parser = argparse.ArgumentParser(description="Check honest kernels and count convictions.")
    parser.add_argument("--runs", type=int, default=240, help="how many runs there are in all")
    parser.add_argument("--seconds", type=float, default=1200.0, help="when to stop starting runs")
    parser.add_argument("--log", type=Path, help="a file of JSON lines: runs in it are not made again")
    parser.add_argument("--only", type=int, help="make this run alone, whatever the log says")
    parser.add_argument("--whole", action="store_true", help="take every case of the plan, not a part")
    args = parser.parse_args()
    known = done_before(args.log)
    made = dict(known) if args.only is None else {}
    with np.errstate(all="ignore"):
        for line in runs(args, known, Library.shipped()):
            made[line["run"]] = line
            if args.log is not None:
                with args.log.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(line) + "\n")
            if args.only is not None or line["verdict"] == "violate":
                print(json.dumps(line), flush=True)
    return summary(made)


def summary(made: Mapping[int, dict[str, Any]]) -> int:
    """Print the counts; 1 if a kernel was convicted."""
    verdicts = Counter(line["verdict"] for line in made.values())
    # a part of a plan never reaches the promised number of cases; what matters is that no clause was undecided
    clauses = sum(line["verdict"] == "undecided" and line["clause"] is not None for line in made.values())
    cases = sum(line["cases"] for line in made.values())
    kernels = Counter(line["kernel"].partition(":")[0] for line in made.values())
    print(f"runs         {len(made)} ({', '.join(f'{n} {k}' for k, n in sorted(kernels.items()))}), {cases} cases")
    print(f"convictions  {verdicts['violate']}")
    print(f"undecided    {clauses} by a clause, {verdicts['undecided'] - clauses} for want of cases alone")
    print(f"others       conform {verdicts['conform']}, out of contract {verdicts['out_of_contract']}")
    return 1 if verdicts["violate"] else 0


if __name__ == "__main__":
    sys.exit(main())
