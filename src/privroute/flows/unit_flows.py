"""Unit flows as dense arrays: objective, gradient, link flow and feasibility.

    y = background + Σ_w Λ_w x_w                     link flow
    F(x, Λ) = Σ_e y_e f_e(y_e) + α/2 ‖x‖²            objective
    ∇_w F = Λ_w t(y) + α x_w,    t = f + y f'        gradient

`flows` is (pairs, links) float64, 2.2 GB for all pairs of a regional network; it is walked through in blocks of rows,
and nothing else of its size is made unless a function says so. `rates` is a Demand, (pairs,) for one day, or
(days, pairs), vehicles per minute; results for many days have a leading axis of days, gradients are averaged over them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import DemandError, NetworkError, PolicyError
from privroute.network.demand import Demand

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from privroute.network.network import Network
    from privroute.network.pairs import Pairs
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = [
    "blocks",
    "closed_links",
    "daily_rates",
    "gradient",
    "infeasibility",
    "link_flow",
    "marginal_costs",
    "objective",
    "step_in_place",
    "unit_flows_of",
]

_BLOCK_VALUES = 2**22  # 32 MB: large enough for BLAS, small beside the flows


def blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of rows, each of about 32 MB of float64."""
    size = max(1, _BLOCK_VALUES // max(columns, 1))
    for first in range(0, rows, size):
        yield slice(first, min(first + size, rows))


def daily_rates(rates: Demand | ArrayLike, pairs: int) -> NDArray[np.float64]:
    """(days, pairs) rates, checked: finite and not negative."""
    values = rates.rate_per_min if isinstance(rates, Demand) else rates
    try:
        array = np.atleast_2d(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError, OverflowError):
        raise DemandError("rates cannot be read as numbers; pass a Demand or an array (days, pairs)") from None
    if array.ndim != 2 or array.shape[1] != pairs or not array.shape[0]:  # noqa: PLR2004 - days, pairs
        raise DemandError(f"rates have shape {np.shape(values)}; pass ({pairs:,},) or (days, {pairs:,})")
    if not np.all(np.isfinite(array) & (array >= 0)):
        raise DemandError("rates have values that are negative or not finite")
    return array


def link_flow(network: Network, rates: Demand | ArrayLike, flows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Y = background + Σ_w Λ_w x_w: (links,), or (days, links) for many days."""
    _check_shape(network, flows)
    daily = daily_rates(rates, len(flows))
    total = np.zeros((len(daily), network.links))
    for part in blocks(*flows.shape):
        total += daily[:, part] @ flows[part]
    total += network.background_per_min
    return total[0] if _is_one_day(rates) else total


def objective(
    network: Network, rates: Demand | ArrayLike, flows: NDArray[np.float64], *, alpha: float = 0.0
) -> float | NDArray[np.float64]:
    """F(x, Λ) = Σ_e y_e f_e(y_e) + α/2 ‖x‖²: a number, or (days,) for many days."""
    flow = np.maximum(link_flow(network, rates, flows), 0.0)  # flows may be −1e-16 after arithmetic
    square = sum(float(np.vdot(flows[part], flows[part])) for part in blocks(*flows.shape)) if alpha else 0.0
    with np.errstate(over="ignore"):  # a warning would be an answer about the demand
        values = (flow * network.latency.time(flow)).sum(axis=-1) + 0.5 * alpha * square
    return float(values) if _is_one_day(rates) else np.asarray(values)


def marginal_costs(network: Network, flow: NDArray[np.float64], ceiling_min: ArrayLike = np.inf) -> NDArray[np.float64]:
    """min(t(y), ceiling): still the gradient of a convex function, which is linear beyond the ceiling."""
    ceiling = np.asarray(ceiling_min, dtype=np.float64)
    if not np.all(ceiling >= 0):
        raise NetworkError("ceiling_min has values that are negative or not a number; it may be infinite")
    return np.minimum(network.latency.marginal_cost(np.maximum(flow, 0.0)), ceiling)


def gradient(
    network: Network,
    rates: Demand | ArrayLike,
    flows: NDArray[np.float64],
    *,
    alpha: float = 0.0,
    ceiling_min: ArrayLike = np.inf,
) -> NDArray[np.float64]:
    """∇F averaged over the days: (pairs, links), as large as the flows."""
    result = np.zeros_like(flows)
    daily = daily_rates(rates, len(flows))
    cost = marginal_costs(network, link_flow(network, daily, flows), ceiling_min)
    for part in blocks(*flows.shape):
        result[part] = _weighted(daily[:, part], cost / len(daily))
        if alpha:
            result[part] += alpha * flows[part]
    return result


def step_in_place(
    network: Network,
    rates: Demand | ArrayLike,
    flows: NDArray[np.float64],
    step: float,
    *,
    alpha: float = 0.0,
    ceiling_min: ArrayLike = np.inf,
) -> None:
    """Replace x by x − step ∇F(x), the gradient averaged over the days; project the result to finish the step."""
    daily = daily_rates(rates, len(flows))
    cost = marginal_costs(network, link_flow(network, daily, flows), ceiling_min) * (step / len(daily))
    for part in blocks(*flows.shape):
        rows = flows[part]
        if alpha:
            rows *= 1.0 - step * alpha
        rows -= _weighted(daily[:, part], cost)


def unit_flows_of(policy: RoutingPolicy) -> NDArray[np.float64]:
    """x: (pairs, links) how likely a pair's route uses each link, the whole policy as one array."""
    return policy.unit_flows(np.arange(len(policy.pairs)))


def closed_links(network: Network, origin: NDArray[np.int32]) -> NDArray[np.bool_]:
    """(pairs, links) True on links that leave a no_through node other than the pair's origin."""
    closed = network.no_through[network.tail]
    return np.asarray(closed & (network.tail[None] != origin[:, None]))


def infeasibility(network: Network, pairs: Pairs, flows: NDArray[np.float64]) -> NDArray[np.float64]:
    """(pairs,) how far a row is from the unit flows of its pair: the largest deviation at a link or node.

    Links: below 0, above 1, or flow on a link closed to the pair. Nodes: |A x − b|. Not a number where a row has one.
    """
    pairs.check_fits(network)
    _check_shape(network, flows)
    if len(flows) != len(pairs):
        raise PolicyError(f"flows have {len(flows):,} rows where there are {len(pairs):,} pairs")
    worst = np.empty(len(pairs))
    for part in blocks(len(pairs), network.links + network.nodes):
        rows, origin, destination = flows[part], pairs.origin[part], pairs.destination[part]
        balance = _sum_by_node(rows, network.head, network.nodes) - _sum_by_node(rows, network.tail, network.nodes)
        row = np.arange(len(rows))
        balance[row, origin] += 1.0
        balance[row, destination] -= 1.0
        outside = np.maximum(-rows, rows - 1.0).max(axis=1)
        on_closed = 0.0
        if network.no_through.any():
            on_closed = np.where(closed_links(network, origin), np.abs(rows), 0.0).max(axis=1)
        worst[part] = np.maximum(np.maximum(outside, on_closed), np.abs(balance).max(axis=1))
    return np.maximum(worst, 0.0)


def _sum_by_node(rows: NDArray[np.float64], node: NDArray[np.int32], nodes: int) -> NDArray[np.float64]:
    order = np.argsort(node, kind="stable")
    present, first = np.unique(node[order], return_index=True)
    total = np.zeros((len(rows), nodes))
    total[:, present] = np.add.reduceat(rows[:, order], first, axis=1)
    return total


def _weighted(daily: NDArray[np.float64], cost: NDArray[np.float64]) -> NDArray[np.float64]:
    """Σ_k Λ_kw c_ke; one day is an outer product, which BLAS would only slow down."""
    return np.multiply.outer(daily[0], cost[0]) if len(daily) == 1 else daily.T @ cost


def _is_one_day(rates: Demand | ArrayLike) -> bool:
    return isinstance(rates, Demand) or np.ndim(rates) == 1


def _check_shape(network: Network, flows: NDArray[np.float64]) -> None:
    if not isinstance(flows, np.ndarray) or flows.ndim != 2 or flows.shape[1] != network.links:  # noqa: PLR2004
        raise PolicyError(f"flows have shape {np.shape(flows)}; pass an array (pairs, {network.links:,})")
