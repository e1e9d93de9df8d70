"""Imported first: makes the tests' own mutators importable, and with PRIVROUTE_TEST_CORE another build of the core."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

import tests.conftest  # noqa: F401 - replaces the core before privroute is imported
