"""Unit flows on route sets as integers on a grid, and a policy from noisy ones: the end of `sgd` and `minimiser`.

What gets noise is z = W^½ x on the entries that are not forced: there one isotropic Gaussian is N(0, σ² W⁻¹) on x.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, cast

import numpy as np

from privroute.errors import GuaranteeError
from privroute.flows.route_metric import LARGEST_ROUTE_POINT, project_on_routes, smallest_route_tolerance
from privroute.mechanism.interface import Published
from privroute.mechanism.promise import Promise
from privroute.mechanism.public_routes import public_routes
from privroute.privacy.flow_sensitivity import on_grid_sensitivity
from privroute.privacy.noise import GRID, on_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.mechanism.public_routes import PublicRoutes
    from privroute.progress import Progress
    from privroute.study.mechanisms import Minimiser, Sgd
    from privroute.study.study import Study

__all__ = ["perturbed_integers", "promise_on_routes", "publish"]

_U = 2.0**-53
_PUBLISHED_TOLERANCE = 1e-9


def promise_on_routes(study: Study, routes: PublicRoutes, moved: float) -> Promise:
    """Noise for unit flows that one request moves by `moved` at most in the W-norm. docs/proofs/sgd.md, Theorem 2."""
    drawn = ~routes.sets.forced
    if not drawn.any():
        raise GuaranteeError("every pair has one route only, so there is nothing to learn; choose a larger detour")
    weight = routes.metric.total(routes.sets)
    scaled = moved + 6 * _U * math.sqrt(weight)  # z = W^½ x is rounded, on both sides
    return Promise.of(study.promised, on_grid_sensitivity(scaled, int(drawn.sum())), grid=GRID)


def perturbed_integers(routes: PublicRoutes, flows: NDArray[np.float64]) -> NDArray[np.int64]:
    """PRIVATE. W^½ x on the grid, without the forced entries, whose flow is 1 whatever the data."""
    drawn = ~routes.sets.forced
    return on_grid((flows * routes.metric.root(routes.sets))[drawn])


def publish(study: Study, promise: Promise, noisy: NDArray[np.int64], progress: Progress | None) -> Published:
    """Π_W(x + Z − tilt) as paths. Post-processing: the projection starts cold, from nothing private."""
    del progress  # a second or two
    routes, tilt = public_routes(study), cast("Sgd | Minimiser", study.mechanism).tilt or 0.0
    points = np.ones(routes.sets.entries)
    drawn = ~routes.sets.forced
    points[drawn] = noisy * np.float64(promise.grid) / routes.metric.root(routes.sets)[drawn]
    points -= public_tilt(routes, tilt * promise.scale)
    np.clip(points, -LARGEST_ROUTE_POINT, LARGEST_ROUTE_POINT, out=points)  # noise is drawn: nothing may fail now
    tolerance = max(_PUBLISHED_TOLERANCE, smallest_route_tolerance(routes.sets, routes.metric))
    hints = np.zeros(routes.sets.entries, dtype=np.float32)
    project_on_routes(routes.sets, routes.metric, points, hints, tolerance=tolerance)
    return Published(routes.sets.policy(points))


def public_tilt(routes: PublicRoutes, amount: float) -> NDArray[np.float64]:
    """(entries,) what is subtracted before the projection: `amount` noise scales times public costs, in the metric.

    Noise on links that a pair does not use makes detours; their price removes them. A price in the metric, W⁻¹ times
    a cost, is the same for all ways of equal cost: where the public demand's optimum divides traffic it does nothing.
    """
    sets, metric = routes.sets, routes.metric
    mean = float(routes.cost.mean()) if routes.cost.size else 0.0
    if not (mean > 0 and amount > 0):
        return np.zeros(sets.entries)
    price = routes.cost / mean * float(np.sqrt(metric.link).mean()) / metric.link
    return np.asarray(amount * price[sets.link] / np.sqrt(sets.by_entry(metric.pair)))
