"""Requests with weights: what becomes of each, and that no neighbour moves the counts by more than the sensitivity."""

from __future__ import annotations

import datetime as dt
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privroute as pr
from privroute.errors import HistoryError
from privroute.history import bounding, trip_columns, trip_scan
from privroute.history.trip_rows import TripRows
from privroute.privacy.sensitivity import summed_counts_sensitivity
from privroute.study.contribution import Contribution

FIRST = dt.datetime(2026, 3, 2, 7)  # noqa: DTZ001 - local clock time
READ: dict[str, Any] = {"period": ("07:00", "08:00"), "dates": ("2026-03-02", "2026-03-04")}
UNITS = [
    {"unit": "request", "max_weight": 7},
    {"unit": "user", "max_requests": 20, "max_per_pair": 11, "max_weight": 7},
    {"unit": "user-day", "max_requests": 12, "max_per_pair": 9, "max_weight": 7},
]


@pytest.fixture(scope="module")
def network() -> pr.Network:
    return pr.Network([0, 1, 2, 0, 1, 2], [1, 2, 0, 2, 0, 1], pr.Latency.affine([1.0] * 6, 10.0), ["a", "b", "c"])


def table(rows: list[tuple[str, str, float, str, int]]) -> pa.Table:
    """Rows of origin, destination, weight, user and minutes after seven on the first day."""
    return pa.table(
        {
            "origin": [row[0] for row in rows],
            "destination": [row[1] for row in rows],
            "volume": pa.array([row[2] for row in rows], pa.float64()),
            "user": [row[3] for row in rows],
            "departure": [FIRST + dt.timedelta(minutes=row[4]) for row in rows],
        }
    )


def read(place: Path, network: pr.Network, **bounds: Any) -> tuple[pr.DemandHistory, TripRows]:
    found: list[TripRows] = []
    history = pr.read_trips(place, network, weight="volume", weight_unit=2.5, report=found.append, **READ, **bounds)
    return history, found[0]


def test_no_row_is_one_too_many_for_what_a_history_holds(network: pr.Network, tmp_path: Path) -> None:
    """A million of the heaviest requests for one pair are 2⁴⁰; one more must not stop the reading."""
    most, place = 2**20, tmp_path / "trips.parquet"
    for more in (0, 1):
        rows = most + more
        columns = {"origin": ["a"], "destination": ["b"], "volume": [1e300], "departure": [FIRST]}
        full = {
            name: pa.DictionaryArray.from_arrays(np.zeros(rows, np.int8), pa.array(v)) for name, v in columns.items()
        }
        pq.write_table(pa.table(full), place)
        history, told = read(place, network, max_weight=2**20)
        assert (history.counts.sum(), history.counts.max(), told.counted) == (2**40, 2**40, rows)


def test_weights_are_rounded_cut_off_dropped_and_counted(network: pr.Network, tmp_path: Path) -> None:
    weights = [2.5, 3.7, 3.8, 1.2, 0.0, 1e9, math.inf, math.nan, -0.1, -math.inf]
    pq.write_table(table([("a", "b", weight, "u", 1) for weight in weights]), tmp_path / "trips.parquet")
    history, rows = read(tmp_path / "trips.parquet", network, max_weight=7)
    assert rows.unreadable_weight == 3
    assert rows.counted == 7
    assert rows.read == 10
    assert "3 with a weight that is not a number of at least 0" in str(rows)
    assert history.counts.sum() == 1 + 1 + 2 + 0 + 0 + 7 + 7
    assert history.frame.contribution == Contribution("request", 7, 7, max_weight=7)


def test_weights_as_texts(network: pr.Network, tmp_path: Path) -> None:
    lines = ["origin,destination,departure,volume"]
    lines += [f"a,b,2026-03-02 07:05:00,{text}" for text in ("5", " 5.0", "five", "", "nan", "-3", "1e3", "inf")]
    (tmp_path / "trips.csv").write_text("\n".join(lines) + "\n")
    history, rows = read(tmp_path / "trips.csv", network, max_weight=7)
    assert rows.unreadable_weight == 4
    assert history.counts.sum() == 2 + 2 + 7 + 7


def test_a_user_keeps_requests_up_to_the_sum_of_their_weights(network: pr.Network, tmp_path: Path) -> None:
    pq.write_table(table([("a", "b", 7.5, "u", minute) for minute in range(10)]), tmp_path / "trips.parquet")
    history, rows = read(
        tmp_path / "trips.parquet", network, unit="user", max_requests=11, max_per_pair=8, max_weight=7
    )
    assert history.counts.sum() == 6  # three each: two of them fit into 8
    assert (rows.counted, rows.above_bounds) == (2, 8)


def adversarial(chance: np.random.Generator) -> list[tuple[str, str, float, str, int]]:
    """Few users and pairs, equal requests, heavy, worthless and unusable weights."""
    ends = [("a", "b"), ("a", "b"), ("b", "c"), ("c", "a")]
    heavy = [0.0, 1.0, 2.5, 9.9, 17.5, 18.8, 1e12, math.nan, -4.0]
    rows = []
    for _ in range(int(chance.integers(5, 60))):
        origin, destination = ends[int(chance.integers(4))]
        day, minute = int(chance.integers(3)), int(chance.integers(3))
        rows.append((origin, destination, float(chance.choice(heavy)), f"u{chance.integers(4)}", day * 1440 + minute))
    return rows


