"""The values of a study's keys, from a file and from what was given instead, and the parts that they make."""

from __future__ import annotations

import difflib
import os
import re
import stat
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from privroute.errors import FormatError, GuaranteeError, InputError, arg, named
from privroute.network.display_units import Units
from privroute.network.network_files import NETWORK_FILES
from privroute.network.text_files import as_path
from privroute.study.calendar import Calendar
from privroute.study.contribution import as_contribution
from privroute.study.guarantee import Guarantee
from privroute.study.keys import PATH
from privroute.study.mechanisms import MECHANISMS
from privroute.study.schema import BY_ARGUMENT, KEYS, SECTIONS
from privroute.study.source import BUILT_IN, Source
from privroute.study.trip_format import TripFormat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.study.contribution import Contribution
    from privroute.study.guarantee import Unit
    from privroute.study.mechanisms import Mechanism

__all__ = ["Settings", "find_key", "named_by_keys", "spelt_as_key"]

_LARGEST_FILE_BYTES = 2**16
_LONGEST_LINE = 4096  # dotted keys cost the parser the square of their length
_TOML_VALUES = (
    'write one key = value on a line: texts in quotes like "sioux-falls", dates like 2026-03-02, numbers like 0.1, '
    'lists like ["07:00-08:00"]'
)
_TOML_ADVICE = {  # by what the parser says
    "nested": _TOML_VALUES,
    "Cannot overwrite": "the key stands twice; keep one",
    "Cannot declare": "the section stands twice; put its keys under one heading",
    "Expected '=' after a key": "write key = value, or begin comments with #",
    "Expected ']'": "write a section like [calendar]",
    "Unclosed array": "end the list with ]",
    "Unterminated string": "end the text with a quote",
    "Illegal character": "end the text with a quote on the same line",
    "Invalid statement": "write key = value, or begin comments with #",
    "backslash": r"write paths with / or \\, or in single quotes",
}
_ZONE_FIELDS = {"source": "zones", "id": "zone_id"}  # of Source, by key
_NEEDED = {  # by mechanism: what it cannot do without, and why
    "alpha": "It is the weight of the regulariser: a larger one means less noise, and routes that are spread more. Try "
    "values on public data with privroute plan, and fix one before reading trips",
    "public_demand": "It bounds the traffic of a day, on which the influence of one trip depends, and this bound must "
    "be public",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Values by key, {"guarantee.epsilon": 0.1}, of the right types; whether they fit together is not yet known.

    file : the study file that was read, if any
    given : keys whose values were given instead of, or beside, those of the file
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None
    given: frozenset[str] = frozenset()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Settings:
        """Read a study file; an unknown section or key, or a wrong type, is refused by its name."""
        place = as_path(path)
        values = {}
        for section, table in _tables(place).items():
            if section not in SECTIONS:
                raise FormatError(place, f"[{section[:40]}] is not a section; {_known(section, SECTIONS)}")
            if not isinstance(table, dict):
                raise FormatError(place, f"{section} is a value where a section is needed; write [{section}] above it")
            for name, value in table.items():
                key = f"{section}.{name}"
                if key not in KEYS:
                    names = [known.name for known in KEYS.values() if known.section == section]
                    raise FormatError(place, f"{section}.{name[:40]} is not a key; {_known(name, names)}")
                try:
                    values[key] = KEYS[key].read(value)
                except InputError as problem:
                    raise FormatError(place, problem.spelt(spelt_as_key)) from None
                if KEYS[key].kind is PATH and values[key] != BUILT_IN:
                    values[key] = os.path.normpath(place.parent / values[key])
        return cls(values, place)

    def instead(self, given: Mapping[str, object]) -> Settings:
        """With other values for some keys: texts as on the command line, or values as in a study file."""
        changed = {find_key(name): value for name, value in given.items()}
        return Settings(
            {**self.values, **{key: KEYS[key].take(value) for key, value in changed.items()}},
            self.file,
            self.given | set(changed),
        )

    def get(self, key: str) -> Any:
        """The value, or the key's default."""
        return self.values.get(key, KEYS[key].default)

    def calendar(self) -> Calendar:
        """Days, hours and time zone."""
        first, last, weekdays, periods, zone, days, minutes, kinds, holidays = (
            self.values.get(f"calendar.{name}")
            for name in (
                *("from", "to", "weekdays", "periods", "time_zone", "days", "period_min", "day_types", "holidays"),
            )
        )
        if periods is not None and minutes is not None:
            raise InputError(f"{named('period')} already sets the length; omit {named('period_min')}")
        hours: dict[str, Any] = {"periods": periods or ()} | ({} if minutes is None else {"period_min": minutes})
        if days is not None and first is None and last is None:
            for name, value in (("weekdays", weekdays), ("day_types", kinds), ("holidays", holidays)):
                if value is not None:
                    raise InputError(
                        f"{named(name)} selects days of a range of dates, but {named('days')} has no dates; replace "
                        f"it by {named('from')} and {named('to')}, or omit {named(name)}"
                    )
            return Calendar.from_dict({"days": days, "time_zone": zone} | hours)
        if first is None or last is None:
            lacking = "from" if first is None else "to"
            raise InputError(f"{named(lacking)} is missing; the date range is public and is never taken from the data")
        if last < first:
            raise InputError(f"{named('to')} {last} is before {named('from')} {first}")
        dated = Calendar.of(
            list(periods or ("00:00-24:00",)),
            (first, last),
            weekdays,
            zone,
            day_types=kinds,
            holidays=holidays or (),
        )
        if days is not None and days != dated.days:
            raise InputError(f"{named('days')} is {days:,}, and there are {dated.days:,} from {first} to {last}")
        return replace(dated, periods=Calendar.from_dict({"days": 1} | hours).periods)

    def contribution(self) -> Contribution | None:
        """The bounds on users; None where single requests are protected."""
        unit, most, per_pair = (self.get(f"unit.{name}") for name in ("protect", "max_requests", "max_per_pair"))
        return as_contribution(
            unit,
            most,
            per_pair,
            pre_bounded=bool(self.get("unit.pre_bounded")),
            max_for_total=self.get("unit.max_for_total"),
            each_period=bool(self.get("unit.each_period")),
            max_weight=self.get("unit.max_weight"),
            kept_set=self.get("unit.kept_set"),
        )

    def trip_format(self) -> TripFormat:
        """Columns and formats of trip files."""
        return TripFormat(**self._section("trips"))

    def guarantee(self) -> Guarantee | None:
        """Epsilon and delta; None only for the mechanism that has none."""
        epsilon, delta = self.get("guarantee.epsilon"), self.get("guarantee.delta")
        if self.get("mechanism.name") == "none":
            if epsilon is not None or delta is not None:
                raise GuaranteeError(
                    f"{arg('mechanism', 'none')} adds no noise, so it has no {named('epsilon')} and no {named('delta')}"
                )
            return None
        if epsilon is None or delta is None:
            raise GuaranteeError(
                f"{named('epsilon')} and {named('delta')} are needed, for instance 0.1 and 1e-6; privroute plan helps "
                "to choose"
            )
        unit: Unit = self.get("unit.protect")
        return Guarantee(epsilon, delta, unit)

    def source(self) -> Source:
        """Where the network and the public demand come from."""
        if "network.source" not in self.values:
            raise InputError(f"{named('network')} is missing: {NETWORK_FILES}, or {BUILT_IN} (built in)")
        values, zones = self._section("network"), self._section("zones")
        named_zones = {_ZONE_FIELDS.get(name, name): value for name, value in zones.items()}
        demand = self.values.get("mechanism.public_demand")
        named_zones["latency_types"] = self.values.get("latency.types")
        return Source(values.pop("source"), **values, **named_zones, public_demand=demand)

    def with_units(self, network: Network) -> Network:
        """The network with the words and units of these settings; what contradicts its own is refused."""
        said = self._section("units")
        if not said:
            return network
        units = Units(**{**network.units.as_dict(), **said})
        own = network.units.amount
        if network.units != Units() and units.amount != own:
            raise InputError(
                f"{named('flow')} is {units.flow!r}, but the network's capacities are in {own}; write {own} per "
                "second, minute or hour"
            )
        return replace(network, units=units)

    def check_mechanism(self, *, prior: bool = False) -> None:
        """Refuse options of another mechanism, and the lack of those that this one needs.

        prior : a public demand will be there without being named
        """
        name = self.get("mechanism.name")
        for key in KEYS.values():
            if key.owners and key.id in self.values and name not in key.owners:
                owners = " or ".join(arg("mechanism", owner) for owner in key.owners)
                raise InputError(f"{named(key.name)} is only valid with {owners}; omit it, or choose that")
        for option, why in _NEEDED.items():
            if name in KEYS[f"mechanism.{option}"].owners and f"mechanism.{option}" not in self.values:
                optional = name != "sgd" or prior or self.values.get("mechanism.beta") is not None
                if option == "public_demand" and optional:
                    continue
                raise GuaranteeError(f"{arg('mechanism', name)} needs {arg(option)}. {why}")

    def chosen_mechanism(self, public_demand: Demand | None = None) -> Mechanism | None:
        """The mechanism if it, or an option of one, is named; None leaves the choice to a public rule."""
        named_here = any(KEYS[key].section == "mechanism" for key in self.values)
        return self.mechanism(public_demand) if named_here else None

    def mechanism(self, public_demand: Demand | None = None) -> Mechanism:
        """The mechanism with its options."""
        self.check_mechanism(prior=public_demand is not None)
        options = self._section("mechanism")
        kind = MECHANISMS[options.pop("name", KEYS["mechanism.name"].default)]
        options.pop("public_demand", None)
        return kind(**options | ({} if public_demand is None else {"public_demand": public_demand}))

    def _section(self, section: str) -> dict[str, Any]:
        """The values of a section by name."""
        return {KEYS[key].name: value for key, value in self.values.items() if KEYS[key].section == section}


def find_key(name: str) -> str:
    """The key of this name, section.key; refused with the nearest one if there is none."""
    if name in KEYS:
        return name
    raise InputError(f"{name[:60]!r} is not a key; {_known(name, KEYS, write='section.key')}")


def spelt_as_key(name: str, rest: str) -> str:
    """Spell an argument in a message as the key of a study file."""
    if name == "dates":
        return f"{KEYS['calendar.from'].id} and {KEYS['calendar.to'].id}"
    if name not in BY_ARGUMENT:
        return f"{name}{rest}" if name else ""
    value = rest.removeprefix("=")
    shown = value.lower() if value in ("True", "False") else value
    return BY_ARGUMENT[name].id + (f" = {shown}" if shown else "")


@contextmanager
def named_by_keys() -> Iterator[None]:
    """Let errors name the keys of a study where they would name arguments of functions."""
    try:
        yield
    except InputError as problem:
        problem.args = (problem.spelt(spelt_as_key),)
        raise


def _tables(path: Path) -> dict[str, Any]:
    """The tables of a TOML file that is a small text."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise FormatError(path, "is not a regular file; pass a study file")
        if status.st_size > _LARGEST_FILE_BYTES:
            raise FormatError(path, f"is {status.st_size:,} bytes; a study file has at most {_LARGEST_FILE_BYTES:,}")
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, ValueError) as problem:
        if isinstance(problem, FormatError):
            raise
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise FormatError(path, f"cannot be read ({reason}); pass a study file, as privroute init writes it") from None
    if max(map(len, text.splitlines()), default=0) > _LONGEST_LINE:
        raise FormatError(path, f"has a line of more than {_LONGEST_LINE:,} characters; it is not a study file")
    try:
        return tomllib.loads(text)
    except RecursionError:
        reason, line = "values are nested too deeply", None
    except ValueError as problem:  # of its own, or a number of too many digits
        reason, at, where = str(problem).partition(" (at ")
        found = re.match(r"line (\d+)", where)
        line = int(found[1]) if found else None if not at or "end of document" not in where else text.count("\n") + 1
    advice = next((cure for sign, cure in _TOML_ADVICE.items() if sign in reason), _TOML_VALUES)
    raise FormatError(path, f"not TOML ({reason}); {advice}", line=line)


def _known(name: str, known: Mapping[str, Any] | list[str], write: str = "") -> str:
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"did you mean {near[0]}?"
    return f"write {write}, like guarantee.epsilon" if write else f"known: {', '.join(known)}"
