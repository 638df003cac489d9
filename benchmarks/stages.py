"""Where the time of a check goes, what a reference costs, and how fast the language is parsed.

    python benchmarks/stages.py                      # tables
    python benchmarks/stages.py --json stages.json   # and the same numbers as JSON

Three tables:

* **stages**: one contract on one kernel, case by case: drawing inputs, the candidate's call (with the copying to its
  process), the reference, then preconditions, tolerances and clauses together; the start of the worker, and what is
  left over, apart.
* **reference**: the enclosing reference of an n x n f32 product against NumPy's float64 product of the same size,
  measured in turn in one process with one BLAS thread, medians of several.
* **parser**: the shipped library, in kB/s, without the cache.
"""

# ruff: noqa: E402  # the BLAS reads its number of threads once, when NumPy is imported
from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from statistics import median
from time import perf_counter

from kernelcontracts.cli.threads import load_numpy_with_one_thread

load_numpy_with_one_thread()

import numpy as np

from kernelcontracts.check.claims import gather_claims
from kernelcontracts.check.request import resolve
from kernelcontracts.engine.judge import Judge, alternatives
from kernelcontracts.engine.plan import make_plan
from kernelcontracts.engine.run import Candidate, draw_case
from kernelcontracts.evaluate.case import Case
from kernelcontracts.evaluate.expressions import reference
from kernelcontracts.evaluate.meaning import meaning_of
from kernelcontracts.kernels.session import Limits, open_session
from kernelcontracts.lang.library import Library, shipped_sources
from kernelcontracts.lang.parse import parse
from kernelcontracts.strata.errors import NotApplicable

STAGES = ("draw", "candidate", "reference", "clauses")
SIZES = (256, 512, 1024, 2048)


def stages(kernel: str, contract: str, step: int) -> dict[str, float]:
    """Measure every ``step``-th case of a contract; return seconds by stage, with the total and the number of cases."""
    began = perf_counter()
    request = resolve(kernel, library=Library.shipped(), contracts=(contract,), seed=1, redraw=True)
    (instance,) = request.instances
    claims = gather_claims(request, file=None, assignments=()).values
    plan = make_plan(instance, request.types, run_seed=1, redraw=True)
    judge = Judge(instance, alternatives(instance, claims))
    spent = dict.fromkeys(STAGES, 0.0)
    cases = 0
    opening = perf_counter()
    with open_session(request.address, request.operator, limits=Limits()) as session:
        started = perf_counter() - opening
        candidate = Candidate(session, plan)
        for planned in plan.cases[::step]:
            times = [perf_counter()]
            try:
                case = draw_case(plan, planned)
            except NotApplicable:
                continue
            times.append(perf_counter())
            observed = candidate.observe(case)
            times.append(perf_counter())
            scopes = judge.scopes(case)
            reference(scopes[0])
            times.append(perf_counter())
            if not judge.rejected(case, scopes):
                list(judge.findings(planned, scopes, observed))
            times.append(perf_counter())
            cases += 1
            for name, begin, end in zip(STAGES, times, times[1:], strict=False):
                spent[name] += end - begin
    total = perf_counter() - began
    rest = total - started - sum(spent.values())
    return {**spent, "worker start": started, "rest": rest, "total": total, "cases": float(cases)}


def reference_ratio(n: int, times: int) -> dict[str, float]:
    """Measure the reference of an n x n product, and the float64 product of the same numbers, in turn."""
    operator = Library.shipped().operator("matmul").declaration
    rng = np.random.default_rng(n)
    inputs = {name: rng.standard_normal((n, n), dtype=np.float32) for name in ("A", "B")}
    wide = [inputs[name].astype(np.float64) for name in ("A", "B")]
    types = {"A": "f32", "B": "f32", "C": "f32"}
    shape: dict[str, int | tuple[int, ...]] = {"L": (), "M": n, "K": n, "N": n}
    ours, blas = [], []
    for _ in range(times):
        begin = perf_counter()
        wide[0] @ wide[1]
        middle = perf_counter()
        meaning_of(Case(operator, types, shape, inputs))
        ours.append(perf_counter() - middle)
        blas.append(middle - begin)
    return {"n": float(n), "reference": median(ours), "dgemm": median(blas), "ratio": median(ours) / median(blas)}


def parser_speed(times: int) -> dict[str, float]:
    """Return the shipped library's size in kB and the median speed in kB/s; the first run is not counted."""
    sources = shipped_sources()
    size = sum(len(source.text.encode()) for source in sources) / 1000
    seconds = []
    for _ in range(times + 1):
        begin = perf_counter()
        for source in sources:
            parse(source)
        seconds.append(perf_counter() - begin)
    return {"kB": size, "kB/s": size / median(seconds[1:])}


def show_stages(name: str, spent: dict[str, float]) -> None:
    cases, total = int(spent["cases"]), spent["total"]
    print(f"\nstages of {name}, {cases} cases, {total:.2f} s")
    for stage in (*STAGES, "worker start", "rest"):
        print(f"  {stage:12}  {spent[stage]:8.3f} s  {100 * spent[stage] / total:5.1f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--times", type=int, default=5, help="repetitions behind each median")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="sizes of the products")
    parser.add_argument("--step", type=int, default=4, help="measure every so many cases of a plan")
    options = parser.parse_args()
    load = os.getloadavg()
    print(f"{os.cpu_count()} cores, load {load[0]:.1f} before the start, numpy {np.__version__}")

    checked = [("numpy:matmul", "C-PRC-01"), ("numpy:matmul", "C-CMP-03"), ("numpy:softmax", "C-PRC-02-SOFTMAX")]
    by_check = {f"{kernel} {contract}": stages(kernel, contract, options.step) for kernel, contract in checked}
    for name, spent in by_check.items():
        show_stages(name, spent)

    ratios = [reference_ratio(n, options.times) for n in options.sizes]
    print("\nreference of an n x n f32 product against a float64 product")
    for row in ratios:
        print(f"  n = {int(row['n']):5}  {row['reference']:8.4f} s  {row['dgemm']:8.4f} s  ratio {row['ratio']:6.2f}")

    speed = parser_speed(options.times)
    print(f"\nparser: {speed['kB/s']:.0f} kB/s on the shipped library of {speed['kB']:.1f} kB")
    if options.json:
        found = {"load": load, "stages": by_check, "reference": ratios, "parser": speed}
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
