"""Contribution bounding: at most k requests of each user are kept, chosen without looking at anybody else's.

Where requests have weights, each counts as that many: the numbers kept are sums of weights, and a request is kept whole
or not at all (docs/proofs/weights.md).

Each request gets a key: a hash of a salt, its user, its time, its pair, and a number that tells equal ones apart. Of
each user's requests for a pair the k_p with the smallest keys are kept, and of those the k with the smallest. Keys come
from the request alone, so which requests of a user are kept depends on that user's requests and the salt, never on
other rows, their order, files or threads: docs/proofs/user.md, Lemma 1. Since the hash is as good as random and the
salt is new each time, every one of a user's requests for a pair is as likely to be kept as the others.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privroute.study.contribution import Contribution

__all__ = ["Keys", "bounded_total", "chosen_requests", "exceeding", "kept_requests", "new_salt"]

_SALT_BYTES = 16
_ORDER = "ORDER BY key, clock_us, pair, copy"


@dataclass(frozen=True, slots=True)
class Keys:
    """SQL of a request's key in an engine.

    key : of the columns clock_us, pair, copy and user_id, and of a salt
    copies : the order in which equal requests are numbered; they are equal, so any will do, but some engines want one
    """

    key: str
    copies: str = ""

    @classmethod
    def of_files(cls, *, weighed: bool = False) -> Keys:
        """DuckDB's, under a new salt."""
        # the separators keep different requests different; equal requests are interchangeable, so their order is free
        weight = "weight || '/' || " if weighed else ""
        parts = f"'/' || clock_us || '/' || pair || '/' || copy || '/' || {weight}user_id"
        return cls(f"md5_number('{new_salt()}' || {parts})")


def kept_requests(requests: str, contribution: Contribution, keys: Keys | None = None) -> str:
    """SQL of the requests to keep, as a table with the columns day, slot and pair, and weight where they have one."""
    shown = "day, slot, pair" + (", weight" if contribution.max_weight is not None else "")
    return f"SELECT {shown} FROM ({chosen_requests(requests, contribution, keys)}) AS chosen WHERE kept"


def chosen_requests(requests: str, contribution: Contribution, keys: Keys | None = None) -> str:
    """SQL of all requests, with a column that says whether each is kept.

    requests : SQL of a table with the columns user_id (a text), day, slot, clock_us (time) and pair, and weight
    """
    unit = _unit(contribution)
    weighed = contribution.max_weight is not None
    keyed = _keyed(requests, keys, weighed=weighed)
    order = f"{_ORDER}, weight" if weighed else _ORDER
    so_far, rows = ("sum(weight)", " ROWS UNBOUNDED PRECEDING") if weighed else ("row_number()", "")
    per_pair = f"SELECT *, {so_far} OVER (PARTITION BY {unit}, pair {order}{rows}) AS of_pair FROM ({keyed}) AS keyed"
    within = f"of_pair <= {contribution.max_per_pair}"
    of_user = f"{so_far} OVER (PARTITION BY {unit}, {within} {order}{rows})"
    per_user = f"SELECT *, {of_user} AS of_user FROM ({per_pair}) AS per_pair"
    return f"SELECT *, {within} AND of_user <= {contribution.max_requests} AS kept FROM ({per_user}) AS per_user"


def exceeding(requests: str, contribution: Contribution) -> str:
    """SQL of the number of units, and of units and pairs, with more requests than the bounds: one number, units."""
    unit = _unit(contribution)
    of_pairs = f"SELECT {unit}, count(*) AS n FROM {requests} AS requests GROUP BY {unit}, pair"
    of_units = (
        f"SELECT sum(CASE WHEN n > {contribution.max_per_pair} THEN 1 ELSE 0 END) "
        f"+ CASE WHEN sum(n) > {contribution.max_requests} THEN 1 ELSE 0 END AS above "
        f"FROM ({of_pairs}) AS of_pairs GROUP BY {unit}"
    )
    return f"SELECT CAST(coalesce(sum(above), 0) AS BIGINT) AS units FROM ({of_units}) AS of_units"


def bounded_total(requests: str, contribution: Contribution, keys: Keys | None = None) -> str:
    """SQL of the sum over users (and days) of their requests, of each at most max_for_total: slot and requests.

    One unit more or less changes all slots' numbers together by at most max_for_total. docs/proofs/user.md, Lemma 3.
    """
    unit = _unit(contribution)
    keyed = _keyed(requests, keys)
    counted = f"SELECT slot, row_number() OVER (PARTITION BY {unit} {_ORDER}) AS of_user FROM ({keyed}) AS keyed"
    within = f"SELECT slot FROM ({counted}) AS counted WHERE of_user <= {contribution.max_for_total}"
    return f"SELECT slot, count(*) AS requests FROM ({within}) AS within GROUP BY slot"


def _keyed(requests: str, keys: Keys | None, *, weighed: bool = False) -> str:
    """SQL of the requests with their keys."""
    keys = keys or Keys.of_files(weighed=weighed)
    weight = ", weight" if weighed else ""
    numbered = (
        f"SELECT user_id, day, slot, clock_us, pair{weight}, "
        f"row_number() OVER (PARTITION BY user_id, clock_us, pair{weight} {keys.copies}) AS copy "
        f"FROM {requests} AS requests"
    )
    return f"SELECT user_id, day, slot, clock_us, pair{weight}, copy, {keys.key} AS key FROM ({numbered}) AS numbered"


def _unit(contribution: Contribution) -> str:
    """Within which requests are chosen: a user (and day), or where bounds hold in each period also the slot."""
    unit = "user_id, day" if contribution.unit == "user-day" else "user_id"
    return f"{unit}, slot" if contribution.each_period else unit


def new_salt() -> str:
    """New for every reading, and kept nowhere."""
    return secrets.token_hex(_SALT_BYTES)
