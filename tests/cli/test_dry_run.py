"""A dry run shows what trip files look like and says what looks wrong, on the terminal alone, marked PRIVATE."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.command import run
from tests.network.city import SOUTH, STEP_LAT, STEP_LON, WEST, City

import privroute as pr

ROWS = 3000
HOURS = np.array([1, 1, 1, 1, 2, 6, 15, 40, 45, 25, 20, 22, 25, 24, 26, 32, 44, 46, 30, 20, 12, 8, 5, 3], float)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dry")
    City(8).write(folder / "city.osm")
    City(8).write_zones(folder / "zones.geojson", 2)
    return folder


def write(place: Path, *, hours_off: int = 0, midnight: bool = False, name: str = "trips.parquet") -> Path:
    draw = np.random.default_rng(1)

    def axis(start: float, step: float) -> np.ndarray:
        return start + draw.random(ROWS) * 7 * step

    hour = (draw.choice(24, ROWS, p=HOURS / HOURS.sum()) + hours_off) % 24
    seconds = np.zeros(ROWS, int) if midnight else hour * 3600 + draw.integers(1, 3600, ROWS)
    days = np.datetime64("2026-03-02") + draw.integers(0, 5, ROWS).astype("timedelta64[D]")
    columns = {
        "departure": days + seconds.astype("timedelta64[s]"),
        "o_lng": axis(WEST, STEP_LON),
        "o_lat": axis(SOUTH, STEP_LAT),
        "d_lng": axis(WEST, STEP_LON),
        "d_lat": axis(SOUTH, STEP_LAT),
    }
    pq.write_table(pa.table(columns), place / name)
    return place / name


def dry(place: Path, path: Path, *more: object, ends: tuple[str, str] = ("o_lng,o_lat", "d_lng,d_lat")) -> str:
    done = run(
        *("learn", "--network", place / "city.osm", "--zones", place / "zones.geojson", "--trips", path),
        *("--from", "2026-03-02", "--to", "2026-03-06", "--period", "07:00-09:00", "--dry-run"),
        *("--origin-column", ends[0], "--destination-column", ends[1], *more),
    )
    assert done.code == 0, done.err
    return done.out


def test_profiles_reasons_and_lengths_are_shown_and_nothing_is_doubted(place: Path) -> None:
    out = dry(place, write(place))
    assert "CHECK" not in out
    for text in (
        "hour of the clock",
        "weekday",
        "08:00",
        "wed",
        "within zone",
        "free-flow minutes",
        "straight kilometres",
    ):
        assert text in out
    titles = [line for line in out.splitlines() if "departures by" in line or "became of" in line or "10, 50" in line]
    assert len(titles) == 4
    assert all(line.startswith("PRIVATE") for line in titles)


def test_swapped_columns_are_seen_by_their_names_and_by_their_values(place: Path) -> None:
    out = dry(place, write(place), ends=("o_lat,o_lng", "d_lng,d_lat"))
    assert "CHECK: the columns of the origin are o_lat, o_lng, but longitude comes first" in out
    assert "with longitude and latitude swapped" in out


def test_times_of_another_zone_are_doubted(place: Path) -> None:
    out = dry(place, write(place, hours_off=9))
    assert "CHECK: the quietest hours are" in out
    assert "about -9 hours off" in out or "about -8 hours off" in out or "about -10 hours off" in out


def test_dates_without_a_time_are_doubted(place: Path) -> None:
    assert "exactly midnight" in dry(place, write(place, midnight=True))


class TestExpectTrips:
    def learn(self, place: Path, expected: int, out: Path, ledger: Path | None = None) -> tuple[int, str]:
        done = run(
            *("learn", "--network", place / "city.osm", "--zones", place / "zones.geojson", "--trips", write(place)),
            *("--from", "2026-03-02", "--to", "2026-03-06", "--period", "07:00-09:00", "--epsilon", 1),
            *("--delta", "1e-6", "--origin-column", "o_lng,o_lat", "--destination-column", "d_lng,d_lat"),
            *("--set", f"data.expect_trips={expected}", "--out", out),
            *(() if ledger is None else ("--ledger", ledger)),
        )
        return done.code, done.err

    def test_too_few_trips_stop_before_the_charge_and_the_error_says_what_that_reveals(
        self, place: Path, tmp_path: Path
    ) -> None:
        ledger = tmp_path / "city.ledger"
        assert run("budget", "init", ledger, "--dataset", "city", "--epsilon", 2, "--delta", 1e-5).code == 0
        before = ledger.read_bytes()
        code, said = self.learn(place, 100_000, tmp_path / "out", ledger)
        assert code == 1
        assert "PRIVATE, do not publish: fewer trips were counted than" in said
        assert "anyone who learns of it learns that there are fewer" in said
        assert ledger.read_bytes() == before
        assert not (tmp_path / "out").exists()

    def test_a_release_says_that_it_depends_on_the_number(self, place: Path, tmp_path: Path) -> None:
        assert self.learn(place, 10, tmp_path / "out")[0] == 0
        release = pr.load_release(tmp_path / "out")
        assert release.certificate.study["expect_trips"] == 10
        assert "at least 10 trips were counted" in run("inspect", tmp_path / "out").out.replace("\n", " ").replace(
            "    ", ""
        )
