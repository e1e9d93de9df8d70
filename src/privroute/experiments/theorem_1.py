"""Theorem 1: a published feasible flow reveals a rare trip; a release does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from privroute.evaluate.attack import answer_without_noise, attack_flows, attack_releases, rare_trip
from privroute.evaluate.seeded_noise import SeededNoise
from privroute.experiments.drawing import BLACK, COLOURS, finish, new_figure
from privroute.experiments.result import Claim, Curve, Experiment, Options, Result
from privroute.history.simulate import simulate_days
from privroute.mechanism.learn import learn_with_noise
from privroute.network.sioux_falls import sioux_falls
from privroute.study.guarantee import Guarantee
from privroute.study.mechanisms import Counts

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from privroute.evaluate.attack import Attack
    from privroute.history.demand_history import DemandHistory
    from privroute.progress import Progress
    from privroute.release.release import Release

__all__ = ["THEOREM_1"]

_GUARANTEE = Guarantee(epsilon=0.1, delta=1e-6)
_RARE_PAIR = 0
_PANELS = {
    "flows": "(a) total flow of each link",
    "release": f"(b) release, epsilon {_GUARANTEE.epsilon:g}, delta {_GUARANTEE.delta:g}",
}


def run(options: Options, progress: Progress | None = None) -> Result:
    """Toss coins, publish, and let the adversary of the theorem guess."""
    scenario = sioux_falls()
    network = scenario.network
    trials, days = (40, 5) if options.quick else (200, 10)
    history = simulate_days(scenario.demand, days=days, period_min=60.0, seed=options.seed)
    by_pair, total = attack_flows(network, history, trials=trials, seed=options.seed, progress=progress)
    noise = SeededNoise(options.seed)

    def published(data: DemandHistory) -> Release:
        return learn_with_noise(network, data, _GUARANTEE, Counts(gap=1e-4), noise)

    def answered(data: DemandHistory) -> NDArray[np.float64]:
        return answer_without_noise(network, data, _GUARANTEE, Counts(gap=1e-4))

    release = attack_releases(
        published,
        answered,
        rare_trip(history, _RARE_PAIR),
        _GUARANTEE,
        trials=trials,
        calibration=trials // 4,
        seed=options.seed,
        progress=progress,
    )
    low, high = release.confidence
    return Result(
        name=THEOREM_1.name,
        title=THEOREM_1.title,
        text=(
            (
                f"In each of {trials} trials a coin decides whether one trip between two zones that nobody else "
                "travels between is in the data. The adversary knows everything except the coin. From a "
                "system-optimal flow, even if only the total of each link is published, it computes the flow that "
                "arrives at the destination in addition to the known trips: 0 trips or 1, to rounding. It is always "
                "right, so no delta below 1 can be guaranteed for any epsilon."
            ),
            (
                "For a release, it compares the release with the noiseless results for the data without and with the "
                f"trip. Noise of {release.evidence.std():.0f} trips hides one trip."
            ),
        ),
        curves=tuple(
            Curve.of(panel, "with the trip" if present else "without the trip", range(len(shown)), shown)
            for panel, attack in (("flows", total), ("release", release))
            for present in (False, True)
            for shown in (_evidence(attack, present),)
        ),
        claims=(
            Claim(
                "No feasible flow can be private for any delta below 1",
                "Theorem 1",
                by_pair.accuracy == total.accuracy == 1.0,
                f"right in {by_pair.hits} of {trials} trials with flows of pairs, {total.hits} with totals of links",
            ),
            Claim(
                "The same adversary against a release is right no more often than the guarantee allows",
                "ours",
                release.passed,
                f"right in {release.hits} of {trials} ({low:.0%} to {high:.0%}); the guarantee allows "
                f"{0.0 if release.limit is None else release.limit:.1%}",
            ),
        ),
    )


def _evidence(attack: Attack, present: bool) -> list[float]:
    return [float(value) for value in attack.evidence[attack.present == present]]


def draw(result: Result) -> Figure:
    """Evidence in the trials without and with the trip."""
    figure, panels = new_figure(2, width=5.6, height=3.8)
    for axes, (panel, title), claim in zip(panels, _PANELS.items(), result.claims, strict=True):
        values = np.concatenate([curve.y for curve in result.panel(panel)])
        bins = np.linspace(min(values.min(), -0.5), max(values.max(), 1.5), 22).tolist()
        for position, curve in enumerate(result.panel(panel)):
            axes.hist(
                curve.y,
                bins=bins,
                histtype="stepfilled",
                alpha=0.45,
                color=COLOURS[position],
                edgecolor=COLOURS[position],
                linewidth=1.5,
                hatch=("", "//")[position],
                label=curve.label,
            )
        axes.axvline(0.5, color=BLACK, linestyle="--", linewidth=1, label="halfway")
        hits = re.match(r"right in \d+ of \d+", claim.evidence)
        x = "what the adversary computes (trips)"
        finish(axes, title=f"{title}: {hits[0] if hits else ''}", x=x, y="trials")
    return figure


THEOREM_1 = Experiment(
    "theorem-1",
    "Theorem 1: a feasible flow reveals a rare trip",
    run,
    draw,
    "Histograms of the adversary's evidence without and with the trip: apart for flows, on top of each other for a "
    "release.",
)
