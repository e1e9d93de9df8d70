"""Random trip files, row by row: every type, encoding and layout that a file may have, and values that try to break it.

A `Layout` is what a schema fixes: the kind of file and the type of each column, with the options of `read_trips` that
belong to it. A row is a mapping from columns to values of these types. `row_files.write` makes files of rows.
"""

from __future__ import annotations

import datetime as dt
import decimal
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
from tests.history.row_files import TALLY
from tests.reference.user_ids import canonical_id

__all__ = ["Layout", "Row", "draw_layout", "draw_rows", "users_of"]

Row = dict[str, Any]
Make = Callable[[random.Random], Any]

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
    b"infinity",
    b"-9223372036854775809",
    b"9" * 200,
    b"1e400",
    b"x" * 300,
    b"x" * 70_000,
]
FAR = [2**63 - 1, -(2**63), 0, -1, 2**62, 2**53 + 1]
LABELS = ["1", "2", "a b", "1", "2", "a b", "1.0", "007", "9", " 1 "]
USERS = ["u1", "u2", "u3", "7", "7.0", "+07", "u1\u00a0", "7e+00", "y" * 300, " " + "y" * 300, "1", "2"]
USERS += [f"{{{uuid.UUID(int=1)}}}", uuid.UUID(int=2).hex.upper()]
DAYS = ["2026-03-26", "2026-03-27", "2026-03-28", "2026-03-29", "2026-03-30", "2026-03-31"]
NEAR_NS = [0, 0, -1, -1, -1, 1, -999, 499, 500, -500, -501, 1000, -1000, 10**6, -(10**6), -(10**9)]
NEAR_NS += [1800 * 10**9, 600 * 10**9]
ZONES = ["Europe/Berlin", "UTC", "America/New_York", "America/St_Johns", "Asia/Kolkata", "Australia/Lord_Howe"]
PERIODS: list[tuple[Any, list[float]]] = [
    (("07:00", "08:00"), [7, 8]),
    (("07:00", "08:00"), [7, 8]),
    (("22:00", "02:00"), [22, 2]),
    (("00:00", "24:00"), [0, 12]),
    (("02:00", "03:30"), [2, 3.5, 3]),
    (["06:00-08:00/60min", "22:00-01:00"], [6, 7, 8, 22, 1]),
]
ODD = 0.08  # share of odd values in a column


@dataclass(frozen=True)
class Layout:
    """What is the same for all rows: `kinds` {column: Arrow type} for Parquet, empty for CSV; options of read_trips.

    others : layouts of other files that are read together with these
    int96, stored, twice : of Parquet: the oldest type of times; whether the file has the schema of Arrow; a column that
        is there twice
    """

    ending: str
    kinds: dict[str, Any]
    makers: dict[str, Make]
    options: dict[str, Any]
    hours: tuple[float, ...]
    delimiter: bytes = b","
    others: tuple[Layout, ...] = ()
    int96: bool = False
    stored: bool = True
    twice: str = ""


def draw_layout(chance: random.Random) -> Layout:
    """A kind of file, types of columns, and options that fit them; sometimes with files of another kind beside them."""
    layout = _one_layout(chance, None)
    if chance.random() < 0.25:
        layout = replace(layout, others=(_one_layout(chance, layout),))
    for each in (layout, *layout.others):
        for column, kind in each.kinds.items():
            TALLY[f"parquet {'idle' if column.startswith('idle') else column.split('_')[0]}: {kind}"] += 1
        for column in () if each.kinds else each.makers:
            TALLY[f"text {column.split('_')[0]}"] += 1
    for name, value in layout.options.items():
        TALLY[f"option {name}: {value}"] += 1
    TALLY["unit request" if "unit" not in layout.options else "unit of users"] += 1
    TALLY["kinds of files in a reading: " + str(1 + len(layout.others))] += 1
    return layout


