"""Which module a private mechanism is. It is loaded when it is chosen, by statements that the import contracts see."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privroute.errors import GuaranteeError
from privroute.mechanism.interface import Single

if TYPE_CHECKING:
    from privroute.mechanism.interface import AskedOnce, Implementation
    from privroute.study.mechanisms import Mechanism

__all__ = ["asked_once", "implementation"]


def implementation(chosen: Mechanism) -> Implementation:
    """A private mechanism, with as many questions as it asks."""
    if chosen.module == "layered":
        from privroute.mechanism import layered  # noqa: PLC0415

        return layered
    return Single(asked_once(chosen))


def asked_once(chosen: Mechanism) -> AskedOnce:
    """The module of a private mechanism that asks one question."""
    match chosen.module:
        case "counts":
            from privroute.mechanism import counts  # noqa: PLC0415

            return counts
        case "daily":
            from privroute.mechanism import daily  # noqa: PLC0415

            return daily
        case "minimiser":
            from privroute.mechanism import minimiser  # noqa: PLC0415

            return minimiser
        case "sgd":
            from privroute.mechanism import sgd  # noqa: PLC0415

            return sgd
        case "sgd_as_published":
            from privroute.mechanism import sgd_as_published  # noqa: PLC0415

            return sgd_as_published
    raise GuaranteeError(f"the mechanism {chosen.name!r} adds no noise and promises nothing")
