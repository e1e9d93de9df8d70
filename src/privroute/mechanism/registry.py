"""Which module a private mechanism is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privroute.errors import GuaranteeError
from privroute.mechanism import counts, daily, minimiser, sgd, sgd_as_published

if TYPE_CHECKING:
    from privroute.mechanism.interface import Implementation
    from privroute.study.mechanisms import Mechanism

__all__ = ["implementation"]

_MODULES: dict[str, Implementation] = {
    "counts": counts,
    "daily": daily,
    "minimiser": minimiser,
    "sgd": sgd,
    "sgd_as_published": sgd_as_published,
}


def implementation(chosen: Mechanism) -> Implementation:
    """The module of a private mechanism."""
    if chosen.module not in _MODULES:
        raise GuaranteeError(f"the mechanism {chosen.name!r} adds no noise and promises nothing")
    return _MODULES[chosen.module]
