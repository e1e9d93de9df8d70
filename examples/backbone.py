"""A backbone of routers: learn split ratios for each hour of the day from two weeks of traffic, judge them later.

Delays are those of M/M/1 queues. What is protected is one transfer of at most LARGEST_TRANSFER_MBIT within an hour,
wherever and whenever it was sent. The private policy stands beside what needs no data (shortest paths, equal-cost
paths, the optimum of an equal demand), beside the same without noise, and beside the optimum of each hour, which nobody
can know beforehand. Policies are also planned for twice the traffic, as networks are: the released demand is public, so
this costs no privacy.

    python examples/backbone.py [folder [picture.png]]

Without a folder the traffic is made. A folder has nodes.csv (node, lon, lat), links.csv (id, a, b, preinstalled_mbps)
and traffic.parquet (time like 20040301-0005, origin, destination, mbps), as for Abilene in SNDlib.
"""

from __future__ import annotations

import csv
import datetime as dt
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import privroute as pr
from privroute.history.period_histories import PeriodHistories
from privroute.network.data_network import MINUTES_PER_MS, PER_MIN_OF_MBPS, Line, data_network
from privroute.study.calendar import Calendar
from privroute.study.contribution import Contribution
from privroute.study.frame import Frame

LEARNED_DAYS = 14
GRID_MBIT, LARGEST_TRANSFER_MBIT = 100.0, 1000.0
CAP = round(LARGEST_TRANSFER_MBIT / GRID_MBIT)  # a transfer counts as at most this many units of the grid
GROWTH = 5.0  # public: what if all traffic grew
SPARE = 2.0  # plan for so many times the traffic
BURST_BYTES = 125_000.0  # packets arrive in bursts: a queue's "packet" is one of them, 1 Mbit
PROMISE = pr.Guarantee(epsilon=1.0, delta=1e-9)
SECONDS_PER_HOUR, SECONDS_PER_VALUE, HOURS = 3600.0, 300.0, 24
BITS_PER_MBIT = 10**6
LEAST_SHOWN_MS = 1e-3
GAP = 1e-7
Volumes = tuple[list[dt.date], np.ndarray]
"""Days, and Mbit of each pair: (days, hours, pairs)."""


def read_folder(folder: Path) -> tuple[pr.Network, pr.Pairs, Volumes]:
    """The network and its traffic; hours are sums over five-minute values, of which those that are missing are zero.

    A mean over the values that are there would count a transfer of an otherwise silent pair twelve times.
    """
    with (folder / "nodes.csv").open() as stream:
        nodes = {row["node"]: (float(row["lon"]), float(row["lat"])) for row in csv.DictReader(stream)}
    with (folder / "links.csv").open() as stream:
        lines = [
            Line(row["id"], (row["a"], row["b"]), float(row["preinstalled_mbps"])) for row in csv.DictReader(stream)
        ]
    network = data_network(folder, nodes, lines, pr.LineOptions(packet_bytes=BURST_BYTES))
    pairs = pr.Pairs.of_zones(network)
    index = {str(label): position for position, label in enumerate(network.node_labels)}
    traffic = pq.read_table(folder / "traffic.parquet").to_pydict()
    dates = sorted({text[:8] for text in traffic["time"]})
    day = np.array([dates.index(text[:8]) for text in traffic["time"]])
    hour = np.array([int(text[9:11]) for text in traffic["time"]])
    pair = pairs.positions(
        [index[name] for name in traffic["origin"]], [index[name] for name in traffic["destination"]]
    )
    mbps = np.array([float(text) for text in traffic["mbps"]])
    sums = np.zeros((len(dates), HOURS, len(pairs)))
    kept = pair >= 0
    np.add.at(sums, (day[kept], hour[kept], pair[kept]), mbps[kept])
    days = [dt.datetime.strptime(text, "%Y%m%d").replace(tzinfo=dt.UTC).date() for text in dates]
    return network, pairs, (days, sums * SECONDS_PER_VALUE)


