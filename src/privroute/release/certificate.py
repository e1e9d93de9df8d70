"""The certificate of a release: what is protected, how strongly, by what, and on what it rests."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass, field, fields
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

from privroute.errors import ReleaseError
from privroute.network.checks import MINUTES_OF_DAY
from privroute.release.guarantee import delta_caveat

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ADJACENCY", "BUDGET", "Certificate", "DataKind", "NoiseKind", "check_budget", "epsilon_of_rho"]

DataKind = Literal["trips", "simulated"]
NoiseKind = Literal["opendp", "seeded", "none"]

ADJACENCY = {
    "request": (
        "two data sets are neighbours if one has one request more, on one day, for one origin-destination pair, and "
        "they are equal otherwise (add or remove). Replacing one request by another counts as two such steps: for "
        "counts its sensitivity is sqrt(2) times as large, for unit flows (sgd, minimiser) twice."
    ),
    "user": (
        "two data sets are neighbours if one has all requests of one user more, on all days and for all "
        "origin-destination pairs, and they are equal otherwise (add or remove). Of each user at most max_requests "
        "requests are counted, at most max_per_pair of them for one pair. Replacing the requests of one user by others "
        "counts as two such steps: for counts its sensitivity is sqrt(2) times as large."
    ),
    "user-day": (
        "two data sets are neighbours if one has all requests of one user on one day more, for all origin-destination "
        "pairs, and they are equal otherwise (add or remove). What follows midnight in a period that passes it belongs "
        "to the day on which the period began. Of each user at most max_requests requests are counted "
        "on a day, at most max_per_pair of them for one pair. Replacing the requests of one user on one day by others "
        "counts as two such steps: for counts its sensitivity is sqrt(2) times as large."
    ),
}
# dataset and entry: where the charge stands in the operator's ledger, and its digest there; then what was approved for
# all releases from this data set, and what those up to this one cost together, at the approved delta.
BUDGET = ("dataset", "entry", "digest", "approved_epsilon", "approved_delta", "spent_epsilon")
_PROMISE = ("epsilon", "delta", "rho", "sensitivity", "noise_scale")
_NUMBERS = (*_PROMISE, "period_min", "expansion")
_MOST_DAYS = 2**22
_LARGEST_BOUND = 2**20
_COUNTED = ("counts", "daily")  # mechanisms whose sensitivity is that of counts
_TOLERANCE = 1e-6
_KINDS = {"data": ("trips", "simulated"), "noise": ("opendp", "seeded", "none")}


@dataclass(frozen=True, slots=True)
class Certificate:
    """Everything here is public: chosen beforehand, or released with noise.

    epsilon, delta, rho : the guarantee, and the zero-concentrated bound it comes from; None where there is none
    unit, adjacency : what one unit of data is, and when two data sets are neighbours
    mechanism, options : name and frozen options
    sensitivity, noise_scale : ℓ2 sensitivity of what was perturbed, and the Gaussian's scale
    data : "trips" or "simulated"; noise : "opendp", "seeded" (experiments) or "none"; only opendp protects
    days, period_min, expansion, first_date, last_date : the public frame of the data
    budget : the ledger entry (see BUDGET), or "not tracked"
    max_requests, max_per_pair : how many requests of one user (and day) were counted at most; None for unit request
    versions : of the packages that made it
    broken_assumptions : what the proof of the guarantee assumes and nothing ensures, in words; a release with any is
        not private
    """

    epsilon: float | None
    delta: float | None
    rho: float | None
    unit: str
    adjacency: str
    mechanism: str
    options: Mapping[str, Any]
    sensitivity: float | None
    noise_scale: float | None
    data: DataKind
    noise: NoiseKind
    days: int
    period_min: float
    expansion: float
    first_date: str | None = None
    last_date: str | None = None
    budget: str | Mapping[str, Any] = "not tracked"
    max_requests: int | None = None
    max_per_pair: int | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    broken_assumptions: tuple[str, ...] = ()

    @property
    def guaranteed(self) -> bool:
        """Whether the epsilon and delta that it names hold: noise from OpenDP, all numbers named, nothing left open.

        They may be too weak to be called private: see `private`.
        """
        promise = (self.epsilon, self.delta, self.rho, self.sensitivity, self.noise_scale)
        sound = self.noise == "opendp" and self.mechanism != "none" and not self.broken_assumptions
        return sound and self.options.get("constants") != "paper" and None not in promise

    @property
    def private(self) -> bool:
        """Whether the guarantee holds, with a delta of at most LARGEST_PRIVATE_DELTA; if not, see `why_not_private`."""
        return self.why_not_private is None

    @property
    def why_not_private(self) -> str | None:
        """The reason as the rest of a sentence, NOT PRIVATE: ...; None where the release is private."""
        if self.guaranteed:
            return delta_caveat(self.delta or 0.0)
        if self.broken_assumptions:
            return f"its proof does not hold here ({'; '.join(self.broken_assumptions)})"
        if self.noise == "none":
            return "no noise was added to what was computed from the trips"
        if self.noise == "seeded":
            return "its noise came from a seed, for an experiment, and whoever knows the seed can take it off"
        return "it carries no guarantee"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with `private` said in so many words."""
        return {"private": self.private, **asdict(self)}

    @classmethod
    def from_dict(cls, values: object) -> Certificate:
        """Read a certificate back; anything missing, unknown, of the wrong type or contradicting itself is refused."""
        if not isinstance(values, dict):
            raise ReleaseError("the certificate is not an object")
        given = dict(values)
        private = given.pop("private", None)
        given.setdefault("broken_assumptions", [])  # older certificates do not have it
        names = {item.name for item in fields(cls)}
        if set(given) != names:
            odd = sorted(set(given) ^ names)
            raise ReleaseError(f"the certificate lacks or does not know {', '.join(map(str, odd[:5]))}")
        for name, value in given.items():
            _check_field(name, value)
        certificate = cls(**(given | {"broken_assumptions": tuple(given["broken_assumptions"])}))
        if private is not certificate.private:
            raise ReleaseError(
                "the certificate calls itself private where its noise or its delta is not, or the other way round"
            )
        if ADJACENCY.get(certificate.unit) != certificate.adjacency:
            raise ReleaseError("the certificate's unit is not known, or its adjacency is not that of the unit")
        _check_dates(certificate.first_date, certificate.last_date)
        if certificate.first_date is not None and certificate.period_min > MINUTES_OF_DAY:
            raise ReleaseError("the certificate's period_min is longer than the days that its dates name")
        check_budget(certificate.budget)
        _check_bounds(certificate)
        if certificate.guaranteed:
            _check_promise(certificate)
        return certificate


