"""Table 1: the price of privacy, how much longer travel takes after the noise than before it."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import numpy as np

from privroute.experiments.algorithm_1 import after_noise, as_printed
from privroute.experiments.drawing import BLACK, GREY, draw_curves, finish, look, new_figure
from privroute.experiments.repeated_draws import RepeatedDraws
from privroute.experiments.result import Claim, Curve, Experiment, Options, Reported, Result
from privroute.experiments.settings import (
    ALPHA,
    BETA,
    CERTIFIED,
    COUNTS,
    DAYS,
    LETTER,
    MINIMISER,
    PERIOD_MIN,
    REPORTED,
    Days,
    paper_scenario,
    percent_above,
    public_prior,
    random_paths,
    simulated,
)
from privroute.flows.optimum import solve_optimum
from privroute.mechanism.theory import Constants, classical_gaussian_scale, printed_constants, sensitivity
from privroute.policy.decomposition import decompose
from privroute.progress import tell
from privroute.study.guarantee import Guarantee
from privroute.study.mechanisms import Counts, Minimiser, Sgd

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from privroute.progress import Progress
    from privroute.study.mechanisms import Mechanism

__all__ = ["TABLE_1"]

_PLACE = "Table 1"
_PRICES = {  # (epsilon, delta): percent
    (0.01, 0.1): 7.83e-2,
    (0.01, 0.5): 3.97e-3,
    (0.1, 0.1): 9.06e-3,
    (0.1, 0.5): 5.96e-3,
    (0.5, 0.1): 2.44e-3,
    (0.5, 0.5): 2.05e-3,
}
_LEVELS = tuple(_PRICES)
_OWN_FORMULA = "Algorithm 1, C by the paper's own formula"
_LETTER_PATHS = f"{LETTER}, cycles removed"
_CERTIFIED_RELEASED = f"{CERTIFIED}, as released"
_LOOKS = {_OWN_FORMULA: 5, _LETTER_PATHS: 6, _CERTIFIED_RELEASED: 3}
_SWEEP = "price against the noise"
_IMPLIED = "noise that gives the reported prices"
_WHY = {
    LETTER: "With C = β the noise is a third of the range of the flows or more; the reported prices need about 1e-6.",
    _OWN_FORMULA: (
        "The formula's C is 228 times smaller than β; the noise is still hundreds of times too large for these prices."
    ),
    _LETTER_PATHS: "The same noise; the flows are converted to paths, as in a release, which removes cycles.",
    CERTIFIED: "Less than a thousandth of the noise with C = β; on each of 41,952 entries it still causes detours.",
    _CERTIFIED_RELEASED: "The tilt and the removal of cycles, which are not in the paper, remove most detours.",
    MINIMISER: "Noise on the regularised optimum (α = 1e3) instead of the last iterate.",
    COUNTS: "Noise on counts: it changes the demand slightly and causes no detours.",
}


def run(options: Options, progress: Progress | None = None) -> Result:
    """Price of each setting at each level, over seeds; price against the noise's scale; the noise that prices imply."""
    scenario, _ = paper_scenario()
    hourly, unit = paper_scenario("hourly")
    days, true_days = (simulated(each, DAYS[-1], options.seed) for each in (scenario, hourly))
    seeds = range(options.seed, options.seed + (3 if options.quick else 10))
    last = as_printed(days, random_paths(days.network, days.pairs, options.seed), alpha=ALPHA, beta=BETA).last
    own = printed_constants(days.network, ALPHA, float(scenario.demand.rate_per_min.max())).lipschitz
    prices = {
        name: [[_price(days, last, _classical(bound, *level), seed) for seed in seeds] for level in _LEVELS]
        for name, bound in ((LETTER, BETA), (_OWN_FORMULA, own))
    }
    prices[_LETTER_PATHS] = [
        [_price(days, last, _classical(BETA, *level), seed, as_paths=True) for seed in seeds] for level in _LEVELS
    ]
    tell(progress, TABLE_1.title, 0.2)
    any_level = Guarantee(*_LEVELS[0])
    sgd = Sgd.papers_case(public_demand=public_prior(hourly.demand, options.seed), alpha=ALPHA * unit)
    mechanisms: dict[str, Mechanism] = {
        _CERTIFIED_RELEASED: sgd,
        MINIMISER: Minimiser(alpha=1e3 * unit, tolerance=1e-3 if options.quick else 1e-4),
        COUNTS: Counts(),
    }
    for position, (name, mechanism) in enumerate(mechanisms.items()):
        prepared = RepeatedDraws(true_days.network, true_days.history, mechanism, any_level)
        if isinstance(mechanism, Counts):
            before = true_days.baseline.percent(
                solve_optimum(true_days.network, true_days.history.mean, gap=1e-11).policy
            )
        else:
            before = percent_above(true_days.baseline, prepared.exact)
        if mechanism is sgd:
            noises = [prepared.scale(Guarantee(*level)) for level in _LEVELS]
            prices[CERTIFIED] = [[_price(true_days, prepared.exact, noise, seed) for seed in seeds] for noise in noises]
        prices[name] = [
            [_relative(true_days.baseline.percent(prepared.policy(Guarantee(*level), seed)), before) for seed in seeds]
            for level in _LEVELS
        ]
        tell(progress, TABLE_1.title, 0.4 + 0.2 * position)
    scales = np.geomspace(1e-7, 1.0, 8 if options.quick else 15)
    sweep = [statistics.fmean(_price(days, last, scale, seed) for seed in seeds) for scale in scales]
    implied = np.exp(np.interp(np.log(list(_PRICES.values())), np.log(sweep), np.log(scales)))
    tell(progress, TABLE_1.title, 1.0)
    means = {name: [statistics.fmean(values) for values in rows] for name, rows in prices.items()}
    letter = means[LETTER]
    return Result(
        name=TABLE_1.name,
        title=TABLE_1.title,
        text=(
            (
                "The price as defined in the paper: travel time of the projected noisy policy over that of the "
                f"iterate before the noise, N = 50, mean and standard deviation over {len(seeds)} seeds "
                "(median and range in the figure). By this definition, flow in cycles counts. In rows marked so, "
                "cycles are removed, or flows are as privroute releases them (from tilted flows, as paths). For the "
                "default the price is over the optimum of the same counts without noise."
            ),
            (
                f"With the paper's constants the noise has standard deviation {_classical(BETA, 0.1, 0.1):.3g} at "
                f"epsilon = delta = 0.1, and the price is {letter[2]:,.0f} %, not 0.009 %; most of it is cycles, "
                f"without which it is {means[_LETTER_PATHS][2]:,.0f} %. According to panel (b), the reported prices "
                f"correspond to noise of {implied.min():.1e} to {implied.max():.1e}."
            ),
            (
                "With certified constants (from fastest paths) the price as defined in the paper is "
                f"{means[CERTIFIED][2]:.2g} % at epsilon = delta = 0.1, "
                f"{means[CERTIFIED][2] / _PRICES[_LEVELS[2]]:.0f} times the reported one; with the tilt and without "
                f"cycles it is {means[_CERTIFIED_RELEASED][2]:.2g} %, against the reported 0.009 % (below zero, the "
                "tilt saves more than the noise costs). So the paper's conclusion, that the noise for one request "
                "costs little, holds; the cost comes from the short steps "
                "(Figure 2)."
            ),
            (
                "The formula sets the noise by epsilon and delta alone: at (0.01, 0.5) it is 6.0 times larger than "
                "at (0.1, 0.1), yet the reported price is smaller, and smaller than at (0.1, 0.5). A price of "
                "3.97e-2 there would fit the others; probably a typing error in the exponent."
            ),
        ),
        curves=(
            Curve.of("levels", REPORTED, range(len(_LEVELS)), _PRICES.values()),
            *(Curve.over_draws("levels", name, range(len(_LEVELS)), rows) for name, rows in prices.items()),
            Curve.of(_SWEEP, "price at the paper's last iterate", scales, sweep),
            Curve.of(_SWEEP, _IMPLIED, implied, _PRICES.values()),
        ),
        claims=(
            Claim(
                "The price is below 0.078 % in the worst case",
                "section 5.3",
                max(letter) < max(_PRICES.values()),
                f"with the printed constants {_range(letter)}, {_range(means[_LETTER_PATHS])} with cycles removed",
            ),
            *(
                Claim(
                    f"{name}: the price is below 0.078 % in the worst case",
                    "ours",
                    max(means[name]) < max(_PRICES.values()),
                    _range(means[name]),
                )
                for name in (CERTIFIED, _CERTIFIED_RELEASED)
            ),
            Claim(
                "The reported prices rise with the noise that the formula prescribes",
                "ours",
                _rises(list(_PRICES.values())),
                "(0.01, 0.5) has more noise and a lower price than both rows with epsilon 0.1",
            ),
            Claim(
                "The price rises with the noise",
                "ours",
                bool(np.all(np.diff(sweep) > 0)),
                f"from {sweep[0]:.1e} % at {scales[0]:.0e} to {sweep[-1]:,.0f} % at {scales[-1]:g}",
            ),
            Claim(
                "The default's price is below every price that the paper reports",
                "ours",
                max(means[COUNTS]) < min(_PRICES.values()),
                f"at most {max(means[COUNTS]):.1e} %",
            ),
        ),
        reported=tuple(
            Reported(
                _PLACE,
                f"price at epsilon {level[0]:g}, delta {level[1]:g}",
                "%",
                _PRICES[level],
                name,
                means[name][row],
                _WHY[name],
                spread=statistics.stdev(prices[name][row]),
            )
            for row, level in enumerate(_LEVELS)
            for name in _WHY
        ),
    )


