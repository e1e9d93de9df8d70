"""How much of one person a history holds: the bound on which guarantees for whole users rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from privroute.errors import HistoryError, arg, named
from privroute.network.checks import one_of, show
from privroute.study.guarantee import UNITS

__all__ = ["Contribution", "UserUnit", "as_contribution", "is_set_name"]

UserUnit = Literal["request", "user", "user-day"]

LARGEST_BOUND = 2**20
_LONGEST_SET_NAME = 64


@dataclass(frozen=True, slots=True)
class Contribution:
    """Largest number of requests of each user that are counted. Public: chosen before anybody looks at the trips.

    unit : "user": of each user in the whole history; "user-day": of each user on each day
    max_requests : k, requests kept of each user (and day)
    max_per_pair : k_p ≤ k, requests kept of each user (and day) for one pair; default: k
    pre_bounded : they were selected once for the whole data set, before its first release, so that all releases
        together contain no more of a user; otherwise every history has its own selection
    kept_set : name of that selection, as privroute bound gives it; two of one data set hold more of a user together
    max_for_total : K ≥ k, requests of each user (and day) that count for the total of all requests, which is measured
        as one number beside the counts. Default: it is not measured
    max_weight : W, where requests have weights: each counts as a whole number of requests, 0 to W. The bounds above are
        on these numbers. For unit "request", which only weights bound, W is all of them. docs/proofs/weights.md
    each_period : where there are several periods or kinds of days: the bounds hold in each of them, which then divide
        the budget (docs/proofs/periods.md, Theorem 2). Default: in all of them together

    The requests to keep must be chosen for each user (and day) without looking at anybody else's: `read_trips` does so.
    A caller who makes a DemandHistory with a contribution by hand asserts it. Proof: docs/proofs/user.md.
    """

    unit: UserUnit
    max_requests: int
    max_per_pair: int | None = None
    pre_bounded: bool = False
    max_for_total: int | None = None
    each_period: bool = False
    max_weight: int | None = None
    kept_set: str | None = None

    def __post_init__(self) -> None:
        one_of(self.unit, ("request", "user", "user-day"), "unit", HistoryError)
        if self.max_weight is not None or self.unit == "request":
            self._check_weight()
        _whole(self.max_requests, "max_requests", LARGEST_BOUND)
        if self.max_per_pair is None:
            object.__setattr__(self, "max_per_pair", self.max_requests)
        _whole(self.max_per_pair, "max_per_pair", self.max_requests)
        if self.pre_bounded is not False and (self.pre_bounded is not True or self.unit != "user"):
            raise HistoryError(
                f"{named('pre_bounded')} is {show(self.pre_bounded)}; pass True or False, and True only with "
                f"{arg('unit', 'user')}"
            )
        if self.kept_set is not None and not (self.pre_bounded and is_set_name(self.kept_set)):
            raise HistoryError(
                f"{named('kept_set')} is {show(self.kept_set)}; pass the name that privroute bound gave, with "
                f"{arg('pre_bounded', True)}"
            )
        if self.each_period is not False and (self.each_period is not True or self.pre_bounded):
            raise HistoryError(
                f"{named('each_period')} is {show(self.each_period)}; pass True or False, and True only without "
                f"{arg('pre_bounded', True)}: files that were limited beforehand hold a user's requests of all periods"
            )
        if self.max_for_total is not None:
            _whole(self.max_for_total, "max_for_total", LARGEST_BOUND)
            if self.max_for_total < self.max_requests or self.pre_bounded:
                raise HistoryError(
                    f"{named('max_for_total')} is at least {named('max_requests')}, and is not valid with "
                    f"{arg('pre_bounded', True)}: files that were limited beforehand no longer contain the total"
                )

    @property
    def of_users(self) -> bool:
        """Whether users are bounded; otherwise single requests with weights."""
        return self.unit != "request"

    def _check_weight(self) -> None:
        _whole(self.max_weight, "max_weight", LARGEST_BOUND)
        if self.max_for_total is not None or self.pre_bounded or (self.each_period and not self.of_users):
            raise HistoryError(
                f"{arg('max_weight')} is not valid with {named('max_for_total')} or {arg('pre_bounded', True)}, and "
                f"{named('each_period')} is about users; omit them"
            )
        per_pair = self.max_requests if self.max_per_pair is None else self.max_per_pair
        if not self.of_users and not self.max_requests == per_pair == self.max_weight:
            raise HistoryError(f"a single request is bounded by {named('max_weight')} alone; omit the other bounds")
        if self.of_users and isinstance(per_pair, int) and self.max_weight > per_pair:  # type: ignore[operator]
            raise HistoryError(
                f"{named('max_weight')} is {show(self.max_weight)}, more than the bounds on a user allow for a pair: "
                f"heavy requests would never be kept; pass at most {show(per_pair)}"
            )

    @property
    def asserted(self) -> tuple[str, ...]:
        """What the proofs assume of users, and nobody can check."""
        if not self.of_users:
            return ()
        chosen = (
            f"the files hold at most {self.max_requests:,} trips of each user, chosen once before the first release"
        )
        named = "" if self.kept_set is None else f" (kept set {self.kept_set})"
        return (
            "one id is one person: a person with several ids, or with ids that change, counts as several people",
            *([chosen + named] if self.pre_bounded else []),
        )

    @property
    def squared_norm(self) -> int:
        """K k_p, a bound on Σ_w v_w² for counts v ≥ 0 of one unit with Σ_w v_w ≤ k and v_w ≤ k_p."""
        return self.max_requests * (self.max_per_pair or self.max_requests)


def is_set_name(name: object) -> bool:
    """Whether it can name a kept set: printable, without spaces around it."""
    return isinstance(name, str) and 0 < len(name) <= _LONGEST_SET_NAME and name.isprintable() and name == name.strip()


def _whole(value: object, name: str, largest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
        raise HistoryError(f"{named(name)} is {show(value)}; pass a whole number from 1 to {largest:,}")


def as_contribution(
    unit: object,
    max_requests: object,
    max_per_pair: object,
    *,
    pre_bounded: bool | None = None,
    max_for_total: int | None = None,
    each_period: bool = False,
    max_weight: int | None = None,
    kept_set: str | None = None,
) -> Contribution | None:
    """The bound that the arguments of read_trips, or the keys of a study, name; None at request level."""
    chosen = one_of("request" if unit is None else unit, UNITS, "unit", HistoryError)
    if chosen == "request":
        if max_requests is not None or max_per_pair is not None or max_for_total is not None:
            raise HistoryError(
                f"{arg('max_requests')} and {arg('max_per_pair')} bound users; pass {arg('unit', 'user')} or "
                f"{arg('unit', 'user-day')}"
            )
        if pre_bounded or each_period or kept_set is not None:
            name = "pre_bounded" if pre_bounded else "each_period" if each_period else "kept_set"
            raise HistoryError(f"{arg(name)} is about users; pass {arg('unit', 'user')}")
        if max_weight is not None:
            return Contribution("request", max_weight, max_weight, max_weight=max_weight)
        return None
    if max_requests is None:
        raise HistoryError(
            f"{arg('unit', chosen)} needs {arg('max_requests')}, how many requests of each {chosen} are kept at most"
        )
    bounded = False if pre_bounded is None else pre_bounded
    given: Any = (chosen, max_requests, max_per_pair, bounded, max_for_total, each_period, max_weight, kept_set)
    return Contribution(*given)  # checked there
