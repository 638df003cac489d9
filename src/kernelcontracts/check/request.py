"""What the caller of a check asks for, resolved: kernel, operator, contracts, typing, claims."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from kernelcontracts.check.errors import RequestError
from kernelcontracts.engine.domain import in_order
from kernelcontracts.engine.plan import shape_text
from kernelcontracts.evaluate.case import param_shape
from kernelcontracts.formats.facts import FORMATS
from kernelcontracts.kernels.address import Address, AddressError, parse_address
from kernelcontracts.lang.checks.power import count_seeds, count_shapes
from kernelcontracts.lang.instance import find_instance, instances_for
from kernelcontracts.lang.library import Library, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kernelcontracts.engine.plan import Plan
    from kernelcontracts.lang.decl import Operator
    from kernelcontracts.lang.instance import Instance


MOST_CASES = 1_000_000
"""A case takes a millisecond at the least, so this is a quarter of an hour; every rate down to 1e-5 needs fewer."""


MOST_ELEMENTS = 1 << 28
"""2 GiB in float64; the harness holds a few such arrays at a time, for references and bounds."""


@dataclass(frozen=True, slots=True)
class Request:
    """A check, resolved.

    Attributes
    ----------
    types
        Format by tensor name, inputs and outputs.
    seed
        What fresh inputs are drawn from.
    redraw
        Whether the whole plan is drawn from ``seed``.
    """

    library: Library
    address: Address
    operator: Operator
    instances: tuple[Instance, ...]
    types: Mapping[str, str]
    seed: int
    redraw: bool
    notes: tuple[str, ...] = field(default=())


def resolve(
    kernel: str,
    *,
    library: Library,
    operator: str | None = None,
    contracts: Sequence[str] = (),
    types: str | None = None,
    seed: int,
    redraw: bool,
) -> Request:
    """Resolve what was asked for.

    Raises
    ------
    RequestError
        If the address, the operator, a contract or a typing is unknown or does not fit.
    """
    try:
        address = parse_address(kernel)
    except AddressError as error:
        raise RequestError(str(error)) from error
    if address.adapter == "file" and not Path(address.path).is_file():
        raise RequestError(f"there is no file `{address.path}`; expected a Python file that defines `{address.target}`")
    op = _operator(address, library, operator)
    instances = _instances(library, op, contracts)
    for instance in instances:
        _refuse_endless(instance)
    return Request(library, address, op, instances, typing_of(op, types), seed, redraw)


def _refuse_endless(instance: Instance) -> None:
    settings = {setting.label: setting.value for setting in instance.settings}
    for seeds, shapes in (("seeds", "shapes"), ("average_seeds", "average_over")):
        if seeds not in settings or shapes not in settings:
            continue
        drawn = count_seeds(settings[seeds])
        if drawn is None:
            raise RequestError(f"`{seeds}` of `{instance.id}` is no number of seeds; expected `count(n)` or `fresh(n)`")
        cells = (count_shapes(settings[shapes]) or 1) * sum(s.weight for s in instance.strata)
        if drawn * cells > MOST_CASES:
            raise RequestError(
                f"`{instance.id}` plans {drawn * cells} cases, and {MOST_CASES} are the most; "
                f"take fewer `{seeds}` or `{shapes}`"
            )


def refuse_huge(plan: Plan) -> None:
    """Refuse a plan with a case that does not fit in memory.

    Raises
    ------
    RequestError
        If the tensors of a case have more than `MOST_ELEMENTS` elements together.
    """
    operator = plan.instance.operator
    for case in (*plan.cases, *plan.averages):
        elements = sum(prod(param_shape(p, case.shape)) for p in (*operator.inputs, *operator.outputs))
        if elements > MOST_ELEMENTS:
            raise RequestError(
                f"`{plan.instance.id}` plans tensors of {elements} elements, at {shape_text(case.shape)}; "
                f"{MOST_ELEMENTS} in one case are the most"
            )


def _operator(address: Address, library: Library, asked: str | None) -> Operator:
    name = asked or address.target
    try:
        return library.operator(name).declaration
    except UnknownNameError as error:
        hint = "" if asked else f"; `{address.target}` is taken as the operator, say `--operator NAME` for another"
        raise RequestError(f"{error}{hint}") from error


def _instances(library: Library, operator: Operator, asked: Sequence[str]) -> tuple[Instance, ...]:
    found = in_order(instances_for(library, operator.name))
    if not found:
        raise RequestError(f"no contract of the library is about `{operator.name}`")
    if not asked:
        return found
    chosen = []
    for name in asked:
        matching = [i for i in found if name in (i.id, i.cls)]
        if not matching:
            try:
                matching = [find_instance(library, name, operator.name)]
            except LookupError as error:
                known = ", ".join(i.id for i in found)
                raise RequestError(f"no contract `{name}` about `{operator.name}`; there are {known}") from error
        chosen += matching
    return tuple(dict.fromkeys(chosen))


def typing_of(operator: Operator, text: str | None) -> dict[str, str]:
    """Read ``A=bf16,B=bf16,C=f32`` or a single format for every tensor; f32 where nothing is said.

    A format given for some inputs alone is taken for the other inputs too, and for the output unless it is an
    8-bit format, which no operator returns: then the output is f32.

    Raises
    ------
    RequestError
        If a tensor or a format is unknown, or the operator does not take the format there.
    """
    params = (*operator.inputs, *operator.outputs)
    given = _given(text, {p.name for p in params})
    fixed = {p.name: p.element for p in params if p.element == "i64"}
    inputs = [p.name for p in operator.inputs if p.name not in fixed]
    common = next((given[name] for name in inputs if name in given), "f32")
    types = {name: given.get(name, common) for name in inputs}
    for out in operator.outputs:
        default = common if common not in ("f8e4m3", "f8e5m2") or out.element in _shared(operator) else "f32"
        types[out.name] = given.get(out.name, default)
    types |= fixed
    _validate(operator, types)
    return {p.name: types[p.name] for p in params}


def _shared(operator: Operator) -> set[str]:
    return {p.element for p in operator.inputs}


def _given(text: str | None, names: set[str]) -> dict[str, str]:
    if text is None:
        return {}
    if "=" not in text:
        return dict.fromkeys(sorted(names), _format(text.strip()))
    given = {}
    for part in text.split(","):
        name, equals, fmt = (piece.strip() for piece in part.partition("="))
        if not equals or name not in names:
            known = ", ".join(sorted(names))
            raise RequestError(f"`{part.strip()}` in `--types` is not `tensor=format`; the tensors are {known}")
        given[name] = _format(fmt)
    return given


def _format(name: str) -> str:
    if name not in FORMATS:
        raise RequestError(f"`{name}` is not a number format; expected one of {', '.join(FORMATS)}")
    if FORMATS[name].storage_bits is None:
        raise RequestError(
            f"`{name}` has no storage, so no tensor can have it; it can only be claimed as an accumulator"
        )
    return name


def _validate(operator: Operator, types: Mapping[str, str]) -> None:
    allowed = {name: typing.formats for typing in operator.types for name in typing.names}
    elements: dict[str, str] = {}
    for param in (*operator.inputs, *operator.outputs):
        formats = allowed.get(param.element)
        if formats is not None and types[param.name] not in formats:
            raise RequestError(
                f"`{operator.name}` does not take `{param.name}` in `{types[param.name]}`; "
                f"expected one of {', '.join(formats)}"
            )
        first = elements.setdefault(param.element, types[param.name])
        if first != types[param.name]:
            raise RequestError(
                f"`{param.name}` is `{types[param.name]}`, but `{operator.name}` wants the same format as its other "
                f"`{param.element}` tensor, which is `{first}`"
            )
