"""Study files: what is written is read again, and what cannot be used is refused by its key and file."""

from __future__ import annotations

import datetime as dt
import json
import os
import string
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privroute as pr
from privroute.errors import FormatError, HistoryError, InputError
from privroute.study.calendar import Calendar
from privroute.study.keys import (
    COLUMNS,
    DATE,
    DATES,
    DAYS_BY_NAME,
    NUMBER,
    PATH,
    PERIODS,
    TEXT,
    WEIGHTS,
    WHOLE,
    YES_NO,
)
from privroute.study.schema import BY_ARGUMENT, KEYS, SECTIONS
from privroute.study.settings import Settings
from privroute.study.source import Source
from privroute.study.toml_text import as_toml

SMALL = """
[network]
source = "sioux-falls"
[calendar]
from = 2026-03-02
to = 2026-03-13
weekdays = "mon-fri"
periods = ["07:00-08:00"]
time_zone = "Europe/Zurich"
[guarantee]
epsilon = 0.1
delta = 1e-6
"""


def written(folder: Path, text: str, name: str = "study.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_study_file_says_everything_that_is_public(tmp_path: Path) -> None:
    study = pr.Study.load(written(tmp_path, SMALL))
    assert (study.guarantee, study.mechanism, study.unit) == (pr.Guarantee(0.1, 1e-6), pr.Counts(), "request")
    assert str(study.calendar) == "mon-fri, 2026-03-02 to 2026-03-13 (10 days), 07:00-08:00, Europe/Zurich"
    assert study.network.nodes == 24
    changed = pr.Study.load(tmp_path / "study.toml", {"guarantee.epsilon": 0.5, "calendar.periods": "16:00-18:00"})
    assert changed.promised.epsilon == 0.5
    assert changed.frame.period_min == 120


def test_a_loaded_study_is_saved_and_loaded_again(tmp_path: Path) -> None:
    text = SMALL + '[unit]\nprotect = "user"\nmax_requests = 4\n[mechanism]\nname = "daily"\nwindow = 7\n'
    study = pr.Study.load(written(tmp_path, text))
    study.save(tmp_path / "again.toml")
    again = pr.Study.load(tmp_path / "again.toml")
    assert (again.frame, again.guarantee, again.mechanism, again.trips, again.source) == (
        study.frame,
        study.guarantee,
        study.mechanism,
        study.trips,
        study.source,
    )
    with pytest.raises(InputError, match="already exists"):
        study.save(tmp_path / "again.toml")
    again.save(tmp_path / "again.toml", overwrite=True)


def test_paths_in_a_file_are_relative_to_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pr.write_gmns(pr.sioux_falls().network, tmp_path / "data" / "city")
    (tmp_path / "studies").mkdir()
    study = written(tmp_path / "studies", SMALL.replace("sioux-falls", "../data/city"))
    monkeypatch.chdir(tmp_path / "data")
    loaded = pr.Study.load(study)
    assert loaded.network.nodes == 24
    loaded.save(tmp_path / "again.toml")
    assert pr.Study.load(tmp_path / "again.toml").network.nodes == 24
    elsewhere = pr.Study.load(study, {"network.source": "city"})  # of the working directory
    assert elsewhere.network.nodes == 24


def test_the_public_demand_of_a_mechanism_is_a_path(tmp_path: Path) -> None:
    (tmp_path / "public.csv").write_text("origin,destination,trips\n1,2,60\n")
    text = SMALL + '[mechanism]\nname = "sgd"\nalpha = 5\npublic_demand = "public.csv"\n'
    study = pr.Study.load(written(tmp_path, text))
    assert isinstance(study.mechanism, pr.Sgd)
    assert study.mechanism.public_demand is not None
    assert study.mechanism.public_demand.total_per_min == pytest.approx(1.0)
    study.save(tmp_path / "again.toml")
    again = pr.Study.load(tmp_path / "again.toml").mechanism
    assert isinstance(again, pr.Sgd)
    assert again.public_demand is not None


def test_a_study_of_a_network_in_memory_is_saved_only_with_its_source(tmp_path: Path) -> None:
    study = pr.Study.load(written(tmp_path, SMALL))
    bare = pr.Study(study.network, study.frame, study.guarantee)
    with pytest.raises(InputError, match="source="):
        bare.save(tmp_path / "bare.toml")
    named = pr.Study(study.network, study.frame, study.guarantee, source=Source("sioux-falls"))
    named.save(tmp_path / "named.toml")
    assert pr.Study.load(tmp_path / "named.toml").frame == study.frame


LETTERS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)
PLAIN = st.text(string.ascii_letters + string.digits + "/._-", min_size=1).filter(lambda text: text.strip("./"))
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    id(TEXT): LETTERS,
    id(PATH): PLAIN.map(lambda text: "/" + os.path.normpath(text).lstrip("/")),
    id(NUMBER): st.floats(allow_nan=False),
    id(WHOLE): st.integers(-(2**70), 2**70),
    id(YES_NO): st.booleans(),
    id(DATE): st.dates(),
    id(PERIODS): st.lists(LETTERS, min_size=1, max_size=3).map(tuple),
    id(COLUMNS): LETTERS | st.tuples(LETTERS, LETTERS),
    id(DATES): st.lists(st.dates(), min_size=1, max_size=3).map(lambda days: tuple(sorted(set(days)))),
    id(DAYS_BY_NAME): st.dictionaries(LETTERS, LETTERS, min_size=1, max_size=3),
    id(WEIGHTS): st.dictionaries(LETTERS, st.floats(allow_nan=False), min_size=1, max_size=3),
}


