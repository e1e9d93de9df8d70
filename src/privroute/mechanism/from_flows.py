"""Unit flows as integers on a grid, and a policy from noisy ones: the end that `sgd` and `minimiser` share."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from privroute.flows.projection import project
from privroute.mechanism.interface import Published
from privroute.mechanism.promise import Promise
from privroute.policy.decomposition import decompose
from privroute.privacy.flow_sensitivity import on_grid_sensitivity
from privroute.privacy.noise import GRID

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.network import Network
    from privroute.progress import Progress
    from privroute.study.mechanisms import Minimiser, Sgd
    from privroute.study.study import Study

__all__ = ["promise_on_grid", "publish", "tilted"]


def promise_on_grid(study: Study, moved: float) -> Promise:
    """Noise for unit flows that one request moves by `moved` at most. docs/proofs/sgd.md, Theorem 2."""
    entries = len(study.pairs) * study.network.links
    return Promise.of(study.promised, on_grid_sensitivity(moved, entries), grid=GRID)


def tilted(network: Network, noisy: NDArray[np.float64], amount: float) -> NDArray[np.float64]:
    """Noisy flows less `amount` times the links' free-flow times over their mean: public, the same for every pair.

    Noise on links that a pair does not use makes detours and cycles; their price on long links removes them.
    """
    mean = float(network.free_flow_min.mean()) if network.links else 0.0
    return noisy - amount * network.free_flow_min / mean if mean > 0 else noisy


def publish(study: Study, promise: Promise, noisy: NDArray[np.int64], progress: Progress | None) -> Published:
    """Π(x + Z − tilt σ c/mean(c)) as paths. Post-processing: the projection starts cold, from nothing private."""
    del progress  # a second or two
    network, tilt = study.network, cast("Sgd | Minimiser", study.mechanism).tilt or 0.0
    flows = np.asarray(noisy * np.float64(promise.grid)).reshape(len(study.pairs), network.links)
    points = tilted(network, flows, tilt * promise.scale)
    return Published(decompose(network, study.pairs, project(network, study.pairs, points).flows))
