"""Commands with a study file: init writes it, plan, learn and audit take it, --set and flags change it."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from tests.cli.command import refused, run

import privroute as pr
from privroute import _core
from privroute.cli.study_options import LEARN_KEYS
from privroute.mechanism import counts as counts_mechanism
from privroute.mechanism import drawing
from privroute.mechanism import learn as learning
from privroute.network import pairs as network_pairs
from privroute.privacy.ledger import Ledger
from privroute.study.schema import KEYS

CHOICES = (
    *("--network", "sioux-falls", "--from", "2026-03-02", "--to", "2026-03-13", "--weekdays", "mon-fri"),
    *("--period", "07:00-08:00", "--epsilon", "0.5", "--delta", "1e-6"),
)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.toml"
    done = run("init", path, *CHOICES)
    assert done.code == 0, done.err
    return path


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    path = tmp_path / "trips.csv"
    rows = [f"2026-03-{2 + number % 5:02} 07:{number % 60:02}:00,{1 + number % 24},20" for number in range(200)]
    path.write_text("departure,origin,destination\n" + "\n".join(rows) + "\n")
    return path


def test_init_writes_a_commented_file_that_is_a_study(study: Path) -> None:
    text = study.read_text()
    values = tomllib.loads(text)
    assert values["guarantee"] == {"epsilon": 0.5, "delta": 1e-6}
    assert values["calendar"]["periods"] == ["07:00-08:00"]
    assert all(f"[{section}]" in text for section in ("network", "calendar", "unit", "guarantee", "mechanism", "trips"))
    for key in KEYS.values():
        if not key.owners or "counts" in key.owners:
            assert f"{key.name} =" in text
            assert key.help.split()[0] in text
    assert "window =" not in text  # of another mechanism
    loaded = pr.Study.load(study)
    assert (loaded.frame.days, loaded.promised.epsilon) == (10, 0.5)


def test_init_never_replaces_a_file_unless_asked(study: Path) -> None:
    before = study.read_text()
    assert "--overwrite" in refused("init", study, *CHOICES, "--epsilon", "2")
    assert study.read_text() == before
    assert run("init", study, *CHOICES, "--epsilon", "2", "--overwrite").code == 0
    assert pr.Study.load(study).promised.epsilon == 2


def test_init_without_a_terminal_says_what_is_left_to_fill_in(tmp_path: Path) -> None:
    done = run("init", tmp_path / "study.toml", "--network", "sioux-falls")
    assert done.code == 0, done.err
    assert "Fill in: calendar.from, calendar.to, calendar.periods, guarantee.epsilon, guarantee.delta" in done.text
    text = (tmp_path / "study.toml").read_text()
    assert "# epsilon = 0.1" in text
    assert "Default: layered from 1,000 pairs on, otherwise counts." in " ".join(text.replace("# ", "").split())
    assert "Default: counts." not in text
    message = refused("plan", tmp_path / "study.toml")
    assert "calendar.from and calendar.to are missing" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "-1"), "--epsilon is -1.0"),
        (("--delta", "x"), "--delta is 'x'; pass a number"),
        (("--tz", "Nowhere"), "--tz is 'Nowhere'"),
        (("--period", "8-7am"), "--period is '8-7am'"),
        (("--unit", "user"), "--unit user needs --max-requests"),
        (("--window", "3"), "--window is only valid with --mechanism daily"),
        (("--network", "gone.tntp"), "--network takes"),
        (("--max-zone-distance-km", "0"), "--max-zone-distance-km is 0.0"),
        (("--set", "unit.protect=person"), "--unit is 'person'"),
    ],
)
def test_init_refuses_what_no_study_can_have_and_writes_nothing(
    tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    assert message in refused("init", tmp_path / "study.toml", *CHOICES, *options)
    assert not (tmp_path / "study.toml").exists()


def test_init_writes_paths_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pr.write_gmns(pr.sioux_falls().network, tmp_path / "city")
    (tmp_path / "studies").mkdir()
    assert run("init", "studies/study.toml", *CHOICES, "--network", "city").code == 0
    assert tomllib.loads((tmp_path / "studies" / "study.toml").read_text())["network"]["source"] == "../city"
    assert pr.Study.load("studies/study.toml").network.nodes == 24


def test_init_asks_on_a_terminal_until_the_answers_can_be_used(tmp_path: Path) -> None:
    answers = {
        "Network": ["gone.tntp", "sioux-falls"],
        "First day": ["tomorrow", "2026-03-02"],
        "Last day": ["2026-03-01", "2026-03-13"],
        "Weekdays": ["someday", "mon-fri"],
        "Hours of the day": ["8-7am", "07:00-08:00"],
        "Time zone": ["Nowhere", "Europe/Zurich"],
        "What to protect": ["person", "user"],
        "Maximum number of trips": ["0", "4"],
        "Epsilon": ["much", ""],
        "Delta": [""],
    }
    path = tmp_path / "study.toml"
    said = _on_a_terminal(
        [sys.executable, "-c", "from privroute.cli.app import main; main()", "init", str(path)], answers
    )
    assert "calendar.from is 'tomorrow'; write a date" in said
    study = pr.Study.load(path)
    assert str(study.calendar) == "mon-fri, 2026-03-02 to 2026-03-13 (10 days), 07:00-08:00, Europe/Zurich"
    assert study.unit == "user"
    assert study.frame.contribution == pr.Contribution("user", 4)
    assert study.guarantee == pr.Guarantee(0.1, 1e-6, "user")


def _on_a_terminal(command: list[str], answers: dict[str, list[str]]) -> str:
    """Run a command on a pseudo-terminal, answering each question when it is asked, the next answer each time."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True) as program:
        os.close(theirs)
        said, seen, until = "", 0, time.monotonic() + 60
        while time.monotonic() < until:
            if select.select([ours], [], [], 0.1)[0]:
                try:
                    said += os.read(ours, 4096).decode()
                except OSError:  # the other side has closed
                    break
            last = said[seen:].rsplit("\n", 1)[-1]
            asked = next((question for question in answers if last.startswith(question) and last.endswith(": ")), None)
            if asked is not None:
                seen = len(said)
                os.write(ours, f"{answers[asked].pop(0)}\n".encode())
        os.close(ours)
        assert program.wait(10) == 0, said
    return " ".join(said.split())