def strategy(key: str) -> st.SearchStrategy[Any]:
    kind = KEYS[key].kind
    return VALUES[id(kind)] if id(kind) in VALUES else st.sampled_from(kind.metavar.split("|"))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_whatever_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    chosen = data.draw(st.sets(st.sampled_from(sorted(KEYS))))
    values = {key: data.draw(strategy(key), label=key) for key in chosen}
    path = tmp_path_factory.getbasetemp() / "round-trip.toml"
    path.write_text(as_toml(values), encoding="utf-8", newline="")
    assert Settings.read(path).values == values


def test_every_key_has_a_section_help_and_names_of_its_own() -> None:
    flags = [key.flag for key in KEYS.values()]
    arguments = [argument for key in KEYS.values() for argument in key.arguments]
    assert len(set(flags)) == len(flags)
    assert len(set(arguments)) == len(arguments) == len(BY_ARGUMENT)
    assert {key.section for key in KEYS.values()} == set(SECTIONS)
    assert all(key.help[0].isupper() and key.help.endswith(".") for key in KEYS.values())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[gaurantee]\nepsilon = 1", r"\[gaurantee\] is not a section; did you mean guarantee\?"),
        ("[other]", r"\[other\] is not a section; known: network, latency, units, zones, calendar"),
        ("guarantee = 3", r"guarantee is a value where a section is needed; write \[guarantee\]"),
        ("[guarantee]\nepslion = 1", r"guarantee\.epslion is not a key; did you mean epsilon\?"),
        ("[guarantee]\nnoise = 1", r"guarantee\.noise is not a key; known: epsilon, delta"),
        ('[guarantee]\nepsilon = "much"', r"guarantee\.epsilon is 'much'; pass a number"),
        ("[guarantee]\nepsilon = true", r"guarantee\.epsilon is True; pass a number"),
        ("[guarantee]\nepsilon = [1]", r"guarantee\.epsilon is \[1\]; pass a number"),
        ("[guarantee]\nepsilon = 0", r"guarantee\.epsilon is 0\.0; pass a number greater than 0"),
        ("[guarantee]\ndelta = 2", r"guarantee\.delta is 2\.0"),
        ('[calendar]\nfrom = "2.3.2026"', r"calendar\.from is '2\.3\.2026'; write a date like 2026-03-02"),
        ("[calendar]\nfrom = 2026-03-02T07:00:00", r"calendar\.from is .*; write a date"),
        ("[calendar]\nto = 2026-03-01", r"calendar\.to 2026-03-01 is before calendar\.from 2026-03-02"),
        ('[calendar]\nperiods = "07:00-08:00"', r"calendar\.periods is '07:00-08:00'; write a list"),
        ('[calendar]\nperiods = ["8-7am"]', r"calendar\.periods is '8-7am'; write start and end like 07:00-08:00"),
        ('[calendar]\nperiods = ["07:00-08:00", "07:30-09:00"]', r"calendar\.periods: .* overlap"),
        ("[calendar]\nperiods = []", r"calendar\.periods is \[\]"),
        ('[calendar]\ntime_zone = "Nowhere"', r"calendar\.time_zone is 'Nowhere'"),
        ('[calendar]\nweekdays = "someday"', r"calendar\.weekdays is 'someday'; write it like mon-fri"),
        ("[calendar]\nperiod_min = 30", r"calendar\.periods already sets the length; omit calendar\.period_min"),
        ("[calendar]\ndays = 9", r"calendar\.days is 9, and there are 10"),
        ('[unit]\nprotect = "person"', r"unit\.protect is 'person'; pass"),
        ('[unit]\nprotect = ["user"]', r"unit\.protect is \['user'\]; pass"),
        ('[unit]\nprotect = "user"', r'unit\.protect = "user" needs unit\.max_requests'),
        (
            "[unit]\nmax_requests = 3",
            r'unit\.max_requests and unit\.max_per_pair bound users; pass unit\.protect = "user"',
        ),
        ("[unit]\npre_bounded = true", r"unit\.pre_bounded is about users"),
        ("[unit]\npre_bounded = 1", r"unit\.pre_bounded is 1; write true or false"),
        ("[data]\nexpansion = 0.5", r"data\.expansion is 0\.5"),
        ('[mechanism]\nname = "magic"', r"mechanism\.name is 'magic'; pass"),
        ("[mechanism]\nwindow = 3", r'mechanism\.window is only valid with mechanism\.name = "daily"'),
        ('[mechanism]\nname = "minimiser"', r"needs mechanism\.alpha"),
        ('[mechanism]\nname = "none"', r"has no guarantee\.epsilon and no guarantee\.delta"),
        ('[mechanism]\nname = "minimiser"\nalpha = -1', r"mechanism\.alpha is -1\.0"),
        ('[network]\nlatency = "cubic"', r"network\.latency is 'cubic'"),
        ('[network]\nnodes = "nodes.tntp"', r"network\.nodes is only valid for TNTP files"),
        ('[network]\nlatency = "bpr"\nfactor = 3', r'network\.factor is only valid with network\.latency = "affine"'),
        ('[network]\nsource = ""', r"network\.source is ''; write a path"),
        ('[network]\nsource = "gone.tntp"', r"gone\.tntp: there is no such file; network\.source takes"),
        ('[trips]\norigin = ["lon"]', r"trips\.origin is \['lon'\]; write a column, or two"),
        ("[trips]\nmax_zone_distance_km = 0", r"trips\.max_zone_distance_km is 0\.0"),
        ('[trips]\nepoch_unit = "h"', r"trips\.epoch_unit is 'h'"),
    ],
)
def test_what_cannot_be_used_is_refused_by_its_key_and_file(tmp_path: Path, line: str, message: str) -> None:
    section, _, rest = line.partition("\n")
    names = [entry.split(" = ")[0] for entry in rest.splitlines()]
    lines: list[str] = []
    inside = ""
    for entry in SMALL.strip().splitlines():
        inside = entry if entry.startswith("[") else inside
        if inside == section and entry.split(" = ")[0] in names:
            continue
        lines += [entry, *rest.splitlines()] if entry == section else [entry]
    text = "\n".join(lines)
    if section not in text.splitlines():
        text = f"{line}\n{text}" if not section.startswith("[") else f"{text}\n{line}\n"
    if section == "guarantee = 3":
        text = text.replace("[guarantee]\nepsilon = 0.1\ndelta = 1e-6", "")
    path = written(tmp_path, text)
    with pytest.raises(FormatError, match=message) as refused:
        pr.Study.load(path)
    assert str(refused.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("lacking", "message"),
    [
        ('source = "sioux-falls"', "network.source is missing"),
        ("from = 2026-03-02", "calendar.from is missing"),
        ("to = 2026-03-13", "calendar.to is missing"),
        ("epsilon = 0.1", "guarantee.epsilon and guarantee.delta are needed"),
    ],
)
def test_what_is_missing_is_named_by_its_key(tmp_path: Path, lacking: str, message: str) -> None:
    path = written(tmp_path, SMALL.replace(lacking, ""))
    with pytest.raises(FormatError, match=message):
        pr.Study.load(path)


