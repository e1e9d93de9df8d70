"""Runs of SUMO's mesoscopic model, with the programs of the PyPI package eclipse-sumo.

Vehicles on routes keep them. Without routes they navigate: each asks for the fastest way by the travel times of the
moment when it departs and once a minute afterwards. Times count from the wish to depart, so that waiting for a place on
a full first road is included.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from privroute.errors import MissingExtraError, PrivrouteError
from privroute.handover.fleet import Simulated
from privroute.handover.sumo import write_sumo_network

if TYPE_CHECKING:
    from privroute.handover.fleet import Fleet
    from privroute.network.network import Network
    from privroute.network.pairs import Pairs

__all__ = ["SumoError", "make_sumo_network", "run_sumo", "sumo_program"]

_REROUTING = {
    "junction-taz": "true",  # trips begin and end at junctions
    "device.rerouting.probability": "1",
    "device.rerouting.period": "60",
    "device.rerouting.adaptation-interval": "10",
    "device.rerouting.adaptation-steps": "18",
}


class SumoError(PrivrouteError):
    """SUMO could not run what it was given."""


def sumo_program(name: str) -> Path:
    """Path of a program of SUMO: "sumo" or "netconvert"."""
    try:
        import sumo  # noqa: PLC0415 - an optional package
    except ImportError:
        raise MissingExtraError("eclipse-sumo", "sumo", "simulating with SUMO") from None
    return Path(sumo.SUMO_HOME) / "bin" / name


def run_sumo(network: Network, pairs: Pairs, fleet: Fleet, routes: list[list[int]] | None, end_min: float) -> Simulated:
    """Simulate a fleet on its routes; None: reactive navigation."""
    with tempfile.TemporaryDirectory(prefix="privroute-sumo-") as name:
        folder = Path(name)
        make_sumo_network(network, folder)
        _write_vehicles(folder / "vehicles.rou.xml", pairs, fleet, routes)
        options = {
            "net-file": "network.net.xml",
            "route-files": "vehicles.rou.xml",
            "begin": "0",
            "end": f"{end_min * 60.0:.0f}",
            "mesosim": "true",
            "seed": str(fleet.seed),
            "time-to-teleport": "-1",  # queues stay queues
            "tripinfo-output": "trips.xml",
            "no-step-log": "true",
            **(_REROUTING if routes is None else {}),
        }
        command = [str(sumo_program("sumo"))]
        for option, value in options.items():
            command += [f"--{option}", value]
        _run(command, folder)
        seconds, arrived = 0.0, 0
        for _, element in ET.iterparse(folder / "trips.xml"):  # noqa: S314 - SUMO wrote it just now
            if element.tag == "tripinfo":
                seconds += float(element.get("duration", "0")) + float(element.get("departDelay", "0"))
                arrived += 1
                element.clear()
    return Simulated(
        mean_min=seconds / max(arrived, 1) / 60.0,
        completed=arrived / max(fleet.vehicles, 1),
        vehicles=fleet.vehicles,
    )


def make_sumo_network(network: Network, folder: Path) -> Path:
    """Write the plain files of a network and let netconvert make network.net.xml of them."""
    write_sumo_network(network, folder)
    _run([str(sumo_program("netconvert")), "-c", "network.netccfg"], folder)
    return folder / "network.net.xml"


def _write_vehicles(path: Path, pairs: Pairs, fleet: Fleet, routes: list[list[int]] | None) -> None:
    """Each unit as its vehicles, which depart together."""
    with path.open("w", encoding="utf-8") as stream:
        stream.write("<routes>\n")
        for unit, (pair, second) in enumerate(zip(fleet.pair.tolist(), fleet.departure_s.tolist(), strict=True)):
            for vehicle in range(fleet.platoon):
                name = f'id="{unit}.{vehicle}" depart="{second:.2f}" departLane="best" departSpeed="max"'
                if routes is None:
                    ends = f'fromJunction="n{pairs.origin[pair]}" toJunction="n{pairs.destination[pair]}"'
                    stream.write(f"<trip {name} {ends}/>\n")
                else:
                    edges = " ".join(f"e{link}" for link in routes[unit])
                    stream.write(f'<vehicle {name}><route edges="{edges}"/></vehicle>\n')
        stream.write("</routes>\n")


def _run(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own
    if done.returncode != 0:
        program = Path(command[0]).name
        raise SumoError(f"{program} failed: {done.stderr.strip()[-500:] or 'without a message'}")
