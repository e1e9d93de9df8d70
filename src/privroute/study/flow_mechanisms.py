"""Options of the mechanisms that perturb unit flows: frozen, public, and written into the certificate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from privroute.errors import GuaranteeError, arg, named
from privroute.network.checks import one_of
from privroute.network.demand import Demand  # noqa: TC001 - the schema reads the types of fields
from privroute.study.options import PUBLIC_DEMAND_HELP, check_demand, check_number, check_whole, option

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Minimiser", "Sgd"]

_LARGEST_TILT = 1e3  # noise scales; keeps what is projected within the projection's range
_LARGEST_DETOUR = 1e3
_LARGEST_PAIR_POWER = 4.0
_MOST_STEPS_PER_DAY = 10_000
_EUCLIDEAN_TILT = 2.0
_ROUTE_DEFAULTS: dict[str, Any] = {
    "routes": "near",
    "detour": 1.3,
    "metric": "curvature",
    "power": 0.0,
    "prior_ceiling": 1.5,
}
_TILT = 10.0  # with these
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
_ALPHA_HELP = (
    "Weight of the regulariser, vehicle-minutes per minute; a larger weight means less noise and more spread routes."
)
_TILT_HELP = (
    "Subtract this many noise scales from each link before the projection, in proportion to its public cost. Default: "
    "10, or 2 without a public demand."
)
_TOLERANCE_HELP = "Largest certified ℓ2 error of the computation before the noise; it is part of the sensitivity."
_CEILING_HELP = "Cap the marginal cost of a link at this multiple of its free-flow time. Default: 8."
_PRIOR_CEILING_HELP = (
    "Cap the marginal cost of a link at this multiple of its cost at the optimum of the public demand."
)
_DETOUR_HELP = "Let a pair use only links on ways of at most this multiple of its cheapest one, at public costs."
_METRIC_HELP = "Norm of steps, regulariser and noise: by the links' curvature, or the same weight for all (none)."
_POWER_HELP = "Weight of a pair in the metric: this power of its cap over the mean cap. Default: 0."
_ROUTES_HELP = "Links that a pair may use: near its cheapest way at public costs (near), or every open link (all)."
_ALPHA = (
    ": the weight of the regulariser, vehicle-minutes per minute. More of it means less noise and a policy that is \
spread over more roads; fix it before you look at the trips, e.g. with privroute plan"
)


def _check_routes(options: Minimiser | Sgd) -> None:
    """What both mechanisms on route sets ask of their options."""
    one_of(options.routes, ("near", "all"), "routes", GuaranteeError)
    one_of(options.metric, ("curvature", "none"), "metric", GuaranteeError)
    check_number("detour", options.detour, least=1.0, below=_LARGEST_DETOUR)
    check_number("power", options.power, least=0.0, below=_LARGEST_PAIR_POWER)
    check_number("ceiling", options.ceiling, above=1.0)
    check_number("prior_ceiling", options.prior_ceiling, least=1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Minimiser:
    """Solve the regularised optimum of the mean demand, add noise to its unit flows, project them back.

    alpha : weight of the regulariser α/2 |x|²_W, vehicle-minutes per minute; public, needed
    ceiling : caps the marginal cost at this multiple of a link's free-flow time, in the optimisation only
    tolerance : certified distance from the optimum over all pairs and links; twice this is in the sensitivity
    tilt : before the projection, this many noise scales are subtracted from each link in proportion to its public
        cost. Default: 10, or 2 without a public demand

    With a demand that is public, e.g. of a model (without one: every link, the Euclidean norm, the ceiling alone):

    public_demand : gives route sets, metric and a lower ceiling. It must not be computed from these trips
    routes : "near" (default): a pair uses only links that lead nearer to its destination, on ways of at most `detour`
        times its cheapest one at the marginal costs of the public demand's optimum; "all": every open link
    metric : "curvature" (default): weights by the links' curvature, and of pairs by `power`; "none": all 1
    power : weight of a pair: this power of its public rate over the mean. Default: 0
    prior_ceiling : caps the marginal cost also at this multiple of the one at the public demand's optimum
    """

    name: ClassVar[str] = "minimiser"
    module: ClassVar[str] = "minimiser"
    on_flows: ClassVar[bool] = True
    cap_factor: ClassVar[float] = 1.0  # for the metric only: no rate is cut off there
    cap_trips: ClassVar[float] = 10.0

    alpha: float = option(0.0, _ALPHA_HELP)
    ceiling: float = option(8.0, _CEILING_HELP)
    tolerance: float = option(1e-5, _TOLERANCE_HELP)
    tilt: float | None = option(None, _TILT_HELP)
    public_demand: Demand | None = option(None, PUBLIC_DEMAND_HELP)  # noqa: RUF009 - a field
    routes: Literal["near", "all"] | None = option(None, _ROUTES_HELP)
    detour: float | None = option(None, _DETOUR_HELP)
    metric: Literal["curvature", "none"] | None = option(None, _METRIC_HELP)
    power: float | None = option(None, _POWER_HELP)
    prior_ceiling: float | None = option(None, _PRIOR_CEILING_HELP)

    def __post_init__(self) -> None:
        check_demand(self.public_demand)
        check_number("alpha", self.alpha, why=_ALPHA)
        check_number("ceiling", self.ceiling, above=1.0)
        check_number("tolerance", self.tolerance, below=1.0)
        _fill(self, {"tilt": _EUCLIDEAN_TILT if self.public_demand is None else _TILT})
        check_number("tilt", self.tilt, least=0.0, below=_LARGEST_TILT)
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
        cost. Default: 10; none with the paper's constants

    Certified only; what is beyond caps and ceilings is cut off:

    ceiling, prior_ceiling : marginal costs are at most these multiples of a link's free-flow time and of its cost at
        the optimum of the public demand. Default: 8 and 1.5
    cap_factor, cap_trips : a day's rate of a pair is at most cap_factor times the public one, plus that of cap_trips
        requests. Default: 3 and 10
    routes, detour : "near" (default): a pair uses only links that lead nearer to its destination, on ways of at most
        `detour` (default 1.3) times its cheapest one at the public demand's optimum; "all": every open link
    metric, power : "curvature" (default): weights by the links' curvature, and of pairs by this power of their caps
        over the mean cap (default 0); "none": all 1
    steps_per_day : gradient steps on each day. Default: 20
    step_sizes : "constant" (default): the largest that the proof allows; "paper": those of the paper, which shrink

    `Sgd.papers_case` has every link, the Euclidean norm and one step for each day, as in the paper.

    Paper only:

    beta : smoothness. Default: the largest eigenvalue of BᵀQB for the public demand, which the paper names; the number
        that it gives is 21 times as large, 2.08e7 / 60 vehicle-minutes per minute on Sioux Falls
    derivative_bound : C. Default: beta, as in the paper's experiments
    """

    name: ClassVar[str] = "sgd"
    on_flows: ClassVar[bool] = True

    public_demand: Demand | None = option(None, PUBLIC_DEMAND_HELP)  # noqa: RUF009 - a field
    alpha: float = option(0.0, _ALPHA_HELP)
    constants: Literal["certified", "paper"] = option(
        "certified", "Constants of the algorithm: certified, or those of the paper, which are NOT PRIVATE."
    )
    start: Literal["free-flow", "prior"] = option(
        "free-flow", "Start from the fastest paths of the empty network, or from the optimum of the public demand."
    )
    tolerance: float = option(1e-10, _TOLERANCE_HELP)
    tilt: float | None = option(None, _TILT_HELP)
    ceiling: float | None = option(None, _CEILING_HELP)
    prior_ceiling: float | None = option(None, _PRIOR_CEILING_HELP)
    cap_factor: float | None = option(None, "Cap the rate of a pair at this multiple of the public one. Default: 3.")
    cap_trips: float | None = option(None, "Add this many trips to the cap of each pair. Default: 10.")
    routes: Literal["near", "all"] | None = option(None, _ROUTES_HELP)
    detour: float | None = option(None, _DETOUR_HELP)
    metric: Literal["curvature", "none"] | None = option(None, _METRIC_HELP)
    power: float | None = option(None, _POWER_HELP)
    steps_per_day: int | None = option(None, "Gradient steps on each day. Default: 20.")
    step_sizes: Literal["constant", "paper"] | None = option(
        None, "The largest steps that the proof allows (constant), or those of the paper, which shrink."
    )
    beta: float | None = option(None, "Smoothness, with the paper's constants.")
    derivative_bound: float | None = option(None, "Bound C on derivatives, with the paper's constants.")

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
        check_demand(self.public_demand)
        if self.public_demand is None and (certified or self.beta is None or self.start == "prior"):
            raise GuaranteeError(
                f"sgd needs {arg('public_demand')}: how far one trip can move the result depends on how much traffic a "
                "day may have, and that bound must be public. Pass a demand that is not computed from these trips, "
                "e.g. of a model (privroute.gravity_demand)"
            )
        check_number("alpha", self.alpha, why=_ALPHA)
        check_number("tolerance", self.tolerance, below=1.0)
        defaults = _SGD_DEFAULTS if certified else {"tilt": 0.0}
        _fill(self, defaults)
        other = ("beta", "derivative_bound") if certified else tuple(name for name in _SGD_DEFAULTS if name != "tilt")
        _refuse(self, other, f"with {arg('constants', self.constants)}")
        check_number("tilt", self.tilt, least=0.0, below=_LARGEST_TILT)
        if certified:
            _check_routes(self)
            check_number("cap_factor", self.cap_factor, least=0.0)
            check_number("cap_trips", self.cap_trips, least=1.0)
            one_of(self.step_sizes, ("constant", "paper"), "step_sizes", GuaranteeError)
            check_whole("steps_per_day", self.steps_per_day, 1)
            if cast("int", self.steps_per_day) > _MOST_STEPS_PER_DAY:
                raise GuaranteeError(f"{named('steps_per_day')} is more than {_MOST_STEPS_PER_DAY:,}")
        for name in ("beta", "derivative_bound"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))


def _fill(options: Minimiser | Sgd, defaults: Mapping[str, Any]) -> None:
    for name, value in defaults.items():
        if getattr(options, name) is None:
            object.__setattr__(options, name, value)


def _refuse(options: Minimiser | Sgd, names: tuple[str, ...], where: str) -> None:
    for name in names:
        if getattr(options, name) is not None:
            raise GuaranteeError(f"{named(name)} is not valid {where}; omit it")
