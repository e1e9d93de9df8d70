"""An accountant who believes nothing: what a release costs is computed from what it draws, not from what it declares.

A release is made of a random study and a history, and every draw is recorded: exact integers, the scale, the answer.
Then the release is made again of a neighbouring history with the same answers in the place of noise. What the integers
moved by, draw by draw, gives the cost for these neighbours; everything published must be equal bit for bit.
"""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from tests.mechanism.flow_cases import braess

import privroute as pr
from privroute.history.period_histories import PeriodHistories
from privroute.mechanism import drawing, learn
from privroute.privacy.noise import OpenDPNoise
from privroute.study.calendar import Calendar
from privroute.study.contribution import Contribution
from privroute.study.frame import Frame
from privroute.study.study import Study

Ints = NDArray[np.int64]
MONDAY = dt.date(2026, 3, 2)


@dataclass
class Tape:
    """What was drawn, in order. With answers of another release it gives those back instead of noise."""

    answers: list[Ints] | None = None
    at_first: Any = None
    exact: list[Ints] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    drawn: list[Ints] = field(default_factory=list)

    def add(self, values: Ints, scale: float, seed: np.random.Generator) -> Ints:
        if not self.exact and self.at_first is not None:
            self.at_first()
        self.exact.append(values.copy())
        self.scales.append(scale)
        if self.answers is None:
            answer = np.rint(values + seed.normal(0.0, scale, values.size)).astype(np.int64)
        else:
            answer = self.answers[len(self.drawn)]
            assert answer.shape == values.shape, "the number of entries depends on the trips"
        self.drawn.append(answer)
        return answer.copy()


@contextmanager
def taped(tape: Tape, seed: int) -> Iterator[None]:
    """Every draw of OpenDP's noise goes through the tape, one after the other; the release believes it is OpenDP's."""
    chance = np.random.default_rng(seed)

    def add_integers(_noise: OpenDPNoise, values: Ints, scale: float) -> Ints:
        return tape.add(values, scale, chance)

    with (
        mock.patch.object(OpenDPNoise, "add_integers", add_integers),
        mock.patch.object(learn, "available_threads", return_value=1),
        mock.patch.object(drawing, "available_threads", return_value=1),
    ):
        yield


@dataclass(frozen=True)
class Case:
    """A study, a history, and what one unit adds to it: counts by slot (days, pairs), and to the totals."""

    study: Study
    counts: tuple[Ints, ...]
    totals: tuple[int, ...]
    more: tuple[Ints, ...]
    more_totals: tuple[int, ...]

    def history(self, counts: tuple[Ints, ...], totals: tuple[int, ...]) -> Any:
        frame = self.study.frame
        kept = frame.contribution
        measured = kept is not None and kept.max_for_total is not None
        parts = [
            pr.DemandHistory.of(part, each, requests=total if measured else None)
            for part, each, total in zip(frame.parts, counts, totals, strict=True)
        ]
        return PeriodHistories.of(frame, parts) if frame.calendar.has_slots else parts[0]

    @property
    def own(self) -> Any:
        return self.history(self.counts, self.totals)

    @property
    def neighbour(self) -> Any:
        counts = tuple(a + b for a, b in zip(self.counts, self.more, strict=True))
        return self.history(counts, tuple(a + b for a, b in zip(self.totals, self.more_totals, strict=True)))

    def stranger(self, chance: random.Random) -> Any:
        """Other trips altogether."""
        numbers = np.random.default_rng(chance.getrandbits(32))
        counts = tuple(numbers.poisson(chance.choice([0.01, 3.0, 1e5]), each.shape) for each in self.counts)
        return self.history(counts, tuple(chance.randrange(10**6) for _ in self.totals))