def _one_layout(chance: random.Random, like: Layout | None) -> Layout:
    """A layout; with `like` one with the same options."""
    parquet = chance.random() < 0.6
    kinds: dict[str, Any] = {}
    makers: dict[str, Make] = {}
    period, hours = chance.choice(PERIODS) if like is None else (like.options["period"], like.hours)
    options: dict[str, Any] = {"period": period}
    times = (
        {name: like.options[name] for name in ("tz", "epoch_unit", "time_format") if name in like.options}
        if like
        else {}
    )
    while True:
        kinds["departure"], makers["departure"], extra = _times(chance, hours, parquet=parquet)
        if like is None or extra == times:
            break
    options |= extra
    areas = chance.random() < 0.5
    for end in ("origin", "destination"):
        if end in like.options if like else chance.random() < 0.3:
            options[end] = (f"{end}_x", f"{end}_y")
            options["max_zone_distance_km"] = 8.0
            if areas:
                options |= {"areas": True, "max_zone_distance_km": chance.choice([0.5, 4.0])}
            for column, axis in zip(options[end], (_longitude, _latitude), strict=True):
                kinds[column], makers[column] = _degrees(chance, axis, parquet=parquet)
        else:
            kinds[end], makers[end] = _zones(chance, parquet=parquet)
    kinds["user"], makers["user"] = _ids(chance, parquet=parquet)
    options = dict(like.options) if like else options | _days_and_bounds(chance, several=isinstance(period, list))
    if "weight" in options:
        kinds["load"], makers["load"] = _weights(chance, parquet=parquet)
    if parquet:
        idle = _add_idle_columns(chance, kinds, makers)
        int96 = pa.types.is_timestamp(kinds["departure"]) and chance.random() < 0.2
        twice = idle[0] if idle and chance.random() < 0.2 else ""
        stored = chance.random() < 0.8
        return Layout("parquet", kinds, makers, options, tuple(hours), int96=int96, stored=stored, twice=twice)
    ending = chance.choice(["csv", "csv.gz", "tsv", "csv.zst", "txt"])
    return Layout(ending, {}, makers, options, tuple(hours), chance.choice([b",", b";", b"\t", b"|"]))


def _days_and_bounds(chance: random.Random, *, several: bool) -> dict[str, Any]:
    """Which days count, and what is kept of users."""
    options: dict[str, Any] = {}
    unit = chance.choice(["request", "request", "user", "user-day"])
    if unit != "request":
        options |= {"unit": unit, "max_requests": chance.randint(1, 3)}
        if chance.random() < 0.5:
            options["max_per_pair"] = 1
        if chance.random() < 0.3:
            options["bounds"] = {
                "max_for_total": chance.randint(3, 5),
                "each_period": several and chance.random() < 0.5,
            }
    if "bounds" not in options and chance.random() < 0.2:
        most = options.get("max_per_pair", options.get("max_requests", 5))
        per = chance.choice([1.0, 0.1, 2.5])
        options |= {"weight": "load", "weight_unit": per, "max_weight": chance.randint(1, most)}
    if chance.random() < 0.3:
        options["weekdays"] = chance.choice(["mon-fri", "sat,sun", "fri"])
    elif chance.random() < 0.2:
        options["day_types"] = {"workday": "mon-fri", "weekend": "sat,sun,holidays"}
    if chance.random() < 0.2 and options.get("weekdays") != "fri":
        options["holidays"] = ["2026-03-27", "2026-03-28"][: chance.randint(1, 2)]
    return options


