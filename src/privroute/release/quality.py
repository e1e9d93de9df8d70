"""How useful a release is, measured on the trips with noise, under the release's own guarantee.

What is measured (docs/proofs/quality.md) are a lower bound L of the least travel time V that any policy gives the true
traffic, and for each policy j the excess E_j of its travel time over L, each with Gaussian noise of known deviation.
Everything else here follows from these numbers:

    above the optimum    F_j − V lies between max_i (E_j − E_i), as no policy is below V, and E_j, as L is not above V
    verdict              from these limits, and from E_released − E_j, in which L cancels

Where users are bounded, what is counted are the kept trips. Scaled to a known total they stand for the traffic, as a
random sample does: deviations and slack include its error. Without a total they are lighter than it by an unknown
factor: then no upper limit follows, and no release is called better or near the best.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from privroute.errors import ReleaseError
from privroute.release.frames import QualityFrames

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

__all__ = [
    "BASELINES",
    "MEASURED_ON",
    "NEGLIGIBLE_PERCENT",
    "NOT_MEASURED",
    "RELEASED",
    "VERDICTS",
    "Excess",
    "MeasuredRow",
    "Quality",
    "Trips",
    "Verdict",
]

Verdict = Literal["better", "near best", "nothing to gain", "undecided", "worse"]
Trips = Literal["all", "scaled", "kept"]

RELEASED = "released"
BASELINES = {
    "equilibrium": "no advice: equilibrium of the released demand",
    "gravity": "gravity model of the released zone totals",
    "equal_demand": "equal demand for all pairs",
    "free_flow": "fastest paths, empty roads",
}
"""Policies to compare with."""
_BESIDE_VERDICT = "gravity"  # it is fitted to counts of the same trips, so that a release need not beat it
_ENOUGH = {"free_flow": "fastest paths on empty roads", "equilibrium": "drivers without advice"}

NEGLIGIBLE_PERCENT = 0.1
"""Of the best possible travel time: what is less is neither a gain nor a loss."""
VERDICTS: dict[Verdict, str] = {
    "better": "better than no data",
    "near best": f"within {NEGLIGIBLE_PERCENT:g} % of the best possible",
    "nothing to gain": "nothing to gain",
    "undecided": "not distinguishable from no data",
    "worse": "worse than no data: do not use",
}

MEASURED_ON = {
    "all": "the true trips",
    "scaled": "the kept trips scaled to the total",
    "kept": "the kept trips only",
}
"""Whose travel time was measured."""

NOT_MEASURED = "Not measured: nothing is known about how well this policy serves the true trips."
_UNBOUNDED = ", no upper limit: do not use"
_NOT_KNOWN = "not known: real traffic may be heavier than the kept trips; state or measure its total"

CONFIDENCE = 0.95
# One-sided quantiles of the normal distribution. An interval has 2.5 % for each side: 2.02 % for the excess and 0.47 %
# for the optimum it is divided by. A lower limit is the best of several, each of which gets its part of the 2.02 %; and
# so is an upper limit of the optimum, of the 0.47 %.
_EXCESS, _OPTIMUM, _TEST = 2.05, 2.60, 1.96
_BEST_OF = {0: 2.05, 1: 2.05, 2: 2.33, 3: 2.48, 4: 2.58}
_OPTIMUM_OF = {0: 2.60, 1: 2.60, 2: 2.83, 3: 2.96, 4: 3.05, 5: 3.11}
_PERCENT = 100.0
_SMALLEST_SHOWN, _TWO_DECIMALS, _LARGEST_SHOWN = 0.001, 0.01, 1e6
# of the verdicts of earlier versions
_FORMER_PERCENT = 0.01
_FORMER_NOTHING = f"nothing to gain: what needs no data is within {_FORMER_PERCENT:g} % of the best possible"
_FORMER_UNBOUNDED = ", and nothing bounds its travel time: do not use"


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """One policy on the true traffic.

    excess : noisy F_j − L, vehicle-minutes per minute; deviation : of its noise, and of the sample of scaled trips
    at_least : the traffic may exceed the range in which the travel time was measured; it is then at least this
    slack : by how much at most it is more than this, where part of the traffic exceeds the range or is a sample
    """

    excess: float
    deviation: float
    at_least: bool = False
    slack: float = 0.0


@dataclass(frozen=True, slots=True)
class Excess:
    """Travel time of a policy above the best possible, percent of the best possible; low to high is a 95 % interval.

    high : None where nothing bounds it: the policy's row says at least, or the noise exceeds the travel time itself
    """

    value: float
    low: float
    high: float | None

    def __str__(self) -> str:
        """Percent; the value only where it can be told from 0."""
        low, from_zero = _shown(min(self.low, _LARGEST_SHOWN), math.floor), self.low < _SMALLEST_SHOWN
        if self.high is None or self.high > _LARGEST_SHOWN:
            return "not known" if from_zero else f"at least {low} %"
        high = _shown(self.high, math.ceil)
        if from_zero:
            return f"{high} %" if self.high < _SMALLEST_SHOWN else f"at most {high} %"
        return f"{_shown(self.value, round)} % ({low} to {high} %)"

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"value": self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True, slots=True)
class Quality(QualityFrames):
    """Measured usefulness of a release.

    share : of rho, spent on it
    least : noisy L, a lower bound of the best possible travel time of the true traffic, vehicle-minutes per minute;
        least_deviation : of its noise
    rows : by name, RELEASED first
    trips : whose travel time it is, see MEASURED_ON
    """

    share: float
    least: float
    least_deviation: float
    rows: Mapping[str, MeasuredRow]
    trips: Trips = "all"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", MappingProxyType(dict(self.rows)))
        numbers = [self.share, self.least, self.least_deviation]
        for row in self.rows.values():
            numbers += [row.excess, row.deviation, row.slack]
        if not all(_finite(number) for number in numbers) or any(
            type(r.at_least) is not bool for r in self.rows.values()
        ):
            raise ReleaseError("the measured quality has values that are not finite numbers")
        spread = [self.least_deviation, *(row.deviation for row in self.rows.values())]
        if not 0 < self.share < 1 or min(spread) <= 0 or any(row.slack < 0 for row in self.rows.values()):
            raise ReleaseError("the measured quality has no share of rho, no noise, or a slack below 0")
        if next(iter(self.rows), None) != RELEASED or not set(self.rows) <= {RELEASED, *BASELINES}:
            raise ReleaseError("the measured quality has other rows than the released policy and the known baselines")
        if self.trips not in MEASURED_ON:
            raise ReleaseError("the measured quality does not say whose trips it was measured on")

    @property
    def above_optimum(self) -> Excess:
        """The released policy's travel time above the best possible."""
        return self._excess(RELEASED)

    @property
    def baselines(self) -> dict[str, Excess]:
        """The same for the policies that it is compared with, by name; see BASELINES."""
        return {name: self._excess(name) for name in self.rows if name != RELEASED}

    @property
    def above_baselines(self) -> dict[str, tuple[float, float, float]]:
        """Released policy less each baseline: (value, low, high), percent of the best possible; negative is better.

        Each interval alone holds with 95 %; infinite where the row that would bound it says at least, and where only
        kept trips were measured.
        """
        own, found = self.rows[RELEASED], {}
        best = max(self._optimum()[0], 0.0)
        for name, row in self.rows.items():
            if name == RELEASED:
                continue
            value, spread = own.excess - row.excess, _TEST * math.hypot(own.deviation, row.deviation)
            low = -math.inf if row.at_least or self.trips == "kept" else value - spread - row.slack
            high = math.inf if own.at_least or self.trips == "kept" else value + spread + own.slack
            found[name] = tuple(_ratio(each, best) for each in (value, low, high))
        return found  # type: ignore[return-value]  # three of them

    @property
    def verdict(self) -> Verdict:
        """What the release is worth: the first of these that holds. docs/proofs/quality.md has the rates of error.

        worse : it is above a policy that needs no data by more than NEGLIGIBLE_PERCENT, and not near the best
        nothing to gain : fastest paths, or drivers without advice, are near the best
        better : it is below every policy that needs no data
        near best : the upper limit of its travel time above the best possible is within NEGLIGIBLE_PERCENT
        undecided : none of these

        Where only kept trips were measured it is worse or undecided.
        """
        names = [name for name in self.rows if name not in (RELEASED, _BESIDE_VERDICT)]
        least = NEGLIGIBLE_PERCENT / _PERCENT * max(self._optimum()[1], 0.0)
        compared, near = self._against(names, least), self._near(RELEASED)
        if compared == "worse" and near is None:
            return "worse"
        if self._enough is not None:
            return "nothing to gain"
        return "near best" if compared != "better" and near is not None else compared

    def _against(self, names: Collection[str], least: float) -> Literal["better", "undecided", "worse"]:
        """The release against other rows: below all of them, each at 97.5 %; or above one, together at 97.5 %.

        least : a loss that is not more, in vehicle-minutes per minute, is none
        """
        own, others = self.rows[RELEASED], [self.rows[name] for name in names]
        if not others:
            return "undecided"
        apart = [(own.excess - row.excess, math.hypot(own.deviation, row.deviation)) for row in others]
        bounded = not own.at_least and self.trips != "kept"
        if bounded and all(value + own.slack + _TEST * spread < 0 for value, spread in apart):
            return "better"
        limit = _best_of(len(others))
        bounds = zip(others, apart, strict=True)
        if any(value - row.slack - limit * spread > least for row, (value, spread) in bounds if not row.at_least):
            return "worse"
        return "undecided"

    def _near(self, name: str) -> str | None:
        """In words that F_j − V is within NEGLIGIBLE_PERCENT of V by its upper limit; None where it is not known to be.

        In an empty hour the noise may hide all traffic, so that V has no lower limit and percent of V say nothing.
        There it is that of the upper limit of V.
        """
        row, near = self.rows[name], NEGLIGIBLE_PERCENT / _PERCENT
        if row.at_least or self.trips == "kept":
            return None
        most, (smallest, largest) = row.excess + row.slack + _EXCESS * row.deviation, self._optimum()
        if most <= near * max(smallest, 0.0):
            return VERDICTS["near best"]
        if smallest <= 0 and most <= near * largest:
            return f"{VERDICTS['near best']}, as a share of the most travel time that the noise may hide"
        return None

    @property
    def _enough(self) -> str | None:
        """In words what leaves nothing to gain; None where nothing is known to."""
        for name, policy in _ENOUGH.items():
            near = self._near(name) if name in self.rows else None
            if near is not None:
                return f"{policy} are {near}"
        return None

    @property
    def words(self) -> str:
        """The verdict in words; what is undecided and has no upper limit should not be used either."""
        verdict = self.verdict
        if verdict == "undecided" and self.trips == "kept":
            return _NOT_KNOWN
        said = VERDICTS[verdict]
        if verdict == "near best":
            said = self._near(RELEASED) or said
        elif verdict == "nothing to gain" and self._near(RELEASED) is None:
            said += ", and this release may lose"
        elif verdict == "undecided" and self.above_optimum.high is None:
            said += _UNBOUNDED
        return said + self._measured_on

    @property
    def _measured_on(self) -> str:
        return "" if self.trips == "all" else f" (measured on {MEASURED_ON[self.trips]})"

    @property
    def in_words(self) -> dict[str, str]:
        """How far each policy is above the best possible, by what it is called; the one beside the verdict is last."""
        names = sorted(self.baselines, key=lambda name: name == _BESIDE_VERDICT)
        beside = {_BESIDE_VERDICT: " (not part of the verdict)"}
        others = {BASELINES[name] + beside.get(name, ""): f"{self._excess(name)}" for name in names}
        return {"released policy": f"{self.above_optimum}", **others}

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was measured, for people."""
        (_, own), *others = self.in_words.items()
        enough = self._enough if self.verdict == "nothing to gain" else None
        known = "" if self.above_optimum.high is None else "with 95 % confidence, "
        measured = f"{known}measured on {MEASURED_ON[self.trips]} with noise, under the same guarantee"
        measured += f" ({self.share:.0%} of rho)"
        said = [
            f"Verdict: {self.words}",
            *([] if enough is None else [_begin(enough)]),
            f"Travel time above the best possible: {own}, {measured}",
            *(f"{_begin(name)}: {far}" for name, far in others),
        ]
        return tuple(f"{sentence}." for sentence in said)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON: what was measured, and what follows from it."""
        return {
            "share_of_rho": self.share,
            "confidence": CONFIDENCE,
            "verdict": self.words,
            "measured_on": MEASURED_ON[self.trips],
            "above_optimum_percent": {name: self._excess(name).as_dict() for name in self.rows},
            "measured": {
                "least_minutes": self.least,
                "least_deviation": self.least_deviation,
                "rows": {
                    name: {item.name: getattr(row, item.name) for item in fields(row)}
                    for name, row in self.rows.items()
                },
            },
        }

    @classmethod
    def from_dict(cls, values: object) -> Quality:
        """Read it back; what does not follow from the measured numbers is refused."""
        try:
            measured = values["measured"]  # type: ignore[index]
            rows = {name: MeasuredRow(**row) for name, row in measured["rows"].items()}
            share = values["share_of_rho"]  # type: ignore[index]
            trips = next(name for name, said in MEASURED_ON.items() if said == values["measured_on"])  # type: ignore[index]
            quality = cls(share, measured["least_minutes"], measured["least_deviation"], rows, trips)  # type: ignore[arg-type]
            own = quality.as_dict()
            same = values in (own, *(own | {"verdict": former} for former in quality._former_words()))
        except (LookupError, TypeError, AttributeError, ArithmeticError, StopIteration):
            same = False
        if not same:
            raise ReleaseError("the measured quality is damaged, or contradicts itself")
        return quality

    def _former_words(self) -> list[str]:
        """What earlier versions said of these numbers: against all rows, and at first of any loss that it is one."""
        found = []
        for percent in (0.0, _FORMER_PERCENT):
            verdict = self._against(self.baselines, percent / _PERCENT * max(self.least, 0.0))
            said = VERDICTS[verdict] + self._measured_on
            if verdict == "undecided" and self.trips == "kept":
                said = _NOT_KNOWN
            elif verdict == "undecided":
                limits = [each.high for each in self.baselines.values() if each.high is not None]
                if percent and min(limits, default=math.inf) <= percent:
                    said = _FORMER_NOTHING
                elif self.above_optimum.high is None:
                    said = VERDICTS[verdict] + _FORMER_UNBOUNDED + self._measured_on
            found.append(said)
        return found

    def _optimum(self) -> tuple[float, float]:
        """Limits of V, each with 0.47 %: L is not above it, and no policy, L + E_j, is below it."""
        spread = _OPTIMUM * self.least_deviation
        rows = [row for row in self.rows.values() if not row.at_least]
        limit = _OPTIMUM_OF[len(rows)]
        upper = min(
            (row.excess + row.slack + limit * math.hypot(self.least_deviation, row.deviation) for row in rows),
            default=math.inf,
        )
        return self.least - spread, self.least + max(upper, spread)

    def _excess(self, name: str) -> Excess:
        row = self.rows[name]
        others = [each for other, each in self.rows.items() if other != name and not each.at_least]
        limit = _best_of(len(others))
        low = max(
            (row.excess - o.excess - o.slack - limit * math.hypot(row.deviation, o.deviation) for o in others),
            default=0.0,
        )
        smallest, largest = self._optimum()
        low_percent = _ratio(max(low, 0.0), largest) if largest > 0 else 0.0
        value = _ratio(max(row.excess, 0.0), max(self.least, smallest))
        high = _ratio(max(row.excess + row.slack + _EXCESS * row.deviation, 0.0), smallest)
        bounded = not row.at_least and self.trips != "kept" and math.isfinite(high)
        value = max(value, low_percent) if math.isfinite(value) else low_percent
        return Excess(min(value, high), low_percent, high if bounded else None)


def _best_of(rows: int) -> float:
    return _BEST_OF.get(rows, _BEST_OF[4])


def _ratio(minutes: float, optimum: float) -> float:
    """Percent of the optimum; infinite where that may be zero."""
    if minutes == 0:
        return 0.0
    return _PERCENT * minutes / optimum if optimum > 0 else math.copysign(math.inf, minutes)


def _finite(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _begin(words: str) -> str:
    """The beginning of a sentence."""
    return words[0].upper() + words[1:]


def _shown(percent: float, rounded: Callable[[float], int]) -> str:
    """Two decimals, four below 0.01, so that limits stay limits; nobody needs those of what is below 0.001."""
    if percent < _SMALLEST_SHOWN:
        return f"below {_SMALLEST_SHOWN:g}"
    decimals = 4 if percent < _TWO_DECIMALS else 2
    whole = rounded(round(percent * 10**decimals, 6))  # 0.29 · 100 is a little less than 29
    return f"{whole / 10**decimals:,.{decimals}f}"
