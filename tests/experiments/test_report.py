"""The files of the report, and the committed page of reported numbers."""

from __future__ import annotations

import csv
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.cli.command import refused, run
from tests.experiments.conftest import Quick

from privroute.experiments.markdown import reproduction
from privroute.experiments.page import page
from privroute.experiments.registry import EXPERIMENTS, chosen
from privroute.experiments.report import Done
from privroute.experiments.result import Curve, Options, Reported
from privroute.experiments.tables import number

pytestmark = pytest.mark.xdist_group("experiments")

DOCS = Path(__file__).resolve().parents[2] / "docs"
VOID = {"meta", "img", "br"}


class Outline(HTMLParser):
    """Checks that tags are closed, and collects what a page would ask of a network."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.pictures = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.pictures += tag == "img"
        self.links += [value or "" for name, value in attrs if name in {"src", "href"}]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.slow
def test_one_item_from_the_command_line_has_its_files(tmp_path: Path) -> None:
    done = run("reproduce", "figure-1", "constants", "--quick", "--out", tmp_path / "new" / "place")
    assert done.code == 0, done.err
    assert "All noise is seeded, so these results are reproducible but not private" in done.text
    files = {path.name for path in (tmp_path / "new" / "place").iterdir()}
    wanted = {f"{name}.{kind}" for name in ("figure-1", "constants") for kind in ("png", "svg", "csv")}
    assert files == wanted | {"report.html", "reproduction.md", "reported.csv", "claims.csv"}
    assert (tmp_path / "new/place/figure-1.png").read_bytes().startswith(b"\x89PNG")
    with (tmp_path / "new/place/reported.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["item"] for row in rows} == {"figure-1", "constants"}
    assert all(float(row["ratio"]) == float(row["ours"]) / float(row["paper"]) for row in rows)


def test_the_same_seed_gives_the_same_figure(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert run("reproduce", "theorem-1", "--quick", "--out", tmp_path / name).code == 0
    for kind in ("png", "svg"):  # a figure that is passed on alone still says so
        assert b"Noise in this figure: seeded" in (tmp_path / f"a/theorem-1.{kind}").read_bytes()
    with (tmp_path / "a/claims.csv").open() as stream:
        assert {row["noise"] for row in csv.DictReader(stream)} == {"seeded"}
    assert (tmp_path / "a/theorem-1.svg").read_bytes() == (tmp_path / "b/theorem-1.svg").read_bytes()
    assert (tmp_path / "a/theorem-1.csv").read_bytes() == (tmp_path / "b/theorem-1.csv").read_bytes()


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_figures_have_axes_with_units_and_no_empty_panel(experiment: object, quick: Quick) -> None:
    each = next(one for one in EXPERIMENTS if one is experiment)
    figure = each.draw(quick(each.name))
    assert figure.axes
    for axes in figure.axes:
        assert axes.get_xlabel()
        assert axes.get_title()
        assert axes.lines or axes.patches or axes.collections


def test_the_page_is_well_formed_and_asks_nothing_of_the_network(quick: Quick) -> None:
    done = [Done(each, quick(each.name), 1.0) for each in EXPERIMENTS]
    text = page(done, Options(quick=True), {each.name: b"<svg/>" for each in EXPERIMENTS})
    outline = Outline()
    outline.feed(text)
    assert not outline.open
    assert outline.pictures == len(EXPERIMENTS)
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in outline.links)
    assert "seeded" in text
    assert "http" not in text.replace("http://www.w3.org", "")


def test_every_number_has_a_reason_and_every_setting_is_shown(quick: Quick) -> None:
    rows = [row for each in EXPERIMENTS for row in quick(each.name).reported]
    assert all(row.why.endswith(".") for row in rows)
    shown = " ".join(row.setting for row in rows)
    for setting in ("the paper's constants", "certified constants", "privroute's default"):
        assert setting in shown


def headings_and_rows(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Titles, and of each table row the first cell and, where numbers are compared, the setting."""
    titles = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    rows = []
    for line in re.findall(r"^\| (.*) \|$", text, flags=re.MULTILINE):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)]
        rows.append((cells[0], cells[2] if len(cells) == 6 else cells[1]))
    return titles, rows


def test_the_committed_page_has_the_items_that_the_command_writes(quick: Quick) -> None:
    committed = headings_and_rows((DOCS / "reproduction.md").read_text(encoding="utf-8"))
    fresh = headings_and_rows(reproduction([quick(each.name) for each in EXPERIMENTS], Options(quick=True)))
    assert committed[0] == fresh[0]
    # the full run has Anaheim and, in Table 2, one N more
    missing = set(fresh[1]) - set(committed[1])
    assert not missing


def test_the_notes_name_experiments_that_there_are() -> None:
    text = (DOCS / "paper-notes.md").read_text(encoding="utf-8")
    commands = re.findall(r"`privroute\s+reproduce\s+([^`]+)`", text)
    assert len(commands) > 10
    for command in commands:
        assert chosen(command.split())


def test_the_committed_page_is_of_a_full_run() -> None:
    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    assert "a full run" in text
    assert "Anaheim: " in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("figure-9",), "there is no experiment 'figure-9'; known: figure-1"),
        (("figure-1", "--tntp", "nowhere"), "nowhere is not a folder"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], message: str, tmp_path: Path) -> None:
    assert message in refused("reproduce", *arguments, "--out", tmp_path)


def test_a_folder_without_anaheim_and_a_place_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "cannot be used as a folder" in refused("reproduce", "figure-1", "--out", tmp_path / "file")
    (tmp_path / "empty").mkdir()
    message = refused("reproduce", "against-days", "--quick", "--tntp", tmp_path / "empty", "--out", tmp_path / "out")
    assert "Anaheim_net.tntp" in message


def test_numbers_and_curves_in_words() -> None:
    assert [number(value) for value in (0, 682.95, 20_800_000, 1.5e-7, 12_345)] == [
        "0",
        "683",
        "2.08e+07",
        "1.50e-07",
        "12,345",
    ]
    curve = Curve.over_draws("p", "l", [1, 2], [[3, 1, 2], [4, 2]])
    assert (curve.y, curve.low, curve.high) == ((2, 3), (1, 2), (3, 4))
    assert Reported("w", "q", "", 2.0, "s", 1.0, "why.").ratio == 0.5
