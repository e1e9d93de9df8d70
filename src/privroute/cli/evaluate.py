"""`privroute evaluate`: compare the travel times of a released policy with the optimum."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.people import show_people
from privroute.cli.route import load, say_period
from privroute.cli.study_options import settings_of, with_keys
from privroute.cli.terminal import line, number_of, percent, say, table, warn
from privroute.errors import FormatError, InputError, named
from privroute.release.quality import MEASURED_ON
from privroute.release.usefulness import useful_in_words
from privroute.study.schema import KEYS

if TYPE_CHECKING:
    from privroute.release.certificate import Certificate
    from privroute.study.calendar import Calendar
    from privroute.study.settings import Settings

__all__ = ["evaluate"]

_TRIP_FILES = (".parquet", ".pq")
_DAILY_COUNTS = (
    "daily counts, a CSV with the columns date, origin, destination, trips, one row for each day and pair, or files "
    "with one row per trip; name their columns in a study file with --study"
)
_OTHER_DEMANDS = (
    "Use --demand to compare with another demand. Only the curator can compare with the real traffic "
    "(--private-counts, or --private-trips with --study)."
)


@with_keys("calendar.from", "calendar.to", "calendar.periods", "calendar.period_min", "data.expansion")
def evaluate(
    release: inputs.ReleaseArgument,
    given: dict[str, Any],
    demand: Annotated[Path | None, typer.Option(metavar="PATH", help=inputs.PUBLIC_DEMAND)] = None,
    demand_period_min: Annotated[float, typer.Option(help="Length of the period of that file, in minutes.")] = 60.0,
    matrix: inputs.MatrixOption = None,
    private_counts: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="PRIVATE: daily counts (date, origin, destination, trips) or a trip file."),
    ] = None,
    private_trips: Annotated[
        list[str] | None,
        typer.Option(metavar="FILES", help="PRIVATE: trip files, read as set in --study. The result is private."),
    ] = None,
    study: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Study file with the settings for reading private data.")
    ] = None,
    people: Annotated[
        bool, typer.Option("--people", help="Also show who gains and loses, and what happens if only some follow.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="With --people: folder for pairs.csv, compliance.csv and people.png."),
    ] = None,
    tolls: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="CSV file to write: the marginal-cost toll of each link, as time."),
    ] = None,
    at: inputs.AtOption = None,
) -> None:
    """Compare a released policy with the optimum.

    By default the comparison uses the released demand; --demand selects a public demand file. With --private-counts or
    --private-trips it uses private data: the result is then exact and not protected, must not be published, and is
    never written to a file. Dates, period and expansion of private data come from the flags, the study or the
    certificate. A study with another expansion than the release is rejected.
    """
    _check_options(given, demand=demand, matrix=matrix, counts=private_counts, trips=private_trips, study=study)
    private = private_counts is not None or bool(private_trips)
    _check_files(private, people, out, tolls)
    if private_counts is not None and _one_row_per_trip(private_counts):
        pattern = private_counts / "*.parquet" if private_counts.is_dir() else private_counts
        private_counts, private_trips = None, [str(pattern)]
    settings = settings_of(study, given)
    found = load(release, at=at)
    say_period(found)
    # A release leaves pairs out only where its network joins them by no path and that was asked for.
    on_unreachable: Literal["drop", "error"] = "drop" if len(found.policy.pairs) < _zone_pairs(found) else "error"
    if private:
        mean = _private_mean(found, settings, private_counts, private_trips)
        trips = found.network.units.requests
        warn(f"PRIVATE: what follows is computed from {trips} without protection. Do not publish it.")
        _show(found, mean, f"PRIVATE, against the {trips} of these days", mark="PRIVATE ")
        return
    if demand is not None:
        from privroute.study.source import read_public_demand  # noqa: PLC0415 - readers

        traffic = read_public_demand(
            demand, found.network, period_min=demand_period_min, on_unreachable=on_unreachable, matrix=matrix
        )
        _show(found, traffic, f"Against the demand of {demand}")
        _more(found, traffic.on(found.policy.pairs), people, out, tolls)
        return
    _show_own(found)
    if found.demand is not None:
        _more(found, found.demand, people, out, tolls)


def _check_options(
    given: dict[str, Any],
    *,
    demand: Path | None,
    matrix: str | None,
    counts: Path | None,
    trips: list[str] | None,
    study: Path | None,
) -> None:
    """Reject options that exclude each other or lack another."""
    private = [name for name, value in (("counts", counts), ("trips", trips)) if value]
    if len(private) + (demand is not None) > 1:
        raise InputError("--demand, --private-counts and --private-trips exclude each other; give one")
    if not private and (given or study is not None):
        option = KEYS[next(iter(given))].flag if given else "--study"
        raise InputError(f"{option} is only valid with --private-counts or --private-trips; remove it")
    if demand is None and matrix is not None:
        raise InputError("--matrix is only valid with --demand; remove it")
    if trips and study is None:
        raise InputError("--private-trips needs --study, which sets the columns, hours and days")
    if counts is not None and _is_pattern(counts):
        raise InputError(
            f"--private-counts takes one file, and {counts} is a pattern; pass one file, or several files of "
            "trips with --private-trips and --study"
        )


def _show_own(found: pr.Release) -> None:
    """What was measured when the release was made, and its travel times at its own demand."""
    if found.demand is None and found.quality is None:
        raise InputError("the release contains no demand; pass a public one with --demand")
    trips, units = "all" if found.quality is None else found.quality.trips, found.network.units
    line(units.said(f"Measured on {MEASURED_ON[trips]}, with noise"), style="bold")
    for sentence in useful_in_words(found):
        say(sentence, bullet=True)
    if found.demand is None:
        say(f"The release contains no demand, so no {units.delay}s are modelled. {_OTHER_DEMANDS}")
        return
    _show(found, found.demand, "Modelled, against the released demand", modelled=True)
    say(
        f"The policy was computed for this demand, so the modelled figure says nothing about real traffic. "
        f"{_OTHER_DEMANDS}"
    )


def _check_files(private: bool, people: bool, out: Path | None, tolls: Path | None) -> None:
    """Refuse files of what is private, and a folder without anything to write."""
    if private and (people or out is not None or tolls is not None):
        raise InputError("--people, --out and --tolls are for public demands; nothing private is written to files")
    if out is not None and not people:
        raise InputError("--out is only valid with --people; add it")
    if tolls is not None and tolls.exists():
        raise InputError(f"{tolls} already exists; choose another file for --tolls")


def _more(found: "pr.Release", traffic: "pr.Demand", people: bool, out: Path | None, tolls: Path | None) -> None:
    """What was asked for beside the comparison."""
    if people:
        show_people(found, traffic, out)
    if tolls is not None:
        from privroute.advice.tolls import write_tolls  # noqa: PLC0415 - numbers

        fairness = float(found.certificate.options.get("fairness", 0.0))
        write_tolls(found.network, found.policy, traffic, tolls, fairness=fairness)
        line(f"Written: {tolls}")


def _private_mean(
    found: "pr.Release", settings: "Settings", counts: Path | None, trips: list[str] | None
) -> "pr.Demand":
    """PRIVATE. The mean demand of private data on the release's own network and pairs."""
    from privroute.study.frame import Frame  # noqa: PLC0415 - numbers
    from privroute.study.mechanisms import Unprotected  # noqa: PLC0415

    calendar, expansion = found.certificate.calendar, found.certificate.expansion
    if settings.file is not None:
        calendar = settings.calendar()
        _compare_with_study(found.certificate, settings, calendar, bounded=bool(trips))
    elif settings.values:
        calendar = _changed(calendar, settings)
    expansion = settings.values.get("data.expansion", expansion)
    kept = settings.contribution() if trips else None
    frame = Frame(found.policy.pairs, calendar, expansion, kept)
    study = pr.Study(found.network, frame, mechanism=Unprotected(), trips=settings.trip_format())
    if trips:
        if frame.calendar.periods[0].begins is None:
            raise InputError(
                f"files of trips need {named('period')}, like 07:00-08:00: the release does not say its hours"
            )
        history = pr.read_trips(trips, study, report=_quiet)
        mean: pr.Demand
        if not calendar.has_slots:
            mean = history.mean
            return mean
        if str(found.slot) not in [str(slot) for slot in calendar.slots]:
            raise InputError(f"the study has no period {found.slot}, which is compared; choose one of its with --at")
        mean = history.part([str(slot) for slot in calendar.slots].index(str(found.slot))).mean
        return mean
    try:
        return pr.read_daily_od(counts or "", study, report=_quiet).mean
    except FormatError as problem:
        if "daily counts need the columns" not in str(problem):
            raise
    raise InputError(f"{counts}: the columns are not those of daily counts; --private-counts takes {_DAILY_COUNTS}")


