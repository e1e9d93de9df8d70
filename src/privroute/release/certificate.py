"""The certificate of a release: what is protected, how strongly, by what, and on what it rests."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from privroute.errors import ReleaseError
from privroute.network.display_units import Units
from privroute.release.adjacency import ADJACENCY, is_adjacency
from privroute.release.certified_study import check_study, is_above_zero
from privroute.release.read_only import plain, read_only
from privroute.study.calendar import Calendar
from privroute.study.contribution import Contribution
from privroute.study.guarantee import delta_caveat
from privroute.study.measured_shares import DAYS_SHARE
from privroute.study.mechanisms import measures_days, noise_is_on_flows
from privroute.study.period_shares import period_shares

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["ADJACENCY", "BUDGET", "Certificate", "DataKind", "NoiseKind", "check_budget", "epsilon_of_rho"]

DataKind = Literal["trips", "simulated", "counts"]
NoiseKind = Literal["opendp", "seeded", "none"]

# dataset and entry: where the charge stands in the operator's ledger, and its digest there; then what was approved for
# all releases from this data set, and what those up to this one cost together, at the approved delta.
BUDGET = ("dataset", "entry", "digest", "approved_epsilon", "approved_delta", "spent_epsilon")
_PROMISE = ("epsilon", "delta", "rho", "sensitivity", "noise_scale")
_TOLERANCE = 1e-6
_KINDS = {"data": ("trips", "simulated", "counts"), "noise": ("opendp", "seeded", "none")}
_FROM_STUDY = ("epsilon", "delta", "unit", "mechanism", "options")  # said beside the study, for readers


@dataclass(frozen=True, slots=True)
class Certificate:
    """Everything here is public: chosen beforehand, or released with noise.

    study : what was chosen beforehand, as plain values: network, calendar (days, hours, time zone), unit and bounds,
        guarantee, mechanism and its options. Properties give the parts: epsilon, delta, unit, mechanism, options,
        calendar, days, period_min, expansion, max_requests, max_per_pair
    rho : the zero-concentrated bound from which the guarantee comes; None where there is none
    adjacency : when two data sets are neighbours, in words
    sensitivity, noise_scale : ℓ2 sensitivity of what the mechanism perturbed, and the Gaussian's scale; of rho they
        take what `measured_share` leaves. Where periods divide rho, the noise of each is larger (`period_shares`)
    data : "trips", "simulated", or "counts" that another system made
    noise : "opendp", "seeded" (experiments) or "none"; only opendp protects
    budget : the ledger entry (see BUDGET), or "not tracked"
    versions : of the packages that made it
    broken_assumptions : what the proof of the guarantee assumes and nothing ensures, in words; a release with any is
        not private
    """

    study: Mapping[str, Any]
    rho: float | None
    adjacency: str
    sensitivity: float | None
    noise_scale: float | None
    data: DataKind
    noise: NoiseKind
    budget: str | Mapping[str, Any] = "not tracked"
    versions: Mapping[str, str] = field(default_factory=dict)
    broken_assumptions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("study", "budget", "versions", "broken_assumptions"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __reduce__(self) -> tuple[Callable[..., Certificate], tuple[Any, ...]]:
        return type(self), tuple(plain(getattr(self, item.name)) for item in fields(self))

    @property
    def epsilon(self) -> float | None:
        """Of the guarantee; None where there is none."""
        return None if self.study["guarantee"] is None else self.study["guarantee"]["epsilon"]

    @property
    def delta(self) -> float | None:
        """Of the guarantee; None where there is none."""
        return None if self.study["guarantee"] is None else self.study["guarantee"]["delta"]

    @property
    def unit(self) -> str:
        """What one unit of data is."""
        return str(self.study["unit"])

    @property
    def mechanism(self) -> str:
        """Its name."""
        return str(self.study["mechanism"]["name"])

    @property
    def options(self) -> Mapping[str, Any]:
        """The mechanism's frozen options."""
        found: Mapping[str, Any] = self.study["mechanism"]["options"]
        return found

    @property
    def calendar(self) -> Calendar:
        """Which hours of which days, in which time zone."""
        return _calendar(json.dumps(plain(self.study["calendar"])))

    @property
    def days(self) -> int:
        """N."""
        return self.calendar.days

    @property
    def period_min(self) -> float:
        """T, minutes, of the only period."""
        return self.calendar.period.minutes

    @property
    def period_shares(self) -> tuple[float, ...]:
        """Of rho, for each slot of the calendar; the noise of a slot with the share s is noise_scale / √s."""
        bounds = self.study["bounds"]
        kept = None if bounds is None else Contribution(self.unit, **bounds)  # type: ignore[arg-type]  # checked
        return period_shares(self.calendar, kept, self.study.get("period_weights", {}))

    @property
    def expansion(self) -> float:
        """Vehicles on the road, or what else flows, for each request in the data."""
        return float(self.study["expansion"])

    @property
    def units(self) -> Units:
        """What traffic and times are called and in what units they are shown."""
        return Units.from_dict(plain(self.study["units"])) if "units" in self.study else Units()

    @property
    def counted(self) -> str:
        """What counts are numbers of."""
        return self.units.requests if self.max_weight is None else "units of weight"

    @property
    def max_requests(self) -> int | None:
        """How many requests of one user (and day) were counted at most; for unit request the largest weight if any."""
        return None if self.study["bounds"] is None else self.study["bounds"]["max_requests"]

    @property
    def max_per_pair(self) -> int | None:
        """How many of these for one pair."""
        return None if self.study["bounds"] is None else self.study["bounds"]["max_per_pair"]

    @property
    def max_weight(self) -> int | None:
        """As how many requests one request counted at most; None where requests have no weights."""
        return None if self.study["bounds"] is None else self.study["bounds"].get("max_weight")

    @property
    def total(self) -> Mapping[str, Any] | None:
        """Where the total of the demand comes from, where users are bounded; None where all requests are counted."""
        if "total" in self.study or self.max_requests is None or self.unit == "request":
            return self.study.get("total")
        return {"source": "kept"}

    @property
    def measured_share(self) -> float:
        """The part of rho that was set apart for measuring the quality, the total and the days."""
        days = DAYS_SHARE if measures_days(self.mechanism, self.options) else 0.0
        return self.quality_share + float((self.total or {}).get("share", 0.0)) + days

    @property
    def quality_share(self) -> float:
        """The part of it that is for the quality."""
        return float(self.study.get("quality_share", 0.0))

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
            return "its noise was drawn from a seed, for an experiment, and anybody who knows the seed can remove it"
        return "it has no guarantee"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON: `private` and the guarantee in front, the study as a whole beside them."""
        said = {name: getattr(self, name) for name in _FROM_STUDY}
        own = {item.name: getattr(self, item.name) for item in fields(self)}
        values: dict[str, Any] = plain({"private": self.private, **said, **own})
        return values

    @classmethod
    def from_dict(cls, values: object) -> Certificate:
        """Read a certificate back; anything missing, unknown, of the wrong type or contradicting itself is refused."""
        if not isinstance(values, dict):
            raise ReleaseError("the certificate is not an object")
        given = dict(values)
        names = {item.name for item in fields(cls)}
        if set(given) != names | {"private", *_FROM_STUDY}:
            unmatched = sorted(set(given) ^ (names | {"private", *_FROM_STUDY}))
            raise ReleaseError(f"the certificate has missing or unknown fields: {', '.join(map(str, unmatched[:5]))}")
        private, said = given.pop("private"), {name: given.pop(name) for name in _FROM_STUDY}
        for name, value in given.items():
            _check_field(name, value)
        check_study(given["study"])
        certificate = cls(**given)
        for name, value in said.items():
            if value != getattr(certificate, name) or isinstance(value, bool):
                raise ReleaseError(f"the certificate's {name} contradicts its study")
        if private is not certificate.private:
            raise ReleaseError(
                "the certificate calls itself private where its noise or its delta is not, or the other way round"
            )
        if not is_adjacency(certificate.adjacency, certificate.unit, measured=certificate.quality_share > 0):
            raise ReleaseError("the certificate's unit is not known, or its adjacency is not that of the unit")
        check_budget(certificate.budget)
        _check_bounds(certificate)
        if certificate.guaranteed:
            _check_promise(certificate)
        return certificate


def epsilon_of_rho(rho: float, delta: float) -> float:
    """The epsilon that rho-zero-concentrated privacy gives at delta.

        epsilon = inf over orders a > 1 of  a rho + log(1 − 1/a) − (log delta + log a) / (a − 1)

    Canonne, Kamath and Steinke 2020, Proposition 12. Only for checking certificates, and for the first guess of a
    search: the guarantee of a release is OpenDP's own, which is never below this.
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
    if not math.isclose(rho * (1 - certificate.measured_share), ratio * ratio / 2, rel_tol=_TOLERANCE):
        raise ReleaseError("the certificate's rho is not what its noise_scale and sensitivity give")
    if epsilon < epsilon_of_rho(rho, delta) * (1 - _TOLERANCE):
        raise ReleaseError("the certificate's epsilon is smaller than what its rho gives at its delta")


