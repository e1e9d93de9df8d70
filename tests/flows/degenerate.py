"""Small random networks with degenerate points: zeros, ties, feasible flows, tiny and huge values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privroute.network.latency import Latency
from privroute.network.network import Network
from privroute.network.pairs import Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KINDS", "Case", "cases", "grid"]

KINDS = ("zeros", "ones", "ties", "halves", "normal", "tiny", "denormal", "large", "one link huge")


class Case(NamedTuple):
    """A network, its reachable pairs, and one point for each."""

    network: Network
    pairs: Pairs
    points: NDArray[np.float64]


def cases(count: int, seed: int, kinds: tuple[str, ...] = KINDS, rows: int = 12) -> list[Case]:
    """`count` networks with up to `rows` pairs each; the kind of point goes round."""
    rng = np.random.default_rng(seed)
    found: list[Case] = []
    while len(found) < count:
        nodes = int(rng.integers(2, 8))
        links = int(rng.integers(1, 3 * nodes))
        tail = rng.integers(0, nodes, links)
        head = (tail + rng.integers(1, nodes, links)) % nodes
        closed = rng.random(nodes) < rng.choice([0.0, 0.3])
        network = Network(tail, head, Latency.affine(np.ones(links), np.ones(links)), range(nodes), no_through=closed)
        pairs = Pairs.of_zones(network, on_unreachable="drop")
        if not len(pairs):
            continue
        chosen = np.sort(rng.permutation(len(pairs))[:rows])
        pairs = Pairs(pairs.origin[chosen], pairs.destination[chosen])
        shape = len(pairs), links
        found.append(Case(network, pairs, _points(kinds[len(found) % len(kinds)], shape, rng)))
    return found


def grid(side: int, seed: int = 0, pairs: int = 500) -> Case:
    """A square grid with links both ways, random pairs and points."""
    rng = np.random.default_rng(seed)
    nodes = np.arange(side * side).reshape(side, side)
    ends = np.concatenate(
        [np.stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()]), np.stack([nodes[:-1].ravel(), nodes[1:].ravel()])],
        axis=1,
    )
    tail, head = np.concatenate([ends, ends[::-1]], axis=1)
    network = Network(tail, head, Latency.affine(np.ones(tail.size), np.ones(tail.size)), range(side * side))
    keys = rng.choice(side**2 * (side**2 - 1), pairs, replace=False)
    origin, other = np.divmod(keys, side**2 - 1)
    return Case(network, Pairs(origin, other + (other >= origin)), rng.normal(size=(pairs, tail.size)))


def _points(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> NDArray[np.float64]:  # noqa: PLR0911
    match kind:
        case "zeros":
            return np.zeros(shape)
        case "ones":
            return np.ones(shape)
        case "ties":
            return rng.integers(-1, 3, shape).astype(float)
        case "halves":
            return 0.5 * rng.integers(-2, 5, shape).astype(float)
        case "tiny":
            return rng.normal(size=shape) * 1e-12
        case "denormal":
            return rng.integers(-3, 4, shape).astype(np.float64) * 5e-324
        case "large":
            return rng.normal(size=shape) * 1e3
        case "huge":
            return rng.normal(size=shape) * 10.0 ** rng.integers(5, 15, shape)
        case "one link huge":
            points = rng.normal(size=shape)
            points[:, rng.integers(shape[1])] = 1e4
            return points
        case _:
            return rng.normal(size=shape)
