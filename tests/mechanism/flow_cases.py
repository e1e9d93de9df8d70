"""Small networks, options and data for the mechanisms on unit flows, and what they perturb."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import privroute as pr
from privroute.mechanism.learn import Announcement
from privroute.mechanism.registry import asked_once
from privroute.study.mechanisms import Mechanism

PROMISE = pr.Guarantee(epsilon=1.0, delta=1e-6)
SCENARIO = pr.sioux_falls()
T = 60.0


class NoNoise:
    """Gives the values back; remembers how many it saw."""

    def __init__(self, answer: NDArray[np.int64] | None = None) -> None:
        self.answer = answer
        self.seen = 0

    def add_integers(self, values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        del scale
        first, self.seen = self.seen, self.seen + values.size
        return values.copy() if self.answer is None else self.answer[first : self.seen].copy()


def roads(times: list[float], capacity: float = 1.0, factor: float = 2.0, back: float = 1.0) -> pr.Network:
    """Parallel roads from a to b with these free-flow minutes, and one back."""
    count = len(times)
    return pr.Network(
        [0] * count + [1], [1] * count + [0], pr.Latency.affine([*times, back], capacity, factor), ["a", "b"]
    )


def braess() -> pr.Network:
    """Four nodes, five links and one way back: routes that share links."""
    return pr.Network(
        [0, 0, 1, 1, 2, 3],
        [1, 2, 2, 3, 3, 0],
        pr.Latency.affine([1.0, 3.0, 0.5, 3.0, 1.0, 2.0], [0.3, 1.0, 1.0, 1.0, 0.3, 1.0], 3.0),
        list("abcd"),
    )


# Free roads but one that costs: a trip moves its pair away from that one, and nothing else has a say.
TIGHT = roads([0.1, *[1e-5] * 9], capacity=1e9, back=1e-5)
CONGESTED = roads([1.0, 1.5], capacity=0.05, factor=3.0)


def pairs_of(network: pr.Network) -> pr.Pairs:
    return pr.Pairs.of_zones(network)


# The paper's case of the certified algorithm: every link, the Euclidean norm, one step for each day.
PAPERS_CASE: dict[str, Any] = {
    "routes": "all",
    "metric": "none",
    "steps_per_day": 1,
    "step_sizes": "paper",
    "prior_ceiling": 1e6,
}


def sgd(network: pr.Network, rate: float = 0.1, **options: Any) -> pr.Sgd:
    """Return the paper's case, with a public demand that is the same for all pairs."""
    usual = {"alpha": 1.0} | ({} if options.get("constants") == "paper" else {"cap_trips": 3} | PAPERS_CASE)
    return pr.Sgd(public_demand=_equal(network, rate), **(usual | options))


def sgd_in_metric(network: pr.Network, rate: float = 0.1, **options: Any) -> pr.Sgd:
    """Return steps in the metric of the curvature on route sets, wide enough for all ways of these networks."""
    usual = {"alpha": 1.0, "cap_trips": 3, "detour": 20.0, "prior_ceiling": 3.0, "steps_per_day": 3}
    return pr.Sgd(public_demand=_equal(network, rate), **(usual | options))


def _equal(network: pr.Network, rate: float) -> pr.Demand:
    return pr.Demand(pairs_of(network), np.full(len(pairs_of(network)), rate))


def history(network: pr.Network, counts: Any) -> pr.DemandHistory:
    return pr.DemandHistory(pairs_of(network), np.asarray(counts), period_min=T)


def perturbed(network: pr.Network, counts: Any, options: Mechanism) -> tuple[NDArray[np.float64], float]:
    """What gets noise, as the noise sees it (z = W^½ x), and its declared sensitivity."""
    return perturbed_history(network, history(network, counts), options)


def perturbed_history(
    network: pr.Network, data: pr.DemandHistory, options: Mechanism
) -> tuple[NDArray[np.float64], float]:
    study, steps = pr.Study(network, data.frame, PROMISE, options), asked_once(options)
    promise = steps.promise(study)
    flows = steps.query(study, data, progress=None) * promise.grid
    return shaped(network, data, flows), promise.sensitivity


def shaped(network: pr.Network, data: pr.DemandHistory, flows: NDArray[Any]) -> NDArray[np.float64]:
    """(pairs, links) where every pair has every link; otherwise as they are, one number for each entry."""
    whole = len(data.pairs), network.links
    return np.asarray(flows.reshape(whole) if flows.size == np.prod(whole) else flows, dtype=np.float64)


@dataclass(frozen=True)
class InUnits:
    """What was drawn, in the units of what was perturbed: flows are (pairs, links)."""

    noisy: NDArray[Any]
    certificate: pr.Certificate


def draw(
    network: pr.Network,
    data: pr.DemandHistory,
    guarantee: pr.Guarantee,
    options: Mechanism,
    noise: Any,
    ledger: pr.Ledger | None,
) -> InUnits:
    """The private phase with this noise."""
    announced = Announcement(pr.Study(network, data.frame, guarantee, options), noise, ledger)
    drawn = announced.draw(data)
    assert announced.promise
    if not options.on_flows:
        return InUnits(drawn.noisy, drawn.certificate)
    return InUnits(shaped(network, data, drawn.noisy * announced.promise.grid), drawn.certificate)
