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
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from privroute.study.contribution import Contribution

__all__ = ["bounded_total", "exceeding", "kept_requests", "new_salt"]

_SALT_BYTES = 16
_ORDER = "ORDER BY key, clock_us, pair, copy"


def kept_requests(requests: str, contribution: Contribution) -> str:
    """SQL of the requests to keep, as a table with the columns day, slot and pair, and weight where they have one.

    requests : SQL of a table with the columns user_id (a text), day, slot, clock_us (time) and pair, and weight
    """
    unit = _unit(contribution)
    weighed = contribution.max_weight is not None
    keyed = _keyed(requests, weighed=weighed)
    order = f"{_ORDER}, weight" if weighed else _ORDER
    so_far, rows = ("sum(weight)", " ROWS UNBOUNDED PRECEDING") if weighed else ("row_number()", "")
    per_pair = f"SELECT *, {so_far} OVER (PARTITION BY {unit}, pair {order}{rows}) AS of_pair FROM ({keyed})"
    per_user = (
        f"SELECT *, {so_far} OVER (PARTITION BY {unit} {order}{rows}) AS of_user FROM ({per_pair}) "
        f"WHERE of_pair <= {contribution.max_per_pair}"
    )
    shown = "day, slot, pair, weight" if weighed else "day, slot, pair"
    return f"SELECT {shown} FROM ({per_user}) WHERE of_user <= {contribution.max_requests}"


def exceeding(requests: str, contribution: Contribution) -> str:
    """SQL of the number of units, or of units and pairs, that have more requests than the bounds: one number."""
    unit = _unit(contribution)
    parts = [
        f"SELECT 1 FROM {requests} GROUP BY {unit} HAVING count(*) > {contribution.max_requests}",
        f"SELECT 1 FROM {requests} GROUP BY {unit}, pair HAVING count(*) > {contribution.max_per_pair}",
    ]
    return f"SELECT count(*) FROM ({' UNION ALL '.join(parts)})"


def bounded_total(requests: str, contribution: Contribution) -> str:
    """SQL of the sum over users (and days) of their requests, of each at most max_for_total: slot and requests.

    One unit more or less changes all slots' numbers together by at most max_for_total. docs/proofs/user.md, Lemma 3.
    """
    unit = _unit(contribution)
    counted = f"SELECT slot, row_number() OVER (PARTITION BY {unit} {_ORDER}) AS of_user FROM ({_keyed(requests)})"
    within = f"SELECT slot FROM ({counted}) WHERE of_user <= {contribution.max_for_total}"
    return f"SELECT slot, count(*) AS requests FROM ({within}) GROUP BY slot"


def _keyed(requests: str, *, weighed: bool = False) -> str:
    """SQL of the requests with their keys, under a new salt."""
    salt = new_salt()
    weight = ", weight" if weighed else ""
    numbered = (
        f"SELECT user_id, day, slot, clock_us, pair{weight}, "
        f"row_number() OVER (PARTITION BY user_id, clock_us, pair{weight}) AS copy FROM {requests}"
    )
    # the separators keep different requests different; equal requests are interchangeable, so their order is free
    return (
        f"SELECT user_id, day, slot, clock_us, pair{weight}, copy, "
        f"md5_number('{salt}' || '/' || clock_us || '/' || pair || '/' || copy || '/' "
        f"{'|| weight || chr(47) ' if weighed else ''}|| user_id) AS key "
        f"FROM ({numbered})"
    )


def _unit(contribution: Contribution) -> str:
    """Within which requests are chosen: a user (and day), or where bounds hold in each period also the slot."""
    unit = "user_id, day" if contribution.unit == "user-day" else "user_id"
    return f"{unit}, slot" if contribution.each_period else unit


def new_salt() -> str:
    """New for every reading, and kept nowhere."""
    return secrets.token_hex(_SALT_BYTES)
