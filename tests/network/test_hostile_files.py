"""Ten thousand damaged files: the readers raise nothing but the package's own errors, and each says where."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.network.test_other_formats import LINKS, NODES
from tests.network.test_tntp import NET, TRIPS

import privroute as pr

CASES_PER_READER = 1_700
ODD = [b"\x00", b"\xff", b"\xef\xbb\xbf", b"\xe9", b"-", b"nan", b"inf", b"1e308", b"1e-320", b"9" * 30, b'"', b"\t"]
ODD += [b";", b",", b":", b"~", b"<", b">", b"\r", b"\n", b" ", "１".encode(), "∞".encode(), b"0x1F", b"1_0", b"."]
DAILY = "date,origin,destination,trips\n" + "".join(
    f"2026-03-0{d},{o},{3 - o},{d * o}\n" for d in (1, 2) for o in (1, 2)
)
SQUARE = "zone,1,2\n1,0,5\n2,7,0\n"
LONG = "origin,destination,trips\n1,2,5\n2,1,7.5\n"


def damaged(text: str, chance: random.Random) -> bytes:
    """Cut, shuffle, splice, overwrite, or replace a file's bytes."""
    data = text.encode()
    for _ in range(chance.randint(1, 4)):
        kind = chance.randrange(9)
        at = chance.randrange(len(data) + 1)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            lines = data.splitlines(keepends=True)
            chance.shuffle(lines)
            data = b"".join(lines)
        elif kind == 2:
            data = data[:at] + chance.choice(ODD) + data[at:]
        elif kind == 3:
            data = data[:at] + chance.choice(ODD) + data[at + chance.randint(1, 6) :]
        elif kind == 4:
            data = data[:at] + chance.randbytes(chance.randint(1, 30)) + data[at:]
        elif kind == 5:
            data = data.decode("utf-8", "replace").encode(
                chance.choice(["utf-16", "utf-32", "cp500", "utf-8-sig"]), "replace"
            )
        elif kind == 6:
            end = chance.randrange(len(data) + 1)
            data = data[: min(at, end)] + data[max(at, end) :]
        elif kind == 7:
            data = shuffled_columns(data, chance)
        else:
            data = data + data[at:]
    return data if chance.random() < 0.97 else chance.randbytes(chance.randint(0, 300))


def shuffled_columns(data: bytes, chance: random.Random) -> bytes:
    """The columns of a table in another order, and some rows cut short."""
    rows = [line.split(b",") for line in data.split(b"\n")]
    order = chance.sample(range(len(rows[0])), len(rows[0]))
    moved = [[row[at] for at in order if at < len(row)] for row in rows]
    return b"\n".join(b",".join(row[: chance.choice([None, None, None, -1])]) for row in moved)


def two_zones(folder: Path) -> pr.Network:
    (folder / "net.tntp").write_text(NET)
    return pr.read_tntp(folder / "net.tntp")


def read_gmns_with(folder: Path, damaged_file: str, path: Path) -> object:
    (folder / "node.csv").write_text(NODES)
    (folder / "link.csv").write_text(LINKS)
    path.replace(folder / damaged_file)
    return pr.read_gmns(folder)


READERS: dict[str, tuple[str, Callable[[Path, Path], object]]] = {
    "tntp network": (NET, lambda _, path: pr.read_tntp(path)),
    "tntp trips": (TRIPS, lambda folder, path: pr.read_tntp_trips(path, two_zones(folder))),
    "gmns links": (LINKS, lambda folder, path: read_gmns_with(folder, "link.csv", path)),
    "gmns nodes": (NODES, lambda folder, path: read_gmns_with(folder, "node.csv", path)),
    "csv long": (LONG, lambda folder, path: pr.read_od_csv(path, two_zones(folder))),
    "csv square": (SQUARE, lambda folder, path: pr.read_od_csv(path, two_zones(folder))),
    "daily counts": (
        DAILY,
        lambda folder, path: pr.read_daily_od(path, two_zones(folder), dates=("2026-03-01", "2026-03-02")),
    ),
}


@pytest.mark.parametrize("reader", READERS)
def test_damaged_files_raise_only_the_packages_errors(tmp_path: Path, reader: str) -> None:
    text, read = READERS[reader]
    path = tmp_path / "damaged.file"
    path.write_text(text)
    read(tmp_path, path)  # undamaged, it reads
    chance = random.Random(reader)  # noqa: S311 - a reproducible search
    refused = 0
    for _ in range(CASES_PER_READER):
        path.write_bytes(damaged(text, chance))
        try:
            read(tmp_path, path)
        except pr.PrivrouteError as problem:
            refused += 1
            message = str(problem)
            assert str(tmp_path) in message or "no path leads" in message, message
            assert len(message) < 700, message
    assert refused > CASES_PER_READER / 3


def test_damaged_open_matrices_raise_only_the_packages_errors(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    network = two_zones(tmp_path)
    path = tmp_path / "od.omx"
    with h5py.File(path, "w") as file:
        file["data/m"] = [[0.0, 5.0], [7.0, 0.0]]
        file["lookup/zone"] = [1, 2]
    whole = path.read_bytes()
    chance = random.Random(5)  # noqa: S311 - a reproducible search
    for _ in range(300):
        at = chance.randrange(len(whole))
        cut = whole[:at] if chance.random() < 0.5 else whole[:at] + chance.randbytes(8) + whole[at + 8 :]
        path.write_bytes(cut)
        try:
            pr.read_omx(path, network)
        except pr.PrivrouteError as problem:
            assert str(path) in str(problem)  # noqa: PT017 - most damaged files are refused, some still read
