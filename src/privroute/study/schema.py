"""The keys of a study: one table, from which study files, command-line flags, help and errors come.

    study file      [calendar]                 flag       --tz Europe/Berlin
                    time_zone = "..."          setting    --set calendar.time_zone=Europe/Berlin
    Python          read_trips(..., tz=...)    error      calendar.time_zone | --tz | tz

Options of a mechanism are the fields of its class in privroute.study.mechanisms.
"""

from __future__ import annotations

import datetime as dt
import math
import tomllib
from dataclasses import dataclass, fields
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin, get_type_hints

from privroute.errors import InputError, named
from privroute.network.checks import show
from privroute.network.display_units import TIME_UNITS
from privroute.network.gmns import KM_PER_UNIT, KPH_PER_UNIT
from privroute.network.network import LatencyKind
from privroute.network.pairs import OnUnreachable
from privroute.network.tntp import TimeUnit
from privroute.study.guarantee import UNITS
from privroute.study.mechanisms import MANY_PAIRS, MECHANISMS
from privroute.study.trip_format import EpochUnit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BY_ARGUMENT", "KEYS", "SECTIONS", "Key", "Kind"]

QUALITY_SHARE = 0.05
"""Of rho, spent on measuring how useful a release is."""

LARGEST_SHARE = 0.45
"""Of rho, for each of these two."""

TOTAL_SHARE = 0.02
"""Of rho, spent on measuring the total where users are bounded and that is asked for."""

DAYS_SHARE = 0.02
"""Of rho, spent on measuring how much the days' totals vary where the objective is all days."""

