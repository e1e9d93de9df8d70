"""The keys of a study: one table, from which study files, command-line flags, help and errors come.

    study file      [calendar]                 flag       --tz Europe/Berlin
                    time_zone = "..."          setting    --set calendar.time_zone=Europe/Berlin
    Python          read_trips(..., tz=...)    error      calendar.time_zone | --tz | tz

Options of a mechanism are the fields of its class in privroute.study.mechanisms.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import fields
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from privroute.network.display_units import TIME_UNITS
from privroute.network.gmns import KM_PER_UNIT, KPH_PER_UNIT
from privroute.network.network import LatencyKind
from privroute.network.pairs import OnUnreachable
from privroute.network.tntp import TimeUnit
from privroute.study.guarantee import UNITS
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
    Key,
    Kind,
    choice_of,
)
from privroute.study.measured_shares import QUALITY_SHARE, TOTAL_SHARE
from privroute.study.mechanisms import MANY_PAIRS, MECHANISMS
from privroute.study.trip_format import ROWS_ARE_TRIPS, EpochUnit

__all__ = ["BY_ARGUMENT", "KEYS", "SECTIONS"]

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
        return choice_of(*get_args(hint))
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
            choice_of(*get_args(LatencyKind)),
            "Latency curve of links. Default: as in a GMNS folder, mm1 for data networks, bpr for other files, affine "
            "for sioux-falls.",
        ),
        Key("network", "factor", NUMBER, "Time at capacity over free-flow time, for affine. Default: 2."),
        Key(
            "network",
            "time_unit",
            choice_of(*get_args(TimeUnit)),
            "Unit of the times in a TNTP net file. Default: min.",
        ),
        Key(
            "network",
            "length_unit",
            choice_of(*KM_PER_UNIT),
            "Unit of lengths in a GMNS folder or TNTP file. Default: as in config.csv, km without one.",
        ),
        Key(
            "network",
            "speed_unit",
            choice_of(*KPH_PER_UNIT),
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
            choice_of(*get_args(OnUnreachable)),
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
            choice_of(*TIME_UNITS),
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
            choice_of(*UNITS),
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
        Key("unit", "kept_set", TEXT, "Name of the kept set, as privroute bound printed it."),
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
            choice_of(*MECHANISMS),
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
        Key("trips", "epoch_unit", choice_of(*get_args(EpochUnit)), "Unit of numeric times, counted from 1970 in UTC."),
        Key(
            "trips",
            "times_as_before",
            YES_NO,
            "Assert that these columns and formats give each trip the time that earlier releases read (ledger).",
        ),
        Key("trips", "weight", TEXT, "Column of weights, like a volume of data. Default: every trip counts as one."),
        Key("trips", "weight_unit", NUMBER, "Weight that counts as one trip; weights are rounded to it.", default=1.0),
        Key(
            "trips",
            "max_zone_distance_km",
            NUMBER,
            "Drop trips whose coordinates are in no zone and farther than this from every zone. Default: 0 for "
            "polygons, the width of a grid's cells, 1 for zones without areas.",
        ),
        Key(
            "trips",
            "rows_are_trips",
            YES_NO,
            f"Assert that {ROWS_ARE_TRIPS}. Certificates list this as asserted.",
            required="Required for tables and for counts of another system.",
        ),
    )
}

BY_ARGUMENT = {argument: key for key in KEYS.values() for argument in key.arguments}
