"""How many trips a data set has at least, where the curator says so."""

from __future__ import annotations

from privroute.errors import InputError, named
from privroute.network.checks import show

__all__ = ["check_expected"]

_MOST_EXPECTED = 10**12


def check_expected(trips: object) -> int:
    """Return the number of trips that are expected at least, if it is one."""
    if isinstance(trips, int) and not isinstance(trips, bool) and 0 < trips <= _MOST_EXPECTED:
        return trips
    raise InputError(f"{named('expect_trips')} is {show(trips)}; pass a whole number from 1 to {_MOST_EXPECTED:,}")