def _check_bounds(certificate: Certificate) -> None:
    """Refuse bounds on users that contradict the unit, each other or the sensitivity."""
    most, per_pair = certificate.max_requests, certificate.max_per_pair
    if certificate.unit == "request":
        if (most is not None or per_pair is not None) and certificate.max_weight is None:
            raise ReleaseError("the certificate bounds the requests of users where its unit is one request")
        on_counts = not noise_is_on_flows(certificate.mechanism)
        least = (certificate.max_weight or 1) * (1 - _TOLERANCE)
        if on_counts and certificate.sensitivity is not None and certificate.sensitivity < least:
            raise ReleaseError("the certificate's sensitivity is smaller than one request moves a count")
        return
    if noise_is_on_flows(certificate.mechanism):
        raise ReleaseError("the certificate's mechanism has no proof for its unit")
    if most is None or per_pair is None or per_pair > most:
        raise ReleaseError("the certificate's unit is a user, and its max_requests or max_per_pair is missing or wrong")
    if certificate.sensitivity is not None and certificate.sensitivity**2 < most * per_pair * (1 - _TOLERANCE):
        raise ReleaseError("the certificate's sensitivity is smaller than its bounds on users allow")


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
            and is_above_zero(budget["approved_delta"], 1.0)
            and all(is_above_zero(budget[name]) for name in ("approved_epsilon", "spent_epsilon"))
            and budget["spent_epsilon"] <= budget["approved_epsilon"] * (1 + _TOLERANCE)
        )
    if not good:
        raise ReleaseError("the certificate's budget is neither a ledger entry nor not tracked")


def _check_field(name: str, value: object) -> None:
    if name in _KINDS:
        good, wanted = value in _KINDS[name], f"one of {', '.join(_KINDS[name])}"
    elif name in _PROMISE:
        good, wanted = value is None or is_above_zero(value), "a number above 0"
    elif name == "broken_assumptions":
        texts = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
        good, wanted = texts, "a list of texts"
    elif name == "study":
        good, wanted = isinstance(value, dict), "an object"
    elif name == "versions":
        texts = isinstance(value, dict) and all(isinstance(item, str) for item in value.values())
        good, wanted = texts, "an object of texts"
    elif name == "budget":
        good, wanted = isinstance(value, str | dict), "a text or an object"
    else:
        good, wanted = isinstance(value, str), "a text"
    if not good:
        raise ReleaseError(f"the certificate's {name} is not {wanted}")


@lru_cache(maxsize=16)
def _calendar(values: str) -> Calendar:
    """Made once of the same values: a release of a whole day asks for it at every period."""
    return Calendar.from_dict(json.loads(values))
