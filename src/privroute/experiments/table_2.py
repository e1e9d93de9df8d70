"""Table 2 (appendix D): what the average demand costs instead of all days, and what the regulariser costs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.experiments.algorithm_1 import regularisation_gap
from privroute.experiments.drawing import BLACK, COLOURS, finish, new_figure
from privroute.experiments.result import Claim, Curve, Experiment, Options, Reported, Result
from privroute.experiments.settings import DAYS, Days, Reading, paper_scenario, simulated
from privroute.flows.regularised import average_demand_errors, minimise_regularised
from privroute.flows.unit_flows import objective
from privroute.progress import tell

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

    from privroute.progress import Progress

__all__ = ["TABLE_2"]

_PLACE = "Table 2, appendix D"
_ALPHA = 1e3
_REPORTED = {1: (8.97e-7, 1.02e-6, 9.84e-7), 2: (1e-10,) * 3, 3: (8.17e-3, 8.16e-3, 8.17e-3)}
_READINGS: tuple[Reading, ...] = ("per-minute", "hourly")
_SAID = {"per-minute": "file's numbers as rates per minute", "hourly": "file's numbers per hour"}
_EVALUATIONS = 20
_WHY = {
    (
        1,
        "per-minute",
    ): "Agrees in size with the reading as rates per minute; it is larger for policies that are less spread.",
    (
        1,
        "hourly",
    ): (
        "True hourly counts have 60 times the relative variance, so the error is 60 times larger: the other reading "
        "fits."
    ),
    (2, "per-minute"): "Agrees; it is of second order in the variance of the counts.",
    (2, "hourly"): "Larger than reported, because of the variance of hourly counts: the other reading fits.",
    (3, "α/2 |x|²"): "α/2 |x|² is section 3.4's regulariser, and nearest to what is reported.",
    (3, "α|x|²"): "α|x|² is section 5.2's regulariser, and twice what is reported.",
}


@dataclass(frozen=True, slots=True)
class _Timed:
    """Seconds with all days over seconds with their mean."""

    evaluating: float
    solving: float


def run(options: Options, progress: Progress | None = None) -> Result:
    """Errors 1 to 3 in both readings, both regularisers, and the speed-ups."""
    errors: dict[tuple[int, str], list[float]] = {}
    numbers = DAYS[:1] if options.quick else DAYS
    timed: list[_Timed] = []
    for row, number in enumerate(numbers):
        for reading in _READINGS:
            scenario, unit = paper_scenario(reading)
            days = simulated(scenario, number, options.seed)
            found = average_demand_errors(days.network, days.pairs, days.rates, _ALPHA * unit, tolerance=1e-3)
            errors.setdefault((1, reading), []).append(found.evaluation)
            errors.setdefault((2, reading), []).append(found.solution)
            if reading == "hourly":
                timed.append(_speed_up(days, _ALPHA * unit))
                for name, weight in (("α/2 |x|²", 1.0), ("α|x|²", 2.0)):
                    gap = regularisation_gap(days.baseline, weight * _ALPHA * unit)
                    errors.setdefault((3, name), []).append(gap / 100)
        tell(progress, TABLE_2.title, (row + 1) / len(numbers))
    faster = timed[-1]
    rates_fit = all(
        abs(np.log(ours / paper)) < np.log(2)
        for ours, paper in zip(errors[1, "per-minute"], _paper(1, numbers), strict=True)
    )
    return Result(
        name=TABLE_2.name,
        title=TABLE_2.title,
        text=(
            (
                "Relative errors at α = 1e3. Error 1: evaluating the exact minimiser's cost on the mean demand "
                "instead of all days. Error 2: solving for the mean demand. Error 3: what the regulariser adds to "
                "the travel time."
            ),
            (
                "For affine latency Error 1 is Σ q_e Var(Λ_w) x_we² over the cost, so it falls with the mean count "
                "of a pair. Reading the file's numbers as rates per minute makes 60 times as many trips a day and an "
                "error 60 times smaller: only that reading agrees with Errors 1 and 2 of the paper. Each day then "
                "has 21.6 million trips, and all effects of one trip are 60 times smaller than in Sioux Falls. The "
                "reported β points to days of an hour instead (see the constants): no reading explains both."
            ),
            (
                f"The speed-ups are {faster.evaluating:.0f} times for evaluating and {faster.solving:.1f} times for "
                f"solving at N = {numbers[-1]}. They depend on the implementation: here all days are one matrix "
                "product, and projections take most of the time."
            ),
        ),
        curves=(
            *(
                Curve.of(f"error {error}", f"{_SAID.get(name, name)}", numbers, values)
                for (error, name), values in errors.items()
            ),
            *(Curve.of(f"error {error}", "reported", DAYS, values) for error, values in _REPORTED.items()),
            Curve.of("speed-up", "evaluating", numbers, [each.evaluating for each in timed]),
            Curve.of("speed-up", "solving", numbers, [each.solving for each in timed]),
        ),
        claims=(
            Claim(
                "Evaluating with the average demand has an error below about 1e-6",
                _PLACE,
                max(errors[1, "per-minute"]) < 1.1e-6,  # noqa: PLR2004 - the table itself has 1.02e-6
                f"{max(errors[1, 'per-minute']):.1e} in the reading per minute, {max(errors[1, 'hourly']):.1e} per "
                "hour",
            ),
            Claim(
                "Error 1 is within a factor 2 of the paper's if the file's numbers are rates per minute",
                "ours",
                rates_fit,
                ", ".join(f"{value:.2e}" for value in errors[1, "per-minute"]),
            ),
            Claim(
                "Solving with the average demand has an error below 1e-10",
                _PLACE,
                max(errors[2, "per-minute"]) < 1e-10,  # noqa: PLR2004 - the table's own bound
                f"{max(errors[2, 'per-minute']):.0e} in the reading per minute, {max(errors[2, 'hourly']):.0e} per "
                "hour",
            ),
            Claim(
                "The regulariser at α = 1e3 changes the total travel time by less than 0.01 %",
                "appendix D, text",
                100 * max(errors[3, "α/2 |x|²"]) < 0.01,  # noqa: PLR2004 - the claim's own bound
                "the table reports 8.17e-3, that is 0.82 %; ours is "
                + " or ".join(f"{100 * errors[3, name][-1]:.2f} % ({name})" for name in ("α/2 |x|²", "α|x|²")),
            ),
        ),
        reported=(
            *(
                Reported(
                    _PLACE,
                    f"Error {error}, N = {number}",
                    "relative",
                    paper,
                    _SAID.get(name, name),
                    ours,
                    _WHY[error, name],
                    "below" if error == 2 else "=",  # noqa: PLR2004 - Error 2 is reported as a bound
                )
                for (error, name), values in errors.items()
                for number, ours, paper in zip(numbers, values, _paper(error, numbers), strict=True)
            ),
            Reported(
                "appendix D, text",
                "speed-up of evaluating with the average demand",
                "times",
                50.0,
                "measured",
                faster.evaluating,
                "All days are one matrix product here, so averaging saves less; the paper reports 30 to 50.",
                "about",
            ),
            Reported(
                "appendix D, text",
                "speed-up of solving with the average demand",
                "times",
                30.0,
                "measured",
                faster.solving,
                "Projections take most of the time here, not evaluations, and their number does not depend on the "
                "days.",
                "about",
            ),
        ),
        noise="none",
    )


def _paper(error: int, numbers: tuple[int, ...]) -> list[float]:
    return [_REPORTED[error][DAYS.index(number)] for number in numbers]


def _speed_up(days: Days, alpha: float) -> _Timed:
    mean = days.rates.mean(axis=0)
    started = time.perf_counter()
    average = minimise_regularised(days.network, mean, alpha, pairs=days.pairs, tolerance=1e-2)
    halfway = time.perf_counter()
    minimise_regularised(days.network, days.rates, alpha, pairs=days.pairs, tolerance=1e-2)
    solving = (time.perf_counter() - halfway) / (halfway - started)
    rates, flows = days.rates, average.flows
    every, one = (_seconds(lambda which=which: objective(days.network, which, flows)) for which in (rates, mean))  # type: ignore[misc]
    return _Timed(every / one, solving)


def _seconds(call: Callable[[], object]) -> float:
    """The fastest of several runs."""
    taken = []
    for _ in range(_EVALUATIONS):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return min(taken)


def draw(result: Result) -> Figure:
    """One panel for each error and one for the speed-ups, the paper's values as stars."""
    figure, panels = new_figure(4, width=3.7, height=4.2)
    titles = {
        "error 1": "Error 1: evaluating on the mean",
        "error 2": "Error 2: solving for the mean",
        "error 3": "Error 3: the regulariser",
        "speed-up": "speed-up of the average demand",
    }
    for axes, (panel, title) in zip(panels, titles.items(), strict=True):
        others = [curve for curve in result.panel(panel) if curve.label != "reported"]
        for position, curve in enumerate(others):
            axes.plot(
                curve.x,
                curve.y,
                color=COLOURS[position],
                marker="os"[position],
                linestyle=("-", "--")[position],
                label=curve.label,
            )
        for curve in result.panel(panel):
            if curve.label == "reported":
                text = "reported (an upper bound)" if panel == "error 2" else "reported"
                axes.plot(
                    curve.x,
                    curve.y,
                    color=BLACK,
                    marker="v" if panel == "error 2" else "*",
                    markersize=10,
                    linestyle="none",
                    label=text,
                )
        if panel == "speed-up":
            axes.axhspan(30, 50, color=BLACK, alpha=0.12, label="reported: 30 to 50 (evaluating), up to 30 (solving)")
        finish(
            axes,
            title=title,
            x="days N",
            y="times" if panel == "speed-up" else "relative error",
            log="y",
            legend="below",
            columns=1,
        )
    return figure


TABLE_2 = Experiment(
    "table-2",
    "Table 2: approximation errors",
    run,
    draw,
    "Three relative errors and two speed-ups against the number of days, with the paper's values as stars.",
)
