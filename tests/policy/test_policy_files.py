"""The file of a policy by origin: read back equal, and whatever is done to its bytes, it is refused or is a policy."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.policy.strategies import bush_policies

import privroute as pr
from privroute.errors import PrivrouteError, ReleaseError
from privroute.release.policy_file import read_policy, write_policy

SCENARIO = pr.sioux_falls()
POLICY = pr.solve_optimum(SCENARIO.network, SCENARIO.demand, gap=1e-6).policy
BACKWARDS = pr.Pairs(SCENARIO.demand.pairs.origin[::-1], SCENARIO.demand.pairs.destination[::-1])
LISTED = pr.solve_optimum(SCENARIO.network, SCENARIO.demand.on(BACKWARDS), gap=1e-6).policy
MUTATIONS = 5_000  # of each of two files
REFUSED = (PrivrouteError, pa.ArrowException, ValueError, OSError, MemoryError)


def written(policy: pr.RoutingPolicy, folder: Path) -> bytes:
    write_policy(folder / "policy.arrow", policy)
    return (folder / "policy.arrow").read_bytes()


@given(policy=bush_policies())
@settings(max_examples=60, deadline=None)
def test_a_policy_reads_back_equal(policy: pr.RoutingPolicy, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = written(policy, tmp_path_factory.mktemp("written"))
    again = read_policy(pa.py_buffer(data), policy.network)
    assert again == policy
    assert all(np.array_equal(again.bushes.arrays()[name], array) for name, array in policy.bushes.arrays().items())


def test_large_arrays_are_the_files_own(tmp_path: Path) -> None:
    data = pa.py_buffer(written(POLICY, tmp_path))
    bushes = read_policy(data, SCENARIO.network).bushes
    for array in (bushes.links, bushes.share):
        address = array.__array_interface__["data"][0]
        assert data.address <= address < data.address + data.size
        assert not array.flags.writeable


def mutated(data: bytes, chance: np.random.Generator) -> bytes:
    """The bytes with one to four changes: another byte, a bit, a run of zeros, a cut, a part twice."""
    found = bytearray(data)
    for _ in range(chance.integers(1, 5)):
        at = int(chance.integers(len(found)))
        match chance.integers(6):
            case 0:
                found[at] = int(chance.integers(256))
            case 1:
                found[at] ^= 1 << int(chance.integers(8))
            case 2:
                found[at : at + 8] = bytes(min(8, len(found) - at))
            case 3:
                del found[at : at + int(chance.integers(1, 64))]
            case 4:
                found[at:at] = found[at : at + int(chance.integers(1, 64))]
            case _:
                found[at : at + 4] = int(chance.integers(-(2**31), 2**31)).to_bytes(4, "little", signed=True)
        if not found:
            break
    return bytes(found)


@pytest.mark.parametrize("policy", [POLICY, LISTED], ids=["every pair", "listed pairs"])
def test_mutated_files_are_refused_or_are_a_policy_and_never_crash(tmp_path: Path, policy: pr.RoutingPolicy) -> None:
    """Past the checksum, which refuses every change: the reader is on its own here."""
    data = written(policy, tmp_path)
    digest = hashlib.sha256(data).digest()
    chance = np.random.default_rng(1)
    refused = read = 0
    for _ in range(MUTATIONS):
        changed = mutated(data, chance)
        assert changed == data or hashlib.sha256(changed).digest() != digest
        try:
            found = read_policy(pa.py_buffer(changed), SCENARIO.network)
        except REFUSED:
            refused += 1
            continue
        read += 1
        # whatever was read is a policy in every respect: written out, its paths pass their own check
        assert found.as_paths().summary().paths == found.summary().paths
    assert refused + read == MUTATIONS
    assert refused > MUTATIONS / 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda batch: batch.drop_columns(["pairs"]), "is not one batch with the columns"),
        (lambda batch: batch.append_column("more", batch.column("origin")), "is not one batch"),
        (lambda batch: batch.slice(1), "has not one bush without destinations for each zone"),
    ],
)
def test_other_tables_are_refused(tmp_path: Path, change: object, message: str) -> None:
    batch = pa.ipc.open_file(pa.py_buffer(written(POLICY, tmp_path))).get_batch(0)
    with pytest.raises(ReleaseError, match=message):
        read_policy(pa.py_buffer(stored(change(batch))), SCENARIO.network)  # type: ignore[operator]


def stored(batch: pa.RecordBatch, options: pa.ipc.IpcWriteOptions | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def test_compressed_files_and_empty_ones_are_refused(tmp_path: Path) -> None:
    batch = pa.ipc.open_file(pa.py_buffer(written(POLICY, tmp_path))).get_batch(0)
    packed = stored(batch, pa.ipc.IpcWriteOptions(compression="zstd"))
    with pytest.raises(ReleaseError, match="is compressed"):
        read_policy(pa.py_buffer(packed), SCENARIO.network)
    with pytest.raises(REFUSED):
        read_policy(pa.py_buffer(b""), SCENARIO.network)


def changed_column(batch: pa.RecordBatch, name: str, values: np.ndarray) -> pa.Buffer:
    column = batch.column(name)
    lists = pa.LargeListArray.from_arrays(column.offsets, pa.array(values, pa.int32()), type=column.type)
    place = batch.schema.names.index(name)
    return pa.py_buffer(stored(batch.set_column(place, batch.schema.field(name), lists)))


def test_pairs_that_stand_twice_or_not_at_all_are_refused(tmp_path: Path) -> None:
    batch = pa.ipc.open_file(pa.py_buffer(written(LISTED, tmp_path))).get_batch(0)
    pairs = batch.column("pairs").values.to_numpy()
    twice = pairs.copy()
    twice[0] = twice[1]
    for values, message in ((twice, "a pair is missing"), (pairs + 1, "outside 0 to")):
        with pytest.raises(ReleaseError, match=message):
            read_policy(changed_column(batch, "pairs", values), SCENARIO.network)


def test_destinations_that_stand_twice_or_are_no_zones_are_refused(tmp_path: Path) -> None:
    batch = pa.ipc.open_file(pa.py_buffer(written(POLICY, tmp_path))).get_batch(0)
    column = batch.column("destinations")
    listed = column.values.to_numpy()
    assert listed.size > 1
    assert not batch.column("pairs").values
    twice, own = listed.copy(), listed.copy()
    several = int(np.argmax(np.diff(column.offsets.to_numpy())))
    first = int(column.offsets[several].as_py())
    twice[first] = twice[first + 1]
    own[first] = batch.column("origin")[several].as_py()
    for values, message in (
        (twice, "stands in two bushes"),
        (own, "its own origin"),
        (listed + 100, "no zones"),
        (-listed - 1, "no zones"),
    ):
        with pytest.raises(ReleaseError, match=message):
            read_policy(changed_column(batch, "destinations", values), SCENARIO.network)
