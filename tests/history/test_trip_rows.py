"""What became of the rows, as the curator reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import privroute as pr
from privroute.history.trip_rows import TripRows

# from c nothing is reached
ROADS = pr.Network([0, 1, 0], [1, 0, 2], pr.Latency.affine([1.0] * 3, 1.0), ["a", "b", "c"])
DATES = ("2026-03-02", "2026-03-03")
UNITS: list[dict[str, Any]] = [{}, {"unit": "user", "max_requests": 9}, {"max_weight": 3, "weight": "volume"}]


def test_every_reason_for_dropping_a_row_is_said_with_its_number() -> None:
    reasons = [name for name in TripRows().numbers if name != "counted"]
    for at, name in enumerate(reasons):
        said = str(TripRows(counted=1, **{name: 100 + at}))  # type: ignore[arg-type]  # a field
        assert f"{101 + at} rows counted; dropped: {100 + at} " in said
    assert "dropped" not in str(TripRows(counted=1))


def test_an_assertion_that_rows_contradict_is_a_warning() -> None:
    for asserted, above in ((True, 1), (True, 0), (False, 1), (False, 0)):
        said = str(TripRows(counted=1, above_bounds=above, pre_bounded=asserted))
        assert ("WARNING: pre_bounded asserts" in said) == (asserted and above > 0)


@pytest.mark.parametrize("options", UNITS, ids=["request", "user", "weights"])
def test_a_trip_that_no_path_connects_counts_nowhere(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "trips.csv"
    seen: list[TripRows] = []
    lines = [f"{ends},2026-03-02 07:30,u,2" for ends in ("c,a", "c,b", "a,c", "c,c", "c,d")]
    path.write_text("\n".join(["origin,destination,departure,user,volume", *lines]) + "\n")
    wanted: dict[str, Any] = {"period": "07:00-08:00", "dates": DATES, "on_unreachable": "drop"} | options
    history = pr.read_trips(path, ROADS, report=seen.append, **wanted)
    assert seen == [TripRows(counted=1, no_path=2, within_zone=1, unknown_zone=1)]
    assert history.counts.sum() == (2 if "weight" in options else 1)
    assert history.counts[0, _pair(history, 0, 2)] == history.counts.sum()


def test_a_count_that_no_path_connects_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "daily.csv"
    seen: list[TripRows] = []
    path.write_text("date,origin,destination,trips\n2026-03-02,c,a,5\n2026-03-03,a,c,2\n2026-03-02,c,c,7\n")
    of_file = pr.read_daily_od(path, ROADS, dates=DATES, on_unreachable="drop", report=seen.append)
    study = pr.Study(ROADS, of_file.frame, pr.Guarantee(1.0, 1e-6), trips=pr.TripFormat(rows_are_trips=True))
    table = pa.table({"day": ["2026-03-02", "2026-03-03"] * 2, "origin": list("caca"), "destination": list("accc")})
    given = pr.read_counts(table.append_column("trips", pa.array([5, 2, 7, 4])), study, report=seen.append)
    for history, trips in ((of_file, 2), (given, 6)):
        assert history.counts.sum() == history.counts[1, _pair(history, 0, 2)] == trips
    assert given.elsewhere
    assert not of_file.elsewhere
    assert seen == [
        TripRows(counted=1, no_path=1, within_zone=1),
        TripRows(counted=2, no_path=1, within_zone=1),
    ]


def _pair(history: pr.DemandHistory, origin: int, destination: int) -> int:
    ends = list(zip(history.pairs.origin.tolist(), history.pairs.destination.tolist(), strict=True))
    return ends.index((origin, destination))
