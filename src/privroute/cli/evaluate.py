"""`privroute evaluate`: what a released policy costs travellers."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.route import load
from privroute.cli.terminal import line, percent, say, table, warn
from privroute.errors import FormatError, InputError
from privroute.network.checks import check_period_of_day
from privroute.network.demand import check_expansion

__all__ = ["evaluate"]

_TRIP_FILES = (".parquet", ".pq")
_DAILY_COUNTS = (
    "daily counts, a CSV with the columns date, origin, destination, trips, one row for each day and pair; count the "
    "trips of a trip file by day, origin and destination first, or compare in Python: pr.read_trips(...).mean"
)


def evaluate(
    release: inputs.ReleaseArgument,
    demand: Annotated[Path | None, typer.Option(help=inputs.PUBLIC_DEMAND)] = None,
    demand_period_min: Annotated[float, typer.Option(help="Minutes for which that file counts trips.")] = 60.0,
    private: Annotated[
        Path | None, typer.Option(help="PRIVATE: CSV with date, origin, destination, trips; result is private too.")
    ] = None,
    first: inputs.FirstDayOption = None,
    last: inputs.LastDayOption = None,
    period_min: Annotated[
        float | None, typer.Option(help="With --private: minutes of the period. Default: the certificate's.")
    ] = None,
    expansion: Annotated[
        float | None, typer.Option(help="With --private: vehicles for each trip. Default: the certificate's.")
    ] = None,
    matrix: inputs.MatrixOption = None,
) -> None:
    """Compare a released policy with the optimum and with what needs no data.

    Against the released demand by default, or a public demand file. With --private against private trips: the result
    is then exact, not protected, and only for the curator's eyes; it is never written to a file.
    """
    if demand is not None and private is not None:
        raise InputError("--demand and --private exclude each other; give one")
    options = {"--from": first, "--to": last, "--period-min": period_min, "--expansion": expansion}
    given = [option for option, value in options.items() if value is not None]
    if private is None and given:
        raise InputError(f"{given[0]} belongs to --private; leave it out")
    if demand is None and matrix is not None:
        raise InputError("--matrix belongs to --demand; leave it out")
    dates = None if private is None else inputs.check_dates(first, last)
    if private is not None and (private.is_dir() or private.suffix.lower() in _TRIP_FILES):
        raise InputError(f"{private}: --private takes {_DAILY_COUNTS}")
    found = load(release)
    certificate = found.certificate
    # A release leaves pairs out only where its network joins them by no path and that was asked for.
    on_unreachable: Literal["drop", "error"] = "drop" if len(found.policy.pairs) < _zone_pairs(found) else "error"
    if private is not None and dates is not None:
        with inputs.spoken_as_options():
            minutes = check_period_of_day(certificate.period_min if period_min is None else period_min)
            vehicles = check_expansion(certificate.expansion if expansion is None else expansion)
        try:
            history = pr.read_daily_od(
                private,
                found.network,
                dates=dates,
                period_min=minutes,
                expansion=vehicles,
                on_unreachable=on_unreachable,
            )
        except FormatError as problem:
            if "name the column with" not in str(problem):
                raise
            raise InputError(f"{problem}; --private takes {_DAILY_COUNTS}") from None
        warn("PRIVATE: what follows is computed from trips without protection. Do not publish it.")
        _show(found, history.mean, "PRIVATE, against the trips of these days", mark="PRIVATE ")
        return
    if demand is not None:
        traffic = inputs.read_public_demand(
            demand, found.network, period_min=demand_period_min, on_unreachable=on_unreachable, matrix=matrix
        )
        _show(found, traffic, f"Against the demand of {demand}")
        return
    if found.demand is None:
        raise InputError(f"{release} releases no demand; give a public one with --demand")
    _show(found, found.demand, "Against the released demand")
    say(
        "The policy was made for this demand, so it is nearly its optimum; how it does for the real traffic only the "
        "curator can see (--private), and how it does for another one --demand shows."
    )


def _zone_pairs(found: pr.Release) -> int:
    zones = int(found.network.zones.size)
    return zones * (zones - 1)


def _show(found: pr.Release, demand: pr.Demand, title: str, *, mark: str = "") -> None:
    """Print the comparison; every line of it begins with the mark."""
    from privroute.evaluate.suboptimality import Baseline, policies_without_data  # noqa: PLC0415 - the private side

    network, policy = found.network, found.policy
    traffic = demand.on(policy.pairs)
    if not traffic.total_per_min > 0:
        raise InputError("the demand is zero everywhere, so there is nothing to compare")
    baseline = Baseline.of(network, traffic)
    name = f"released, {found.certificate.mechanism}" + ("" if found.certificate.private else " (NOT PRIVATE)")
    rows = {name: policy, **policies_without_data(network, traffic)}

    def cells(label: str, total: float, above: float) -> list[str]:
        return [f"{mark}{label}", f"{total:,.1f}", f"{total / traffic.total_per_min:.2f}", percent(above)]

    table(
        title,
        ["policy", "vehicle-hours\nper hour", "minutes\nper vehicle", "above\noptimum"],
        [
            cells("optimum of this demand", baseline.minutes, 0.0),
            *(
                cells(label, pr.total_travel_time(network, each, traffic), baseline.percent(each))
                for label, each in rows.items()
            ),
        ],
    )
    used = traffic.rate_per_min > 0
    detour = pr.travel_times(network, policy, traffic).detour[used]
    mean = float(np.average(detour, weights=traffic.rate_per_min[used]))
    line(
        f"{mark}Released routes take on average {mean:.3f} times as long as the fastest path at that moment, at most "
        f"{detour.max():.2f} times."
    )
