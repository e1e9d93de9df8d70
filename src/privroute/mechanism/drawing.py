"""The one place where noise is drawn: answers to the questions of a release that is charged, and to no others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from privroute.errors import GuaranteeError
from privroute.privacy.calibration import gaussian_rho
from privroute.privacy.noise import Noise, OpenDPNoise
from privroute.progress import each_told
from privroute.threads import available_threads, shared_by

if TYPE_CHECKING:
    from collections.abc import Generator

    from numpy.typing import NDArray

    from privroute.history.demand_history import DemandHistory
    from privroute.mechanism.interface import Question
    from privroute.mechanism.promise import Promise
    from privroute.progress import Progress

__all__ = ["Draws"]

_DRAWN_AT_ONCE = 2**16
_ROUNDED_UP = 1 + 1e-13  # a tenth of what Promise.of adds to a sum

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """A release that is charged, or one period of it, and what of its promise is not yet drawn.

    left : sensitivities of the questions that may still be asked
    """

    promise: Promise
    history: DemandHistory
    noise: Noise
    progress: Progress | None
    left: list[float]

    def hold(self, conversation: Generator[Question, NDArray[np.int64], _T]) -> _T:
        """Answer a public generator's questions until it returns. It never sees the history.

        docs/proofs/questions.md, Lemma 1
        """
        try:
            question = next(conversation)
            while True:
                question = conversation.send(self.answer(question))
        except StopIteration as done:
            return cast("_T", done.value)

    def answer(self, question: Question) -> NDArray[np.int64]:
        """The only place where noise is drawn: no question beyond those that were promised and charged."""
        taken = self.left[: question.in_place_of]
        del self.left[: question.in_place_of]
        # one draw for several: the last digit of the root is covered by that of the whole promise
        allowed = taken[0] if len(taken) == 1 else math.hypot(*taken) * _ROUNDED_UP
        if len(taken) < question.in_place_of or not 0 < question.sensitivity <= allowed:
            raise GuaranteeError("a question exceeds what the release promised and charged; nothing is released")
        granted = gaussian_rho(self.promise.integer_scale, question.sensitivity / self.promise.grid)
        scale = self.promise.scale / (self.promise.grid if question.grid is None else question.grid)
        # the cost of the draw itself, by OpenDP's map; the last digit is covered by that of the whole promise
        if question.moved is not None and not gaussian_rho(scale, question.moved) <= _ROUNDED_UP * granted:
            raise GuaranteeError("a question's noise is smaller than the release promised; nothing is released")
        exact = question.ask(self.history, self.progress)
        return _with_noise(exact, scale, self.noise, self.progress)


def _with_noise(values: NDArray[np.int64], scale: float, noise: Noise, progress: Progress | None) -> NDArray[np.int64]:
    """Values + Z, in blocks of entries of their own, which together are one Gaussian on the whole vector.

    OpenDP's draws are independent of each other and of who makes them, so its blocks are drawn in threads. Other
    sources have a state, and are asked in order. docs/proofs/counts.md, Theorem 1.
    """
    noisy = np.empty_like(values)
    parts = [slice(first, first + _DRAWN_AT_ONCE) for first in range(0, values.size, _DRAWN_AT_ONCE)]
    threads = available_threads() if type(noise) is OpenDPNoise else 1
    with shared_by(min(threads, len(parts))) as each:
        drawn = each(lambda part: noise.add_integers(values[part], scale), parts)
        for part, block in zip(parts, each_told(drawn, len(parts), "Drawing noise", progress), strict=True):
            noisy[part] = block
    return noisy
