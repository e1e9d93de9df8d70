"""The page docs/reproduction.md: every number that the paper reports beside ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privroute.experiments import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from privroute.experiments.result import Options, Result

__all__ = ["reproduction"]

_INTRODUCTION = (
    (
        "The paper's figures are images without tables of values: of Figure 2 only the final gap, about 2 %, is "
        "stated in the text, of Figure 3 only the order of the curves. Where an implementation cannot follow the "
        "paper's text exactly, and why, is explained in the [notes on the paper](paper-notes.md)."
    ),
    (
        "**Algorithm 1, the paper's constants**: β = C = 2.08e7, α = 1e4, the hourly numbers of the file are used as "
        "rates per minute. **Algorithm 1, certified constants**: the same algorithm with constants that are proven "
        "for public caps, OpenDP's calibration and the tilt, in hourly units. **privroute's default**: noise on "
        "counts, then the exact optimum. Other rows are labelled. “No” beside a statement of the paper means that it "
        "does not hold as printed, or with the printed constants on this network."
    ),
)


def reproduction(results: Sequence[Result], options: Options) -> str:
    """The whole page."""
    parts = [
        "# Reproduction of the paper's experiments",
        f"{tables.PAPER}: all numbers that its experiments report, next to ours. {tables.stamp(options)}",
        *_INTRODUCTION,
    ]
    for result in results:
        parts += [f"## {result.title}", *result.text]
        if result.reported:
            parts.append(_table(tables.REPORTED_COLUMNS, tables.reported_rows(result)))
        parts.append(_table(tables.CLAIM_COLUMNS, tables.claim_rows(result)))
    return "\n\n".join(parts) + "\n"


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
