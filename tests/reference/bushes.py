"""Readable twins of the kernels on policies by origin: every route is written out, and sums are taken over routes."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from tests.reference.kernels import _MASK, _mix

if TYPE_CHECKING:
    import privroute as pr

__all__ = ["Walk", "entering", "fault", "routes", "sample"]


class Walk(NamedTuple):
    """A route with its probability."""

    probability: float
    links: tuple[int, ...]


def entering(policy: pr.RoutingPolicy, bush: int) -> dict[int, list[tuple[int, float]]]:
    """The links that enter each node of a bush, with their shares."""
    bushes, network = policy.bushes, policy.network
    links = bushes.links[bushes.link_start[bush] : bushes.link_start[bush + 1]].tolist()
    shares = iter(bushes.share[bushes.share_start[bush] : bushes.share_start[bush + 1]].tolist())
    found: dict[int, list[int]] = {}
    for link in links:
        found.setdefault(int(network.head[link]), []).append(link)
    return {node: [(link, 1.0 if len(group) == 1 else next(shares)) for link in group] for node, group in found.items()}


def routes(policy: pr.RoutingPolicy, pair: int) -> list[Walk]:
    """All routes of a pair in the order of their numbers: by the link that enters the destination, then back."""
    bush = int(policy.bushes.bush_of_pair[pair])
    root = int(policy.bushes.root[bush])
    into = entering(policy, bush)

    def to(node: int) -> list[Walk]:
        if node == root:
            return [Walk(1.0, ())]
        return [
            Walk(share * walk.probability, (*walk.links, link))
            for link, share in into[node]
            for walk in to(int(policy.network.tail[link]))
        ]

    return to(int(policy.pairs.destination[pair]))


def sample(policy: pr.RoutingPolicy, pairs: list[int], key: int, stream: int) -> list[tuple[int, ...]]:
    """One walk back for each entry: choice j of draw i is a hash of the key, i and j."""
    drawn = []
    for draw, pair in enumerate(pairs):
        bush = int(policy.bushes.bush_of_pair[pair])
        into = entering(policy, bush)
        own = _mix((_mix(key ^ _mix(stream)) + (draw + 1) * 0x9E3779B97F4A7C15) & _MASK)
        node, step, links = int(policy.pairs.destination[pair]), 0, []
        while node != policy.bushes.root[bush]:
            choices = into[node]
            chosen = 0
            if len(choices) > 1:
                left = (_mix((own + (step + 1) * 0x9E3779B97F4A7C15) & _MASK) >> 11) * 2.0**-53
                step += 1
                for chosen, (_, share) in enumerate(choices[:-1]):  # noqa: B007 - used behind the loop
                    left -= share
                    if left < 0:
                        break
                else:
                    chosen = len(choices) - 1
            links.append(choices[chosen][0])
            node = int(policy.network.tail[choices[chosen][0]])
        drawn.append(tuple(reversed(links)))
    return drawn


def fault(policy: pr.RoutingPolicy, arrays: dict[str, np.ndarray]) -> bool:
    """Whether bushes break a rule: order, no-through, shares, or a pair that is not reached. Indices are in range."""
    return any(_is_faulty(policy, arrays, bush) for bush in range(arrays["root"].size))


def _is_faulty(policy: pr.RoutingPolicy, arrays: dict[str, np.ndarray], bush: int) -> bool:
    network, pairs, root = policy.network, policy.pairs, int(arrays["root"][bush])
    links = arrays["links"][arrays["link_start"][bush] : arrays["link_start"][bush + 1]].tolist()
    shares = arrays["share"][arrays["share_start"][bush] : arrays["share_start"][bush + 1]].tolist()
    placed = {root}
    for head, found in groupby(links, lambda link: int(network.head[link])):
        group = list(found)
        tails = network.tail[group].tolist()
        closed = any(network.no_through[tail] and tail != root for tail in tails)
        if closed or head in placed or len(set(group)) != len(group) or not set(tails) <= placed:
            return True
        placed.add(head)
        if len(group) > 1:
            mine, shares = shares[: len(group)], shares[len(group) :]
            if len(mine) < len(group) or min(mine) <= 0 or abs(sum(mine) - 1) > 1e-9:
                return True
    mine = np.flatnonzero(arrays["bush_of_pair"] == bush)
    reached = all(int(to) in placed - {root} for to in pairs.destination[mine])
    return bool(shares) or not reached or bool(np.any(pairs.origin[mine] != root))
