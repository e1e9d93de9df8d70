"""Numbers of counted and dropped rows. PRIVATE: for the curator's terminal and files, never for a release."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from privroute.network.text_files import write_whole

__all__ = ["TripRows"]

_WORDS = {
    "malformed": "not readable as rows",
    "unreadable_time": "with an unreadable departure time or date",
    "unreadable_count": "with an unreadable number of trips",
    "outside": "outside the dates, weekdays or period",
    "missing_user": "without a user id",
    "unreadable_weight": "with a weight that is not a number of at least 0",
    "unknown_zone": "with an origin or destination that is not a zone of the network",
    "missing_place": "without coordinates",
    "swapped_place": "whose longitude and latitude look swapped",
    "outside_network": "with coordinates outside of the network",
    "too_far": "with coordinates that are in no zone, or too far from every zone",
    "within_zone": "that start and end in the same zone",
    "no_path": "for pairs that no path connects",
    "above_bounds": "above the limits for one user",
}
_CONTRADICTION = (
    ". WARNING: pre_bounded asserts that the trips are within the limits for each user, but they are not, so they are "
    "refused: reading other dates would keep more rows of the same user. Limit the data set once, and read the result"
)
_PRIVATE_MODE = 0o600


@dataclass(frozen=True, slots=True)
class TripRows:
    """PRIVATE. Numbers of rows; each row of the files is in exactly one of them.

    counted : in the history
    malformed : lines of a CSV file that are not UTF-8, too long, or have not as many cells as the header
    unreadable_time, outside : no departure time or date, or one outside the dates, weekdays or period
    unreadable_count : of files of daily counts, rows whose number of trips is not a whole number of at least 0
    missing_user : at user level, rows without a user id
    unreadable_weight : rows whose weight is missing, negative or not a number
    unknown_zone, within_zone, no_path : an end that is no zone, twice the same zone, no path
    missing_place, swapped_place, outside_network, too_far : of trips with coordinates: there are none; they would have
        a zone with longitude and latitude swapped; they are outside of the network; they are in no zone, and farther
        than max_zone_distance_km from every zone
    above_bounds : at user level, requests that were not among those kept of their user
    pre_bounded : whether the caller asserted that there are none of these
    """

    counted: int = 0
    malformed: int = 0
    unreadable_time: int = 0
    unreadable_count: int = 0
    outside: int = 0
    missing_user: int = 0
    unreadable_weight: int = 0
    unknown_zone: int = 0
    within_zone: int = 0
    no_path: int = 0
    missing_place: int = 0
    swapped_place: int = 0
    outside_network: int = 0
    too_far: int = 0
    above_bounds: int = 0
    pre_bounded: bool = False

    @property
    def numbers(self) -> dict[str, int]:
        """The numbers of rows by their names."""
        return {name: number for name, number in asdict(self).items() if name != "pre_bounded"}

    @property
    def read(self) -> int:
        """Rows in the files."""
        return sum(self.numbers.values())

    def __str__(self) -> str:
        parts = [f"{number:,} {_WORDS[name]}" for name, number in self.numbers.items() if number and name in _WORDS]
        left_out = f"; dropped: {', '.join(parts)}" if parts else ""
        warning = _CONTRADICTION if self.pre_bounded and self.above_bounds else ""
        return f"PRIVATE, do not publish: {self.counted:,} of {self.read:,} rows counted{left_out}{warning}"

    def show(self) -> None:
        """Print the numbers on the curator's terminal, the error stream."""
        sys.stderr.write(f"{self}\n")

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the numbers as JSON, for the curator's eyes."""
        values = {"notice": "PRIVATE, computed from trips without noise: do not publish", "read": self.read}
        with write_whole(path) as stream:
            os.fchmod(stream.fileno(), _PRIVATE_MODE)
            json.dump(values | self.numbers, stream, indent=2)
            stream.write("\n")
        Path(path).chmod(_PRIVATE_MODE)
