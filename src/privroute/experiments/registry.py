"""All experiments, in the order of the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from privroute.errors import InputError
from privroute.experiments.constants import CONSTANTS
from privroute.experiments.figure_1 import FIGURE_1
from privroute.experiments.figure_2 import FIGURE_2
from privroute.experiments.figure_3 import FIGURE_3
from privroute.experiments.suboptimality_curves import AGAINST_DAYS, AGAINST_EPSILON
from privroute.experiments.table_1 import TABLE_1
from privroute.experiments.table_2 import TABLE_2
from privroute.experiments.theorem_1 import THEOREM_1
from privroute.experiments.theorem_2 import THEOREM_2
from privroute.experiments.theorem_3 import THEOREM_3

if TYPE_CHECKING:
    from collections.abc import Iterable

    from privroute.experiments.result import Experiment

__all__ = ["EXPERIMENTS", "chosen"]

EXPERIMENTS = (
    FIGURE_1,
    CONSTANTS,
    FIGURE_2,
    TABLE_1,
    FIGURE_3,
    TABLE_2,
    THEOREM_1,
    THEOREM_2,
    THEOREM_3,
    AGAINST_EPSILON,
    AGAINST_DAYS,
)


def chosen(names: Iterable[str]) -> list[Experiment]:
    """The experiments of these names, in the report's order; all of them if there are no names."""
    wanted = set(names)
    known = {each.name for each in EXPERIMENTS}
    unknown = sorted(wanted - known)
    if unknown:
        raise InputError(
            f"there is no experiment {unknown[0]!r}; known: {', '.join(each.name for each in EXPERIMENTS)}"
        )
    return [each for each in EXPERIMENTS if not wanted or each.name in wanted]
