"""A policy in a traffic simulator beside the optimum, the equilibrium, free-flow paths and reactive navigation."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from privroute.demand.without_data import free_flow_policy
from privroute.errors import InputError
from privroute.flows.optimum import solve_equilibrium, solve_optimum
from privroute.handover.fleet import Fleet
from privroute.handover.physical import check_roads
from privroute.handover.routes import demand_of
from privroute.handover.uxsim_world import simulated_min
from privroute.network.checks import one_of
from privroute.progress import check_progress, tell
from privroute.simulation.sumo_engine import run_sumo
from privroute.simulation.uxsim_engine import run_uxsim

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privroute.handover.fleet import Simulated
    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.progress import Progress
    from privroute.release.release import Release

__all__ = ["ENGINES", "NAMES", "Engine", "Simulation", "SimulationRow", "compare", "simulate"]

Engine = Literal["uxsim", "sumo"]
ENGINES = {"uxsim": run_uxsim, "sumo": run_sumo}
NAMES = {
    "released": "released policy",
    "optimum": "optimum of the demand",
    "equilibrium": "equilibrium of the demand",
    "reactive": "reactive navigation of the simulator",
    "free_flow": "fastest paths, empty roads",
}
"""What is compared, in the order in which it is shown."""

_GAP = 1e-8


@dataclass(frozen=True, slots=True)
class SimulationRow:
    """One way to choose routes, in several runs.

    mean_min, completed : of each seed
    """

    name: str
    mean_min: tuple[float, ...]
    completed: tuple[float, ...]

    @property
    def minutes(self) -> float:
        """Mean over the seeds of the minutes of a completed trip."""
        return statistics.fmean(self.mean_min)

    @property
    def deviation(self) -> float:
        """Standard deviation over the seeds; 0 for one."""
        return statistics.stdev(self.mean_min) if len(self.mean_min) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class Simulation:
    """A comparison in one simulator.

    period_min, end_min : how long vehicles depart, and when the simulation ends
    vehicles : in one run, by the first seed
    rows : by name, see NAMES
    """

    engine: str
    seeds: tuple[int, ...]
    period_min: float
    end_min: float
    platoon: int
    vehicles: int
    rows: dict[str, SimulationRow]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "engine": self.engine,
            "seeds": list(self.seeds),
            "period_min": self.period_min,
            "end_min": self.end_min,
            "platoon": self.platoon,
            "vehicles": self.vehicles,
            "rows": {
                name: {
                    "minutes": row.minutes,
                    "deviation": row.deviation,
                    "by_seed": list(row.mean_min),
                    "completed": min(row.completed),
                }
                for name, row in self.rows.items()
            },
        }


def simulate(
    release: Release,
    *,
    engine: Engine = "uxsim",
    demand: Demand | None = None,
    demand_share: float = 1.0,
    period_min: float = 60.0,
    platoon: int = 10,
    seeds: Sequence[int] = (0,),
    progress: Progress | None = None,
) -> Simulation:
    """Simulate vehicles of the released demand on the released policy and beside it.

    engine : "uxsim" (kinematic waves) or "sumo" (mesoscopic)
    demand, demand_share : another demand than the released one; the share of it that drives
    period_min : how long vehicles depart; platoon : vehicles that drive together
    seeds : one run for each; vehicles, departures and routes are drawn from them
    """
    network = release.network
    check_roads(network)
    traffic = demand_of(release, demand) * demand_share
    policies = {
        "released": release.policy,
        "optimum": solve_optimum(network, traffic, gap=_GAP).policy,
        "equilibrium": solve_equilibrium(network, traffic, gap=_GAP).policy,
        "reactive": None,
        "free_flow": free_flow_policy(network, traffic.pairs),
    }
    return compare(
        network,
        traffic,
        policies,
        engine=engine,
        period_min=period_min,
        platoon=platoon,
        seeds=seeds,
        progress=progress,
    )


def compare(
    network: Network,
    demand: Demand,
    policies: Mapping[str, RoutingPolicy | None],
    *,
    engine: Engine = "uxsim",
    period_min: float = 60.0,
    platoon: int = 10,
    seeds: Sequence[int] = (0,),
    progress: Progress | None = None,
) -> Simulation:
    """Simulate the same vehicles on several policies; None stands for the simulator's reactive navigation."""
    check_progress(progress)
    run = ENGINES[one_of(engine, ENGINES, "engine", InputError)]
    if not seeds or any(isinstance(seed, bool) or not isinstance(seed, int) or seed < 0 for seed in seeds):
        raise InputError("seeds must be whole numbers of at least 0, at least one")
    if not demand.total_per_min > 0:
        raise InputError("the demand is zero for all pairs, so there is nothing to simulate")
    runs: dict[str, list[Simulated]] = {name: [] for name in policies}
    vehicles = 0
    end_min = simulated_min([policy for policy in policies.values() if policy is not None], period_min)
    total, done = len(seeds) * len(policies), 0
    for seed in seeds:
        fleet = Fleet.draw(demand, period_min=period_min, platoon=platoon, seed=seed)
        vehicles = vehicles or fleet.vehicles
        for name, policy in policies.items():
            tell(progress, f"Simulating: {NAMES.get(name, name)}", done / total)
            routes = None if policy is None else fleet.routes(policy)
            runs[name].append(run(network, demand.pairs, fleet, routes, end_min))
            done += 1
    tell(progress, "Simulating", 1.0)
    rows = {
        name: SimulationRow(name, tuple(one.mean_min for one in each), tuple(one.completed for one in each))
        for name, each in runs.items()
    }
    return Simulation(engine, tuple(seeds), float(period_min), end_min, platoon, vehicles, rows)
