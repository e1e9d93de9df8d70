"""Options that several commands share, and how they become networks, demands and histories."""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import typer

import privroute as pr
from privroute.errors import InputError, LedgerError, StreamError
from privroute.network.network import LatencyKind
from privroute.network.pairs import OnUnreachable
from privroute.network.text_files import read_table
from privroute.network.tntp import TimeUnit

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "BUILT_IN",
    "PUBLIC_DEMAND",
    "DeltaOption",
    "EpsilonOption",
    "ExpansionOption",
    "ExportName",
    "FactorOption",
    "FirstDayOption",
    "LastDayOption",
    "LatencyOption",
    "MatrixOption",
    "NetworkOption",
    "NodesOption",
    "PeriodOption",
    "ReleaseArgument",
    "TimeUnitOption",
    "UnreachableOption",
    "check_dates",
    "read_network",
    "read_public_demand",
    "read_zone_sizes",
    "spoken_as_options",
]

BUILT_IN = "sioux-falls"
PUBLIC_DEMAND = f"Public demand: TNTP trips (.tntp), CSV (.csv), Open Matrix (.omx), or the word {BUILT_IN}."
ExportName = Literal["geojson", "csv", "gmns"]

NetworkOption = Annotated[
    str,
    typer.Option(
        "--network",
        metavar="PLACE",
        help=f"A TNTP net file, a GMNS folder, or the word {BUILT_IN}.",
        show_default=False,
    ),
]
NodesOption = Annotated[Path | None, typer.Option("--nodes", help="TNTP file of node coordinates, for pictures.")]
LatencyOption = Annotated[
    LatencyKind | None,
    typer.Option("--latency", help=f"How traffic slows links. Default: bpr for files, affine for {BUILT_IN}."),
]
FactorOption = Annotated[
    float | None, typer.Option("--factor", help="For affine: time at capacity over free-flow time. Default: 2.")
]
TimeUnitOption = Annotated[
    TimeUnit | None, typer.Option("--time-unit", help="Unit of the times in a TNTP net file. Default: min.")
]
UnreachableOption = Annotated[
    OnUnreachable, typer.Option("--on-unreachable", help="Pairs of zones that no path joins: refuse them or drop them.")
]
MatrixOption = Annotated[
    str | None, typer.Option("--matrix", help="Which matrix of an Open Matrix file, where it has several.")
]
PeriodOption = Annotated[float, typer.Option("--period-min", help="Minutes of the period in which a day's trips fall.")]
ExpansionOption = Annotated[
    float, typer.Option("--expansion", help="Vehicles on the road for each trip in the data: 10 for one seen in ten.")
]
EpsilonOption = Annotated[
    float | None, typer.Option("--epsilon", help="How much may be revealed about one trip; 0.1 is strong.")
]
DeltaOption = Annotated[
    float | None,
    typer.Option("--delta", help="Slack of the promise, such as 1e-6; above 0.001 a release is not called private."),
]
FirstDayOption = Annotated[str | None, typer.Option("--from", metavar="DATE", help="First day, like 2026-03-02.")]
LastDayOption = Annotated[str | None, typer.Option("--to", metavar="DATE", help="Last day, included.")]
ReleaseArgument = Annotated[
    Path, typer.Argument(metavar="RELEASE", help="The folder of a release.", show_default=False)
]

# What the library calls its arguments, and what they are called here.
_OPTIONS = {
    'on_unreachable="drop"': "--on-unreachable drop",
    "on_unreachable='drop'": "--on-unreachable drop",
    "pass matrix= one of": "pass --matrix with one of",
    "read it with nodes=": "give the file with --nodes",
    "period_min is ": "--period-min is ",
    "expansion is ": "--expansion is ",
    "half_life_days is ": "--half-life is ",
    "time_zone is ": "--tz is ",
    "kept_requests": "--kept-requests",
    "kept_per_pair": "--kept-per-pair",
    " (pass check_total=False to read it as it is)": "",
    "with departure=": "with --departure-column",
    "with origin=": "with --origin-column",
    "with destination=": "with --destination-column",
    "with user=": "with --user-column",
    "epoch_unit=": "--epoch-unit",
    "time_format=": "--time-format",
    "max_requests=": "--max-requests",
    "max_per_pair=": "--max-per-pair",
    "kept_once=True": "--kept-once",
    "kept_once=": "--kept-once",
    "memory_mb=": "--memory-mb",
    "temp_folder=": "--temp-folder",
    "dates= or weekdays=": "the dates or --weekdays",
    'unit="user-day"': "--unit user-day",
    'unit="user"': "--unit user",
    "pass tz=": "pass --tz",
    "tz is '": "--tz is '",
    "period is '": "--period is '",
    'pass start and end like ("07:00", "08:00"); ("22:00", "02:00")': "write it like 07:00-08:00; 22:00-02:00",
    'a whole day is ("00:00", "24:00")': "a whole day is 00:00-24:00",
    "weekdays is '": "--weekdays is '",
    'pass "mon-fri", "mon,wed,sat-sun", or numbers with Monday 0': "write it like mon-fri or mon,wed,sat-sun",
    "need tz=,": "need --tz,",
}