def draw_rows(chance: random.Random, layout: Layout, number: int) -> list[Row]:
    """Rows for a layout, among them equal ones."""
    rows = [_row(chance, layout) for _ in range(number)]
    return rows + [chance.choice(rows) for _ in range(number // 4)]


def users_of(rows: list[Row], row: Row) -> list[Row]:
    """The rows that may belong to the same user as `row`: those with the same id, however it is spelt."""
    return [other for other in rows if _spelt(other["user"]) == _spelt(row["user"])]


def _spelt(value: Any) -> str:
    if isinstance(value, bytes) and len(value) == 16 and not any(value[:15]):  # of _ids
        return str(uuid.UUID(bytes=value))
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return canonical_id(text.strip().strip('"'))


def _row(chance: random.Random, whole: Layout) -> Row:
    at = chance.randrange(1 + len(whole.others))
    layout = [whole, *whole.others][at]
    row = {column: make(chance) for column, make in layout.makers.items()}
    if layout.kinds:
        return row | {"layout": at}
    cells = {column: _cell(chance, row[column], layout.delimiter) for column in layout.makers}
    listed = list(cells.values())
    if chance.random() < ODD:
        listed = listed[: chance.randrange(len(listed))] + [chance.choice(BROKEN), b'"'] * chance.randrange(2)
    if chance.random() < 0.002:
        listed[:1] = [b"x" * 5_000_000]
    end = chance.choice([b"\n", b"\n", b"\r\n", b"\r", b"\n\n"])
    return {"user": cells["user"], "line": layout.delimiter.join(listed) + end, "layout": at}


def _cell(chance: random.Random, value: Any, delimiter: bytes) -> bytes:
    text = b"" if value is None else value if isinstance(value, bytes) else str(value).encode()
    if chance.random() < ODD / 4:
        return chance.choice([b'"', b'"open', b'close"', b'a"b', b'"a"b', b'"a' + delimiter + b'b"', b'""'])
    if chance.random() < 0.2:
        return b'"' + text.replace(b'"', b'""') + b'"'
    return text


def _text_kind(chance: random.Random) -> Any:
    plain = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
    narrow = pa.dictionary(pa.int8(), chance.choice([pa.string(), pa.large_string(), pa.binary()]))
    return chance.choice([*plain, narrow, pa.dictionary(pa.int32(), pa.string())])


def _or_odd(make: Make, odd: list[Any], often: float = ODD) -> Make:
    odd = [*odd, *[None] * max(1, len(odd))]
    return lambda chance: chance.choice(odd) if chance.random() < often else make(chance)


def _moments(hours: Any, zone: str | None) -> Callable[[random.Random], int]:
    """Nanoseconds since 1970, by the clock or (with a zone) in UTC: on or near an end of the period on a day."""

    def moment(chance: random.Random) -> int:
        local = dt.datetime.fromisoformat(chance.choice(DAYS)) + dt.timedelta(hours=chance.choice(hours))
        ahead = local.replace(tzinfo=ZoneInfo(zone)).utcoffset() if zone else None
        at = local - (ahead or dt.timedelta(0)) - dt.datetime(1970, 1, 1)  # noqa: DTZ001 - clock time
        return at // dt.timedelta(seconds=1) * 10**9 + chance.choice(NEAR_NS)

    return moment


def _times(chance: random.Random, hours: Any, *, parquet: bool) -> tuple[Any, Make, dict[str, Any]]:
    form = chance.choice(["naive", "aware", "text", "epoch", "format"] if parquet else ["text", "epoch", "format"])
    zone = {"tz": chance.choice(ZONES)}
    moment = _moments(hours, zone["tz"] if form in ("aware", "epoch") else None)
    if form in ("naive", "aware"):
        unit = chance.choice([*PER_SECOND, "ns", "ns"])
        kind = pa.timestamp(unit, chance.choice(["UTC", "Asia/Tokyo", "-03:30"]) if form == "aware" else None)
        return kind, _or_odd(lambda c: moment(c) * PER_SECOND[unit] // 10**9, FAR), zone if form == "aware" else {}
    if form == "epoch":
        unit = chance.choice(list(PER_SECOND))
        return *_epochs(chance, moment, unit, parquet=parquet), zone | {"epoch_unit": unit}
    if form == "format":
        options = {"time_format": chance.choice(["%d.%m.%Y %H:%M:%S.%n", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M:%S%%n"])}
        nanos = options["time_format"].endswith(".%n")
        sign = "%n" if options["time_format"].endswith("%%n") else ""

        def spelt(c: random.Random) -> bytes:
            at = moment(c)
            text = _clock(at).strftime("%d.%m.%Y %H:%M:%S")
            return (f"{text}.{at % 10**9:09d}" if nanos else text + sign).encode()

        far = f"01.01.9999 00:00:00{'.000000001' if nanos else sign}".encode()
        return _text_kind(chance) if parquet else pa.string(), _or_odd(spelt, [*BROKEN, far]), options

    def iso(c: random.Random) -> bytes:
        at = moment(c)
        digits = c.choice([0, 3, 6, 7, 9])
        text = _clock(at).strftime(c.choice(["%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"]))
        text += f".{at % 10**9:09d}"[: digits + 1] if digits else ""
        return (text + c.choice(["", "", "", "", "Z", "+02:00", "-0400", "+31:00"])).encode()

    return _text_kind(chance) if parquet else pa.string(), _or_odd(iso, BROKEN), chance.choice([{}, zone])


def _epochs(
    chance: random.Random, moment: Callable[[random.Random], int], unit: str, *, parquet: bool
) -> tuple[Any, Make]:
    numbers = [pa.int64(), pa.uint64(), pa.float64(), pa.decimal128(30, 3), pa.string()]
    kind = chance.choice(numbers) if parquet else pa.string()

    def number(c: random.Random) -> Any:
        value = moment(c) * PER_SECOND[unit] / 10**9
        whole = moment(c) * PER_SECOND[unit] // 10**9
        if kind == pa.float64():
            return value
        if pa.types.is_decimal(kind):
            return decimal.Decimal(whole) + decimal.Decimal(c.choice(["0", "0.001", "0.999"]))
        return f"{whole if c.random() < 0.7 else value}".encode() if kind == pa.string() else whole

    odd: dict[Any, list[Any]] = {
        pa.string(): BROKEN,
        pa.float64(): [float("nan"), float("inf"), 1e300, -1e300],
        pa.int64(): FAR,
        pa.uint64(): [2**64 - 1, 2**63, 0],
    }
    return kind, _or_odd(number, odd.get(kind, [decimal.Decimal(10**26), decimal.Decimal(-(10**26))]))


def _clock(at_ns: int) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=at_ns // 10**9)  # noqa: DTZ001 - clock time


def _zones(chance: random.Random, *, parquet: bool) -> tuple[Any, Make]:
    if not parquet:
        return pa.string(), _or_odd(lambda c: c.choice(LABELS).encode(), BROKEN)
    kind = chance.choice(
        [_number_kind(chance), _number_kind(chance), pa.null(), *[_text_kind(chance) for _ in range(4)]]
    )
    return kind, _numbers(kind, [1, 2, 9]) or _or_odd(lambda c: c.choice(LABELS).encode(), BROKEN)


def _number_kind(chance: random.Random) -> Any:
    whole = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    decimals = [pa.decimal32(6, 2), pa.decimal64(12, 2), pa.decimal128(20, 2), pa.decimal256(50, 2)]
    return chance.choice([chance.choice(whole), pa.float16(), pa.float32(), pa.float64(), chance.choice(decimals)])


def _numbers(kind: Any, usual: list[int]) -> Make | None:
    """Values of a type of numbers, or of nothing; None for other types."""
    if pa.types.is_null(kind):
        return lambda _: None
    if pa.types.is_decimal(kind):
        far = decimal.Decimal(10) ** (kind.precision - kind.scale - 1)
        return _or_odd(lambda c: decimal.Decimal(c.choice(usual)), [decimal.Decimal("1.5"), far, -far])
    if pa.types.is_floating(kind):
        return _or_odd(lambda c: float(c.choice(usual)), [1.5, float("nan"), float("inf"), -0.0, -float("inf")])
    if pa.types.is_integer(kind):
        most = 2 ** (kind.bit_width - pa.types.is_signed_integer(kind)) - 1
        return _or_odd(
            lambda c: c.choice(usual), [most, 0, -most - 1 if pa.types.is_signed_integer(kind) else most - 1]
        )
    return None


def _longitude(chance: random.Random) -> float:
    return chance.choice([13.4, *[13.45] * 6, 13.5, 13.4 + chance.random() / 10])


def _latitude(chance: random.Random) -> float:
    return chance.choice([52.5, 52.6, 52.55, 52.5 + chance.random() / 10, *[52.5 + chance.random() / 100] * 3])


def _degrees(chance: random.Random, axis: Callable[[random.Random], float], *, parquet: bool) -> tuple[Any, Make]:
    kinds = [
        pa.float64(),
        pa.float64(),
        pa.float64(),
        pa.float32(),
        pa.decimal128(12, 6),
        pa.int64(),
        _text_kind(chance),
    ]
    kind = chance.choice(kinds) if parquet else pa.string()
    if pa.types.is_decimal(kind):
        return kind, _or_odd(lambda c: decimal.Decimal(f"{axis(c):.6f}"), [decimal.Decimal(-181)])
    if pa.types.is_floating(kind):
        return kind, _or_odd(axis, [float("nan"), float("inf"), 1e30, -181.0, 0.0])
    if pa.types.is_integer(kind):
        return kind, _or_odd(lambda c: round(axis(c)), FAR)
    return kind, _or_odd(lambda c: repr(axis(c)).encode(), [*BROKEN, b"13,45", b"1e999"])


def _ids(chance: random.Random, *, parquet: bool) -> tuple[Any, Make]:
    if not parquet:
        return pa.string(), _or_odd(lambda c: c.choice(USERS).encode(), BROKEN)
    kind = chance.choice([pa.int64(), _number_kind(chance), pa.uuid(), *[_text_kind(chance) for _ in range(3)]])
    if kind == pa.uuid():
        return kind, _or_odd(lambda c: uuid.UUID(int=c.randint(1, 3)).bytes, [])
    return kind, _numbers(kind, [1, 2, 3]) or _or_odd(lambda c: c.choice(USERS).encode(), BROKEN)


def _weights(chance: random.Random, *, parquet: bool) -> tuple[Any, Make]:
    """Fractions of units, ties of rounding among them."""
    kind = chance.choice([_number_kind(chance), pa.float64(), _text_kind(chance)]) if parquet else pa.string()
    if pa.types.is_floating(kind):
        odd = [float("nan"), float("inf"), -1.0, -0.0, 1e4]
        return kind, _or_odd(lambda c: c.choice([0.0, 0.05, 0.25, 1.25, 2.5, 3.75, 5.0]), odd)
    texts = [b"0.05", b"1.25", b"2", b" 3.75 ", b"-0", b"1e0", b"5."]
    return kind, _numbers(kind, [0, 1, 2, 5]) or _or_odd(lambda c: c.choice(texts), BROKEN)


def _add_idle_columns(chance: random.Random, kinds: dict[str, Any], makers: dict[str, Make]) -> list[str]:
    """Columns that nobody asked for, of types that could not be read; their names."""
    idle: list[tuple[Any, Make]] = [
        (pa.list_(pa.int8()), lambda c: [c.randrange(9)] * c.randrange(3)),
        (pa.struct([("origin", pa.int8()), ("user", pa.string())]), lambda c: {"origin": c.randrange(9)}),
        (pa.map_(pa.string(), pa.list_(pa.float64())), lambda c: [("departure", [c.random()])] * c.randrange(2)),
        (pa.bool_(), lambda c: c.random() < 0.5),
        (pa.null(), lambda _: None),
        (pa.date32(), lambda c: c.randrange(2**20)),
        (pa.duration("us"), lambda c: c.randrange(2**40)),
        (pa.binary(16), lambda c: bytes(c.randrange(256) for _ in range(16))),
        (pa.string(), lambda c: c.choice(BROKEN)),
    ]
    names = [f"idle{number}" for number in range(chance.randrange(3))]
    for name in names:
        kinds[name], makers[name] = chance.choice(idle)
    return names
