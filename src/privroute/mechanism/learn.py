"""The one entry to private learning: check, charge, draw, publish, measure."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import metadata
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from privroute.demand.neighbouring_periods import Estimate, neighbours, smoothed
from privroute.errors import DemandError, GuaranteeError, HistoryError, LargeDeltaWarning, arg, named
from privroute.flows.optimum import solve_optimum
from privroute.history.demand_history import DemandHistory
from privroute.history.period_histories import PeriodHistories
from privroute.mechanism import counts, quality
from privroute.mechanism.drawing import Draws
from privroute.mechanism.interface import Question
from privroute.mechanism.registry import asked_once, implementation
from privroute.mechanism.shares import Shares, total_question, with_total
from privroute.network.checks import check_type
from privroute.network.network import Network
from privroute.privacy.charging import charge_release, check_charge, note_written
from privroute.privacy.noise import Noise, OpenDPNoise
from privroute.progress import check_progress, each_told
from privroute.release.certificate import ADJACENCY, Certificate, NoiseKind
from privroute.release.release import Part, Release
from privroute.study.clock_rules import ClockRules
from privroute.study.guarantee import Guarantee, delta_caveat
from privroute.study.measured_shares import QUALITY_SHARE
from privroute.study.mechanisms import Counts, Daily
from privroute.study.study import Study
from privroute.study.trip_format import COUNTS_ARE_TRIPS, ROWS_ARE_TRIPS
from privroute.threads import available_threads

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from privroute.mechanism.interface import Published
    from privroute.mechanism.promise import Promise
    from privroute.privacy.ledger import Ledger
    from privroute.progress import Progress
    from privroute.study.mechanisms import Mechanism, Unprotected

__all__ = ["Announcement", "NoisyAnswer", "certify", "learn", "learn_with_noise", "warn_of_large_delta"]


def learn(
    network: Network | Study,
    history: DemandHistory | PeriodHistories,
    guarantee: Guarantee | None = None,
    mechanism: str | Mechanism | None = None,
    *,
    quality_share: float | None = None,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
) -> Release:
    """Learn a routing policy from a history and release it under a guarantee.

    network : a network, or a study, which also sets the guarantee and the mechanism
    history : what `read_trips` returns; of several periods or kinds of days, each gets a policy of its own
    guarantee : required by every mechanism except "none"
    mechanism : "counts", "layered", "daily", or "none" (not private), or an object with options: privroute.Counts(...),
        privroute.Layered(...), privroute.Daily(...), privroute.Minimiser(alpha=...),
        privroute.Sgd(public_demand=..., alpha=...). Default: layered from 1,000 pairs on, counts below
    quality_share : of rho, spent on measuring how useful the release is (`release.quality`). Default: that of the
        study, or 0.05; 0 measures nothing

    ledger : the account of the data set; the release is charged to it before its noise is drawn, or rejected
    progress : called with the phase and the share done. In the private phase that is k of a public K; afterwards it
        includes the gap of the solver, which uses noisy values only

    OpenDP draws the noise with system entropy: two calls give two different releases, and each of them spends budget.
    A delta above 1e-3 causes a warning: the release will not be called private.
    """
    warn_of_large_delta(network.guarantee if isinstance(network, Study) else guarantee)
    share = QUALITY_SHARE if quality_share is None and not isinstance(network, Study) else quality_share
    return learn_with_noise(
        network, history, guarantee, mechanism, OpenDPNoise(), quality_share=share, ledger=ledger, progress=progress
    )


def warn_of_large_delta(guarantee: Guarantee | None) -> None:
    """Warn, before anything private is touched, of a guarantee whose releases are not called private."""
    caveat = delta_caveat(guarantee.delta) if isinstance(guarantee, Guarantee) else None
    if caveat is not None:
        warnings.warn(f"NOT PRIVATE: {caveat}; 1e-6 is usual", LargeDeltaWarning, stacklevel=3)


def learn_with_noise(
    network: Network | Study,
    history: DemandHistory | PeriodHistories,
    guarantee: Guarantee | None,
    mechanism: str | Mechanism | None,
    noise: Noise,
    *,
    quality_share: float | None = None,
    measured: bool = True,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
) -> Release:
    """`learn` with another source of noise, for experiments and tests; the certificate says which it was.

    quality_share : default: that of the study, or none
    measured : False leaves out the measurement for which the share is set apart
    """
    check_progress(progress)
    _check_kind(history)
    study = network
    if not isinstance(study, Study):
        study = _study(study, history, guarantee, mechanism)
        study = replace(study, quality_share=0.0 if quality_share is None else quality_share)
    elif guarantee is not None or mechanism is not None:
        raise GuaranteeError(f"a study has its own; omit {arg('guarantee')} and {arg('mechanism')}")
    elif quality_share is not None:
        study = replace(study, quality_share=quality_share)
    return Announcement(study, noise, ledger).release(history, measured=measured, progress=progress)


def _study(
    network: object, history: DemandHistory | PeriodHistories, guarantee: object, mechanism: str | Mechanism | None
) -> Study:
    if not isinstance(network, Network):
        raise DemandError(f"network is a {type(network).__name__}; pass privroute.Network or privroute.Study")
    if guarantee is not None and not isinstance(guarantee, Guarantee):
        raise GuaranteeError(f"guarantee is a {type(guarantee).__name__}; pass privroute.Guarantee")
    return Study(network, history.frame, guarantee, mechanism)  # type: ignore[arg-type]  # a name, or None: the rule


@dataclass(frozen=True, slots=True, eq=False)
class NoisyAnswer:
    """Noisy integers, and what was certified and charged before they were drawn."""

    certificate: Certificate
    on_saved: Callable[[str], None] | None
    noisy: NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Announcement:
    """What a release will be, fixed from public data alone, while no history is open.

    study : what it is about; noise : where its noise will come from; ledger : what it will be charged to
    shares : the promise by what it is spent on; promise : sensitivity and noise. None for the mechanism "none". Of
        several periods each asks the same questions, with its share of rho (`Study.period_shares`)
    certificate : what the release will say of itself, but for the ledger's entry

    Making one refuses what the proofs exclude and what the ledger would not grant now.
    """

    study: Study
    noise: Noise = field(default_factory=OpenDPNoise)
    ledger: Ledger | None = None
    shares: Shares | None = field(init=False)
    promise: Promise | None = field(init=False)
    certificate: Certificate = field(init=False)

    def __post_init__(self) -> None:
        study = self.study
        check_type(study, Study, "study", GuaranteeError)
        chosen = study.mechanism
        fewest = min(part.days for part in study.frame.parts)
        if isinstance(chosen, Daily) and chosen.window is not None and chosen.window > fewest:
            raise GuaranteeError(f"{named('window')} is {chosen.window:,} days where the history has {fewest:,}")
        # all parts ask the same questions: what they promise depends on pairs, bounds and guarantee
        shares = None if chosen.name == "none" else Shares.of(study.parts[0], _promise(study.parts))
        promise, own = (None, None) if shares is None else (shares.whole, shares.sensitivity)
        object.__setattr__(self, "shares", shares)
        object.__setattr__(self, "promise", promise)
        object.__setattr__(self, "certificate", certify(study, self.noise, promise, sensitivity=own))
        if self.ledger is not None:
            check_charge(self.ledger, study, self.certificate)

    def release(
        self, history: DemandHistory | PeriodHistories, *, measured: bool = True, progress: Progress | None = None
    ) -> Release:
        """Charge, draw, publish; then measure how useful it is, unless `measured` says otherwise.

        Several periods are independent of each other, so they are learned in threads where the noise has no state.
        Progress then says k of their public number. docs/proofs/periods.md, Theorem 1.
        """
        certificate, on_saved = self._charged(history)
        if isinstance(history, DemandHistory):
            only = self._part(self.study, 1.0, history, measured=measured, progress=progress)
            return Release.of_part(only, certificate, on_saved)
        studies, shares = self.study.parts, self.study.period_shares
        positions = range(len(studies))
        threads = min(available_threads(), len(studies)) if type(self.noise) is OpenDPNoise else 1
        chosen = self.study.mechanism
        with ThreadPoolExecutor(threads) as crew:
            if isinstance(chosen, Counts) and chosen.smooth_periods and self.shares is not None:
                drawn = crew.map(lambda at: self._opened(studies[at], shares[at], history.part(at)), positions)
                counted = list(each_told(drawn, len(studies), "Counting periods", progress))
                noisy = [Estimate(each.noisy.astype(np.float64), each.shares.whole.scale) for each in counted]
                better = smoothed(noisy, neighbours(self.study.calendar.slots))
                made = crew.map(lambda at: counted[at].part(history.part(at), better[at], measured=measured), positions)
            else:
                made = crew.map(
                    lambda at: self._part(studies[at], shares[at], history.part(at), measured=measured, progress=None),
                    positions,
                )
            parts = list(each_told(made, len(studies), "Learning periods", progress))
        return Release.of_parts(parts, certificate, on_saved)

    def _opened(self, study: Study, share: float, history: DemandHistory) -> _Counted:
        """The noisy counts of one period; what follows may use those of others."""
        if self.shares is None:
            raise GuaranteeError("the mechanism 'none' draws no noise")
        shares = self.shares.divided(share)
        draws = Draws(shares.whole, history, self.noise, None, list(shares.whole.questions))
        study, total_error = _asked_before(study, shares, draws)
        question = Question(shares.own[0], partial(counts.query, study))
        return _Counted(study, shares, draws.answer(question), self.noise, draws.left, total_error)

    def _part(
        self, study: Study, share: float, history: DemandHistory, *, measured: bool, progress: Progress | None
    ) -> Part:
        """What is released for one period, with its share of rho."""
        if self.shares is None:
            options = cast("Unprotected", study.mechanism)
            solution = solve_optimum(
                study.network, history.mean, fairness=options.fairness, gap=options.gap, progress=progress
            )
            return Part(solution.policy)
        shares = self.shares.divided(share)
        draws = Draws(shares.whole, history, self.noise, progress, list(shares.whole.questions))
        return _published(study, shares, draws, measured=measured)

    def draw(self, history: DemandHistory, *, progress: Progress | None = None) -> NoisyAnswer:
        """The private phase of a mechanism that asks once, without what it publishes: charge, query, noise."""
        check_progress(progress)
        check_type(history, DemandHistory, "history", HistoryError)
        if self.shares is None:
            raise GuaranteeError("the mechanism 'none' draws no noise")
        certificate, on_saved = self._charged(history)
        own = self.shares.own  # what the study sets apart for other questions stays unspent
        draws = Draws(self.shares.whole, history, self.noise, progress, list(own))
        question = Question(own[0], partial(asked_once(self.study.mechanism).query, self.study))
        return NoisyAnswer(certificate, on_saved, draws.answer(question))

    def _charged(self, history: DemandHistory | PeriodHistories) -> tuple[Certificate, Callable[[str], None] | None]:
        """Check and charge; what is charged stays charged, whatever happens afterwards."""
        self._check(history)
        certificate, on_saved = _of(self.certificate, self.study, history), None
        if self.ledger is not None:
            charge, certificate = charge_release(self.ledger, self.study, certificate, ClockRules.of(history.frame))
            on_saved = partial(note_written, self.ledger, charge.entry)
        return certificate, on_saved

    def _check(self, history: DemandHistory | PeriodHistories) -> None:
        _check_kind(history)
        if history.frame is not self.study.frame and history.frame != self.study.frame:
            raise HistoryError(
                "the history is not what the study describes: its pairs, days, period, expansion or bounds differ; "
                "read it with the study"
            )
        expected = self.study.expect_trips
        counted = history.total if isinstance(history, PeriodHistories) else int(history.counts.sum())
        if expected is not None and counted < expected:
            raise HistoryError(
                f"PRIVATE, do not publish: fewer trips were counted than {named('expect_trips')} {expected:,}; nothing "
                "was charged and nothing was released. This stop is computed from the trips without noise: anyone who "
                "learns of it learns that there are fewer. Check files, columns and times with a dry run"
            )


def _promise(parts: tuple[Study, ...]) -> Promise:
    """What each part promises by itself, which must be the same for all."""
    # parts differ in their calendars only; one of each number of days and minutes stands for the others
    unlike = {(part.frame.days, part.frame.period_min): part for part in reversed(parts)}
    first, *others = [implementation(part.mechanism).promise(part) for part in unlike.values()]
    if any(other != first for other in others):
        raise GuaranteeError("the periods would promise different things; make a study for each")
    return first


def _check_kind(history: object) -> None:
    """Refuse what is no history; a subclass could compute its frame from trips."""
    if type(history) is not PeriodHistories:
        check_type(history, DemandHistory, "history", HistoryError)


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """A period whose counts are drawn and whose policy is not yet made. It holds no history: those of all are many.

    left : sensitivities of the questions that may still be asked
    total_error : relative deviation of a measured total
    """

    study: Study
    shares: Shares
    noisy: NDArray[np.int64]
    noise: Noise
    left: list[float]
    total_error: float

    def part(self, history: DemandHistory, better: Estimate, *, measured: bool) -> Part:
        """Policy and demand of the estimate, and how useful they are."""
        published = counts.publish(self.study, self.shares.for_mechanism, self.noisy, None, better)
        draws = Draws(self.shares.whole, history, self.noise, None, self.left)
        return _measured(self.study, self.shares, draws, published, self.total_error, measured=measured)


def _published(study: Study, shares: Shares, draws: Draws, *, measured: bool) -> Part:
    """One period, or the only one: its total where that is measured, its policy, and how useful it is."""
    study, total_error = _asked_before(study, shares, draws)
    published = draws.hold(implementation(study.mechanism).converse(study, shares.for_mechanism, draws.progress))
    return _measured(study, shares, draws, published, total_error, measured=measured)


def _asked_before(study: Study, shares: Shares, draws: Draws) -> tuple[Study, float]:
    """The study with the total, where that is measured before the mechanism asks, and its relative deviation."""
    if not shares.total:
        return study, 0.0
    question = total_question(study, *shares.total)
    deviation = shares.whole.scale / (question.grid or shares.whole.grid)
    return with_total(study, draws.answer(question), deviation)


def _measured(
    study: Study, shares: Shares, draws: Draws, published: Published, total_error: float, *, measured: bool
) -> Part:
    """What was published, and how useful it is on the trips."""
    found = None
    if shares.quality and measured:
        asked = quality.converse(study, shares.whole, shares.quality, published, total_error, draws.progress)
        found = draws.hold(asked)
    return Part(published.policy, published.demand, published.noisy_counts, found)


def certify(
    study: Study,
    noise: Noise,
    promise: Promise | None,
    *,
    sensitivity: float | None = None,
    simulated: bool = False,
) -> Certificate:
    """Only what is public: the study, and what OpenDP's maps say of the scale that was used.

    sensitivity : of what the mechanism itself perturbs. Default: of the whole promise
    """
    return Certificate(
        study=study.as_dict(),
        rho=None if promise is None else promise.rho,
        adjacency=ADJACENCY[study.unit],
        sensitivity=promise.sensitivity if promise is not None and sensitivity is None else sensitivity,
        noise_scale=None if promise is None else promise.scale,
        data="simulated" if simulated else "trips",
        noise="none" if promise is None else _kind(noise),
        versions=dict(_versions()),
        broken_assumptions=() if promise is None else promise.broken_assumptions,
        asserted=() if simulated else (ROWS_ARE_TRIPS, *study.asserted),
    )


def _kind(noise: Any) -> NoiseKind:
    """Only OpenDP's own noise is called so, whatever an object says of itself."""
    return "opendp" if type(noise) is OpenDPNoise else "seeded"


def _of(certificate: Certificate, study: Study, history: DemandHistory | PeriodHistories) -> Certificate:
    """The certificate with what the data are, and what its proof assumes of them."""
    if history.simulated:
        return replace(certificate, data="simulated", asserted=())
    reading, said = None if history.elsewhere else history.frame.reading, study.network.units.said
    data = (COUNTS_ARE_TRIPS,) if reading is None else reading.asserted  # counts may be given, whoever made them
    asserted = tuple(map(said, (*data, *study.asserted)))
    return replace(certificate, data="counts" if reading is None else "trips", asserted=asserted)


@cache
def _versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in ("privroute", "opendp", "numpy")}