@contextmanager
def spoken_as_options() -> Iterator[None]:
    """Let errors name options of the command line where they name arguments of functions."""
    try:
        yield
    except (InputError, StreamError, LedgerError) as problem:
        text = str(problem)
        for argument, option in _OPTIONS.items():
            text = text.replace(argument, option)
        raise InputError(text) from None


def read_network(
    place: str,
    *,
    nodes: Path | None = None,
    latency: LatencyKind | None = None,
    factor: float | None = None,
    time_unit: TimeUnit | None = None,
) -> tuple[pr.Network, pr.Demand | None]:
    """The network that the common options name, and its demand where it is the built-in one."""
    kind = "built in" if place == BUILT_IN else "a GMNS folder" if Path(place).is_dir() else "TNTP"
    if kind != "TNTP":
        for option, value in (("--nodes", nodes), ("--time-unit", time_unit)):
            if value is not None:
                raise InputError(f"{option} belongs to TNTP files, and {place} is {kind}; leave it out")
    elif not Path(place).exists():
        raise InputError(
            f"{place}: there is no such file; --network takes a TNTP net file, a GMNS folder, or the word {BUILT_IN}"
        )
    chosen = latency or ("affine" if kind == "built in" else "bpr")
    if factor is not None and chosen != "affine":
        raise InputError("--factor belongs to --latency affine; leave it out, or choose that")
    slope = 2.0 if factor is None else factor
    with spoken_as_options():
        if kind == "built in":
            scenario = pr.sioux_falls(latency=chosen, factor=slope)
            return scenario.network, scenario.demand
        if kind == "TNTP":
            network = pr.read_tntp(place, latency=chosen, factor=slope, nodes=nodes, time_unit=time_unit or "min")
            return network, None
        return pr.read_gmns(place, latency=latency, factor=slope), None


def read_public_demand(
    path: Path,
    network: pr.Network,
    *,
    period_min: float = 60.0,
    on_unreachable: OnUnreachable = "error",
    matrix: str | None = None,
) -> pr.Demand:
    """A public demand from a file, whose ending says what it is, or the built-in one."""
    ending = path.suffix.lower()
    if matrix is not None and ending != ".omx":
        raise InputError(f"--matrix belongs to Open Matrix files, and {path} is none; leave it out")
    if str(path) == BUILT_IN:
        return _built_in_demand(network, period_min)
    with spoken_as_options():
        if ending in (".tntp", ".txt"):
            return pr.read_tntp_trips(path, network, period_min=period_min, on_unreachable=on_unreachable)
        if ending in (".csv", ".tsv"):
            return pr.read_od_csv(path, network, period_min=period_min, on_unreachable=on_unreachable)
        if ending == ".omx":
            return pr.read_omx(path, network, matrix=matrix, period_min=period_min, on_unreachable=on_unreachable)
    raise InputError(
        f"{path}: the ending does not say what it is; .tntp (trips), .csv and .omx are read, and the word {BUILT_IN}"
    )


def _built_in_demand(network: pr.Network, period_min: float) -> pr.Demand:
    scenario = pr.sioux_falls()
    own = scenario.network
    if network.node_labels != own.node_labels or not np.array_equal(network.zones, own.zones):
        raise InputError(f"the demand {BUILT_IN} belongs to the network {BUILT_IN}; give a file for this one")
    if period_min != 60.0:  # noqa: PLR2004 - the default of every command
        raise InputError(f"the demand {BUILT_IN} is per hour; leave the minutes of its period out")
    return scenario.demand


def read_zone_sizes(path: Path, network: pr.Network) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """What each zone sends and receives, in the order of network.zones, from a CSV: zone, size and perhaps receives."""
    sizes = read_table(path)
    sizes.require("zone", "size")
    place = {str(network.node_labels[zone]): position for position, zone in enumerate(network.zones)}
    amounts = np.full((2, len(place)), np.nan)
    for where, row in sizes:
        label = str(where.label(row.get("zone", ""), "zone"))
        if label not in place:
            raise where.error(f"{label[:40]} is not a zone of the network")
        if not np.isnan(amounts[0, place[label]]):
            raise where.error(f"zone {label} occurs before; give each zone once")
        sends = where.amount(row.get("size", ""), "size")
        receives = where.amount(row.get("receives", ""), "receives") if "receives" in sizes.columns else sends
        amounts[:, place[label]] = sends, receives
    missing = [label for label, position in place.items() if np.isnan(amounts[0, position])]
    if missing:
        raise InputError(f"{path}: {len(missing):,} zones have no size (first: {missing[0]}); give every zone a row")
    return amounts[0], amounts[1]


def check_dates(first: str | None, last: str | None) -> tuple[dt.date, dt.date]:
    """The public range of days, before anything private is opened."""
    days = []
    for option, text in (("--from", first), ("--to", last)):
        if text is None:
            raise InputError(f"{option} is missing; the range of days is public and is not taken from the data")
        try:
            days.append(dt.date.fromisoformat(text))
        except ValueError:
            raise InputError(f"{option} {text[:40]!r} is not a date; write it like 2026-03-02") from None
    if days[1] < days[0]:
        raise InputError(f"--to {days[1]} is before --from {days[0]}")
    return days[0], days[1]
