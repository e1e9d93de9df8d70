"""What an experiment returns: curves, numbers that the paper reports beside ours, and claims with their evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from matplotlib.figure import Figure

    from privroute.progress import Progress

__all__ = ["Claim", "Curve", "Experiment", "Options", "Reported", "Result"]


@dataclass(frozen=True, slots=True)
class Options:
    """How an experiment is run.

    quick : fewer draws and days, for a first look and for tests
    seed : of the simulated days, the random starts and the noise
    tntp : folder with the public files of Anaheim, or None
    """

    quick: bool = False
    seed: int = 1
    tntp: Path | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Points of one line of a figure.

    panel : the part of the figure in which it is drawn
    low, high : spread over draws, or empty
    """

    panel: str
    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    @classmethod
    def of(cls, panel: str, label: str, x: Iterable[float], y: Iterable[float]) -> Curve:
        """A line without spread."""
        return cls(panel, label, tuple(map(float, x)), tuple(map(float, y)))

    @classmethod
    def over_draws(cls, panel: str, label: str, x: Iterable[float], draws: Iterable[Iterable[float]]) -> Curve:
        """Median and range of the draws at each x."""
        columns = [sorted(map(float, values)) for values in draws]
        middle = [0.5 * (values[(len(values) - 1) // 2] + values[len(values) // 2]) for values in columns]
        return cls(
            panel,
            label,
            tuple(map(float, x)),
            tuple(middle),
            tuple(values[0] for values in columns),
            tuple(values[-1] for values in columns),
        )


@dataclass(frozen=True, slots=True)
class Reported:
    """One number of the paper beside ours.

    where : place in the paper
    relation : how the paper gives it: exactly, roughly, or as a bound
    setting : under which of the settings ours was measured
    why : one sentence on why they differ, or why they agree
    spread : standard deviation over seeds, where there are several
    """

    where: str
    quantity: str
    unit: str
    paper: float
    setting: str
    ours: float
    why: str
    relation: Literal["=", "about", "below"] = "="
    spread: float | None = None

    @property
    def ratio(self) -> float:
        """Ours over the paper's."""
        return self.ours / self.paper if self.paper else math.nan


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement, whose it is, whether it holds here, and what was seen."""

    text: str
    source: str
    holds: bool
    evidence: str


@dataclass(frozen=True, slots=True)
class Result:
    """One figure or table.

    text : paragraphs: what was done, and what is seen
    noise : "seeded" where noise was drawn: the results are reproducible and not private; "none" otherwise
    """

    name: str
    title: str
    text: tuple[str, ...]
    curves: tuple[Curve, ...]
    claims: tuple[Claim, ...]
    reported: tuple[Reported, ...] = ()
    noise: Literal["seeded", "none"] = "seeded"

    def panel(self, name: str) -> list[Curve]:
        """The curves of one panel."""
        return [curve for curve in self.curves if curve.panel == name]

    def curve(self, panel: str, label: str) -> Curve:
        """One curve by name."""
        return next(curve for curve in self.panel(panel) if curve.label == label)


@dataclass(frozen=True, slots=True)
class Experiment:
    """An item of the report: how it is computed and drawn.

    alt : what the figure shows, for those who cannot see it
    """

    name: str
    title: str
    run: Callable[[Options, Progress | None], Result]
    draw: Callable[[Result], Figure]
    alt: str
