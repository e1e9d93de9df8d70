"""From a network to fifty simulated days: the types that everything else stands on."""

from __future__ import annotations

import tempfile
from pathlib import Path

import privroute as pr


def main() -> None:
    """Change the curves of Sioux Falls, write and read it, name unreachable pairs, simulate a sampled fleet."""
    scenario = pr.sioux_falls()
    print(scenario.network, scenario.demand)

    steeper = scenario.network.with_latency("bpr", b=0.5, power=4)
    with tempfile.TemporaryDirectory() as folder:
        pr.write_gmns(steeper, folder)
        files = sorted(path.name for path in Path(folder).iterdir())
        print("GMNS:", ", ".join(files), "reads back equal:", pr.read_gmns(folder) == steeper)

    one_way = pr.Network([0, 1], [1, 2], pr.Latency.affine([3.0, 4.0], 20.0), ["home", "bridge", "work"])
    try:
        pr.Pairs.of_zones(one_way)
    except pr.PrivrouteError as problem:
        print("Refused:", problem)
    print("Kept:", pr.Pairs.of_zones(one_way, on_unreachable="drop"))

    fleet = pr.Demand(scenario.demand.pairs, scenario.demand.rate_per_min, expansion=10)
    history = pr.simulate_days(fleet, days=50, period_min=60, seed=1, weekday=[1, 1, 1, 1, 1, 0.7, 0.6])
    print(history)
    print(f"The fleet's mean, expanded: {history.mean.total_per_min:,.0f} vehicles per minute")


if __name__ == "__main__":
    main()
