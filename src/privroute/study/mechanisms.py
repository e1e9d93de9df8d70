"""The mechanisms by name, with their options: frozen, public, and written into the certificate."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, cast

from privroute.errors import GuaranteeError, arg, named
from privroute.network.checks import show
from privroute.network.demand import Demand
from privroute.network.pairs import Pairs
from privroute.study.flow_mechanisms import Minimiser, Sgd
from privroute.study.options import (
    FAIRNESS_HELP,
    PUBLIC_DEMAND_HELP,
    check_fairness,
    check_gap,
    check_number,
    check_whole,
    option,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from privroute.study.contribution import Contribution

__all__ = [
    "MECHANISMS",
    "Counts",
    "Daily",
    "Layered",
    "Mechanism",
    "Minimiser",
    "Sgd",
    "Unprotected",
    "as_mechanism",
    "check_public_options",
    "default_mechanism",
    "noise_is_on_flows",
    "public_options",
]

_LATER = {"fairness", "smooth_periods"}  # older certificates lack them: their defaults
_FORMER = {"objective", "day_variation"}  # options that older certificates name and no mechanism has any more
_GAP_HELP = "Solve the optimum up to this relative gap."
_BINS_HELP = "Number of gravity bins within which negative counts are settled."
_SMOOTH_HELP = (
    "Of several periods, combine the noisy counts of neighbouring ones as far as they are alike. Default: true."
)
_SMALLEST_BIN_HELP = "Minimum number of pairs in a gravity bin."


@dataclass(frozen=True, slots=True)
class Counts:
    """Sum the counts over the days, add noise once, make them non-negative, solve the optimum.

    gap : relative gap of the optimum
    fairness : from 0, least total travel time, to 1, the equilibrium, as in `solve_optimum`; the other mechanisms that
        solve an optimum of released counts have it too
    bins, smallest_bin : number and least size of the gravity bins within which negative counts are settled
    smooth_periods : of several periods, combine the noisy counts of neighbouring ones as far as they are alike
    """

    name: ClassVar[str] = "counts"
    module: ClassVar[str] = "counts"
    on_flows: ClassVar[bool] = False

    gap: float = option(1e-8, _GAP_HELP)
    bins: int = option(20, _BINS_HELP)
    smallest_bin: int = option(200, _SMALLEST_BIN_HELP)
    fairness: float = option(0.0, FAIRNESS_HELP)
    smooth_periods: bool = option(default=True, words=_SMOOTH_HELP)

    def __post_init__(self) -> None:
        if not isinstance(self.smooth_periods, bool):
            raise GuaranteeError(f"{named('smooth_periods')} is {self.smooth_periods!r}; pass True or False")
        check_gap(self.gap)
        check_fairness(self.fairness)
        check_whole("bins", self.bins, 1)
        check_whole("smallest_bin", self.smallest_bin, 1)


@dataclass(frozen=True, slots=True)
class Daily:
    """Add noise to the counts of every day, average the days, then continue as `Counts`.

    A request is in one day only, so all days together cost as much as one day; each day could be released separately.
    The selection of days depends only on public dates:

    window : only the last N days. Default: all
    half_life_days : the weight of a day halves every N days. Default: equal weights
    next_weekday : only days of the weekday that follows the last day, if there are any: Mondays after a Sunday
    """

    name: ClassVar[str] = "daily"
    module: ClassVar[str] = "daily"
    on_flows: ClassVar[bool] = False

    window: int | None = option(None, "Use only the last N days. Default: all.")
    gap: float = option(1e-8, _GAP_HELP)
    bins: int = option(20, _BINS_HELP)
    smallest_bin: int = option(200, _SMALLEST_BIN_HELP)
    half_life_days: float | None = option(None, "Halve the weight of a day every N days. Default: equal weights.")
    next_weekday: bool = option(default=False, words="Use only days of the weekday that follows the last day.")
    fairness: float = option(0.0, FAIRNESS_HELP)

    def __post_init__(self) -> None:
        if self.window is not None:
            check_whole("window", self.window, 1)
        if self.half_life_days is not None:
            check_number("half_life_days", self.half_life_days, why=" of days")
        if not isinstance(self.next_weekday, bool):
            raise GuaranteeError(f"{named('next_weekday')} is {self.next_weekday!r}; pass True or False")
        check_gap(self.gap)
        check_fairness(self.fairness)
        check_whole("bins", self.bins, 1)
        check_whole("smallest_bin", self.smallest_bin, 1)


_SHARES_SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Layered:
    """Count zone totals, trips by length, pairs, and trips on links chosen by what is known so far; then solve.

    Fewer and better aimed numbers than `Counts` at the same guarantee: the better choice where data are few. All
    shares of the privacy budget are public and add up to 1:

    pairs_share, zones_share, lengths_share, links_share : for the counts of pairs, for what zones send and receive
        (half each), for trips in bins of free-flow time, and for the loads of links in all rounds (equal parts)
    length_bins : number of bins of free-flow time
    rounds : how often link loads are measured, each time on the routes of what is known by then; 0 with links_share 0
    links_per_trip : a trip is counted on at most this many links in a round
    public_demand : a demand that is public, e.g. of an old survey; used where the noisy data say that it is nearer to
        the truth than a gravity model. Only its proportions matter
    gap : relative gap of the optimum

    Half of the shares for zones and lengths is asked first. By these answers the other half is spent on the same tables
    or, where trips abound, on pairs; where trips are very few, all that is left is spent on zones and the total.
    """

    name: ClassVar[str] = "layered"
    module: ClassVar[str] = "layered"
    on_flows: ClassVar[bool] = False

    pairs_share: float = option(0.4, "Share of the privacy budget for the counts of pairs.")
    zones_share: float = option(0.24, "Share of the privacy budget for the totals of zones, half for each end.")
    lengths_share: float = option(0.06, "Share of the privacy budget for trips by length.")
    links_share: float = option(0.3, "Share of the privacy budget for the loads of links, all rounds together.")
    length_bins: int = option(12, "Number of bins of free-flow time in which trips are counted.")
    rounds: int = option(2, "Number of rounds in which the loads of links are measured.")
    links_per_trip: int = option(12, "Count a trip on at most this many links in each round.")
    public_demand: Demand | None = option(None, PUBLIC_DEMAND_HELP)  # noqa: RUF009 - a field
    gap: float = option(1e-8, _GAP_HELP)
    fairness: float = option(0.0, FAIRNESS_HELP)

    def __post_init__(self) -> None:
        check_gap(self.gap)
        check_fairness(self.fairness)
        for name in ("pairs_share", "zones_share", "lengths_share"):
            check_number(name, getattr(self, name), below=1.0)
        check_number("links_share", self.links_share, least=0.0, below=1.0)
        check_whole("length_bins", self.length_bins, 1)
        check_whole("rounds", self.rounds, 0)
        check_whole("links_per_trip", self.links_per_trip, 1)
        if self.public_demand is not None and not isinstance(self.public_demand, Demand):
            raise GuaranteeError(
                f"{named('public_demand')} is a {type(self.public_demand).__name__}; pass privroute.Demand"
            )
        whole = self.pairs_share + self.zones_share + self.lengths_share + self.links_share
        if not abs(whole - 1.0) <= _SHARES_SUM_TOLERANCE:
            raise GuaranteeError(
                f"{named('pairs_share')}, {named('zones_share')}, {named('lengths_share')} and {named('links_share')} "
                f"sum to {whole:.10g}; shares of one privacy budget sum to 1"
            )
        if (self.rounds == 0) != (self.links_share == 0):
            raise GuaranteeError(
                f"{named('links_share')} is {self.links_share:g} with {arg('rounds', str(self.rounds))}; link loads "
                "need both a share and a round, or neither"
            )


@dataclass(frozen=True, slots=True)
class Unprotected:
    """No noise: the optimum of the mean demand, the paper's Baseline. NOT PRIVATE, for comparison only."""

    name: ClassVar[str] = "none"
    module: ClassVar[str] = "none"
    on_flows: ClassVar[bool] = False

    gap: float = option(1e-8, _GAP_HELP)
    fairness: float = option(0.0, FAIRNESS_HELP)

    def __post_init__(self) -> None:
        check_gap(self.gap)
        check_fairness(self.fairness)


