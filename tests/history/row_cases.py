"""Random trip files, row by row: every type, encoding and layout that a file may have, and values that try to break it.

A `Layout` is what a schema fixes: the kind of file and the type of each column, with the options of `read_trips` that
belong to it. A row is a mapping from columns to values of these types. `write` makes files of rows; how they are split
over files, row groups and pages is drawn anew each time, since it must not matter.
"""

from __future__ import annotations

import datetime as dt
import decimal
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
from tests.reference.user_ids import canonical_id

__all__ = ["Layout", "draw_layout", "draw_rows", "users_of", "write"]

Row = dict[str, Any]

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
BROKEN = [
    b"\xff",
    b"a\x00b",
    b"\xed\xa0\x80",
    b"\xc0\xaf",
    "ü\u202e".encode(),
    b"",
    b" ",
    b"NULL",
    b"nan",
    b"x" * 300,
    b"x" * 70_000,
]
FAR = [2**63 - 1, -(2**63), 0, -1, 2**62, 2**53 + 1]
LABELS = ["1", "2", "a b", "1", "2", "a b", "1.0", "007", "9", " 1 "]
USERS = ["u1", "u2", "u3", "7", "7.0", "+07", "u1\u00a0", "7e+00", "y" * 300, " " + "y" * 300]
DAYS = ["2026-03-26", "2026-03-27", "2026-03-28", "2026-03-29", "2026-03-30", "2026-03-31"]
NEAR_NS = [0, 0, -1, -1, -1, 1, -999, 499, 500, -500, -501, 1000, -1000, 10**6, -(10**6), -(10**9)]
NEAR_NS += [1800 * 10**9, 600 * 10**9]
PERIODS = {("07:00", "08:00"): [7, 8], ("22:00", "02:00"): [22, 2], ("00:00", "24:00"): [0, 12]}
ODD = 0.08  # share of odd values in a column


@dataclass(frozen=True)
class Layout:
    """What is the same for all rows: `kinds` {column: Arrow type} for Parquet, empty for CSV; options of read_trips."""

    ending: str
    kinds: dict[str, Any]
    makers: dict[str, Callable[[random.Random], Any]]
    options: dict[str, Any]
    delimiter: bytes = b","


def draw_layout(chance: random.Random) -> Layout:
    """A kind of file, types of columns, and options that fit them."""
    parquet = chance.random() < 0.6
    kinds: dict[str, Any] = {}
    makers: dict[str, Callable[[random.Random], Any]] = {}
    options: dict[str, Any] = {"period": chance.choice(list(PERIODS))}
    kinds["departure"], makers["departure"], extra = _times(chance, options["period"], parquet=parquet)
    options |= extra
    areas = chance.random() < 0.5
    for end in ("origin", "destination"):
        if chance.random() < 0.3:
            options[end] = (f"{end}_x", f"{end}_y")
            options["max_zone_distance_km"] = 8.0
            if areas:
                options |= {"areas": True, "max_zone_distance_km": chance.choice([0.5, 4.0])}
            for column, axis in zip(options[end], (_longitude, _latitude), strict=True):
                kinds[column], makers[column] = _degrees(chance, axis, parquet=parquet)
        else:
            kinds[end], makers[end] = _zones(chance, parquet=parquet)
    kinds["user"], makers["user"] = _ids(chance, parquet=parquet)
    unit = chance.choice(["request", "request", "user", "user-day"])
    if unit != "request":
        options |= {"unit": unit, "max_requests": chance.randint(1, 3)}
        if chance.random() < 0.5:
            options["max_per_pair"] = 1
    if chance.random() < 0.3:
        options["weekdays"] = chance.choice(["mon-fri", "sat,sun", "fri"])
    if parquet:
        _add_idle_columns(chance, kinds, makers)
        return Layout("parquet", kinds, makers, options)
    ending = chance.choice(["csv", "csv.gz", "tsv", "csv.zst"])
    return Layout(ending, {}, makers, options, chance.choice([b",", b";", b"\t", b"|"]))


