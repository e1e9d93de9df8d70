"""What a release says about its own usefulness, for every screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from privroute.release.explanation import total_in_words
from privroute.release.quality import NOT_MEASURED
from privroute.release.signal import Signal

if TYPE_CHECKING:
    from privroute.release.release import Release

__all__ = ["is_thin", "is_unproved", "period_values", "quality_values", "useful_in_words"]

_MIN_PER_H = 60.0


def is_thin(release: Release) -> bool:
    """Whether the noise drowns the counts of single pairs in the chosen period, and it is not shown to be useful."""
    signal = Signal.of(release)
    return signal is not None and signal.drowned != "no" and is_unproved(release)


def is_unproved(release: Release) -> bool:
    """Whether the chosen period was measured, and found undecided or worse than what needs no data."""
    return release.quality is not None and release.quality.verdict in ("undecided", "worse")


def period_values(release: Release) -> dict[str, Any]:
    """Plain values of the chosen period: what it is, its traffic, and what was measured."""
    quality, demand = release.quality, release.demand
    return {
        **release.slot.as_dict,
        "days": release.slot.calendar.days,
        "vehicles_per_hour": None if demand is None else demand.total_per_min * _MIN_PER_H,
        "verdict": "not measured" if quality is None else release.network.units.said(quality.words),
        "thin": is_thin(release),
        "quality": quality_values(release),
    }


def quality_values(release: Release) -> dict[str, Any] | None:
    """Plain values of what was measured, its sentences in the words of the release's units; None without any."""
    if release.quality is None:
        return None
    values = release.quality.as_dict()
    return values | {name: release.network.units.said(values[name]) for name in ("verdict", "measured_on")}


def useful_in_words(release: Release) -> list[str]:
    """What was measured, what the noise leaves of the counts, and whose trips the demand is."""
    signal, total, units = Signal.of(release), total_in_words(release.certificate), release.network.units
    said = (NOT_MEASURED,) if release.quality is None else release.quality.sentences
    sentences = [*map(units.said, said), *([] if signal is None else [signal.words])]
    all_days = release.certificate.options.get("objective", "mean day") != "mean day"  # an option of version 0.2
    if all_days and "rerouted" not in release.certificate.study:  # rerouting is for the mean day
        sentences.append(f"Objective: {release.certificate.options['objective']}.")
    return sentences if total is None else [*sentences, total]
