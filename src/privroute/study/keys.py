"""What a key of a study is, and the types of its values: how files and the command line write them."""

from __future__ import annotations

import datetime as dt
import math
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privroute.errors import InputError, named
from privroute.network.checks import show

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "COLUMNS",
    "DATE",
    "DATES",
    "DAYS_BY_NAME",
    "NUMBER",
    "PATH",
    "PERIODS",
    "TEXT",
    "WEIGHTS",
    "WHOLE",
    "YES_NO",
    "Key",
    "Kind",
    "choice_of",
]


@dataclass(frozen=True, slots=True)
class Kind:
    """The type of a key.

    read : what a study file holds -> the value; parse : a text of the command line -> the value. Both raise ValueError
    wanted : what to write instead, in words; choices : all values, where they can be listed
    """

    read: Callable[[Any], Any]
    parse: Callable[[str], Any]
    wanted: str
    metavar: str
    choices: tuple[str, ...] = ()


def _of_type(*types: type) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) not in types:
            raise ValueError
        return value

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError
    value.encode()  # a text with lone surrogates is none, and UnicodeEncodeError is a ValueError
    return value


def _number(value: Any) -> float:
    number = _of_type(int, float)(value)
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _date(value: Any) -> dt.date:
    return dt.date.fromisoformat(value) if isinstance(value, str) else _of_type(dt.date)(value)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError
    return tuple(_text(item) for item in value)


def _dates(value: Any) -> tuple[dt.date, ...]:
    if not isinstance(value, list | tuple) or not value:
        raise ValueError
    return tuple(sorted({_date(item) for item in value}))


def _days_by_name(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not value:
        raise ValueError
    return {_text(name): _text(days) for name, days in value.items()}


def _weights(value: Any) -> dict[str, float]:
    if not isinstance(value, dict) or not value:
        raise ValueError
    return {_text(name): _number(weight) for name, weight in value.items()}


def _named(text: str) -> dict[str, str]:
    """Texts by name: name=text;name=text."""
    parts = [part.partition("=") for part in text.split(";")]
    if not all(equals for _, equals, _ in parts):
        raise ValueError
    return {name.strip(): value.strip() for name, _, value in parts}


def _columns(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, str):
        return _text(value)
    found = _texts(value)
    if len(found) != len(("longitude", "latitude")):
        raise ValueError
    return found


def _yes_no(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError
    return text.lower() == "true"


def _split(text: str) -> str | tuple[str, ...]:
    return _columns(text.split(",")) if "," in text else _text(text)


def _listed(text: str) -> tuple[str, ...]:
    """One text, or a list of them as a study file writes it."""
    return _texts(tomllib.loads(f"list = {text}")["list"]) if text.startswith("[") else (_text(text),)


TEXT = Kind(_text, _text, "write a text", "TEXT")
PATH = Kind(_text, _text, "write a path", "PATH")
NUMBER = Kind(_number, float, "pass a number", "NUMBER")
WHOLE = Kind(_of_type(int), int, "pass a whole number", "N")
YES_NO = Kind(_of_type(bool), _yes_no, "write true or false", "true|false")
DATE = Kind(_date, _date, "write a date like 2026-03-02", "DATE")
DATES = Kind(
    _dates, lambda text: _dates(text.split(",")), "write a list of dates, like [2026-04-03, 2026-04-06]", "DATE,..."
)
DAYS_BY_NAME = Kind(
    _days_by_name,
    lambda text: _days_by_name(_named(text)),
    'write names and weekdays, like {workday = "mon-fri", weekend = "sat,sun"}',
    "NAME=DAYS;...",
)
WEIGHTS = Kind(
    _weights,
    lambda text: _weights({name: float(weight) for name, weight in _named(text).items()}),
    'write periods or kinds of days and numbers, like {"07:00-08:00" = 2.0}',
    "PERIOD=NUMBER;...",
)
PERIODS = Kind(_texts, _listed, 'write a list of start and end, like ["07:00-08:00"]', "START-END")
COLUMNS = Kind(_columns, _split, "write a column, or two: longitude, latitude", "COLUMN|LON,LAT")


def choice_of(*choices: str) -> Kind:
    """One of these texts."""

    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError
        return str(value)

    quoted = [f'"{choice}"' for choice in choices]
    return Kind(read, read, f"pass {', '.join(quoted[:-1])} or {quoted[-1]}", "|".join(choices), choices)


@dataclass(frozen=True, slots=True)
class Key:
    """One setting of a study.

    section, name : where it stands in a study file
    help : a sentence; default : what holds where nothing is said, for the help; example : for the file of `init`
    required : when it must be set, as a sentence
    arguments : what functions call it, the usual one first; flag : what the command line calls it
    owners : mechanisms to which it belongs
    """

    section: str
    name: str
    kind: Kind
    help: str
    arguments: tuple[str, ...] = ()
    flag: str = ""
    default: Any = None
    example: Any = None
    owners: tuple[str, ...] = ()
    required: str = ""

    def __post_init__(self) -> None:
        if not self.arguments:
            object.__setattr__(self, "arguments", (self.name,))
        if not self.flag:
            object.__setattr__(self, "flag", f"--{self.name.replace('_', '-')}")

    @property
    def id(self) -> str:
        """The key as --set and errors spell it."""
        return f"{self.section}.{self.name}"

    @property
    def about(self) -> str:
        """What study files and the documentation say of it: help, whether it is required, allowed values, default."""
        allowed = f"Allowed: {', '.join(self.kind.choices)}." if self.kind.choices else ""
        default = "" if self.default is None or "Default:" in self.help else f"Default: {self.default}."
        return " ".join(part for part in (self.help, self.required, allowed, default) if part)

    def read(self, value: object) -> Any:
        """The value that stands in a study file."""
        return self._checked(self.kind.read, value)

    def take(self, value: object) -> Any:
        """A value that was given instead: a text as on the command line, or as in a study file."""
        return self._checked(self.kind.parse if isinstance(value, str) else self.kind.read, value)

    def _checked(self, read: Callable[[Any], Any], value: object) -> Any:
        try:
            return read(value)
        except (ValueError, TypeError):  # TypeError: an unhashable value is no choice
            raise InputError(f"{named(self.arguments[0])} is {show(value)}; {self.kind.wanted}") from None
