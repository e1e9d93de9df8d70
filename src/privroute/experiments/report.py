"""Results as files.

report.html                 everything on one page, with the figures inside
reproduction.md             every number that the paper reports beside ours
NAME.png, NAME.svg          the figure of an item
NAME.csv                    the points of its curves
reported.csv, claims.csv    numbers and statements of all items
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privroute.errors import InputError
from privroute.experiments.drawing import image
from privroute.experiments.markdown import reproduction
from privroute.experiments.page import page
from privroute.experiments.tables import stamp
from privroute.network.text_files import write_whole
from privroute.progress import each_told

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from privroute.experiments.result import Experiment, Options, Result
    from privroute.progress import Progress

__all__ = ["Done", "write_report"]

_POINTS = ("panel", "curve", "x", "y", "low", "high", "noise")
_REPORTED = (
    *("item", "where", "quantity", "unit", "paper", "relation", "setting", "ours", "spread", "ratio", "why", "noise"),
)
_CLAIMS = ("item", "source", "statement", "holds", "evidence", "noise")


@dataclass(frozen=True, slots=True)
class Done:
    """An experiment with its result and how long it took."""

    experiment: Experiment
    result: Result
    seconds: float


def write_report(done: Sequence[Done], options: Options, folder: Path, *, progress: Progress | None = None) -> Path:
    """Write all files into a folder that is there; returns the path of the page."""
    pictures: dict[str, bytes] = {}
    for each in each_told(done, len(done), "Drawing", progress):
        name = each.experiment.name
        figure = each.experiment.draw(each.result)
        about = f"{stamp(options)} Noise in this figure: {each.result.noise}."
        pictures[name] = image(figure, "svg", about)
        _write_bytes(folder / f"{name}.svg", pictures[name])
        _write_bytes(folder / f"{name}.png", image(figure, "png", about))
        _write_csv(folder / f"{name}.csv", _POINTS, _points(each.result))
    _write_csv(folder / "reported.csv", _REPORTED, (row for each in done for row in _reported(each.result)))
    _write_csv(
        folder / "claims.csv",
        _CLAIMS,
        (
            (each.result.name, row.source, row.text, row.holds, row.evidence, each.result.noise)
            for each in done
            for row in each.result.claims
        ),
    )
    _write_text(folder / "reproduction.md", reproduction([each.result for each in done], options))
    _write_text(folder / "report.html", page(done, options, pictures))
    return folder / "report.html"


def _points(result: Result) -> Iterable[Sequence[object]]:
    for curve in result.curves:
        low, high = curve.low or ("",) * len(curve.x), curve.high or ("",) * len(curve.x)
        for point in zip(curve.x, curve.y, low, high, strict=True):
            yield curve.panel, curve.label, *point, result.noise


def _reported(result: Result) -> Iterable[Sequence[object]]:
    for row in result.reported:
        spread = "" if row.spread is None else row.spread
        yield (
            *(result.name, row.where, row.quantity, row.unit, row.paper, row.relation),
            *(row.setting, row.ours, spread, row.ratio, row.why, result.noise),
        )


def _write_text(path: Path, text: str) -> None:
    with write_whole(path) as stream:
        stream.write(text)


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with write_whole(path) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _write_bytes(path: Path, data: bytes) -> None:
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as problem:
        raise InputError(f"{path}: cannot be written ({problem.strerror}); choose another folder with --out") from None
    finally:
        part.unlink(missing_ok=True)
