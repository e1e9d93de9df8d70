"""Rows that were spilled by a process that was killed are removed at the next start, and those of others are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from privroute.history.spill_folder import spill_folder

_HOLD = """
import sys, time
from pathlib import Path
from privroute.history.spill_folder import spill_folder
with spill_folder(Path(sys.argv[1])) as folder:
    (folder / "spill").mkdir()
    (folder / "spill" / "rows").write_text("Ada Lovelace")
    print(folder, flush=True)
    time.sleep(60)
"""


def test_folders_of_killed_processes_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    held = [subprocess.Popen([sys.executable, "-c", _HOLD, tmp_path], stdout=subprocess.PIPE) for _ in range(2)]
    try:
        folders = [Path(one.stdout.readline().decode().strip()) for one in held if one.stdout is not None]
        assert all((folder / "spill" / "rows").exists() for folder in folders)
        held[0].kill()
        held[0].wait()
        assert folders[0].exists()  # nobody has started since
        with spill_folder(tmp_path) as own:
            assert not folders[0].exists()
            assert (folders[1] / "spill" / "rows").exists()
            assert own.stat().st_mode & 0o777 == 0o700
        assert list(tmp_path.iterdir()) == [folders[1]]
    finally:
        for one in held:
            one.kill()
            one.communicate()


def test_what_only_looks_like_a_spill_folder_stays(tmp_path: Path) -> None:
    kept, new, linked = (tmp_path / name for name in ("kept", "privroute-trips-new", "privroute-trips-linked"))
    for folder in (kept, new, linked):  # new has no lock
        folder.mkdir()
    (kept / "lock").touch()
    (linked / "lock").symlink_to(kept / "lock")
    (tmp_path / "privroute-trips-link").symlink_to(kept)
    (tmp_path / "privroute-trips-file").touch()
    before = sorted(tmp_path.rglob("*"))
    with spill_folder(tmp_path):
        pass
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_is_removed_where_its_reading_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), spill_folder(tmp_path) as folder:
        (folder / "rows").touch()
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())
