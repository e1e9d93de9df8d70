"""Time zones on machines without time zone data."""

from __future__ import annotations

import datetime as dt
import sys
import zoneinfo
from collections.abc import Iterator

import pytest

from privroute.errors import HistoryError
from privroute.study.time_zones import time_zone


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in {"tzdata", *(name for name in sys.modules if name.startswith("tzdata."))}:  # also where it was used
        monkeypatch.setitem(sys.modules, name, None)
    before = zoneinfo.TZPATH
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath(to=before)
    zoneinfo.ZoneInfo.clear_cache()


@pytest.mark.usefixtures("no_data")
def test_utc_needs_no_data_and_other_zones_say_what_to_install() -> None:
    assert time_zone("UTC") is dt.UTC
    with pytest.raises(HistoryError, match="no time zone data; install it: pip install tzdata"):
        time_zone("Europe/Berlin")


@pytest.mark.parametrize("name", ["Europe/Nowhere", "", "../etc/passwd", 7, None])
def test_what_is_no_zone_is_refused(name: object) -> None:
    with pytest.raises(HistoryError, match="pass the name of a time zone"):
        time_zone(name)