def test_a_study_file_becomes_a_release_and_settings_are_changed_for_one_run(
    study: Path, trips: Path, tmp_path: Path
) -> None:
    done = run("learn", study, "--trips", trips, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    certificate = pr.load_release(tmp_path / "out").certificate
    assert certificate.private
    assert (certificate.epsilon, certificate.days) == (0.5, 10)
    assert (
        str(certificate.calendar) == "mon-fri, 2026-03-02 to 2026-03-13 (10 days), 07:00-08:00, local time of the data"
    )
    changed = ("--set", "guarantee.epsilon=0.25", "--set", "calendar.periods=07:00-09:00", "--to", "2026-03-06")
    assert run("learn", study, "--trips", trips, "--out", tmp_path / "two", *changed).code == 0
    certificate = pr.load_release(tmp_path / "two").certificate
    assert (certificate.epsilon, certificate.days, certificate.period_min) == (0.25, 5, 120.0)
    assert tomllib.loads(study.read_text())["guarantee"]["epsilon"] == 0.5


def test_hours_weekdays_dates_and_time_zone_are_said_in_words(study: Path, trips: Path, tmp_path: Path) -> None:
    zone = ("--tz", "Europe/Zurich")
    assert run("learn", study, "--trips", trips, *zone, "--out", tmp_path / "out").code == 0
    words = "mon-fri, 2026-03-02 to 2026-03-13 (10 days), 07:00-08:00, Europe/Zurich"
    assert words in run("inspect", tmp_path / "out").text
    done = run("report", tmp_path / "out", "--out", tmp_path / "report.html")
    assert done.code == 0, done.err
    assert words in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilon = 0.5", "epsilon = -1", "guarantee.epsilon is -1.0"),
        ("epsilon = 0.5", 'epsilon = "x"', "guarantee.epsilon is 'x'; pass a number"),
        ("epsilon = 0.5", "", "guarantee.epsilon and guarantee.delta are needed"),
        ('periods = ["07:00-08:00"]', "", "--trips needs calendar.periods"),
        ("[guarantee]", "[gaurantee]", "[gaurantee] is not a section"),
        ("delta = 1e-06", "delta = 0.1", "NOT PRIVATE: guarantee.delta 0.1 is above 0.001"),
    ],
)
def test_errors_about_a_study_file_name_its_key_and_the_file(
    study: Path, tmp_path: Path, old: str, new: str, message: str
) -> None:
    text = study.read_text()
    assert old in text
    study.write_text(text.replace(old, new))
    told = refused("learn", study, "--trips", "never-opened.csv", "--out", tmp_path / "out")
    assert told.startswith(f"{study}: ")
    assert message in told
    assert "never-opened" not in told


