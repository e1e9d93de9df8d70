"""Turning what callers pass into floats and read-only arrays, or into an error that says what is wrong and where.

Arrays may be private, so their messages carry positions, types and shapes, never values, and nothing that was caught on
the way stays on the error. Single arguments are public and are shown.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import fields
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from privroute.errors import InputError, named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "MINUTES_OF_DAY",
    "RebuiltOnCopy",
    "as_array",
    "as_number",
    "check_each",
    "check_period",
    "check_period_of_day",
    "check_type",
    "freeze",
    "index_array",
    "number_array",
    "one_of",
    "part_starts",
    "plain_array",
    "real_array",
    "real_number",
    "show",
]

MINUTES_OF_DAY = 1440

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_SHOWN = 3
_LONGEST_SHOWN = 60
_Scalar = TypeVar("_Scalar", bound=np.generic)


class RebuiltOnCopy:
    """Base of frozen dataclasses whose copies and pickles are made by `__init__`, so checked and read-only again.

    Every field but those with init=False has the name of an argument of `__init__`. Without this, pickle and
    copy.deepcopy fill the fields with arrays that can be written to, and the compiled core trusts what was checked.
    """

    __slots__ = ()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[type, dict[str, Any]]]:
        given = {field.name: getattr(self, field.name) for field in fields(self) if field.init}  # type: ignore[arg-type]
        return _make, (type(self), given)


def _make(kind: type, arguments: dict[str, Any]) -> object:
    return kind(**arguments)


def freeze(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return an owned, contiguous, read-only copy: later changes by the caller cannot reach it."""
    copy = np.array(array, order="C", copy=True)
    copy.flags.writeable = False
    return copy


def as_array(values: object, name: str, error: type[InputError]) -> NDArray[Any]:
    """`values` as an array of any type and shape; ragged and masked input is refused."""
    if _is_masked(values):
        raise error(f"{name} has masked entries; fill them, or omit them")
    try:
        return np.asarray(values)
    except (ValueError, TypeError, OverflowError):
        pass  # raised below: here the caught error, which may show contents, would stay on the new one
    raise error(
        f"{name} cannot be read as an array; its rows differ in length, or it holds something else than numbers"
    )


def plain_array(values: object, name: str, error: type[InputError]) -> NDArray[Any]:
    """`values` as an array with one axis; ragged or nested input is refused."""
    array = as_array(values, name, error)
    if array.ndim != 1:
        raise error(f"{name} has shape {array.shape}; pass an array with one axis")
    return array


def real_array(values: object, name: str, error: type[InputError]) -> NDArray[np.float64]:
    """`values` as float64 of any shape, infinite and NaN included; texts, booleans, dates, complex are refused."""
    array = as_array(values, name, error)
    if array.dtype.kind not in "iuf":
        raise error(f"{name} has type {array.dtype}; pass real numbers")
    with np.errstate(over="ignore"):  # a long double may become infinite
        return array.astype(np.float64)


def index_array(values: object, name: str, below: int, error: type[InputError]) -> NDArray[np.int32]:
    """Read-only int32 indices in [0, below), or an error naming the first offending position."""
    array = plain_array(values, name, error)
    if array.size == 0:
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise error(f"{name} has type {array.dtype}; pass whole numbers (0-based indices)")
    bad = np.flatnonzero((array < 0) | (array >= below))
    if bad.size:
        raise error(f"{name}: {_places(bad)} outside 0 to {below - 1:,}; indices are 0-based")
    return freeze(array.astype(np.int32))


def part_starts(values: object, name: str, end: int, error: type[InputError], *, least: int = 0) -> NDArray[np.int64]:
    """Read-only (parts + 1,) int64: part i of `end` things is values[i] to values[i + 1]; each has `least` or more."""
    array = plain_array(values, name, error)
    if array.size < 1 or array.dtype.kind not in "iu":
        raise error(f"{name} must be whole numbers, one for each part and the end")
    starts = array.astype(np.int64)
    # within the bounds first: differences and sums of larger numbers wrap around
    inside = bool(starts.min() >= 0 and starts.max() <= end)
    if not inside or starts[0] != 0 or starts[-1] != end or np.any(starts[1:] < starts[:-1] + least):
        raise error(f"{name} must rise from 0 to {end:,}, by at least {least} for each part")
    return freeze(starts)


