"""Rows of text for the report: what the paper reports beside ours, and which statements hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privroute.study.guarantee import LARGEST_PRIVATE_DELTA

if TYPE_CHECKING:
    from privroute.experiments.result import Options, Reported, Result

__all__ = ["CLAIM_COLUMNS", "PAPER", "REPORTED_COLUMNS", "claim_rows", "number", "reported_rows", "stamp"]

PAPER = (
    "M. Tsao, K. Gopalakrishnan, K. Yang and M. Pavone, “Differentially Private Stochastic Convex Optimization for "
    "Network Routing Applications”"
)
REPORTED_COLUMNS = ("number", "paper", "setting", "ours", "ours / paper", "why")
CLAIM_COLUMNS = ("statement", "whose", "holds here", "evidence")

_RELATIONS = {"=": "", "about": "about ", "below": "< "}
_SMALLEST_PLAIN, _LARGEST_PLAIN, _WHOLE = 1e-3, 1e6, 1e3


def number(value: float) -> str:
    """A number with the digits that matter."""
    size = abs(value)
    if size == 0:
        return "0"
    if _SMALLEST_PLAIN <= size < _LARGEST_PLAIN:
        return f"{value:,.0f}" if size >= _WHOLE else f"{value:.3g}"
    return f"{value:.2e}"


def stamp(options: Options) -> str:
    """How the results were made, and that their noise protects nobody."""
    command, effort = (
        ("privroute reproduce --quick", "a quick run, with few draws")
        if options.quick
        else ("privroute reproduce", "a full run")
    )
    if options.tntp is not None:
        command += " --tntp FOLDER"
    return (
        f"Made by `{command}`, {effort}, seed {options.seed}. Days are simulated and all noise is seeded: the results "
        "are reproducible and not private. The paper's deltas, 0.1 and 0.5, are too large to protect single persons: "
        f"privroute calls no release with a delta above {LARGEST_PRIVATE_DELTA:g} private."
    )


def reported_rows(result: Result) -> list[tuple[str, ...]]:
    """A row for each reported number and setting, in the order of `REPORTED_COLUMNS`."""
    return [
        (
            f"{row.quantity} ({row.where})",
            _RELATIONS[row.relation] + _with_unit(row),
            row.setting,
            number(row.ours) + ("" if row.spread is None else f" ± {number(row.spread)}"),
            _ratio(row),
            row.why,
        )
        for row in result.reported
    ]


def claim_rows(result: Result) -> list[tuple[str, ...]]:
    """A row for each statement, in the order of `CLAIM_COLUMNS`."""
    return [(row.text, row.source, "yes" if row.holds else "no", row.evidence) for row in result.claims]


def _with_unit(row: Reported) -> str:
    return number(row.paper) if row.unit == "relative" else f"{number(row.paper)} {row.unit}".rstrip()


def _ratio(row: Reported) -> str:
    if row.relation == "below":
        return "holds" if row.ours < row.paper else f"{number(row.ratio)} times the bound"
    return number(row.ratio)