def _compare_with_study(
    certificate: "Certificate", settings: "Settings", calendar: "Calendar", *, bounded: bool
) -> None:
    """Reject another expansion than the release has; warn of other days, hours or bounds, which may be intended."""
    expansion = settings.values.get("data.expansion", certificate.expansion)
    if expansion != certificate.expansion and "data.expansion" not in settings.given:
        raise InputError(
            f"data.expansion is {expansion:g} in {settings.file} and {certificate.expansion:g} in the release, so the "
            "comparison would be with another amount of traffic; correct the study, or pass --expansion to choose one"
        )
    own, hours = certificate.calendar, calendar.period
    if own.period.begins is None and own.period.minutes == hours.minutes:
        own = replace(own, periods=(hours,))  # the release states only how long it is
    if (own.dates, own.periods, own.time_zone) != (calendar.dates, calendar.periods, calendar.time_zone):
        warn(f"The study is for {calendar}, the release for {certificate.calendar}. The trips of the study are used.")
    kept = settings.contribution() if bounded else None
    bounds = ("request", None, None) if kept is None else (kept.unit, kept.max_requests, kept.max_per_pair)
    if bounded and bounds != (certificate.unit, certificate.max_requests, certificate.max_per_pair):
        study = _bounds_in_words(*bounds)
        release = _bounds_in_words(certificate.unit, certificate.max_requests, certificate.max_per_pair)
        warn(f"The study counts {study}, the release {release}. The trips that the study counts are used.")