def made() -> tuple[pr.Network, pr.Pairs, Volumes]:
    """A ring of eight cities with two chords, and traffic that peaks in the afternoon."""
    chance = np.random.default_rng(3)
    angle = np.arange(8) * 2 * np.pi / 8
    nodes = {f"city {k}": (10 * float(np.cos(a)), 45 + 5 * float(np.sin(a))) for k, a in enumerate(angle)}
    names = list(nodes)
    ends = [(k, (k + 1) % 8) for k in range(8)] + [(0, 4), (2, 6)]
    lines = [Line(f"line {k}", (names[a], names[b]), 10_000.0) for k, (a, b) in enumerate(ends)]
    network = data_network("made", nodes, lines, pr.LineOptions(packet_bytes=BURST_BYTES))
    pairs = pr.Pairs.of_zones(network)
    size = chance.lognormal(0.0, 0.8, 8)
    mbps = 60.0 * size[pairs.origin] * size[pairs.destination]
    profile = 1.0 + 0.5 * np.cos((np.arange(HOURS) - 15) * 2 * np.pi / HOURS)
    noise = chance.lognormal(0.0, 0.2, (LEARNED_DAYS + 3, HOURS, len(pairs)))
    days = [dt.date(2026, 3, 2) + dt.timedelta(days=k) for k in range(LEARNED_DAYS + 3)]
    return network, pairs, (days, mbps * profile[:, None] * noise * SECONDS_PER_HOUR)