def moved(
    network: pr.Network,
    folder: Path,
    rows: list[tuple[str, str, float, str, int]],
    without: Any,
    bounds: dict[str, Any],
) -> float:
    """ℓ2 change of the counts, day by day, when the rows that `without` says are removed."""
    counts = []
    for name, kept in (("all", rows), ("less", [row for position, row in enumerate(rows) if not without(position)])):
        pq.write_table(table(kept), folder / f"{name}.parquet")
        counts.append(read(folder / f"{name}.parquet", network, **bounds)[0].counts)
    return float(np.linalg.norm(counts[0] - counts[1]))


@pytest.mark.parametrize("bounds", UNITS, ids=lambda bounds: bounds["unit"])
def test_neighbours_never_exceed_the_sensitivity(
    bounds: dict[str, Any], network: pr.Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The salt is the same in both readings, as the proof takes it; every choice of it must do."""
    kept = pr.read_trips.__globals__["as_contribution"](
        bounds["unit"], bounds.get("max_requests"), bounds.get("max_per_pair"), max_weight=bounds["max_weight"]
    )
    allowed = summed_counts_sensitivity(pr.Guarantee(1.0, 1e-6, bounds["unit"]), kept)
    chance = np.random.default_rng(5)
    largest = 0.0
    for trial in range(12):
        monkeypatch.setattr(bounding, "new_salt", lambda salt=f"{trial:032x}": salt)
        rows = adversarial(chance)
        chosen = int(chance.integers(len(rows)))
        user, day = rows[chosen][3], rows[chosen][4] // 1440

        def without(position: int, rows: Any = rows, chosen: int = chosen, user: str = user, day: int = day) -> bool:
            if bounds["unit"] == "request":
                return position == chosen
            return bool(rows[position][3] == user and (bounds["unit"] == "user" or rows[position][4] // 1440 == day))

        largest = max(largest, moved(network, tmp_path, rows, without, bounds))
        assert largest <= allowed
    assert largest > 0.3 * allowed  # the trials are adversarial


def test_a_weight_that_is_not_cut_off_is_caught(
    network: pr.Network, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = trip_columns.weight_units

    def careless(name: str, form: Any, unit: float, most: int) -> str | None:
        return whole(name, form, unit, 1000 * most)

    monkeypatch.setattr(trip_scan, "weight_units", careless)
    rows = [("a", "b", 1e12, "u", 1), ("a", "b", 2.5, "v", 2)]
    assert moved(network, tmp_path, rows, lambda position: position == 0, UNITS[0]) > 7


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"weight": "volume"}, "belong together"),
        ({"max_weight": 7}, "belong together"),
        ({"weight": "volume", "max_weight": 0}, "max_weight is 0; pass a whole number"),
        ({"weight": "volume", "max_weight": 7, "weight_unit": 0.0}, "weight_unit is 0"),
        ({"weight": "volume", "max_weight": 7, "unit": "user", "max_requests": 3}, "pass at most 3"),
        (
            {"weight": "volume", "max_weight": 2, "unit": "user", "max_requests": 3, "pre_bounded": True},
            "not valid with",
        ),
    ],
)
def test_bounds_that_are_refused(arguments: dict[str, Any], what: str, network: pr.Network, tmp_path: Path) -> None:
    pq.write_table(table([("a", "b", 1.0, "u", 1)]), tmp_path / "trips.parquet")
    with pytest.raises(HistoryError, match=what):
        pr.read_trips(tmp_path / "trips.parquet", network, **READ, **arguments)


@pytest.mark.parametrize("mechanism", ["counts", "layered", "daily"])
def test_a_release_states_the_weights_and_pays_for_them(mechanism: str, network: pr.Network, tmp_path: Path) -> None:
    chance = np.random.default_rng(1)
    rows = [("a", "b", float(chance.uniform(0, 20)), "u", int(chance.integers(50))) for _ in range(300)]
    pq.write_table(table(rows), tmp_path / "trips.parquet")
    history, _ = read(tmp_path / "trips.parquet", network, max_weight=7)
    guarantee = pr.Guarantee(epsilon=1.0, delta=1e-6)
    release = pr.learn(network, history, guarantee, mechanism=mechanism)
    plain = pr.DemandHistory(history.pairs, history.counts)
    single = pr.learn(network, plain, guarantee, mechanism=mechanism)
    assert release.certificate.sensitivity == pytest.approx(7 * float(single.certificate.sensitivity or 0))
    assert release.certificate.noise_scale == pytest.approx(7 * float(single.certificate.noise_scale or 0), rel=1e-6)
    assert release.certificate.max_weight == 7
    release.save(tmp_path / "release")
    again = pr.load_release(tmp_path / "release")
    assert again.certificate.max_weight == 7
    assert again.certificate.total is None


def test_a_study_file_has_weights(network: pr.Network, tmp_path: Path) -> None:
    pr.write_gmns(network, tmp_path / "net")
    (tmp_path / "study.toml").write_text(
        """[network]
source = "net"
[calendar]
from = 2026-03-02
to = 2026-03-04
periods = ["07:00-08:00"]
[unit]
max_weight = 7
[guarantee]
epsilon = 1.0
delta = 1e-6
[trips]
weight = "volume"
weight_unit = 2.5
"""
    )
    pq.write_table(table([("a", "b", 1e9, "u", 1)]), tmp_path / "trips.parquet")
    study = pr.Study.load(tmp_path / "study.toml")
    assert pr.read_trips(tmp_path / "trips.parquet", study, report=lambda _: None).counts.sum() == 7
    study.save(tmp_path / "again.toml")
    assert pr.Study.load(tmp_path / "again.toml") == study


def test_tables_on_servers_with_weights_are_refused(network: pr.Network) -> None:
    with pytest.raises(HistoryError, match="weights are read from files and tables of DuckDB only"):
        pr.read_trips("spark://#trips", network, weight="volume", max_weight=7, rows_are_trips=True, **READ)
