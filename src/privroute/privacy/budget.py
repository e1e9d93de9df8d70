"""The rule of the ledger: which releases may still be made of a data set.

A release costs rho, rounded up to whole grains, of which the approved total has about 2^58, so that sums are exact.
What all releases together cost:

    request, user-day      max over atoms of time of the sum over releases whose scope has the atom
    user, kept set         the same: every user has at most k requests in the whole data set, fixed before the first
                           release, and each release costs what a user with all k of them in it costs
    user                   the sum over all releases, whatever their scopes

A day of the unit user-day is a whole one, so scopes are widened to whole days. Proofs: docs/proofs/ledger.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from privroute.errors import GuaranteeError, named
from privroute.network.checks import show
from privroute.privacy.calibration import gaussian_rho, gaussian_scale, rho_bounds, rho_to_epsilon
from privroute.privacy.scope import Profile, Scope, moment
from privroute.release.certificate import epsilon_of_rho
from privroute.study.contribution import LARGEST_BOUND
from privroute.study.guarantee import short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from privroute.study.guarantee import Guarantee

__all__ = ["Approval", "Spending", "affordable_epsilon", "overspent_in_words", "total_rho"]

UNITS = ("request", "user", "user-day")
_LARGEST_EPSILON = 1000.0  # beyond it nothing is protected
_GRAINS_LOG2 = 58  # grains of the total; a rho near it is a whole number of them, and sums stay below 2^63
_SMALLEST_LOG2, _LARGEST_LOG2 = -90, 12  # of rho; the noise of a smaller one cannot be drawn
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Approval:
    """The approved total budget of a data set. It is fixed when the data set is added; no function changes it later.

    epsilon, delta, unit : the total guarantee of all releases together, for one unit
    time_zone : time zone of the dates and periods of all releases; None: that of the files
    kept_requests, kept_per_pair : for the unit user: the data set contains at most this many requests of a user in
        total (and for one pair; default: the same), selected once, before the first release; None: each release
        selects again
    """

    epsilon: float
    delta: float
    unit: str = "request"
    time_zone: str | None = None
    kept_requests: int | None = None
    kept_per_pair: int | None = None

    def __post_init__(self) -> None:
        for name, below in (("epsilon", _LARGEST_EPSILON), ("delta", 1.0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < below:
                raise GuaranteeError(f"{name} is {value!r}; pass a number above 0 and below {below:g}")
            object.__setattr__(self, name, float(value))
        if self.unit not in UNITS:
            raise GuaranteeError(f"{named('unit')} is {self.unit!r}; known: {', '.join(UNITS)}")
        if self.time_zone is not None and not _known_zone(self.time_zone):
            raise GuaranteeError(f"{named('time_zone')} is {show(self.time_zone)}; pass a name like Europe/Zurich")
        _total_log2(self.epsilon, self.delta)
        if self.kept_requests is not None or self.kept_per_pair is not None:
            self._check_kept()

    def _check_kept(self) -> None:
        if self.unit != "user":
            raise GuaranteeError(
                f"{named('kept_requests')} and {named('kept_per_pair')} are only valid with the unit user; "
                "omit them, or choose that unit"
            )
        if self.kept_per_pair is None:
            object.__setattr__(self, "kept_per_pair", self.kept_requests)
        for name in ("kept_requests", "kept_per_pair"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_BOUND:
                raise GuaranteeError(f"{name} is {show(value)}; pass a whole number from 1 to {LARGEST_BOUND:,}")
        if (self.kept_per_pair or 0) > (self.kept_requests or 0):
            raise GuaranteeError(
                f"{named('kept_per_pair')} is {self.kept_per_pair}, above {named('kept_requests')}, of which it is "
                "a part"
            )

    @property
    def by_scope(self) -> bool:
        """Whether releases about other times cost nothing on top."""
        return self.unit != "user" or self.kept_requests is not None

    @property
    def grain(self) -> float:
        """The unit in which rho is counted, a power of 2."""
        return 2.0 ** (_total_log2(self.epsilon, self.delta) - _GRAINS_LOG2)

    def grains(self, rho: float) -> int:
        """Rho in whole grains, rounded up."""
        if not (isinstance(rho, int | float) and 0 < rho < math.inf):
            raise GuaranteeError(f"rho is {rho!r}; a release that cannot be charged is not made")
        return math.ceil(min(rho / self.grain, 2.0 ** (_GRAINS_LOG2 + 2)))  # exact; the cap is above the total

    def rho(self, grains: int) -> float:
        """Convert grains to rho, never rounded down."""
        value = float(grains)
        return (value if value >= grains else math.nextafter(value, math.inf)) * self.grain

    def epsilon_of(self, grains: int) -> float:
        """OpenDP's epsilon at the approved delta."""
        return rho_to_epsilon(self.rho(grains), self.delta) if grains > 0 else 0.0

    @property
    def total(self) -> int:
        """What may be spent, in grains, to one part in 1e9 from below."""
        return int(total_rho(self.epsilon, self.delta) / self.grain)

    def allows(self, grains: int) -> bool:
        """Whether this number of grains is within the approved total; in doubt OpenDP's map decides."""
        return grains <= self.total or self.epsilon_of(grains) <= self.epsilon


