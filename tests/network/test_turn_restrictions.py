"""Turn restrictions of OpenStreetMap: which ones are for cars, and that nobody evades them by turning round."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from tests.network.crossroads import Crossroads

import privroute as pr
from privroute.network.read_notes import ReadNotes


class Rule(NamedTuple):
    """A relation from a way through a node to a way."""

    from_way: int
    via: int
    to_way: int
    rule: str
    tags: tuple[tuple[str, str], ...] = ()


LEFT_AT_2 = Rule(10, 2, 13, "no_left_turn")
LEFT_AT_3 = Rule(12, 3, 16, "no_left_turn")


def read(place: Path, rules: Sequence[Rule]) -> tuple[pr.Network, ReadNotes]:
    town = Crossroads()
    for each in rules:
        town.forbid(each.from_way, each.via, each.to_way, {"restriction": each.rule, **dict(each.tags)})
    notes = ReadNotes()
    return pr.read_network(town.write(place / "town.osm"), notes=notes), notes


def ways_back(network: pr.Network) -> set[tuple[int, int]]:
    """(junction, way) where a turn link leads from a way back onto it."""
    streets = network.streets
    assert streets is not None
    found = set()
    for turn in np.flatnonzero(~streets.drawn):
        for entering in np.flatnonzero(network.head == network.tail[turn]):
            for leaving in np.flatnonzero(network.tail == network.head[turn]):
                if np.allclose(streets.line(int(entering))[0], streets.line(int(leaving))[-1]):
                    junction = str(network.node_labels[network.tail[turn]]).partition("/")[0]
                    found.add((int(junction), int(streets.osm_way_id[entering])))
    return found


@pytest.mark.parametrize("rules", [[LEFT_AT_2], [LEFT_AT_2, LEFT_AT_3], [LEFT_AT_3, LEFT_AT_2]])
def test_nobody_turns_round_at_a_junction_with_a_restriction_next_to_another_one(
    tmp_path: Path, rules: list[Rule]
) -> None:
    network, notes = read(tmp_path, rules)
    assert notes["turn_restrictions"] == len(rules)
    assert ways_back(network) == set()


def test_a_forbidden_way_back_is_applied_and_counted(tmp_path: Path) -> None:
    round_at_3 = Rule(11, 3, 11, "no_u_turn")
    network, notes = read(tmp_path, [LEFT_AT_2, round_at_3])
    assert notes.counts == {"turn_restrictions": 2}
    assert ways_back(network) == set()
    # the junction is taken apart for it: at a whole one beside another that is not, a path may turn round
    assert any(str(label).startswith("3/") for label in network.node_labels)


@pytest.mark.parametrize(
    "tags",
    [
        (("type", "restriction:hgv"),),
        (("except", "psv; motorcar"),),
        (("except", "motor_vehicle"),),
        (("day_on", "Monday"), ("hour_on", "07:00")),
        (("hour_off", "09:00"),),
    ],
)
def test_restrictions_for_others_or_at_some_times_are_counted_and_not_applied(
    tmp_path: Path, tags: tuple[tuple[str, str], ...]
) -> None:
    network, notes = read(tmp_path, [LEFT_AT_2._replace(tags=tags)])
    assert notes.counts == {"other_restrictions": 1}
    assert network.streets is not None
    assert network.streets.drawn.all()


@pytest.mark.parametrize("tags", [(), (("except", "bicycle; psv"),)])
def test_restrictions_for_cars_are_applied(tmp_path: Path, tags: tuple[tuple[str, str], ...]) -> None:
    _, notes = read(tmp_path, [LEFT_AT_2._replace(tags=tags)])
    assert notes.counts == {"turn_restrictions": 1}
