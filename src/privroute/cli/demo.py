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


def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for the release and the figure; an existing release is replaced.")
    ] = Path("demo"),
    open_page: Annotated[bool, typer.Option("--open", help="Serve the release afterwards and open its page.")] = False,
) -> None:
    """Learn a private policy from 50 simulated days and compare it, in a few seconds.

    The demo uses the built-in Sioux Falls network. The days are simulated with a fixed seed; the noise is not seeded.
    """
    from privroute.evaluate.suboptimality import Baseline, policies_without_data  # noqa: PLC0415 - the private side

    make_folder(out)
    place, picture = out / "release", out / "policy.png"
    check_release_folder(place, overwrite=True)
    scenario = pr.sioux_falls()
    network, usual = scenario.network, scenario.demand
    line(f"Simulating {_DAYS} days on Sioux Falls (on average {usual.total_per_min * 60:,.0f} trips per hour) ...")
    history = pr.simulate_days(usual, days=_DAYS, period_min=_PERIOD_MIN, seed=1)
    line(f"Learning with epsilon {_PROMISE.epsilon:g}, delta {short(_PROMISE.delta)} ...")
    release = pr.learn(network, history, _PROMISE)
    these, mean = Baseline.of(network, history.mean), Baseline.of(network, usual)
    exact = pr.solve_optimum(network, history.mean, gap=1e-11).policy
    private = "yes" if release.certificate.private else "NO"
    rows = [
        ("optimum of the days' trips", exact, "yes", "NO"),
        (f"privroute, epsilon {_PROMISE.epsilon:g}", release.policy, "yes", private),
        *((name, policy, "no", "-") for name, policy in policies_without_data(network, usual).items()),
    ]
    table(
        "Travel time when everybody follows the policy (simulated trips)",
        [
            "policy",
            "minutes\nper trip",
            "above optimum\nof these days",
            "above optimum\nof mean demand",
            "uses\ntrips",
            "private",
        ],
        [
            (
                name,
                f"{pr.total_travel_time(network, policy, these.demand) / these.demand.total_per_min:.2f}",
                percent(these.percent(policy)),
                percent(mean.percent(policy)),
                trips,
                protected,
            )
            for name, policy, trips, protected in rows
        ],
        left=(0, 4, 5),
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
    _explain(release, these.percent(release.policy), place, picture)
    if open_page:
        serve_release(release, host="127.0.0.1", port=0, open_browser=True)
    else:
        line(
            f"To view the map, the routes and the guarantee in a browser: {_program()} serve {place} --open",
            style="bold",
        )


def _explain(release: pr.Release, above: float, place: Path, picture: Path) -> None:
    heading("What happened")
    say(
        f"privroute counted the trips of {_DAYS} days for each of {len(release.policy.pairs):,} pairs of zones. It "
        f"added noise with a standard deviation of {release.certificate.noise_scale:.3g} trips to each count, enough "
        "to hide any single trip, and computed the best routes from the noisy counts. The noise increases travel "
        f"times by {percent(above)}, far less than routing without data would."
    )
    heading("Try next")
    origin, destination = _varied(release.policy)
    commands = {
        f"inspect {place}": "show what the release protects, and what it does not",
        f"route {place} 1 20": "show the routes from zone 1 to zone 20",
        f"route {place} {origin} {destination}": "show a pair that uses several routes",
        "plan --network sioux-falls --days 50": "estimate the cost of other guarantees",
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
