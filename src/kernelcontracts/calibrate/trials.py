"""The trials of a contract: which emulated kernel each line of ``calibrate`` means, and in which typing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kernelcontracts.check.request import typing_of
from kernelcontracts.kernels.address import Address
from kernelcontracts.lang.decisions import representatives, value_of_expr
from kernelcontracts.lang.printer import print_expr

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kernelcontracts.lang.decl import Trial
    from kernelcontracts.lang.instance import Instance
    from kernelcontracts.lang.values import ClaimValue

GENERATED = "generated"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One kernel to be judged under the claims of the ``claiming`` line.

    Attributes
    ----------
    role
        ``good``, ``bad``, ``baseline``, or ``generated`` for a mutant made from a decision.
    name
        What tells it from the others, in words.
    breaks, names
        The clause that must stop it and the signature that must name it, where the contract pins them.
    """

    role: str
    name: str
    address: Address
    types: Mapping[str, str]
    breaks: str | None = None
    names: str | None = None


def claiming(instance: Instance) -> dict[str, ClaimValue]:
    """Return the claims under which the trials are judged."""
    calibrate = instance.contract.calibrate
    return {name: value_of_expr(value) for name, value in calibrate.claiming} if calibrate else {}


def attempts(instance: Instance) -> Iterator[Attempt]:
    """Yield the written trials, then one mutant per other value of every decision the contract needs."""
    calibrate = instance.contract.calibrate
    assert calibrate is not None, "the checks refuse a contract without calibrate"
    claims = claiming(instance)
    for trial in calibrate.trials:
        yield _written(instance, trial, claims)
    yield from _generated(instance, claims)


def _written(instance: Instance, trial: Trial, claims: Mapping[str, ClaimValue]) -> Attempt:
    known = {d.name for d in instance.operator.decisions}
    changes = {name: value_of_expr(value) for name, value in trial.changes if name in known}
    fault = print_expr(trial.fault) if trial.fault is not None else None
    said = [f"{name} = {value}" for name, value in changes.items()] + ([f"fault {fault}"] if fault else [])
    return Attempt(
        trial.role,
        ", ".join(said) or "as_claimed",
        address_of(instance, {**claims, **changes}, fault),
        _typing(instance, trial),
        trial.breaks,
        trial.signature,
    )


def address_of(instance: Instance, decisions: Mapping[str, ClaimValue], fault: str | None) -> Address:
    """Return the emulator with these decisions, and perhaps a fault."""
    known = [d.name for d in instance.operator.decisions if d.name in decisions]
    options = [(name, str(decisions[name])) for name in known]
    if fault is not None:
        options.append(("fault", fault))
    return Address("emulator", instance.operator.name, "", tuple(options))


def _typing(instance: Instance, trial: Trial) -> dict[str, str]:
    """Return f32 throughout, changed as the trial's ``where`` asks: the first format it names."""
    inputs = [p.name for p in instance.operator.inputs]
    wanted: dict[str, str] = {}
    for typing in trial.types:
        for name in typing.names:
            targets = inputs if name == "inputs" else [instance.operator.outputs[0].name if name == "output" else name]
            wanted |= {target: typing.formats[0] for target in targets if target not in wanted}
    wanted = {name: fmt for name, fmt in wanted.items() if _floating(instance, name)}
    text = ",".join(f"{name}={fmt}" for name, fmt in wanted.items())
    return typing_of(instance.operator, text or None)


def _floating(instance: Instance, name: str) -> bool:
    params = (*instance.operator.inputs, *instance.operator.outputs)
    return any(p.name == name and p.element != "i64" for p in params)


def _generated(instance: Instance, claims: Mapping[str, ClaimValue]) -> Iterator[Attempt]:
    for decision in instance.operator.decisions:
        if decision.name not in instance.needs or decision.name not in claims:
            continue
        for value in representatives(decision):
            if value != claims[decision.name]:
                changed = {**claims, decision.name: value}
                yield Attempt(
                    GENERATED,
                    f"{decision.name} = {value}",
                    address_of(instance, changed, None),
                    typing_of(instance.operator, None),
                )
