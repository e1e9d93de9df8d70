"""The mechanisms by name, with their options: frozen, public, and written into the certificate."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from privroute.errors import GuaranteeError, arg, named
from privroute.network.checks import one_of, show
from privroute.network.demand import Demand
from privroute.network.pairs import Pairs

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


_TINY, _HUGE = 1e-100, 1e100  # squares of options, and what is made of them, stay within float64
_LARGEST_TILT = 1e3  # noise scales; keeps what is projected within the projection's range
_LARGEST_DETOUR = 1e3
_LARGEST_PAIR_POWER = 4.0
_MOST_STEPS_PER_DAY = 10_000
_TILT = 2.0
_ROUTE_DEFAULTS: dict[str, Any] = {
    "routes": "near",
    "detour": 1.3,
    "metric": "curvature",
    "power": 0.5,
    "prior_ceiling": 1.5,
}
_PAPERS_CASE: dict[str, Any] = {
    "routes": "all",
    "metric": "none",
    "steps_per_day": 1,
    "step_sizes": "paper",
    "prior_ceiling": 1e6,
    "tilt": 5.0,
}
_SGD_DEFAULTS: dict[str, Any] = _ROUTE_DEFAULTS | {
    "tilt": _TILT,
    "ceiling": 8.0,
    "cap_factor": 3.0,
    "cap_trips": 10.0,
    "steps_per_day": 20,
    "step_sizes": "constant",
}


def _whole(name: str, value: object, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise GuaranteeError(f"{named(name)} is {value!r}; pass a whole number of at least {least}")


def _gap(value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise GuaranteeError(f"{named('gap')} is {value!r}; pass a number between 0 and 1")


def _number(
    name: str, value: object, *, above: float = 0.0, least: float | None = None, below: float = math.inf, why: str = ""
) -> None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and value < below
    if not good or not (value > above if least is None else value >= least):  # type: ignore[operator]
        wanted = f"greater than {above:g}" if least is None else f"of at least {least:g}"
        limit = "" if below == math.inf else f" and below {below:g}"
        raise GuaranteeError(f"{named(name)} is {show(value)}; pass a number {wanted}{limit}{why}")
    if value != 0 and not _TINY <= value <= _HUGE:  # type: ignore[operator]
        raise GuaranteeError(f"{named(name)} is {show(value)}; pass a number between {_TINY:g} and {_HUGE:g}")


def _option(default: Any, words: str) -> Any:
    """A field with what the help of the command line and the comments of a study file say about it."""
    return field(default=default, metadata={"help": words})


_GAP_HELP = "Solve the optimum up to this relative gap."
_BINS_HELP = "Number of gravity bins within which negative counts are settled."
_SMALLEST_BIN_HELP = "Minimum number of pairs in a gravity bin."
_ALPHA_HELP = (
    "Weight of the regulariser, vehicle-minutes per minute; a larger weight means less noise and more spread routes."
)
_TILT_HELP = "Subtract this many noise scales from each link before the projection, in proportion to its public cost."
_TOLERANCE_HELP = "Largest certified ℓ2 error of the computation before the noise; it is part of the sensitivity."
_PUBLIC_DEMAND_HELP = (
    "File of a public demand per hour (.tntp, .csv, .omx), or sioux-falls: bounds traffic and routes (minimiser, sgd), "
    "or may serve as a first guess (layered)."
)
_CEILING_HELP = "Cap the marginal cost of a link at this multiple of its free-flow time. Default: 8."
_PRIOR_CEILING_HELP = (
    "Cap the marginal cost of a link at this multiple of its cost at the optimum of the public demand."
)
_DETOUR_HELP = "Let a pair use only links on ways of at most this multiple of its cheapest one, at public costs."
_METRIC_HELP = "Norm of steps, regulariser and noise: by the links' curvature, or the same weight for all (none)."
_POWER_HELP = "Weight of a pair in the metric: this power of its cap over the mean cap."
_ROUTES_HELP = "Links that a pair may use: near its cheapest way at public costs (near), or every open link (all)."


@dataclass(frozen=True, slots=True)
class Counts:
    """Sum the counts over the days, add noise once, make them non-negative, solve the optimum.

    gap : relative gap of the optimum
    bins, smallest_bin : number and least size of the gravity bins within which negative counts are settled
    """

    name: ClassVar[str] = "counts"
    module: ClassVar[str] = "counts"
    on_flows: ClassVar[bool] = False

    gap: float = _option(1e-8, _GAP_HELP)
    bins: int = _option(20, _BINS_HELP)
    smallest_bin: int = _option(200, _SMALLEST_BIN_HELP)

    def __post_init__(self) -> None:
        _gap(self.gap)
        _whole("bins", self.bins, 1)
        _whole("smallest_bin", self.smallest_bin, 1)


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

    window: int | None = _option(None, "Use only the last N days. Default: all.")
    gap: float = _option(1e-8, _GAP_HELP)
    bins: int = _option(20, _BINS_HELP)
    smallest_bin: int = _option(200, _SMALLEST_BIN_HELP)
    half_life_days: float | None = _option(None, "Halve the weight of a day every N days. Default: equal weights.")
    next_weekday: bool = _option(default=False, words="Use only days of the weekday that follows the last day.")

    def __post_init__(self) -> None:
        if self.window is not None:
            _whole("window", self.window, 1)
        if self.half_life_days is not None:
            _number("half_life_days", self.half_life_days, why=" of days")
        if not isinstance(self.next_weekday, bool):
            raise GuaranteeError(f"{named('next_weekday')} is {self.next_weekday!r}; pass True or False")
        _gap(self.gap)
        _whole("bins", self.bins, 1)
        _whole("smallest_bin", self.smallest_bin, 1)


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

    pairs_share: float = _option(0.4, "Share of the privacy budget for the counts of pairs.")
    zones_share: float = _option(0.24, "Share of the privacy budget for the totals of zones, half for each end.")
    lengths_share: float = _option(0.06, "Share of the privacy budget for trips by length.")
    links_share: float = _option(0.3, "Share of the privacy budget for the loads of links, all rounds together.")
    length_bins: int = _option(12, "Number of bins of free-flow time in which trips are counted.")
    rounds: int = _option(2, "Number of rounds in which the loads of links are measured.")
    links_per_trip: int = _option(12, "Count a trip on at most this many links in each round.")
    public_demand: Demand | None = _option(None, _PUBLIC_DEMAND_HELP)  # noqa: RUF009 - a field
    gap: float = _option(1e-8, _GAP_HELP)

    def __post_init__(self) -> None:
        _gap(self.gap)
        for name in ("pairs_share", "zones_share", "lengths_share"):
            _number(name, getattr(self, name), below=1.0)
        _number("links_share", self.links_share, least=0.0, below=1.0)
        _whole("length_bins", self.length_bins, 1)
        _whole("rounds", self.rounds, 0)
        _whole("links_per_trip", self.links_per_trip, 1)
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

    gap: float = _option(1e-8, _GAP_HELP)

    def __post_init__(self) -> None:
        _gap(self.gap)


_ALPHA = (
    ": the weight of the regulariser, vehicle-minutes per minute. More of it means less noise and a policy that is \
spread over more roads; fix it before you look at the trips, e.g. with privroute plan"
)


def _check_demand(value: object) -> None:
    if value is not None and not isinstance(value, Demand):
        raise GuaranteeError(f"{named('public_demand')} is a {type(value).__name__}; pass privroute.Demand")


def _check_routes(options: Minimiser | Sgd) -> None:
    """What both mechanisms on route sets ask of their options."""
    one_of(options.routes, ("near", "all"), "routes", GuaranteeError)
    one_of(options.metric, ("curvature", "none"), "metric", GuaranteeError)
    _number("detour", options.detour, least=1.0, below=_LARGEST_DETOUR)
    _number("power", options.power, least=0.0, below=_LARGEST_PAIR_POWER)
    _number("ceiling", options.ceiling, above=1.0)
    _number("prior_ceiling", options.prior_ceiling, least=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimiser:
    """Solve the regularised optimum of the mean demand, add noise to its unit flows, project them back.

    alpha : weight of the regulariser α/2 |x|²_W, vehicle-minutes per minute; public, needed
    ceiling : caps the marginal cost at this multiple of a link's free-flow time, in the optimisation only
    tolerance : certified distance from the optimum over all pairs and links; twice this is in the sensitivity
    tilt : before the projection, this many noise scales are subtracted from each link in proportion to its public cost

    With a demand that is public, e.g. of a model (without one: every link, the Euclidean norm, the ceiling alone):

    public_demand : gives route sets, metric and a lower ceiling. It must not be computed from these trips
    routes : "near" (default): a pair uses only links that lead nearer to its destination, on ways of at most `detour`
        times its cheapest one at the marginal costs of the public demand's optimum; "all": every open link
    metric : "curvature" (default): weights by the links' curvature, and of pairs by `power`; "none": all 1
    power : weight of a pair: this power of its public rate over the mean
    prior_ceiling : caps the marginal cost also at this multiple of the one at the public demand's optimum
    """

    name: ClassVar[str] = "minimiser"
    module: ClassVar[str] = "minimiser"
    on_flows: ClassVar[bool] = True
    cap_factor: ClassVar[float] = 1.0  # for the metric only: no rate is cut off there
    cap_trips: ClassVar[float] = 10.0

    alpha: float = _option(0.0, _ALPHA_HELP)
    ceiling: float = _option(8.0, _CEILING_HELP)
    tolerance: float = _option(1e-5, _TOLERANCE_HELP)
    tilt: float = _option(_TILT, _TILT_HELP)
    public_demand: Demand | None = _option(None, _PUBLIC_DEMAND_HELP)  # noqa: RUF009 - a field
    routes: Literal["near", "all"] | None = _option(None, _ROUTES_HELP)
    detour: float | None = _option(None, _DETOUR_HELP)
    metric: Literal["curvature", "none"] | None = _option(None, _METRIC_HELP)
    power: float | None = _option(None, _POWER_HELP)
    prior_ceiling: float | None = _option(None, _PRIOR_CEILING_HELP)

    def __post_init__(self) -> None:
        _check_demand(self.public_demand)
        _number("alpha", self.alpha, why=_ALPHA)
        _number("ceiling", self.ceiling, above=1.0)
        _number("tolerance", self.tolerance, below=1.0)
        _number("tilt", self.tilt, least=0.0, below=_LARGEST_TILT)
        if self.public_demand is None:
            _refuse(self, tuple(_ROUTE_DEFAULTS), f"without {arg('public_demand')}")
        else:
            _fill(self, _ROUTE_DEFAULTS)
            _check_routes(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sgd:
    """The paper's Algorithm 1: gradient steps for each day in order, noise on the last iterate, projection.

    public_demand : a demand that is public, e.g. of a model; sets how much traffic a day may have at most
    alpha : weight of the regulariser α/2 |x|²_W, vehicle-minutes per minute; public, needed
    constants : "certified" (default), or "paper": those published, for study; releases are then not called private
    start : "free-flow": fastest paths of the empty network; "prior": the optimum of the public demand
    tolerance : largest error of each pair's projection; it is in the sensitivity
    tilt : before the last projection, this many noise scales are subtracted from each link in proportion to its public
        cost. Default: 2; none with the paper's constants

    Certified only; what is beyond caps and ceilings is cut off:

    ceiling, prior_ceiling : marginal costs are at most these multiples of a link's free-flow time and of its cost at
        the optimum of the public demand. Default: 8 and 1.5
    cap_factor, cap_trips : a day's rate of a pair is at most cap_factor times the public one, plus that of cap_trips
        requests. Default: 3 and 10
    routes, detour : "near" (default): a pair uses only links that lead nearer to its destination, on ways of at most
        `detour` (default 1.3) times its cheapest one at the public demand's optimum; "all": every open link
    metric, power : "curvature" (default): weights by the links' curvature, and of pairs by this power of their caps
        over the mean cap (default 0.5); "none": all 1
    steps_per_day : gradient steps on each day. Default: 20
    step_sizes : "constant" (default): the largest that the proof allows; "paper": those of the paper, which shrink

    `Sgd.papers_case` has every link, the Euclidean norm and one step for each day, as in the paper.

    Paper only:

    beta : smoothness. Default: the largest eigenvalue of BᵀQB for the public demand, as in the paper's experiments
    derivative_bound : C. Default: beta, as there
    """

    name: ClassVar[str] = "sgd"
    on_flows: ClassVar[bool] = True

    public_demand: Demand | None = _option(None, _PUBLIC_DEMAND_HELP)  # noqa: RUF009 - a field
    alpha: float = _option(0.0, _ALPHA_HELP)
    constants: Literal["certified", "paper"] = _option(
        "certified", "Constants of the algorithm: certified, or those of the paper, which are NOT PRIVATE."
    )
    start: Literal["free-flow", "prior"] = _option(
        "free-flow", "Start from the fastest paths of the empty network, or from the optimum of the public demand."
    )
    tolerance: float = _option(1e-10, _TOLERANCE_HELP)
    tilt: float | None = _option(None, _TILT_HELP)
    ceiling: float | None = _option(None, _CEILING_HELP)
    prior_ceiling: float | None = _option(None, _PRIOR_CEILING_HELP)
    cap_factor: float | None = _option(None, "Cap the rate of a pair at this multiple of the public one. Default: 3.")
    cap_trips: float | None = _option(None, "Add this many trips to the cap of each pair. Default: 10.")
    routes: Literal["near", "all"] | None = _option(None, _ROUTES_HELP)
    detour: float | None = _option(None, _DETOUR_HELP)
    metric: Literal["curvature", "none"] | None = _option(None, _METRIC_HELP)
    power: float | None = _option(None, _POWER_HELP)
    steps_per_day: int | None = _option(None, "Gradient steps on each day. Default: 20.")
    step_sizes: Literal["constant", "paper"] | None = _option(
        None, "The largest steps that the proof allows (constant), or those of the paper, which shrink."
    )
    beta: float | None = _option(None, "Smoothness, with the paper's constants.")
    derivative_bound: float | None = _option(None, "Bound C on derivatives, with the paper's constants.")

    @classmethod
    def papers_case(cls, **options: Any) -> Sgd:
        """Certified constants for the algorithm as the paper has it: every link, no metric, one step for each day."""
        return cls(**_PAPERS_CASE | options)

    @property
    def module(self) -> str:
        """Which of the two versions of the algorithm it is."""
        return "sgd" if self.constants == "certified" else "sgd_as_published"

    def __post_init__(self) -> None:
        one_of(self.constants, ("certified", "paper"), "constants", GuaranteeError)
        one_of(self.start, ("free-flow", "prior"), "start", GuaranteeError)
        certified = self.constants == "certified"
        _check_demand(self.public_demand)
        if self.public_demand is None and (certified or self.beta is None or self.start == "prior"):
            raise GuaranteeError(
                f"sgd needs {arg('public_demand')}: how far one trip can move the result depends on how much traffic a "
                "day may have, and that bound must be public. Pass a demand that is not computed from these trips, "
                "e.g. of a model (privroute.gravity_demand)"
            )
        _number("alpha", self.alpha, why=_ALPHA)
        _number("tolerance", self.tolerance, below=1.0)
        defaults = _SGD_DEFAULTS if certified else {"tilt": 0.0}
        _fill(self, defaults)
        other = ("beta", "derivative_bound") if certified else tuple(name for name in _SGD_DEFAULTS if name != "tilt")
        _refuse(self, other, f"with {arg('constants', self.constants)}")
        _number("tilt", self.tilt, least=0.0, below=_LARGEST_TILT)
        if certified:
            _check_routes(self)
            _number("cap_factor", self.cap_factor, least=0.0)
            _number("cap_trips", self.cap_trips, least=1.0)
            one_of(self.step_sizes, ("constant", "paper"), "step_sizes", GuaranteeError)
            _whole("steps_per_day", self.steps_per_day, 1)
            if cast("int", self.steps_per_day) > _MOST_STEPS_PER_DAY:
                raise GuaranteeError(f"{named('steps_per_day')} is more than {_MOST_STEPS_PER_DAY:,}")
        for name in ("beta", "derivative_bound"):
            if getattr(self, name) is not None:
                _number(name, getattr(self, name))


def _fill(options: Minimiser | Sgd, defaults: Mapping[str, Any]) -> None:
    for name, value in defaults.items():
        if getattr(options, name) is None:
            object.__setattr__(options, name, value)


def _refuse(options: Minimiser | Sgd, names: tuple[str, ...], where: str) -> None:
    for name in names:
        if getattr(options, name) is not None:
            raise GuaranteeError(f"{named(name)} is not valid {where}; omit it")


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
    if set(options) != {item.name for item in fields(kind)}:
        raise GuaranteeError(f"the mechanism {name} has other options than {', '.join(options) or 'none'}")
    given = dict(options)
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