Mechanism = Counts | Daily | Layered | Minimiser | Sgd | Unprotected

MECHANISMS: dict[str, type[Mechanism]] = {
    "counts": Counts,
    "daily": Daily,
    "layered": Layered,
    "minimiser": Minimiser,
    "none": Unprotected,
    "sgd": Sgd,
}


MANY_PAIRS = 1000


def default_mechanism(pairs: int, contribution: Contribution | None) -> Mechanism:
    """`Layered` where noise on every pair would be badly aimed, else `Counts`: a rule on public numbers alone.

    Layered is measured to be better the more pairs there are (docs/layered.md); with few it gains little. For users its
    sums have sensitivity k where pairs have √(k k_p), so it needs k_p to be at least half of k.
    """
    kept = contribution
    cheap = kept is None or 2 * kept.squared_norm >= kept.max_requests**2
    return Layered() if pairs >= MANY_PAIRS and cheap else Counts()


def noise_is_on_flows(name: str) -> bool:
    """Whether the mechanism of this name perturbs shares of links rather than counts of trips."""
    return name in MECHANISMS and MECHANISMS[name].on_flows


def as_mechanism(mechanism: str | Mechanism) -> Mechanism:
    """Return the mechanism itself, or the one of this name with its default options."""
    if type(mechanism) in MECHANISMS.values():  # no proof is about a subclass
        return cast("Mechanism", mechanism)
    if isinstance(mechanism, str) and mechanism in MECHANISMS:
        return MECHANISMS[mechanism]()
    shown = repr(mechanism) if isinstance(mechanism, str) else f"a {type(mechanism).__name__}"
    raise GuaranteeError(f"{named('mechanism')} is {shown}; known: {', '.join(MECHANISMS)}")


