"""Every example runs as it stands: the scripts, the README's snippets, and those of the documentation.

Fenced `python` blocks run in order, page by page, in an empty folder, after what the page's `setup` comment prepares.
The `privroute` commands of fenced `sh` blocks are parsed, so that their options exist. In the guide they are run, too,
in their place between the Python blocks, but for servers and what takes minutes; the files that other pages name are
not there.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.cli.command import run

from privroute.cli.app import app
from privroute.study.schema import KEYS
from privroute.study.settings import find_key

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
SETUP = re.compile(r"<!-- setup, run by the tests.*?\n(?P<text>.*?)-->", re.DOTALL)
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```", re.DOTALL | re.MULTILINE)
ONLY_PARSED = ("serve", "audit", "reproduce")


def name(page: Path) -> str:
    return page.relative_to(ROOT).with_suffix("").as_posix()


def blocks(page: Path, *kinds: str) -> list[re.Match[str]]:
    return [block for block in BLOCK.finditer(page.read_text()) if block["kind"] in kinds]


def commands(block: str) -> list[list[str]]:
    """The arguments of the block's privroute commands; a backslash joins lines."""
    lines = block.replace("\\\n", " ").splitlines()
    words = [shlex.split(line, comments=True) for line in lines]
    return [found[1:] for found in words if found[:1] == ["privroute"]]


def parse(arguments: list[str]) -> None:
    """Let the command line read the arguments, and run nothing."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "list_commands"):
        assert arguments[0] in command.list_commands(None), arguments
        command, arguments = command.get_command(None, arguments[0]), arguments[1:]
    given = command.make_context("privroute", list(arguments)).params
    keys = {f"key_{key.section}_{key.name}": key for key in KEYS.values()}
    for name, value in given.items():
        if name in keys and isinstance(value, str):
            keys[name].take(value)
    for assignment in given.get("assigned") or ():
        key, _, value = assignment.partition("=")
        KEYS[find_key(key)].take(value)


def test_there_are_examples() -> None:
    assert EXAMPLES
    assert sum(len(blocks(page, "python")) for page in PAGES) > len(PAGES) / 3


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_without_warnings(script: Path) -> None:
    done = subprocess.run([sys.executable, "-W", "error", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_the_pages_examples_run_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    text = page.read_text()
    is_guide = page.is_relative_to(DOCS / "guide")
    for block in [*SETUP.finditer(text), *blocks(page, "python", "sh")]:
        if block.groupdict().get("kind") != "sh":
            lines = "\n" * text[: block.start("text")].count("\n")  # so that an error names the page's line
            exec(compile(lines + block["text"], str(page), "exec"), names)  # noqa: S102 - our own pages
        elif is_guide:
            for arguments in commands(block["text"]):
                if arguments[0] not in ONLY_PARSED:
                    done = run(*arguments)
                    assert done.code == 0, (arguments, done.text)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")], ids=name)
def test_the_options_of_every_command_shown_exist(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for block in blocks(page, "sh"):
        for arguments in commands(block["text"]):
            parse(arguments)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("learn --out there --epsilom 1", "epsilom"),
        ("budget drop x", "drop"),
        ("route release 1", "(?i)destination"),
        ("plan --network sioux-falls --days many", "pass a whole number"),
        ("learn study.toml --set guarantee.epslion=1", "did you mean guarantee.epsilon"),
        ("learn study.toml --set guarantee.epsilon=much", "pass a number"),
    ],
)
def test_a_wrong_command_would_be_noticed(wrong: str, reason: str) -> None:
    with pytest.raises(Exception, match=reason):  # of the parser, or that there is no such command
        parse(wrong.split())


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_stands_in_fences_where_it_is_tested(page: Path) -> None:
    outside = BLOCK.sub("", page.read_text())
    assert not re.findall(
        r"^ {4}(?:\$ )?(?:privroute |import |from \w+ import |.*\bpr\.\w+\().*", outside, re.MULTILINE
    )
