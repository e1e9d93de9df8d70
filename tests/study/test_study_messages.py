"""What a study prints, and what errors about it and about its trip files tell the user to write."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.study.test_study_files import SMALL, written

import privroute as pr
from privroute.errors import FormatError


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[guarantee]\nepsilon = 0.1\nepsilon = 0.2", r"line 3: .*the key stands twice; keep one"),
        ("[guarantee]\n[data]\n[guarantee]", r"line 3: .*put its keys under one heading"),
        ("[network]\nsource = sioux-falls", r"line 2: .*texts in quotes like \"sioux-falls\""),
        ("[calendar]\nfrom 2026-03-02", r"line 2: .*write key = value"),
        ("[calendar]\nfrom = 2.3.2026", r"line 2: .*dates like 2026-03-02"),
        ('[calendar]\nperiods = ["07:00-08:00"', r"line 2: .*end the list with \]"),
        ('[network]\nsource = "sioux', r"line 2: .*end the text with a quote"),
        ("[network\nsource = 1", r"line 1: .*write a section like \[calendar\]"),
        ("epsilon: 0.1", r"line 1: .*write key = value"),
    ],
)
def test_errors_of_toml_say_the_line_and_what_to_write(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(FormatError, match=told):
        pr.Study.load(written(tmp_path, text))


def test_a_study_prints_in_one_short_line(tmp_path: Path) -> None:
    text = SMALL.replace("to = 2026-03-13", "to = 2027-03-13")
    study = pr.Study.load(written(tmp_path, text))
    for value in (study, study.frame, study.calendar):
        assert "mon-fri, 2026-03-02 to 2027-03-13 (270 days), 07:00-08:00, Europe/Zurich" in repr(value)
        assert len(repr(value)) < 400
        assert str(value) in repr(value)
    assert "epsilon=0.1, delta=1e-06" in str(study)


def test_with_a_study_errors_about_trip_files_name_its_keys(tmp_path: Path) -> None:
    study = pr.Study.load(written(tmp_path, SMALL))
    (tmp_path / "trips.csv").write_text("at,origin,destination\n2026-03-02 07:15:00,1,2\n")
    with pytest.raises(FormatError, match=r"name the column with trips\.departure"):
        pr.read_trips(tmp_path / "trips.csv", study)
    with pytest.raises(FormatError, match=r"name the column with departure="):
        pr.read_trips(tmp_path / "trips.csv", study.network, period="07:00-08:00", dates=("2026-03-02", "2026-03-03"))
    with pytest.raises(FormatError, match=r"columns date, origin, destination, trips, or others .* with date="):
        pr.read_daily_od(tmp_path / "trips.csv", study)


def test_a_folder_of_trips_is_an_error_that_shows_a_pattern(tmp_path: Path) -> None:
    study = pr.Study.load(written(tmp_path, SMALL))
    with pytest.raises(FormatError, match=r"cannot be read: it is a folder; pass a pattern like '.*/\*\.parquet'"):
        pr.read_trips(tmp_path, study)
