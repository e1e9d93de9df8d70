"""Which module a private mechanism is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privroute.errors import GuaranteeError
from privroute.mechanism import counts, daily, layered, minimiser, sgd, sgd_as_published
from privroute.mechanism.interface import Single

if TYPE_CHECKING:
    from privroute.mechanism.interface import AskedOnce, Implementation
    from privroute.study.mechanisms import Mechanism

__all__ = ["asked_once", "implementation"]

_ASKED_ONCE: dict[str, AskedOnce] = {
    "counts": counts,
    "daily": daily,
    "minimiser": minimiser,
    "sgd": sgd,
    "sgd_as_published": sgd_as_published,
}

_ASKED_SEVERAL_TIMES: dict[str, Implementation] = {"layered": layered}


def implementation(chosen: Mechanism) -> Implementation:
    """A private mechanism, with as many questions as it asks."""
    several = _ASKED_SEVERAL_TIMES.get(chosen.module)
    return Single(asked_once(chosen)) if several is None else several


def asked_once(chosen: Mechanism) -> AskedOnce:
    """The module of a private mechanism that asks one question."""
    if chosen.module not in _ASKED_ONCE:
        raise GuaranteeError(f"the mechanism {chosen.name!r} adds no noise and promises nothing")
    return _ASKED_ONCE[chosen.module]
