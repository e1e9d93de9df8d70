"""A release folder from a stranger: whatever is in it, it is read as it should be or refused, and soon."""

from __future__ import annotations

import math
import os
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.release.folders import Change, changed, column, signed

import privroute as pr
from privroute.errors import LargeDeltaWarning, PolicyError, ReleaseError
from privroute.network.text_files import map_bytes, read_bytes
from privroute.privacy.calibration import rho_to_epsilon
from privroute.release import reading, table_files
from privroute.release.certificate import epsilon_of_rho

SCENARIO = pr.sioux_falls()
HISTORY = pr.simulate_days(SCENARIO.demand, days=3, seed=1)
RELEASE = pr.learn(SCENARIO.network, HISTORY, pr.Guarantee(1.0, 1e-6))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("saved") / "out"
    RELEASE.save(place)
    return place


def first_null(values: pa.ChunkedArray) -> pa.Array:
    return pa.array([None, *values.to_pylist()[1:]], values.type)


def rotated(values: pa.ChunkedArray) -> pa.Array:
    listed = values.to_pylist()
    return pa.array(listed[1:] + listed[:1], values.type)


def nulls(values: pa.ChunkedArray) -> pa.Array:
    return pa.nulls(len(values), values.type)


def negative(values: pa.ChunkedArray) -> pa.Array:
    return pc.negate(values)


def swapped(names: list[str]) -> list[str]:
    return [*names[:-2], names[-1], names[-2]]


def one_known(values: pa.ChunkedArray) -> pa.Array:
    return pa.array([1.0, *[None] * (len(values) - 1)], values.type)


def null_inside(values: pa.ChunkedArray) -> pa.Array:
    listed = values.to_pylist()
    return pa.array([[*listed[0], None], *listed[1:]], values.type)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("demand", column("origin", rotated), "demand.parquet has other pairs"),
        ("demand", column("destination", lambda values: values), None),
        ("demand", lambda table: table.take(list(range(len(table)))[::-1]), "in another order"),
        ("demand", lambda table: table.slice(1), "demand.parquet has other pairs"),
        ("demand", column("noisy_count", first_null), "noisy_count is empty in 1 of 552 rows"),
        ("demand", column("noisy_count", lambda values: values.cast("float64")), "has other columns than"),
        ("demand", column("rate_per_min", lambda values: values.cast("float32")), "has other columns than"),
        ("demand", column("rate_per_min", first_null), "rate_per_min is empty"),
        ("demand", column("rate_per_min", nulls), "rate_per_min is empty"),
        ("demand", column("origin", lambda values: pa.array(["x"] * len(values))), "no node is labelled 'x'"),
        ("routes", column("link_ids", pc.list_value_length), "has other columns than"),
        ("routes", column("link_ids", lambda values: values.cast(pa.large_list(pa.int64()))), "has other columns"),
        ("routes", column("link_ids", null_inside), "link_ids has empty entries"),
        ("routes", column("link_ids", first_null), "link_ids is empty in 1"),
        ("routes", column("route", lambda values: pc.add(values, 1)), "does not count the routes"),
        ("routes", column("route", lambda values: pa.array([5, *values.to_pylist()[1:]])), "does not count the routes"),
        ("routes", lambda table: table.drop_columns(["route"]), "has other columns than"),
        ("routes", lambda table: table.append_column("more", table["route"]), "has other columns than"),
        ("nodes", column("x_coord", first_null), "x_coord is empty in 1 of 24 rows"),
        ("nodes", column("y_coord", nulls), "x_coord without y_coord"),
        ("nodes", column("is_zone", lambda values: pa.array([False] * len(values))), "zones is empty"),
        ("nodes", column("node_id", first_null), "node_id is empty"),
        ("nodes", column("node_id", lambda values: values.dictionary_encode()), "has other columns than"),
        ("links", column("length_km", one_known), "length_km is empty in 75 of 76 rows"),
        ("links", column("from_node_id", lambda values: pa.array(["x"] * len(values))), "no node is labelled 'x'"),
        ("links", column("vdf_type", first_null), "vdf_type is empty in 1 of 76 rows"),
        ("links", column("vdf_type", lambda values: pa.array(["x" * 10**6] * len(values))), "vdf_type is 'xx.*known"),
        ("links", column("vdf_type", lambda values: values.dictionary_encode()), "has other columns than"),
        ("links", column("vdf_alpha", first_null), "vdf_alpha is not in exactly the rows whose curve has it"),
        ("links", column("vdf_beta", nulls), "vdf_beta is not in exactly the rows whose curve has it"),
        ("links", column("vdf_beta", negative), "power: positions 0, 1, 2 and 73 more are not usable"),
        ("links", column("vdf_beta", lambda values: values.cast("float32")), "has other columns than"),
        ("links", lambda table: table.drop_columns(["vdf_beta"]), "other parameters than its curves need: vdf_alpha"),
        ("links", lambda table: table.drop_columns(["vdf_type"]), "has other columns than"),
        ("links", lambda table: table.append_column("vdf_gamma", table["vdf_beta"]), "has other columns than"),
        ("links", lambda table: table.select(swapped(table.column_names)), "has other columns than"),
    ],
)
def test_tables_that_do_not_fit_are_refused(
    saved: Path, tmp_path: Path, name: str, change: Change, message: str | None
) -> None:
    place = changed(saved, tmp_path / "out", name, change)
    if message is None:
        assert pr.load_release(place).policy == RELEASE.policy
        return
    with pytest.raises(ReleaseError, match=message):
        pr.load_release(place)


