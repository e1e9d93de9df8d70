"""SUMO loads what is written, without a warning, and drives it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import privroute as pr
from privroute.handover.export import FILES, hand_over
from privroute.simulation.sumo_engine import sumo_program

if os.environ.get("CI") != "true":  # SUMO is large: under CI=true it must be there
    pytest.importorskip("sumo", reason="SUMO: no eclipse-sumo; CI=true installs it")


def sumo(program: str, folder: Path, *options: str) -> str:
    """Run a program of SUMO; what it says on the error stream is a warning or an error."""
    done = subprocess.run(
        [str(sumo_program(program)), *options], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("kind", ["release", "odd"])
def test_sumo_loads_network_and_routes_without_a_warning(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    found: pr.Release = request.getfixturevalue(kind)
    assert [path.name for path in hand_over(found, tmp_path, "sumo")] == list(FILES["sumo"])
    sumo("netconvert", tmp_path, "-c", "network.netccfg")
    sumo("sumo", tmp_path, "-c", "simulation.sumocfg", "--no-step-log", "--tripinfo-output", "trips.xml")
    assert found.demand is not None
    expected = found.demand.total_per_min * 60
    arrived = len(ET.parse(tmp_path / "trips.xml").findall("tripinfo"))  # noqa: S314 - SUMO wrote it
    assert arrived == pytest.approx(expected, abs=6 * np.sqrt(expected))


def test_sumolib_reads_the_network_with_lengths_speeds_and_names(release: pr.Release, tmp_path: Path) -> None:
    sumolib = pytest.importorskip("sumolib")
    hand_over(release, tmp_path, "sumo")
    sumo("netconvert", tmp_path, "-c", "network.netccfg")
    net = sumolib.net.readNet(str(tmp_path / "network.net.xml"))
    network = release.network
    assert len(net.getNodes()) == network.nodes
    for link in range(network.links):
        edge = net.getEdge(f"e{link}")
        assert (edge.getFromNode().getID(), edge.getToNode().getID()) == (
            f"n{network.tail[link]}",
            f"n{network.head[link]}",
        )
        assert edge.getLength() / edge.getSpeed() / 60 == pytest.approx(network.free_flow_min[link], rel=1e-2)
        assert edge.getName() == str(network.link_labels[link])


def test_distributions_have_the_probabilities_of_the_policy(release: pr.Release, tmp_path: Path) -> None:
    hand_over(release, tmp_path, "sumo")
    root = ET.parse(tmp_path / "routes.rou.xml").getroot()  # noqa: S314 - written just now
    policy, network = release.policy, release.network
    distributions = {element.get("id"): element for element in root.findall("routeDistribution")}
    flows = root.findall("flow")
    assert release.demand is not None
    busy = np.flatnonzero(release.demand.rate_per_min > 0)
    assert list(distributions) == [f"p{pair}" for pair in busy]
    assert [flow.get("route") for flow in flows] == list(distributions)
    for pair in busy[::41].tolist():
        ends = [network.node_labels[node] for node in (policy.pairs.origin[pair], policy.pairs.destination[pair])]
        routes = policy.routes(*ends)
        written = distributions[f"p{pair}"].findall("route")
        assert [each.get("edges") for each in written] == [" ".join(f"e{e}" for e in r.links) for r in routes]
        assert [float(each.get("probability", "")) for each in written] == pytest.approx(
            [route.probability for route in routes]
        )
