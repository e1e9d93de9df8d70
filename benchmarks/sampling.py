"""Routes drawn per second and thread from Chicago Sketch's policy, against a loop over NumPy's Generator.choice."""

from __future__ import annotations

import time

import numpy as np
from networks import arguments, finish, load, say

import privroute as pr

DRAWS = 4_000_000
PEER_DRAWS = 20_000
REPEATS = 5


def main() -> None:
    """Measure ids and link arrays on pairs drawn by demand, in turns with NumPy."""
    options = arguments(__doc__).parse_args()
    scenario = load("ChicagoSketch")
    policy = pr.solve_optimum(scenario.network, scenario.demand, gap=1e-6).policy
    paths = policy.as_paths()
    weights = scenario.demand.rate_per_min / scenario.demand.total_per_min
    draws = DRAWS // 8 if options.quick else DRAWS
    wanted = np.random.default_rng(1).choice(len(policy.pairs), size=draws, p=weights)
    ids_s, links_s, peer_s = [], [], []
    generator = np.random.default_rng(2)
    for turn in range(REPEATS):
        start = time.perf_counter()
        ids = policy.sample_paths(wanted, seed=turn)
        ids_s.append(time.perf_counter() - start)
        start = time.perf_counter()
        policy.sample_links(wanted, seed=turn)
        links_s.append(time.perf_counter() - start)
        start = time.perf_counter()
        for pair in wanted[:PEER_DRAWS]:
            first, last = paths.pair_start[pair], paths.pair_start[pair + 1]
            generator.choice(last - first, p=paths.probability[first:last])
        peer_s.append(time.perf_counter() - start)
    expected = np.bincount(wanted, minlength=len(policy.pairs))
    drawn = np.bincount(ids, minlength=paths.probability.size)
    mean = paths.probability * np.repeat(expected, np.diff(paths.pair_start))
    spread = mean * (1 - paths.probability)
    many = spread > 20  # noqa: PLR2004 - enough draws for a normal approximation
    result = {
        "draws": draws,
        "ids_per_second": draws / float(np.median(ids_s)),
        "links_per_second": draws / float(np.median(links_s)),
        "numpy_per_second": PEER_DRAWS / float(np.median(peer_s)),
        "mean_squared_z": float(((drawn - mean)[many] ** 2 / spread[many]).mean()),  # 1 if the draws are right
    }
    result["ratio_numpy"] = result["ids_per_second"] / result["numpy_per_second"]
    say(
        options.json,
        f"{result['ids_per_second']:.3g} ids and {result['links_per_second']:.3g} routes as links a second",
    )
    finish(result)


if __name__ == "__main__":
    main()
