"""The documentation builds without a warning, loads nothing from elsewhere, and has every public name."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.cli.command import run

import privroute as pr
from privroute.mechanism.learn import Announcement
from privroute.study.calendar import Calendar
from privroute.study.frame import Frame
from privroute.study.schema import KEYS, SECTIONS

ROOT = Path(__file__).resolve().parents[1]
ON_GITHUB = re.compile(
    r"https://(?:github\.com/privroute/privroute/blob|raw\.githubusercontent\.com/privroute/privroute)/main/"
    r"(?P<path>[^)#\s]+)(?:#(?P<anchor>[^)\s]+))?"
)
FETCHED = re.compile(
    r"<(?:script|img|iframe)[^>]* src=\"?(?:https?:)?//|<link(?=[^>]* rel=\"?stylesheet)[^>]* href=\"?(?:https?:)?//"
)


BUILDS_SITE = pytest.mark.xdist_group("site")  # once, by one worker


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_each_public_name_is_in_the_reference_once() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    assert sorted(re.findall(r"^::: privroute\.(\w+)$", pages, re.MULTILINE)) == sorted(pr.__all__)


@BUILDS_SITE
def test_each_public_name_is_on_the_site(site: Path) -> None:
    html = "".join(page.read_text() for page in (site / "reference").rglob("index.html"))
    missing = [name for name in pr.__all__ if not re.search(rf'id="?privroute\.{name}["\s>]', html)]
    assert not missing


@BUILDS_SITE
def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert pages
    assert not [page for page in pages if FETCHED.search(page.read_text())]


def test_the_citation_and_the_changelog_have_the_version_of_the_package() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert pr.__version__ == version
    assert re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE) == [version]
    sections = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert sections[:2] == ["Unreleased", version]


def test_the_route_shown_for_the_service_is_one_of_the_network() -> None:
    page = (ROOT / "docs" / "serve.md").read_text()
    found = re.search(r'"nodes": (?P<nodes>\[.*?\]), "links": (?P<links>\[.*?\])', page)
    assert found
    nodes, links = json.loads(found["nodes"]), json.loads(found["links"])
    network = pr.sioux_falls().network
    label = {
        (network.node_labels[tail], network.node_labels[head]): network.link_labels[link]
        for link, (tail, head) in enumerate(zip(network.tail, network.head, strict=True))
    }
    assert links == [label[ends] for ends in itertools.pairwise(nodes)]


def test_the_first_page_leads_to_every_page_of_the_proofs_the_budget_and_the_trips() -> None:
    text = (ROOT / "docs" / "index.md").read_text()
    proofs = [f"proofs/{page.name}" for page in (ROOT / "docs" / "proofs").glob("*.md")]
    assert proofs
    assert all(f"({page})" in text for page in ["trips.md", "budget.md", *proofs])


def test_the_readme_can_be_read_anywhere_and_its_links_lead_to_what_is_there() -> None:
    text = (ROOT / "README.md").read_text()
    assert not re.findall(r"\]\((?!https://)[^)]*\)", text)
    found = list(ON_GITHUB.finditer(text))
    assert found
    for link in found:
        page = ROOT / link["path"]
        assert page.is_file(), link[0]
        if link["anchor"]:
            heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
            assert link["anchor"] in {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}, link[0]


def test_the_table_of_the_demo_stands_in_the_readme_as_it_is_printed(tmp_path: Path) -> None:
    printed = {line.strip() for line in run("demo", "--out", tmp_path).out.splitlines()}
    for page in ("README.md", "docs/guide/start.md"):
        block = re.search(
            r"^```text\n(?P<lines>.*? private\n.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL
        )
        assert block
        assert {line.strip() for line in block["lines"].splitlines() if line.strip()} <= printed


def test_the_noise_in_the_guide_to_epsilon_is_that_of_the_default() -> None:
    page = (ROOT / "docs" / "guide" / "epsilon.md").read_text()
    rows = re.findall(r"^\| ([0-9.]+) \| ± ([0-9.]+) \|", page, re.MULTILINE)
    assert len(rows) == 6
    city = pr.sioux_falls()
    frame = Frame(city.demand.pairs, Calendar.of_days(5))
    for epsilon, noise in rows:
        promise = Announcement(pr.Study(city.network, frame, pr.Guarantee(float(epsilon), 1e-6), pr.Counts())).promise
        assert promise
        assert promise.scale == pytest.approx(float(noise), rel=0.006)


def test_the_page_on_platforms_lists_every_extra() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    rows = [row for row in (ROOT / "docs" / "platforms.md").read_text().splitlines() if row.startswith("| `")]
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(listed) == sorted(declared)


def test_the_page_on_study_files_has_every_key_as_the_schema_says() -> None:
    page = (ROOT / "docs" / "study.md").read_text()
    rows = [row for row in page.splitlines() if row.startswith("| `")]
    assert len(rows) == len(KEYS)
    for key, row in zip(KEYS.values(), rows, strict=True):
        assert row.startswith(f"| `{key.name}` | `{key.flag}` | ")
        assert row.endswith(f"{key.about} |")
    assert all(f"**`[{section}]`** {words}" in page for section, words in SECTIONS.items())
