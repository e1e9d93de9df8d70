"""False-alarm rates of the statistical tests, in one place: all together at most one in a million runs of the suite."""

from __future__ import annotations

TOTAL = 1e-6
TESTS = 60  # more than there are; each gets an equal share
EACH = TOTAL / TESTS
