"""What a ledger keeps of a release's times: the scope that is charged, and how the release told when a trip was.

Where a later release tells times otherwise, its scope is widened, or it is refused. docs/proofs/ledger.md, Theorem 10.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from privroute.errors import LedgerError, arg, named
from privroute.network.checks import show
from privroute.privacy.scope import Scope
from privroute.study.clock_rules import ClockRules

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privroute.privacy.account import Charge

__all__ = ["apart_s", "times_as_text", "times_from_text"]


def apart_s(shown: object, charges: Iterable[Charge], unit: str, clock: ClockRules | None) -> int:
    """By how many seconds a release's clock differs at most from those of earlier entries.

    Refused where the columns or formats of the times differ, since then nothing bounds it, and where a user's day is
    protected, since the release would bound contributions on another day.

    shown : the ledger, for errors; clock : None where it is not known, as those of entries that version 0.2 made
    """
    known = [(each.entry, each.clock) for each in charges if each.clock is not None]
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


def times_as_text(scope: Scope, clock: ClockRules | None, widened_s: int) -> str:
    """The scope, with the clock beside it where that is known; without one as in version 0.2."""
    if clock is None:
        return scope.text()
    return json.dumps({"times": scope.text(), "clock": clock.as_dict(), "widened_s": widened_s}, ensure_ascii=False)


def times_from_text(text: str) -> tuple[Scope, ClockRules | None, int]:
    """`times_as_text` backwards; a LookupError, ValueError or TypeError if it is anything else."""
    if not text.startswith("{"):
        return Scope.from_text(text), None, 0
    values = json.loads(text)
    return Scope.from_text(values["times"]), ClockRules.from_dict(values["clock"]), int(values["widened_s"])
