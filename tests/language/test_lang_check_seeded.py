"""Each static check finds its seeded error, at the line it stands on, and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from kernelcontracts.lang.check import check_library
from kernelcontracts.lang.library import Library, shipped_sources
from kernelcontracts.lang.source import Source

PRC, ORD, CMP, EXC = "core/prc.kc", "core/ord.kc", "core/cmp.kc", "core/exc.kc"
OPS, ROWS, PLANS = "ops/accumulations.kc", "ops/rows.kc", "plans/plans.kc"


@dataclass(frozen=True)
class Seed:
    """An edit of a shipped file, the code it must give, and a text that stands on the reported line."""

    code: str
    file: str
    old: str
    new: str
    at: str
    message: str = ""
    also: frozenset[str] = frozenset()


def shipped(file):
    return next(s for s in shipped_sources() if s.name.endswith(file))


def find(text, words):
    """Find words whatever the layout between them is; return where they begin and end."""
    found = re.search(r"\s+".join(re.escape(word) for word in words.split()), text)
    assert found, f"not in the text: {words}"
    return found.span()


def mutated(file, old, new):
    source = shipped(file)
    start, end = find(source.text, old)
    changed = Source(source.name, f"{source.text[:start]}{new}{source.text[end:]}")
    library, parsed = Library.shipped().with_source(changed)
    assert not [d for d in parsed if d.code == "E0101"], parsed
    return library, changed


def findings(file, old, new):
    library, changed = mutated(file, old, new)
    module = library.files[-1][0].module
    # an operator and a plan are used by the other modules, where nothing may follow from their errors
    modules = None if file in {OPS, ROWS, PLANS} else {module}
    return check_library(library, modules), changed


WORST = "worst   = op.worst\n"
CLOSE = "always     close: output within worst of ref"
SEEDS = [
    # names
    Seed("E0201", PRC, WORST, "worst   = op.worts\n", "op.worts", "`worts` is not defined by the operator"),
    Seed("E0201", PRC, CLOSE, "always     close: output within wurst of ref", "wurst"),
    Seed("E0201", ORD, "breaks close names", "breaks clse names", "breaks clse"),
    Seed("E0201", PRC, "names truncating", "names truncated", "names truncated"),
    Seed("E0201", ORD, "close on gauss, positive,", "close on gaus, positive,", "close on gaus"),
    Seed("E0201", PRC, "rms((output - ref)", "rmse((output - ref)", "rmse"),
    Seed("E0201", PRC, "all(finite(inputs))", "all(finite(inputs, 2))", "finite(inputs, 2)", "takes 1 argument"),
    Seed("E0201", PRC, "r.tail_fraction", "r.tail_frction", "tail_frction"),
    Seed("E0201", CMP, "embeddings({1", "reshapes({1", "reshapes"),
    Seed("E0201", CMP, "fault drop_tail(32)", "fault drop_tial(32)", "drop_tial"),
    Seed("E0201", PLANS, "A, B ~ ints(24)", "A, B ~ intz(24)", "intz(24)"),
    Seed("E0201", PLANS, "X ~ ints(24)", "Y ~ ints(24)", "Y ~ ints(24)"),
    Seed("E0201", ORD, "for op in accumulations", "for op in accumulation", "contract C-ORD-01"),
    Seed("E0201", CMP, "companion C-PRC-01 @1", "companion C-PRC-07 @1", "companion C-PRC-07"),
    Seed(
        "E0201",
        OPS,
        "let mag       = (|A| @ |B|) * pieces",
        "let mag       = (|A| @ |B|) * mag",
        "(|A| @ |B|) * mag",
        "itself",
    ),
    Seed("E0201", ROWS, "plan     kc.plans.softmax @1", "plan     kc.plans.softmx @1", "softmx"),
    # shapes and formats
    Seed("E0202", OPS, "let mag       = (|A| @ |B|) * pieces", "let mag       = (|B| @ |A|) * pieces", "|B| @ |A|"),
    Seed("E0202", OPS, "(A[*l, m, k] * B[*l, k, n])", "(A[*l, k, m] * B[*l, k, n])", "A[*l, k, m]"),
    Seed("E0202", OPS, "sum[i < N](X[*l, i])", "sum[i < N](X[i])", "X[i]", "2 dimensions"),
    Seed(
        "E0204", PRC, "always   sums:    sum(Y, over = N)", "always   sums:    sum(sum(Y, over = N), over = N)", "sums:"
    ),
    Seed("E0203", OPS, "types    Ta, Tb in {f64, f32, f16,", "types    Ta, Tb in {f64, tf32, f16,", "tf32, f16"),
    Seed("E0203", PRC, "maxfinite(output)", "maxfinite(f23)", "maxfinite(f23)", "`f23` is not a format"),
    Seed(
        "E0205", EXC, "      ZERO      => completed and out identical where(op.valid, picked, 0)\n", "", "match policy"
    ),
    Seed("E0205", EXC, "UNDEFINED => true", "UNDEFINED => true\n      WRAP => true", "WRAP => true"),
    Seed("E0205", CMP, "      run_to_run   adds nothing\n", "", "ladder batch"),
    Seed(
        "E0103",
        CMP,
        "companion C-PRC-01 @1",
        "companion C-CMP-03 @1",
        "companion C-CMP-03",
        "itself",
        also=frozenset({"E0201"}),
    ),
    # provenance
    Seed("E0301", PRC, WORST, "worst   = op.worst + |output|\n", "op.worst + |output|", also=frozenset({"W0920"})),
    Seed("E0301", OPS, "* mag + underflow + rounding_out", "* |C| + underflow + rounding_out", "* |C|"),
    Seed(
        "E0302",
        EXC,
        "picked = gather(table, op.safe)",
        "picked = where(completed, gather(table, op.safe), out)",
        "picked = where",
    ),
    Seed("E0302", PRC, "ref = exp(X - top)", "ref = claim.exp_ulp * exp(X - top)", "ref = claim", "claim"),
    Seed(
        "E0303",
        PRC,
        "finite: all(finite(X))\n",
        "finite: all(finite(X)) and all(finite(Y))\n",
        "finite(Y)",
    ),
    Seed("E0303", PRC, "where representable(X + c)", "where all(finite(Y))", "where all(finite(Y))"),
    Seed("E0304", PRC, "rms((output - ref) / typical) <= 1\n", "rms(output - ref) <= rms(output)\n", "rms(output)"),
    Seed(
        "E0304", PRC, "impl(X + c) within 2 * worst of impl(X)", "impl(X + c) within 0.001 rel of impl(X)", "0.001 rel"
    ),
    Seed(
        "E0304", PRC, "always   close:   Y within worst of ref", "always   close:   Y within worst of Y", "worst of Y"
    ),
    Seed("E0304", PRC, "+ 1 ulp + max(minnormal(Y)", "+ 1 ulp at Y + max(minnormal(Y)", "ulp at Y"),
    Seed("E0305", PRC, "always   bounded: all(Y >= 0)", "always   bounded: all(Y >= r.bias)", "r.bias"),
    Seed(
        "E0306",
        ORD,
        "conclude: rate(0.02, 0.99)",
        "conclude: rate(0.02, max(output))",
        "rate(0.02, max(output))",
    ),
    # claims
    Seed(
        "E0401",
        PRC,
        "minnormal(claim.accumulator)) abs\n",
        "minnormal(claim.accumulator)) abs + 1 / claim.exp_ulp rel\n",
        "(gamma(N",
        "loosens",
    ),
    Seed(
        "E0401",
        OPS,
        "sqrt(0.4 * longest) else sqrt(0.4 * longest) + 0.5 * longest",
        "8 * longest else sqrt(0.4 * longest)",
        "error typical",
    ),
    Seed(
        "E0401",
        ORD,
        "op.u_acc <= 1 / 4",
        "op.u_acc <= 1 / 4\n    narrow:   precision(claim.accumulator) <= 11",
        "narrow:",
        "shrinks",
    ),
    Seed(
        "E0401",
        ORD,
        "op.u_acc <= 1 / 4",
        "op.u_acc <= 1 / 4\n    rounds:   claim.acc_rounding == rz",
        "rounds:",
        "choose",
    ),
    Seed("E0401", PRC, "claim.acc_rounding == rne implies", "claim.acc_rounding == rz implies", "unbiased", "escapes"),
    Seed("E0403", PRC, "maxfinite(claim.accumulator)", "maxfinite(claim.acumulator)", "acumulator"),
    Seed(
        "E0403", ORD, "bad      reduction_order = sequential", "bad      reduction_ordr = sequential", "reduction_ordr"
    ),
    Seed("E0404", PRC, "claim.acc_rounding == rne implies", "claim.acc_rounding == rna implies", "== rna"),
    Seed("E0404", PRC, "claiming accumulator = f32", "claiming accumulator = f33", "= f33"),
    Seed(
        "E0404",
        PRC,
        "claimed  stabilization in {max_shift, online",
        "claimed  stabilization in {maxshift, online",
        "maxshift",
    ),
    Seed(
        "E0404",
        "claims/numpy.kc",
        "reduction_order  = unordered by measured",
        "reduction_order  = pairwise(0) by measured",
        "pairwise(0)",
    ),
    Seed(
        "E0406",
        CMP,
        "none         adds nothing\n      run_to_run   adds nothing",
        "run_to_run   adds nothing\n      none         adds nothing",
        "none         adds",
    ),
    Seed(
        "E0406",
        PRC,
        CLOSE,
        f"{CLOSE}\n match mode: claim.acc_rounding {{\n rne => true\n rz => output within worst of ref\n }}",
        "rne => true",
    ),
    # units
    Seed(
        "E0501",
        OPS,
        "* mag + underflow + rounding_out",
        "* |A| + underflow + rounding_out",
        "* |A|",
        also=frozenset({"E0202"}),
    ),
    Seed(
        "E0501",
        OPS,
        "(growth * u_acc * mag)^2 + 0.8",
        "(growth * u_acc * mag)^3 + 0.8",
        "mag)^3",
    ),
    Seed(
        "E0502",
        OPS,
        "2 * terms * tiny + lost",
        "2 * terms * tiny + lost + exp(mag)",
        "exp(mag)",
    ),
    Seed("W0510", ORD, "bound = op.ordered", 'bound = op.ordered + 0.001 abs because budget "agreed"', "0.001 abs"),
    # domain and protocol
    Seed("E0603", PRC, "small_nu: op.longest * op.u_acc <= 1 / 4\n", "", "worst   = op.worst", "accumulator"),
    Seed("E0603", PRC, "small:  (N + 4) * u_acc <= 1 / 4", "small:  N * u_acc <= 1 / 4", "(gamma(N"),
    Seed(
        "E0612",
        PRC,
        "conclude: rate(0.01, 0.99)",
        "conclude: rate(0.0001, 0.99)",
        "0.0001",
    ),
    Seed("W0611", PRC, "small:  (N + 4)", "size:   N <= 65536\n    small:  (N + 4)", "N <= 65536"),
    # calibration and meaning
    Seed("E0701", ORD, "    baseline zeros()\n", "", "calibrate {"),
    Seed("E0702", EXC, "    bad      negative_index = wrap breaks policy names wraps\n", "", "calibrate {"),
    Seed("W0920", ORD, "bound = op.ordered", "bound = 2 * op.ordered", "2 * op.ordered"),
    Seed("E0901", PRC, "always   bounded: all(Y >= 0)", "always   bounded: true", "bounded: true"),
    Seed(
        "E0901",
        PRC,
        "+ max(minnormal(Y), minnormal(claim.accumulator)) abs\n",
        "+ 2 * maxfinite(f32) abs\n",
        "(gamma(N",
    ),
    Seed(
        "E0901",
        PRC,
        "always   bounded: all(Y >= 0)",
        "always   bounded: claim.stabilization == none implies all(Y >= 0)",
        "bounded:",
    ),
]


@pytest.mark.parametrize(
    "seed", SEEDS, ids=lambda s: f"{s.code}-{s.file.split('/')[1]}-{s.new.strip()[:32] or s.old.strip()[:32]}"
)
def test_a_seeded_error_is_found_at_its_line_and_nothing_follows_from_it(seed):
    found, changed = findings(seed.file, seed.old, seed.new)
    hits = [d for d in found if d.code == seed.code]
    assert hits, [(d.code, d.line, d.message) for d in found]
    line = changed.position(find(changed.text, seed.at)[0])[0]
    assert line in {d.line for d in hits}, [(d.line, d.message, d.label) for d in hits]
    assert {d.code for d in found} - seed.also == {seed.code}, [(d.code, d.line, d.message) for d in found]
    said = " ".join((*(d.message for d in hits), *(d.label for d in hits), *(n for d in hits for n in d.notes)))
    assert seed.message in said


def test_the_shipped_library_has_no_errors_and_no_warnings():
    assert check_library(Library.shipped()) == ()