def test_a_value_given_as_a_flag_is_spelt_as_the_flag_even_beside_a_file(study: Path, tmp_path: Path) -> None:
    rest = ("--trips", "never-opened.csv", "--out", tmp_path / "out")
    assert refused("learn", study, *rest, "--epsilon", "-1").startswith("--epsilon is -1.0")
    assert refused("learn", study, *rest, "--set", "trips.max_zone_distance_km=-1").startswith(
        "--max-zone-distance-km is -1.0"
    )
    assert refused("learn", study, *rest, "--set", "mechanism.gap=-1").startswith("mechanism.gap is -1.0")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--set", "guarantee.epsilon=1", "--epsilon", "2"),
            "--set guarantee.epsilon and --epsilon set the same value; give one of them",
        ),
        (("--set", "guarantee.epsilon=1", "--set", "guarantee.epsilon=2"), "--set guarantee.epsilon is given twice"),
        (("--set", "calendar.weekdays=sat", "--weekdays", "sun"), "--set calendar.weekdays and --weekdays"),
    ],
)
def test_a_key_that_is_given_twice_is_an_error(
    study: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    assert message in refused("learn", study, "--trips", "never-opened.csv", "--out", tmp_path / "out", *options)
    assert message in refused("init", tmp_path / "new.toml", *options)


def test_plan_and_audit_take_a_study_file(study: Path) -> None:
    done = run("plan", study, "--epsilons", "1", "--draws", 1)
    assert done.code == 0, done.err
    assert "10 days of 60 minutes" in done.text
    assert [line.split()[0] for line in done.out.splitlines() if " ± " in line] == ["0.5", "1"]
    assert "0.5 (study)" in done.out
    text = study.read_text().replace('# name = "counts"', 'name = "daily"')
    study.write_text(text.replace("# gap = 1e-08", ""))
    done = run("audit", study, "--runs", 50)
    assert done.code == 0, done.err
    assert "Mechanism daily, guarantee: epsilon 0.5, delta 1e-6" in done.text


def test_one_learn_searches_promises_certifies_checks_and_charges_once(
    study: Path, trips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until the optimum is solved the fastest paths are searched once, and every public step is done once."""
    ledger = Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6))
    pr.write_gmns(pr.sioux_falls().network, tmp_path / "city")  # the built-in one comes with a demand of its own
    calls: list[str] = []

    def count(home: Any, name: str, called: str) -> None:
        original = getattr(home, name)

        def counted(*given: Any, **options: Any) -> Any:
            calls.append(called)
            return original(*given, **options)

        monkeypatch.setattr(home, name, counted)

    count(network_pairs, "fastest_minutes", "search")
    count(counts_mechanism, "promise", "promise")
    count(counts_mechanism, "publish", "publish")
    count(learning, "certify", "certify")
    count(Ledger, "check", "check")
    count(Ledger, "charge", "charge")
    count(drawing, "_with_noise", "noise")
    place = ("--network", tmp_path / "city", "--out", tmp_path / "out")
    with mock.patch.object(_core, "pair_costs", wraps=_core.pair_costs) as core:
        done = run("learn", study, "--trips", trips, "--ledger", ledger.path, *place, "--set", "quality.share=0")
        searched = core.call_count
    assert done.code == 0, done.err
    assert calls.count("search") == searched == 1
    assert [call for call in calls if call != "search"] == ["promise", "certify", "check", "charge", "noise", "publish"]
    assert len(ledger.account().charges) == 1


def test_the_flags_of_learn_are_about_twenty_and_init_has_one_for_each_key() -> None:
    shown = run("learn", "--help", width=200).out
    assert all(f" {KEYS[key].flag} " in shown for key in LEARN_KEYS)
    assert len(LEARN_KEYS) <= 27
    every = run("init", "--help", width=200).out
    assert all(f" {key.flag} " in every for key in KEYS.values())
