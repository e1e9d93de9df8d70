"""Labels: many at once have the form, and the refusals, that each of them has alone."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import privroute as pr
from privroute.errors import DemandError, NetworkError
from privroute.network.labels import Label, as_label, as_labels
from privroute.network.od_matrix import zone_nodes

WHOLE = st.integers(-30, 30) | st.integers(-(10**19), 10**19)
ODD = ["007", "7", "-7", "-0", "7.0", "\u0663", "\udcff", "1" * 19]
TEXTS = st.text("ab1- 0.\n\u00a0", max_size=3) | st.sampled_from(ODD)
ANYTHING = WHOLE | TEXTS | st.booleans() | st.none() | st.floats() | WHOLE.map(str)


def one_by_one(values: list[object]) -> tuple[Label, ...] | str:
    """The labels, or the refusal, by the rule for a single one."""
    found: dict[Label, int] = {}
    for position, value in enumerate(values):
        try:
            label = as_label(value)
        except NetworkError as problem:
            return f"names: position {position:,} {problem}"
        if label in found:
            return f"names: positions {found[label]:,} and {position:,} are both {label!r}; use each once"
        found[label] = position
    return tuple(found)


@given(st.lists(WHOLE, max_size=6) | st.lists(TEXTS, max_size=6) | st.lists(ANYTHING, max_size=6))
@example(["7", "x", "07"])
@example(["7", "x", " 7"])
@example(["a", ""])
@example([3, True])
@example([10**18 - 1, -(10**18)])
def test_many_labels_at_once_are_those_of_each_alone(values: list[object]) -> None:
    expected = one_by_one(values)
    if isinstance(expected, str):
        with pytest.raises(NetworkError, match=f"^{re.escape(expected)}$"):
            as_labels(values, "names")
    else:
        found = as_labels(values, "names")
        assert found == expected
        assert [type(label) for label in found] == [type(label) for label in expected]


@pytest.mark.parametrize(
    "values", [np.array([3, 1, 2]), np.array([3, 1, 2], np.uint8), ["3", 1, np.int32(2)], (3, 1, 2)], ids=str
)
def test_arrays_and_sequences_give_plain_numbers(values: list[object]) -> None:
    found = as_labels(values, "names")
    assert found == (3, 1, 2)
    assert {type(label) for label in found} == {int}


def triangle() -> pr.Network:
    return pr.Network([0, 1, 2], [1, 2, 0], pr.Latency.affine(np.ones(3), 1.0), ["a", 7, "07"], zones=[0, 1])


def test_nodes_are_found_by_many_labels_at_once() -> None:
    network = triangle()
    found = network.node_indices(["07", 7, "7", "a", "b", 70])
    assert found.tolist() == [2, 1, 1, 0, -1, -1]
    assert found.dtype == np.int32
    assert network.node_indices([]).size == 0


def test_pairs_and_zones_name_the_first_label_that_is_not_there() -> None:
    network = triangle()
    assert pr.Pairs.of_labels(network, ["a", "07"], [7, "a"]) == pr.Pairs([0, 2], [1, 0])
    cases: list[tuple[list[Label], list[Label]]] = [(["a", "b"], ["7", "c"]), (["a", "7"], ["7", "b"])]
    for ends in cases:
        with pytest.raises(NetworkError, match="no node is labelled 'b'"):
            pr.Pairs.of_labels(network, *ends)
    assert zone_nodes(network, ["7", "a"]).tolist() == [1, 0]
    refused: dict[str, list[Label]] = {
        "'07' (position 1)": ["a", "07"],
        "'b' (position 0)": ["b"],
        "more than once": [7, "7"],
    }
    for message, labels in refused.items():
        with pytest.raises(DemandError, match=re.escape(message)):
            zone_nodes(network, labels)
