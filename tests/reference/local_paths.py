"""Readable twin of the core's fastest ways from link to link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["least_cost"]


def least_cost(
    ends: Sequence[tuple[int, int]],
    cost: Sequence[float],
    reverse: Sequence[int],
    turn_back: float,
    sources: Mapping[int, float],
    targets: Mapping[int, float],
) -> float:
    """Cost of the fastest way of at least two links from a source to a target (Bellman and Ford, on links).

    ends : (tail, head) of each link
    sources, targets : link -> cost up to its end, and from its start on
    """
    leaving = {head: [link for link, (tail, _) in enumerate(ends) if tail == head] for _, head in ends}

    def step(link: int, following: int) -> float:
        """What it costs to go on from one link to the next one."""
        dead_end = len(leaving[ends[link][1]]) == 1
        return turn_back if following == reverse[link] and not dead_end else 0.0

    best = [sources.get(link, float("inf")) for link in range(len(ends))]
    for _ in ends:
        for link, (_, head) in enumerate(ends):
            for following in leaving[head]:
                best[following] = min(best[following], best[link] + step(link, following) + cost[following])
    return min(
        (
            best[link] + step(link, following) + targets[following]
            for link, (_, head) in enumerate(ends)
            for following in leaving[head]
            if following in targets
        ),
        default=float("inf"),
    )