def _bounds_in_words(unit: str, most: int | None, per_pair: int | None) -> str:
    if most is None:
        return "all trips"
    if unit == "request":
        return f"each trip as at most {most:,} (weights)"
    return f"at most {number_of(most, 'trip')} of each {unit}, {per_pair or most:,} for one pair"


def _changed(calendar: "Calendar", settings: "Settings") -> "Calendar":
    """The calendar of a certificate with the days, the hours or the length that flags set instead."""
    from privroute.study.calendar import Period  # noqa: PLC0415 - numbers

    ends = {"calendar.from", "calendar.to"}
    given = ends & set(settings.values)
    if given:
        if given != ends and not calendar.is_regular:
            raise InputError("the days of the release are not a range of dates; pass both --from and --to")
        rule = {f"calendar.{name}": value for name, value in calendar.as_dict().items()}
        known = {key: KEYS[key].read(rule[key]) for key in (*ends, "calendar.weekdays") if key in rule}
        days = replace(settings, values={**known, **{key: settings.values[key] for key in given}}).calendar()
        calendar = replace(days, periods=calendar.periods, time_zone=calendar.time_zone)
    if "calendar.periods" in settings.values:
        calendar = replace(calendar, periods=settings.calendar().periods)
    if "calendar.period_min" in settings.values:
        calendar = replace(calendar, periods=(Period(settings.values["calendar.period_min"]),))
    return calendar


def _measures(units: pr.Units) -> tuple[str, str]:
    """Headings of total and mean time: by Little's law the total per time is what is under way."""
    if units.on_roads:
        return "vehicle-hours\nper hour", f"{units.times}\nper vehicle"
    return f"{units.amount}\nunder way", f"mean\n{units.times}"


def _is_pattern(path: Path) -> bool:
    return any(sign in str(path) for sign in "*?[") and not path.exists()


def _one_row_per_trip(path: Path) -> bool:
    """Whether a private file holds single trips: a folder, Parquet, or a CSV whose header has no number of trips."""
    if path.is_dir() or path.suffix.lower() in _TRIP_FILES:
        return True
    return not _has_column(path, "trips") and _has_column(path, "departure")


def _has_column(path: Path, name: str) -> bool:
    """Whether the header of a CSV file, as its reader finds it, names a column; False where there is none."""
    from privroute.history.trip_files import csv_file  # noqa: PLC0415 - the private side

    try:
        csv_file(path, {name: name})
    except FormatError:
        return False
    return True


def _quiet(_rows: object) -> None:
    """Numbers of dropped rows are not what is asked for here."""


def _zone_pairs(found: pr.Release) -> int:
    zones = int(found.network.zones.size)
    return zones * (zones - 1)


def _show(found: pr.Release, demand: pr.Demand, title: str, *, mark: str = "", modelled: bool = False) -> None:
    """Print the comparison; every line of it begins with the mark.

    modelled : the policy was computed for this demand
    """
    import numpy as np  # noqa: PLC0415 - slow to load

    from privroute.evaluate.suboptimality import Baseline, policies_to_beat  # noqa: PLC0415 - the private side

    network, policy, units = found.network, found.policy, found.network.units
    traffic = demand.on(policy.pairs)
    if not traffic.total_per_min > 0:
        if mark:  # whether there is any is private too
            line(f"{mark}the demand is zero for all pairs, so there is nothing to compare")
            return
        raise InputError("the demand is zero for all pairs, so there is nothing to compare")
    baseline = Baseline.of(network, traffic)
    name = f"released, {found.certificate.mechanism}" + ("" if found.certificate.private else " (NOT PRIVATE)")
    name += ", modelled" if modelled else ""
    sizes = "the released zone totals" if modelled else "the private zone totals" if mark else "zone sizes"
    rows = {name: policy, **policies_to_beat(network, traffic, sizes)}

    def cells(label: str, total: float, above: float) -> list[str]:
        mean = units.time_of(total / traffic.total_per_min)
        shown = f"{total:,.1f}" if units.on_roads else f"{total:,.4g}"
        return [f"{mark}{label}", shown, f"{mean:.2f}", percent(above)]

    table(
        title,
        ["policy", *_measures(units), "above\noptimum"],
        [
            cells("optimum of this demand", baseline.minutes, 0.0),
            *(
                cells(units.said(label), pr.total_travel_time(network, each, traffic), baseline.percent(each))
                for label, each in rows.items()
            ),
        ],
    )
    used = traffic.rate_per_min > 0
    detour = pr.travel_times(network, policy, traffic).detour[used]
    mean = float(np.average(detour, weights=traffic.rate_per_min[used]))
    line(
        f"{mark}Released routes take {mean:.3f} times as long as the fastest path on average, and at most "
        f"{detour.max():.2f} times."
    )
