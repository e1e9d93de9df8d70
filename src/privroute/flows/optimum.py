"""System optimum and user equilibrium, as link flows and as a policy for every pair.

    optimum      minimise Σ_e y_e f_e(y_e)          everybody's time together is least
    equilibrium  minimise Σ_e ∫₀^{y_e} f_e          nobody gains by another path (Wardrop)
    between      minimise (1 − fairness) Σ_e y_e f_e(y_e) + fairness Σ_e ∫₀^{y_e} f_e

(the interpolated assignment of Jalota, Solovey, Tsao, Zoepf and Pavone, 2021), each with Σ_e y_e g_e added for fixed
costs g, over y = background + Σ_w Λ_w x_w with a unit flow x_w for each pair. All say: used paths have the least cost,
the marginal cost t = f + y f' for the optimum, the time f for the equilibrium, f + (1 − fairness) y f' between them,
each with g. How far a solution is from that is its relative gap, Σ_e c_e (y_e − background_e) / Σ_w Λ_w (least cost of
w) − 1, computed at the end from the policy's link flows and shortest paths sought afresh.

Where curves have kinks, costs c_e are subgradients at flows q_e near y_e, and the gap also has what the link terms at y
lie above their tangents at q (docs/model.md, Kinks): it still bounds how far the objective is above its minimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from privroute import _core
from privroute.errors import DemandError, InputError, NetworkError
from privroute.network.checks import check_type, freeze, show
from privroute.network.demand import Demand
from privroute.network.network import Network
from privroute.policy.routing_policy import RoutingPolicy
from privroute.progress import check_progress
from privroute.threads import available_threads

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.latency import Latency
    from privroute.progress import Progress

__all__ = ["ConvergenceRow", "Solution", "Status", "solve_equilibrium", "solve_optimum"]

Status = Literal["converged", "iteration limit", "time limit", "interrupted", "stalled"]

_MOST = 2**31
_SMALLEST_GAP = 1e-15  # below this, rounding
_SOLVING = "Solving"
_PHASES = ("Finding first routes", _SOLVING, "Collecting the policy")  # as the core numbers them

_ADVICE: dict[Status, str] = {
    "converged": "",
    "iteration limit": "raise max_iterations or loosen gap",
    "time limit": "raise time_limit_s or loosen gap; start=solution goes on from here",
    "interrupted": "start=solution goes on from here",
    "stalled": "rounding allows no smaller gap on this network; loosen gap",
}


@dataclass(frozen=True, slots=True)
class ConvergenceRow:
    """Where the solver stood after an iteration."""

    iteration: int
    relative_gap: float
    objective: float
    seconds: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Solution:
    """A policy for every pair, with a certificate of its quality.

    policy : pairs without demand have the shortest path at the final costs
    link_flow : (links,) y, vehicles per minute, background included; that of `policy` under the demand
    link_cost : (links,) prices c_e of the certificate: the cost at y, at a kink one between the costs beside it
    total_travel_time : Σ_e y_e f_e(y_e), vehicle-minutes per minute
    objective : what was minimised
    relative_gap : see the module; "converged" means at most the gap asked for
    report : one row per iteration
    """

    policy: RoutingPolicy
    link_flow: NDArray[np.float64]
    link_cost: NDArray[np.float64]
    total_travel_time: float
    objective: float
    relative_gap: float
    iterations: int
    status: Status
    report: tuple[ConvergenceRow, ...]

    def __repr__(self) -> str:
        return (
            f"Solution({self.message}, {self.iterations} iterations, {self.total_travel_time:,.6g} vehicle-min per min)"
        )

    @property
    def report_text(self) -> str:
        """The convergence report as a table to print."""
        lines = [f"{'iteration':>9} {'relative gap':>13} {'objective':>18} {'seconds':>9}"]
        lines += [
            f"{r.iteration:>9} {r.relative_gap:>13.3e} {r.objective:>18.10g} {r.seconds:>9.4f}" for r in self.report
        ]
        return "\n".join(lines)

    @property
    def message(self) -> str:
        """The status with what to try next."""
        if math.isinf(self.relative_gap):
            return f"{self.status}: travel times overflow on this network; check capacities, powers and the demand"
        advice = _ADVICE[self.status]
        return f"{self.status} at gap {self.relative_gap:.1e}" + (f": {advice}" if advice else "")


def solve_optimum(
    network: Network,
    demand: Demand,
    *,
    fairness: float = 0.0,
    gap: float = 1e-8,
    max_iterations: int = 1000,
    time_limit_s: float | None = None,
    start: Solution | RoutingPolicy | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Route the demand with minimal total travel time.

    fairness : from 0 (least total time) to 1 (equilibrium, where routes of a pair take equally long): a larger one
        gives some total time away so that nobody is sent on a much longer route
    gap : relative gap to reach
    time_limit_s : stop after this many seconds and return the current solution, with a status that says so
    start : an earlier solution or policy for the same pairs, used as the starting point
    threads : for the parts that are independent by origin; default: all processors, on networks where threads pay.
        The solution does not depend on them
    progress : called periodically with the phase (while solving with the current gap) and the share of it that is done,
        while solving in decades of the gap; if it returns False the solver stops and returns the current solution, with
        a status that says so
    """
    return _solve(
        1.0 - _fairness(fairness), network, demand, gap, max_iterations, time_limit_s, start, threads, progress
    )