def test_zones_are_what_the_nodes_say(saved: Path, tmp_path: Path) -> None:
    flags = [True] * 20 + [False] * 4
    replace(RELEASE, policy=RELEASE.policy.as_paths()).save(tmp_path / "paths")
    fewer = column("is_zone", lambda _: pa.array(flags))
    place = changed(tmp_path / "paths", tmp_path / "out", "nodes", fewer)
    assert pr.load_release(place).network.zones.tolist() == list(range(20))
    # a policy by origin has a bush for each zone, so it contradicts nodes with fewer
    with pytest.raises(ReleaseError, match="at nodes that are no zones"):
        pr.load_release(changed(saved, tmp_path / "contradicting", "nodes", fewer))


def test_routes_that_contradict_the_policy_are_refused(saved: Path, tmp_path: Path) -> None:
    def halved(values: pa.ChunkedArray) -> pa.Array:
        listed = values.to_pylist()
        several = next(place for place in range(len(listed) - 1) if 0 < listed[place] < 1 and listed[place + 1] < 1)
        listed[several], listed[several + 1] = listed[several + 1], listed[several]
        return pa.array(listed, values.type)

    place = changed(saved, tmp_path / "out", "routes", column("probability", halved))
    with pytest.raises(ReleaseError, match=r"routes.parquet has other routes than policy.arrow|sum to"):
        pr.load_release(place)


def test_a_policy_file_that_is_cut_or_of_another_release_is_refused(saved: Path, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "cut")
    policy = tmp_path / "cut" / "policy.arrow"
    whole = policy.read_bytes()
    for damaged in (whole[:-7], b"", whole[:100] + b"x" + whole[101:]):
        policy.write_bytes(damaged)
        with pytest.raises(ReleaseError, match=r"policy.arrow is not the file that was released"):
            pr.load_release(tmp_path / "cut")
    other = pr.learn(SCENARIO.network, HISTORY, pr.Guarantee(0.1, 1e-6))
    other.save(tmp_path / "other")
    shutil.copy(tmp_path / "other" / "policy.arrow", policy)
    with pytest.raises(ReleaseError, match=r"routes.parquet has other routes than policy.arrow"):
        pr.load_release(signed(tmp_path / "cut", policy))


def test_only_small_policies_are_written_out_as_routes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("privroute.release.files.MOST_WRITTEN_ROUTES", RELEASE.policy.summary().paths - 1)
    RELEASE.save(tmp_path / "large")
    assert not (tmp_path / "large" / "routes.parquet").exists()
    assert pr.load_release(tmp_path / "large").policy == RELEASE.policy
    replace(RELEASE, policy=RELEASE.policy.as_paths()).save(tmp_path / "paths")
    assert (tmp_path / "paths" / "routes.parquet").exists()
    assert pr.load_release(tmp_path / "paths").policy == RELEASE.policy.as_paths()


