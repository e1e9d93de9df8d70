from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from privroute.errors import NetworkError
from privroute.network.road_classes import OTHER, ROAD_CLASSES, RoadClass, merge_road_classes

HUGE = pytest.param(10**5000, id="huge")  # too long for a text, and for a float
PAGE = Path(__file__).parents[2] / "docs" / "road-classes.md"


def table() -> str:
    rows = [
        "| class | vehicles per hour and lane | lanes per direction | speed (km/h) |",
        "|---|---:|---:|---:|",
        *(
            f"| {name} | {row.capacity_per_hour_lane:g} | {row.lanes:g} | {row.speed_kph:g} |"
            for name, row in ROAD_CLASSES.items()
        ),
    ]
    return "\n".join(rows)


def test_the_page_shows_the_table_of_the_code() -> None:
    assert f"\n\n{table()}\n\n" in PAGE.read_text(encoding="utf-8")


def test_the_table_cannot_be_changed() -> None:
    with pytest.raises(TypeError, match="does not support item assignment"):
        ROAD_CLASSES["primary"] = RoadClass(1, 1, 1)  # type: ignore[index]


def test_links_between_roads_carry_no_more_than_the_roads() -> None:
    for name, row in ROAD_CLASSES.items():
        if name.endswith("_link"):
            road = ROAD_CLASSES[name.removesuffix("_link")]
            assert row.capacity_per_hour_lane <= road.capacity_per_hour_lane
            assert row.speed_kph <= road.speed_kph


def test_local_rows_replace_and_extend_the_table() -> None:
    local = {"primary": RoadClass(900, 2, 50), "busway": RoadClass(100, 1, 30)}
    merged = merge_road_classes(local)
    assert merged["primary"] == local["primary"]
    assert merged["busway"] == local["busway"]
    assert merged[OTHER] == ROAD_CLASSES[OTHER]
    assert merge_road_classes(None) is ROAD_CLASSES


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), HUGE, None, "50", True])
def test_a_row_has_positive_finite_numbers(value: Any) -> None:
    with pytest.raises(NetworkError, match=r"RoadClass: lanes is .*; pass a finite number greater than 0"):
        RoadClass(1000, value, 50)


def test_a_row_takes_any_kind_of_number() -> None:
    assert RoadClass(Fraction(2001, 2), 1, 50).capacity_per_hour_lane == 1000.5  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes", [[("primary", RoadClass(1, 1, 1))], {"primary": (900, 2, 50)}, {1: RoadClass(1, 1, 1)}]
)
def test_other_tables_are_refused_with_the_right_form(changes: Any) -> None:
    with pytest.raises(NetworkError, match=r"road_classes.*RoadClass"):
        merge_road_classes(changes)