def random_case(chance: random.Random) -> Case:
    """Mechanism, unit, weights, periods, total, quality, bounds and expansion at random, and neighbours for them."""
    kind = chance.choice(["counts", "counts", "daily", "layered", "layered", "sgd", "minimiser"])
    network = braess() if kind in ("sgd", "minimiser") or chance.random() < 0.3 else SIOUX_FALLS
    pairs = pr.Pairs.of_zones(network, on_unreachable="drop")
    if network is SIOUX_FALLS:
        some = sorted(chance.sample(range(len(pairs)), 60))
        pairs = pr.Pairs(pairs.origin[some], pairs.destination[some])
    mechanism = _mechanism(kind, chance, pairs)
    on_flows = mechanism.on_flows
    calendar = _calendar(chance, several=not on_flows and chance.random() < 0.5)
    kept = None
    if chance.random() < 0.7:
        kept = _bounds(chance, several=calendar.has_slots, weights_only=on_flows)
    frame = Frame(pairs, calendar, chance.choice([1.0, 2.5, 40.0]), kept)
    guarantee = pr.Guarantee(
        10.0 ** chance.uniform(-1.5, 1.0), 10.0 ** chance.uniform(-9, -3), "request" if kept is None else kept.unit
    )
    weights = {}
    if kept is not None and kept.each_period and chance.random() < 0.6:
        weights = {str(slot): 10.0 ** chance.uniform(-1, 1) for slot in calendar.slots}
    share = chance.choice([0.0, 0.05, 0.3, 0.45])
    total_share = chance.choice([0.001, 0.02, 0.3])
    study = Study(
        network, frame, guarantee, mechanism, quality_share=share, total_share=total_share, period_weights=weights
    )
    numbers = np.random.default_rng(chance.getrandbits(32))
    level = 10.0 ** chance.uniform(-2, 5)
    counts = tuple(numbers.poisson(level * numbers.lognormal(0, 1.5, (part.days, len(pairs)))) for part in frame.parts)
    totals = tuple(int(each.sum()) + chance.randrange(1000) for each in counts)
    more, more_totals = _unit(chance, frame)
    return Case(study, counts, totals, more, more_totals)


SIOUX_FALLS = pr.sioux_falls(latency="bpr").network


def _mechanism(kind: str, chance: random.Random, pairs: pr.Pairs) -> Any:
    demand = pr.Demand(pairs, np.array([10.0 ** chance.uniform(-3, 0) for _ in range(len(pairs))]))
    if kind == "counts":
        return pr.Counts(
            gap=1e-3,
            bins=chance.choice([1, 20]),
            fairness=chance.choice([0.0, 0.5]),
            smooth_periods=chance.random() < 0.6,
        )
    if kind == "daily":
        return pr.Daily(gap=1e-3, half_life_days=chance.choice([None, 3.0]), next_weekday=chance.random() < 0.3)
    if kind == "layered":
        rounds = chance.choice([0, 1, 2])
        links = 0.0 if rounds == 0 else chance.uniform(0.05, 0.5)
        rest = [chance.uniform(0.05, 1.0) for _ in range(3)]
        pairs_share, zones_share, lengths_share = ((1 - links) * part / sum(rest) for part in rest)
        return pr.Layered(
            pairs_share,
            zones_share,
            lengths_share,
            links_share=1 - (pairs_share + zones_share + lengths_share) if rounds else 0.0,
            rounds=rounds,
            length_bins=chance.choice([1, 4, 12]),
            links_per_trip=chance.choice([1, 12]),
            public_demand=demand if chance.random() < 0.3 else None,
            gap=1e-3,
        )
    if kind == "sgd":
        return pr.Sgd(
            public_demand=demand,
            alpha=10.0 ** chance.uniform(-1, 2),
            steps_per_day=chance.choice([1, 3]),
            power=chance.choice([0.0, 0.5]),
            detour=10.0,
        )
    return pr.Minimiser(alpha=10.0 ** chance.uniform(0, 2), public_demand=demand, detour=10.0)


def _calendar(chance: random.Random, *, several: bool) -> Calendar:
    last = MONDAY + dt.timedelta(days=chance.randint(1, 9))
    if not several:
        return Calendar.of(period=("07:00", "08:00"), dates=(MONDAY, last))
    last = MONDAY + dt.timedelta(days=chance.randint(6, 9))
    kinds: dict[str, Any] = {"day_types": {"workday": "mon-fri", "weekend": "sat,sun"}} if chance.random() < 0.5 else {}
    period = [("07:00", "08:00"), ("08:00", "08:30"), ("17:00", "18:00")][: chance.randint(2 - len(kinds), 3)]
    return Calendar.of(period=period, dates=(MONDAY, last), **kinds)


