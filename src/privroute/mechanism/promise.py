"""What a release will promise: fixed from public numbers before anything private is touched."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from privroute.errors import GuaranteeError, NoiseError
from privroute.privacy.calibration import gaussian_epsilon, gaussian_rho, gaussian_scale

if TYPE_CHECKING:
    from privroute.study.guarantee import Guarantee

__all__ = ["Promise"]


_ROUNDED_UP = 1 + 1e-12  # so that the costs of several questions, each rounded up, stay within that of their sum
_LARGEST_DRAWN = 2.0**60  # eight deviations of integers of 64 bits


@dataclass(frozen=True, slots=True)
class Promise:
    """A guarantee, the proved ℓ2 sensitivity of what is perturbed, and the noise that keeps one for the other.

    sensitivity : of all questions together, √(Σ sⱼ²)
    questions : sⱼ of each question, in the order in which they are asked; all get noise of the same scale
    scale : of the noise, in the units of the sensitivity; rho : what OpenDP's map says of it. A ledger charges rho.
    grid : what one integer of the discrete Gaussian stands for; a power of 2, so that dividing by it is exact
    broken_assumptions : what the proof of the sensitivity assumes and nothing ensures; where there is any, nothing is
        promised, and the certificate says so
    """

    guarantee: Guarantee
    sensitivity: float
    scale: float
    rho: float
    grid: float = 1.0
    broken_assumptions: tuple[str, ...] = ()
    questions: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.questions:
            object.__setattr__(self, "questions", (self.sensitivity,))

    @property
    def integer_scale(self) -> float:
        """Scale of the discrete Gaussian on the integers."""
        return self.scale / self.grid

    def divided(self, share: float) -> Promise:
        """The same questions with a share of rho: noise 1/√share times as large. docs/proofs/periods.md, Theorem 2."""
        if share == 1.0:
            return self
        scale = self.scale / math.sqrt(share) * _ROUNDED_UP
        if scale / self.grid > _LARGEST_DRAWN:
            raise NoiseError(f"a share of {share:.3g} needs noise beyond any use; use fewer periods")
        return replace(self, scale=scale, rho=gaussian_rho(scale / self.grid, self.sensitivity / self.grid))

    @classmethod
    def of(cls, guarantee: Guarantee, *questions: float, grid: float = 1.0) -> Promise:
        """The smallest noise whose map is within the guarantee; the map is read once more and decides.

        questions : the sensitivity of each question that will be asked. docs/proofs/questions.md, Lemma 1
        """
        sensitivity = questions[0] if len(questions) == 1 else math.hypot(*questions) * _ROUNDED_UP
        scale = gaussian_scale(guarantee.epsilon, guarantee.delta, sensitivity)
        drawn, moved = scale / grid, sensitivity / grid  # the measurement that will be used
        if drawn > _LARGEST_DRAWN:
            raise NoiseError(
                f"the guarantee needs noise of scale {scale:.3g}, beyond the grid on which it is drawn and beyond any "
                "use; choose a larger epsilon, delta or alpha"
            )
        rho = gaussian_rho(drawn, moved)
        if (
            gaussian_epsilon(drawn, moved, guarantee.delta) > guarantee.epsilon
            or math.fsum(gaussian_rho(drawn, each / grid) for each in questions) > rho
        ):
            raise GuaranteeError("the noise is smaller than the guarantee needs; nothing is released")
        return cls(guarantee, sensitivity, scale, rho, grid, questions=questions)
