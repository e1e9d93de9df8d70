"""What the import contracts in pyproject.toml cannot see: names that the package loads when they are first used."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import privroute

PACKAGE = Path(privroute.__file__).parent
MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent not in (PACKAGE, PACKAGE / "cli")]


def loads_by_name(source: str) -> list[str]:
    """Imports of `privroute` itself, through whose names every module can be had; the compiled core is allowed."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                bad = any(alias.name.partition(".")[0] == "privroute" for alias in names)  # binds the name privroute
            case ast.ImportFrom(module="privroute", level=0, names=names):
                bad = any(alias.name != "_core" for alias in names)
            case ast.ImportFrom(level=level, names=names):
                bad = level > 0 or any(alias.name == "import_module" for alias in names)
            case ast.Attribute(attr="import_module") | ast.Name(id="__import__"):
                bad = True
            case _:
                bad = False
        found += [ast.unparse(node)] if bad else []
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_modules_import_from_where_a_name_lives(path: Path) -> None:
    assert loads_by_name(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "planted",
    [
        "import privroute",
        "import privroute as pr",
        "from privroute import DemandHistory",
        "from privroute import _core, learn",
        "def late():\n    from privroute import read_daily_od",
        "from .. import DemandHistory",
        "from importlib import import_module",
        "import importlib\nimportlib.import_module('privroute')",
        "import privroute.network.pairs",
        '__import__("privroute.history.daily_od")',
    ],
)
def test_a_planted_import_is_found(planted: str) -> None:
    assert loads_by_name(planted)


@pytest.mark.parametrize(
    "allowed",
    ["from privroute import _core", "from privroute.network.pairs import Pairs", "from importlib import resources"],
)
def test_other_imports_are_left_alone(allowed: str) -> None:
    assert not loads_by_name(allowed)