def solve_equilibrium(
    network: Network,
    demand: Demand,
    *,
    gap: float = 1e-8,
    max_iterations: int = 1000,
    time_limit_s: float | None = None,
    start: Solution | RoutingPolicy | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Solution:
    """Route the demand so that nobody has a faster path (Wardrop); arguments as for `solve_optimum`."""
    return _solve(0.0, network, demand, gap, max_iterations, time_limit_s, start, threads, progress)


def _solve(
    social: float,
    network: Network,
    demand: Demand,
    gap: float,
    max_iterations: int,
    time_limit_s: float | None,
    start: Solution | RoutingPolicy | None,
    threads: int | None,
    progress: Progress | None,
) -> Solution:
    check_type(network, Network, "network", NetworkError)
    check_type(demand, Demand, "demand", DemandError)
    _check("gap", gap, 0.0)
    _check("max_iterations", max_iterations, 0, whole=True)
    if threads is not None:
        _check("threads", threads, 1, whole=True)
    if time_limit_s is not None:
        _check("time_limit_s", time_limit_s, 0.0)
    check_progress(progress)
    pairs = demand.pairs.reachable(network)
    found = _core.assign(
        tail=network.tail,
        head=network.head,
        no_through=network.no_through.view(np.uint8),
        latency=compiled(network.latency),
        background=network.background_per_min,
        origin=pairs.origin,
        destination=pairs.destination,
        demand=demand.rate_per_min,
        fixed_cost=network.fixed_cost_min if network.has_fixed_costs else np.empty(0),
        social=social,
        gap=gap,
        max_iterations=max_iterations,
        time_limit=math.inf if time_limit_s is None else time_limit_s,
        threads=available_threads() if threads is None else threads,
        progress=None if progress is None else partial(_tell, progress, gap),
        **_start(start, network, demand),
    )
    policy = RoutingPolicy.by_origin(network, pairs, adopt=True, **found["policy"])
    flow = freeze(found["link_flow"] + network.background_per_min)
    with np.errstate(over="ignore"):
        total_travel_time = float(flow @ network.latency.time(flow))
    report = found["report"]
    rows = zip(
        report["iteration"].tolist(),
        report["relative_gap"].tolist(),
        report["objective"].tolist(),
        report["seconds"].tolist(),
        strict=True,
    )
    return Solution(
        policy=policy,
        link_flow=flow,
        link_cost=freeze(found["link_cost"]),
        total_travel_time=total_travel_time,
        objective=found["objective"],
        relative_gap=found["relative_gap"],
        iterations=found["iterations"],
        status=found["status"].replace("_", " "),
        report=tuple(ConvergenceRow(*row) for row in rows),
    )


def _tell(progress: Progress, target: float, phase: int, share: float, gap: float) -> bool:
    """Tell the phase, and how far it is.

    While solving that is how far the gap has come from 10 to its target: it closes at about a constant rate of decades.
    """
    if _PHASES[phase] != _SOLVING:
        return progress(_PHASES[phase], share) is not False
    whole = max(1.0 - math.log10(max(target, _SMALLEST_GAP)), 1.0)
    reached = 1.0 - math.log10(max(gap, _SMALLEST_GAP))
    return progress(f"{_SOLVING}, gap {gap:.1e}", min(max(reached / whole, 0.0), 1.0)) is not False


def compiled(latency: Latency) -> _core.Latency:
    """Return the curves as the core takes them."""
    return _core.Latency(
        curve=latency.curve,
        free_flow=latency.free_flow_min,
        capacity=latency.capacity_per_min,
        parameters=latency.parameters,
    )


def _start(start: Solution | RoutingPolicy | None, network: Network, demand: Demand) -> dict[str, Any]:
    if start is None:
        return {}
    policy = start.policy if isinstance(start, Solution) else start
    check_type(policy, RoutingPolicy, "start", InputError)
    if policy.pairs != demand.pairs:
        raise DemandError("start has other pairs than the demand; solve for the same pairs, or omit start")
    same = all(
        np.array_equal(getattr(policy.network, name), getattr(network, name)) for name in ("tail", "head", "no_through")
    )
    if not same:
        raise DemandError("start belongs to a network with other links; omit start")
    if policy.is_by_origin:
        return {"earlier_bushes": policy.bushes.core}
    return {"earlier": (policy.pair_start, policy.path_start, policy.links, policy.probability)}


def _fairness(value: float) -> float:
    _check("fairness", value, 0.0)
    if value > 1:
        raise InputError(f"fairness is {show(value)}; pass a number from 0 (optimum) to 1 (equilibrium)")
    return float(value)


def _check(name: str, value: float, least: float, *, whole: bool = False) -> None:
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    most = _MOST if whole else math.inf
    if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value < most:
        kind = f"a whole number below {_MOST:,}" if whole else "a finite number"
        raise InputError(f"{name} is {show(value)}; pass {kind}, of at least {least:g}")
