"""The rows of `sgd` and `minimiser` for suboptimality.py: what they are given, fixed before any day is looked at.

Public are the network and a model demand: the published one times independent lognormal factors (sd 0.5), as wrong as
a model may be. `minimiser` and `sgd` get the options that do best on days simulated around that model
(privroute.evaluate.tuning). Beside them Algorithm 1 in the paper's case, every link, one step for each day, with the
paper's alpha and certified constants, and with alpha, beta and C of the paper's experiments. All start from free-flow
paths.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

import privroute as pr
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.evaluate.suboptimality import Baseline
from privroute.evaluate.tuning import Tuned, tune
from privroute.experiments.repeated_draws import RepeatedDraws
from privroute.mechanism.learn import learn_with_noise
from privroute.study.mechanisms import public_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


LEVELS = ((0.1, 0.1), (1.0, 1e-6), (0.1, 1e-6))
PAPERS_ALPHA, PAPERS_BETA = 1e4 / 60, 2.08e7 / 60  # in hourly units in the paper; C = beta
TUNING_DRAWS = 2
UNTUNED_SHARE = 1.6e-5  # alpha over the vehicle-minutes per minute of the model's optimum
MANY_PAIRS = 100_000
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


def chosen_options(network: pr.Network, model: pr.Demand, days: int, draws: int) -> dict[str, list[Tuned]]:
    """For each mechanism and level the options that do best on days simulated around the model: public data only."""
    guarantees = [pr.Guarantee(*level) for level in LEVELS]
    return {
        name: tune(network, model, guarantees, name, days=days, period_min=PERIOD_MIN, draws=draws)
        for name in ("minimiser", "sgd")
    }


def measure(
    scenario: pr.Scenario, history: pr.DemandHistory, draws: int, tell: Callable[[str], None]
) -> dict[str, Any]:
    """Suboptimality of each mechanism and level, the same before the noise, and the price of privacy, percent."""
    network = scenario.network
    model = model_of(scenario.demand)
    baseline = Baseline.of(network, history.mean)
    row: dict[str, Any] = {
        "no_data_optimum_of_public_demand": baseline.percent(pr.solve_optimum(network, model).policy)
    }
    tell(f"without data, optimum of the public demand: {row['no_data_optimum_of_public_demand']:.2e} %")
    tuned = chosen_options(network, model, history.days, TUNING_DRAWS)
    for number, level in enumerate(LEVELS):
        options: dict[str, pr.Minimiser | pr.Sgd] = {name: found[number].best.options for name, found in tuned.items()}
        options["sgd_papers_case"] = pr.Sgd.papers_case(public_demand=model, alpha=PAPERS_ALPHA)
        options["sgd_paper"] = pr.Sgd(public_demand=model, alpha=PAPERS_ALPHA, beta=PAPERS_BETA, constants="paper")
        for name, chosen in options.items():
            key = key_of(name, *level)
            before = baseline.percent(
                learn_with_noise(network, history, pr.Guarantee(*level), without_tilt(chosen), ExactNoise()).policy
            )
            began = time.perf_counter()
            releases = [
                learn_with_noise(network, history, pr.Guarantee(*level), chosen, SeededNoise(seed))
                for seed in range(draws)
            ]
            after = float(np.median([baseline.percent(release.policy) for release in releases]))
            row |= {
                key: after,
                f"{key}_before_noise": before,
                f"{key}_price_of_privacy": 100.0 * ((100.0 + after) / (100.0 + before) - 1.0),
                f"{key}_seconds": (time.perf_counter() - began) / draws,
                f"{key}_options": {name: value for name, value in public_options(chosen).items() if value is not None},
                f"{key}_noise_scale": float(releases[0].certificate.noise_scale or 0.0),
            }
            tell(
                f"{key}: {after:.3g} % (before the noise {before:.3g} %, price of privacy "
                f"{row[f'{key}_price_of_privacy']:.3g} %, {row[f'{key}_seconds']:.1f} s)"
            )
    return row


def measure_untuned(
    scenario: pr.Scenario, history: pr.DemandHistory, draws: int, tell: Callable[[str], None], *, steps_per_day: int
) -> dict[str, float]:
    """The same with the options that were chosen on Sioux Falls, alpha in proportion to the model's optimum."""
    network, model = scenario.network, model_of(scenario.demand)
    baseline = Baseline.of(network, history.mean)
    row = {"no_data_optimum_of_public_demand": baseline.percent(pr.solve_optimum(network, model).policy)}
    tell(f"without data, optimum of the public demand: {row['no_data_optimum_of_public_demand']:.2e} %")
    alpha = UNTUNED_SHARE * Baseline.of(network, model).minutes
    detour = 1.1 if len(model.pairs) > MANY_PAIRS else 1.3
    usual: dict[str, Any] = {"public_demand": model, "alpha": alpha, "power": 0.0, "tilt": 10.0, "detour": detour}
    mechanisms: dict[str, pr.Minimiser | pr.Sgd] = {"sgd": pr.Sgd(**usual, steps_per_day=steps_per_day, cap_factor=2.0)}
    if len(model.pairs) <= MANY_PAIRS:
        mechanisms["minimiser"] = pr.Minimiser(**usual)
    for name, chosen in mechanisms.items():
        began = time.perf_counter()
        prepared = RepeatedDraws(network, history, chosen, pr.Guarantee(*LEVELS[0]))
        row[f"{name}_query_seconds"] = time.perf_counter() - began
        for level in LEVELS:
            policies = (prepared.policy(pr.Guarantee(*level), seed) for seed in range(draws))
            row[key_of(name, *level)] = float(np.median([baseline.percent(policy) for policy in policies]))
            tell(f"{key_of(name, *level)}: {row[key_of(name, *level)]:.3g} %")
    return row


def without_tilt(options: pr.Minimiser | pr.Sgd) -> pr.Minimiser | pr.Sgd:
    """The same mechanism without the tilt, which answers to noise and has nothing to answer to here."""
    return replace(options, tilt=0.0)
