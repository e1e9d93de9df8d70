"""A certificate in plain words: what is protected, from whom, how strongly, and what is not.

Two statements follow from the noise, and they are not the same:

    (epsilon, delta):  P[E | with the trip] ≤ e^epsilon P[E | without it] + delta, and the same the other way round
    odds:              seeing the release changes anybody's odds about one trip by a factor of at most
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
from privroute.release.unit_words import words_of
from privroute.study.guarantee import delta_caveat, short
from privroute.study.layer_noise import LayerNoise
from privroute.study.mechanisms import noise_is_on_flows

if TYPE_CHECKING:
    from privroute.release.certificate import Certificate

__all__ = ["Explanation", "budget_in_words", "explain", "odds_factor", "periods_in_words", "total_in_words"]

_LARGEST_EXPONENT = 700.0
_MANY = 10
_LARGE_FACTOR = 1e4
_MIN_PER_H = 60.0


@dataclass(frozen=True, slots=True)
class Explanation:
    """A certificate for people, in sentences.

    verdict : one line, which begins with NOT PRIVATE where that is so, and then says why
    protected, from_whom, strength : what the guarantee says; empty where there is none. Where its delta is too large
        to be called private, strength says what it still states, and nothing is called protected
    not_protected : what nobody should expect of it
    assumed : what the proof assumes and privroute did not check
    made : mechanism, noise and data
    """

    verdict: str
    protected: tuple[str, ...]
    from_whom: tuple[str, ...]
    strength: tuple[str, ...]
    not_protected: tuple[str, ...]
    assumed: tuple[str, ...]
    made: tuple[str, ...]

    @property
    def sections(self) -> tuple[tuple[str, str, tuple[str, ...]], ...]:
        """(title, mark, sentences) after the verdict, for every screen; mark: "yes", "no" or ""."""
        every = (
            ("Protected", "yes", self.protected),
            ("From whom", "", self.from_whom),
            ("How strongly", "", self.strength),
            ("Not protected", "no", self.not_protected),
            ("The proof assumes, and privroute did not check", "", self.assumed),
            ("How it was made", "", self.made),
        )
        return tuple(section for section in every if section[2])

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        shown = [dict(zip(("title", "mark", "sentences"), section, strict=True)) for section in self.sections]
        return asdict(self) | {"sections": shown}


def odds_factor(rho: float, exception: float, *, units: int = 1) -> float:
    """Return the factor by which odds about `units` units may change, except with probability `exception`.

    rho-zero-concentrated privacy for one unit is k² rho for k units.
    """
    if not (0 < rho < math.inf and 0 < exception < 1 and units >= 1):
        raise GuaranteeError(f"no odds follow from rho {rho}, exception {exception} and {units} units")
    together = units**2 * rho
    exponent = together + 2 * math.sqrt(together * math.log(2 / exception))
    return math.exp(exponent) if exponent < _LARGEST_EXPONENT else math.inf


def explain(certificate: Certificate) -> Explanation:
    """Explain in sentences what a certificate guarantees, and what it does not."""
    made, words, units = _made(certificate), words_of(certificate), certificate.units
    if not certificate.private or certificate.epsilon is None or certificate.delta is None:
        return Explanation(
            verdict=f"NOT PRIVATE: {units.said(certificate.why_not_private or '')}. Do not publish it.",
            protected=(),
            from_whom=(),
            strength=_as_stated(certificate),
            not_protected=(
                f"Nothing is protected: this release may reveal single {units.requests} to anybody who sees it.",
            ),
            assumed=(),
            made=made,
        )
    return Explanation(
        verdict=(
            f"Private: epsilon {certificate.epsilon:g}, delta {short(certificate.delta)} for one {certificate.unit}, "
            f"{words.meaning}."
        ),
        protected=(
            f"Whether {words.whether} in the data.",
            f"{words.where} (less strongly: see below).",
            f"Formally: {certificate.adjacency}",
        ),
        from_whom=(
            (
                "Anybody who sees this release, regardless of what they already know (even every other "
                f"{units.request}) and of how they analyse it, now or later."
            ),
        ),
        strength=_strength(certificate, certificate.epsilon, certificate.delta),
        not_protected=_not_protected(certificate, certificate.delta),
        assumed=tuple(units.said(f"{_begin(words)}.") for words in certificate.asserted),
        made=made,
    )


def _as_stated(certificate: Certificate) -> tuple[str, ...]:
    """What a guarantee still says that is too weak to be called private; nothing where there is none."""
    epsilon, delta = certificate.epsilon, certificate.delta
    if not certificate.guaranteed or epsilon is None or delta is None:
        return ()
    words = words_of(certificate)
    likely = math.exp(epsilon) if epsilon < _LARGEST_EXPONENT else math.inf
    sentence = (
        f"Epsilon {epsilon:g} and delta {short(delta)} for one {certificate.unit} hold as stated: with {words.that} in "
        f"the data nothing is more than {_factor(likely)} times as likely as without, plus {short(delta)}. With such a "
        "delta this gives almost no protection to single persons."
    )
    return (sentence,)


def _strength(certificate: Certificate, epsilon: float, delta: float) -> tuple[str, ...]:
    words = words_of(certificate)
    likely = math.exp(epsilon) if epsilon < _LARGEST_EXPONENT else math.inf
    sentences = [
        (
            f"Whatever anybody concludes from this release about {words.one}, they would be almost as likely to "
            f"conclude if {words.that} had been left out: at most {_factor(likely)} times as likely, plus a "
            f"probability of {short(delta)}."
        )
    ]
    if certificate.rho is not None:
        factor = odds_factor(certificate.rho, delta)
        elsewhere = odds_factor(_replacement(certificate) * certificate.rho, delta)
        sentences.append(
            f"In odds: regardless of prior knowledge, this release changes anybody's odds that {words.whether} in the "
            f"data by at most a factor of {_factor(factor)}, except with probability {short(delta)}. "
            f"{_example(factor)}"
        )
        sentences.append(
            f"For somebody who knows that {words.knows}, the factor is at most "
            f"{_factor(elsewhere)}, except with probability {short(delta)}."
        )
    return tuple(sentences)


def _replacement(certificate: Certificate) -> float:
    """Factor on rho for one unit less and another one more: other places, or other days.

    Counts v, v' ≥ 0 have |v − v'|² ≤ |v|² + |v'|², so their part of rho doubles. Unit flows and the measured quality
    may move twice as far, so theirs is four times as large. docs/proofs/quality.md, Corollary.
    """
    if noise_is_on_flows(certificate.mechanism):
        return 4.0
    return 2.0 * (1.0 - certificate.quality_share) + 4.0 * certificate.quality_share


def _not_protected(certificate: Certificate, delta: float) -> tuple[str, ...]:
    words, trips = words_of(certificate), certificate.units.requests
    several = words.several
    link = "road" if certificate.units.on_roads else "link"
    if certificate.rho is not None:
        several += f"; for {_MANY} {words.many} it is {_factor(odds_factor(certificate.rho, delta, units=_MANY))}"
    return (
        f"{several}.",
        (
            f"Several releases from the same {trips}: together they reveal more than each alone "
            f"({budget_in_words(certificate)})."
        ),
        (
            f"{_begin(trips)} against the curator, who made this release: the curator has access to all {trips} "
            "and must be trusted."
        ),
        (
            f"Facts about the population: the release is meant to show, for example, that a {link} is busy in the "
            f"morning. This may apply to you whether or not your {trips} were in the data."
        ),
        (
            f"Information from other sources: a release does not remove it. {_begin(trips)} that people make together "
            f"(such as a family) count as several {words.many}."
        ),
        *_several_ids(certificate),
        *_expected(certificate),
    )


def _several_ids(certificate: Certificate) -> tuple[str, ...]:
    """What protects a user protects an id."""
    if certificate.unit == "request":
        return ()
    sentence = (
        "People with several ids: what is protected is one id in the data, and a person with several ids counts as "
        f"several people. If ids change from time to time, only the {certificate.units.requests} under one id are "
        "protected together."
    )
    return (sentence,)


def _expected(certificate: Certificate) -> tuple[str, ...]:
    """What a release reveals by being there, where it had been made to depend on a number of trips."""
    if "expect_trips" not in certificate.study:
        return ()
    counted = f"{certificate.study['expect_trips']:,} {certificate.counted}"
    sentence = (
        f"That at least {counted} were counted: otherwise there would be no release "
        "(expect_trips). The guarantee does not cover this."
    )
    return (sentence,)


def budget_in_words(certificate: Certificate) -> str:
    """The ledger entry of a release, and the total cost of all releases up to it."""
    budget = certificate.budget
    if isinstance(budget, str):
        return "the budget of this data set is not tracked"
    return (
        f"entry {budget['entry']:,} of the ledger of {budget['dataset']}; all releases up to this one cost epsilon "
        f"{budget['spent_epsilon']:.4g} of {budget['approved_epsilon']:g} at delta {short(budget['approved_delta'])}"
        + ("" if delta_caveat(budget["approved_delta"]) is None else ", which is too large to protect single persons")
    )


def periods_in_words(certificate: Certificate) -> str:
    """How many policies a release of several periods has, and what they cost together."""
    slots, shares = certificate.calendar.slots, certificate.period_shares
    start = f"{len(slots):,} policies, one for each period and kind of day, under one guarantee: "
    if min(shares) == 1.0:
        units = certificate.units
        why = (
            f"a {units.request} is in one of them"
            if certificate.unit == "request"
            else f"the limits hold for all {units.requests} of one {certificate.unit} together, in whatever period "
            "they are"
        )
        return f"{start}{why}, so all of them cost what one costs."
    largest, smallest = (f"{100 * share:.3g} %" for share in (max(shares), min(shares)))
    parts = f"{largest} each" if max(shares) == min(shares) else f"{smallest} to {largest}, by public weights"
    return f"{start}they divide the privacy budget, because the limits hold in each period ({parts})."


def total_in_words(certificate: Certificate) -> str | None:
    """Whose trips the released demand is; None where all requests are counted."""
    total = certificate.total
    if total is None:
        return None
    units, trips = certificate.units, certificate.units.requests
    limits = f"at most {certificate.max_requests:,} {trips} of each {certificate.unit}"
    if total["source"] == "public":
        figure = f"{units.flow_text(total['vehicles_per_hour'] / _MIN_PER_H)} {units.flow}, a public figure"
        return f"Total: {figure}; its distribution over pairs is that of {limits}."
    if total["source"] == "measured":
        return (
            f"Total: measured with noise, counting up to {total['max_requests']:,} {trips} of each {certificate.unit}; "
            f"its distribution over pairs is that of {limits}."
        )
    return f"Total: not known. The demand is that of the kept {trips} only, {limits}: real traffic may be heavier."


def _begin(words: str) -> str:
    """The beginning of a sentence."""
    return words[0].upper() + words[1:]


def _example(factor: float) -> str:
    if not factor < _LARGE_FACTOR:
        return "A factor of this size gives almost no protection."
    low = 100 / (1 + factor)
    digits = _digits(50 - low)
    least = math.floor(low * 10**digits) / 10**digits  # outwards, so that the sentence stays true
    return f"A prior belief of 50 % becomes a belief between {least:.{digits}f} % and {100 - least:.{digits}f} %."


def _limits(certificate: Certificate) -> list[str]:
    """Weights and the limits on users, where there are any."""
    found, units = [], certificate.units
    if certificate.max_weight is not None:
        found.append(
            f"Weights: one {units.request} counts as at most {certificate.max_weight:,}; heavier ones are cut off."
        )
    if certificate.max_requests is not None and certificate.unit != "request":
        each = "person" if certificate.unit == "user" else "person and day"
        found.append(
            f"Limits for each {each}: at most {certificate.max_requests:,} {units.requests} are counted, at most "
            f"{certificate.max_per_pair:,} of them for one origin and destination"
            + (", in each period." if certificate.study["bounds"].get("each_period") else ".")
        )
    return found


def _made(certificate: Certificate) -> tuple[str, ...]:
    """Mechanism, noise and data."""
    units, trip = certificate.units, certificate.units.request
    data = {
        "trips": f"Computed from {trip} records",
        "simulated": f"Computed from simulated {trip}s, which contain no real person",
        "counts": f"Computed from counts of {trip}s that were made outside of privroute",
    }[certificate.data]
    one_of_data = f"one {trip}" if certificate.max_weight is None else "a weight of 1"
    fleet = (
        f"; {one_of_data} represents {certificate.expansion:g} {units.amount}"
        if certificate.expansion != 1 or not units.on_roads
        else ""
    )
    sentences = [f"{data}: {certificate.calendar}{fleet}."]
    if certificate.calendar.has_slots:
        sentences.append(periods_in_words(certificate))
    if "rerouted" in certificate.study:
        sentences.append(_rerouted(certificate))
    sentences += _limits(certificate)
    total = total_in_words(certificate)
    if total is not None:
        sentences.append(total)
    options = ", ".join(f"{name} {value}" for name, value in certificate.options.items() if value is not None)
    sentences.append(f"Mechanism {certificate.mechanism}" + (f" ({options})." if options else "."))
    fairness = certificate.options.get("fairness", 0.0)
    if fairness:
        sentences.append(
            f"Fairness {fairness:g} of 1: routes are a compromise between the least total {units.delay} (0) and equal "
            "times on all routes of a pair (1)."
        )
    if certificate.noise_scale is not None and certificate.sensitivity is not None:
        source = {
            "opendp": "discrete Gaussian from OpenDP, with system entropy",
            "seeded": "discrete Gaussian with a fixed seed",
            "none": "none",
        }[certificate.noise]
        one = words_of(certificate).one
        if certificate.options.get("metric") == "curvature":
            noisy = (
                f"{certificate.noise_scale:.4g} on the share of a mean pair on a link of median curvature (for others, "
                f"divide by the root of their public weight); {one} changes all shares together by at most "
                f"{certificate.sensitivity:.4g} in the norm of these weights"
            )
        elif noise_is_on_flows(certificate.mechanism):
            noisy = (
                f"{certificate.noise_scale:.4g} on the share of each pair on each link; {one} changes all shares "
                f"together by at most {certificate.sensitivity:.4g}"
            )
        elif certificate.mechanism == "layered":
            bounds = (certificate.max_requests, certificate.max_per_pair)
            noisy = units.said(LayerNoise.of(certificate.options, certificate.noise_scale, *bounds).words)
        else:
            noisy = (
                f"{certificate.noise_scale:.4g} {certificate.counted} on counts that {one} changes by at most "
                f"{certificate.sensitivity:g}"
            )
        sentences.append(
            f"Noise: {source}; standard deviation {noisy}"
            + (f" (rho {certificate.rho:.3g}{_apart(certificate)})." if certificate.rho is not None else ".")
        )
    if certificate.mechanism == "daily" and certificate.noise_scale is not None:
        sentences.append(_days_in_words(certificate, certificate.noise_scale))
    return tuple(sentences)


def _rerouted(certificate: Certificate) -> str:
    changed = certificate.study["rerouted"]
    before = changed["learned_on"]
    roads, trip = "roads" if certificate.units.on_roads else "links", certificate.units.request
    what = [
        *(["another network"] if changed["other_network"] else []),
        *([f"{len(changed['closed']):,} links closed"] if changed["closed"] else []),
        *([f"{len(changed['capacity_per_hour']):,} capacities changed"] if changed["capacity_per_hour"] else []),
    ]
    return (
        f"The policy was computed again for changed {roads} ({', '.join(what)}) from the demand that was released for "
        f"{before['nodes']:,} nodes, {before['links']:,} links and {before['pairs']:,} pairs: no {trip} was read and "
        "no budget was spent."
    )


def _apart(certificate: Certificate) -> str:
    share = certificate.measured_share
    return (
        f", of which {100 * share:g} % for measuring how useful it is"
        + (" and the total" if (certificate.total or {}).get("share") else "")
        if share
        else ""
    )


def _days_in_words(certificate: Certificate, scale: float) -> str:
    """How the noisy days of a daily release were put together."""
    window = min(int(certificate.options.get("window") or certificate.days), int(certificate.days))
    if certificate.calendar.has_slots:
        return "Each day of each period has independent noise."
    if certificate.options.get("half_life_days") is not None or certificate.options.get("next_weekday"):
        return f"Each of the last {window:,} days has independent noise; the weight of a day depends only on its date."
    return (
        f"The released counts are sums over the last {window:,} days, each with independent noise: the standard "
        f"deviation of a sum is {scale * math.sqrt(window):.4g}."
    )


def _factor(value: float) -> str:
    """A factor rounded upwards, with digits enough to show how far it is from 1."""
    if not value < _LARGE_FACTOR:
        return "above 10,000"
    digits = _digits(value - 1.0)
    return f"{math.ceil(value * 10**digits) / 10**digits:.{digits}f}"


def _digits(difference: float) -> int:
    """Decimals that show a difference to three digits."""
    return max(0, min(12, 2 - math.floor(math.log10(difference)))) if difference > 0 else 12
