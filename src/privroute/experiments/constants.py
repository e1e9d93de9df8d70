"""The constants of section 5.2: what is reported for β and C, what formulas give, and how much noise follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import pdtr

from privroute.experiments.drawing import BLACK, COLOURS, GREY, finish, new_figure
from privroute.experiments.result import Claim, Curve, Experiment, Options, Reported, Result
from privroute.experiments.settings import ALPHA, BETA, PERIOD_MIN, paper_scenario
from privroute.mechanism.theory import (
    Constants,
    classical_gaussian_scale,
    corrected_constants,
    printed_constants,
    sensitivity,
)
from privroute.privacy.calibration import gaussian_scale
from privroute.progress import tell

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from privroute.progress import Progress

__all__ = ["CONSTANTS"]

_PLACE = "section 5.2"
_EPSILON = _DELTA = 0.1
_DAYS = 50
_OVER_ALL = "the same with the 528 pairs with demand for n²"
_HOURS = "that with λ_max of {} of an hour"
_QUARTILES = (0.25, 0.5, 0.75)


def run(options: Options, progress: Progress | None = None) -> Result:
    """Evaluate formulas; nothing is simulated."""
    del options
    scenario, _ = paper_scenario()
    network, rates = scenario.network, scenario.demand.rate_per_min
    q = network.latency.time_slope(np.zeros(network.links))
    largest, square = float(rates.max()), float(rates @ rates)
    with_demand = int(np.count_nonzero(rates))
    printed, holding = printed_constants(network, ALPHA, largest), corrected_constants(network, ALPHA, rates)
    eigenvalue = float(q.max()) * square
    factor = with_demand * float(q.max())
    one, two, fifty = (factor * _largest_rates(rates, days) ** 2 for days in (1, 2, _DAYS))
    per_minute = factor * _largest_rates(rates, _DAYS, units=60) ** 2
    betas = {
        "reported": BETA,
        "largest eigenvalue of B'QB, as the text says": eigenvalue,
        "formula of section 3.4, n² max q λ²": printed.beta,
        _OVER_ALL: with_demand * float(q.max()) * largest**2,
        _HOURS.format("one day"): one[1],
        _HOURS.format("two days"): two[1],
        "that holds at the mean demand: α + 2 max q |Λ|²": holding.beta,
    }
    lipschitz = {
        "reported: C = β": BETA,
        "formula of section 3.4": printed.lipschitz,
        "that holds at the mean demand": holding.lipschitz,
    }
    noises = {
        name: classical_gaussian_scale(_sensitivity(BETA, bound), _EPSILON, _DELTA) for name, bound in lipschitz.items()
    }
    own = gaussian_scale(_EPSILON, _DELTA, _sensitivity(holding.beta, holding.lipschitz))
    noises["that holds, OpenDP's calibration"] = own
    tell(progress, CONSTANTS.title, 1.0)
    turning = BETA / ALPHA - 1
    return Result(
        name=CONSTANTS.name,
        title=CONSTANTS.title,
        text=(
            (
                "In the numbers of the file, in which the paper's β = 2.08e7 is given. The eigenvalue that the text "
                f"mentions, max q |Λ|², is {eigenvalue:.3g}; the reported value is near {betas[_OVER_ALL]:.3g}, which "
                "is section 3.4's bound with the 528 pairs in place of n² = 576, as if every pair had the largest mean "
                "demand. This is a conjecture. The rest fits too if λ_max is the largest number of trips of any pair "
                f"in one or two Poisson days of an hour: medians {one[1]:.4g} and {two[1]:.4g} (quartiles "
                f"{one[0]:.3g} to {one[2]:.3g} and {two[0]:.3g} to {two[2]:.3g}; of fifty days {fifty[1]:.3g}). Days "
                f"whose rates per minute are the file's numbers vary less: {per_minute[1]:.3g} for fifty of them. So β "
                "points to days of an hour with the file's numbers of trips, and Table 2 to 60 times as many trips."
            ),
            (
                "C is set equal to β in the paper. The two have different units (minutes, and vehicle-minutes per "
                f"minute), and the paper's own formula gives {printed.lipschitz:.3g}, {BETA / printed.lipschitz:.0f} "
                "times less. Noise is added to numbers between 0 and 1; panel (c) shows its standard deviation."
            ),
            f"Steps begin to shrink, and the sensitivity to fall with N, only after β/α = {turning:,.0f} days.",
        ),
        curves=(
            *(Curve.of("beta", name, [value], [0.0]) for name, value in betas.items()),
            *(Curve.of("C", name, [value], [0.0]) for name, value in lipschitz.items()),
            *(Curve.of("sigma", name, [value], [0.0]) for name, value in noises.items()),
        ),
        claims=(
            Claim(
                "β is the largest eigenvalue of B'QB",
                _PLACE,
                abs(eigenvalue / BETA - 1) < 0.1,  # noqa: PLR2004 - the reported number has three digits
                f"the eigenvalue is {eigenvalue:.3g}, {BETA / eigenvalue:.0f} times less than {BETA:.3g}",
            ),
            Claim(
                "β = 2.08e7 bounds the Hessian at the mean demand",
                _PLACE,
                holding.beta <= BETA,
                f"2 max q |Λ|² + α = {holding.beta:.3g}: the reported β is safe, {BETA / holding.beta:.0f} times too "
                "large",
            ),
            Claim(
                "β = 2.08e7 is section 3.4's bound over the 528 pairs with λ_max of one or two days of an hour",
                "ours",
                all(low < BETA < high for low, _, high in (one, two)),
                f"quartiles {one[0]:.3g} to {one[2]:.3g} and {two[0]:.3g} to {two[2]:.3g}",
            ),
            Claim(
                "C = β bounds the derivative at the mean demand",
                _PLACE,
                holding.lipschitz <= BETA,
                f"{holding.lipschitz:.3g} is sufficient: the reported C is safe, {BETA / holding.lipschitz:.0f} times "
                "too large",
            ),
            Claim(
                "The noise that epsilon = delta = 0.1 needs with these constants is not too high",
                "section 5.3",
                noises["reported: C = β"] < 0.01,  # noqa: PLR2004 - a hundredth of the flows' range
                f"its standard deviation is {noises['reported: C = β']:.3g} on numbers between 0 and 1",
            ),
        ),
        reported=(
            Reported(
                _PLACE,
                "β, as the eigenvalue that the text mentions",
                "vehicle-minutes per minute",
                BETA,
                "formula",
                eigenvalue,
                "The largest eigenvalue of B'QB is max q |Λ|²; the reported number needs another formula.",
            ),
            Reported(
                _PLACE,
                "β, as section 3.4's bound over the 528 pairs",
                "vehicle-minutes per minute",
                BETA,
                "formula",
                betas[_OVER_ALL],
                "A conjecture. The remaining 3 % need a λ_max 1.4 % above the largest mean, as Poisson days have.",
            ),
            Reported(
                _PLACE,
                "β, as that bound with λ_max of one day",
                "vehicle-minutes per minute",
                BETA,
                "median of Poisson days of an hour",
                float(one[1]),
                "A conjecture. It needs days of an hour; days with the file's numbers for each minute vary too little.",
            ),
            Reported(
                _PLACE,
                "C",
                "min",
                BETA,
                "formula",
                printed.lipschitz,
                "The paper sets C = β without derivation; this is the formula of its section 3.4.",
            ),
            Reported(
                _PLACE,
                "condition number β/α",
                "",
                BETA / ALPHA,
                "formula",
                holding.beta / ALPHA,
                "With the β that holds at the mean demand instead of the reported one.",
            ),
        ),
        noise="none",
    )


def _largest_rates(rates: NDArray[np.float64], days: int, *, units: int = 1) -> NDArray[np.float64]:
    """Quartiles of the largest rate of any pair on any of these days, in the numbers of the file.

    units : of time in a day; in each of them a pair has a Poisson number of trips with the file's mean
    """
    means = rates[rates > 0.8 * rates.max()] * units  # no other pair comes near
    most = np.arange(means.max() * 0.9, means.max() * 1.2)
    chance = pdtr(most[:, np.newaxis], means).prod(axis=1) ** days
    return np.asarray(most[np.searchsorted(chance, _QUARTILES)] / units)


def _sensitivity(beta: float, bound: float) -> float:
    return sensitivity(Constants(ALPHA, beta, bound, 1.0), _DAYS, PERIOD_MIN)


def draw(result: Result) -> Figure:
    """Values on logarithmic axes, one line of text each."""
    figure, panels = new_figure(1, rows=3, width=9.0, height=1.7)
    titles = {
        "beta": ("(a) smoothness β", "β (vehicle-minutes per minute)"),
        "C": ("(b) derivative bound C", "C (min)"),
        "sigma": (f"(c) noise on each entry, N = {_DAYS}, epsilon = delta = 0.1", "standard deviation (no unit)"),
    }
    for axes, (panel, (title, unit)) in zip(panels, titles.items(), strict=True):
        curves = result.panel(panel)
        for row, curve in enumerate(reversed(curves)):
            first = row == len(curves) - 1
            axes.plot(
                curve.x,
                [row],
                color=BLACK if first else COLOURS[0],
                marker="*" if first else "o",
                markersize=9 if first else 6,
            )
            axes.annotate(
                f"{curve.x[0]:.3g}", (curve.x[0], row), xytext=(8, -3), textcoords="offset points", fontsize=8
            )
        finish(axes, title=title, x=unit, y="", log="x", legend="")
        axes.set_yticks(range(len(curves)), [curve.label for curve in reversed(curves)], fontsize=8)
        axes.set_ylim(-0.6, len(curves) - 0.4)
        axes.margins(x=0.15)
        if panel == "sigma":
            axes.axvline(1.0, color=GREY, linestyle="--", linewidth=1)
            axes.annotate(
                "range of unit flows",
                (1.0, 0),
                fontsize=7.5,
                color=GREY,
                ha="right",
                xytext=(-3, -3),
                textcoords="offset points",
            )
    return figure


CONSTANTS = Experiment(
    "constants",
    "Section 5.2: the constants",
    run,
    draw,
    "Dot plots on logarithmic axes: values of beta, of C and of the resulting noise, by where they come from.",
)
