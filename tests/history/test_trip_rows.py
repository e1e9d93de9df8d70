"""What became of the rows, as the curator reads it."""

from __future__ import annotations

from privroute.history.trip_rows import TripRows


def test_every_reason_for_dropping_a_row_is_said_with_its_number() -> None:
    reasons = [name for name in TripRows().numbers if name != "counted"]
    for at, name in enumerate(reasons):
        said = str(TripRows(counted=1, **{name: 100 + at}))  # type: ignore[arg-type]  # a field
        assert f"{101 + at} rows counted; dropped: {100 + at} " in said
    assert "dropped" not in str(TripRows(counted=1))
