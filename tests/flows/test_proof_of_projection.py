"""The proof names the functions that enact it; they must exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROOF = (ROOT / "docs" / "proofs" / "projection.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([A-Za-z_0-9]+)`", PROOF)))


def test_the_proof_names_functions() -> None:
    assert len(NAMED) > 10


@pytest.mark.parametrize("name", NAMED)
def test_each_function_that_the_proof_names_exists(name: str) -> None:
    files = [
        file for stem in ("projection", "lane", "pendants", "double") for file in (ROOT / "core").glob(f"{stem}*.?pp")
    ]
    python = (ROOT / "src" / "privroute" / "flows").glob("*.py")
    known = re.compile(rf'\b{name}\(|(struct|class) {name}\b|"{name}"')
    in_core = any(known.search(path.read_text(encoding="utf-8")) for path in files)
    in_python = any(re.search(rf"^def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE) for path in python)
    assert in_core or in_python