SECTIONS = {
    "network": "Network: a file of OpenStreetMap, OSMnx, TNTP, SNDlib or Topology Zoo, a GMNS folder, or sioux-falls "
    "(built in).",
    "latency": "Latency curves by link type. Without this section: as network.latency and the network's file say.",
    "units": "What traffic and times are called and in what units they are shown. Without this section: as the "
    "network's file says, which is vehicles and minutes for roads, Mbit/s and ms for data networks.",
    "zones": "Zones between which trips are counted. Without this section: those of the network.",
    "calendar": "Days and hours. Public: never taken from the days found in the data.",
    "unit": "Privacy unit: what is protected.",
    "data": "Relation of the data to the traffic.",
    "guarantee": "Strength of the privacy guarantee.",
    "mechanism": "Where noise is added, and options of the mechanism.",
    "quality": "Measurement of how useful the release is, on the trips, under the same guarantee.",
    "trips": "Columns and formats of trip files.",
}


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of a key.

    read : what a study file holds -> the value; parse : a text of the command line -> the value. Both raise ValueError
    wanted : what to write instead, in words; choices : all values, where they can be listed
    """

    read: Callable[[Any], Any]
    parse: Callable[[str], Any]
    wanted: str
    metavar: str
    choices: tuple[str, ...] = ()


def _of_type(*types: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) not in types:
            raise ValueError
        return value

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError
    value.encode()  # a text with lone surrogates is none, and UnicodeEncodeError is a ValueError
    return value


def _number(value: Any) -> float:
    number = _of_type(int, float)(value)
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _date(value: Any) -> dt.date:
    return dt.date.fromisoformat(value) if isinstance(value, str) else _of_type(dt.date)(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError
    return tuple(_text(item) for item in value)


def _dates(value: Any) -> tuple[dt.date, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError
    return tuple(sorted({_date(item) for item in value}))


def _days_by_name(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not value:
        raise ValueError
    return {_text(name): _text(days) for name, days in value.items()}


def _weights(value: Any) -> dict[str, float]:
    if not isinstance(value, dict) or not value:
        raise ValueError
    return {_text(name): _number(weight) for name, weight in value.items()}


def _named(text: str) -> dict[str, str]:
    """Texts by name: name=text;name=text."""
    parts = [part.partition("=") for part in text.split(";")]
    if not all(equals for _, equals, _ in parts):
        raise ValueError
    return {name.strip(): value.strip() for name, _, value in parts}


def _columns(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return _text(value)
    found = _texts(value)
    if len(found) != len(("longitude", "latitude")):
        raise ValueError
    return found


def _yes_no(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError
    return text.lower() == "true"


def _split(text: str) -> str | tuple[str, ...]:
    return _columns(text.split(",")) if "," in text else _text(text)


def _listed(text: str) -> tuple[str, ...]:
    """One text, or a list of them as a study file writes it."""
    return _texts(tomllib.loads(f"list = {text}")["list"]) if text.startswith("[") else (_text(text),)


TEXT = Kind(_text, _text, "write a text", "TEXT")
PATH = Kind(_text, _text, "write a path", "PATH")
NUMBER = Kind(_number, float, "pass a number", "NUMBER")
WHOLE = Kind(_of_type(int), int, "pass a whole number", "N")
YES_NO = Kind(_of_type(bool), _yes_no, "write true or false", "true|false")
DATE = Kind(_date, _date, "write a date like 2026-03-02", "DATE")
DATES = Kind(
    _dates, lambda text: _dates(text.split(",")), "write a list of dates, like [2026-04-03, 2026-04-06]", "DATE,..."
)
DAYS_BY_NAME = Kind(
    _days_by_name,
    lambda text: _days_by_name(_named(text)),
    'write names and weekdays, like {workday = "mon-fri", weekend = "sat,sun"}',
    "NAME=DAYS;...",
)
WEIGHTS = Kind(
    _weights,
    lambda text: _weights({name: float(weight) for name, weight in _named(text).items()}),
    'write periods or kinds of days and numbers, like {"07:00-08:00" = 2.0}',
    "PERIOD=NUMBER;...",
)
PERIODS = Kind(_texts, _listed, 'write a list of start and end, like ["07:00-08:00"]', "START-END")
COLUMNS = Kind(_columns, _split, "write a column, or two: longitude, latitude", "COLUMN|LON,LAT")


def _choice(*choices: str) -> Kind:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    quoted = [f'"{choice}"' for choice in choices]
    return Kind(read, read, f"pass {', '.join(quoted[:-1])} or {quoted[-1]}", "|".join(choices), choices)


@dataclass(frozen=True, slots=True)
class Key:
    """One setting of a study.

    section, name : where it stands in a study file
    help : a sentence; default : what holds where nothing is said, for the help; example : for the file of `init`
    required : when it must be set, as a sentence
    arguments : what functions call it, the usual one first; flag : what the command line calls it
    owners : mechanisms to which it belongs
    """

    section: str
    name: str
    kind: Kind
    help: str
    arguments: tuple[str, ...] = ()
    flag: str = ""
    default: Any = None
    example: Any = None
    owners: tuple[str, ...] = ()
    required: str = ""

    def __post_init__(self) -> None:
        if not self.arguments:
            object.__setattr__(self, "arguments", (self.name,))
        if not self.flag:
            object.__setattr__(self, "flag", f"--{self.name.replace('_', '-')}")

    @property
    def id(self) -> str:
        """The key as --set and errors spell it."""
        return f"{self.section}.{self.name}"

    @property
    def about(self) -> str:
        """What study files and the documentation say of it: help, whether it is required, allowed values, default."""
        allowed = f"Allowed: {', '.join(self.kind.choices)}." if self.kind.choices else ""
        default = "" if self.default is None or "Default:" in self.help else f"Default: {self.default}."
        return " ".join(part for part in (self.help, self.required, allowed, default) if part)

    def read(self, value: object) -> Any:
        """The value that stands in a study file."""
        return self._checked(self.kind.read, value)

    def take(self, value: object) -> Any:
        """A value that was given instead: a text as on the command line, or as in a study file."""
        return self._checked(self.kind.parse if isinstance(value, str) else self.kind.read, value)

    def _checked(self, read: Callable[[Any], Any], value: object) -> Any:
        try:
            return read(value)
        except (ValueError, TypeError):  # TypeError: an unhashable value is no choice
            raise InputError(f"{named(self.arguments[0])} is {show(value)}; {self.kind.wanted}") from None


def _mechanism_keys() -> list[Key]:
    """A key for each field of the mechanisms' classes; a field that several have is one key."""
    owners: dict[str, list[str]] = {}
    keys: dict[str, Key] = {}
    for mechanism, kind in MECHANISMS.items():
        hints = get_type_hints(kind)
        for item in fields(kind):
            owners.setdefault(item.name, []).append(mechanism)
            text = item.metadata["help"]
            keys.setdefault(item.name, Key("mechanism", item.name, _kind_of(hints[item.name]), text))
    flags = {"half_life_days": "--half-life"}
    examples = {"alpha": 10.0}
    required = {"alpha": "Required.", "public_demand": 'Required by sgd, except with constants = "paper" and beta.'}
    return [
        Key(
            "mechanism",
            name,
            key.kind,
            key.help,
            flag=flags.get(name, ""),
            example=examples.get(name),
            owners=tuple(owners[name]),
            required=required.get(name, ""),
        )
        for name, key in keys.items()
    ]


