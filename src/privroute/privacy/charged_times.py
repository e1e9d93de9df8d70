"""What a ledger keeps of a release's times: the scope that is charged, and what that rests on.

Where a later release tells times otherwise, its scope is widened, or it is refused. docs/proofs/ledger.md, Theorem 10.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from privroute.errors import LedgerError, arg, named
from privroute.network.checks import show
from privroute.privacy.scope import Scope
from privroute.study.clock_rules import ClockRules

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from privroute.privacy.account import Charge

__all__ = ["ChargedTimes", "apart_s"]


@dataclass(frozen=True, slots=True)
class ChargedTimes:
    """The times for which a release is charged; everything here is public.

    scope : when its trips were made, as charged
    clock : how that was told; None where it is not known
    widened_s : by how many seconds the scope was widened on both sides, since earlier entries tell times otherwise
    kept_set : the kept set of users' trips that was read; None where it is not named
    all_times : whether it is charged at all times, since its users' trips were not chosen with those of the others
    """

    scope: Scope
    clock: ClockRules | None = None
    widened_s: int = 0
    kept_set: str | None = None
    all_times: bool = False

    def beside(self, charges: Sequence[Charge], unit: str, shown: object, *, of_kept_set: bool) -> ChargedTimes:
        """The same, as it must be charged beside earlier charges; refused where that cannot be said.

        unit : of the data set, and of_kept_set whether it was approved for one kept set; shown : the ledger, for errors
        """
        named_set = next((charge.times.kept_set for charge in charges if charge.times.kept_set is not None), None)
        other = self.kept_set is None or named_set not in (None, self.kept_set)
        if of_kept_set and other:  # it may hold other trips of the same users: docs/proofs/ledger.md, Theorem 4
            return replace(self, scope=Scope.always(), all_times=True)
        widened_s = apart_s(shown, charges, unit, self.clock)
        return replace(self, scope=self.scope.widened(widened_s), widened_s=widened_s)

    def text(self) -> str:
        """As a ledger keeps it: the scope alone where nothing else is known, as in version 0.2."""
        if self.clock is None and self.kept_set is None and not self.all_times:
            return self.scope.text()
        return json.dumps({"scope": self.scope.text(), **self.as_dict()}, ensure_ascii=False)

    @classmethod
    def from_text(cls, text: str) -> ChargedTimes:
        """Read `text()` back; an error if it is anything else."""
        if not text.startswith("{"):
            return cls(Scope.from_text(text))
        values = json.loads(text)
        return cls.from_dict(Scope.from_text(values["scope"]), values)

    def as_dict(self) -> dict[str, Any]:
        """Plain values without the scope, as in certificates."""
        clock = None if self.clock is None else self.clock.as_dict()
        return {"clock": clock, "widened_s": self.widened_s, "kept_set": self.kept_set, "all_times": self.all_times}

    @classmethod
    def from_dict(cls, scope: Scope, values: Mapping[str, Any]) -> ChargedTimes:
        """`as_dict()` backwards, for a scope as charged."""
        clock = None if values["clock"] is None else ClockRules.from_dict(values["clock"])
        return cls(scope, clock, int(values["widened_s"]), values["kept_set"], bool(values["all_times"]))


def apart_s(shown: object, charges: Sequence[Charge], unit: str, clock: ClockRules | None) -> int:
    """By how many seconds a release's clock differs at most from those of earlier entries.

    Refused where the columns or formats of the times differ, since then nothing bounds it, and where a user's day is
    protected, since the release would bound contributions on another day.

    shown : the ledger, for errors; clock : None where it is not known, as those of entries that version 0.2 made
    """
    known = [(each.entry, each.times.clock) for each in charges if each.times.clock is not None]
    if clock is None or not known:
        return 0
    if not clock.as_before and all(other.of_times != clock.of_times for _, other in known):
        entry, last = known[-1]
        changes = [
            f"{named(name)} is {show(value)} and was {show(last.of_times.get(name))}"
            for name, value in clock.of_times.items()
            if value != last.of_times.get(name)
        ]
        raise LedgerError(
            f"{shown}: this release reads other times than entry {entry:,}: {', '.join(changes)}. One trip could be "
            "charged at two times. Nothing was charged or released; read the times as before, or, if both give every "
            f"trip the same time, assert that with {arg('times_as_before', value=True)}"
        )
    most_s, entry, last = max(((other.apart_s(clock), entry, other) for entry, other in known), key=lambda one: one[:2])
    if most_s and unit == "user-day":
        raise LedgerError(
            f"{shown}: the time zone data of this machine ({clock.zone_data}) differ from those of entry {entry:,} "
            f"({last.zone_data}) by up to {most_s:,} s, so a user's day is another one. Nothing was charged or "
            f"released; use time zone data {last.zone_data}"
        )
    return most_s
