"""What privroute raises: always one of these, and always with what was wrong, where, and what to do.

    PrivrouteError
    ├── InputError (also a ValueError)   an argument or a value is not usable
    │   ├── NetworkError                 nodes, links, zones, latency functions
    │   ├── DemandError                  origin-destination pairs and rates
    │   ├── PolicyError                  routing policies and unit flows
    │   ├── HistoryError                 daily counts; never shows the contents of a record
    │   ├── GuaranteeError               epsilon, delta, units, mechanisms and their options
    │   └── FormatError                  a file: names the file and, where there is one, the line
    ├── ReleaseError                     a release folder is damaged, incomplete or may not be written
    ├── LedgerError                      a ledger cannot be read or written; nothing was released
    │   └── BudgetError                  the approved budget does not allow this release; nothing was released
    ├── StreamError                      a stream's folder cannot be used, or the day does not fit it
    ├── NoiseError                       the noise cannot be drawn as the guarantee needs it; nothing was released
    └── MissingExtraError (also an ImportError)   an optional package is not installed

One warning has a name: LargeDeltaWarning (a UserWarning), for a delta above which nothing is called private.

An argument inside a message is written with `arg` or `named`, so that every surface can spell it its own way: `tz=` in
Python, `--tz` on the command line, `calendar.time_zone` in a study file (`PrivrouteError.spelt`).

Messages about private data (a history, a demand that may be its mean) carry positions and sizes, never contents. Such
errors are raised outside `except`: what is caught there stays on the new error, `from None` or not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BudgetError",
    "DemandError",
    "FormatError",
    "GuaranteeError",
    "HistoryError",
    "InputError",
    "LargeDeltaWarning",
    "LedgerError",
    "MissingExtraError",
    "NetworkError",
    "NoiseError",
    "PolicyError",
    "PrivrouteError",
    "ReleaseError",
    "StreamError",
    "arg",
    "in_python",
    "named",
]

# name and rest of an argument: ("tz", ""), ("tz", "=") or ("unit", '="user"'); ("", text) is for Python only
_MARK = re.compile("\x02([^\x02\x03\x1f]*)\x1f([^\x02\x03]*)\x03")


def named(name: str) -> str:
    """An argument as the subject of a message: `tz is 'Nowhere'`."""
    return f"\x02{name}\x1f\x03"


def arg(name: str, value: str | bool | None = None) -> str:
    """An argument to pass, in a message: `tz=`, or with a value `unit="user"`."""
    shown = "" if value is None else f'"{value}"' if isinstance(value, str) else f"{value}"
    return f"\x02{name}\x1f={shown}\x03"


def in_python(text: str) -> str:
    """A part of a message that only helps those who call a function."""
    return f"\x02\x1f{text}\x03"


class PrivrouteError(Exception):
    """Base class of all errors of the package."""

    def __init__(self, message: str = "") -> None:
        self._template = f"{message}"
        super().__init__(self.spelt(lambda name, rest: f"{name}{rest}"))

    def spelt(self, how: Callable[[str, str], str]) -> str:
        """The message with its arguments spelt by `how(name, rest)`.

        rest : "" for a subject, "=" for an argument to pass, and with a value like '="user"' or "=True"; a text for
            Python alone has no name
        """
        return _MARK.sub(lambda found: how(found[1], found[2]), self._template)

    def __reduce__(self) -> tuple[Callable[..., PrivrouteError], tuple[object, ...], dict[str, object]]:
        return _copied, (type(self), *self.args), self.__dict__  # whatever the arguments of the class's own __init__


def _copied(kind: type[PrivrouteError], *args: object) -> PrivrouteError:
    return kind.__new__(kind, *args)


class InputError(PrivrouteError, ValueError):
    """An argument cannot be used as it is."""


class NetworkError(InputError):
    """A network, its latency functions or its zones are not usable."""


class DemandError(InputError):
    """Pairs or a demand are not usable, or do not fit the network."""


class PolicyError(InputError):
    """A routing policy or a unit flow is not usable, or does not have what was asked for."""


class HistoryError(InputError):
    """A demand history is not usable. The message has positions and counts, never contents of records."""


class GuaranteeError(InputError):
    """A guarantee or a mechanism's options are not usable."""


class FormatError(InputError):
    """A file cannot be read as the format it is said to be."""

    def __init__(self, source: object, problem: str, *, line: int | None = None) -> None:
        place = f"{source}, line {line:,}" if line is not None else f"{source}"
        super().__init__(f"{place}: {problem}")


class ReleaseError(PrivrouteError):
    """A release folder is damaged or incomplete, or may not be written."""


class LedgerError(PrivrouteError):
    """A ledger of budgets cannot be read or written. Nothing has been released."""


class BudgetError(LedgerError):
    """The approved budget of a data set does not allow this release. Nothing has been released."""


class StreamError(PrivrouteError):
    """A stream's folder is damaged or of another stream, or the day does not fit it."""


class NoiseError(PrivrouteError):
    """Noise cannot be drawn as the guarantee needs it. Nothing has been released."""


class MissingExtraError(PrivrouteError, ImportError):
    """An optional package is needed for this call."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package}: pip install 'privroute[{extra}]'")


class LargeDeltaWarning(UserWarning):
    """A guarantee has a delta above 1e-3: it holds as stated, and its releases are not called private."""
