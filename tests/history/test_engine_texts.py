"""Texts of tables, times and ids, are read in PostgreSQL and Spark by the rules for files."""

from __future__ import annotations

import datetime as dt
import hashlib
import itertools
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from engines import ROADS, in_duckdb, in_spark
from servers import PostgreSQL
from tests.history.engine_cases import TEXTS, in_postgresql

import privroute as pr
from privroute.history.dialects import POSTGRESQL, SPARK, Dialect, put
from privroute.history.engine_texts import Step, time_steps, user_steps
from privroute.history.trip_columns import TimeReading, user_key
from privroute.history.trip_texts import TextRule
from privroute.study.calendar import Calendar

pytestmark = pytest.mark.xdist_group("postgresql")

Values = list[tuple[Any, ...]]
BLANKS = ["", " ", "\t", "\n", "\r", "\r\n", "\v", "\f", "\x1f", "\x85", "\xa0", "\u2007", "\u200b", "\u2028", "\u2029"]
BLANKS += ["\u3000", "\ufeff"]


class Engines:
    """Runs steps over a table of texts in all engines."""

    def __init__(self, postgresql: PostgreSQL, spark: Any, folder: Path) -> None:
        self._url, self._spark, self._folder = postgresql.url, spark, folder

    def values(self, texts: list[str | None], steps: dict[str, list[Step]], shown: str) -> dict[str, Values]:
        """Of each engine, the columns `shown` by text; steps by the name of the dialect."""
        table = pa.table({"place": range(len(texts)), "given": pa.array(texts, pa.string())})
        found = {}
        with psycopg.connect(self._url, autocommit=True) as server, server.cursor() as cursor:
            cursor.execute("CREATE TEMP TABLE texts (place int, given text)")
            cursor.executemany("INSERT INTO texts VALUES (%s, %s)", list(enumerate(texts)))
            statement = _chain(POSTGRESQL, steps["PostgreSQL"], shown, "texts")
            found["PostgreSQL"] = cursor.execute(statement).fetchall()
        path = self._folder / "texts.parquet"
        pq.write_table(table, path)
        self._spark.read.parquet(str(path)).createOrReplaceTempView("texts")
        statement = _chain(SPARK, steps["Spark"], shown, "texts")
        found["Spark"] = [tuple(row) for row in self._spark.sql(statement).collect()]
        return found


def _in_duckdb(table: pa.Table, statement: str) -> Values:
    connection = duckdb.connect()
    connection.register("texts", table)
    return connection.execute(statement).fetchall()


def _chain(dialect: Dialect, steps: list[Step], shown: str, table: str) -> str:
    rows = f"SELECT place, {put(dialect.text, 'given')} AS given FROM {table}"  # noqa: S608 - ours
    for step in steps:
        made = ", ".join(f"{expression} AS {name}" for name, expression in step.items())
        rows = f"SELECT s.*, {made} FROM ({rows}) AS s"  # noqa: S608
    return dialect.spelt(f"SELECT {shown} FROM ({rows}) AS t ORDER BY place")  # noqa: S608


@pytest.fixture
def engines(postgresql: PostgreSQL, spark: Any, tmp_path: Path) -> Engines:
    return Engines(postgresql, spark, tmp_path)


DAYS = "2026-03-02 2024-02-29 2023-02-29 1900-02-29 2000-02-29 0000-01-01 0001-03-01 9999-12-31 1969-12-31 2026-04-31 "
DAYS += "2026-13-01 2026-00-10 2026-01-00 2026-1-1 20260302 \u0662026-03-02"
CLOCKS = "07:15 7:15 07:15:30 7:05:09.5 23:59:59.9999996 00:00:00.000000999 24:00 24:00:00.0 24:01 24:00:00.1 25:00 "
CLOCKS += "07:60 07:15:60 07:15: 07 07:15:30. 07:15:30,5"
OFFSETS = "Z z +01 +0100 +01:00 -15:59 +16:00 +01:60 +1 +01:0 UTC -00"
IDS = (
    "7 +7 -7 007 7. 7.0 -007.000 0 -0 +0.0 000 + - . 7.1 7e3 12e4 \u0667 18446744073709551616 1,000 0x7 u U \xe9 \xfc "
)
IDS += "u\u0308 null NULL NaN n/a <NA> None \u0130 \u212a \xdf ' \\ %s {0} {salt}"


