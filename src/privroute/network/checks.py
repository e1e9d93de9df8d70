"""Turning what callers pass into read-only arrays, or into an error that says what is wrong and where."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privroute.errors import InputError

__all__ = ["freeze", "index_array", "number_array", "plain_array"]

_SHOWN = 3
_Scalar = TypeVar("_Scalar", bound=np.generic)


def freeze(array: NDArray[_Scalar]) -> NDArray[_Scalar]:
    """Return an owned, contiguous, read-only copy: later changes by the caller cannot reach it."""
    copy = np.array(array, order="C", copy=True)
    copy.flags.writeable = False
    return copy


def plain_array(values: ArrayLike, name: str, error: type[InputError]) -> NDArray[Any]:
    """`values` as an array with one axis; ragged or nested input is refused."""
    try:
        array = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as problem:
        raise error(f"{name} cannot be read as an array ({problem}); pass a flat sequence of numbers") from None
    if array.ndim != 1:
        raise error(f"{name} has shape {array.shape}; pass an array with one axis")
    return array


def index_array(values: ArrayLike, name: str, below: int, error: type[InputError]) -> NDArray[np.int32]:
    """Read-only int32 indices in [0, below), or an error naming the first offending position."""
    array = plain_array(values, name, error)
    if array.size == 0:
        array = array.astype(np.int32)
    if array.dtype.kind not in "iu":
        raise error(f"{name} has type {array.dtype}; pass whole numbers (0-based indices)")
    bad = np.flatnonzero((array < 0) | (array >= below))
    if bad.size:
        raise error(
            f"{name}: {_places(bad)} outside 0 to {below - 1:,} (first value {array[bad[0]]}); indices are 0-based"
        )
    return freeze(array.astype(np.int32))


def number_array(
    values: ArrayLike,
    name: str,
    length: int,
    error: type[InputError],
    *,
    positive: bool = False,
) -> NDArray[np.float64]:
    """Read-only float64 of the given length (a scalar is repeated), finite and not negative (or positive)."""
    array = np.asarray(values) if np.ndim(values) == 0 else plain_array(values, name, error)
    if array.dtype.kind not in "iuf":
        raise error(f"{name} has type {array.dtype}; pass real numbers")
    if array.ndim == 1 and array.size != length:
        raise error(f"{name} has {array.size:,} values where {length:,} are needed")
    array = np.broadcast_to(array, (length,)).astype(np.float64)
    good = np.isfinite(array) & ((array > 0) if positive else (array >= 0))
    bad = np.flatnonzero(~good)
    if bad.size:
        wanted = "finite and greater than 0" if positive else "finite and not negative"
        raise error(f"{name}: {_places(bad)} not usable (first value {array[bad[0]]}); every value must be {wanted}")
    return freeze(array)


def _places(bad: NDArray[np.intp]) -> str:
    shown = ", ".join(f"{i:,}" for i in bad[:_SHOWN])
    more = "" if bad.size <= _SHOWN else f" and {bad.size - _SHOWN:,} more"
    noun, verb = ("position", "is") if bad.size == 1 else ("positions", "are")
    return f"{noun} {shown}{more} {verb}"
