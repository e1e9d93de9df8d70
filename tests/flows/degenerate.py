"""Small random networks with degenerate points: zeros, ties, feasible flows, tiny and huge values."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privroute.network.latency import Latency
from privroute.network.network import Network
from privroute.network.pairs import Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["KINDS", "Case", "adversarial", "cases", "grid"]

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


def adversarial(seed: int = 0) -> list[Case]:
    """Chains, stars, parallel links, parts that no free link joins; ties and points of very different size, to 1e15."""
    rng = np.random.default_rng(seed)
    two_ways = np.array([[0, 1], [1, 0]])
    chain = np.stack([np.arange(30), np.arange(1, 31)])
    shapes = {
        "one street": two_ways,
        "chain": chain,
        "chain both ways": np.concatenate([chain, chain[::-1]], axis=1),
        "star": np.stack([[0] * 8 + [*range(1, 9)], [*range(1, 9)] + [0] * 8]),
        "parallel links": np.stack([[0] * 6 + [1] * 6, [1] * 6 + [2] * 6]),
        "cliques on a bridge": _cliques(5),
        "ladder": np.concatenate([chain, chain[::-1], [[0, 30, 5, 20], [30, 0, 25, 9]]], axis=1),
    }
    found = []
    for tail, head in shapes.values():
        nodes = int(max(tail.max(), head.max())) + 1
        network = Network(tail, head, Latency.affine(np.ones(tail.size), np.ones(tail.size)), range(nodes))
        pairs = Pairs.of_zones(network, on_unreachable="drop")
        chosen = np.sort(rng.permutation(len(pairs))[:4])
        pairs = Pairs(pairs.origin[chosen], pairs.destination[chosen])
        shape = len(pairs), tail.size
        sizes = rng.choice([0.0, 1e-300, 1.0, 1e3, 1e15], shape)
        found += [
            Case(network, pairs, points)
            for points in (
                np.full(shape, 1e15),
                np.full(shape, -1e15),
                rng.choice([-1e15, 1e15], shape),
                rng.choice([-1.0, 1.0], shape) * sizes,
                rng.uniform(-1, 1, shape) * sizes,
                np.tile(rng.choice([0.0, 0.5, 1.0, 2.0**40], tail.size), (shape[0], 1)),
                rng.normal(size=shape) * 10.0 ** rng.integers(-15, 15, shape),
            )
        ]
    return found


def _cliques(size: int) -> NDArray[np.intp]:
    """Two complete graphs, joined by one link each way."""
    one = np.stack(np.nonzero(~np.eye(size, dtype=bool)))
    return np.concatenate([one, one + size, [[size - 1, size], [size, size - 1]]], axis=1)


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
