"""Every step of a proof names the function that enacts it; the names exist."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

# The projection's proof names functions of the compiled core; tests/flows/test_proof_of_projection.py looks there.
FOLDER = Path(__file__).resolve().parents[1] / "docs" / "proofs"
PROOFS = sorted(path for path in FOLDER.glob("*.md") if path.stem != "projection")
FOLDERS = "study|demand|network|policy|flows|release|history|privacy|mechanism|evaluate"
NAMED = re.compile(rf"`((?:{FOLDERS})\.\w+)\.(\w+(?:\.\w+)*)`")


@pytest.mark.parametrize("proof", PROOFS, ids=lambda path: path.stem)
def test_functions_named_in_a_proof_exist(proof: Path) -> None:
    named = NAMED.findall(proof.read_text())
    assert named, "a proof names the functions that enact it"
    for module, name in named:
        found = import_module(f"privroute.{module}")
        for part in name.split("."):
            found = getattr(found, part)


@pytest.mark.parametrize("mechanism", ["counts", "daily", "layered", "minimiser", "sgd"])
def test_each_mechanism_has_a_proof(mechanism: str) -> None:
    assert mechanism in {path.stem for path in PROOFS}