def _classical(bound: float, epsilon: float, delta: float) -> float:
    """Lines 8 and 9 of Algorithm 1 for N = 50, with the paper's α and β and this C."""
    return classical_gaussian_scale(
        sensitivity(Constants(ALPHA, BETA, bound, 1.0), DAYS[-1], PERIOD_MIN), epsilon, delta
    )


def _price(days: Days, flows: NDArray[np.float64], scale: float, seed: int, *, as_paths: bool = False) -> float:
    """Price of the projected noisy flows as they are, as in the paper, or as paths, which have no cycles."""
    noisy = after_noise(days, flows, scale, seed)
    after = (
        days.baseline.percent(decompose(days.network, days.pairs, noisy))
        if as_paths
        else percent_above(days.baseline, noisy)
    )
    return _relative(after, percent_above(days.baseline, flows))


def _range(prices: list[float]) -> str:
    return (
        f"{min(prices):.2g} % to {max(prices):.2g} %"
        if max(prices) < 1
        else (f"{min(prices):,.0f} % to {max(prices):,.0f} %")
    )


def _relative(after_percent: float, before_percent: float) -> float:
    """Percent by which the cost after is above the cost before, both given above the optimum."""
    return 100.0 * ((100.0 + after_percent) / (100.0 + before_percent) - 1.0)


