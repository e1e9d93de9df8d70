from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from privroute.errors import NetworkError
from privroute.network import osm_tags
from privroute.network.attributes import Attributes
from privroute.network.road_classes import ROAD_CLASSES, RoadClass, merge_road_classes

MILE_KM = 1.609344
HUGE = pytest.param(10**5000, id="huge")  # too long for a text, and for a float


def edge(**values: Any) -> Attributes:
    return Attributes("edge", ("a", "b", 0), values)


def speed(**values: Any) -> float:
    return osm_tags.speed_kph(edge(**values), ROAD_CLASSES)


def capacity(**values: Any) -> float:
    return osm_tags.capacity_per_min(edge(**values), ROAD_CLASSES)


@pytest.mark.parametrize(
    ("maxspeed", "kph"),
    [
        ("50", 50),
        (50, 50),
        (np.float32(62.5), 62.5),
        ("30 mph", 30 * MILE_KM),
        ("30MPH", 30 * MILE_KM),
        ("10 knots", 18.52),
        ("80 km/h", 80),
        ("walk", 6),
        (["50", "30 mph"], 30 * MILE_KM),
        (("none", "100"), 100),
        (np.array(["70", "50"]), 50),
        ("70;50", 50),
        ("70 | 50", 50),
    ],
)
def test_maxspeed_is_read_in_every_form(maxspeed: object, kph: float) -> None:
    assert speed(maxspeed=maxspeed, highway="primary") == pytest.approx(kph, rel=1e-15)


@pytest.mark.parametrize(
    "rule",
    ["none", "signals", "variable", "national", "implicit", "unposted", "DE:urban", "BE-VLG:rural", "GB:nsl_single"]
    + [["none", "signals"], None, float("nan"), np.float32("nan"), [None, "none"]],
)
def test_a_rule_instead_of_a_limit_leaves_the_speed_to_the_table(rule: object) -> None:
    assert speed(maxspeed=rule, highway="motorway") == ROAD_CLASSES["motorway"].speed_kph


def test_speed_kph_comes_before_maxspeed_and_the_table_last() -> None:
    assert speed(speed_kph=41.5, maxspeed="50", highway="primary") == 41.5
    assert speed(highway="primary") == ROAD_CLASSES["primary"].speed_kph
    assert speed() == ROAD_CLASSES["other"].speed_kph


@pytest.mark.parametrize(
    "value",
    ["fast", "", "-30", "50 furlongs", 0, "0", -5, 1e9, True, ["50", "fast"], [], HUGE, {}],
)
@pytest.mark.parametrize("name", ["maxspeed", "speed_kph"])
def test_an_unusable_speed_names_the_edge_and_the_remedy(name: str, value: object) -> None:
    with pytest.raises(NetworkError, match=rf"edge \('a', 'b', 0\): {name} is .*; .*omit the attribute"):
        speed(**{name: value})


def test_a_gap_among_limits_is_passed_over_but_a_speed_must_be_one() -> None:
    assert speed(maxspeed=["50", None, "none"], highway="primary") == 50
    for value in (None, float("nan"), "none", ["50", None]):
        with pytest.raises(NetworkError, match=r"speed_kph is .*omit the attribute"):
            speed(speed_kph=value)


@pytest.mark.parametrize(
    ("lanes", "count"),
    [("2", 2), (3, 3), (1.5, 1.5), (["3", "2", "4"], 2), ("2;3", 2), (np.int64(4), 4), ([2, "1"], 1)],
)
def test_lanes_are_read_in_every_form(lanes: object, count: float) -> None:
    assert osm_tags.lanes(edge(lanes=lanes)) == count


@pytest.mark.parametrize(
    ("oneway", "count"),
    [(True, 3), (False, 1.5), ("no", 1.5), ("yes", 3), ([False, True], 3), ([False, False], 1.5), (np.bool_(0), 1.5)]
    + [("-1", 3), (-1, 3), ("reversible", 3), ("Alternating", 3), (["no", "-1"], 3)],
)
def test_lanes_of_a_two_way_road_are_shared_by_its_directions(oneway: object, count: float) -> None:
    assert osm_tags.lanes(edge(lanes="3", oneway=oneway)) == count


@pytest.mark.parametrize("value", ["two", "", 0, -1, 1e6, None, float("nan"), float("inf"), True, [], ["2", None], {}])
def test_unusable_lanes_name_the_edge_and_the_remedy(value: object) -> None:
    with pytest.raises(NetworkError, match=r"edge \('a', 'b', 0\): lanes is .*; .*omit the attribute"):
        capacity(lanes=value)


