"""The public networks that the benchmarks use, and how results are printed."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

import privroute as pr

NAMES = ("SiouxFalls", "Anaheim", "ChicagoSketch")


def folder() -> Path:
    """Folder of the TNTP files: PRIVROUTE_TNTP, or `shared/tntp` beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "tntp"
    found = Path(os.environ.get("PRIVROUTE_TNTP", beside))
    if not found.is_dir():
        sys.exit("The public TNTP networks are not on this machine; set PRIVROUTE_TNTP to their folder.")
    return found


def load(name: str, latency: Any = "affine", **options: Any) -> pr.Scenario:
    """Network and demand of a public network."""
    place = folder()
    network = pr.read_tntp(place / f"{name}_net.tntp", latency=latency, **options)
    return pr.Scenario(network, pr.read_tntp_trips(place / f"{name}_trips.tntp", network))


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true", help="print only the result, one JSON object on the last line")
    parser.add_argument("--quick", action="store_true", help="less of it, for a first look")
    return parser


def say(quiet: bool, text: str) -> None:
    """Print a line for people, on standard error so that JSON stays alone."""
    if not quiet:
        print(text, file=sys.stderr, flush=True)


def finish(result: dict[str, Any]) -> None:
    """Print the result as one line of JSON, the last one."""
    print(json.dumps(result))
