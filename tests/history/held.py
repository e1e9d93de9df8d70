"""What an error holds on to."""

from __future__ import annotations

__all__ = ["everything"]


def everything(error: BaseException | None, seen: set[int] | None = None) -> str:
    """What an error and all errors behind it hold: texts, arguments and attributes."""
    seen = set() if seen is None else seen
    if error is None or id(error) in seen:
        return ""
    seen.add(id(error))
    names = [name for name in dir(error) if not name.startswith("__")]
    held = [str(error), repr(error), repr(error.args), repr(vars(error)), repr(getattr(error, "__notes__", ()))]
    held += [repr(getattr(error, name, None)) for name in names]
    return "\n".join([*held, everything(error.__cause__, seen), everything(error.__context__, seen)])