def hostile() -> dict[str, bytes]:
    return {
        "binary": bytes(range(256)),
        "not UTF-8": '[trips]\nuser = "é"\n'.encode("latin-1"),
        "huge": b"# a comment\n" * 2**17,
        "one long line": b"# " + b"x" * 5000,
        "deep arrays": b"[guarantee]\nepsilon = " + b"[\n" * 30_000,
        "deep tables": b"[guarantee]\nepsilon = " + b"{a = " * 800,
        "deep keys": b"a." * 30_000 + b"b = 1",
        "deep keys in lines": (b"a." * 2000 + b"b = 1\n") * 16,
        "many keys": b"".join(b"k%d = 1\n" % number for number in range(6_000)),
        "twice": b"[guarantee]\nepsilon = 1\nepsilon = 2\n",
        "cut": b'[network]\nsource = "sioux',
        "NUL": b'[network]\nsource = "a\\u0000b"',
        "surrogate": b'[trips]\nuser = "\\ud800"',
        "long name": b"[" + b"x" * 4_000 + b"]",
        "control": b'[trips]\nuser = "\x1b[31m"',
        "unknown in Unicode": '["цена"]\nε = 1\n'.encode(),
        "marks of messages": b'["\\u0002tz\\u001f\\u0003"]',
    }


