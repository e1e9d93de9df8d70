"""Every certificate lists what its proof assumes and privroute did not check, as its own code relies on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privroute as pr
from privroute.release.certificate import Certificate
from privroute.release.explanation import explain
from privroute.study.contribution import Contribution
from privroute.study.trip_format import COUNTS_ARE_TRIPS, ROWS_ARE_TRIPS

pytestmark = pytest.mark.slow

CITY = pr.sioux_falls()
CHOSEN = "days, hours, pairs and all other settings were chosen without the trips"
READ: dict[str, Any] = {"period": ("07:00", "08:00"), "dates": ("2026-03-02", "2026-03-03"), "report": lambda _: None}


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    path = tmp_path / "trips.csv"
    path.write_text("departure,origin,destination,user\n2026-03-02 07:10:00,1,20,ann\n2026-03-03 07:20:00,2,3,bob\n")
    return path


def asserted(history: Any, unit: Any = "request", mechanism: Any = "counts") -> tuple[str, ...]:
    return pr.learn(CITY.network, history, pr.Guarantee(1.0, 1e-6, unit), mechanism).certificate.asserted


def test_trips_from_files_rest_on_rows_and_on_public_settings(trips: Path) -> None:
    history = pr.read_trips(trips, CITY.network, **READ)
    assert asserted(history) == (ROWS_ARE_TRIPS, CHOSEN)
    again = pr.read_trips(trips, CITY.network, times_as_before=True, **READ)
    assert asserted(again)[1] == "these columns and formats give each trip the time that earlier releases read"


def test_users_are_ids_and_a_kept_set_was_chosen_before(trips: Path) -> None:
    bounds: dict[str, Any] = {"unit": "user", "max_requests": 3}
    said = asserted(pr.read_trips(trips, CITY.network, **bounds, **READ), "user")
    assert any(words.startswith("one id is one person") for words in said)
    assert not any("first release" in words for words in said)
    kept = pr.read_trips(trips, CITY.network, pre_bounded=True, kept_set="0a1b", **bounds, **READ)
    expected = "the files hold at most 3 trips of each user, chosen once before the first release (kept set 0a1b)"
    assert expected in asserted(kept, "user")


def test_a_public_demand_and_a_stated_total_are_asserted() -> None:
    pairs = CITY.demand.pairs
    history = pr.DemandHistory(pairs, np.ones((2, len(pairs)), int))
    said = asserted(history, mechanism=pr.Layered(public_demand=CITY.demand))
    assert "the public demand was made without the trips" in said


def test_counts_that_were_given_are_not_called_trip_records() -> None:
    """Nobody bounded the users of an array; whoever passes it asserts that."""
    pairs = CITY.demand.pairs
    history = pr.DemandHistory(pairs, np.ones((2, len(pairs)), int), contribution=Contribution("user", 3))
    certificate = pr.learn(CITY.network, history, pr.Guarantee(1.0, 1e-6, "user")).certificate
    assert certificate.data == "counts"
    assert certificate.asserted[0] == COUNTS_ARE_TRIPS
    assert explain(certificate).made[0].startswith("Computed from counts of trips that were made outside of privroute")


def test_simulated_days_assume_nothing_of_anybody() -> None:
    history = pr.simulate_days(CITY.demand, days=2, seed=1)
    assert asserted(history) == ()
    certificate = pr.learn(CITY.network, history, pr.Guarantee(1.0, 1e-6)).certificate
    assert "privroute did not check" not in str(explain(certificate).sections)


def test_what_is_assumed_is_said_on_every_screen_and_saved(trips: Path, tmp_path: Path) -> None:
    release = pr.learn(CITY.network, pr.read_trips(trips, CITY.network, **READ), pr.Guarantee(1.0, 1e-6), "counts")
    release.save(tmp_path / "release")
    certificate = pr.load_release(tmp_path / "release").certificate
    assert certificate == release.certificate
    sections = {title: sentences for title, _, sentences in explain(certificate).sections}
    said = sections["The proof assumes, and privroute did not check"]
    assert said[0] == "One row is one trip" + ROWS_ARE_TRIPS.removeprefix("one row is one trip") + "."
    assert {"title", "mark", "sentences"} == set(explain(certificate).as_dict()["sections"][0])


def test_a_certificate_of_version_0_2_is_shown_with_what_it_did_not_list(trips: Path) -> None:
    history = pr.read_trips(trips, CITY.network, **READ)
    values = pr.learn(CITY.network, history, pr.Guarantee(1.0, 1e-6), "counts").certificate.as_dict()
    del values["asserted"]
    assert Certificate.from_dict(values).asserted == (ROWS_ARE_TRIPS,)