@pytest.mark.parametrize("value", ["maybe", None, float("nan"), 7, -2, [True, None], HUGE])
def test_an_unusable_oneway_names_the_edge_and_the_remedy(value: object) -> None:
    with pytest.raises(NetworkError, match=r"edge \('a', 'b', 0\): oneway is .*; give True or False"):
        capacity(lanes=2, oneway=value)


@pytest.mark.parametrize(
    ("highway", "row"),
    [
        ("primary", "primary"),
        (["secondary", "primary"], "secondary"),
        (["primary", "tertiary", "secondary"], "tertiary"),
        (["bridleway", "primary"], "primary"),
        ("bridleway", "other"),
        ("primary;residential", "residential"),
        (["service", "living_street"], "service"),  # as little capacity, but first
    ],
)
def test_of_several_classes_the_known_one_with_the_smallest_capacity_counts(highway: object, row: str) -> None:
    assert osm_tags.road_class(edge(highway=highway), ROAD_CLASSES) == ROAD_CLASSES[row]


@pytest.mark.parametrize("value", [None, 5, float("nan"), [], ["primary", 3], True])
def test_an_unusable_class_names_the_edge_and_the_remedy(value: object) -> None:
    with pytest.raises(NetworkError, match=r"edge \('a', 'b', 0\): highway is .*omit the attribute"):
        capacity(highway=value)


def test_capacity_is_the_edges_own_before_the_tables() -> None:
    primary = ROAD_CLASSES["primary"]
    assert capacity(capacity_per_min=7.5, capacity=1200, highway="primary") == 7.5
    assert capacity(capacity="1200", highway="primary") == 20
    assert capacity(lanes="3", highway="primary") == 3 * primary.capacity_per_hour_lane / 60
    assert capacity(highway="motorway") == 2 * ROAD_CLASSES["motorway"].capacity_per_hour_lane / 60
    assert capacity() == ROAD_CLASSES["other"].capacity_per_hour_lane / 60


@pytest.mark.parametrize("name", ["capacity", "capacity_per_min"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), None, "many", HUGE, [900], True, 1j])
def test_an_unusable_capacity_names_the_edge_and_the_remedy(name: str, value: object) -> None:
    with pytest.raises(NetworkError, match=rf"edge \('a', 'b', 0\): {name} is .*; .*omit the attribute"):
        capacity(**{name: value})


def test_a_capacity_that_vanishes_per_minute_is_refused() -> None:
    with pytest.raises(NetworkError, match=r"capacity is 5e-324; it must be finite and greater than 0"):
        capacity(capacity=5e-324)
    flood = merge_road_classes({"flood": RoadClass(1e308, 1, 50)})
    with pytest.raises(NetworkError, match=r"highway is 'flood'; inf vehicles per hour .* correct the row"):
        osm_tags.capacity_per_min(edge(highway="flood", lanes=100), flood)


def test_free_flow_time_is_the_edges_own_before_length_and_speed() -> None:
    def minutes(**values: Any) -> float:
        return osm_tags.free_flow_min(edge(**values), ROAD_CLASSES)

    assert minutes(free_flow_min=0.1, travel_time=30, length=1000) == 0.1
    assert minutes(travel_time="90", length=1000, speed_kph=50) == 1.5
    assert minutes(length=1000, maxspeed="60") == 1
    assert minutes(length_km=2, length=1000, maxspeed="60") == 2
    assert minutes(length=500, highway="residential") == 1  # 0.5 km at 30 km/h
    assert minutes(length=0, highway="residential") == 0


@pytest.mark.parametrize("name", ["free_flow_min", "travel_time", "length", "length_km"])
@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), None, "long", "", HUGE, [1.0], "1_000", "٣"])
def test_an_unusable_time_or_length_names_the_edge_and_the_remedy(name: str, value: object) -> None:
    with pytest.raises(NetworkError, match=rf"edge \('a', 'b', 0\): {name} is .*; .*omit the attribute"):
        osm_tags.free_flow_min(edge(**{name: value}), ROAD_CLASSES)


def test_an_edge_without_time_and_length_is_told_what_to_add() -> None:
    with pytest.raises(NetworkError, match=r"\('a', 'b', 0\): length is missing; .*travel_time.*add_edge_lengths"):
        osm_tags.free_flow_min(edge(highway="primary"), ROAD_CLASSES)


def test_a_time_that_is_not_finite_is_refused() -> None:
    with pytest.raises(NetworkError, match=r"length is 1e\+308; at 1e-10 km/h the time is not finite; correct"):
        osm_tags.free_flow_min(edge(length=1e308, speed_kph=1e-10), ROAD_CLASSES)
