"""The notebooks run from top to bottom, and what is stored in them is what they give."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
RUN = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def shapes(notebook: dict[str, Any]) -> list[list[list[str]]]:
    """What kinds of output each cell has; noise makes the numbers differ, and a text may arrive in several parts."""
    return [
        [kind for kind, _ in groupby(sorted(each.get("data", {each.get("name", ""): ""})) for each in cell["outputs"])]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


def test_there_are_two() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["city", "start"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_runs_and_gives_what_is_stored(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN, path, tmp_path / "run.ipynb"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    stored = json.loads(path.read_text())
    found = json.loads((tmp_path / "run.ipynb").read_text())
    assert shapes(found) == shapes(stored)
    said = [o["text"] for cell in found["cells"] for o in cell.get("outputs", ()) if o.get("name") == "stderr"]
    assert all("".join(text).startswith("PRIVATE, do not publish: ") for text in said)  # and no warning


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_nothing_of_the_machine_is_stored(path: Path) -> None:
    text = path.read_text()
    assert not re.findall(r"/(?:root|home|tmp|Users)/", text)
    for cell in json.loads(text)["cells"]:
        assert cell["metadata"] == {}