def learn(network: pr.Network, pairs: pr.Pairs, volumes: Volumes, hours: list[int]) -> pr.Release:
    """A policy for each of these hours, from the first two weeks."""
    days, mbit = volumes
    periods = [(f"{hour:02}:00", f"{(hour + 1) % HOURS:02}:00") for hour in hours]
    calendar = Calendar.of(periods, (days[0], days[LEARNED_DAYS - 1]))
    bounds = Contribution("request", CAP, CAP, max_weight=CAP)
    frame = Frame(pairs, calendar, expansion=GRID_MBIT * GROWTH, contribution=bounds)
    bits, grid = np.rint(mbit[:LEARNED_DAYS] * BITS_PER_MBIT).astype(np.int64), round(GRID_MBIT * BITS_PER_MBIT)
    counts = (bits + grid // 2) // grid  # of whole numbers: CAP grids more in a cell are CAP more in its count
    parts = [pr.DemandHistory.of(part, counts[:, hour]) for hour, part in zip(hours, frame.parts, strict=True)]
    study = pr.Study(network, frame, PROMISE, pr.Counts(gap=GAP))
    return pr.learn(study, PeriodHistories.of(frame, parts))


def split_equally(network: pr.Network, pairs: pr.Pairs, metric: np.ndarray) -> np.ndarray:
    """(links, pairs) unit flows of routers that divide traffic equally over the next hops of shortest paths."""
    distance = np.full((network.nodes, network.nodes), np.inf)
    np.fill_diagonal(distance, 0.0)
    for _ in range(network.nodes):
        np.minimum.at(distance, network.tail, metric[:, None] + distance[network.head])
    flows = np.zeros((network.links, len(pairs)))
    for pair, (origin, to) in enumerate(zip(pairs.origin.tolist(), pairs.destination.tolist(), strict=True)):
        load = {origin: 1.0}
        while load:
            node = max(load, key=lambda v: distance[v, to])
            amount = load.pop(node)
            if node == to:
                continue
            links = np.flatnonzero(network.tail == node)
            good = links[metric[links] + distance[network.head[links], to] <= distance[node, to] * (1 + 1e-12)]
            for link in good.tolist():
                flows[link, pair] += amount / good.size
                load[int(network.head[link])] = load.get(int(network.head[link]), 0.0) + amount / good.size
    return flows


def judged(network: pr.Network, flow: np.ndarray, demand: pr.Demand) -> tuple[float, float]:
    """Mean delay in ms, and the largest utilisation."""
    delay = float(flow @ network.latency.time(flow)) / demand.total_per_min / MINUTES_PER_MS
    return delay, float((flow / network.capacity_per_min).max())


def policies(network: pr.Network, release: pr.Release, true_mbit: np.ndarray) -> dict[str, pr.RoutingPolicy]:
    """Of one hour: the optimum of an equal demand, of the released one, and for comparison of the true mean."""
    pairs, released = release.policy.pairs, release.demand or pr.Demand(release.policy.pairs, 0.0)
    demands = {
        "equal demand": pr.Demand(pairs, np.full(len(pairs), released.total_per_min / len(pairs))),
        "private": released,
        "without noise": pr.Demand(pairs, true_mbit / SECONDS_PER_HOUR * PER_MIN_OF_MBPS * GROWTH),
    }
    found = {name: pr.solve_optimum(network, demand, gap=GAP).policy for name, demand in demands.items()}
    found["private"] = release.policy
    for name, demand in demands.items():
        found[f"{name}, twice the traffic"] = pr.solve_optimum(network, demand * SPARE, gap=GAP).policy
    return found


def compare(
    network: pr.Network, pairs: pr.Pairs, volumes: Volumes, hours: list[int], release: pr.Release
) -> dict[str, np.ndarray]:
    """Name -> (hours, judged days, 2): delay and utilisation on the days that were not learned from."""
    fixed = {
        "shortest paths": split_equally(network, pairs, network.free_flow_min),
        "equal-cost paths": split_equally(network, pairs, np.ones(network.links)),
    }
    found: dict[str, list[list[tuple[float, float]]]] = {}
    for at, private in zip(hours, release.each(), strict=True):
        plans = policies(network, private, volumes[1][:LEARNED_DAYS, at].mean(axis=0))
        rows: dict[str, list[tuple[float, float]]] = {}
        for mbit in volumes[1][LEARNED_DAYS:, at]:
            demand = pr.Demand(pairs, mbit / SECONDS_PER_HOUR * PER_MIN_OF_MBPS * GROWTH)
            flows = {name: unit @ demand.rate_per_min for name, unit in fixed.items()}
            flows |= {name: policy.link_flow(demand) for name, policy in plans.items()}
            flows["optimum"] = pr.solve_optimum(network, demand, gap=GAP).link_flow
            for name, flow in flows.items():
                rows.setdefault(name, []).append(judged(network, flow, demand))
        for name, row in rows.items():
            found.setdefault(name, []).append(row)
    return {name: np.array(values) for name, values in found.items()}


def draw(found: dict[str, np.ndarray], hours: list[int], picture: Path) -> None:
    """Delay and utilisation over the day."""
    figure = Figure(figsize=(9, 4.3), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    styles = {
        "shortest paths": ("#b8b8b8", "-", 3.5),
        "equal-cost paths": ("#b59f3b", "-.", 1.4),
        "equal demand, twice the traffic": ("#2c7fb8", "--", 1.6),
        "private": ("#e08e83", "-", 1.4),
        "private, twice the traffic": ("#c0392b", "-", 2.4),
        "optimum": ("black", ":", 2.0),
    }
    for name, (colour, line, width) in styles.items():
        values = found[name].mean(axis=1)
        if name != "optimum":
            above = np.maximum(values[:, 0] - found["optimum"].mean(axis=1)[:, 0], LEAST_SHOWN_MS)
            left.plot(hours, above, line, color=colour, linewidth=width)
        right.plot(hours, 100 * values[:, 1], line, color=colour, linewidth=width, label=name)
    left.set(xlabel="hour of the day (UTC)", ylabel="mean delay above the optimum (ms)", yscale="log")
    right.set(xlabel="hour of the day (UTC)", ylabel="largest utilisation (%)")
    figure.legend(frameon=False, fontsize=9, ncols=3, loc="outside upper center")
    for panel in (left, right):
        panel.grid(alpha=0.25)
    figure.savefig(picture, dpi=130)


def main(arguments: list[str]) -> None:
    """Learn, judge, print, and draw if asked to."""
    network, pairs, volumes = read_folder(Path(arguments[0])) if arguments else made()
    hours = list(range(HOURS)) if arguments else [3, 15]
    release = learn(network, pairs, volumes, hours)
    found = compare(network, pairs, volumes, hours, release)
    print(f"{network.nodes} routers, {network.links} links, {len(pairs)} pairs, traffic x {GROWTH:g}")
    print(f"learned on {LEARNED_DAYS} days, judged on {len(volumes[0]) - LEARNED_DAYS}, {len(hours)} hours of the day")
    print(f"one transfer of up to {LARGEST_TRANSFER_MBIT:g} Mbit is protected: epsilon {PROMISE.epsilon:g}")
    print(f"{'':34}{'mean delay':>12}{'largest utilisation':>22}{'of the worst hour':>20}")
    for name, values in found.items():
        delay, most = values[..., 0].mean(), values[..., 1]
        print(f"{name:34}{delay:>9.3f} ms{100 * most.mean():>20.1f} %{100 * most.max():>18.1f} %")
    if len(arguments) > 1:
        draw(found, hours, Path(arguments[1]))


if __name__ == "__main__":
    main(sys.argv[1:])