class Spending:
    """What releases of a data set cost together, in grains."""

    __slots__ = ("_sum", "approval", "profile")

    profile: Profile | None
    """What was spent when; None where scopes do not matter."""

    def __init__(self, approval: Approval, scopes: Sequence[Scope], rhos: Sequence[float]) -> None:
        grains = [approval.grains(rho) for rho in rhos]
        self.approval = approval
        self.profile = Profile([self._part(scope) for scope in scopes], grains) if approval.by_scope else None
        self._sum = sum(grains)

    def _part(self, scope: Scope) -> Scope:
        return scope.whole_days() if self.approval.unit == "user-day" else scope

    @property
    def spent(self) -> int:
        """By all releases together."""
        return self._sum if self.profile is None else self.profile.peak()

    def within(self, scope: Scope) -> int:
        """By the releases that a new one with this scope would add to."""
        return self._sum if self.profile is None else self.profile.peak(self._part(scope))

    def left(self, scope: Scope) -> float:
        """The largest rho that a release with this scope may have, to one part in 1e9 of the total from below."""
        return max(0, self.approval.total - self.within(scope)) * self.approval.grain

    def allows(self, scope: Scope, rho: float) -> bool:
        """Whether a release with this scope may cost rho."""
        return self.approval.allows(self.within(scope) + self.approval.grains(rho))

    def busiest(self, scope: Scope) -> int | None:
        """The moment of the scope at which least is left; None where scopes do not matter."""
        return None if self.profile is None else self.profile.busiest(self._part(scope))


@lru_cache(maxsize=256)
def total_rho(epsilon: float, delta: float) -> float:
    """The largest rho whose epsilon at delta is within the given one by OpenDP's map, to one part in 1e9 from below."""
    return rho_bounds(epsilon, delta)[0]


@lru_cache(maxsize=256)
def _total_log2(epsilon: float, delta: float) -> int:
    """The smallest whole e for which rho = 2^e is above the total."""
    low, high = _SMALLEST_LOG2, _LARGEST_LOG2
    if epsilon_of_rho(2.0**low, delta) > epsilon:
        raise GuaranteeError(f"no release is within epsilon {epsilon:g} at delta {delta:g}; choose a larger one")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if epsilon_of_rho(2.0**middle, delta) <= epsilon else (low, middle)
    return high


def affordable_epsilon(rho: float, delta: float) -> float:
    """The largest epsilon, to three digits from below, whose release at delta costs no more; 0 where there is none."""
    epsilon = _rounded_down(rho_to_epsilon(rho, delta)) if rho > 0 else 0.0
    while epsilon > 0 and gaussian_rho(gaussian_scale(epsilon, delta, 1.0), 1.0) > rho:
        epsilon = _rounded_down(epsilon * (1 - 10.0**-_DIGITS))
    return epsilon


def overspent_in_words(dataset: str, spending: Spending, scope: Scope, guarantee: Guarantee, rho: float) -> str:
    """Why a release is refused, what is left, and what would fit."""
    approval, within = spending.approval, spending.within(scope)
    spent, together = (approval.epsilon_of(grains) for grains in (within, within + approval.grains(rho)))
    fits = affordable_epsilon(spending.left(scope), guarantee.delta)
    busiest = spending.busiest(scope)
    return (
        f"the budget of {dataset!r} is epsilon {approval.epsilon:g} at delta {short(approval.delta)} for one "
        f"{approval.unit}; {spent:.4g} is spent"
        + (f" on {moment(busiest)}, which this release would use again" if busiest is not None and within else "")
        + f", and with this release it would be {together:.4g}. Nothing was charged or released; "
        + (f"epsilon {fits:g} at delta {short(guarantee.delta)} would fit" if fits else "nothing more fits")
        + (", or other days" if approval.by_scope and within else "")
    )


def _known_zone(name: object) -> bool:
    try:
        return isinstance(name, str) and bool(ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False


def _rounded_down(value: float) -> float:
    step = 10.0 ** (math.floor(math.log10(value)) - _DIGITS + 1) if value > 0 else 1.0
    rounded = float(f"{math.floor(value / step) * step:.{_DIGITS}g}")
    return rounded if rounded <= value else float(f"{rounded - step:.{_DIGITS}g}")