def epsilon_of_rho(rho: float, delta: float) -> float:
    """The epsilon that rho-zero-concentrated privacy gives at delta.

        epsilon = inf over orders a > 1 of  a rho + log(1 − 1/a) − (log delta + log a) / (a − 1)

    Canonne, Kamath and Steinke 2020, Proposition 12. Only for checking certificates: the guarantee of a release is
    OpenDP's own, which is never below this.
    """

    def bound(log_excess: float) -> float:
        excess = math.exp(log_excess)  # a − 1
        log_order = math.log1p(excess)
        return (1 + excess) * rho + log_excess - log_order - (math.log(delta) + log_order) / excess

    middle = min((step / 10 for step in range(-600, 601)), key=bound)
    low, high = middle - 0.1, middle + 0.1
    for _ in range(60):
        third = (high - low) / 3
        if bound(low + third) < bound(high - third):
            high -= third
        else:
            low += third
    return max(0.0, min(bound(middle), bound((low + high) / 2)))


def _check_promise(certificate: Certificate) -> None:
    """Refuse numbers of a guarantee of which one contradicts the others."""
    epsilon, delta, rho, sensitivity, scale = (float(getattr(certificate, name)) for name in _PROMISE)
    ratio = sensitivity / scale
    if not math.isclose(rho, ratio * ratio / 2, rel_tol=_TOLERANCE):
        raise ReleaseError("the certificate's rho is not what its noise_scale and sensitivity give")
    if epsilon < epsilon_of_rho(rho, delta) * (1 - _TOLERANCE):
        raise ReleaseError("the certificate's epsilon is smaller than what its rho gives at its delta")


