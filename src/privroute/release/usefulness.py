"""What a release says about its own usefulness, for every screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privroute.release.explanation import total_in_words
from privroute.release.quality import NOT_MEASURED
from privroute.release.signal import Signal

if TYPE_CHECKING:
    from privroute.release.release import Release

__all__ = ["useful_in_words"]


def useful_in_words(release: Release) -> list[str]:
    """What was measured, what the noise leaves of the counts, and whose trips the demand is."""
    signal, total = Signal.of(release), total_in_words(release.certificate)
    sentences = [NOT_MEASURED] if release.quality is None else list(release.quality.sentences)
    if signal is not None:
        sentences.append(signal.words)
    return sentences if total is None else [*sentences, total]
