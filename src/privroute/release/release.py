"""A release: what the operator publishes."""

from __future__ import annotations

import datetime as dt
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from privroute.errors import InputError, ReleaseError
from privroute.network.checks import show
from privroute.release.files import write_release
from privroute.release.folder import digest_of
from privroute.release.frames import ReleaseFrames
from privroute.release.part import Part
from privroute.release.reading import read_release
from privroute.study.guarantee import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from privroute.network.demand import Demand
    from privroute.network.network import Network
    from privroute.policy.routing_policy import RoutingPolicy
    from privroute.release.certificate import Certificate
    from privroute.release.quality import Quality
    from privroute.study.calendar import Slot

__all__ = ["Part", "Release", "as_moment", "load_release"]

_MIN_PER_H = 60.0


@dataclass(frozen=True, slots=True, eq=False)
class Release(ReleaseFrames):
    """A routing policy with its certificate.

    policy : probabilities over paths for every pair
    demand : the rates it was computed for, if the mechanism releases them
    noisy_counts : (pairs,) int64, the integers that the mechanism released, negatives included, or None
    certificate : what is protected, and how strongly
    quality : how useful it is, measured on the trips under the same guarantee; None where nothing was measured
    on_saved : called with the digest and the folder ("sha256:... out/") after the release was written, so that a ledger
        can record it
    parts : of a release of several periods or kinds of days: what was released for each of `slots`. The fields above
        are then those of one of them, at first the busiest; `at` chooses another
    position : which of them
    """

    policy: RoutingPolicy
    certificate: Certificate
    demand: Demand | None = None
    noisy_counts: NDArray[np.int64] | None = None
    on_saved: Callable[[str], None] | None = None
    quality: Quality | None = None
    parts: Sequence[Part] = ()
    position: int = 0

    @classmethod
    def of_part(cls, only: Part, certificate: Certificate, on_saved: Callable[[str], None] | None = None) -> Release:
        """A release of one period."""
        return cls(only.policy, certificate, only.demand, only.noisy_counts, on_saved, only.quality)

    @classmethod
    def of_parts(
        cls,
        parts: Sequence[Part],
        certificate: Certificate,
        on_saved: Callable[[str], None] | None = None,
        position: int | None = None,
    ) -> Release:
        """A release of several periods or kinds of days, in the order of the calendar's slots."""
        if len(parts) != len(certificate.calendar.slots):
            raise ReleaseError("the release has other periods than its certificate")
        if position is None:
            rates = [0.0 if part.demand is None else part.demand.total_per_min for part in parts]
            position = rates.index(max(rates))
        chosen = parts[position]
        return cls(
            chosen.policy,
            certificate,
            chosen.demand,
            chosen.noisy_counts,
            on_saved,
            chosen.quality,
            parts,
            position,
        )

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The periods of kinds of days that it has policies for; one for a release of one period."""
        return self.certificate.calendar.slots

    @property
    def slot(self) -> Slot:
        """The period and kind of day whose policy, demand and quality this object shows."""
        return self.slots[self.position]

    @property
    def vehicles_per_hour(self) -> list[float | None]:
        """Of the released demand of each period; None where there is none."""
        known = getattr(self.parts, "vehicles_per_hour", None)  # of a folder whose periods are not all read
        if known is not None:
            return list(known)
        demands = [part.demand for part in self.parts] or [self.demand]
        return [None if demand is None else demand.total_per_min * _MIN_PER_H for demand in demands]

    @property
    def qualities(self) -> list[Quality | None]:
        """What was measured in each period; None where nothing was."""
        known = getattr(self.parts, "qualities", None)  # of a folder whose periods are not all read
        return list(known) if known is not None else [part.quality for part in self.parts] or [self.quality]

    @property
    def noise_scale(self) -> float | None:
        """Deviation of the noise on each count in this period."""
        scale, share = self.certificate.noise_scale, self.certificate.period_shares[self.position]
        return None if scale is None else scale / math.sqrt(share)

    def at(self, when: str | dt.datetime) -> Release:
        """The same release with the policy, demand and quality for a moment.

        when : as in position_at
        """
        return self._chosen(self.position_at(when))

    def position_at(self, when: str | dt.datetime) -> int:
        """Position of the period for a moment; its files are not read. Raises an error if no policy is for it.

        when : a moment on any date, "2026-05-04 07:30" or a datetime, by the clock of the calendar's time zone
            (one with an offset from UTC is converted); or a period as `slots` spells it, "workday 07:00-08:00"
        """
        calendar = self.certificate.calendar
        position = calendar.position_of_name.get(when) if isinstance(when, str) else None
        if position is None:
            if calendar.periods[0].begins is None:
                raise ReleaseError("the hours of this release are not known, so it cannot be asked by the clock")
            position = calendar.slot_at(as_moment(when))
        if position is None:
            raise ReleaseError(f"the release has no policy for {str(when)[:40]}; it is for {calendar}")
        return position

    def each(self) -> Iterator[Release]:
        """The same release for each of its periods, in their order."""
        return (self._chosen(position) for position in range(len(self.slots)))

    def _chosen(self, position: int) -> Release:
        if not self.parts or position == self.position:
            return self
        return Release.of_parts(self.parts, self.certificate, self.on_saved, position)

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
        write_release(folder, self, overwrite=overwrite)
        if self.on_saved is not None:
            self.on_saved(f"sha256:{digest_of(Path(folder))} {os.fspath(folder)}")

    def __repr__(self) -> str:
        promise = "" if self.certificate.private else "NOT PRIVATE"
        if self.certificate.guaranteed:
            stated = f"epsilon {self.certificate.epsilon:g}, delta {short(self.certificate.delta or 0.0)}"
            promise = f"{promise}: {stated}" if promise else stated
        which = f", {self.slot}, one of {len(self.parts):,} periods" if self.parts else ""
        return f"Release({self.certificate.mechanism}, {promise}, {self.policy.summary()}{which})"


def load_release(
    folder: str | os.PathLike[str], *, trusted: str | os.PathLike[str] | None = None, whole: bool = False
) -> Release:
    """Read a release folder. Raises an error with the reason if it is damaged or incomplete.

    Of several periods each is read when it is first used, and its files are checked then.

    trusted : file with a public key in PEM; what its holder did not sign is refused. All files are then copied into
        memory and checked there, so that the release stays as it was signed, whatever happens to the folder later.
        None reads unsigned folders too, and maps policies: never write into their files, replace the folder
    whole : check the files of all periods now, as is always done where a key is trusted
    """
    certificate, parts = read_release(folder, trusted=trusted, whole=whole)
    if parts.slots:
        return Release.of_parts(parts, certificate, position=parts.busiest)
    (only,) = parts
    return Release.of_part(only, certificate)


def as_moment(when: object) -> dt.datetime:
    """The moment that a text like 2026-05-04 07:30 names, or a datetime."""
    if isinstance(when, dt.datetime):
        return when
    try:
        if not isinstance(when, str) or ":" not in when:
            raise ValueError
        return dt.datetime.fromisoformat(when.strip())
    except ValueError:
        pass
    raise InputError(f"{show(when)} is not a moment; write it like 2026-05-04 07:30")