def _rises(prices: list[float]) -> bool:
    """Whether prices have the order of the noise that the formula prescribes."""
    order = np.argsort([_classical(BETA, *level) for level in _LEVELS])
    return bool(np.all(np.diff(np.array(prices)[order]) > 0))


def draw(result: Result) -> Figure:
    """Prices at the six levels, and the price as a function of the noise."""
    figure, (left, right) = new_figure(2, width=6.2, height=5.0)
    floor = 1e-9
    for position, curve in enumerate(result.panel("levels")):
        style = look(curve.label, _LOOKS.get(curve.label, 0))
        x = [place + 0.1 * (position - 3.5) for place in curve.x]
        y = [max(abs(value), floor) for value in curve.y]
        shown = [value > 0 for value in curve.y]
        for point, size, positive in zip(x, y, shown, strict=True):
            left.plot(
                point,
                size,
                marker=style.marker or "o",
                color=style.colour,
                markersize=10 if curve.label == REPORTED else 6,
                fillstyle="full" if positive else "none",
                linestyle="none",
            )
        if curve.low and all(shown):
            left.vlines(x, [max(value, floor) for value in curve.low], curve.high, color=style.colour, linewidth=1.2)
        left.plot([], [], marker=style.marker or "o", color=style.colour, linestyle="none", label=curve.label)
    finish(
        left,
        title="(a) price of privacy, median and range over seeds (hollow: negative)",
        x="epsilon, delta",
        y="travel time after the noise over before (%)",
        log="y",
        legend="below",
    )
    left.set_xticks(range(len(_LEVELS)), [f"{epsilon:g}, {delta:g}" for epsilon, delta in _LEVELS])
    sweep, implied = result.panel(_SWEEP)
    draw_curves(right, [sweep])
    right.plot(
        implied.x, implied.y, "*", color=BLACK, markersize=10, label="reported prices: the noise they would need"
    )
    for level in _LEVELS:
        right.axvline(_classical(BETA, *level), color=GREY, linestyle=":", linewidth=1)
    right.plot([], [], color=GREY, linestyle=":", label="noise by the paper's formula, C = β, for the six rows")
    finish(
        right,
        title="(b) what noise costs",
        x="standard deviation of the noise on each entry (no unit)",
        y="price (%)",
        log="xy",
    )
    return figure


TABLE_1 = Experiment(
    "table-1",
    "Table 1: the price of privacy",
    run,
    draw,
    "Price of privacy in percent at six pairs of epsilon and delta, reported and measured, and price against the "
    "noise.",
)