def draw_rows(chance: random.Random, layout: Layout, number: int) -> list[Row]:
    """Rows for a layout, among them equal ones."""
    rows = [_row(chance, layout) for _ in range(number)]
    return rows + [chance.choice(rows) for _ in range(number // 4)]


def users_of(rows: list[Row], row: Row) -> list[Row]:
    """The rows that may belong to the same user as `row`: those with the same id, however it is spelt."""
    return [other for other in rows if _spelt(other["user"]) == _spelt(row["user"])]


def _spelt(value: Any) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return canonical_id(text.strip().strip('"'))


def _row(chance: random.Random, layout: Layout) -> Row:
    row = {column: make(chance) for column, make in layout.makers.items()}
    if layout.kinds:
        return row
    cells = [_cell(chance, row[column], layout.delimiter) for column in layout.makers]
    if chance.random() < ODD:
        cells = cells[: chance.randrange(len(cells))] + [chance.choice(BROKEN), b'"'] * chance.randrange(2)
    end = chance.choice([b"\n", b"\n", b"\r\n", b"\r", b"\n\n"])
    return {"user": row["user"], "line": layout.delimiter.join(cells) + end}


def _cell(chance: random.Random, value: Any, delimiter: bytes) -> bytes:
    text = b"" if value is None else value if isinstance(value, bytes) else str(value).encode()
    if chance.random() < ODD / 4:
        return chance.choice([b'"', b'"open', b'close"', b'a"b', b'"a"b', b'"a' + delimiter + b'b"', b'""'])
    if chance.random() < 0.2:
        return b'"' + text.replace(b'"', b'""') + b'"'
    return text


def write(folder: Path, chance: random.Random, layout: Layout, rows: list[Row]) -> list[Path]:
    """Files of these rows, in this order, split anywhere."""
    cuts = sorted(chance.randrange(len(rows) + 1) for _ in range(chance.choice([0, 0, 1, 2])))
    parts = [rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    paths = []
    for number, part in enumerate(parts):
        path = folder / f"part{number}.{layout.ending}"
        path.unlink(missing_ok=True)
        (_write_parquet if layout.kinds else _write_csv)(path, chance, layout, part)
        paths.append(path)
    return paths


def _write_csv(path: Path, chance: random.Random, layout: Layout, rows: list[Row]) -> None:
    header = layout.delimiter.join(column.encode() for column in layout.makers) + chance.choice([b"\n", b"\r\n"])
    with pa.output_stream(str(path), compression="detect") as stream:
        stream.write(header + b"".join(row["line"] for row in rows))


def _write_parquet(path: Path, chance: random.Random, layout: Layout, rows: list[Row]) -> None:
    columns = {column: as_column([row[column] for row in rows], kind) for column, kind in layout.kinds.items()}
    dictionary = chance.random() < 0.5
    plain_times = all(not pa.types.is_timestamp(kind) or kind.unit != "ns" for kind in layout.kinds.values())
    pq.write_table(
        pa.table(columns),
        path,
        compression=chance.choice(["none", "snappy", "gzip", "zstd", "brotli", "lz4"]),
        use_dictionary=dictionary,
        row_group_size=chance.choice([1, 2, 3, 7, 1000]),
        data_page_size=chance.choice([1, 64, 2**20]),
        data_page_version=chance.choice(["1.0", "2.0"]),
        version=chance.choice(["1.0", "2.4", "2.6"]) if plain_times else "2.6",
        write_statistics=chance.random() < 0.5,
    )


def as_column(values: list[Any], kind: Any) -> Any:
    """An array of any type, texts from bytes that need not be UTF-8."""
    if pa.types.is_dictionary(kind):
        return as_column(values, kind.value_type).dictionary_encode().cast(kind)
    if pa.types.is_timestamp(kind):
        if kind.unit == "s":  # Parquet has no seconds: written as milliseconds
            values = [None if value is None else max(-(10**15), min(value, 10**15)) for value in values]
        return pa.array(values, pa.int64()).cast(kind)
    if kind in (pa.string(), pa.large_string(), pa.string_view()):
        raw = pa.array(values, pa.large_binary() if kind == pa.large_string() else pa.binary())
        text = pa.Array.from_buffers(pa.string() if kind == pa.string_view() else kind, len(raw), raw.buffers())
        return text.cast(kind)
    if kind == pa.uuid():
        return pa.ExtensionArray.from_storage(kind, pa.array(values, pa.binary(16)))
    return pa.array(values, kind)


def _text_kind(chance: random.Random) -> Any:
    kinds = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
    return chance.choice(kinds)


def _or_odd(make: Callable[[random.Random], Any], odd: list[Any], often: float = ODD) -> Callable[[random.Random], Any]:
    odd = [*odd, *[None] * max(1, len(odd))]
    return lambda chance: chance.choice(odd) if chance.random() < often else make(chance)


def _moments(period: tuple[str, str], zone: str | None) -> Callable[[random.Random], int]:
    """Nanoseconds since 1970, by the clock or (with a zone) in UTC: on or near an end of the period on a day."""

    def moment(chance: random.Random) -> int:
        local = dt.datetime.fromisoformat(chance.choice(DAYS)) + dt.timedelta(hours=chance.choice(PERIODS[period]))
        ahead = local.replace(tzinfo=ZoneInfo(zone)).utcoffset() if zone else None
        at = local - (ahead or dt.timedelta(0)) - dt.datetime(1970, 1, 1)  # noqa: DTZ001 - clock time
        return at // dt.timedelta(seconds=1) * 10**9 + chance.choice(NEAR_NS)

    return moment


def _times(
    chance: random.Random, period: tuple[str, str], *, parquet: bool
) -> tuple[Any, Callable[[random.Random], Any], dict[str, Any]]:
    form = chance.choice(["naive", "aware", "text", "epoch", "format"] if parquet else ["text", "epoch", "format"])
    zone = {"tz": chance.choice(["Europe/Berlin", "UTC", "America/New_York"])}
    moment = _moments(period, zone["tz"] if form in ("aware", "epoch") else None)
    if form in ("naive", "aware"):
        unit = chance.choice([*PER_SECOND, "ns", "ns"])
        kind = pa.timestamp(unit, "UTC" if form == "aware" else None)
        return kind, _or_odd(lambda c: moment(c) * PER_SECOND[unit] // 10**9, FAR), zone if form == "aware" else {}
    if form == "epoch":
        unit = chance.choice(list(PER_SECOND))
        kind = chance.choice([pa.int64(), pa.uint64(), pa.float64(), pa.string()]) if parquet else pa.string()

        def number(c: random.Random) -> Any:
            value = moment(c) * PER_SECOND[unit] / 10**9
            whole = moment(c) * PER_SECOND[unit] // 10**9
            if kind == pa.float64():
                return value
            return f"{whole if c.random() < 0.7 else value}".encode() if kind == pa.string() else whole

        odd: dict[Any, list[Any]] = {pa.string(): BROKEN, pa.float64(): [float("nan"), float("inf"), 1e300, -1e300]}
        return kind, _or_odd(number, odd.get(kind, [2**63 - 1, 0])), zone | {"epoch_unit": unit}
    if form == "format":
        options = {"time_format": chance.choice(["%d.%m.%Y %H:%M:%S.%n", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M:%S%%n"])}
        nanos = options["time_format"].endswith(".%n")
        sign = "%n" if options["time_format"].endswith("%%n") else ""

        def spelt(c: random.Random) -> bytes:
            at = moment(c)
            text = _clock(at).strftime("%d.%m.%Y %H:%M:%S")
            return (f"{text}.{at % 10**9:09d}" if nanos else text + sign).encode()

        far = f"01.01.9999 00:00:00{sign}".encode()
        return _text_kind(chance) if parquet else pa.string(), _or_odd(spelt, [*BROKEN, far]), options

    def iso(c: random.Random) -> bytes:
        at = moment(c)
        digits = c.choice([0, 3, 6, 7, 9])
        text = _clock(at).strftime(c.choice(["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"]))
        text += f".{at % 10**9:09d}"[: digits + 1] if digits else ""
        return (text + c.choice(["", "", "", "", "Z", "+02:00", "-0400", "+31:00"])).encode()

    return _text_kind(chance) if parquet else pa.string(), _or_odd(iso, BROKEN), chance.choice([{}, zone])


def _clock(at_ns: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=at_ns // 10**9)  # noqa: DTZ001 - clock time


def _zones(chance: random.Random, *, parquet: bool) -> tuple[Any, Callable[[random.Random], Any]]:
    if not parquet:
        return pa.string(), _or_odd(lambda c: c.choice(LABELS).encode(), BROKEN)
    kind = chance.choice(
        [
            pa.int8(),
            pa.int64(),
            pa.uint64(),
            pa.float16(),
            pa.float64(),
            pa.decimal128(20, 2),
            pa.null(),
            *[_text_kind(chance) for _ in range(4)],
        ]
    )
    if pa.types.is_null(kind):
        return kind, lambda _: None
    if pa.types.is_decimal(kind):
        return kind, _or_odd(
            lambda c: decimal.Decimal(c.choice([1, 2, 9])), [decimal.Decimal("1.5"), decimal.Decimal(10**17)]
        )
    if pa.types.is_floating(kind):
        return kind, _or_odd(lambda c: float(c.choice([1, 2, 9])), [1.5, float("nan"), float("inf"), -0.0])
    if pa.types.is_integer(kind):
        return kind, _or_odd(lambda c: c.choice([1, 2, 9]), [2**64 - 1] if kind == pa.uint64() else [127, 0])
    return kind, _or_odd(lambda c: c.choice(LABELS).encode(), BROKEN)


def _longitude(chance: random.Random) -> float:
    return chance.choice([13.4, *[13.45] * 6, 13.5, 13.4 + chance.random() / 10])


def _latitude(chance: random.Random) -> float:
    return chance.choice([52.5, 52.6, 52.55, 52.5 + chance.random() / 10, *[52.5 + chance.random() / 100] * 3])


def _degrees(
    chance: random.Random, axis: Callable[[random.Random], float], *, parquet: bool
) -> tuple[Any, Callable[[random.Random], Any]]:
    odd = [float("nan"), float("inf"), 1e300, -181.0, 0.0]
    kind = chance.choice([pa.float64(), pa.float64(), pa.float32(), pa.string()]) if parquet else pa.string()
    if kind == pa.string():
        return kind, _or_odd(lambda c: repr(axis(c)).encode(), [*BROKEN, b"13,45", b"1e999"])
    return kind, _or_odd(axis, odd)


def _ids(chance: random.Random, *, parquet: bool) -> tuple[Any, Callable[[random.Random], Any]]:
    if not parquet:
        return pa.string(), _or_odd(lambda c: c.choice(USERS).encode(), BROKEN)
    kind = chance.choice([pa.int64(), pa.float64(), pa.uuid(), *[_text_kind(chance) for _ in range(3)]])
    if kind == pa.uuid():
        return kind, _or_odd(lambda c: uuid.UUID(int=c.randint(1, 3)).bytes, [])
    if kind == pa.int64():
        return kind, _or_odd(lambda c: c.randint(1, 3), FAR)
    if kind == pa.float64():
        return kind, _or_odd(lambda c: float(c.randint(1, 3)), [1.5, float("nan"), float("inf")])
    return kind, _or_odd(lambda c: c.choice(USERS).encode(), BROKEN)


def _add_idle_columns(chance: random.Random, kinds: dict[str, Any], makers: dict[str, Callable[..., Any]]) -> None:
    """Columns that nobody asked for, of types that could not be read."""
    idle: list[tuple[Any, Callable[[random.Random], Any]]] = [
        (pa.list_(pa.int8()), lambda c: [c.randrange(9)] * c.randrange(3)),
        (pa.struct([("origin", pa.int8())]), lambda c: {"origin": c.randrange(9)}),
        (pa.bool_(), lambda c: c.random() < 0.5),
        (pa.null(), lambda _: None),
        (pa.string(), lambda c: c.choice(BROKEN)),
    ]
    for number in range(chance.randrange(3)):
        kinds[f"idle{number}"], makers[f"idle{number}"] = chance.choice(idle)
