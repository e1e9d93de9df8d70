"""Files are read with care for what they may be, and written whole or not at all."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import privroute as pr
from privroute.errors import FormatError
from privroute.network import text_files
from privroute.network.text_files import read_text, write_whole

NETWORK = pr.sioux_falls().network


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        read_text(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    script = "import sys; from privroute.network.text_files import read_text; read_text(sys.argv[1])"
    command = [
        sys.executable,
        "-c",
        script,
        str(tmp_path / "pipe"),
    ]  # apart from the tests: without care it waits for ever
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "FormatError" in done.stderr
    assert "cannot be read (not a regular file)" in done.stderr


def test_size_is_what_is_read_not_what_the_file_system_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "LARGEST_FILE_BYTES", 20)
    path = tmp_path / "x"
    path.write_bytes(b"a" * 20)
    assert read_text(path) == "a" * 20
    path.write_bytes(b"a" * 21)
    with pytest.raises(FormatError, match="more than 20 bytes"):
        read_text(path)
    endless = Path("/proc/self/status")  # the system says it has 0 bytes
    if endless.exists():
        with pytest.raises(FormatError, match="more than 20 bytes"):
            read_text(endless)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_have_the_mode_of_the_umask_or_of_the_file_before(tmp_path: Path) -> None:
    path = tmp_path / "x"
    before = os.umask(0o027)
    try:
        with write_whole(path) as stream:
            stream.write("new")
        assert mode(path) == 0o640
        path.chmod(0o604)
        with write_whole(path) as stream:
            stream.write("newer")
    finally:
        os.umask(before)
    assert mode(path) == 0o604
    assert path.read_text() == "newer"


def test_links_are_followed_to_their_target(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "target")
    for text in ("made", "replaced"):
        with write_whole(tmp_path / "link") as stream:
            stream.write(text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder" / "target").read_text() == text


@pytest.mark.parametrize("kind", ["folder", "pipe", "loop", "NUL", "long"])
def test_what_is_no_file_is_not_replaced(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case "loop":
            path.symlink_to(path)
        case "NUL":
            path = tmp_path / "a\0b"
        case "long":
            path = tmp_path / ("x" * 300)
    present = sorted(tmp_path.iterdir())
    with pytest.raises(FormatError), write_whole(path) as stream:
        stream.write("text")
    assert sorted(tmp_path.iterdir()) == present


def test_a_long_name_can_be_written(tmp_path: Path) -> None:
    with write_whole(tmp_path / ("x" * 255)) as stream:
        stream.write("text")
    assert (tmp_path / ("x" * 255)).read_text() == "text"


def fail(*_: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("part", ["fsync", "text"])
def test_a_failure_while_writing_is_a_format_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    if part == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(FormatError, match="cannot be written"), write_whole(tmp_path / "x") as stream:
        stream.write("\udcff" if part == "text" else "text")
    assert list(tmp_path.iterdir()) == []


def test_the_packages_own_errors_pass_through(tmp_path: Path) -> None:
    refusal = pr.PrivrouteError("as it is")
    with pytest.raises(pr.PrivrouteError) as refused, write_whole(tmp_path / "x"):
        raise refusal
    assert refused.value is refusal


@pytest.mark.parametrize("failing", [1, 2, 3])
def test_gmns_files_are_replaced_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    pr.write_gmns(NETWORK, tmp_path)
    kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    calls = iter(range(1, 100))

    def full_disk(_: int) -> None:
        if next(calls) == failing:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(FormatError, match="No space left"):
        pr.write_gmns(NETWORK.with_latency("bpr", b=7.0), tmp_path)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == kept


def test_gmns_files_stay_where_one_of_them_cannot_be_replaced(tmp_path: Path) -> None:
    pr.write_gmns(NETWORK, tmp_path)
    node = (tmp_path / "node.csv").read_bytes()
    (tmp_path / "link.csv").unlink()
    (tmp_path / "link.csv").mkdir()
    with pytest.raises(FormatError, match="link.csv: is not a regular file"):
        pr.write_gmns(pr.Network([0], [1], pr.Latency.affine([1.0], 1.0), [1, 2]), tmp_path)
    assert (tmp_path / "node.csv").read_bytes() == node
