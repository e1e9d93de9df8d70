"""The units and words in which screens, files and messages speak of a network's traffic.

Inside the package time is in minutes and traffic in amounts per minute, whatever the amounts are: vehicles, Mbit.
A `Units` says what they are called and converts numbers when they are shown:

    shown time = minutes · 60,000 (ms), 60 (s), 1 (min), 1/60 (h)
    shown flow = amount per minute · 1/60 (per second), 1 (per minute), 60 (per hour)
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from privroute.errors import InputError, NetworkError, named
from privroute.network.checks import show

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["MBIT", "TIME_UNITS", "Units"]

_PER_MIN = {"ms": 60_000.0, "s": 60.0, "min": 1.0, "h": 1.0 / 60.0}
_WORDS = {"ms": "ms", "s": "seconds", "min": "minutes", "h": "hours"}
TIME_UNITS = tuple(_PER_MIN)
_MINUTES_OF = {"s": 1 / 60, "second": 1 / 60, "min": 1.0, "minute": 1.0, "h": 60.0, "hour": 60.0}
_FLOW = re.compile(rf"(?P<amount>.*\S)(?:\s*/\s*|\s+per\s+)(?P<per>{'|'.join(_MINUTES_OF)})")
_NAME = re.compile(r"\w(?:[\w .·-]*\w)?")  # nothing that HTML, spreadsheets or terminals interpret
_OWN_WORDS = re.compile(r"\b(?P<word>trip|travel time|road|vehicle|driver)(?P<several>s?)\b", re.IGNORECASE)
_LONGEST = 40
_PLAIN = 1000.0
_VEHICLES = frozenset(
    ("vehicles", "vehicle", "veh", "cars", "car", "pcu", "pce", "trucks", "buses", "taxis", "bicycles")
)
_Number = TypeVar("_Number", float, "NDArray[np.float64]")


@dataclass(frozen=True, slots=True)
class Units:
    """What traffic and times are called and in what units they are shown.

    request : what one record of the data is, singular; its plural ends in s
    flow : unit of traffic, an amount per second, minute or hour: "vehicles per hour", "Mbit/s"
    time : unit of travel times and delays: ms, s, min or h
    """

    request: str = "trip"
    flow: str = "vehicles per hour"
    time: str = "min"

    def __post_init__(self) -> None:
        if self.time not in TIME_UNITS:
            raise InputError(f"{named('time')} is {show(self.time)}; pass one of {', '.join(TIME_UNITS)}")
        for name in ("request", "flow"):
            value = getattr(self, name)
            if not isinstance(value, str) or not 0 < len(value) <= _LONGEST or not value.isprintable():
                raise InputError(f"{named(name)} is {show(value)}; pass a text of 1 to {_LONGEST} characters")
        if not _NAME.fullmatch(self.request):
            raise InputError(f"{named('request')} is {show(self.request)}; use letters, digits, spaces, - and .")
        found = _FLOW.fullmatch(self.flow)
        if found is None or not _NAME.fullmatch(found["amount"]):
            raise InputError(
                f"{named('flow')} is {show(self.flow)}; pass an amount per second, minute or hour, "
                'like "Mbit/s" or "vehicles per hour"'
            )

    @property
    def amount(self) -> str:
        """What flows: vehicles, Mbit."""
        return self._flow_parts[0]

    @property
    def requests(self) -> str:
        """Several requests."""
        return f"{self.request}s"

    @property
    def times(self) -> str:
        """The unit of time in words: minutes, ms."""
        return _WORDS[self.time]

    @property
    def on_roads(self) -> bool:
        """Whether vehicles flow, so that links are roads and requests are trips of people."""
        return self.amount.lower() in _VEHICLES

    @property
    def hourly(self) -> bool:
        """Whether flows are vehicles per hour, which are shown as whole numbers."""
        return self.on_roads and self.flow_per_h == 1.0

    @property
    def empty(self) -> str:
        """Where nothing flows: empty roads."""
        return "empty roads" if self.on_roads else "empty links"

    @property
    def delay(self) -> str:
        """What links cost: travel time, delay."""
        return "travel time" if self.on_roads else "delay"

    @property
    def time_per_min(self) -> float:
        """Units of time in a minute."""
        return _PER_MIN[self.time]

    @property
    def flow_per_h(self) -> float:
        """Units of flow in an amount of 1 per hour."""
        return self._flow_parts[1] / 60.0

    def time_of(self, minutes: _Number) -> _Number:
        """Minutes in the unit of time."""
        return minutes * _PER_MIN[self.time]

    def flow_of(self, per_min: _Number) -> _Number:
        """An amount per minute in the unit of flow."""
        return per_min * self._flow_parts[1]

    def flow_text(self, per_min: float, decimals: int = 0) -> str:
        """A flow as screens show it, without its unit: whole vehicles, or four digits of other amounts."""
        value = self.flow_of(per_min)
        if self.hourly or value >= _PLAIN:
            return f"{value:,.{decimals if self.hourly else 0}f}"
        return f"{value:.4g}"

    def said(self, sentence: str) -> str:
        """A sentence of the package about trips on roads in these words; not for texts with names or labels in it."""
        words = {"trip": self.request}
        if not self.on_roads:
            words |= {"travel time": "delay", "road": "link", "vehicle": self.request, "driver": self.request}

        def instead(found: re.Match[str]) -> str:
            word = words.get(found["word"].lower(), found["word"])
            return (word[0].upper() + word[1:] if found["word"][0].isupper() else word) + found["several"]

        return _OWN_WORDS.sub(instead, sentence)

    def column(self, name: str) -> tuple[str, float]:
        """What a column of a table is called in these units, and the factor from minutes or amounts per hour.

        volume_per_h -> volume_Mbit_per_s, expected_min -> expected_ms; others stay as they are
        """
        if name.endswith("_min") and not name.endswith("_per_min") and self.time != Units().time:
            return f"{name.removesuffix('_min')}_{self.time}", self.time_per_min
        if name.endswith("_per_h") and not self.hourly:
            unit = re.sub(r"\W+", "_", self.flow.replace("/", " per "))
            return f"{name.removesuffix('_per_h')}_{unit}", self.flow_per_h
        return name, 1.0

    def as_dict(self) -> dict[str, str]:
        """Plain values."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    @classmethod
    def from_dict(cls, values: Any) -> Units:
        """Read them back; anything missing or unknown is refused."""
        if not isinstance(values, dict) or set(values) != {item.name for item in fields(cls)}:
            raise InputError(f"units have other entries than {', '.join(item.name for item in fields(cls))}")
        return cls(**values)

    def as_columns(self) -> dict[str, str]:
        """For files of networks, by column; nothing where they are the usual ones."""
        return {} if self == Units() else {f"{name}_unit": value for name, value in self.as_dict().items()}

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any]) -> Units:
        """Those of a file of a network; what it does not say is the usual one."""
        said = {item.name: columns.get(f"{item.name}_unit") for item in fields(cls)}
        try:
            return cls(**{name: value for name, value in said.items() if value is not None and value != ""})
        except InputError as problem:
            raise NetworkError(f"its units cannot be used: {problem}") from None

    @property
    def _flow_parts(self) -> tuple[str, float]:
        """The amount, and the minutes of the time it is divided by."""
        found = _FLOW.fullmatch(self.flow)
        assert found is not None  # noqa: S101 - checked when made
        return found["amount"], _MINUTES_OF[found["per"]]


MBIT = Units("request", "Mbit/s", "ms")
"""Those of data networks."""
