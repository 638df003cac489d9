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

Kind: TypeAlias = Literal["value", "format", "mode", "choice", "dim", "name"]
"""What an argument is.

A ``format`` is a format's name, a tensor's name (its declared format, so that nothing of the tensor is read),
``output``, or a claim; ``choice`` is a decision's value; ``dim`` a dimension's name; ``name`` a word that is not looked
up (the kind of an exception).
"""

ShapeRule: TypeAlias = Literal["scalar", "broadcast", "first", "gather", "output"]
UnitRule: TypeAlias = Literal["one", "free", "first", "joint", "root", "pure", "second"]
Variance: TypeAlias = Literal["+", "-", "0", "?"]


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
        ``one``: a pure number; ``free``: any unit, as zero has; that of the ``first`` or ``second`` argument;
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


def _formats() -> Iterable[Builtin]:
    number = {"shape": "scalar", "unit": "one", "nonnegative": True}
    edge = {"shape": "scalar", "unit": "free", "nonnegative": True}
    # a stronger format has a smaller roundoff, and no smaller range
    yield Builtin("u", ("format", "mode"), 1, 2, variance=("-", "-"), **number)  # type: ignore[arg-type] - rows share fields
    yield Builtin("precision", ("format",), variance=("+",), **number)  # type: ignore[arg-type] - as above
    yield Builtin("maxfinite", ("format",), variance=("+",), **edge)  # type: ignore[arg-type] - as above
    yield Builtin("minnormal", ("format",), variance=("-",), **edge)  # type: ignore[arg-type] - as above
    yield Builtin("minsub", ("format",), variance=("-",), **edge)  # type: ignore[arg-type] - as above
    yield Builtin("round", ("value", "format", "mode"), 2, 3, shape="first", variance=("+", "?", "?"))
    yield Builtin("representable", ("value", "format"), 1, 2, shape="first", unit="one")
    yield Builtin("ulp", ("value", "format"), 2, 2, shape="first", variance=("?", "-"), nonnegative=True)


def _claims() -> Iterable[Builtin]:
    yield Builtin("u_operand", ("choice",), shape="scalar", unit="one", variance=("?",), nonnegative=True)
    yield Builtin("passes", ("choice",), shape="scalar", unit="one", variance=("?",), nonnegative=True)
    yield Builtin("kept", ("value",), 2, None, shape="scalar", unit="one")
    # a stronger order is, by its definition, one with no larger depth
    yield Builtin(
        "add_depth",
        ("choice", "value"),
        2,
        2,
        shape="scalar",
        unit="one",
        variance=("-", "+"),
        nonnegative=True,
    )
    yield Builtin("gamma", ("value",), 2, 2, unit="pure", variance=("+", "+"), nonnegative=True)


def _products() -> Iterable[Builtin]:
    yield Builtin("nonzero", unit="one", shape="first", variance=("?",), nonnegative=True)
    # fewer products are inexact in a format with more digits and range
    yield Builtin(
        "inexact_products",
        ("value", "value", "format"),
        3,
        3,
        shape="output",
        unit="one",
        variance=("0", "0", "-"),
        nonnegative=True,
    )
    yield Builtin("exact_dot", ("value", "value", "format"), 3, 3, shape="scalar", unit="one")
    yield Builtin("exact_sum", ("value", "format"), 2, 2, shape="scalar", unit="one")
    yield Builtin("subnormal", unit="one", shape="first")
    yield Builtin("normal", unit="one", shape="first")


def _elementwise() -> Iterable[Builtin]:
    yield Builtin("sqrt", unit="root", shape="first", variance=("+",), nonnegative=True)
    yield Builtin("exp", unit="pure", shape="first", variance=("+",), nonnegative=True)
    yield Builtin("log", unit="pure", shape="first", variance=("+",))
    yield Builtin("where", ("value",), 3, 3, unit="joint", variance=("?", "+", "+"))
    yield Builtin("clamp", ("value",), 3, 3, unit="joint", variance=("+",))
    yield Builtin("gather", ("value",), 2, 2, shape="gather", variance=("?",))
    yield Builtin("rows", ("value",), 2, 2, shape="first", variance=("?",))