def test_tables_in_several_parts_read_the_same(saved: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    shutil.copytree(saved, place)
    for path in place.glob("*.parquet"):
        pq.write_table(pq.read_table(path), path, row_group_size=7)
        signed(place, path)
    read = pr.load_release(place)
    assert read.policy == RELEASE.policy
    assert read.demand == RELEASE.demand
    assert np.array_equal(read.noisy_counts, RELEASE.noisy_counts)  # type: ignore[arg-type]


@pytest.mark.parametrize("offset", [2**32, -(2**32), 2**33])
def test_links_that_would_wrap_to_good_ones_are_refused(offset: int) -> None:
    policy = RELEASE.policy.as_paths()
    wrapped = policy.links.astype(np.int64) + offset
    with pytest.raises(PolicyError, match="links has values outside"):
        pr.RoutingPolicy(
            policy.network, policy.pairs, policy.pair_start, policy.path_start, wrapped, policy.probability
        )


@pytest.mark.parametrize("name", ["release.json", "routes.parquet", "policy.arrow"])
def test_what_is_no_regular_file_is_refused_at_once(saved: Path, tmp_path: Path, name: str) -> None:
    place = tmp_path / "out"
    shutil.copytree(saved, place)
    (place / name).unlink()
    os.mkfifo(place / name)
    with pytest.raises(ReleaseError, match="not a regular file"):
        pr.load_release(place)
    (place / name).unlink()
    (place / name).symlink_to("/dev/zero")
    with pytest.raises(ReleaseError, match="not a regular file"):
        pr.load_release(place)


def test_a_manifest_that_is_too_large_is_refused(saved: Path, tmp_path: Path) -> None:
    place = tmp_path / "out"
    shutil.copytree(saved, place)
    with (place / "release.json").open("r+b") as stream:
        stream.truncate(2**40)  # sparse
    with pytest.raises(ReleaseError, match="has more than 16,777,216 bytes"):
        pr.load_release(place)


@pytest.mark.parametrize(
    ("limit", "value", "message"),
    [("_LARGEST_TABLE", 1000, "unpacks to .* bytes"), ("_MOST_VALUES", 500, "values in one column")],
)
def test_tables_that_unpack_to_too_much_are_refused(
    saved: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, message: str
) -> None:
    def never(*_arguments: object, **_options: object) -> None:
        pytest.fail("the table was read")

    monkeypatch.setattr(table_files, limit, value)
    about = pq.ParquetFile(saved / "routes.parquet")
    monkeypatch.setattr(pq.ParquetFile, "read", never)
    with pytest.raises(ReleaseError, match=message):
        table_files._check_layout("routes.parquet", about, table_files._LAYOUTS["routes.parquet"])


@pytest.mark.parametrize(("name", "header"), [("origin", b"\x25"), ("link_ids", b"\x35")])
def test_a_description_that_contradicts_itself_does_not_end_the_process(
    saved: Path, tmp_path: Path, name: str, header: bytes
) -> None:
    """A column that may be empty, described as one that may not: Arrow's statistics of it have another size."""
    place = tmp_path / "out"
    shutil.copytree(saved, place)
    path = place / "routes.parquet"
    rest = b"\x18" + bytes([len(name)]) + name.encode()
    sound = path.read_bytes()
    path.write_bytes(sound.replace(header + b"\x02" + rest, header + b"\x00" + rest))
    assert path.read_bytes() != sound
    with pytest.raises(ReleaseError, match="is not a release that can be read"):
        pr.load_release(signed(place, path))


def test_tables_with_too_many_rows_are_refused(saved: Path, tmp_path: Path) -> None:
    def many(_table: pa.Table) -> pa.Table:
        rows = 2_000_001
        texts = pa.array(["1"]).take(pa.array(np.zeros(rows, dtype=np.int64)))
        none, flags = pa.nulls(rows, pa.float64()), np.zeros(rows, dtype=bool)
        return pa.table({"node_id": texts, "x_coord": none, "y_coord": none, "is_zone": flags, "no_through": flags})

    place = changed(saved, tmp_path / "out", "nodes", many)
    with pytest.raises(ReleaseError, match="has 2,000,001 rows"):
        pr.load_release(place)


def test_each_table_is_opened_once(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was checked is what is parsed, even if somebody changes the file in between."""
    opened: list[str] = []

    def once(path: Path, *, largest: int | None = None) -> bytes:
        opened.append(path.name)
        return read_bytes(path, largest=largest)

    class OnlyBuffers(pq.ParquetFile):  # type: ignore[misc]
        def __init__(self, source: object, **options: object) -> None:
            assert isinstance(source, pa.BufferReader)
            super().__init__(source, **options)

    def mapped_once(path: Path, **options: Any) -> object:
        opened.append(path.name)
        return map_bytes(path, **options)

    for module in (reading, table_files):
        monkeypatch.setattr(module, "read_bytes", once)
    monkeypatch.setattr(table_files, "map_bytes", mapped_once)
    monkeypatch.setattr(pq, "ParquetFile", OnlyBuffers)
    pr.load_release(saved)
    assert sorted(opened) == [
        *("demand.parquet", "links.parquet", "nodes.parquet", "policy.arrow", "release.json", "routes.parquet")
    ]


@pytest.mark.parametrize("rho", [1e-12, 1e-7, 3e-4, 0.02, 0.5, 4.0, 300.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_epsilon_of_rho_is_opendps_from_just_below(rho: float, delta: float) -> None:
    known = rho_to_epsilon(rho, delta)
    found = epsilon_of_rho(rho, delta)
    assert found <= known * (1 + 1e-9)
    assert math.isclose(found, known, rel_tol=1e-6, abs_tol=1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 30.0, 1000.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-2])
def test_every_certificate_that_is_made_reads_back(epsilon: float, delta: float) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LargeDeltaWarning)
        made = pr.learn(SCENARIO.network, HISTORY, pr.Guarantee(epsilon, delta)).certificate
    assert pr.Certificate.from_dict(made.as_dict()) == made
