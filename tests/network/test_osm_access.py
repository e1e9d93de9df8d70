"""What cars may use and pass by OpenStreetMap's tags: barriers, access, directions, lanes, rings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.network.crossroads import PLACES, Crossroads

import privroute as pr
from privroute.network.read_notes import ReadNotes


@pytest.fixture
def town() -> Crossroads:
    return Crossroads()


def read(town: Crossroads, folder: Path) -> tuple[pr.Network, ReadNotes]:
    notes = ReadNotes()
    return pr.read_network(town.write(folder / "town.osm"), notes=notes), notes


def ways(network: pr.Network) -> list[int]:
    """The ways of the links."""
    assert network.streets is not None
    return [int(way) for way in network.streets.osm_way_id]


def links_of(network: pr.Network, way: int, *, rising: bool = True) -> int:
    """The link of a way whose nodes are in the order of their numbers, or in the other one."""
    (found,) = [
        link
        for link, each in enumerate(ways(network))
        if each == way
        and (str(network.node_labels[network.tail[link]]) < str(network.node_labels[network.head[link]])) == rising
    ]
    return found


class TestBarriers:
    def passes(self, network: pr.Network, node: int) -> bool:
        """Whether one node of the network has several streets at this place."""
        assert network.coordinates is not None
        here = np.flatnonzero(np.isclose(network.coordinates, PLACES[node]).all(axis=1))
        return len(here) == 1 and bool((network.tail == here[0]).sum() > 1)

    @pytest.mark.parametrize(
        ("tags", "open_to_cars"),
        [
            ({"barrier": "bollard"}, False),
            ({"barrier": "block"}, False),
            ({"barrier": "cycle_barrier"}, False),
            ({"barrier": "bollard", "bollard": "rising"}, True),
            ({"barrier": "bollard", "motor_vehicle": "yes"}, True),
            ({"barrier": "gate"}, True),
            ({"barrier": "gate", "access": "private"}, False),
            ({"barrier": "gate", "access": "no", "motorcar": "yes"}, True),
            ({"barrier": "lift_gate", "motor_vehicle": "no"}, False),
            ({"barrier": "toll_booth"}, True),
            ({"barrier": "cattle_grid"}, True),
            ({"highway": "crossing"}, True),
            ({"highway": "traffic_signals"}, True),
        ],
    )
    def test_cars_pass_some_barriers(
        self, town: Crossroads, tmp_path: Path, tags: dict[str, str], open_to_cars: bool
    ) -> None:
        town.node_tags[3] = tags
        network, notes = read(town, tmp_path)
        assert self.passes(network, 3) == open_to_cars
        assert notes["barriers"] == (not open_to_cars)
        assert any("barrier" in sentence for sentence in notes.sentences()) != open_to_cars

    def test_a_street_ends_on_both_sides_of_a_barrier(self, town: Crossroads, tmp_path: Path) -> None:
        plain, _ = read(town, tmp_path)
        town.node_tags[3] = {"barrier": "bollard"}
        network, _ = read(town, tmp_path)
        assert sorted(ways(network)) == sorted(ways(plain))  # nothing is lost
        ends = [label for label in network.node_labels if str(label).startswith("3/")]
        assert len(ends) == 4
        for label in ends:  # each side is a dead end of its own
            node = network.node_labels.index(label)
            assert (network.tail == node).sum() == (network.head == node).sum() == 1

    def test_a_barrier_within_a_way_cuts_it(self, town: Crossroads, tmp_path: Path) -> None:
        town.ways[11] = [2, 9, 3]
        town.node_tags[9] = {"barrier": "bollard"}
        network, notes = read(town, tmp_path)
        assert notes["barriers"] == 1
        assert ways(network).count(11) == 4
        assert {"9/1", "9/2"} <= set(map(str, network.node_labels))


class TestAccess:
    @pytest.mark.parametrize(
        "tags",
        [
            {"access": "no"},
            {"access": "private"},
            {"motor_vehicle": "no"},
            {"vehicle": "private"},
            {"access": "yes", "motor_vehicle": "no"},
            {"motor_vehicle": "psv"},
        ],
    )
    def test_closed_ways_are_counted(self, town: Crossroads, tmp_path: Path, tags: dict[str, str]) -> None:
        town.way_tags[11] = tags
        network, notes = read(town, tmp_path)
        assert 11 not in ways(network)
        assert notes["no_access"] == 1

    @pytest.mark.parametrize(
        "tags",
        [{"access": "no", "motor_vehicle": "yes"}, {"access": "destination"}, {"vehicle": "no", "motorcar": "yes"}],
    )
    def test_the_tag_nearest_to_cars_decides(self, town: Crossroads, tmp_path: Path, tags: dict[str, str]) -> None:
        town.way_tags[11] = tags
        network, notes = read(town, tmp_path)
        assert ways(network).count(11) == 2
        assert notes["no_access"] == 0

    @pytest.mark.parametrize("tags", [{"construction": "yes"}, {"construction": "bridge"}, {"proposed": "yes"}])
    def test_what_is_being_built_is_counted(self, town: Crossroads, tmp_path: Path, tags: dict[str, str]) -> None:
        town.way_tags[11] = tags
        network, notes = read(town, tmp_path)
        assert 11 not in ways(network)
        assert notes["unfinished"] == 1

    @pytest.mark.parametrize("kind", ["construction", "proposed", "footway", "service"])
    def test_classes_that_are_no_streets_are_left_out(self, town: Crossroads, tmp_path: Path, kind: str) -> None:
        town.way_tags[11] = {"highway": kind}
        assert 11 not in ways(read(town, tmp_path)[0])

    def test_ferries_are_counted(self, town: Crossroads, tmp_path: Path) -> None:
        town.way_tags[11] = {"highway": "", "route": "ferry", "motor_vehicle": "yes"}
        network, notes = read(town, tmp_path)
        assert 11 not in ways(network)
        assert notes["ferries"] == 1


class TestDirections:
    @pytest.mark.parametrize(
        ("tags", "along", "against"),
        [
            ({}, 1, 1),
            ({"oneway": "yes"}, 1, 0),
            ({"oneway": "-1"}, 0, 1),
            ({"oneway": "reverse"}, 0, 1),
            ({"oneway": "alternating"}, 1, 1),
            ({"oneway": "yes", "oneway:motor_vehicle": "no"}, 1, 1),
            ({"motor_vehicle:backward": "no"}, 1, 0),
            ({"vehicle:forward": "private"}, 0, 1),
            ({"highway": "motorway"}, 1, 0),
            ({"highway": "motorway", "oneway": "no"}, 1, 1),
            ({"junction": "roundabout"}, 1, 0),
            ({"junction": "circular"}, 1, 0),
            ({"junction": "roundabout", "oneway": "-1"}, 0, 1),
        ],
    )
    def test_one_way_streets(
        self, town: Crossroads, tmp_path: Path, tags: dict[str, str], along: int, against: int
    ) -> None:
        town.way_tags[11] = tags
        network, _ = read(town, tmp_path)
        two = network.node_labels.index(2)
        links = [link for link, way in enumerate(ways(network)) if way == 11]
        assert sum(int(network.tail[link]) == two for link in links) == along
        assert sum(int(network.head[link]) == two for link in links) == against


class TestLanes:
    @pytest.mark.parametrize(
        ("tags", "lanes"),
        [
            ({}, (1, 1)),
            ({"lanes": "4"}, (2, 2)),
            ({"lanes": "3"}, (1.5, 1.5)),
            ({"lanes": "1"}, (0.5, 0.5)),  # one lane for both directions
            ({"lanes": "3", "lanes:forward": "2", "lanes:backward": "1"}, (2, 1)),
            ({"lanes": "3", "lanes:forward": "2"}, (2, 1)),
            ({"lanes": "5", "lanes:backward": "2"}, (3, 2)),
            ({"lanes": "3", "lanes:both_ways": "1"}, (1, 1)),
            ({"lanes": "5", "lanes:forward": "2", "lanes:both_ways": "1"}, (2, 2)),
            ({"lanes": "2", "lanes:forward": "2"}, (2, 1)),  # nothing is left: half of the total
            ({"lanes:forward": "2"}, (2, 1)),  # the table for the other direction
        ],
    )
    def test_lanes_of_a_direction(
        self, town: Crossroads, tmp_path: Path, tags: dict[str, str], lanes: tuple[float, float]
    ) -> None:
        town.way_tags[11] = tags
        network, _ = read(town, tmp_path)
        assert network.streets is not None
        links = [links_of(network, 11, rising=rising) for rising in (True, False)]
        assert tuple(network.streets.lanes[links]) == lanes
        assert tuple(network.capacity_per_min[links] * 60) == pytest.approx([500 * each for each in lanes])

    def test_a_one_way_street_has_all_its_lanes(self, town: Crossroads, tmp_path: Path) -> None:
        town.way_tags[11] = {"lanes": "3", "oneway": "yes"}
        network, _ = read(town, tmp_path)
        assert network.streets is not None
        assert network.streets.lanes[links_of(network, 11)] == 3


@pytest.mark.parametrize(
    ("maxspeed", "kph"),
    [
        ("30 mph", 48.28032),
        ("20mph", 32.18688),
        ("walk", 6),
        ("DE:walk", 6),
        ("none", 30),
        ("DE:urban", 30),  # the table
        ("DE:zone:20", 20),
        ("FR:zone30", 30),
        ("RU:60", 60),
        ("GB:20", 30),  # the table: a number without a unit
        ("50;40", 40),
        ("signals", 30),
    ],
)
def test_forms_of_maxspeed(town: Crossroads, tmp_path: Path, maxspeed: str, kph: float) -> None:
    town.way_tags[11] = {"maxspeed": maxspeed}
    network, notes = read(town, tmp_path)
    link = links_of(network, 11)
    assert network.length_km is not None
    assert network.length_km[link] / network.free_flow_min[link] * 60 == pytest.approx(kph)
    assert notes["odd_tags"] == 0


def test_speeds_by_direction(town: Crossroads, tmp_path: Path) -> None:
    town.way_tags[11] = {"maxspeed": "50", "maxspeed:backward": "20"}
    network, _ = read(town, tmp_path)
    assert network.length_km is not None
    speed = network.length_km / network.free_flow_min * 60
    assert speed[[links_of(network, 11), links_of(network, 11, rising=False)]] == pytest.approx([50, 20])


def test_a_ring_from_a_node_to_itself_becomes_two_streets_side_by_side(town: Crossroads, tmp_path: Path) -> None:
    town.ways[30] = [3, 9, 10, 3]
    network, notes = read(town, tmp_path)
    assert notes["loops"] == 0
    links = [link for link, way in enumerate(ways(network)) if way == 30]
    assert len(links) == 4  # two links in each direction, between the same two nodes
    assert len({frozenset((int(network.tail[link]), int(network.head[link]))) for link in links}) == 1


def test_two_streets_between_the_same_nodes_stay_two(town: Crossroads, tmp_path: Path) -> None:
    town.ways[31] = [2, 9, 3]
    network, _ = read(town, tmp_path)
    ends = [
        (int(network.tail[link]), int(network.head[link])) for link, way in enumerate(ways(network)) if way in (11, 31)
    ]
    assert len(ends) == 4
    assert len(set(ends)) == 2


class TestRestrictions:
    def exits(self, network: pr.Network, way: int, via: int) -> set[int]:
        """The ways on which those go on who come by a way to a junction."""
        assert network.streets is not None
        number, drawn = network.streets.osm_way_id, network.streets.drawn
        (comes,) = [
            link
            for link in np.flatnonzero(number == way).tolist()
            if np.allclose(network.streets.line(link)[-1], PLACES[via])
        ]
        nodes = [int(network.head[comes])]
        nodes += [int(network.head[turn]) for turn in np.flatnonzero((network.tail == nodes[0]) & ~drawn)]
        return {int(number[link]) for node in nodes for link in np.flatnonzero((network.tail == node) & drawn)}

    @pytest.mark.parametrize(
        ("rule", "to_way", "left"),
        [
            ("no_left_turn", 13, {11, 14}),
            ("no_right_turn", 14, {11, 13}),
            ("no_straight_on", 11, {13, 14}),
            ("only_left_turn", 13, {13}),
            ("only_right_turn", 14, {14}),
            ("only_straight_on", 11, {11}),
            ("no_u_turn", 10, {11, 13, 14}),
        ],
    )
    def test_turns_that_are_left(
        self, town: Crossroads, tmp_path: Path, rule: str, to_way: int, left: set[int]
    ) -> None:
        town.forbid(10, 2, to_way, {"restriction": rule})
        network, notes = read(town, tmp_path)
        assert notes.counts == {"turn_restrictions": 1}
        assert self.exits(network, 10, 2) == left