def _reductions() -> Iterable[Builtin]:
    over = ("over",)
    yield Builtin("sum", keywords=over, variance=("+",))
    # with one argument these reduce, with more they are elementwise
    yield Builtin("max", ("value",), 1, None, over, unit="joint", variance=("+",))
    yield Builtin("min", ("value",), 1, None, over, unit="joint", variance=("+",))
    yield Builtin("mean", keywords=over, variance=("+",))
    yield Builtin("rms", keywords=over, variance=("?",), nonnegative=True)
    yield Builtin("any", keywords=over, unit="one")
    yield Builtin("all", keywords=over, unit="one")


def _predicates() -> Iterable[Builtin]:
    for name in ("finite", "isnan", "isinf", "signbit"):
        yield Builtin(name, unit="one", shape="first")


def _observations() -> Iterable[Builtin]:
    yield Builtin("impl", ("value",), 1, None, shape="output", candidate=True, place="observation")
    yield Builtin("under", ("value",), shape="output", candidate=True, place="observation")
    for name, kind, most in (("raised", "name", 1), ("unchanged", "value", None), ("guard", "value", 1)):
        yield Builtin(
            name,
            (kind,),  # type: ignore[arg-type] - two literals of the alias
            1,
            most,
            shape="scalar",
            unit="one",
            candidate=True,
            place="observation",
        )
    yield Builtin("identical_over", shape="scalar", unit="one", candidate=True, place="observation")


def _others() -> Iterable[Builtin]:
    rows: dict[Place, dict[str, tuple[int, int | None]]] = {
        "domain": {
            "reorderings": (1, 1),
            "embeddings": (1, 1),
            "row_splits": (1, 1),
            "layouts": (0, 0),
            "reruns": (1, 1),
            "devices": (1, 1),
        },
        "generator": {
            "ints": (1, 1),
            "identity": (1, 1),
            "swamp": (1, 1),
            "normal": (2, 2),
            "uniform": (2, 2),
            "on_grid": (2, 2),
            "one_hot": (2, 2),
            "equal_maxima": (1, 1),
            "integers": (2, 2),
            "inject": (2, 2),
            **dict.fromkeys(
                (
                    "wide",
                    "graded",
                    "cancel",
                    "ties",
                    "sticky",
                    "two_terms",
                    "ladder",
                    "random_sign",
                    "subnormal_in",
                    "subnormal_out",
                    "bit_patterns",
                ),
                (0, 0),
            ),
        },
        "protocol": {
            "grid": (0, 0),
            "list": (1, None),
            "union": (1, None),
            "shape": (0, 0),
            "held_out": (0, 1),
            "by": (1, None),
            "count": (1, 1),
            "fresh": (1, 1),
            "poison": (1, 1),
            "rate": (2, 2),
        },
        "smoke": {"allclose": (0, 0), "exact": (0, 0)},
        "fault": {
            "zeros": (0, 0),
            "uniform_rows": (0, 0),
            "drop_tail": (1, 1),
            "return_previous": (0, 0),
            "means": (0, 0),
            "copy": (0, 0),
            "permuted_rows": (0, 0),
        },
    }
    keywords = {
        "held_out": ("count", "near", "limit"),
        "count": ("start",),
        "allclose": ("rtol", "atol", "size"),
        "exact": ("size",),
    }
    for place, names in rows.items():
        for name, (least, most) in names.items():
            yield Builtin(name, ("value",), least, most, keywords.get(name, ()), place=place)


#: Builtins by place and name; ``normal`` is a predicate in expressions and a distribution after ``~``.
TABLE: dict[tuple[Place, str], Builtin] = {
    (row.place, row.name): row
    for rows in (
        _formats(),
        _claims(),
        _products(),
        _elementwise(),
        _reductions(),
        _predicates(),
        _observations(),
        _others(),
    )
    for row in rows
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
    "margin": ("clause",),
    "slope": ("clause", "dim"),
    "insensitive_below": ("tensor", "value"),
    "nan_rate": ("stratum",),
    "zero_rows": ("event",),
    "canary_rows": ("event",),
    "tail_fraction": (),
    "stale_rate": (),
    "poison_rate": (),
    "sign_of_bias": (),
    "bias": (),
    "rms": (),
    "max_abs": (),
    "run_spread": (),
    "shape_spread": (),
}


def builtin(name: str, places: Iterable[Place]) -> Builtin | None:
    """Return the builtin of a name that may stand in one of these places."""
    return next((row for place in places if (row := TABLE.get((place, name)))), None)


def names_at(places: Iterable[Place]) -> frozenset[str]:
    """Return the names of all builtins that may stand in these places."""
    allowed = frozenset(places)
    return frozenset(name for place, name in TABLE if place in allowed)
