"""Histories from a file of daily origin-destination counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.history.dates import DayRange, days_between, read_date
from privroute.history.demand_history import LARGEST_COUNT, DemandHistory
from privroute.network.pairs import OnUnreachable, Pairs
from privroute.network.text_files import column_names, read_table

if TYPE_CHECKING:
    import os

    from privroute.network.network import Network

__all__ = ["read_daily_od"]


def read_daily_od(
    path: str | os.PathLike[str],
    network: Network,
    *,
    dates: DayRange,
    date: str = "date",
    origin: str = "origin",
    destination: str = "destination",
    trips: str = "trips",
    period_min: float = 60.0,
    expansion: float = 1.0,
    on_unreachable: OnUnreachable = "error",
) -> DemandHistory:
    """Read PRIVATE daily counts from a CSV file with the columns date, origin, destination, trips (a whole number).

    dates : first and last day, both included. The number of days is that of this public range, whatever the file
        holds: days without rows have no requests, rows of other days are left out.

    Messages name lines, never what stands in them.
    """
    days = days_between(dates)
    names = column_names(date=date, origin=origin, destination=destination, trips=trips)
    pairs = Pairs.of_zones(network, on_unreachable=on_unreachable)
    node = {str(network.node_labels[zone]): int(zone) for zone in network.zones}
    table = read_table(path, private=True)
    table.require(*names)
    counts = np.zeros((len(days), len(pairs)), dtype=np.int64)
    place = {pair: at for at, pair in enumerate(zip(pairs.origin.tolist(), pairs.destination.tolist(), strict=True))}
    for where, row in table:
        date_of_row = read_date(row.get(names[0], ""))
        if date_of_row is None:
            raise where.error("the date is not of the form 2026-03-02")
        day = (date_of_row - days[0]).days
        ends = [node.get(str(where.label(row.get(name, ""), name))) for name in names[1:3]]
        if None in ends:
            raise where.error("the origin or destination is not a zone of the network")
        number = where.whole(row.get(names[3], ""), names[3])
        if not 0 <= number <= LARGEST_COUNT:
            raise where.error(f"the number of trips is negative or above {LARGEST_COUNT:,}")
        position = place.get((ends[0], ends[1]))
        if 0 <= day < len(days) and position is not None:
            counts[day, position] += number
    return DemandHistory(pairs, counts, period_min=period_min, dates=days, expansion=expansion)
