"""The rows of `sgd` and `minimiser` for suboptimality.py: what they are given, fixed before any day is looked at.

Public are the network and a model demand: the published one times independent lognormal factors (sd 0.5), as wrong as
a model may be. `minimiser` gets the alpha that does best when that model's own simulated days are the data, of a list
that doubles; the ceiling is 8, since the model's optimum reaches 8.6 times the free-flow time on its worst link. `sgd`
gets the same alpha, certified and with the constants of the paper's experiments (C = beta, from the model), from
free-flow paths.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.evaluate.suboptimality import Baseline
from privroute.experiments.repeated_draws import RepeatedDraws
from privroute.mechanism.learn import learn_with_noise

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


LEVELS = ((0.1, 0.1), (1.0, 1e-6), (0.1, 1e-6))
ALPHAS = tuple(hourly / 60 for hourly in (100, 200, 400, 800, 1600, 3200))  # hourly units, as in the paper
PRIOR_SD = 0.5
PERIOD_MIN = 60


class ExactNoise:
    """Adds nothing: what is released before the noise, for the price of privacy. Never private."""

    def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Return the values."""
        del scale
        return values


def model_of(demand: pr.Demand) -> pr.Demand:
    """The public demand: the published one with independent errors."""
    errors = np.random.default_rng(0).normal(0.0, PRIOR_SD, len(demand.pairs))
    return pr.Demand(demand.pairs, demand.rate_per_min * np.exp(errors))


def key_of(name: str, epsilon: float, delta: float) -> str:
    """Name of a row, like minimiser_0.1_1e-6."""
    return f"{name}_{epsilon:g}_{delta:g}".replace("e-0", "e-")


def chosen_alphas(network: pr.Network, model: pr.Demand, days: int) -> dict[tuple[float, float], float]:
    """For each level the alpha with the best policy on simulated days of the model: public data only."""
    history = pr.simulate_days(model, days=days, period_min=PERIOD_MIN, seed=2)
    baseline = Baseline.of(network, model)
    found: dict[tuple[float, float], tuple[float, float]] = {}
    for alpha in ALPHAS:
        for level, percent in levels_of(network, history, baseline, pr.Minimiser(alpha=alpha), range(3)).items():
            found[level] = min(found.get(level, (np.inf, 0.0)), (percent, alpha))
    return {level: alpha for level, (_, alpha) in found.items()}


def levels_of(
    network: pr.Network, history: pr.DemandHistory, baseline: Baseline, options: pr.Minimiser, seeds: range
) -> dict[tuple[float, float], float]:
    """Median percent at each level; the optimum itself is solved once, since only the noise differs."""
    prepared = RepeatedDraws(network, history, options, pr.Guarantee(*LEVELS[0]))
    rows = {}
    for level in LEVELS:
        policies = (prepared.policy(pr.Guarantee(*level), seed) for seed in seeds)
        rows[level] = float(np.median([baseline.percent(policy) for policy in policies]))
    return rows


def measure(
    scenario: pr.Scenario, history: pr.DemandHistory, draws: int, tell: Callable[[str], None]
) -> dict[str, float]:
    """Suboptimality of each mechanism and level, the same before the noise, and the price of privacy, percent."""
    network = scenario.network
    model = model_of(scenario.demand)
    baseline = Baseline.of(network, history.mean)
    row = {"no_data_optimum_of_public_demand": baseline.percent(pr.solve_optimum(network, model).policy)}
    tell(f"without data, optimum of the public demand: {row['no_data_optimum_of_public_demand']:.2e} %")
    for level, alpha in chosen_alphas(network, model, history.days).items():
        options: dict[str, pr.Minimiser | pr.Sgd] = {
            "minimiser": pr.Minimiser(alpha=alpha),
            "sgd": pr.Sgd(public_demand=model, alpha=alpha),
            "sgd_paper": pr.Sgd(public_demand=model, alpha=alpha, constants="paper"),
        }
        for name, chosen in options.items():
            key = key_of(name, *level)
            before = baseline.percent(
                learn_with_noise(network, history, pr.Guarantee(*level), without_tilt(chosen), ExactNoise()).policy
            )
            releases = [
                learn_with_noise(network, history, pr.Guarantee(*level), chosen, SeededNoise(seed))
                for seed in range(draws)
            ]
            after = float(np.median([baseline.percent(release.policy) for release in releases]))
            row |= {
                key: after,
                f"{key}_before_noise": before,
                f"{key}_price_of_privacy": 100.0 * ((100.0 + after) / (100.0 + before) - 1.0),
                f"{key}_alpha": alpha,
                f"{key}_noise_scale": float(releases[0].certificate.noise_scale or 0.0),
            }
            tell(
                f"{key}: {after:.3g} % (before the noise {before:.3g} %, price of privacy "
                f"{row[f'{key}_price_of_privacy']:.3g} %, alpha {alpha * 60:g} in hourly units)"
            )
    return row


def without_tilt(options: pr.Minimiser | pr.Sgd) -> pr.Minimiser | pr.Sgd:
    """The same mechanism without the tilt, which answers to noise and has nothing to answer to here."""
    return replace(options, tilt=0.0)