def number_array(
    values: ArrayLike,
    name: str,
    length: int,
    error: type[InputError],
    *,
    positive: bool = False,
    signed: bool = False,
) -> NDArray[np.float64]:
    """Read-only float64 of the given length (a scalar is repeated), finite and not negative (or > 0, or any sign)."""
    array = real_array(values, name, error)
    if array.ndim > 1:
        raise error(f"{name} has shape {array.shape}; pass an array with one axis")
    if array.ndim == 1 and array.size != length:
        raise error(f"{name} has {array.size:,} values where {length:,} are needed")
    array = np.broadcast_to(array, (length,))
    good = np.isfinite(array) & (signed | (array > 0) | ((array == 0) & (not positive)))
    wanted = "finite" if signed else "finite and greater than 0" if positive else "finite and not negative"
    check_each(good, name, wanted, error)
    return freeze(array)


def check_each(good: NDArray[np.bool_], name: str, wanted: str, error: type[InputError]) -> None:
    """Refuse an array with values that are not good; the error has their positions and says what is wanted."""
    bad = np.flatnonzero(~good)
    if bad.size:
        raise error(f"{name}: {_places(bad)} not usable; every value must be {wanted}")


def as_number(value: object) -> float | None:
    """Return a number, or a text that spells one, as a float (infinite if too large); None for anything else."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value.strip()) else None
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def real_number(
    value: object, name: str, error: type[InputError], usable: Callable[[float], bool], advice: str
) -> float:
    """`value` as a float if it is a finite real number (no text, no boolean) and `usable`."""
    number = None if isinstance(value, str) else as_number(value)
    if number is None or not math.isfinite(number) or not usable(number):
        raise error(f"{named(name)} is {show(value)}; {advice}")
    return number


def check_period(minutes: object, name: str = "period_min", error: type[InputError] = InputError) -> float:
    """Return the period as a float if it is a positive, finite number of minutes."""
    return real_number(minutes, name, error, lambda number: number > 0, "pass a positive number of minutes")


def check_period_of_day(minutes: object, name: str = "period_min", error: type[InputError] = InputError) -> float:
    """Return the period as a float if it is a positive number of minutes and fits into one day.

    Periods of different dates then do not overlap: a request falls into one day of a history, as the ledger's proof
    assumes.
    """
    number = check_period(minutes, name, error)
    if number > MINUTES_OF_DAY:
        raise error(
            f"{named(name)} is {number:.15g}, and a day has {MINUTES_OF_DAY:,} minutes; pass the minutes of the period "
            "within one day, not of all days together"
        )
    return number


def check_type(value: object, kind: type, name: str, error: type[InputError]) -> None:
    """Refuse a value that is not exactly of the package's type `kind`: no proof or check is about a subclass."""
    if type(value) is not kind:
        raise error(f"{named(name)} is a {type(value).__name__}; pass privroute.{kind.__name__}")


def one_of(value: object, choices: Iterable[str], name: str, error: type[InputError]) -> str:
    """Return the text if it is among the choices."""
    known = list(choices)
    if isinstance(value, str) and value in known:
        return value
    quoted = [f'"{choice}"' for choice in known]
    raise error(f"{named(name)} is {show(value)}; pass {', '.join(quoted[:-1])} or {quoted[-1]}")


def show(value: object) -> str:
    """Return a short text of any value, for messages."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001, an odd value's own repr may fail in any way, and the message matters more
        return f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[: _LONGEST_SHOWN - 3]}..."


def _is_masked(values: object) -> bool:
    masked = sys.modules.get("numpy.ma")  # loaded by whoever makes one, and slow to load
    parts = values if isinstance(values, list | tuple) else [values]
    return masked is not None and any(isinstance(part, masked.MaskedArray) and masked.is_masked(part) for part in parts)


def _places(bad: NDArray[np.intp]) -> str:
    shown = ", ".join(f"{i:,}" for i in bad[:_SHOWN])
    more = "" if bad.size <= _SHOWN else f" and {bad.size - _SHOWN:,} more"
    noun, verb = ("position", "is") if bad.size == 1 else ("positions", "are")
    return f"{noun} {shown}{more} {verb}"
