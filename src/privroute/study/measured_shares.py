"""Shares of rho that are spent on measuring something beside what the mechanism asks."""

from __future__ import annotations

__all__ = ["LARGEST_SHARE", "QUALITY_SHARE", "TOTAL_SHARE"]

QUALITY_SHARE = 0.05
"""Spent on measuring how useful a release is."""

TOTAL_SHARE = 0.02
"""Spent on measuring the total where users are bounded and that is asked for."""

LARGEST_SHARE = 0.45
"""Of the shares for the quality and for the total."""
