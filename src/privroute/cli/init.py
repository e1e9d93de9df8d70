"""`privroute init`: write a study file."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privroute.cli.command import SETTINGS
from privroute.cli.study_options import SetOption, settings_of, with_keys
from privroute.cli.terminal import line, say, warn
from privroute.errors import InputError, PrivrouteError
from privroute.study.guarantee import delta_caveat
from privroute.study.keys import PATH
from privroute.study.schema import KEYS

if TYPE_CHECKING:
    from privroute.study.settings import Settings

__all__ = ["init"]

_ASKED = {
    "network.source": "Network (a TNTP net file, a GMNS folder, or sioux-falls)",
    "calendar.from": "First day, like 2026-03-02",
    "calendar.to": "Last day, included",
    "calendar.weekdays": "Weekdays, like mon-fri (empty: all)",
    "calendar.periods": "Hours of the day, like 07:00-08:00",
    "calendar.time_zone": "Time zone, like Europe/Berlin (empty: that of the files)",
    "unit.protect": "What to protect: request (one trip), user, or user-day",
    "unit.max_requests": "Maximum number of trips to keep for each user",
    "guarantee.epsilon": "Epsilon, privacy loss for one unit (0.1 is strong)",
    "guarantee.delta": "Delta, a small probability",
}
_OPTIONAL = ("calendar.weekdays", "calendar.time_zone", "unit.protect", "unit.max_requests")
_ANY_WEEK = {"calendar.from": "2026-01-05", "calendar.to": "2026-01-11"}
_SUGGESTED = {
    "calendar.weekdays": "",
    "calendar.time_zone": "",
    "unit.protect": "request",
    "guarantee.epsilon": "0.1",
    "guarantee.delta": "1e-6",
}


@with_keys(*KEYS)
def init(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="File to write.", show_default=False)],
    given: dict[str, Any],
    assigned: SetOption = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
) -> None:
    """Write a study file.

    On a terminal, asks for the network, dates, weekdays, hours, time zone, unit, epsilon and delta if they are not
    given as flags. Otherwise they are left for you to fill in. Every key has a comment. Paths are relative to the file.
    """
    from privroute.network.text_files import write_whole  # noqa: PLC0415 - numbers and readers
    from privroute.study.source import BUILT_IN  # noqa: PLC0415
    from privroute.study.study import relative  # noqa: PLC0415
    from privroute.study.toml_text import as_toml  # noqa: PLC0415

    if study.exists() and not overwrite:
        raise InputError(f"{study} already exists; choose another file, or replace it with --overwrite")
    settings = settings_of(None, given, assigned)
    if sys.stdin.isatty():
        for key in _ASKED:
            if key not in settings.values and (key != "unit.max_requests" or settings.get("unit.protect") != "request"):
                settings = _ask(settings, key)
    SETTINGS.set(settings)
    _check(settings)
    values = {
        key: relative(value, study.parent) if KEYS[key].kind is PATH else value
        for key, value in settings.values.items()
    }
    with write_whole(study) as stream:
        stream.write(as_toml(values))
    line(f"Written: {study}", style="bold")
    caveat = delta_caveat(settings.values.get("guarantee.delta", 0.0))
    if caveat is not None:
        warn(f"NOT PRIVATE: {caveat}. learn will reject it; choose a delta such as 1e-6.")
    lacking = [key for key in _ASKED if key not in values and key not in _OPTIONAL]
    if lacking:
        say(f"Fill in: {', '.join(lacking)}.")
    prior = "" if values.get("network.source") == BUILT_IN else " --prior PATH  (a public demand)"
    line(f"Next: privroute plan {shlex.quote(str(study))}{prior}")


def _ask(settings: "Settings", key: str) -> "Settings":
    """Ask until the answer can be used."""
    from privroute.study.settings import spelt_as_key  # noqa: PLC0415 - numbers and readers

    while True:
        text = typer.prompt(_ASKED[key], default=_SUGGESTED.get(key), show_default=bool(_SUGGESTED.get(key)))
        if not text:
            return settings
        try:
            answered = settings.instead({key: text})
            _check(answered, key)
        except PrivrouteError as problem:
            line(problem.spelt(spelt_as_key), style="red")
        else:
            return answered


def _check(settings: "Settings", asked: str | None = None) -> None:
    """Refuse what cannot be part of any study, as far as it is there; `asked`: only what an answer may have spoilt."""
    values = settings.values
    section = None if asked is None else KEYS[asked].section
    if section in (None, "calendar"):
        ends = {"calendar.from", "calendar.to"} & set(values)
        if "calendar.days" in values or len(ends) == len(_ANY_WEEK):
            settings.calendar()
        elif not ends:  # hours, weekdays and time zone can be checked without dates
            settings.instead(_ANY_WEEK).calendar()
    if asked != "unit.protect":  # the bounds are asked for next
        settings.contribution()
    if section in (None, "guarantee") and any(key in values for key in ("guarantee.epsilon", "guarantee.delta")):
        settings.instead({key: values.get(key, 0.5) for key in ("guarantee.epsilon", "guarantee.delta")}).guarantee()
    if section in (None, "network") and "network.source" in values:
        settings.source().read()
    if section is None:
        settings.trip_format()
        settings.check_mechanism(prior=True)
