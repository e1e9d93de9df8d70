"""`privroute simulate`: let an independent traffic simulator judge a released policy."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from privroute.cli import inputs
from privroute.cli.route import load, say_period
from privroute.cli.terminal import bar, line, say, table
from privroute.errors import InputError

__all__ = ["simulate"]


def simulate(
    release: inputs.ReleaseArgument,
    engine: Annotated[
        Literal["uxsim", "sumo"], typer.Option(help="Simulator: UXsim (kinematic waves) or SUMO (mesoscopic).")
    ] = "uxsim",
    demand: Annotated[Path | None, typer.Option(metavar="PATH", help=inputs.PUBLIC_DEMAND)] = None,
    demand_period_min: Annotated[float, typer.Option(help="Length of the period of that file, in minutes.")] = 60.0,
    matrix: inputs.MatrixOption = None,
    demand_share: Annotated[float, typer.Option(help="Share of the demand that drives.")] = 1.0,
    period_min: Annotated[float, typer.Option(help="Minutes during which vehicles depart.")] = 60.0,
    platoon: Annotated[int, typer.Option(min=1, max=1000, help="Vehicles that drive together.")] = 10,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Number of runs, with seeds from 0.")] = 1,
    at: inputs.AtOption = None,
    out: Annotated[
        Path | None, typer.Option(metavar="PATH", help="Folder for simulation.json and simulation.png.")
    ] = None,
) -> None:
    """Simulate vehicles that follow a released policy.

    Vehicles are drawn from the released demand (or --demand) and follow routes drawn from the policy. The same vehicles
    are simulated on the optimum and the equilibrium of that demand, on the fastest paths of empty roads, and with the
    simulator's own reactive navigation. The simulators know nothing of volume-delay functions. No trip is read.
    """
    from privroute.simulation.comparison import NAMES  # noqa: PLC0415 - numbers
    from privroute.simulation.comparison import simulate as run  # noqa: PLC0415
    from privroute.simulation.files import write_simulation  # noqa: PLC0415

    if not 0 < demand_share < float("inf"):
        raise InputError(f"--demand-share is {demand_share:g}; pass a positive number")
    if demand is None and matrix is not None:
        raise InputError("--matrix is only valid with --demand; remove it")
    found = load(release, at=at)
    say_period(found)
    traffic = None
    if demand is not None:
        from privroute.study.source import read_public_demand  # noqa: PLC0415 - readers

        traffic = read_public_demand(
            demand, found.network, period_min=demand_period_min, on_unreachable="drop", matrix=matrix
        )
    with bar() as progress:
        result = run(
            found,
            engine=engine,
            demand=traffic,
            demand_share=demand_share,
            period_min=period_min,
            platoon=platoon,
            seeds=range(seeds),
            progress=progress,
        )
    best = result.rows["optimum"].minutes
    table(
        f"{engine}: {result.vehicles:,} vehicles in {period_min:g} minutes, {seeds} "
        + ("run" if seeds == 1 else "runs"),
        ["routes", "minutes\nper trip", "deviation\nover runs", "above the\noptimum's", "arrived"],
        [
            (
                NAMES[name],
                f"{row.minutes:.2f}",
                f"{row.deviation:.2f}" if seeds > 1 else "-",
                f"{100 * (row.minutes / best - 1):+.1f} %" if best > 0 else "-",
                f"{min(row.completed):.1%}",
            )
            for name, row in result.rows.items()
        ],
    )
    late = [NAMES[name] for name, row in result.rows.items() if min(row.completed) < 1]
    if late:
        say(
            f"Not all vehicles arrived within {result.end_min:.0f} minutes ({', '.join(late)}): minutes are of those "
            "that did, so the true ones are longer. Try a smaller --demand-share, or a longer --period-min."
        )
    if seeds == 1:
        say("Differences may be chance: this is one run. --seeds 5 shows the deviation over five.")
    if out is not None:
        for path in write_simulation(result, out):
            line(f"Written: {path}")
