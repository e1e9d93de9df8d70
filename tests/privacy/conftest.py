"""Ledgers in both of their stores: tests that take `new_place` run on files and on a PostgreSQL server."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

STORES = ["file", pytest.param("server", marks=pytest.mark.xdist_group("postgresql"))]


@pytest.fixture(params=STORES)
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], Any]:
    """From a name to a place for a ledger of this name."""
    if request.param == "file":
        return lambda name: tmp_path / name
    url = request.getfixturevalue("postgresql").url
    mark = secrets.token_hex(6)
    return lambda name: f"{url}#{name.replace('.', '_')}_{mark}"
