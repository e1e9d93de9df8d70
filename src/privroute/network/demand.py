"""How much traffic wants to go from where to where, per minute."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import DemandError
from privroute.network.checks import RebuiltOnCopy, as_number, check_type, number_array, real_number
from privroute.network.frames import DemandFrames
from privroute.network.pairs import Pairs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Demand"]


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Demand(DemandFrames, RebuiltOnCopy):
    """A rate for each pair: Λ_w vehicles per minute that the network has to carry.

    pairs : the pairs w
    rate_per_min : (pairs,) Λ_w ≥ 0, vehicles per minute on the road
    expansion : vehicles on the road for each trip that the data show, ≥ 1. A fleet that sees a tenth of the traffic
        has expansion 10: `rate_per_min` is the traffic, `observed_per_min` = rate_per_min / expansion what is seen.
    """

    pairs: Pairs
    rate_per_min: NDArray[np.float64]
    expansion: float

    def __init__(self, pairs: Pairs, rate_per_min: ArrayLike, *, expansion: float = 1.0) -> None:
        check_type(pairs, Pairs, "pairs", DemandError)
        object.__setattr__(self, "pairs", pairs)
        object.__setattr__(self, "rate_per_min", number_array(rate_per_min, "rate_per_min", len(pairs), DemandError))
        object.__setattr__(self, "expansion", check_expansion(expansion))

    @classmethod
    def from_observed(cls, pairs: Pairs, observed_per_min: ArrayLike, *, expansion: float = 1.0) -> Demand:
        """Demand of the whole traffic from the rates of a fleet that sees one in `expansion` vehicles."""
        check_type(pairs, Pairs, "pairs", DemandError)
        factor = check_expansion(expansion)
        observed = number_array(observed_per_min, "observed_per_min", len(pairs), DemandError)
        with np.errstate(over="ignore"):  # infinite rates are refused
            return cls(pairs, observed * factor, expansion=factor)

    @property
    def observed_per_min(self) -> NDArray[np.float64]:
        """(pairs,) trips per minute that the data show."""
        return self.rate_per_min / self.expansion

    @property
    def total_per_min(self) -> float:
        """Vehicles per minute over all pairs."""
        return float(self.rate_per_min.sum())

    def __add__(self, other: Demand) -> Demand:
        if not isinstance(other, Demand):
            return NotImplemented
        if self.pairs != other.pairs:
            raise DemandError("the two demands have different pairs; bring them to the same pairs with .on(pairs)")
        if self.expansion != other.expansion:
            raise DemandError(
                f"the two demands have expansion {self.expansion:g} and {other.expansion:g}; add demands of one fleet, "
                "or make both Demand(pairs, rate_per_min) with expansion 1"
            )
        return Demand(self.pairs, self.rate_per_min + other.rate_per_min, expansion=self.expansion)

    def __mul__(self, factor: float) -> Demand:
        number = None if isinstance(factor, str) else as_number(factor)
        if number is None:
            return NotImplemented
        with np.errstate(over="ignore", invalid="ignore"):  # infinite rates are refused
            return Demand(self.pairs, self.rate_per_min * number, expansion=self.expansion)

    __rmul__ = __mul__

    def on(self, pairs: Pairs) -> Demand:
        """Return this demand on other pairs: pairs that are new get rate 0, pairs with a rate may not be lost."""
        positions = pairs.positions(self.pairs.origin, self.pairs.destination)
        lost = (positions < 0) & (self.rate_per_min > 0)
        if lost.any():
            raise DemandError(f"{np.count_nonzero(lost):,} pairs with a positive rate are not among the new pairs")
        rates = np.zeros(len(pairs))
        rates[positions[positions >= 0]] = self.rate_per_min[positions >= 0]
        return Demand(pairs, rates, expansion=self.expansion)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Demand):
            return NotImplemented
        return (
            self.expansion == other.expansion
            and self.pairs == other.pairs
            and np.array_equal(self.rate_per_min, other.rate_per_min)
        )

    __hash__ = None  # type: ignore[assignment]

    def is_close(self, other: Demand, *, relative: float = 1e-9) -> bool:
        """Whether the pairs are the same, and rates and expansion differ by at most `relative` of the larger."""
        if self.pairs != other.pairs or not math.isclose(self.expansion, other.expansion, rel_tol=relative):
            return False
        larger = np.maximum(self.rate_per_min, other.rate_per_min)
        return bool(np.all(np.abs(self.rate_per_min - other.rate_per_min) <= relative * larger))

    def __repr__(self) -> str:
        # the mean of a history is private: only what is public of it
        return f"Demand({len(self.pairs):,} pairs, expansion {self.expansion:g})"


def check_expansion(expansion: object) -> float:
    """Return the expansion as a float if it is finite and at least 1."""
    return real_number(
        expansion,
        "expansion",
        DemandError,
        lambda number: number >= 1,
        "pass a finite number of at least 1; a fleet that sees one in ten vehicles has expansion 10",
    )
