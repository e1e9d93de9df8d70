"""The history of benchmarks: one line for each run, and a drawing of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys; sys.path.insert(0, {scripts!r})
from pathlib import Path
import history
folder = Path({folder!r})
for ratio in (1.0, 1.5):
    history.add("one", 'noise\\n{{"ratio_peer": %s, "load": {{"p99_ms": 3, "good": true}}}}' % ratio, folder)
assert [run["result"]["ratio_peer"] for run in history.runs_of("one", folder)] == [1.0, 1.5]
assert history.numbers_of(history.runs_of("one", folder)[0]["result"]) == {{"ratio_peer": 1.0, "load.p99_ms": 3.0}}
history.plot("one", folder / "one.png", [], folder)
"""


def test_runs_are_kept_one_a_line_and_drawn(tmp_path: Path) -> None:
    scripts = Path(__file__).resolve().parents[1] / "benchmarks"
    program = SCRIPT.format(scripts=str(scripts), folder=str(tmp_path))
    subprocess.run([sys.executable, "-c", program], check=True)
    lines = (tmp_path / "one.json").read_text().splitlines()
    assert [set(json.loads(line)) >= {"at", "commit", "python", "cores", "result"} for line in lines] == [True, True]
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")
