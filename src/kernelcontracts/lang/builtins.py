"""The builtins of the language, in one table: arity, shape, unit, provenance, variance, and where each may stand.

The static checks read nothing else about a builtin, so that a new one is a new row here and its meaning in the
evaluator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Place: TypeAlias = Literal["expression", "observation", "domain", "generator", "protocol", "smoke", "fault"]
"""Where a builtin may stand.

``expression`` is everywhere a value is computed; ``observation`` reads the candidate and stands in ``post``;
``domain`` is what a relation ranges over; ``generator`` follows ``~``; the rest name settings, smoke tests and
fault operators.
"""

Kind: TypeAlias = Literal["value", "format", "mode", "choice", "name"]
"""What an argument is.

A ``format`` is a format's name, a tensor's name (its declared format, so that nothing of the tensor is read),
``output``, or a claim; ``choice`` is a decision's value; ``name`` a word that is not looked
up (the kind of an exception).
"""

ShapeRule: TypeAlias = Literal["scalar", "broadcast", "first", "gather", "output"]
UnitRule: TypeAlias = Literal["one", "free", "first", "joint", "root", "pure"]
Variance: TypeAlias = Literal["+", "-", "0", "?"]
Rows: TypeAlias = "tuple[Builtin, ...]"


@dataclass(frozen=True, slots=True)
class Builtin:
    """One row.

    Attributes
    ----------
    kinds
        What the arguments are; the last kind stands for all further ones.
    least, most
        The number of arguments; ``most`` is ``None`` where there is no limit.
    keywords
        The keyword arguments it takes.
    shape
        ``scalar``; ``broadcast`` of all values; that of the ``first`` argument; ``gather``: the indices' dimensions,
        then the table's without its first; ``output``: that of the operator's output.
    unit
        ``one``: a pure number; ``free``: any unit, as zero has; that of the ``first`` argument;
        ``joint``: all values have one unit, which is the result's; ``root``: half of it; ``pure``: the argument must be
        a pure number.
    variance
        Per argument, whether the result grows (``+``) or shrinks (``-``) with it, does not depend on it in the order of
        claims (``0``), or is not known to be monotone (``?``). For formats and choices this is in strength.
    nonnegative
        Whether the result is never negative.
    candidate
        Whether it reads the implementation under test whatever its arguments are.
    """

    name: str
    kinds: tuple[Kind, ...] = ("value",)
    least: int = 1
    most: int | None = 1
    keywords: tuple[str, ...] = ()
    shape: ShapeRule = "broadcast"
    unit: UnitRule = "first"
    variance: tuple[Variance, ...] = ("?",)
    nonnegative: bool = False
    candidate: bool = False
    place: Place = "expression"

    def kind(self, position: int) -> Kind:
        """Return what the argument at a position is."""
        return self.kinds[min(position, len(self.kinds) - 1)] if self.kinds else "value"

    def direction(self, position: int) -> Variance:
        """Return how the result varies with the argument at a position."""
        return self.variance[min(position, len(self.variance) - 1)] if self.variance else "?"


def _number(
    name: str, kinds: tuple[Kind, ...], variance: tuple[Variance, ...], *, least: int = 1, most: int | None = 1
) -> Builtin:
    """Make a builtin that gives a pure number for the whole case, never a negative one."""
    return Builtin(name, kinds, least, most, shape="scalar", unit="one", variance=variance, nonnegative=True)


def _edge(name: str, variance: Variance) -> Builtin:
    """Make a constant of a format: it has any unit, as zero has, because no input's scale enters it."""
    return Builtin(name, ("format",), shape="scalar", unit="free", variance=(variance,), nonnegative=True)


def _predicate(name: str, kinds: tuple[Kind, ...] = ("value",), least: int = 1, most: int | None = 1) -> Builtin:
    """Make a truth value for the whole case."""
    return Builtin(name, kinds, least, most, shape="scalar", unit="one")


def _each(name: str, *, nonnegative: bool = False) -> Builtin:
    """Make a truth value or an indicator for every element."""
    return Builtin(name, shape="first", unit="one", nonnegative=nonnegative)


def _reduction(name: str, unit: UnitRule, variance: Variance, *, most: int | None = 1) -> Builtin:
    """Make a reduction over the dimension ``over``, or over everything."""
    return Builtin(name, ("value",), 1, most, ("over",), unit=unit, variance=(variance,), nonnegative=name == "rms")


def _observed(name: str, shape: ShapeRule, unit: UnitRule, *, kind: Kind = "value", most: int | None = 1) -> Builtin:
    """Make a builtin that reads the candidate."""
    return Builtin(name, (kind,), 1, most, shape=shape, unit=unit, candidate=True, place="observation")


