"""How much of one person a history holds: the bound on which guarantees for whole users rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from privroute.errors import HistoryError
from privroute.network.checks import one_of, show

__all__ = ["Contribution", "UserUnit"]

UserUnit = Literal["user", "user-day"]

LARGEST_BOUND = 2**20


@dataclass(frozen=True, slots=True)
class Contribution:
    """At most so many requests of each user were counted. Public: chosen before anybody looked at the trips.

    unit : "user": of each user in the whole history; "user-day": of each user on each day
    max_requests : k, requests kept of each user (and day)
    max_per_pair : k_p ≤ k, requests kept of each user (and day) for one pair; default: k
    once : they were chosen once for the whole data set, before its first release, so that all releases together hold
        no more of a user; otherwise every history holds another choice

    The requests to keep must be chosen for each user (and day) without looking at anybody else's: `read_trips` does so.
    Whoever makes a DemandHistory with a contribution by hand vouches for it. Proof: docs/proofs/user.md.
    """

    unit: UserUnit
    max_requests: int
    max_per_pair: int | None = None
    once: bool = False

    def __post_init__(self) -> None:
        one_of(self.unit, ("user", "user-day"), "unit", HistoryError)
        _whole(self.max_requests, "max_requests", LARGEST_BOUND)
        if self.max_per_pair is None:
            object.__setattr__(self, "max_per_pair", self.max_requests)
        _whole(self.max_per_pair, "max_per_pair", self.max_requests)
        if self.once is not False and (self.once is not True or self.unit != "user"):
            raise HistoryError(f'once is {show(self.once)}; pass True or False, and True only with unit="user"')

    @property
    def squared_norm(self) -> int:
        """K k_p, a bound on Σ_w v_w² for counts v ≥ 0 of one unit with Σ_w v_w ≤ k and v_w ≤ k_p."""
        return self.max_requests * (self.max_per_pair or self.max_requests)


def _whole(value: object, name: str, largest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
        raise HistoryError(f"{name} is {show(value)}; pass a whole number from 1 to {largest:,}")