def check_public_options(name: object, options: Mapping[str, Any]) -> None:
    """Refuse what `public_options` would not write for the mechanism of this name."""
    kind = MECHANISMS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise GuaranteeError(f"the mechanism {show(name)} is not known")
    names = {item.name for item in fields(kind)}
    if not names - _LATER <= set(options) <= names | _FORMER:
        raise GuaranteeError(f"the mechanism {name} has other options than {', '.join(options) or 'none'}")
    given = dict(options)
    variation = given.pop("day_variation", None)
    if given.pop("objective", "mean day") not in {"mean day", "all days"} or not (
        variation is None or (type(variation) in {int, float} and variation >= 0)
    ):
        raise GuaranteeError(f"the mechanism {name} has an objective that no version had")
    public = given.pop("public_demand", None)
    if public is not None and not (isinstance(public, str) and public.startswith("sha256 ")):
        raise GuaranteeError("public_demand is not named by its digest")
    if "public_demand" in options:  # only its digest is there; a demand without traffic stands for it
        given["public_demand"] = None if public is None else Demand(Pairs([0], [1]), [0.0])
    kind(**given)


def public_options(mechanism: Mechanism) -> dict[str, Any]:
    """The options as plain values for a certificate; a public demand by its checksum, so that it can be recognised."""
    values = {item.name: getattr(mechanism, item.name) for item in fields(mechanism)}
    return {name: _checksum(value) if isinstance(value, Demand) else value for name, value in values.items()}


def _checksum(demand: Demand) -> str:
    digest = hashlib.sha256()
    for array in (demand.pairs.origin, demand.pairs.destination, demand.rate_per_min):
        digest.update(array.tobytes())
    return f"sha256 {digest.hexdigest()}"
