"""The account of a data set: what was approved, and every release that was charged, as they were at one moment."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from privroute.privacy.budget import Approval, Spending

if TYPE_CHECKING:
    from privroute.privacy.charged_times import ChargedTimes
    from privroute.privacy.scope import Scope

__all__ = ["Account", "Charge"]

_NOTE = re.compile(r"sha256:([0-9a-f]{64}) (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Charge:
    """A release that was granted; everything here is public.

    entry, digest : its number in the ledger, and the digest of it and of all entries before it
    at : when it was charged; mechanism, epsilon, delta : what was asked for
    rho : what it costs; times : for which it is charged
    folders : where its release was written; none: it was charged, and no release is known to have been written
    releases : SHA-256 of release.json of each release that was written
    seal : of the entry, where it was made with a key
    """

    entry: int
    at: str
    mechanism: str
    epsilon: float
    delta: float
    rho: float
    times: ChargedTimes
    digest: str
    folders: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    seal: str | None = None

    def __post_init__(self) -> None:
        """A note "sha256:... out/" is a digest and a folder."""
        found = [_NOTE.fullmatch(note) for note in self.folders]
        folders = (note if match is None else match[2] for note, match in zip(self.folders, found, strict=True))
        digests = dict.fromkeys((*self.releases, *(match[1] for match in found if match is not None)))
        object.__setattr__(self, "folders", tuple(folders))
        object.__setattr__(self, "releases", tuple(digests))

    @property
    def scope(self) -> Scope:
        """When its trips were made, as charged."""
        return self.times.scope

    @property
    def status(self) -> str:
        """One of "released" and "charged"; the latter where no release is known to have been written."""
        return "released" if self.folders else "charged"


@dataclass(frozen=True, slots=True, eq=False)
class Account:
    """A data set in a ledger, as it was at one moment.

    id : what was approved, and when, as a digest: the same wherever the file is moved to
    approved : the same without the time zone, which may be named later
    """

    dataset: str
    approval: Approval
    charges: tuple[Charge, ...]
    id: str
    approved: str

    @property
    def spending(self) -> Spending:
        """What the charges cost together."""
        return Spending(self.approval, [one.scope for one in self.charges], [one.rho for one in self.charges])

    @property
    def spent_epsilon(self) -> float:
        """The epsilon of all releases together, at the approved delta."""
        return self.approval.epsilon_of(self.spending.spent)
