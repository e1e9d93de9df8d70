"""How trip files are laid out: which columns hold what, and how times are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from privroute.errors import HistoryError, named
from privroute.network.checks import real_number, show

__all__ = ["COUNTS_ARE_TRIPS", "ROWS_ARE_TRIPS", "Columns", "EpochUnit", "TripFormat"]

ROWS_ARE_TRIPS = (
    "one row is one trip: no trip is in two rows (every exact copy of a row counts), and no row was made of other "
    "people's trips"
)

COUNTS_ARE_TRIPS = (
    "the counts were made outside of privroute of trips, each in at most one count, once, and of each user no more "
    "than the limits allow"
)

Columns = str | tuple[str, str]
EpochUnit = Literal["s", "ms", "us", "ns"]


@dataclass(frozen=True, slots=True)
class TripFormat:
    """Public: names of columns and formats, never what is in them.

    departure, user : columns of the departure time and of the user's id
    origin, destination : a column of the zone's label, or the columns of (longitude, latitude)
    time_format : of texts, in the letters of strptime; epoch_unit : of numbers, counted from 1970 in UTC
    weight : column of the requests' weights, None where every request counts once; weight_unit : the weight that counts
        as one request. A weight is rounded to a whole number of these, and cut off at the study's max_weight
    times_as_before : the curator asserts that other columns or formats than those of earlier releases give each trip
        the same time; a ledger asks for it where they differ
    max_zone_distance_km : coordinates that are in no zone and farther than this from every zone belong to no zone;
        None: 0 for polygons, the width of a grid's cells, 1 km for zones without areas
    rows_are_trips : the curator asserts of tables and counts what nobody can check there: ROWS_ARE_TRIPS
    """

    departure: str = "departure"
    origin: Columns = "origin"
    destination: Columns = "destination"
    user: str = "user"
    time_format: str | None = None
    epoch_unit: EpochUnit | None = None
    max_zone_distance_km: float | None = None
    weight: str | None = None
    weight_unit: float = 1.0
    times_as_before: bool = False
    rows_are_trips: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.rows_are_trips, bool):
            raise HistoryError(f"{named('rows_are_trips')} is {show(self.rows_are_trips)}; pass True or False")
        for name in ("departure", "user"):
            object.__setattr__(self, name, _column(getattr(self, name), name))
        if self.weight is not None:
            object.__setattr__(self, "weight", _column(self.weight, "weight"))
        grid = real_number(
            self.weight_unit, "weight_unit", HistoryError, lambda number: number > 0, "pass the weight of one request"
        )
        object.__setattr__(self, "weight_unit", grid)
        for name in ("origin", "destination"):
            given = getattr(self, name)
            two = isinstance(given, tuple | list) and len(given) == len(("longitude", "latitude"))
            column = tuple(_column(part, name) for part in given) if two else _column(given, name)
            object.__setattr__(self, name, column)
        if not isinstance(self.times_as_before, bool):
            raise HistoryError(f"{named('times_as_before')} is {show(self.times_as_before)}; pass True or False")
        if self.max_zone_distance_km is not None:
            distance = real_number(
                self.max_zone_distance_km,
                "max_zone_distance_km",
                HistoryError,
                lambda number: number > 0,
                "pass kilometres beyond which no zone is near",
            )
            object.__setattr__(self, "max_zone_distance_km", distance)

    @property
    def asserted(self) -> tuple[str, ...]:
        """What the proofs assume of the files, and nobody can check."""
        before = "these columns and formats give each trip the time that earlier releases read"
        return (ROWS_ARE_TRIPS, *([before] if self.times_as_before else []))

    def roles(self, *, with_user: bool) -> dict[str, str]:
        """{role: column}: departure, origin or origin_lon and origin_lat, destination likewise, user_id."""
        roles = {"departure": self.departure}
        for role, given in (("origin", self.origin), ("destination", self.destination)):
            if isinstance(given, str):
                roles[role] = given
            else:
                roles |= {f"{role}_lon": given[0], f"{role}_lat": given[1]}
        weighed = {} if self.weight is None else {"weight": self.weight}
        return roles | ({"user_id": self.user} if with_user else {}) | weighed

    @property
    def has_coordinates(self) -> bool:
        """Whether an end of a trip is given as longitude and latitude."""
        return not (isinstance(self.origin, str) and isinstance(self.destination, str))


def _column(given: object, argument: str) -> str:
    if not isinstance(given, str) or not given.strip() or "\0" in given:
        raise HistoryError(f"{named(argument)} is {show(given)}; pass the name of a column")
    return given.strip()
