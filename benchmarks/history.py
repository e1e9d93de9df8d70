"""Keeps results of benchmarks and draws how they change: one file for each benchmark, one line for each run.

python benchmarks/serve.py --json | python benchmarks/history.py add serve
python benchmarks/history.py plot serve --out serve.png
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).with_name("history")


def numbers_of(value: Any, name: str = "") -> dict[str, float]:
    """Every number of a result by its path: load.p99_ms."""
    if isinstance(value, bool) or value is None:
        return {}
    if isinstance(value, int | float):
        return {name: float(value)}
    if isinstance(value, dict):
        inner = [numbers_of(one, f"{name}.{key}" if name else str(key)) for key, one in value.items()]
        return {key: number for one in inner for key, number in one.items()}
    return {}


def add(name: str, text: str, folder: Path = FOLDER) -> Path:
    """Append the result on the last line of a benchmark's output, with what is needed to compare it."""
    lines = text.strip().splitlines()
    if not lines:
        raise SystemExit("there is no result to add")
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    known = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - our own repository
    row = {
        "at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "commit": known.stdout.strip(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "result": json.loads(lines[-1]),
    }
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.json"
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
    return path


def runs_of(name: str, folder: Path = FOLDER) -> list[dict[str, Any]]:
    """All runs of a benchmark, the oldest first."""
    path = folder / f"{name}.json"
    if not path.exists():
        raise SystemExit(f"there are no runs of {name} yet; add one: python benchmarks/history.py add {name}")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def plot(name: str, out: Path, chosen: list[str], folder: Path = FOLDER) -> None:
    """Draw numbers of all runs, each relative to its first value."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    mpl.use("agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415

    rows = [numbers_of(run["result"]) for run in runs_of(name, folder)]
    names = chosen or sorted({key for row in rows for key in row if "ratio" in key}) or sorted(rows[-1])[:8]
    figure, axes = plt.subplots(figsize=(9, 5))
    for key in names:
        points = [(place, row[key]) for place, row in enumerate(rows, start=1) if key in row]
        if points and points[0][1]:
            axes.plot([place for place, _ in points], [value / points[0][1] for _, value in points], "o-", label=key)
    axes.set(xlabel="run", ylabel="relative to the first run", title=name)
    axes.legend()
    figure.savefig(out, dpi=120)
    plt.close(figure)


def main() -> None:
    """Add the result on standard input, or draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["add", "plot"])
    parser.add_argument("name", help="of the benchmark, such as serve")
    parser.add_argument("--out", type=Path, default=Path("history.png"))
    parser.add_argument("--only", action="append", default=[], help="a number to draw, such as load.p99_ms")
    options = parser.parse_args()
    if options.what == "add":
        print(add(options.name, sys.stdin.read()))
    else:
        plot(options.name, options.out, options.only)
        print(options.out)


if __name__ == "__main__":
    main()
