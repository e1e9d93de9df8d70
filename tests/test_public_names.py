"""The public names are explicit, sorted, loadable, and cheap to import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import privroute as pr

HEAVY = {
    "matplotlib",
    "duckdb",
    "fastapi",
    "uvicorn",
    "h5py",
    "networkx",
    "pyarrow",
    "opendp",
    "scipy",
    "typer",
    "rich",
}


def test_each_name_has_a_home() -> None:
    assert len(set(pr.__all__)) == len(pr.__all__)
    assert set(pr.__all__) == set(pr._HOME)
    assert set(dir(pr)) == {*pr.__all__, "__version__"}


@pytest.mark.parametrize("name", pr.__all__)
def test_each_name_loads_and_is_documented(name: str) -> None:
    assert name == "ROAD_CLASSES" or getattr(pr, name).__doc__  # a table, described in its module and the docs


def test_exported_names_are_the_documented_ones() -> None:
    assert sorted(pr.__all__) == [
        "Approval",
        "Calendar",
        "Certificate",
        "Contribution",
        "Counts",
        "Daily",
        "Demand",
        "DemandHistory",
        "Frame",
        "Guarantee",
        "Latency",
        "Layered",
        "Ledger",
        "LineOptions",
        "Minimiser",
        "Network",
        "Pairs",
        "PrivrouteError",
        "Projection",
        "ROAD_CLASSES",
        "RegularisedOptimum",
        "Release",
        "RoadClass",
        "Route",
        "RoutingPolicy",
        "Scenario",
        "Sgd",
        "Solution",
        "Source",
        "Stream",
        "Streets",
        "Study",
        "TravelTimes",
        "TripFormat",
        "Units",
        "ZoneAreas",
        "check_tolls",
        "compliance_curve",
        "decompose",
        "demand_from_matrix",
        "draw_network",
        "fairness_curve",
        "free_flow_minutes",
        "from_networkx",
        "gravity_demand",
        "hand_over",
        "inspect_network",
        "learn",
        "load_release",
        "marginal_tolls",
        "minimise_regularised",
        "project",
        "read_counts",
        "read_daily_od",
        "read_gmns",
        "read_network",
        "read_od_csv",
        "read_omx",
        "read_sndlib",
        "read_sndlib_demands",
        "read_tntp",
        "read_tntp_trips",
        "read_topology_zoo",
        "read_trips",
        "reroute",
        "select_link",
        "sign_release",
        "simulate",
        "simulate_days",
        "sioux_falls",
        "solve_equilibrium",
        "solve_optimum",
        "theory",
        "to_networkx",
        "to_uxsim",
        "total_travel_time",
        "travel_times",
        "unfairness",
        "volume_over_capacity",
        "who_loses",
        "with_grid",
        "with_tolls",
        "with_zones",
        "write_geojson",
        "write_gmns",
    ]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pr.nothing  # noqa: B018 - the access is the test


def loaded_after(statement: str) -> set[str]:
    script = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_import_privroute_loads_nothing_heavy() -> None:
    loaded = loaded_after("import privroute")
    assert not {name for name in loaded if name.partition(".")[0] in HEAVY | {"numpy"}}
    assert {name for name in loaded if name.startswith("privroute.")} == set()


def test_sioux_falls_needs_only_numpy_and_never_the_private_side() -> None:
    loaded = loaded_after("import privroute; privroute.sioux_falls()")
    assert not {name for name in loaded if name.partition(".")[0] in HEAVY}
    assert not {name for name in loaded if name.startswith("privroute.history")}


def test_the_theorems_need_neither_noise_nor_histories() -> None:
    loaded = loaded_after("import privroute; privroute.theory")
    assert not {name for name in loaded if name.partition(".")[0] in HEAVY}
    assert not {name for name in loaded if name.startswith(("privroute.history", "privroute.privacy"))}


def test_the_library_loads_neither_rich_nor_typer(tmp_path: Path) -> None:
    """Learning, reading a release and the web service: all of them without what the command line draws with."""
    learned = (
        "import privroute as pr, numpy as np; "
        "n = pr.Network([0, 1], [1, 0], pr.Latency.affine([1.0, 1.0], 10.0), ['a', 'b']); "
        "h = pr.DemandHistory(pr.Pairs([0], [1]), np.array([[3], [4]]), period_min=60); "
        "pr.solve_equilibrium(n, h.mean); "
        f"pr.learn(n, h, pr.Guarantee(1.0, 1e-6)).save({str(tmp_path / 'out')!r}); "
        f"pr.load_release({str(tmp_path / 'out')!r}); "
        "import privroute.serve.app, privroute.history.trips, privroute.experiments.registry, privroute.evaluate.plan"
    )
    loaded = loaded_after(learned)
    assert {"privroute.mechanism.learn", "privroute.serve.app", "fastapi"} <= loaded
    assert not {name for name in loaded if name.partition(".")[0] in {"rich", "typer"}}
