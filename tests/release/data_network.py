"""A release of a data network, for the tests of its words: Mbit/s and ms."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np

import privroute as pr

NODES = {"A": (0.0, 50.0), "B": (2.8, 50.0), "C": (1.4, 51.0), "D": (1.4, 49.0)}
LINKS = (("A", "B", 1000.0), ("B", "C", 622.0), ("A", "C", 622.0), ("A", "D", 1000.0), ("D", "B", 1000.0))
DAYS, WEIGHT_MBIT = 5, 100.0

ROAD_WORDS = re.compile(
    r"\b(vehicles?|vehicle-hours|veh|trips?|roads?|streets?|drivers?|driv(?:e|es|ing)|travel\w*|minutes?|min|hours?/h)\b"
    r"|\bper hour\b|/ h\b",
    re.IGNORECASE,
)
"""What no screen of a data network says."""


def native(folder: Path) -> Path:
    """The network and a demand in SNDlib's native format."""
    places = "\n".join(f"  {name} ( {x} {y} )" for name, (x, y) in NODES.items())
    lines = "\n".join(f"  {a}_{b} ( {a} {b} ) {mbps} 0.00 0.00 0.00 ( )" for a, b, mbps in LINKS)
    demands = "\n".join(
        f"  {a}_{b} ( {a} {b} ) 1 {mbps} UNLIMITED" for a, b, mbps in (("A", "B", 900.0), ("C", "D", 80.0))
    )
    path = folder / "small.txt"
    path.write_text(
        f"?SNDlib native format; type: network; version: 1.0\nNODES (\n{places}\n)\nLINKS (\n{lines}\n)\n"
        f"DEMANDS (\n{demands}\n)\n"
    )
    return path


def transfers(folder: Path, seed: int = 3) -> Path:
    """Transfers with sizes in Mbit, of which A to B has more than one line carries."""
    chance = np.random.default_rng(seed)
    path = folder / "transfers.csv"
    with path.open("w") as stream:
        rows = csv.writer(stream)
        rows.writerow(["departure", "origin", "destination", "mbit"])
        for day in range(DAYS):
            for a in NODES:
                for b in NODES:
                    if a != b:
                        for _ in range(120 if (a, b) == ("A", "B") else 24):
                            moment = f"2026-03-{2 + day:02} {15 + chance.integers(2)}:{chance.integers(60):02}:00"
                            rows.writerow([moment, a, b, f"{chance.uniform(4e3, 6e4):.1f}"])
    return path


STUDY = """
[network]
source = "small.txt"
packet_bytes = 125000

[calendar]
from = 2026-03-02
to = 2026-03-06
periods = ["15:00-16:00"]

[unit]
max_weight = 600

[data]
expansion = 100.0

[guarantee]
epsilon = 5.0
delta = 1e-6

[trips]
weight = "mbit"
weight_unit = 100.0
"""


def study(folder: Path, more: str = "") -> Path:
    """A study file beside the network."""
    native(folder)
    path = folder / "study.toml"
    path.write_text(STUDY + more)
    return path


def learned(folder: Path, periods: tuple[str, ...] = ("15:00-16:00", "16:00-17:00")) -> pr.Release:
    """A private release from these transfers."""
    chosen = pr.Study.load(study(folder), {"calendar.periods": list(periods)})
    return pr.learn(chosen, pr.read_trips(transfers(folder), chosen, report=lambda _: None))


def odd_words(text: str) -> list[str]:
    """Words of roads in a text, with what surrounds them."""
    return [text[max(0, found.start() - 40) : found.end() + 40] for found in ROAD_WORDS.finditer(text)]
