"""What is believed of a positive number that was measured with noise."""

from __future__ import annotations

import math

__all__ = ["positive_mean"]


def positive_mean(value: float, variance: float) -> float:
    """Mean of a number that is known to be positive and was measured with normal noise: above the measured one."""
    scale = math.sqrt(variance)
    at = max(value / scale, -30.0)
    density = math.exp(-0.5 * at**2) / math.sqrt(2 * math.pi)
    return max(scale * (at + density / (0.5 * math.erfc(-at / math.sqrt(2)))), 1.0)