def _kind_of(hint: Any) -> Kind:
    if get_origin(hint) in (UnionType, Union):  # Literal[...] | None is the latter
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    if get_origin(hint) is Literal:
        return _choice(*get_args(hint))
    return {float: NUMBER, int: WHOLE, bool: YES_NO}.get(hint, PATH)


_UNLESS_DAYS = "Required, unless calendar.days is set."
_UNLESS_NONE = "Required, except for the mechanism none."

KEYS: dict[str, Key] = {
    key.id: key
    for key in (
        Key(
            "network",
            "source",
            PATH,
            "OpenStreetMap extract, OSMnx graph (.graphml, .gpkg), GMNS folder, TNTP net file, SNDlib (native, .xml), "
            "Topology Zoo (.graphml), or sioux-falls (built in).",
            ("network", "source"),
            flag="--network",
            example="city_net.tntp",
            required="Required.",
        ),
        Key("network", "nodes", PATH, "TNTP file of node coordinates, for maps and trips with coordinates."),
        Key(
            "network",
            "latency",
            _choice(*get_args(LatencyKind)),
            "Latency curve of links. Default: as in a GMNS folder, mm1 for data networks, bpr for other files, affine "
            "for sioux-falls.",
        ),
        Key("network", "factor", NUMBER, "Time at capacity over free-flow time, for affine. Default: 2."),
        Key(
            "network", "time_unit", _choice(*get_args(TimeUnit)), "Unit of the times in a TNTP net file. Default: min."
        ),
        Key(
            "network",
            "length_unit",
            _choice(*KM_PER_UNIT),
            "Unit of lengths in a GMNS folder or TNTP file. Default: as in config.csv, km without one.",
        ),
        Key(
            "network",
            "speed_unit",
            _choice(*KPH_PER_UNIT),
            "Unit of speeds in a GMNS folder. Default: as in config.csv, kph without one.",
        ),
        Key(
            "network", "toll_factor", NUMBER, "Cost of a unit of a TNTP file's tolls, in its unit of time. Default: 0."
        ),
        Key(
            "network",
            "distance_factor",
            NUMBER,
            "Cost of a unit of a TNTP file's lengths, in its unit of time. Default: 0.",
        ),
        Key(
            "network",
            "capacity_mbps",
            NUMBER,
            "Capacity of the lines for which a file of SNDlib or Topology Zoo has none, Mbit/s.",
        ),
        Key("network", "packet_bytes", NUMBER, "Mean size of a packet in the queues of a data network. Default: 1000."),
        Key(
            "network",
            "queue_limit",
            NUMBER,
            "Utilisation from which the delay of a queue continues as a parabola. Default: 0.95.",
            ("limit", "queue_limit"),
        ),
        Key("network", "km_per_ms", NUMBER, "Speed of signals on the lines of a data network. Default: 200."),
        Key("network", "least_ms", NUMBER, "Delay of a line whose length is not known or zero. Default: 0.1."),
        Key(
            "network",
            "on_unreachable",
            _choice(*get_args(OnUnreachable)),
            "Raise an error for pairs of zones that no path connects, or drop them.",
            default="error",
        ),
        Key(
            "latency",
            "types",
            PATH,
            "Table (.csv) of curves by link type: link_type (* for every other), vdf_type and the curves' parameters.",
            ("latency_types",),
            flag="--latency-types",
        ),
        Key(
            "units",
            "request",
            TEXT,
            "What one record of the data is, like request or transfer; the plural ends in s. Default: trip, or request "
            "for data networks.",
            flag="--request-word",
        ),
        Key(
            "units",
            "flow",
            TEXT,
            'Unit of traffic, an amount per second, minute or hour, like "Mbit/s". Default: vehicles per hour, or '
            "Mbit/s for data networks.",
            flag="--flow-unit",
        ),
        Key(
            "units",
            "time",
            _choice(*TIME_UNITS),
            "Unit in which travel times and delays are shown. Default: min, or ms for data networks.",
            flag="--shown-time",
        ),
        Key(
            "zones",
            "source",
            PATH,
            "Polygons of zones (.geojson, .gpkg, .shp), or a list of nodes or places (.csv).",
            ("zones",),
            flag="--zones",
        ),
        Key(
            "zones",
            "id",
            TEXT,
            "Column of the zones' ids, by which trips name zones. Default: zone_id, zone or id, else 1, 2, 3, ...",
            ("zone_id",),
            flag="--zone-id",
        ),
        Key("zones", "grid_km", NUMBER, "Instead of a file: cells of a square grid, this wide."),
        Key(
            "zones",
            "connectors",
            WHOLE,
            "Number of nodes over which the traffic of a zone enters the network. Default: 4.",
        ),
        Key("calendar", "from", DATE, "First day.", example=dt.date(2026, 3, 2), required=_UNLESS_DAYS),
        Key("calendar", "to", DATE, "Last day, included.", example=dt.date(2026, 4, 30), required=_UNLESS_DAYS),
        Key("calendar", "weekdays", TEXT, "Count only these days, like mon-fri or sat,sun. Default: all."),
        Key(
            "calendar",
            "periods",
            PERIODS,
            "Hours of the day, like 07:00-08:00; 22:00-02:00 crosses midnight. Several have a policy each: list them, "
            "or write 06:00-09:00/60min or hourly.",
            ("period", "periods"),
            flag="--period",
            example=("07:00-08:00",),
            required="Required for trip files.",
        ),
        Key(
            "calendar",
            "day_types",
            DAYS_BY_NAME,
            'Kinds of days, each with policies of its own, like {workday = "mon-fri", weekend = "sat,sun,holidays"}. '
            "Default: all days alike.",
        ),
        Key(
            "calendar",
            "holidays",
            DATES,
            "Public list of dates that count as no weekday: they are of the kind that names holidays, or left out.",
        ),
        Key(
            "calendar",
            "time_zone",
            TEXT,
            "Time zone of the period, like Europe/Berlin, for times with an offset from UTC.",
            ("tz", "time_zone"),
            flag="--tz",
        ),
        Key("calendar", "days", WHOLE, "Number of days, if they have no dates."),
        Key(
            "calendar",
            "period_min",
            NUMBER,
            "Length of the daily period in minutes, if its hours are not known. Default: 60.",
        ),
        Key(
            "unit",
            "protect",
            _choice(*UNITS),
            "Protect one trip, all trips of one user, or all trips of one user on one day.",
            ("unit", "protect"),
            flag="--unit",
            default="request",
        ),
        Key(
            "unit",
            "max_requests",
            WHOLE,
            "Keep at most this many trips of each user (and day).",
            required="Required for user and user-day.",
        ),
        Key(
            "unit",
            "max_per_pair",
            WHOLE,
            "Keep at most this many of them for one origin and destination. Default: max_requests.",
        ),
        Key(
            "unit",
            "pre_bounded",
            YES_NO,
            "Assert that the files were limited like this once, before the first release (budget --kept-requests).",
        ),
        Key(
            "unit",
            "each_period",
            YES_NO,
            "Apply these limits in each period, and divide the privacy budget among the periods. Default: in all "
            "periods together, which costs what one period costs.",
        ),
        Key(
            "unit",
            "max_for_total",
            WHOLE,
            "Measure the total of all trips, counting up to this many of each user (and day); the demand is scaled to "
            "it.",
        ),
        Key(
            "unit",
            "max_weight",
            WHOLE,
            "For trips with weights (trips.weight): a trip counts as at most this many. The limits above are on these "
            "numbers.",
        ),
        Key("unit", "total_share", NUMBER, "Share of rho for that total.", default=TOTAL_SHARE),
        Key(
            "data",
            "expansion",
            NUMBER,
            "Vehicles on the road, or what else flows, per trip in the data: 10 if one in ten is observed.",
            default=1.0,
        ),
        Key(
            "data",
            "expect_trips",
            WHOLE,
            "Stop before the charge if fewer trips are counted. That there is a release then reveals that there were "
            "as many.",
        ),
        Key(
            "data",
            "total_vehicles_per_hour",
            NUMBER,
            "Public total of vehicles on the road per hour, or of what else flows, to which the demand of bounded "
            "users is scaled.",
        ),
        Key(
            "guarantee",
            "epsilon",
            NUMBER,
            "Privacy loss for one unit; smaller is stronger, 0.1 is strong.",
            example=0.1,
            required=_UNLESS_NONE,
        ),
        Key(
            "guarantee",
            "delta",
            NUMBER,
            "Additive slack of the guarantee, such as 1e-6; above 0.001 a release is not called private.",
            example=1e-6,
            required=_UNLESS_NONE,
        ),
        Key(
            "guarantee",
            "period_weights",
            WEIGHTS,
            'With unit.each_period: public weights of periods or kinds of days, like {"07:00-08:00" = 2.0}, by which '
            "the budget is divided. Default: equal parts.",
        ),
        Key(
            "mechanism",
            "name",
            _choice(*MECHANISMS),
            "Add noise to the sum over the days (counts), to sums by zone and link (layered), to every day (daily), to "
            "the best routes (minimiser), to the paper's gradient descent (sgd), or nowhere (none, NOT PRIVATE). "
            f"Default: layered from {MANY_PAIRS:,} pairs on, otherwise counts.",
            ("mechanism",),
            flag="--mechanism",
            default="counts",
        ),
        *_mechanism_keys(),
        Key(
            "quality",
            "share",
            NUMBER,
            "Share of rho spent on measuring how useful the release is; 0 measures nothing.",
            ("quality_share", "share"),
            flag="--quality-share",
            default=QUALITY_SHARE,
        ),
        Key(
            "trips",
            "departure",
            TEXT,
            "Column of the departure time.",
            flag="--departure-column",
            default="departure",
        ),
        Key(
            "trips",
            "origin",
            COLUMNS,
            "Column of the origin zone, or two columns, longitude and latitude, to use the zone of the place.",
            flag="--origin-column",
            default="origin",
        ),
        Key(
            "trips",
            "destination",
            COLUMNS,
            "Column or columns of the destination.",
            flag="--destination-column",
            default="destination",
        ),
        Key("trips", "user", TEXT, "Column of user ids, to protect users.", flag="--user-column", default="user"),
        Key(
            "trips", "time_format", TEXT, "Format of time strings, like '%d.%m.%Y %H:%M'. Default: 2026-03-02 07:15:00."
        ),
        Key("trips", "epoch_unit", _choice(*get_args(EpochUnit)), "Unit of numeric times, counted from 1970 in UTC."),
        Key("trips", "weight", TEXT, "Column of weights, like a volume of data. Default: every trip counts as one."),
        Key("trips", "weight_unit", NUMBER, "Weight that counts as one trip; weights are rounded to it.", default=1.0),
        Key(
            "trips",
            "max_zone_distance_km",
            NUMBER,
            "Drop trips whose coordinates are in no zone and farther than this from every zone. Default: 0 for "
            "polygons, the width of a grid's cells, 1 for zones without areas.",
        ),
    )
}

BY_ARGUMENT = {argument: key for key in KEYS.values() for argument in key.arguments}
