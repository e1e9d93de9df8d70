"""Noise on unit flows, and a policy from noisy flows: the end that `sgd` and `minimiser` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from privroute.flows.projection import project
from privroute.mechanism.steps import Published
from privroute.policy.decomposition import decompose
from privroute.privacy.noise import add_on_grid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from privroute.history.frame import Frame
    from privroute.mechanism.options import Minimiser, Sgd
    from privroute.mechanism.promise import Promise
    from privroute.network.network import Network
    from privroute.privacy.noise import Noise

__all__ = ["counted", "noisy_flows", "publish_flows", "tilted"]

_Item = TypeVar("_Item")
_DRAWN_AT_ONCE = 2**16


def counted(items: Iterable[_Item], total: int, name: str, progress: bool) -> Iterator[_Item]:
    """The items, with a bar on the terminal that shows k of a public K and nothing that was measured."""
    if not progress:
        yield from items
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield from bar.track(items, total=total, description=name)


def noisy_flows(flows: NDArray[np.float64], scale: float, noise: Noise, progress: bool) -> NDArray[np.float64]:
    """Flows + Z, entry by entry, in blocks that together are one Gaussian. docs/proofs/sgd.md, Theorem 2."""
    values = flows.ravel()
    noisy = np.empty(values.shape)
    parts = [slice(first, first + _DRAWN_AT_ONCE) for first in range(0, values.size, _DRAWN_AT_ONCE)]
    for part in counted(parts, len(parts), "Noise", progress):
        noisy[part] = add_on_grid(values[part], scale, noise)
    return noisy.reshape(flows.shape)


def tilted(network: Network, noisy: NDArray[np.float64], amount: float) -> NDArray[np.float64]:
    """Noisy flows less `amount` times the links' free-flow times over their mean: public, the same for every pair.

    Noise on links that a pair does not use makes detours and cycles; their price on long links removes them.
    """
    mean = float(network.free_flow_min.mean()) if network.links else 0.0
    return noisy - amount * network.free_flow_min / mean if mean > 0 else noisy


def publish_flows(
    network: Network,
    frame: Frame,
    options: Sgd | Minimiser,
    promise: Promise,
    noisy: NDArray[np.float64],
    progress: bool,
) -> Published:
    """Π(x + Z − tilt σ c/mean(c)) as paths. Post-processing: the projection starts cold, from nothing private."""
    del progress  # a second or two
    points = tilted(network, noisy, (options.tilt or 0.0) * promise.scale)
    return Published(decompose(network, frame.pairs, project(network, frame.pairs, points).flows))
