"""A release: what the operator publishes."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privroute.errors import ReleaseError
from privroute.release.files import write_release
from privroute.release.reading import read_release
from privroute.study.guarantee import short

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.release.certificate import Certificate
    from privroute.release.quality import Quality

__all__ = ["Release", "load_release"]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A routing policy with its certificate.

    policy : probabilities over paths for every pair
    demand : the rates it was computed for, if the mechanism releases them
    noisy_counts : (pairs,) int64, the integers that the mechanism released, negatives included, or None
    certificate : what is protected, and how strongly
    quality : how useful it is, measured on the trips under the same guarantee; None where nothing was measured
    on_saved : called with the folder after the release was written, so that a ledger can record it
    """

    policy: RoutingPolicy
    certificate: Certificate
    demand: Demand | None = None
    noisy_counts: NDArray[np.int64] | None = None
    on_saved: Callable[[str], None] | None = None
    quality: Quality | None = None

    @property
    def network(self) -> Network:
        """The public network of the policy."""
        return self.policy.network

    def save(self, folder: str | os.PathLike[str], *, overwrite: bool = False, allow_not_private: bool = False) -> None:
        """Write the release folder, whole or not at all.

        overwrite : replace a release that is there; a folder that holds anything else is never replaced
        allow_not_private : a release that is not private (mechanism "none", seeded experiments, a delta above 1e-3)
            is refused unless this says that it is meant
        """
        why = self.certificate.why_not_private
        if why is not None and not allow_not_private:
            raise ReleaseError(
                f"this release is NOT PRIVATE (mechanism {self.certificate.mechanism}, noise {self.certificate.noise}"
                f"): {why}. It is not written; pass allow_not_private=True if it will not be published"
            )
        write_release(
            folder,
            self.policy,
            self.certificate,
            self.demand,
            self.noisy_counts,
            overwrite=overwrite,
            quality=self.quality,
        )
        if self.on_saved is not None:
            self.on_saved(os.fspath(folder))

    def __repr__(self) -> str:
        promise = "" if self.certificate.private else "NOT PRIVATE"
        if self.certificate.guaranteed:
            stated = f"epsilon {self.certificate.epsilon:g}, delta {short(self.certificate.delta)}"
            promise = f"{promise}: {stated}" if promise else stated
        return f"Release({self.certificate.mechanism}, {promise}, {self.policy.summary()})"


def load_release(folder: str | os.PathLike[str], *, trusted: str | os.PathLike[str] | None = None) -> Release:
    """Read a release folder. Raises an error with the reason if it is damaged or incomplete.

    trusted : file with a public key in PEM; what its holder did not sign is refused. None reads unsigned folders too
    """
    policy, certificate, demand, noisy_counts, quality = read_release(folder, trusted=trusted)
    return Release(policy, certificate, demand, noisy_counts, quality=quality)
