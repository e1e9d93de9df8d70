"""Command-line options from the table of a study's keys, and the settings that they and a study file make."""

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privroute.cli.command import SETTINGS
from privroute.errors import InputError
from privroute.study.keys import PERIODS, YES_NO, Key
from privroute.study.schema import KEYS

if TYPE_CHECKING:
    from privroute.study.settings import Settings

__all__ = ["LEARN_KEYS", "SetOption", "StudyArgument", "settings_of", "with_keys"]

StudyArgument = Annotated[
    Path | None,
    typer.Argument(metavar="STUDY", help="Study file (see privroute init).", show_default=False),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Set any key of a study, like guarantee.epsilon=0.5; may be repeated.",
        show_default=False,
    ),
]

LEARN_KEYS = (
    *("network.source", "network.latency", "network.on_unreachable", "zones.source"),
    *("calendar.from", "calendar.to", "calendar.weekdays", "calendar.periods", "calendar.time_zone"),
    *("calendar.day_types", "calendar.holidays"),
    *("calendar.period_min", "unit.protect", "unit.max_requests", "unit.max_per_pair", "unit.pre_bounded"),
    *("data.expansion", "guarantee.epsilon", "guarantee.delta", "mechanism.name", "mechanism.alpha"),
    *("trips.departure", "trips.origin", "trips.destination", "trips.user", "trips.max_zone_distance_km"),
    "trips.rows_are_trips",
)


def with_keys(*ids: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add an option for each of these keys to a command, which receives those given as `given`: {key: text}."""
    keys = {f"key_{id_.replace('.', '_')}": KEYS[id_] for id_ in ids}

    def add(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**values: Any) -> None:
            options = {key.id: values.pop(name) for name, key in keys.items()}
            given = {id_: value for id_, value in options.items() if value is not None and value is not False}
            command(given=given, **values)

        own = [item for item in inspect.signature(command).parameters.values() if item.name != "given"]
        options = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=False if key.kind is YES_NO else None,
                annotation=_annotation(key),
            )
            for name, key in keys.items()
        ]
        ordered = [item.replace(kind=inspect.Parameter.KEYWORD_ONLY) for item in own]
        run.__signature__ = inspect.Signature([*ordered, *options])  # type: ignore[attr-defined]
        run.__annotations__ = {item.name: item.annotation for item in [*ordered, *options]}
        return run

    return add


def _annotation(key: Key) -> Any:
    owners = f"For {' and '.join(key.owners)}: " if key.owners else ""
    text = owners + (key.help[0].lower() + key.help[1:] if owners else key.help)
    default = "" if key.default is None or "Default:" in key.help else f" [dim]\\[default: {key.default}][/dim]"
    panel = key.section.capitalize()
    if key.kind is YES_NO:
        return Annotated[bool, typer.Option(key.flag, help=text, rich_help_panel=panel, show_default=False)]
    return Annotated[
        list[str] | None if key.kind is PERIODS else str | None,
        typer.Option(key.flag, metavar=key.kind.metavar, help=text + default, rich_help_panel=panel),
    ]


def settings_of(study: Path | None, given: Mapping[str, object], assigned: list[str] | None = None) -> "Settings":
    """The settings of a study file, if there is one, changed by --set and by flags; each key is given once."""
    from privroute.study.settings import Settings, find_key  # noqa: PLC0415 - the readers of networks

    settings = Settings() if study is None else Settings.read(study)
    SETTINGS.set(settings)
    instead: dict[str, object] = {}
    for assignment in assigned or ():
        name, equals, value = assignment.partition("=")
        if not equals:
            raise InputError(f"--set {assignment[:60]!r} has no value; write it like guarantee.epsilon=0.5")
        key = find_key(name.strip())
        if key in instead:
            raise InputError(f"--set {key} is given twice; give it once")
        if key in given:
            raise InputError(f"--set {key} and {KEYS[key].flag} set the same value; give one of them")
        instead[key] = value.strip()
    return _changed(settings, instead | dict(given))


def _changed(settings: "Settings", given: Mapping[str, object]) -> "Settings":
    """With other values; an error about one of them is not one about the study file."""
    SETTINGS.set(replace(settings, given=settings.given | set(given)))
    settings = settings.instead(given)
    SETTINGS.set(settings)
    return settings
