"""The mechanisms by name, with their options: frozen, public, and written into the certificate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from privroute.errors import GuaranteeError

__all__ = ["Counts", "Daily", "Mechanism", "Unprotected", "as_mechanism"]


def _whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise GuaranteeError(f"{name} is {value!r}; pass a whole number of at least {least}")


def _gap(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise GuaranteeError(f"gap is {value!r}; pass a number between 0 and 1")


@dataclass(frozen=True, slots=True)
class Counts:
    """Sum the counts over the days, add noise once, make them non-negative, solve the optimum.

    gap : relative gap of the optimum
    bins, smallest_bin : number and least size of the gravity bins within which negative counts are settled
    """

    name: ClassVar[str] = "counts"

    gap: float = 1e-8
    bins: int = 20
    smallest_bin: int = 200

    def __post_init__(self) -> None:
        _gap(self.gap)
        _whole("bins", self.bins, 1)
        _whole("smallest_bin", self.smallest_bin, 1)


@dataclass(frozen=True, slots=True)
class Daily:
    """Add noise to every day's counts, average days, then as `Counts`.

    A request is in one day only, so all days together cost what one day costs; each day could be released on its own.
    Which days are averaged is a matter of public dates:

    window : only the last so many days. Default: all
    half_life_days : a day counts half as much as one that is so many days younger (online). Default: all alike
    next_weekday : only days of the weekday that follows the last day, where there are any: Mondays after a Sunday
    """

    name: ClassVar[str] = "daily"

    window: int | None = None
    gap: float = 1e-8
    bins: int = 20
    smallest_bin: int = 200
    half_life_days: float | None = None
    next_weekday: bool = False

    def __post_init__(self) -> None:
        if self.window is not None:
            _whole("window", self.window, 1)
        half_life = self.half_life_days
        if half_life is not None and (isinstance(half_life, bool) or not 0 < half_life < math.inf):
            raise GuaranteeError(f"half_life_days is {half_life!r}; pass a number of days greater than 0")
        if not isinstance(self.next_weekday, bool):
            raise GuaranteeError(f"next_weekday is {self.next_weekday!r}; pass True or False")
        _gap(self.gap)
        _whole("bins", self.bins, 1)
        _whole("smallest_bin", self.smallest_bin, 1)


@dataclass(frozen=True, slots=True)
class Unprotected:
    """No noise: the optimum of the mean demand, the paper's Baseline. NOT PRIVATE, for comparison only."""

    name: ClassVar[str] = "none"

    gap: float = 1e-8

    def __post_init__(self) -> None:
        _gap(self.gap)


Mechanism = Counts | Daily | Unprotected

_BY_NAME: dict[str, type[Mechanism]] = {"counts": Counts, "daily": Daily, "none": Unprotected}


def as_mechanism(mechanism: str | Mechanism) -> Mechanism:
    """Return the mechanism itself, or the one of this name with its default options."""
    if isinstance(mechanism, Counts | Daily | Unprotected):
        return mechanism
    if isinstance(mechanism, str) and mechanism in _BY_NAME:
        return _BY_NAME[mechanism]()
    shown = repr(mechanism) if isinstance(mechanism, str) else f"a {type(mechanism).__name__}"
    raise GuaranteeError(f"mechanism is {shown}; known: {', '.join(_BY_NAME)}")
