"""A certificate in plain words: what is protected, from whom, how strongly, and what is not.

Two statements follow from the noise, and they are not the same:

    (epsilon, delta):  P[E | with the trip] ≤ e^epsilon P[E | without it] + delta, and the same the other way round
    odds:              whoever sees the release changes their odds about one trip by a factor of at most
                       exp(rho + 2 √(rho ln(2 / p))), except with probability p

The second one bounds the likelihood ratio itself. (epsilon, delta) alone does not bound it "except with probability
delta": for Gaussian noise the ratio exceeds e^epsilon more often than that. So it is read from rho: zero-concentrated
privacy bounds the moments of the likelihood ratio, and Markov's inequality then gives, for a change upwards and one
downwards, exp(−(t ∓ rho)² / 4 rho), together at most p for the t above (Bun and Steinke 2016, Lemma 3.5).
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from privroute.errors import GuaranteeError

if TYPE_CHECKING:
    from privroute.release.certificate import Certificate

__all__ = ["Explanation", "explain", "odds_factor"]

_LARGEST_EXPONENT = 700.0
_MANY_TRIPS = 10
_LARGE_FACTOR = 1e4
_ON_FLOWS = ("minimiser", "sgd")


@dataclass(frozen=True, slots=True)
class Explanation:
    """A certificate for people, in sentences.

    verdict : one line, which begins with NOT PRIVATE where that is so
    protected, from_whom, strength : what the guarantee says; empty where there is none
    not_protected : what nobody should expect of it
    made : mechanism, noise and data
    """

    verdict: str
    protected: tuple[str, ...]
    from_whom: tuple[str, ...]
    strength: tuple[str, ...]
    not_protected: tuple[str, ...]
    made: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def odds_factor(rho: float, exception: float, *, trips: int = 1) -> float:
    """Return the factor by which odds about `trips` trips may change, except with probability `exception`.

    rho-zero-concentrated privacy for one trip is k² rho for k trips.
    """
    if not (0 < rho < math.inf and 0 < exception < 1 and trips >= 1):
        raise GuaranteeError(f"no odds follow from rho {rho}, exception {exception} and {trips} trips")
    together = trips**2 * rho
    exponent = together + 2 * math.sqrt(together * math.log(2 / exception))
    return math.exp(exponent) if exponent < _LARGEST_EXPONENT else math.inf


def explain(certificate: Certificate) -> Explanation:
    """Say in sentences what a certificate promises, and what it does not."""
    made = _made(certificate)
    if not certificate.private or certificate.epsilon is None or certificate.delta is None:
        return Explanation(
            verdict=f"NOT PRIVATE: {_why_not(certificate)}. Do not publish it.",
            protected=(),
            from_whom=(),
            strength=(),
            not_protected=("Nothing is protected: whoever sees this release may learn about single trips from it.",),
            made=made,
        )
    return Explanation(
        verdict=(
            f"Private: epsilon {certificate.epsilon:g}, delta {certificate.delta:g} for one {certificate.unit}, "
            "one trip on one day."
        ),
        protected=(
            "Whether any one trip was in the data.",
            "Where a trip went and when, from somebody who knows that it was made (less strongly: see below).",
            f"Formally: {certificate.adjacency}",
        ),
        from_whom=(
            (
                "Everybody who sees this release, whatever they already know (even every other trip), however they "
                "compute, now or later, and whatever they do with it."
            ),
        ),
        strength=_strength(certificate, certificate.epsilon, certificate.delta),
        not_protected=_not_protected(certificate, certificate.delta),
        made=made,
    )


def _strength(certificate: Certificate, epsilon: float, delta: float) -> tuple[str, ...]:
    likely = math.exp(epsilon) if epsilon < _LARGEST_EXPONENT else math.inf
    sentences = [
        (
            "Whatever anybody concludes from this release about one trip, they would conclude almost as likely had "
            f"that trip been left out: at most {_factor(likely)} times as likely, plus a chance of {delta:g}."
        )
    ]
    if certificate.rho is not None:
        factor = odds_factor(certificate.rho, delta)
        # Another place or day is one trip less and one more: two counts change, flows may move twice as far.
        elsewhere = odds_factor((4 if certificate.mechanism in _ON_FLOWS else 2) * certificate.rho, delta)
        sentences.append(
            "In odds: whatever somebody knew before, seeing this release changes their odds that any one trip was in "
            f"the data by at most a factor {_factor(factor)}, except with probability {delta:g}. {_example(factor)}"
        )
        sentences.append(
            "For somebody who knows that the trip was made and wonders where it went or when, the factor is at most "
            f"{_factor(elsewhere)}, except with probability {delta:g}."
        )
    return tuple(sentences)


def _not_protected(certificate: Certificate, delta: float) -> tuple[str, ...]:
    person = "Several trips of one person together: the factor grows faster than if each trip multiplied it"
    if certificate.rho is not None:
        person += f"; for {_MANY_TRIPS} trips it is {_factor(odds_factor(certificate.rho, delta, trips=_MANY_TRIPS))}"
    return (
        f"{person}.",
        "Several releases from the same trips: together they reveal more than each alone "
        + ("(the budget of this data set is not tracked)." if certificate.budget == "not tracked" else "."),
        "Trips from whoever made this release: the curator saw them all and must be trusted.",
        (
            "What is true of everybody: that a road is busy in the morning is what the release is meant to show, and "
            "it may say something about you whether or not your trips were in the data."
        ),
        (
            "What others know from elsewhere: a release takes nothing away from that. If trips come together (a "
            "family, a convoy), they count as several trips."
        ),
    )


def _example(factor: float) -> str:
    if not factor < _LARGE_FACTOR:
        return "Such a factor protects next to nothing."
    low = 100 / (1 + factor)
    digits = _digits(50 - low)
    least = math.floor(low * 10**digits) / 10**digits  # outwards, so that the sentence stays true
    return f"Somebody who thought it as likely as not ends between {least:.{digits}f} % and {100 - least:.{digits}f} %."


def _why_not(certificate: Certificate) -> str:
    if certificate.broken_assumptions:
        return f"its proof does not hold here ({'; '.join(certificate.broken_assumptions)})"
    if certificate.noise == "none":
        return "no noise was added to what was computed from the trips"
    if certificate.noise == "seeded":
        return "its noise came from a seed, for an experiment, and whoever knows the seed can take it off"
    return "it carries no guarantee"


def _made(certificate: Certificate) -> tuple[str, ...]:
    """Mechanism, noise and data."""
    data = {
        "trips": "Made from trip records",
        "simulated": "Made from simulated trips, so there is nobody in it to protect",
    }[certificate.data]
    dates = f", {certificate.first_date} to {certificate.last_date}" if certificate.first_date else ""
    fleet = f"; one trip stands for {certificate.expansion:g} vehicles" if certificate.expansion != 1 else ""
    days = f"{certificate.days:,} {'day' if certificate.days == 1 else 'days'}"
    sentences = [f"{data}: {days} of {certificate.period_min:g} minutes{dates}{fleet}."]
    options = ", ".join(f"{name} {value}" for name, value in certificate.options.items() if value is not None)
    sentences.append(f"Mechanism {certificate.mechanism}" + (f" ({options})." if options else "."))
    if certificate.noise_scale is not None and certificate.sensitivity is not None:
        source = {
            "opendp": "OpenDP's discrete Gaussian, from the system's entropy",
            "seeded": "a discrete Gaussian from a seed",
            "none": "none",
        }[certificate.noise]
        noisy = (
            f"{certificate.noise_scale:.4g} on each pair's share of each link; one trip changes all shares together by "
            f"at most {certificate.sensitivity:.4g}"
            if certificate.mechanism in _ON_FLOWS
            else f"{certificate.noise_scale:.4g} trips on counts that one trip changes by at most "
            f"{certificate.sensitivity:g}"
        )
        sentences.append(
            f"Noise: {source}; standard deviation {noisy}"
            + (f" (rho {certificate.rho:.3g})." if certificate.rho is not None else ".")
        )
    if certificate.mechanism == "daily" and certificate.noise_scale is not None:
        window = min(int(certificate.options.get("window") or certificate.days), int(certificate.days))
        sentences.append(
            f"The released counts are sums over the last {window:,} days, each day with noise of its own: standard "
            f"deviation {certificate.noise_scale * math.sqrt(window):.4g} on a sum."
        )
    return tuple(sentences)


def _factor(value: float) -> str:
    """A factor rounded upwards, with digits enough to show how far it is from 1."""
    if not value < _LARGE_FACTOR:
        return "above 10,000"
    digits = _digits(value - 1.0)
    return f"{math.ceil(value * 10**digits) / 10**digits:.{digits}f}"


def _digits(difference: float) -> int:
    """Decimals that show a difference to three digits."""
    return max(0, min(12, 2 - math.floor(math.log10(difference)))) if difference > 0 else 12