def _time_texts() -> list[str | None]:
    days, clocks = DAYS.split(), [*CLOCKS.split(), "", "07:15:30 PM"]
    offsets = ["", " Z", " -03:30", *OFFSETS.split()]
    texts: list[str | None] = [
        f"{day}{'T' if at % 2 else ' '}{clock}" for at, (day, clock) in enumerate(itertools.product(days, clocks))
    ]
    texts += [f"2026-03-02 {clock}{offset}" for clock in clocks for offset in offsets]
    texts += [f"{before}2026-03-02 07:15:00{after}" for before, after in itertools.product(BLANKS, BLANKS)]
    for day in np.random.default_rng(7).integers(1, dt.date.max.toordinal(), 1_000).tolist():
        texts.append(f"{dt.date.fromordinal(day).isoformat()} 07:00:00.000001+02:00")
    return [*texts, None, "", "infinity", "epoch", "now", "x" * 300, "'", "\\", "%", "{0}"]


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_are_read_as_in_files(engines: Engines, zone: str | None) -> None:
    texts = _time_texts()
    reading = TimeReading(Calendar.of(("07:00", "08:00"), ("2026-03-02", "2026-03-03"), None, zone), None, None)
    column = reading.column("given", "text")
    assert column is not None
    table = pa.table({"place": range(len(texts)), "given": pa.array(texts, pa.string())})
    files = _in_duckdb(table, f"SELECT {column.local_us}, {column.utc_us} FROM texts ORDER BY place")  # noqa: S608
    steps = {
        each.name: [
            {"told": put(each.trimmed, "given")},
            *time_steps(each, "told", with_offset=zone is not None),
        ]
        for each in (POSTGRESQL, SPARK)
    }
    for engine, found in engines.values(texts, steps, "local_us, utc_us").items():
        differ = [(text, a, b) for text, a, b in zip(texts, files, found, strict=True) if a != b]
        assert not differ, (engine, len(differ), differ[:5])
    readable = sum(local is not None or utc is not None for local, utc in files)
    assert readable > (1_000 if zone else 50)
    if zone:  # and files are right: Python says the same of what it can read
        for text, (local, utc) in zip(texts, files, strict=True):
            if text and utc is not None and "24:00" not in text and text[:4] != "0000":
                plain = re.sub(r" ([Z+-])", r"\1", re.sub(r"([ T])(\d):", r"\g<1>0\2:", text.strip()))
                told = dt.datetime.fromisoformat(plain)
                assert (told - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)) // dt.timedelta(microseconds=1) == utc, text
                assert local is None


def _id_texts() -> list[str | None]:
    uuid = "550e8400-e29b-41d4-a716-446655440000"
    plain, five = uuid.replace("-", ""), "5" * 32
    ids = [uuid, uuid.upper(), plain, f"{{{uuid}}}", f"{{{plain}}}", f"urn:uuid:{uuid}", f"URN:UUID:{{{uuid}}}"]
    ids += [uuid[:-1], f"{{{uuid}", uuid[:8] + uuid[9:], uuid + "0", five, "5" * 36, "urn:uuid:", "g" + plain[1:]]
    ids += [f"+{five}", f"{five}.0", f"0{five}", f"-{five}", "5" * 31 + ".", f"+{five}5"]
    ids += [*IDS.split(), "x y", "9" * 40, "9" * 41, "0" * 50 + "9" * 40, "x" * 256]
    some = ("12", uuid.upper(), "u")
    return [*ids, None, "", *(f"{a}{core}{b}" for core in some for a, b in itertools.product(BLANKS, BLANKS))]


