"""Noise on unit flows, and a policy from noisy flows: the end that `sgd` and `minimiser` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.flows.projection import project
from privroute.mechanism.steps import Published
from privroute.policy.decomposition import decompose
from privroute.privacy.noise import add_on_grid
from privroute.progress import each_told

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.history.frame import Frame
    from privroute.mechanism.options import Minimiser, Sgd
    from privroute.mechanism.promise import Promise
    from privroute.network.network import Network
    from privroute.privacy.noise import Noise
    from privroute.progress import Progress

__all__ = ["noisy_flows", "publish_flows", "tilted"]

_DRAWN_AT_ONCE = 2**16


def noisy_flows(
    flows: NDArray[np.float64], scale: float, noise: Noise, progress: Progress | None = None
) -> NDArray[np.float64]:
    """Flows + Z, entry by entry, in blocks that together are one Gaussian. docs/proofs/sgd.md, Theorem 2."""
    values = flows.ravel()
    noisy = np.empty(values.shape)
    parts = [slice(first, first + _DRAWN_AT_ONCE) for first in range(0, values.size, _DRAWN_AT_ONCE)]
    for part in each_told(parts, len(parts), "Drawing noise", progress):
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
    progress: Progress | None = None,
) -> Published:
    """Π(x + Z − tilt σ c/mean(c)) as paths. Post-processing: the projection starts cold, from nothing private."""
    del progress  # a second or two
    points = tilted(network, noisy, (options.tilt or 0.0) * promise.scale)
    return Published(decompose(network, frame.pairs, project(network, frame.pairs, points).flows))