def _check_bounds(certificate: Certificate) -> None:
    """Refuse bounds on users that contradict the unit, each other or the sensitivity."""
    most, per_pair = certificate.max_requests, certificate.max_per_pair
    if certificate.unit == "request":
        if most is not None or per_pair is not None:
            raise ReleaseError("the certificate bounds the requests of users where its unit is one request")
        return
    if most is None or per_pair is None or per_pair > most:
        raise ReleaseError("the certificate's unit is a user, and its max_requests or max_per_pair is missing or wrong")
    counted = certificate.mechanism in _COUNTED and certificate.sensitivity is not None
    if counted and float(certificate.sensitivity or 0) ** 2 < most * per_pair * (1 - _TOLERANCE):
        raise ReleaseError("the certificate's sensitivity is smaller than its bounds on users allow")


def _check_dates(first: str | None, last: str | None) -> None:
    if first is None and last is None:
        return
    if first is None or last is None:
        raise ReleaseError("the certificate has one of first_date and last_date without the other")
    for text in (first, last):
        try:
            known = date.fromisoformat(text).isoformat() == text
        except ValueError:
            known = False
        if not known:
            raise ReleaseError("the certificate's first_date or last_date is not a date like 2026-01-31")
    if first > last:
        raise ReleaseError("the certificate's first_date is after its last_date")


def check_budget(budget: str | Mapping[str, Any]) -> None:
    """Refuse what does not say which ledger entry paid, or that none did."""
    if isinstance(budget, str):
        good = budget == "not tracked"
    else:
        good = (
            tuple(budget) == BUDGET
            and isinstance(budget["dataset"], str)
            and isinstance(budget["digest"], str)
            and type(budget["entry"]) is int
            and budget["entry"] > 0
            and _between(budget["approved_delta"], 1.0)
            and all(_between(budget[name], math.inf) for name in ("approved_epsilon", "spent_epsilon"))
            and budget["spent_epsilon"] <= budget["approved_epsilon"] * (1 + _TOLERANCE)
        )
    if not good:
        raise ReleaseError("the certificate's budget is neither a ledger entry nor not tracked")


def _check_field(name: str, value: object) -> None:
    if name in _KINDS:
        good, wanted = value in _KINDS[name], f"one of {', '.join(_KINDS[name])}"
    elif name == "days":
        good = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST_DAYS
        wanted = f"a whole number from 1 to {_MOST_DAYS:,}"
    elif name in ("max_requests", "max_per_pair"):
        whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST_BOUND
        good, wanted = value is None or whole, "a whole number of at least 1"
    elif name in _NUMBERS:
        below, wanted = (1.0, "a number between 0 and 1") if name == "delta" else (math.inf, "a number above 0")
        good = _between(value, below) or (value is None and name in _PROMISE)
    elif name == "broken_assumptions":
        good, wanted = (
            isinstance(value, list | tuple) and all(isinstance(item, str) for item in value),
            "a list of texts",
        )
    elif name in ("options", "versions"):
        good, wanted = isinstance(value, dict), "an object"
    elif name == "budget":
        good, wanted = isinstance(value, str | dict), "a text or an object"
    else:
        good, wanted = isinstance(value, str) or (value is None and name.endswith("_date")), "a text"
    if not good:
        raise ReleaseError(f"the certificate's {name} is not {wanted}")


def _between(value: object, below: float) -> bool:
    """Whether it is a number above 0 and below the bound that is finite as a float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 < value < below and value <= sys.float_info.max
