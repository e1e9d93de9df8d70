"""Daily counts of requests: what the mechanisms protect."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privroute.errors import HistoryError, named
from privroute.network.checks import as_array, check_period, check_period_of_day, check_type, freeze
from privroute.network.demand import Demand
from privroute.network.network import Network
from privroute.network.od_matrix import zone_nodes
from privroute.network.pairs import OnUnreachable, Pairs
from privroute.study.calendar import MOST_DAYS, Calendar
from privroute.study.contribution import Contribution
from privroute.study.dates import DayRange, days_between
from privroute.study.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from privroute.network.labels import Label

__all__ = ["DemandHistory"]

LARGEST_COUNT = 2**40
MOST_REQUESTS = 2**62


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class DemandHistory:
    """PRIVATE. How many requests there were for each pair on each day, within one operation period.

    frame : everything public: pairs, calendar, expansion, bounds on users
    counts : (days, pairs) int64, ≥ 0; days without requests are rows of zeros, so that the number of days is public
    simulated : True for days made by `simulate_days`, so that a certificate can say so
    requests : where the frame's bounds have max_for_total: all requests, of each user (and day) at most that many
    elsewhere : True for counts that another system made (read_counts), so that a certificate can say so
    """

    frame: Frame
    counts: NDArray[np.int64]
    simulated: bool
    requests: int | None
    elsewhere: bool

    def __init__(
        self,
        pairs: Pairs,
        counts: ArrayLike,
        *,
        period_min: float = 60.0,
        dates: Iterable[dt.date] | None = None,
        expansion: float = 1.0,
        simulated: bool = False,
        begins: dt.time | None = None,
        time_zone: str | None = None,
        contribution: Contribution | None = None,
    ) -> None:
        """Make a history of arrays.

        period_min : T, minutes of the operation period; dates : the days, ascending; expansion : vehicles on the road
        for each request; begins, time_zone : time of day at which the period begins, and whose wall clock it is;
        contribution : how much of one user was counted at most. All of these are public.
        """
        check_type(pairs, Pairs, "pairs", HistoryError)
        _period(period_min, dated=dates is not None, contribution=contribution)  # before any count is looked at
        array = _counts(counts, len(pairs))
        calendar = Calendar.of_days(len(array), period_min, dates, begins, time_zone)
        self._fill(Frame(pairs, calendar, expansion, contribution), array, simulated)

    @classmethod
    def of(
        cls,
        frame: Frame,
        counts: ArrayLike,
        *,
        simulated: bool = False,
        requests: int | None = None,
        elsewhere: bool = False,
    ) -> DemandHistory:
        """Counts for a public frame; the history holds that very object."""
        array = _counts(counts, len(frame.pairs))
        if len(array) != frame.days:
            raise HistoryError(f"counts have {len(array):,} rows where the frame has {frame.days:,} days")
        history = cls.__new__(cls)
        history._fill(frame, array, simulated, requests, elsewhere)  # noqa: SLF001 - of its own class
        return history

    def _fill(
        self,
        frame: Frame,
        counts: NDArray[np.int64],
        simulated: bool,
        requests: int | None = None,
        elsewhere: bool = False,
    ) -> None:
        measured = frame.contribution is not None and frame.contribution.max_for_total is not None
        if measured != (requests is not None):
            raise HistoryError(
                f"a history whose bounds have {named('max_for_total')} needs the total of requests, and no other does; "
                "read it with read_trips"
            )
        if requests is not None and not 0 <= requests <= MOST_REQUESTS:
            raise HistoryError("the total of requests is negative or too large")
        object.__setattr__(self, "requests", requests)
        object.__setattr__(self, "frame", frame)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "simulated", bool(simulated))
        object.__setattr__(self, "elsewhere", bool(elsewhere))

    def __reduce__(self) -> tuple[Any, tuple[Frame, NDArray[np.int64], bool, int | None, bool]]:
        # checked and read-only again
        return _remade, (self.frame, self.counts, self.simulated, self.requests, self.elsewhere)

    @property
    def pairs(self) -> Pairs:
        """The public set of pairs."""
        return self.frame.pairs

    @property
    def period_min(self) -> float:
        """T, minutes of the operation period; public."""
        return self.frame.period_min

    @property
    def dates(self) -> tuple[dt.date, ...] | None:
        """The days, ascending, or None where they have no dates; public."""
        return self.frame.calendar.dates

    @property
    def expansion(self) -> float:
        """Vehicles on the road for each request in the data (see Demand); public."""
        return self.frame.expansion

    @property
    def contribution(self) -> Contribution | None:
        """How much of one user was counted at most, for guarantees at user level; public."""
        return self.frame.contribution

    @classmethod
    def from_matrices(
        cls,
        network: Network,
        matrices: Mapping[dt.date, ArrayLike] | Iterable[ArrayLike],
        *,
        dates: DayRange | None = None,
        zones: list[Label] | None = None,
        period_min: float = 60.0,
        expansion: float = 1.0,
        on_unreachable: OnUnreachable = "error",
    ) -> DemandHistory:
        """History from one origin-destination matrix of counts per day.

        matrices : {date: (zones, zones)} or a sequence of them, one for each day; rows are origins, in the order of the
            network's zones or of `zones`. Requests within a zone need no road and are left out.
        dates : first and last day, both included, needed with {date: matrix}. The number of days is that of this public
            range: days without a matrix have no requests, matrices of other days are left out.
        """
        check_type(network, Network, "network", HistoryError)
        _period(period_min, dated=dates is not None)  # before any matrix is looked at
        days = None if dates is None else days_between(dates)
        tables = _by_date(matrices, days) if isinstance(matrices, Mapping) else _in_order(matrices)
        nodes = network.zones if zones is None else zone_nodes(network, zones)
        pairs = Pairs.of_zones(network, on_unreachable=on_unreachable)
        row_of = np.full(network.nodes, -1)
        row_of[nodes] = np.arange(nodes.size)
        rows, columns = row_of[pairs.origin], row_of[pairs.destination]
        if (rows < 0).any() or (columns < 0).any():
            raise HistoryError(f"the matrices cover {nodes.size:,} of the network's {network.zones.size:,} zones")
        counts = np.zeros((len(tables), len(pairs)), dtype=np.int64)
        for day, matrix in enumerate(tables):
            if matrix is None:
                continue
            table = as_array(matrix, f"day {day:,}: the matrix", HistoryError)
            if table.shape != (nodes.size, nodes.size):
                raise HistoryError(
                    f"day {day:,}: the matrix has shape {table.shape} where {nodes.size:,} x {nodes.size:,} is needed"
                )
            counts[day] = _counts(table.reshape(1, -1), table.size, day).reshape(table.shape)[rows, columns]
        return cls(pairs, counts, period_min=period_min, dates=days, expansion=expansion)

    @property
    def days(self) -> int:
        """N, the number of days; public."""
        return len(self.counts)

    def each_day(self) -> list[DemandHistory]:
        """PRIVATE. One history for each day."""
        days = [replace(self.frame, calendar=self.frame.calendar.day(day)) for day in range(self.days)]
        return [
            DemandHistory.of(frame, self.counts[day : day + 1], simulated=self.simulated, elsewhere=self.elsewhere)
            for day, frame in enumerate(days)
        ]

    @property
    def mean(self) -> Demand:
        """PRIVATE. The mean demand Λ̄ = expansion · Σ_days counts / (N T), vehicles per minute."""
        observed = self.counts.sum(axis=0) / (self.days * self.period_min)
        return Demand.from_observed(self.pairs, observed, expansion=self.expansion)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DemandHistory):
            return NotImplemented
        made = (self.simulated, self.elsewhere) == (other.simulated, other.elsewhere)
        public = self.frame == other.frame and made
        return public and self.requests == other.requests and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        made = ", simulated" if self.simulated else ", PRIVATE"
        return f"DemandHistory({self.days:,} days of {self.period_min:g} min, {len(self.pairs):,} pairs{made})"


def _period(period_min: object, *, dated: bool, contribution: Contribution | None = None) -> float:
    """T, where it is usable (see `DemandHistory`); looks at public arguments only."""
    if contribution is not None:
        check_type(contribution, Contribution, "contribution", HistoryError)
    of_day = dated or (contribution is not None and contribution.unit == "user-day")
    return (check_period_of_day if of_day else check_period)(period_min, error=HistoryError)


def _remade(
    frame: Frame, counts: NDArray[np.int64], simulated: bool, requests: int | None = None, elsewhere: bool = False
) -> DemandHistory:
    return DemandHistory.of(frame, counts, simulated=simulated, requests=requests, elsewhere=elsewhere)


def _by_date(matrices: Mapping[dt.date, ArrayLike], days: list[dt.date] | None) -> list[ArrayLike | None]:
    """The matrix of each day of the range, None for a day without one."""
    if days is None:
        raise HistoryError("matrices by date need dates=(first, last): the number of days must not come from the data")
    for position, day in enumerate(matrices):
        if not isinstance(day, dt.date) or isinstance(day, dt.datetime):
            raise HistoryError(
                f"matrices: the key at position {position:,} is a {type(day).__name__}; use datetime.date"
            )
    return [matrices.get(day) for day in days]


def _in_order(matrices: Iterable[ArrayLike]) -> list[ArrayLike | None]:
    try:
        return list(matrices)
    except TypeError:
        pass
    raise HistoryError(f"matrices is a {type(matrices).__name__}; pass one matrix for each day")


def _counts(values: ArrayLike, pairs: int, first_day: int = 0) -> NDArray[np.int64]:
    """(days, pairs) read-only int64; messages carry positions, never counts."""
    array = as_array(values, "counts", HistoryError)
    if array.ndim != 2 or array.shape[1] != pairs:  # noqa: PLR2004 - days and pairs
        raise HistoryError(f"counts have shape {array.shape}; pass (days, {pairs}), one column per pair")
    if not len(array):
        raise HistoryError("there are no days; a history has at least one")
    if len(array) > MOST_DAYS:
        raise HistoryError(f"there are {len(array):,} days; a history has at most {MOST_DAYS:,}")
    if array.dtype.kind not in "iu":
        raise HistoryError(f"counts have type {array.dtype}; requests are counted in whole numbers, pass integers")
    bad = np.argwhere((array < 0) | (array > LARGEST_COUNT))
    if len(bad):
        day, pair = bad[0]
        raise HistoryError(
            f"{len(bad):,} counts are negative or above {LARGEST_COUNT:,} (first at day {day + first_day:,}, position "
            f"{pair:,}); counts of requests are at least 0"
        )
    return freeze(array.astype(np.int64))