@pytest.mark.parametrize("name", hostile())
def test_a_hostile_file_ends_in_one_short_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / "study.toml"
    path.write_bytes(hostile()[name])
    with pytest.raises(FormatError) as refused:
        pr.Study.load(path)
    assert str(refused.value).startswith((f"{path}: ", f"{path}, line "))
    assert len(str(refused.value)) < 500 + len(str(path))


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "gone.toml", tmp_path / "pipe", "/dev/zero", "a\0b", tmp_path / ("x" * 300)):
        with pytest.raises(InputError):
            pr.Study.load(place)


def test_texts_in_any_writing_are_columns(tmp_path: Path) -> None:
    text = SMALL + '[trips]\ndeparture = "отправление 🚲"\norigin = ["längengrad", "breite"]\n'
    study = pr.Study.load(written(tmp_path, "\ufeff" + text))
    assert study.trips.departure == "отправление 🚲"
    assert study.trips.origin == ("längengrad", "breite")


def test_overrides_are_checked_like_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, SMALL)
    with pytest.raises(InputError, match="'guarantee.epslion' is not a key; did you mean guarantee.epsilon"):
        pr.Study.load(path, {"guarantee.epslion": 1})
    with pytest.raises(InputError, match="guarantee.epsilon is 'much'; pass a number"):
        pr.Study.load(path, {"guarantee.epsilon": "much"})


def trips_csv(folder: Path) -> Path:
    path = folder / "trips.csv"
    path.write_text("departure,origin,destination\n2026-03-02 07:10:00,1,20\n2026-03-07 07:10:00,1,20\n")
    return path


def test_readers_take_a_study_and_the_history_holds_its_frame(tmp_path: Path) -> None:
    study = pr.Study.load(written(tmp_path, SMALL))
    history = pr.read_trips(trips_csv(tmp_path), study, report=lambda _: None)
    assert history.frame == study.frame
    assert history.frame.reading is study.trips
    assert history.counts.sum() == 1  # the other one is on a Saturday
    daily = tmp_path / "daily.csv"
    daily.write_text("date,origin,destination,trips\n2026-03-02,1,20,3\n2026-03-07,1,20,5\n2026-03-09,1,20,7\n")
    history = pr.read_daily_od(daily, study, report=lambda _: None)
    assert history.frame is study.frame
    assert history.counts.sum(axis=1).tolist() == [3, 0, 0, 0, 0, 7, 0, 0, 0, 0]
    release = pr.learn(study, history)
    assert release.certificate.calendar == study.calendar
    assert release.certificate.study["network"]["source"] == "sioux-falls"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("period", "07:00-08:00"),
        ("dates", (dt.date(2026, 3, 2), dt.date(2026, 3, 2))),
        ("tz", "UTC"),
        ("unit", "user"),
        ("unit", "request"),  # also what holds where nothing is passed
        ("origin", "start"),
        ("origin", "origin"),
        ("expansion", 1.0),
        ("on_unreachable", "error"),
        ("pre_bounded", False),
        ("expansion", 2.0),
        ("on_unreachable", "drop"),
        ("pre_bounded", True),
        ("max_zone_distance_km", 2.0),
    ],
)
def test_a_study_is_not_contradicted_by_arguments(tmp_path: Path, option: str, value: object) -> None:
    study = pr.Study.load(written(tmp_path, SMALL))
    with pytest.raises(HistoryError, match=f"the study already sets {option}; omit {option}="):
        pr.read_trips("never-opened.csv", study, **{option: value})  # type: ignore[arg-type]