_EXPRESSIONS = (
    # a stronger format has a smaller roundoff, a stronger mode (nearest) as well
    _number("u", ("format", "mode"), ("-", "-"), most=2),
    _number("precision", ("format",), ("+",)),
    # and no smaller range
    _edge("maxfinite", "+"),
    _edge("minnormal", "-"),
    _edge("minsub", "-"),
    Builtin("round", ("value", "format", "mode"), 2, 3, shape="first", variance=("+", "?", "?")),
    Builtin("representable", ("value", "format"), 1, 2, shape="first", unit="one"),
    Builtin("ulp", ("value", "format"), 2, 2, shape="first", variance=("?", "-"), nonnegative=True),
    # claims
    _number("u_operand", ("choice",), ("?",)),
    _number("passes", ("choice",), ("?",)),
    _predicate("kept", ("value",), 2, None),
    # a stronger order is, by its definition, one with no larger depth
    _number("add_depth", ("choice", "value"), ("-", "+"), least=2, most=2),
    Builtin("gamma", ("value",), 2, 2, unit="pure", variance=("+", "+"), nonnegative=True),
    # products and sums
    _each("nonzero", nonnegative=True),
    Builtin(
        # fewer products are inexact in a format with more digits and range
        "inexact_products",
        ("value", "value", "format"),
        3,
        3,
        shape="output",
        unit="one",
        variance=("0", "0", "-"),
        nonnegative=True,
    ),
    _predicate("exact_dot", ("value", "value", "format"), 3, 3),
    _predicate("exact_sum", ("value", "format"), 2, 2),
    _each("subnormal"),
    _each("normal"),
    # elementwise
    Builtin("sqrt", shape="first", unit="root", variance=("+",), nonnegative=True),
    Builtin("exp", shape="first", unit="pure", variance=("+",), nonnegative=True),
    Builtin("log", shape="first", unit="pure", variance=("+",)),
    Builtin("where", ("value",), 3, 3, unit="joint", variance=("?", "+", "+")),
    Builtin("clamp", ("value",), 3, 3, unit="joint", variance=("+",)),
    Builtin("gather", ("value",), 2, 2, shape="gather"),
    Builtin("rows", ("value",), 2, 2, shape="first"),
    _each("finite"),
    _each("isnan"),
    _each("isinf"),
    _each("signbit"),
    # reductions; with several arguments `max` and `min` are elementwise
    _reduction("sum", "first", "+"),
    _reduction("max", "joint", "+", most=None),
    _reduction("min", "joint", "+", most=None),
    _reduction("mean", "first", "+"),
    _reduction("rms", "first", "?"),
    _reduction("any", "one", "?"),
    _reduction("all", "one", "?"),
)

_OBSERVATIONS = (
    _observed("impl", "output", "first", most=None),
    _observed("under", "output", "first"),
    _observed("raised", "scalar", "one", kind="name"),
    _observed("unchanged", "scalar", "one", most=None),
    _observed("guard", "scalar", "one"),
    _observed("identical_over", "scalar", "one"),
)


def _words(place: Place, names: str, count: int = 0, most: int | None = -1, keywords: tuple[str, ...] = ()) -> Rows:
    """Make several builtins that only name something, with the same number of arguments."""
    limit = count if most == -1 else most
    return tuple(Builtin(name, ("value",), count, limit, keywords, place=place) for name in names.split())


_WORDS = (
    *_words("domain", "reorderings embeddings row_splits reruns devices", 1),
    *_words("domain", "layouts"),
    *_words("generator", "wide graded cancel ties sticky two_terms ladder random_sign bit_patterns"),
    *_words("generator", "subnormal_in subnormal_out"),
    *_words("generator", "ints identity swamp equal_maxima", 1),
    *_words("generator", "normal uniform on_grid one_hot integers inject", 2),
    *_words("protocol", "grid shape"),
    *_words("protocol", "list union by", 1, None),
    *_words("protocol", "held_out", 0, 1, ("count", "near", "limit")),
    *_words("protocol", "count", 1, 1, ("start",)),
    *_words("protocol", "fresh poison", 1),
    *_words("protocol", "rate", 2),
    *_words("smoke", "allclose", keywords=("rtol", "atol", "size")),
    *_words("smoke", "exact", keywords=("size",)),
    *_words("fault", "zeros unwritten uniform_rows mean permute_rows swap_last copy_input return_previous skip_last"),
    *_words("fault", "drop_tail", 1),
)

#: Builtins by place and name; ``normal`` is a predicate in expressions and a distribution after ``~``.
TABLE: dict[tuple[Place, str], Builtin] = {
    (row.place, row.name): row for row in (*_EXPRESSIONS, *_OBSERVATIONS, *_WORDS)
}

#: ``grid`` and ``shape`` take dimensions as keywords, whatever these are called.
DIMENSIONS_AS_KEYWORDS = frozenset({"grid", "shape"})

#: Names that mean something in every expression.
SPECIAL_NAMES = frozenset({"inputs", "output", "ref", "meaning", "claim", "op", "true", "false", "none"})

#: Names that are observations of the candidate's call.
OBSERVED_NAMES = frozenset({"completed", "raised"})

#: Residual features ``r.name``, with what their arguments name.
FEATURES: dict[str, tuple[str, ...]] = {
    "best_fit": ("decision",),
    "violates": ("clause",),
    "nan_rate": ("stratum",),
    "zero_rows": ("event",),
    "canary_rows": ("event",),
    "tail_fraction": (),
    "stale_rate": (),
    "sign_of_bias": (),
    "bias": (),
    "rms": (),
    "max_abs": (),
    "run_spread": (),
}


def builtin(name: str, places: Iterable[Place]) -> Builtin | None:
    """Return the builtin of a name that may stand in one of these places."""
    return next((row for place in places if (row := TABLE.get((place, name)))), None)


def names_at(places: Iterable[Place]) -> frozenset[str]:
    """Return the names of all builtins that may stand in these places."""
    allowed = frozenset(places)
    return frozenset(name for place, name in TABLE if place in allowed)