def _bounds(chance: random.Random, *, several: bool, weights_only: bool) -> Contribution:
    most = chance.choice([1, 2, 3, 7, 40])
    per_pair = chance.randint(1, most)
    unit: Any = "request" if weights_only else chance.choice(["request", "user", "user", "user-day"])
    if unit == "request":
        return Contribution("request", most, most, max_weight=most)
    total = None if chance.random() < 0.5 else most * chance.choice([1, 3, 20])
    weight = chance.randint(1, per_pair) if total is None and chance.random() < 0.4 else None
    each = several and chance.random() < 0.5
    return Contribution(unit, most, per_pair, max_for_total=total, each_period=each, max_weight=weight)


def _unit(chance: random.Random, frame: Frame) -> tuple[tuple[Ints, ...], tuple[int, ...]]:
    """What one unit may add at most: all of it in one place, or spread over pairs, days and periods."""
    parts, kept = frame.parts, frame.contribution
    more = tuple(np.zeros((part.days, len(frame.pairs)), np.int64) for part in parts)
    totals = [0] * len(parts)
    if kept is None or not kept.of_users:
        slot = chance.randrange(len(parts))
        more[slot][chance.randrange(parts[slot].days), chance.randrange(len(frame.pairs))] = _amount(kept, chance)
        return more, tuple(totals)
    open_slots = list(range(len(parts)))
    day: dt.date | None = None
    if kept.unit == "user-day":
        day = chance.choice([date for part in parts for date in part.calendar.dates or ()])
        open_slots = [slot for slot in open_slots if day in (parts[slot].calendar.dates or ())]
    pairs = chance.sample(range(len(frame.pairs)), chance.choice([1, 2, min(10, len(frame.pairs))]))
    groups = [[slot] for slot in open_slots] if kept.each_period else [open_slots]
    for slots in groups:
        if chance.random() < 0.3:
            slots = [chance.choice(slots)]  # noqa: PLW2901 - all of it in one period
        left, of_pair = kept.max_requests, dict.fromkeys(pairs, kept.max_per_pair or kept.max_requests)
        while left and any(of_pair.values()):
            slot = chance.choice(slots)
            dates = parts[slot].calendar.dates or ()
            row = dates.index(day) if day is not None else chance.randrange(parts[slot].days)
            pair = chance.choice([pair for pair, room in of_pair.items() if room])
            one = 1 if chance.random() < 0.2 else min(left, of_pair[pair])
            more[slot][row, pair] += one
            left -= one
            of_pair[pair] -= one
        if kept.max_for_total is not None:
            for slot in slots:
                totals[slot] += int(more[slot].sum())
            spare = kept.max_for_total - sum(totals[slot] for slot in slots)
            totals[chance.choice(slots)] += chance.choice([0, spare])
    return more, tuple(totals)


def _amount(kept: Contribution | None, chance: random.Random) -> int:
    most = 1 if kept is None else kept.max_weight or 1
    return chance.choice([1, most, most, most])


def made(case: Case, history: Any, tape: Tape, seed: int, folder: Path, ledger: Any = None) -> pr.Release:
    """A release whose draws go through the tape, saved without the entry of the ledger, which has the time in it."""
    with taped(tape, seed):
        release = pr.learn(case.study, history, ledger=ledger)
    certificate = replace(release.certificate, budget="not tracked")
    replace(release, certificate=certificate, on_saved=None).save(folder, allow_not_private=True)
    return release


def cost(own: Tape, other: Tape) -> Fraction:
    """Sum over the draws of moved² / (2 scale²), exactly."""
    assert own.scales == other.scales, "the noise depends on the trips"
    total = Fraction(0)
    for ours, theirs, scale in zip(own.exact, other.exact, own.scales, strict=True):
        moved = sum(int(step) ** 2 for step in (theirs.astype(object) - ours.astype(object)))
        total += Fraction(moved) / (2 * Fraction(scale) ** 2)
    return total


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a release folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
