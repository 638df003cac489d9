"""What ``kc plan`` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelcontracts.engine.plan import shape_text
from kernelcontracts.stats.coverage import required_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kernelcontracts.engine.plan import Plan


def plan_lines(plan: Plan, *, every: bool) -> Iterator[str]:
    """Yield a plan in words: one line per stratum, or per case."""
    p, c = plan.promised
    instance = plan.instance
    typing = " ".join(f"{name}={fmt}" for name, fmt in plan.types.items())
    yield f"{instance.id} @{instance.version}  {typing}"
    yield f"  plan      {plan.hash}"
    yield f"  needs     {', '.join(instance.needs)}"
    drawn = f"from seed {plan.run_seed}" if plan.fresh else "from the plan's own seeds"
    yield f"  cases     {len(plan.cases)} (and {len(plan.averages)} for averages), {drawn}"
    yield f"  promises  at most {p:g} failures at {c:.0%} confidence, which needs {required_cases(p, c)} cases"
    if every:
        for case in (*plan.cases, *plan.averages):
            yield f"  {case.index:6d}  {case.stratum.name:14s} {shape_text(case.shape)}  {case.seed}"
        return
    for stratum in instance.strata:
        mine = [case for case in plan.cases if case.stratum is stratum]
        sizes = {shape_text(case.shape) for case in mine}
        yield f"  {stratum.name:14s} {len(mine):5d} cases over {len(sizes)} shapes"
