"""What `privroute evaluate` says about people: who gains and loses, what if only some follow, tolls."""

from pathlib import Path
from typing import TYPE_CHECKING

import privroute as pr
from privroute.cli.terminal import bar, line, percent, say, table

if TYPE_CHECKING:
    from privroute.advice.losses import Against

__all__ = ["show_people"]

_WORST = 5
_COMPARED: "dict[str, Against]" = {
    "equilibrium: no advice": "equilibrium",
    "fastest route of the moment": "fastest",
}


def show_people(found: pr.Release, traffic: pr.Demand, out: Path | None) -> None:
    """Show gains, losses and compliance for a public demand; write them where there is a folder."""
    network, policy = found.network, found.policy
    with bar() as progress:
        losses = pr.who_loses(network, policy, traffic, progress=progress)
        followed = pr.compliance_curve(network, policy, traffic, progress=progress)
    table(
        "Who gains, who loses: minutes on the policy, by trips",
        ["compared with", "mean", "lose > 1 min", "lose > 5 min", "median", "95 % lose\nat most", "99 % lose\nat most"],
        [
            (
                name,
                f"{losses.mean(against):+.2f}",
                percent(100 * losses.share_losing(1.0, against)),
                percent(100 * losses.share_losing(5.0, against)),
                *(f"{losses.quantiles(against)[share]:+.2f}" for share in (0.5, 0.95, 0.99)),
            )
            for name, against in _COMPARED.items()
        ],
    )
    table(
        "By free-flow time, against the equilibrium",
        ["minutes on\nempty roads", "trips / h", "minutes", "mean loss", "lose > 1 min"],
        [
            (
                f"{row.from_min:.1f} to {row.to_min:.1f}",
                f"{row.trips_per_h:,.0f}",
                f"{row.mean_min:.2f}",
                f"{row.mean_loss_min:+.2f}",
                percent(100 * row.share_losing[0]),
            )
            for row in losses.by_distance()
        ],
    )
    zones = losses.by_zone()
    table(
        "Origins that lose and gain most, against the equilibrium",
        ["zone", "trips / h", "mean loss", "lose > 1 min"],
        [
            (f"{row.zone}", f"{row.trips_per_h:,.0f}", f"{row.mean_loss_min:+.2f}", percent(100 * row.share_losing[0]))
            for row in dict.fromkeys((*zones[:_WORST], *zones[-_WORST:]))
        ],
    )
    table(
        "Pairs that lose most, against the equilibrium",
        ["pair", "trips / h", "minutes", "equilibrium", "loss"],
        [
            (
                f"{row.origin} → {row.destination}",
                f"{row.trips_per_h:,.1f}",
                f"{row.policy_min:.2f}",
                f"{row.other_min:.2f}",
                f"{row.loss_min:+.2f}",
            )
            for row in losses.worst(_WORST)
        ],
    )
    least = min(row.total_travel_time for row in followed)
    table(
        "If only some follow; the others choose for themselves",
        ["follow", "minutes\nper trip", "total above\nthe least", "followers", "others"],
        [
            (
                f"{row.share:.0%}",
                f"{row.mean_min:.3f}",
                percent(100 * (row.total_travel_time / least - 1)),
                f"{row.followers_min:.3f}",
                f"{row.others_min:.3f}",
            )
            for row in followed
        ],
    )
    say("These figures are modelled on the demand above, with the network's own travel times.")
    if out is not None:
        from privroute.advice.people_files import write_people  # noqa: PLC0415 - files

        for path in write_people(losses, followed, out):
            line(f"Written: {path}")
