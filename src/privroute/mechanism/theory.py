"""The theorems of the paper as functions of public numbers, as printed and, where the print does not hold, corrected.

The paper is "Differentially Private Stochastic Convex Optimization for Network Routing Applications" (Tsao,
Gopalakrishnan, Yang and Pavone). Its symbols, and the units they have here:

    x    unit flows, (pairs, links), without unit           Λ    rates, (pairs,), vehicles per minute
    F    vehicle-minutes per minute                         α, β   strong convexity and smoothness of F in x, unit of F
    C    Lipschitz constant of ∇F in one rate, minutes      K    bound of ‖∇F‖, unit of F
    T    minutes of the operation period                    N    days
    η    step sizes, 1 / unit of F                          s    ℓ2 sensitivity of the last iterate, without unit
    n, m   nodes and links; f_e(y) = c_e + q_e y on link e

No function here sees data. Rates that enter a bound (`rate_max`, `caps`) must be public: the paper estimates λ_max from
the history, which voids its proof. Certified releases use the sensitivities in docs/proofs, not the printed ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import DemandError, GuaranteeError, InputError, NetworkError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from privroute.network.network import Network

__all__ = [
    "AccuracyBound",
    "Constants",
    "accuracy_bound",
    "accuracy_limit",
    "accuracy_recursion",
    "classical_gaussian_scale",
    "corrected_constants",
    "day_influence",
    "day_influence_as_claimed",
    "exact_sensitivity",
    "least_delta",
    "printed_constants",
    "rescaled",
    "sensitivity",
    "step_sizes",
]

_LOST = math.exp(1.0 - np.euler_gamma)  # 1.526: sup of N exp(1 − H_N), what the integral in the paper's proof loses


@dataclass(frozen=True, slots=True)
class Constants:
    """What Assumptions 2 and 4 to 6 of section 3.3 ask of F.

    alpha, beta : F(·, Λ) is α-strongly convex and β-smooth
    lipschitz : C, ‖∂∇F/∂Λ_w‖₂ ≤ C for every pair w, minutes
    gradient_bound : K, E‖∇F(x, Λ)‖² ≤ K²
    """

    alpha: float
    beta: float
    lipschitz: float
    gradient_bound: float

    def __post_init__(self) -> None:
        for name in ("alpha", "beta", "lipschitz", "gradient_bound"):
            _positive(name, getattr(self, name))


def printed_constants(network: Network, alpha: float, rate_max: float) -> Constants:
    """Constants of the transportation example as section 3.4 prints them, for affine latency.

        β = n² max q λ_max² + α/2          C = 2 λ_max max q √m n (n + 1) + ‖c‖₂

    rate_max : λ_max, vehicles per minute, the largest rate of any pair

    β lacks a factor 2, since the Hessian is 2 B'QB + α I: it is not an upper bound. C holds where x ≤ 1. The paper
    gives K no value; here it is that of `corrected_constants` for all n² pairs at λ_max.
    """
    q = _slopes(network)
    rate = _positive("rate_max", rate_max)
    n, m = network.nodes, network.links
    beta = n**2 * q.max() * rate**2 + _positive("alpha", alpha) / 2
    lipschitz = 2 * rate * q.max() * math.sqrt(m) * n * (n + 1) + np.linalg.norm(network.latency.free_flow_min)
    everywhere = corrected_constants(network, alpha, np.full(n**2, rate))
    return Constants(float(alpha), float(beta), float(lipschitz), everywhere.gradient_bound)


def corrected_constants(network: Network, alpha: float, caps: ArrayLike) -> Constants:
    """Constants that hold for 0 ≤ x ≤ 1 and all rates 0 ≤ Λ_w ≤ cap_w, for affine latency.

        β  = α + 2 max q L²                                               L = ‖cap‖₂
        C² = max_w (a + cap_w b)² + (L² − cap_w²) b²                      a = ‖t(ȳ)‖₂,  b = 2 ‖q‖₂
        K  = L a + α √(pairs · m)                                         ȳ = background + Σ_w cap_w,  t = c + 2 q y

    caps : (pairs,) vehicles per minute, public

    ∂∇F/∂Λ_w has the block t(y) + Λ_w 2q∘x_w at w and Λ_v 2q∘x_w at every other pair v, hence C.
    """
    cap = np.asarray(caps, dtype=np.float64)
    if cap.ndim != 1 or not cap.size or not np.all(np.isfinite(cap) & (cap >= 0)) or not cap.any():
        raise DemandError("caps must be one finite rate of at least 0 for each pair, not all of them 0")
    q = _slopes(network)
    square = float(cap @ cap)
    costs = network.latency.marginal_cost(network.background_per_min + cap.sum())
    a, b = float(np.linalg.norm(costs)), 2 * float(np.linalg.norm(q))
    lipschitz = math.sqrt(float(np.max((a + cap * b) ** 2 + (square - cap**2) * b**2)))
    gradient_bound = math.sqrt(square) * a + _positive("alpha", alpha) * math.sqrt(cap.size * network.links)
    return Constants(float(alpha), alpha + 2 * float(q.max()) * square, lipschitz, gradient_bound)


def rescaled(constants: Constants, lipschitz: float, *, as_printed: bool = False) -> Constants:
    """Constants of (C/θ) F, where θ is the C of `constants` and C = `lipschitz`: the remark after Assumption 6.

    All constants grow by C/θ. The print drops C and says α/θ and β/θ; its sensitivity is then C times the true one,
    too small whenever C < 1. Rescaling gains nothing: steps and sensitivity stay the same while min(1, 2α) = 1, and
    change through that term otherwise, which is not invariant under a change of units.
    """
    factor = _positive("lipschitz", lipschitz) / constants.lipschitz
    shrunk = 1 / constants.lipschitz if as_printed else factor
    return Constants(
        constants.alpha * shrunk, constants.beta * shrunk, float(lipschitz), constants.gradient_bound * factor
    )


def step_sizes(days: int, alpha: float, beta: float) -> NDArray[np.float64]:
    """η_{k−1} = min(1/(α k), min(1, 2α)/β) for k = 1..N, line 5 of Algorithm 1: (days,), first day first."""
    number = np.arange(1, _whole("days", days) + 1)
    return np.minimum(1 / (_positive("alpha", alpha) * number), min(1.0, 2 * alpha) / _positive("beta", beta))


def day_influence(steps: ArrayLike, alpha: float, beta: float) -> NDArray[np.float64]:
    """η_t Π_{k>t} (1 − η_k α): how far x_N moves, at most, when the gradient of day t moves by 1. (days,).

    The Lemma of the privacy proof with exact products. It needs η ≤ 2/(α + β), for then a projected gradient step
    contracts by 1 − η α; larger steps are refused.
    """
    sizes = _steps(steps)
    if np.any(sizes > 2 / (_positive("alpha", alpha) + _positive("beta", beta)) * (1 + 1e-12)):
        raise InputError("steps exceed 2/(alpha + beta), where a gradient step need not contract by 1 - step * alpha")
    later = np.maximum(1 - sizes[:0:-1] * alpha, 0.0)  # 1 − η α may round below 0 at η = 1/α
    return np.asarray(sizes * np.concatenate([np.cumprod(later)[::-1], [1.0]]))


def day_influence_as_claimed(steps: ArrayLike, alpha: float) -> NDArray[np.float64]:
    """η_t exp(−α Σ_{k>t} η_k), which the paper's proof bounds in place of the product: (days,).

    It is claimed to be at most 1/(α N), by Σ 1/(k+1) ≥ ∫ dy/y, which points the wrong way: for the paper's steps it
    reaches N exp(1 − H_N) times that, 1.51 times at N = 50 and e^(1−γ) = 1.526 times in the limit. The Lemma survives
    because the product itself is smaller (`day_influence`).
    """
    sizes = _steps(steps)
    later = np.concatenate([np.cumsum(sizes[:0:-1])[::-1], [0.0]])
    return np.asarray(sizes * np.exp(-_positive("alpha", alpha) * later))


def sensitivity(constants: Constants, days: int, period_min: float) -> float:
    """Sensitivity s = (C/T) min(min(1, 2α)/β, 1/(α N)), line 8 of Algorithm 1 and Theorem 2.

    Below N = β/(α min(1, 2α)) days it does not fall with N.
    """
    largest = min(1.0, 2 * constants.alpha) / constants.beta
    return (
        constants.lipschitz
        / _positive("period_min", period_min)
        * min(largest, 1 / (constants.alpha * _whole("days", days)))
    )


def exact_sensitivity(constants: Constants, days: int, period_min: float, *, steps: ArrayLike | None = None) -> float:
    """Sensitivity s = (C/T) max_t η_t Π_{k>t} (1 − η_k α) for any step sizes.

    steps : (days,); default the paper's, for which this equals the closed form `sensitivity`
    """
    used = step_sizes(days, constants.alpha, constants.beta) if steps is None else _steps(steps)
    if used.size != days:
        raise InputError(f"steps are {used.size:,} where there are {days:,} days; pass one for each day")
    influence = day_influence(used, constants.alpha, constants.beta)
    return constants.lipschitz / _positive("period_min", period_min) * float(influence.max())


def classical_gaussian_scale(
    sensitivity: float, epsilon: float, delta: float, *, beyond_its_proof: bool = False
) -> float:
    """σ = (s/ε) √(2 ln(1.25/δ)), line 9 of Algorithm 1 (Dwork and Roth 2014, Theorem A.1).

    Proved for 0 < ε < 1 only, and false for large ε; a larger one is refused unless `beyond_its_proof` is set, for
    study. Releases take their scale from OpenDP's map, which needs less noise.
    """
    _positive("epsilon", epsilon)
    if not 0 < delta < 1:
        raise GuaranteeError(f"delta is {delta!r}; pass a number between 0 and 1, for instance 1e-6")
    if epsilon >= 1 and not beyond_its_proof:
        raise GuaranteeError(
            f"epsilon is {epsilon:g}, and the classical Gaussian formula is proved below 1 only; choose a smaller one, "
            "or pass beyond_its_proof=True for research"
        )
    return _positive("sensitivity", sensitivity) / epsilon * math.sqrt(2 * math.log(1.25 / delta))


@dataclass(frozen=True, slots=True)
class AccuracyBound:
    """Theorem 3's bound of E‖x_alg − x*‖₂, its three terms in natural logarithms, since exponents reach millions.

    log_sampling : days are random; falls as 1/√N
    log_start : x_0 is far from x*; falls as 1/N
    log_noise : the noise of privacy; falls as 1/(ε N)
    """

    log_sampling: float
    log_start: float
    log_noise: float

    @property
    def log_bound(self) -> float:
        """Natural logarithm of the sum."""
        return float(np.logaddexp(np.logaddexp(self.log_sampling, self.log_start), self.log_noise))

    @property
    def bound(self) -> float:
        """The bound itself; infinite where it leaves the range of floating-point numbers."""
        return math.exp(self.log_bound) if self.log_bound < math.log(np.finfo(float).max) else math.inf


def accuracy_bound(
    constants: Constants,
    days: int,
    period_min: float,
    epsilon: float,
    delta: float,
    dimension: int,
    *,
    start_distance: float | None = None,
    as_printed: bool = False,
) -> AccuracyBound:
    """Theorem 3: E‖x_alg − x*‖₂ for N independent days, noise by the classical formula.

        K G/(α √N) exp(β²π²/(12α²))  +  (D/N) β/(α min(1, 2α)) exp(β²π²/(12α²))  +  √d/N · C/(ε α T) √(2 ln(1.25/δ))

    dimension : d = pairs · links; the paper's n √m is √d for all n² pairs
    start_distance : D ≥ ‖x_0 − x*‖₂; default √d, the diameter of the unit box
    as_printed : G = C, as in the paper: NOT A BOUND. C comes from a slip in step (a) of the proof and has the unit of
        time; where it is small in its unit, the distance exceeds the result. Otherwise G = e^(1−γ) = 1.526: the C is
        gone, and the integral of step (a) has its direction put right (`day_influence_as_claimed`)

    The exponent is about 3.6e6 at the experiments' β/α = 2080: there the corrected theorem holds but says nothing.
    """
    noise = classical_gaussian_scale(1.0, epsilon, delta, beyond_its_proof=True)
    alpha, beta = constants.alpha, constants.beta
    exponent = (beta * math.pi / alpha) ** 2 / 12
    size = math.sqrt(_whole("dimension", dimension))
    far = size if start_distance is None else _positive("start_distance", start_distance)
    log_days = math.log(_whole("days", days))
    gain = constants.lipschitz if as_printed else _LOST
    return AccuracyBound(
        log_sampling=math.log(constants.gradient_bound) + math.log(gain) + exponent - math.log(alpha) - log_days / 2,
        log_start=math.log(far) + math.log(beta) + exponent - math.log(alpha * min(1.0, 2 * alpha)) - log_days,
        log_noise=math.log(size * constants.lipschitz * noise / alpha / _positive("period_min", period_min)) - log_days,
    )


def accuracy_recursion(constants: Constants, days: int, start_distance: float) -> NDArray[np.float64]:
    """Logarithms of bounds of E‖x_k − x*‖₂ for k = 0..N before the noise: (days + 1,).

        E‖x_{k+1} − x*‖² ≤ (1 − 2 α η_k + β² η_k²) E‖x_k − x*‖² + η_k² K²

    This is equation (15), in the performance proof, run forward with the paper's steps: never above Theorem 3 without
    its noise, and free of the slips that follow it. Steps do not depend on N: entry k is the bound for N = k.
    """
    steps = step_sizes(days, constants.alpha, constants.beta)
    with np.errstate(divide="ignore"):  # ln 0: a step that forgets its start altogether
        keep = np.log(np.maximum(1 - 2 * constants.alpha * steps + (constants.beta * steps) ** 2, 0.0))
    add = 2 * (np.log(steps) + math.log(constants.gradient_bound))
    logs = np.empty(days + 1)
    logs[0] = 2 * math.log(_positive("start_distance", start_distance))
    for day in range(days):
        logs[day + 1] = np.logaddexp(logs[day] + keep[day], add[day])
    return logs / 2


def least_delta(chance_with: float, chance_without: float, epsilon: float) -> float:
    """The smallest δ of any (ε, δ)-private mechanism with these chances of an event on two neighbours.

    The definition of privacy (section 2.3) for the event and its complement, in both directions. Theorem 1 is the case
    of chances 1 and 0: flow is conserved at a rare destination without the trip, never with it, so δ ≥ 1 for every ε.
    """
    for name, value in (("chance_with", chance_with), ("chance_without", chance_without)):
        if not 0 <= value <= 1:
            raise InputError(f"{name} is {value!r}; pass a probability")
    odds = math.exp(min(_positive("epsilon", epsilon), 700.0))
    p, q = chance_with, chance_without
    return max(0.0, p - odds * q, q - odds * p, (1 - q) - odds * (1 - p), (1 - p) - odds * (1 - q))


def accuracy_limit(epsilon: float, delta: float) -> float:
    """(e^ε + δ)/(1 + e^ε): how often anybody can be right about one trip that is there or not with even chances.

    With a = P[says yes | there], b = P[says yes | not there]: a ≤ e^ε b + δ and 1 − b ≤ e^ε (1 − a) + δ; adding them,
    the mean of a and 1 − b is at most this, for every rule. It is at most e^ε/(1 + e^ε) + δ.
    """
    if not 0 <= delta <= 1:
        raise GuaranteeError(f"delta is {delta!r}; pass a probability")
    shrink = math.exp(-_positive("epsilon", epsilon))
    return (1 + delta * shrink) / (1 + shrink)


def _slopes(network: Network) -> NDArray[np.float64]:
    """Slopes q of f = c + q y, minutes per vehicle per minute."""
    latency = network.latency
    if not np.all(latency.straight):
        raise NetworkError("the paper's example has affine latency f = c + q y; read the network with latency='affine'")
    return latency.time_slope(np.zeros(network.links))


def _steps(steps: ArrayLike) -> NDArray[np.float64]:
    sizes = np.asarray(steps, dtype=np.float64)
    if sizes.ndim != 1 or not sizes.size or not np.all(np.isfinite(sizes) & (sizes > 0)):
        raise InputError("steps must be one positive finite number for each day")
    return sizes


def _positive(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 < value < math.inf:
        raise InputError(f"{name} is {value!r}; pass a finite number greater than 0")
    return float(value)


def _whole(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} is {value!r}; pass a whole number of at least 1")
    return int(value)