def test_daily_counts_fit_only_some_studies(tmp_path: Path) -> None:
    users = pr.Study.load(written(tmp_path, SMALL), {"unit.protect": "user", "unit.max_requests": 3})
    with pytest.raises(HistoryError, match="contain no user ids"):
        pr.read_daily_od("never-opened.csv", users)
    study = pr.Study.load(tmp_path / "study.toml")
    with pytest.raises(HistoryError, match="omit dates="):
        pr.read_daily_od("never-opened.csv", study, dates=("2026-03-02", "2026-03-02"))
    for option, value in (("period_min", 60.0), ("expansion", 1.0), ("on_unreachable", "error")):
        with pytest.raises(HistoryError, match=f"omit {option}="):
            pr.read_daily_od("never-opened.csv", study, **{option: value})  # type: ignore[arg-type]
    undated = written(tmp_path, '[network]\nsource = "sioux-falls"\n[calendar]\ndays = 5\n[mechanism]\nname = "none"\n')
    for reader in (pr.read_daily_od, pr.read_trips):
        with pytest.raises(HistoryError, match=r"the study needs calendar\.from and calendar\.to"):
            reader("never-opened.csv", pr.Study.load(undated))


def test_weekdays_of_days_without_dates_are_an_error(tmp_path: Path) -> None:
    text = SMALL.replace("from = 2026-03-02\nto = 2026-03-13", "days = 10")
    with pytest.raises(FormatError, match=r"calendar\.weekdays selects days of a range.*omit calendar\.weekdays"):
        pr.Study.load(written(tmp_path, text))
    assert pr.Study.load(written(tmp_path, text.replace('weekdays = "mon-fri"\n', ""))).frame.days == 10


def test_days_without_a_rule_are_not_read_from_trip_files(tmp_path: Path) -> None:
    """Monday and Wednesday of a range: a row of Tuesday belongs to no day and replaces nothing."""
    network = pr.sioux_falls().network
    pairs = pr.Pairs.of_zones(network)
    dates = [dt.date(2026, 3, 2), dt.date(2026, 3, 4)]
    frame = pr.DemandHistory(pairs, np.zeros((2, len(pairs)), int), dates=dates, begins=dt.time(7)).frame
    study = pr.Study(network, frame, pr.Guarantee(1.0, 1e-6))
    (tmp_path / "trips.csv").write_text("origin,destination,departure\n1,2,2026-03-04 07:30\n1,2,2026-03-03 07:30\n")
    with pytest.raises(HistoryError, match="the study has other days"):
        pr.read_trips(tmp_path / "trips.csv", study)
    with pytest.raises(HistoryError, match="none of the weekdays"):
        replace(frame.calendar, weekdays=(0, 1))


@pytest.mark.parametrize(
    "calendar",
    [
        Calendar.of("07:00-08:00", ("2026-03-02", "2026-03-15"), "mon-fri"),
        Calendar.of("22:00-02:00", ("2026-03-02", "2026-03-15"), "sat,sun", "Europe/Berlin").day(1),
        Calendar.of_days(3, 1440.0, [dt.date(2026, 3, day) for day in (2, 4, 5)], dt.time(4)),
        Calendar.of_days(2, 0.5, None, dt.time(4, 0, 0, 5)),
        Calendar.of_days(7, 99_999.0),
    ],
)
def test_a_calendar_reads_back_from_its_plain_form(calendar: Calendar) -> None:
    again = Calendar.from_dict(json.loads(json.dumps(calendar.as_dict())))
    assert again.as_dict() == calendar.as_dict()
    assert (again.days, again.dates, again.period) == (calendar.days, calendar.dates, calendar.period)
