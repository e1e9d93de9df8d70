"""Errors in the words of the command line: an argument is its flag, a --set of its key, or a key of the study file."""

from typer.core import TyperCommand

from privroute.cli.command import SETTINGS
from privroute.errors import PrivrouteError
from privroute.study.keys import Key
from privroute.study.schema import BY_ARGUMENT

__all__ = ["Spelling"]


class Spelling:
    """How a command spells arguments.

    A value that stands in the study file is spelt as its key there, and the file is named; so is one that is missing
    where there is a file.
    """

    def __init__(self, command: TyperCommand) -> None:
        self._settings = SETTINGS.get()
        options = [item for item in command.params if item.param_type_name == "option"]
        self._flags = {item.name: item.opts[0] for item in options}
        self._by_key = {item.opts[0] for item in options if str(item.name).startswith("key_")}
        self._in_file = False

    def of(self, problem: PrivrouteError) -> str:
        """The message."""
        text = problem.spelt(self._spell)
        file = None if self._settings is None else self._settings.file
        return f"{file}: {text}" if self._in_file and file is not None and not text.startswith(f"{file}") else text

    def _spell(self, name: str, rest: str) -> str:
        if name == "dates":
            return f"{self._spell('from', '')} and {self._spell('to', '')}"
        value = rest.removeprefix("=")
        if name in self._flags:  # an option of this command alone
            return _flag(self._flags[name], value)
        key = BY_ARGUMENT.get(name)
        if key is None:
            return f"{name}{rest}" if name else ""
        settings = self._settings
        if settings is not None and settings.file is not None and key.id not in settings.given:
            self._in_file = True
            shown = value.lower() if value in ("True", "False") else value
            return key.id + (f" = {shown}" if shown else "")
        if key.flag in self._by_key:
            return _flag(key.flag, value)
        return _as_set(key, rest, value) if "--set" in self._flags.values() else f"{name}{rest}"


def _flag(flag: str, value: str) -> str:
    return flag if value in ("", "True") else f"{flag} {value.strip(chr(34))}"


def _as_set(key: Key, rest: str, value: str) -> str:
    if not rest:
        return key.id
    shown = value.lower() if value in ("True", "False") else value.strip('"')
    return f"--set {key.id}={shown or '...'}"