def test_ids_are_unified_as_in_files(engines: Engines) -> None:
    texts = _id_texts()
    data = [(text or "").encode() for text in texts]
    offset = np.concatenate([[0], np.cumsum([len(each) for each in data])]).astype(np.int64)
    given = np.frombuffer(b"".join(data), np.uint8)
    canonical = TextRule(user_ids=True).read(offset, given, np.array([text is not None for text in texts]))
    table = pa.table({"place": range(len(texts)), "user_id": canonical})
    files = _in_duckdb(table, f"SELECT {user_key('user_id', 'text')} FROM texts ORDER BY place")  # noqa: S608
    steps = {each.name: user_steps(each, "given") for each in (POSTGRESQL, SPARK)}
    for engine, found in engines.values(texts, steps, "user_id").items():
        differ = [(text, a, b) for text, a, b in zip(texts, files, found, strict=True) if a != b]
        assert not differ, (engine, len(differ), differ[:5])
    assert len({each for (each,) in files}) < len(texts) / 10


@pytest.mark.parametrize("level", [{}, {"unit": "user", "max_requests": 1}])
def test_tables_of_texts_are_counted_alike(
    postgresql: PostgreSQL, spark: Any, tmp_path: Path, level: dict[str, Any]
) -> None:
    """Every line end behind an id and a time, which Java's $ passes over; at user level every id counts once."""
    chance = np.random.default_rng(3)
    ends, lines = ["1", "2 ", "\t3", "4\n", "x"], ["", "\n", " ", "\x85"]
    times = [
        "2026-03-02 07:15:00",
        "2026-03-02T07:15Z",
        "2026-03-02 07:15:00 +01:00",
        "2026-03-02",
        "07:15",
        "\u0662026",
    ]
    ids = [f"{core}{end}" for core in ("12", "u", "550e8400-e29b-41d4-a716-446655440000") for end in BLANKS] * 4
    rows = [(one, str(chance.choice(ends)), "5", chance.choice(times) + chance.choice(lines)) for one in ids]
    names = ["user", "origin", "destination", "departure"]
    table = pa.table({name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)})
    path = tmp_path / "trips.parquet"
    pq.write_table(table, path)
    address = in_postgresql(postgresql, "texts_of_trips", TEXTS.replace("timestamp", "text"), rows)
    wanted: dict[str, Any] = {
        "period": ("06:00", "09:00"),
        "dates": ("2026-03-02", "2026-03-03"),
        "tz": "Europe/Berlin",
    }
    seen: list[Any] = []
    sources = (path, in_duckdb(table, tmp_path), address, in_spark(spark, path))
    options = wanted | level | {"rows_are_trips": True}
    found = [pr.read_trips(source, ROADS, report=seen.append, **options).counts for source in sources]
    assert [rows.numbers for rows in seen] == [seen[0].numbers] * len(sources)
    if level:
        assert 3 <= seen[0].counted <= 6  # 12, u and the universal id, also with \x1f, which is no blank
    else:
        assert all((counts == found[0]).all() for counts in found)
        assert seen[0].counted > 10


def test_what_stands_for_a_long_id_is_its_sha_256_with_a_tag(engines: Engines) -> None:
    """Without the tag, digits of a digest would be read as a UUID, and another id may be spelt like them."""
    texts: list[str | None] = ["x" * 300, "é" * 300, "'\\\n" * 100, None]
    steps = {
        dialect.name: [{"user_text": put(dialect.long_id, "given")}, *user_steps(dialect, "user_text")]
        for dialect in (POSTGRESQL, SPARK)
    }
    wanted = [(text and f"sha256:{hashlib.sha256(text.encode()).hexdigest()}",) for text in texts]
    assert engines.values(texts, steps, "user_id") == dict.fromkeys(steps, wanted)
