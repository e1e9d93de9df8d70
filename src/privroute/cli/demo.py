"""`privroute demo`: run the complete workflow on simulated days."""

import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

import privroute as pr
from privroute.cli.output import check_release_folder, make_folder
from privroute.cli.serve import serve_release
from privroute.cli.terminal import heading, line, percent, say, table
from privroute.study.guarantee import short

__all__ = ["demo"]

_DAYS, _PERIOD_MIN = 50, 60
_PROMISE = pr.Guarantee(epsilon=0.1, delta=1e-6)
_SMALLEST_SHOWN = 0.001  # percent above the optimum


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the release and the figure; an existing release is replaced.")
    ] = Path("demo"),
    open_page: Annotated[bool, typer.Option("--open", help="Serve the release afterwards and open its page.")] = False,
) -> None:
    """Learn a private policy from 50 simulated days and compare it, in a few seconds.

    The demo uses the built-in Sioux Falls network with its BPR travel times. The days are simulated with a fixed seed;
    the noise is not seeded.
    """
    from privroute.evaluate.suboptimality import Baseline, policies_without_data  # noqa: PLC0415 - the private side

    make_folder(out)
    place, picture = out / "release", out / "policy.png"
    check_release_folder(place, overwrite=True)
    scenario = pr.sioux_falls(latency="bpr")
    network, usual = scenario.network, scenario.demand
    line(f"Simulating {_DAYS} days on Sioux Falls (on average {usual.total_per_min * 60:,.0f} trips per hour) ...")
    history = pr.simulate_days(usual, days=_DAYS, period_min=_PERIOD_MIN, seed=1)
    line(f"Learning with epsilon {_PROMISE.epsilon:g}, delta {short(_PROMISE.delta)} ...")
    release = pr.learn(network, history, _PROMISE)
    best = Baseline.of(network, usual)
    today = pr.solve_equilibrium(network, usual).policy
    exact = pr.solve_optimum(network, history.mean, gap=1e-11).policy
    private = "yes" if release.certificate.private else "NO"
    rows = [
        ("no guidance (user equilibrium)", today, "no", "-"),
        ("optimum without privacy", exact, "yes", "NO"),
        (f"privroute, epsilon {_PROMISE.epsilon:g}", release.policy, "yes", private),
        *((name, policy, "no", "-") for name, policy in policies_without_data(network, usual).items()),
    ]
    table(
        "Travel time on Sioux Falls if all drivers follow (simulated trips)",
        ["routes", "minutes\nper trip", "above the\noptimum", "uses\ntrips", "private"],
        [
            (
                name,
                f"{pr.total_travel_time(network, policy, usual) / usual.total_per_min:.2f}",
                _above(best.percent(policy)),
                trips,
                protected,
            )
            for name, policy, trips, protected in rows
        ],
        left=(0, 3, 4),
    )
    release.save(place, overwrite=True)
    pr.draw_network(
        network,
        picture,
        demand=release.demand,
        link_values=pr.volume_over_capacity(network, release.policy, release.demand or usual),
        link_title="volume / capacity (1 = at capacity)",
        title="Sioux Falls under the released policy: volume over capacity of links,\ndisc size by trips of a zone",
    )
    _explain(release, best.percent(today), best.percent(release.policy), place, picture)
    if open_page:
        serve_release(release, host="127.0.0.1", port=0, open_browser=True)
    else:
        line(
            f"To view the map, the routes and the guarantee in a browser: {_program()} serve {place} --open",
            style="bold",
        )


def _above(percentage: float) -> str:
    """Write a percentage above the optimum, without the digits that days drawn anew would change."""
    return percent(percentage) if percentage >= _SMALLEST_SHOWN else f"< {_SMALLEST_SHOWN} %"


def _explain(release: pr.Release, today: float, released: float, place: Path, picture: Path) -> None:
    heading("What happened")
    say(
        f"privroute counted the trips of {_DAYS} days for each of {len(release.policy.pairs):,} pairs of zones. It "
        f"added noise with a standard deviation of {release.certificate.noise_scale:.3g} trips to each count, so that "
        "no single trip can be detected with confidence, and computed the best routes from the noisy counts. "
        f"Drivers who choose for themselves need {percent(today)} more time than in the optimum, drivers on the "
        f"private routes {_above(released).replace('<', 'less than')}."
    )
    heading("Try next")
    origin, destination = _varied(release.policy)
    commands = {
        f"inspect {place}": "show what the release protects, and what it does not",
        f"route {place} 1 20": "show the routes from zone 1 to zone 20",
        f"route {place} {origin} {destination}": "show a pair that uses several routes",
        "plan --network sioux-falls --latency bpr --days 50": "estimate the cost of other guarantees",
    }
    width = max(map(len, commands))
    program = _program()
    for command, purpose in commands.items():
        line(f"{program} {command:{width}}   {purpose}")
    line(f"Figure: {picture}. Table of routes: {place / 'routes.parquet'}.")


def _program() -> str:
    """What to type for this program: its name if the shell finds it by that, else the path it was started by."""
    started, found = Path(sys.argv[0]), shutil.which("privroute")
    if not started.is_file() or (found is not None and started.samefile(found)):
        return "privroute"
    return shlex.quote(str(started))


def _varied(policy: pr.RoutingPolicy) -> tuple[object, object]:
    """The ends of a pair whose trips are spread most: its likeliest route is the least likely."""
    pair = int(np.argmin(policy.likeliest()))
    labels = policy.network.node_labels
    return labels[policy.pairs.origin[pair]], labels[policy.pairs.destination[pair]]
