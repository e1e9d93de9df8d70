"""The fast readers of plain demand tables read what the careful ones read, or nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import privroute as pr
from privroute import _core
from privroute.network import od_columns, od_matrix, tntp

SCENARIO = pr.sioux_falls()
NETWORK = SCENARIO.network
ZONES = NETWORK.zones.size
LABELS = [str(label) for label in NETWORK.node_labels]


def carefully(module: object, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, name, lambda *_arguments: None)


def outcome(read: object, path: Path) -> object:
    try:
        return read(path, NETWORK, on_unreachable="drop").rate_per_min.tolist()  # type: ignore[operator]
    except pr.PrivrouteError as problem:
        return str(problem)


PIECES = st.sampled_from(
    [
        "Origin 1",
        "origin  2",
        "ORIGIN\t3",
        "Origin 4\t",
        "Origin 5 6 : 7;",
        "1 : 2.0;",
        "2 : 3",
        "3:4;4:5;",
        ";",
        " ",
        "\t",
    ]
    + [
        "\n",
        "\r\n",
        "\n\n",
        "7 : 1e2;",
        "8 : .5;",
        "9 : 5.;",
        "10 : -1;",
        "11 : +1;",
        "99 : 1;",
        "007 : 1;",
        "1.0 : 2;",
    ]
    + [
        "~ comment",
        "<TAG> 1",
        "2 : 1e00005;",
        "2 : nan;",
        "Origin",
        "x",
        "12 : 1 2;",
        "13 :",
        ": 5;",
        "1e400;",
        "2 : 1e400;",
    ]
)


@given(st.lists(PIECES, max_size=12))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tntp_tables_read_the_same_fast_and_carefully(tmp_path: Path, pieces: list[str]) -> None:
    path = tmp_path / "trips.tntp"
    path.write_bytes(("<NUMBER OF ZONES> 24\n<END OF METADATA>\nOrigin 1\n" + "\n".join(pieces)).encode())
    fast = outcome(tntp.read_tntp_trips, path)
    with pytest.MonkeyPatch.context() as patch:
        carefully(tntp, "_plain_trips", patch)
        assert outcome(tntp.read_tntp_trips, path) == fast


def test_the_fast_reader_is_used_for_plain_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_arguments: object) -> None:
        pytest.fail("the careful reader was asked")

    lines = ["<NUMBER OF ZONES> 24", "<END OF METADATA>"]
    matrix = np.random.default_rng(1).uniform(0, 100, (ZONES, ZONES)).round(3)
    for row, origin in zip(matrix, LABELS, strict=True):
        lines += [f"Origin {origin}", "".join(f" {to} : {trips};" for to, trips in zip(LABELS, row, strict=True))]
    (tmp_path / "x.tntp").write_text("\n".join(lines))
    expected = pr.demand_from_matrix(NETWORK, matrix)
    monkeypatch.setattr(tntp, "_trips", slow)
    assert pr.read_tntp_trips(tmp_path / "x.tntp", NETWORK) == expected
    monkeypatch.setattr(od_columns, "_SMALLEST", 1)
    monkeypatch.setattr(od_matrix, "read_table", slow)
    rows = [f"{o},{d},{matrix[i, j]}" for i, o in enumerate(LABELS) for j, d in enumerate(LABELS)]
    (tmp_path / "long.csv").write_text("\n".join(["origin,destination,trips", *rows]))
    assert pr.read_od_csv(tmp_path / "long.csv", NETWORK) == expected
    quoted = [f'"{o}",{d},"{matrix[i, j]}"' for i, o in enumerate(LABELS) for j, d in enumerate(LABELS)]
    (tmp_path / "quoted.csv").write_text("\n".join(['"origin","destination","trips"', *quoted]))
    assert pr.read_od_csv(tmp_path / "quoted.csv", NETWORK) == expected
    square = [f"{o};" + ";".join(map(str, row)) for o, row in zip(LABELS, matrix, strict=True)]
    (tmp_path / "square.csv").write_text("\n".join(["zone;" + ";".join(LABELS), *square]))
    assert pr.read_od_csv(tmp_path / "square.csv", NETWORK) == expected


CELLS = st.sampled_from(
    ["1", "2", "24", "25", "x", "", " 3 ", "1.5", "nan", "-1", "1e3", "inf", "07", "1.0", "0"]
    + ['"4"', '" 5 "', '""', '"1"2', '3"4"', '"5', '6"', '"7""8"', '"9,1"', '"3"\n"4"', '"']
)


HEADERS = [
    ("Origin", "destination", "trips"),
    ('"origin"', '"destination"', '"trips"'),
    ('"origin"', '" trips"', '"destination"'),
]


@given(
    st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6),
    st.sampled_from(",;\t"),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(HEADERS),
)
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_csv_tables_read_the_same_fast_and_carefully(
    tmp_path: Path, rows: list[tuple[str, str, str]], delimiter: str, line: str, header: tuple[str, str, str]
) -> None:
    path = tmp_path / "trips.csv"
    path.write_bytes(line.join(delimiter.join(row) for row in [header, *rows]).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(od_columns, "_SMALLEST", 1)
        fast = outcome(pr.read_od_csv, path)
    with pytest.MonkeyPatch.context() as patch:
        carefully(od_matrix, "plain_matrix", patch)
        assert outcome(pr.read_od_csv, path) == fast


@given(st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_a_hub_proves_only_what_a_search_finds(seed: int) -> None:
    chance = np.random.default_rng(seed)
    nodes, links = int(chance.integers(2, 8)), int(chance.integers(1, 25))
    tail = chance.integers(0, nodes, links)
    head = (tail + chance.integers(1, nodes, links)) % nodes
    closed = chance.integers(0, 3, nodes) == 0
    network = pr.Network(tail, head, pr.Latency.affine(np.ones(links), 1.0), range(nodes), no_through=closed)
    first, second = (part.ravel() for part in np.meshgrid(np.arange(nodes), np.arange(nodes)))
    pairs = pr.Pairs(first[first != second], second[first != second])
    joined = np.isfinite(pr.free_flow_minutes(network, pairs))
    graph = (network.tail, network.head, network.no_through.view(np.uint8))
    if _core.joined_by_a_hub(*graph, pairs.origin, pairs.destination):
        assert joined.all()
    kept = pairs.reachable(network, on_unreachable="drop")
    assert np.array_equal(kept.origin, pairs.origin[joined])


@given(st.integers(0, 2**32), st.integers(1, 2000))
@settings(max_examples=100, deadline=None)
def test_positions_are_found_in_dense_and_in_sparse_pairs(seed: int, spread: int) -> None:
    chance = np.random.default_rng(seed)
    ends = np.unique(chance.integers(0, spread + 1, (200, 2)), axis=0)
    ends = chance.permutation(ends[ends[:, 0] != ends[:, 1]])
    pairs = pr.Pairs(*ends.T)
    wanted = chance.integers(0, spread + 5, (300, 2))
    place = {(int(o), int(d)): position for position, (o, d) in enumerate(ends)}
    found = pairs.positions(*wanted.T)
    assert found.tolist() == [place.get((int(o), int(d)), -1) for o, d in wanted]
