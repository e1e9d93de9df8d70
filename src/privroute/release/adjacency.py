"""When two data sets are neighbours, in the words of certificates."""

from __future__ import annotations

__all__ = ["ADJACENCY", "is_adjacency"]

ADJACENCY = {
    "request": (
        "two data sets are neighbours if one has one request more, on one day, for one origin-destination pair, and "
        "they are equal otherwise (add or remove). Replacing one request by another counts as two such steps: for "
        "counts its sensitivity is sqrt(2) times as large, for unit flows (sgd, minimiser) and for the measured "
        "quality twice."
    ),
    "user": (
        "two data sets are neighbours if one has all requests of one user more, on all days and for all "
        "origin-destination pairs, and they are equal otherwise (add or remove). Of each user at most max_requests "
        "requests are counted, at most max_per_pair of them for one pair. Replacing the requests of one user by others "
        "counts as two such steps: for counts its sensitivity is sqrt(2) times as large, for the measured quality "
        "twice."
    ),
    "user-day": (
        "two data sets are neighbours if one has all requests of one user on one day more, for all origin-destination "
        "pairs, and they are equal otherwise (add or remove). What follows midnight in a period that passes it belongs "
        "to the day on which the period began. Of each user at most max_requests requests are counted "
        "on a day, at most max_per_pair of them for one pair. Replacing the requests of one user on one day by others "
        "counts as two such steps: for counts its sensitivity is sqrt(2) times as large, for the measured quality "
        "twice."
    ),
}
# as certificates said it before the quality was measured
_UNMEASURED = {
    "request": ADJACENCY["request"].replace(" and for the measured quality", ""),
    "user": ADJACENCY["user"].replace(", for the measured quality twice", ""),
    "user-day": ADJACENCY["user-day"].replace(", for the measured quality twice", ""),
}


def is_adjacency(words: str, unit: str, *, measured: bool) -> bool:
    """Whether these are the words for the unit; the earlier ones are true only where no quality was measured."""
    return unit in ADJACENCY and words in {ADJACENCY[unit], ADJACENCY[unit] if measured else _UNMEASURED[unit]}
