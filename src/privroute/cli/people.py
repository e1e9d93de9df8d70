"""What `privroute evaluate` says about people: who gains and loses, what if only some follow, tolls."""

from pathlib import Path
from typing import TYPE_CHECKING

import privroute as pr
from privroute.advice.losses import losses_in
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
    network, policy, units = found.network, found.policy, found.network.units
    limits, shown = losses_in(units), units.time_of
    losing = [f"lose > {shown(limit):g} {units.time}" for limit in limits]
    flow = f"{units.requests} / h" if units.hourly else units.flow
    with bar() as progress:
        losses = pr.who_loses(network, policy, traffic, progress=progress)
        followed = pr.compliance_curve(network, policy, traffic, progress=progress)
    table(
        f"Who gains, who loses: {units.times} on the policy, by {units.requests}",
        ["compared with", "mean", *losing, "median", "95 % lose\nat most", "99 % lose\nat most"],
        [
            (
                name,
                f"{shown(losses.mean(against)):+.2f}",
                *(percent(100 * losses.share_losing(limit, against)) for limit in limits),
                *(f"{shown(losses.quantiles(against)[share]):+.2f}" for share in (0.5, 0.95, 0.99)),
            )
            for name, against in _COMPARED.items()
        ],
    )
    table(
        "By free-flow time, against the equilibrium",
        [f"{units.times} on\n{units.empty}", flow, units.times, "mean loss", losing[0]],
        [
            (
                f"{shown(row.from_min):.1f} to {shown(row.to_min):.1f}",
                units.flow_text(row.trips_per_h / 60),
                f"{shown(row.mean_min):.2f}",
                f"{shown(row.mean_loss_min):+.2f}",
                percent(100 * row.share_losing[0]),
            )
            for row in losses.by_distance()
        ],
    )
    zones = losses.by_zone()
    table(
        "Origins that lose and gain most, against the equilibrium",
        ["zone", flow, "mean loss", losing[0]],
        [
            (
                f"{row.zone}",
                units.flow_text(row.trips_per_h / 60),
                f"{shown(row.mean_loss_min):+.2f}",
                percent(100 * row.share_losing[0]),
            )
            for row in dict.fromkeys((*zones[:_WORST], *zones[-_WORST:]))
        ],
    )
    table(
        "Pairs that lose most, against the equilibrium",
        ["pair", flow, units.times, "equilibrium", "loss"],
        [
            (
                f"{row.origin} → {row.destination}",
                units.flow_text(row.trips_per_h / 60, 1),
                f"{shown(row.policy_min):.2f}",
                f"{shown(row.other_min):.2f}",
                f"{shown(row.loss_min):+.2f}",
            )
            for row in losses.worst(_WORST)
        ],
    )
    least = min(row.total_travel_time for row in followed)
    table(
        "If only some follow; the others choose for themselves",
        ["follow", f"{units.times}\nper {units.request}", "total above\nthe least", "followers", "others"],
        [
            (
                f"{row.share:.0%}",
                f"{shown(row.mean_min):.3f}",
                percent(100 * (row.total_travel_time / least - 1)),
                f"{shown(row.followers_min):.3f}",
                f"{shown(row.others_min):.3f}",
            )
            for row in followed
        ],
    )
    say(units.said("These figures are modelled on the demand above, with the network's own travel times."))
    if out is not None:
        from privroute.advice.people_files import write_people  # noqa: PLC0415 - files

        for path in write_people(losses, followed, out):
            line(f"Written: {path}")
