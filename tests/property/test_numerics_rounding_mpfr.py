"""Rounding against MPFR, an independent implementation of correct rounding."""

from __future__ import annotations

import gmpy2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelcontracts.formats.facts import BF16, F8E5M2, F16, F32, F64, TF32, accumulator_format
from kernelcontracts.numerics.rounding import round_to, ulp

FORMATS = [F64, F32, TF32, F16, BF16, F8E5M2, accumulator_format("f32", 13), accumulator_format("f64", 30)]
MODES = {
    "rne": gmpy2.RoundToNearest,
    "rz": gmpy2.RoundToZero,
    "ru": gmpy2.RoundUp,
    "rd": gmpy2.RoundDown,
}


def by_mpfr(x, fmt, mode):
    """Round in MPFR, whose exponents count a significand in [1/2, 1)."""
    target = gmpy2.context(
        precision=fmt.precision, emin=fmt.lsb_min + 1, emax=fmt.emax + 1, subnormalize=True, round=MODES[mode]
    )
    with gmpy2.context(precision=53):
        wide = gmpy2.mpfr(x)
    return float(target.plus(wide))


def agree(a, b):
    return (a == b and np.signbit(a) == np.signbit(b)) or bool(np.isnan(a) and np.isnan(b))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fmt", FORMATS, ids=str)
@settings(deadline=None, max_examples=60)
@given(pattern=st.integers(0, 2**64 - 1))
def test_any_bit_pattern_rounds_as_mpfr_does(fmt, mode, pattern):
    x = np.array([pattern], np.uint64).view(np.float64)
    assert agree(float(round_to(x, fmt, mode)[0]), by_mpfr(float(x[0]), fmt, mode))


@pytest.mark.parametrize("fmt", FORMATS[1:], ids=str)
@settings(deadline=None, max_examples=80)
@given(
    significand=st.floats(-2, 2),
    place=st.integers(0, 10_000),
    nudge=st.sampled_from([0.0, 2.0**-60, -(2.0**-60), 2.0**-30, -(2.0**-30)]),
    mode=st.sampled_from(list(MODES)),
)
def test_ties_and_near_ties_round_as_mpfr_does(fmt, significand, place, nudge, mode):
    exponent = fmt.lsb_min - 2 + place % (fmt.emax - fmt.lsb_min + 3)
    number = round_to(np.ldexp([significand], exponent), fmt, "rz")
    tie = number + ulp(number, fmt) / 2
    x = tie * (1 + nudge) if abs(nudge) > 2.0**-53 else np.nextafter(tie, np.copysign(np.inf, nudge)) if nudge else tie
    assert agree(float(round_to(x, fmt, mode)[0]), by_mpfr(float(x[0]), fmt, mode))
