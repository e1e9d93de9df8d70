"""Options of the mechanisms, and how they become one."""

from pathlib import Path
from typing import Annotated, Literal

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.errors import GuaranteeError, InputError

__all__ = ["AlphaOption", "CeilingOption", "ConstantsOption", "MechanismName", "chosen_mechanism"]

MechanismName = Literal["counts", "daily", "minimiser", "sgd"]

AlphaOption = Annotated[
    float | None,
    typer.Option(
        "--alpha", help="For minimiser and sgd: weight of the regulariser, vehicle-minutes per minute; plan helps."
    ),
]
CeilingOption = Annotated[
    float | None,
    typer.Option("--ceiling", help="For minimiser and sgd: marginal costs end at so many free-flow times. Default: 8."),
]
ConstantsOption = Annotated[
    Literal["certified", "paper"] | None,
    typer.Option("--constants", help="For sgd: certified (default), or those of the paper, which are NOT PRIVATE."),
]


def chosen_mechanism(
    name: str,
    *,
    days: int,
    window: int | None = None,
    half_life: float | None = None,
    next_weekday: bool = False,
    stream: Path | None = None,
    alpha: float | None = None,
    ceiling: float | None = None,
    constants: Literal["certified", "paper"] | None = None,
    public_demand: pr.Demand | None = None,
) -> "str | pr.Daily | pr.Minimiser | pr.Sgd":
    """The mechanism that these options describe; an option of another mechanism is refused."""
    belongs = {
        "--window": (window, ("daily",)),
        "--half-life": (half_life, ("daily",)),
        "--next-weekday": (next_weekday or None, ("daily",)),
        "--stream": (stream, ("daily",)),
        "--alpha": (alpha, ("minimiser", "sgd")),
        "--ceiling": (ceiling, ("minimiser", "sgd")),
        "--constants": (constants, ("sgd",)),
        "--public-demand": (public_demand, ("sgd",)),
    }
    for option, (value, owners) in belongs.items():
        if value is not None and name not in owners:
            raise InputError(f"{option} belongs to --mechanism {' or '.join(owners)}; leave it out, or choose that")
    if name in ("minimiser", "sgd") and alpha is None:
        raise GuaranteeError(
            f"--mechanism {name} needs --alpha, the weight of its regulariser: more of it means less noise and routes "
            "that are spread more. Try values on public data with privroute plan, and fix one before reading trips"
        )
    if name == "sgd" and public_demand is None:
        raise GuaranteeError(
            "--mechanism sgd needs --public-demand: how far one trip can move the result depends on how much traffic a "
            "day may have, and that bound must be public"
        )
    if name == "daily":
        if window is not None and window > days and stream is None:
            raise InputError(f"--window is {window:,} days where there are {days:,}; --stream keeps days")
        with inputs.spoken_as_options():
            return pr.Daily(window=window, half_life_days=half_life, next_weekday=next_weekday)
    if name == "minimiser":
        return pr.Minimiser(alpha=alpha or 0.0, ceiling=8.0 if ceiling is None else ceiling)
    if name == "sgd":
        return pr.Sgd(
            public_demand=public_demand, alpha=alpha or 0.0, ceiling=ceiling, constants=constants or "certified"
        )
    return name
