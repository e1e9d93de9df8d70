"""A stream follows a city: a weekday pattern, demand that drifts to one side of town, and a road that closes one day.

Every evening the day's trips are charged to the ledger, get their noise and are kept; every morning there is a policy
for the coming day, made of noisy days alone. All of it costs what one day costs. The trips are simulated.

    python examples/follow_a_city.py [picture.png]
"""

from __future__ import annotations

import datetime as dt
import sys
import tempfile
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import privroute as pr

WEEKS, CLOSED_ON = 8, 36
WEEKDAY = np.array([1.0, 1.0, 1.0, 1.0, 1.1, 0.7, 0.6])
DRIFT_PER_DAY = 0.006
FIRST = dt.date(2026, 3, 2)  # a Monday
PROMISE = pr.Guarantee(epsilon=0.1, delta=1e-6)
GAP = 1e-6
WAYS = {
    "last 7 days": pr.Daily(window=7, gap=GAP),
    "half-life of 7 days": pr.Daily(half_life_days=7, gap=GAP),
    "same weekday, last 4 weeks": pr.Daily(window=28, next_weekday=True, gap=GAP),
}
KEPT, BLIND = "first week, never updated", "no data: equal demand"


def demand_on(day: int, usual: pr.Demand) -> pr.Demand:
    """What is true: more and more trips end at zones 1 to 12, fewer at the others."""
    towards = np.where(usual.pairs.destination < 12, DRIFT_PER_DAY, -DRIFT_PER_DAY)  # noqa: PLR2004 - half of the zones
    return pr.Demand(usual.pairs, usual.rate_per_min * WEEKDAY[day % 7] * (1 + day * towards))


def without_busiest_link(network: pr.Network, usual: pr.Demand) -> pr.Network:
    """The public network after a road was closed."""
    keep = np.arange(network.links) != int(np.argmax(pr.solve_optimum(network, usual).link_flow))
    labels = list(network.node_labels)
    return pr.Network(network.tail[keep], network.head[keep], network.latency[keep], labels, zones=network.zones)


def follow(folder: Path) -> tuple[dict[str, list[float]], dict[str, list[float]], pr.Ledger]:
    """Each day's travel time above its optimum in percent, and the demand that each policy was made for."""
    city = pr.sioux_falls()
    after = without_busiest_link(city.network, city.demand)
    ledger = pr.Ledger.create(folder / "city.ledger", "city-2026", pr.Approval(PROMISE.epsilon, PROMISE.delta))
    equal = pr.Demand(city.demand.pairs, np.full(len(city.demand.pairs), city.demand.rate_per_min.mean()))
    above: dict[str, list[float]] = {name: [] for name in (*WAYS, KEPT, BLIND)}
    believed: dict[str, list[float]] = {name: [] for name in ("true", *WAYS)}
    kept = equal
    for day in range(7 * WEEKS - 1):
        tomorrow, network = demand_on(day + 1, city.demand), after if day + 1 >= CLOSED_ON else city.network
        trips = pr.simulate_days(demand_on(day, city.demand), days=1, seed=day, start=FIRST + dt.timedelta(days=day))
        stream = pr.Stream(folder / "days", network, PROMISE, WAYS["last 7 days"], ledger=ledger)
        policies = {"last 7 days": stream.add_day(trips)}
        for name, way in WAYS.items():
            if name not in policies:
                policies[name] = pr.Stream(folder / "days", network, PROMISE, way).release()
        if day < 7 and policies["last 7 days"].demand is not None:  # noqa: PLR2004 - the first week
            kept = policies["last 7 days"].demand
        routes = {name: release.policy for name, release in policies.items()}
        routes |= {name: pr.solve_optimum(network, old, gap=GAP).policy for name, old in ((KEPT, kept), (BLIND, equal))}
        best = pr.solve_optimum(network, tomorrow, gap=1e-10).total_travel_time
        for name, policy in routes.items():
            above[name].append(100 * (pr.total_travel_time(network, policy, tomorrow) / best - 1))
        believed["true"].append(60 * tomorrow.total_per_min)
        for name, release in policies.items():
            believed[name].append(0.0 if release.demand is None else 60 * release.demand.total_per_min)
    return above, believed, ledger


def draw(path: Path, above: dict[str, list[float]], believed: dict[str, list[float]]) -> None:
    """Demand above, travel time below."""
    figure = Figure(figsize=(9, 7), layout="constrained")
    FigureCanvasAgg(figure)
    top, bottom = figure.subplots(2, 1, sharex=True)
    days = [FIRST + dt.timedelta(days=day + 1) for day in range(len(believed["true"]))]
    colours = dict(
        zip((*WAYS, KEPT, BLIND), ("tab:blue", "tab:purple", "tab:green", "tab:orange", "tab:gray"), strict=True)
    )
    top.step(days, believed["true"], where="mid", color="black", label="true demand of the day")
    for name in WAYS:
        top.plot(days, believed[name], color=colours[name], marker=".", markersize=3, linewidth=1, label=name)
    for name, values in above.items():
        bottom.plot(days, values, color=colours[name], marker=".", markersize=3, linewidth=1, label=name)
    closed = FIRST + dt.timedelta(days=CLOSED_ON)
    for axes in (top, bottom):
        axes.axvline(closed, color="tab:red", linestyle="--", linewidth=1)
        axes.grid(alpha=0.3)
    top.text(closed, 20_000, " road closed", fontsize=9, color="tab:red")
    top.set_ylabel("vehicles per hour")
    top.yaxis.set_major_formatter("{x:,.0f}")
    top.set_ylim(bottom=0)
    top.legend(fontsize=8, loc="lower left")
    top.set_title("Demand that the policy of each morning assumes (epsilon 0.1, delta 1e-6 for all days together)")
    bottom.set_ylabel("travel time above the day's optimum (%)")
    bottom.set_yscale("log")
    bottom.set_ylim(top=150)
    bottom.legend(fontsize=8, loc="upper center", ncols=3)
    bottom.tick_params(axis="x", rotation=30)
    figure.savefig(path, dpi=120)


def main() -> None:
    """Follow the city, draw it, and say what it cost."""
    with tempfile.TemporaryDirectory() as name:
        above, believed, ledger = follow(Path(name))
        account = ledger.account()
        print(f"{len(account.charges)} days, epsilon {account.spent_epsilon:.4g} of {account.approval.epsilon:g} spent")
        for way, values in above.items():
            print(f"{way:28} {np.mean(values[7:]):8.4f} % above the optimum on average after the first week")
        picture = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(name) / "stream.png"
        draw(picture, above, believed)
        print("Drawn:", picture.name)


if __name__ == "__main__":
    main()
