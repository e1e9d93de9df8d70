"""The report as one page with its figures inside: it asks nothing of the network."""

from __future__ import annotations

import base64
from html import escape
from typing import TYPE_CHECKING

from privroute.experiments import tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from privroute.experiments.report import Done
    from privroute.experiments.result import Options

__all__ = ["page"]

_THEORY = ("Theorem", "appendix B", "appendix C", "Algorithm 1")
_NUMBERS = {"paper", "ours", "ours / paper"}
_SIGNS = {"yes": "✓ yes", "no": "✗ no"}
_STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8882; }
body { font: 16px/1.55 system-ui, sans-serif; max-width: 1120px; margin: 0 auto; padding: 1.5rem; }
h1 { line-height: 1.2; } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1.5rem; }
p { max-width: 52rem; }
figure { margin: 1rem 0; } figure img { width: 100%; height: auto; background: white; border-radius: 6px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.86rem; width: 100%; margin: 1rem 0; }
th, td { border-bottom: 1px solid var(--line); padding: 0.35rem 0.6rem; text-align: left; vertical-align: top; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.no { font-weight: 700; white-space: nowrap; } .yes { white-space: nowrap; }
.stamp { background: var(--soft); padding: 0.6rem 0.9rem; border-radius: 6px; }
small { opacity: 0.8; }
"""


def page(done: Sequence[Done], options: Options, pictures: Mapping[str, bytes]) -> str:
    """The whole page; `pictures` holds the SVG of each item by its name."""
    theirs = [claim for each in done for claim in each.result.claims if claim.source != "ours"]
    theory, experiments = (
        [claim.holds for claim in theirs if claim.source.startswith(_THEORY) is proved] for proved in (True, False)
    )
    kinds = (
        ("of the paper's theorems, proofs and algorithm hold as printed", theory),
        ("about its experiments hold with the printed constants", experiments),
    )
    score = "; ".join(f"{sum(held)} of {len(held)} statements {words}" for words, held in kinds if held)
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>Reproduction of the paper's experiments</title><style>{_STYLE}</style></head><body>",
        "<h1>Reproduction of the paper's experiments</h1>",
        f"<p>{escape(tables.PAPER)}, on Sioux Falls, beside what was measured here.</p>",
        f'<p class="stamp">{escape(tables.stamp(options).replace("`", ""))}</p>',
        (
            f"<p>{score or 'No statement of the paper is checked here'}. A typing error counts as much as a headline: "
            "each has its evidence below. The paper's figures are images without tables of values: its values are "
            "drawn beside ours where the text or a table gives them.</p>"
        ),
        "<nav><ul>",
        *(
            f'<li><a href="#{each.experiment.name}">{escape(each.result.title)}</a> '
            f"<small>{each.seconds:.1f} s</small></li>"
            for each in done
        ),
        "</ul></nav>",
    ]
    for each in done:
        name, result, alt = each.experiment.name, each.result, escape(each.experiment.alt)
        data = base64.b64encode(pictures[name]).decode()
        parts += [
            f'<h2 id="{name}">{escape(result.title)}</h2>',
            *(f"<p>{escape(text)}</p>" for text in result.text),
            f'<figure><img alt="{alt}" src="data:image/svg+xml;base64,{data}">',
            f"<figcaption><small>{alt} Noise: {result.noise}. Files: {name}.png, {name}.svg, {name}.csv.</small>",
            "</figcaption></figure>",
        ]
        if result.reported:
            parts.append(_table(tables.REPORTED_COLUMNS, tables.reported_rows(result)))
        parts.append(_table(tables.CLAIM_COLUMNS, tables.claim_rows(result)))
    return "\n".join([*parts, "</body></html>", ""])


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th{_kind(name, name)}>{name}</th>" for name in columns)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_kind(name, cell)}>{escape(_SIGNS.get(cell, cell))}</td>"
            for name, cell in zip(columns, row, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _kind(column: str, cell: str) -> str:
    kind = "number" if column in _NUMBERS else cell if cell in _SIGNS else ""
    return f' class="{kind}"' if kind else ""
