"""The release folder: whole or not there, the same when read back, refused when damaged."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from tests.network.curve_cases import Quadratic
from tests.policy.strategies import unit_flows
from tests.release.certificates import for_policy

import privroute as pr
from privroute.errors import LargeDeltaWarning, ReleaseError
from privroute.network.curves import CURVES
from privroute.release.folder import exchanged
from privroute.release.release import Release

SCENARIO = pr.sioux_falls()
HISTORY = pr.simulate_days(SCENARIO.demand, days=3, seed=1)
RELEASE = pr.learn(SCENARIO.network, HISTORY, pr.Guarantee(1.0, 1e-6))
FILES = {"release.json", "nodes.parquet", "links.parquet", "policy.arrow", "routes.parquet", "demand.parquet"}


def same(one: Release, two: Release) -> bool:
    return (
        one.policy == two.policy
        and one.demand == two.demand
        and one.certificate == two.certificate
        and np.array_equal(one.noisy_counts, two.noisy_counts)  # type: ignore[arg-type]
    )


def test_a_release_reads_back_the_same(tmp_path: Path) -> None:
    RELEASE.save(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == FILES
    assert same(pr.load_release(tmp_path / "out"), RELEASE)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@given(unit_flows())
@settings(max_examples=40)
def test_any_network_and_policy_survive(case: Any) -> None:
    network, pairs, flows = case
    policy = pr.decompose(network, pairs, flows)
    release = Release(policy, for_policy(RELEASE.certificate, policy))
    with tempfile.TemporaryDirectory() as folder:
        release.save(Path(folder) / "out")
        read = pr.load_release(Path(folder) / "out")
    assert read.policy == policy
    assert read.demand is None
    assert read.noisy_counts is None


def test_links_that_differ_in_curve_survive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CURVES, "quadratic", Quadratic())
    rows = [[0.15, 4.0], [1.0, 0.1, 2.0], [1.0, 1.0]]
    latency = pr.Latency.by_link([1.0, 2.0, 3.0], 1.0, ["bpr", "quadratic", "bpr"], rows)
    network = pr.Network([0, 0, 1], [1, 1, 0], latency, ["a", "b"])
    policy = pr.RoutingPolicy(network, pr.Pairs([0], [1]), [0, 2], [0, 1, 2], [0, 1], [0.5, 0.5])
    Release(policy, for_policy(RELEASE.certificate, policy)).save(tmp_path / "out")
    assert pr.load_release(tmp_path / "out").policy == policy
    table = pq.read_table(tmp_path / "out" / "links.parquet").to_pydict()
    assert table["vdf_type"] == ["bpr", "quadratic", "bpr"]
    assert table["vdf_alpha"] == [0.15, 0.1, 1.0]
    assert table["vdf_beta"] == [4.0, None, 1.0]
    monkeypatch.delitem(CURVES, "quadratic")
    with pytest.raises(ReleaseError, match="has other columns than"):
        pr.load_release(tmp_path / "out")


def test_tables_open_with_gmns_names_and_negative_counts(tmp_path: Path) -> None:
    counts = np.arange(len(RELEASE.policy.pairs)) - 3
    replace(RELEASE, noisy_counts=counts).save(tmp_path / "out")
    routes = pq.read_table(tmp_path / "out" / "routes.parquet")
    assert routes.column_names == ["origin", "destination", "route", "probability", "link_ids"]
    demand = pq.read_table(tmp_path / "out" / "demand.parquet").to_pydict()
    assert demand["noisy_count"] == counts.tolist()
    assert min(demand["rate_per_min"]) >= 0
    assert {"node_id", "x_coord", "y_coord"} <= set(pq.read_table(tmp_path / "out" / "nodes.parquet").column_names)
    assert {"link_id", "from_node_id", "to_node_id"} <= set(
        pq.read_table(tmp_path / "out" / "links.parquet").column_names
    )


def test_what_is_not_private_is_not_saved_unless_asked(tmp_path: Path) -> None:
    bare = pr.learn(SCENARIO.network, HISTORY, mechanism="none")
    with pytest.raises(ReleaseError, match="NOT PRIVATE .*allow_not_private=True"):
        bare.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    bare.save(tmp_path / "out", allow_not_private=True)
    read = pr.load_release(tmp_path / "out")
    assert not read.certificate.private
    assert json.loads((tmp_path / "out" / "release.json").read_text())["certificate"]["private"] is False


def test_nothing_is_overwritten_by_accident(tmp_path: Path) -> None:
    RELEASE.save(tmp_path / "out")
    with pytest.raises(ReleaseError, match="is not empty"):
        RELEASE.save(tmp_path / "out")
    RELEASE.save(tmp_path / "out", overwrite=True)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(ReleaseError, match="contains other files"):
        RELEASE.save(tmp_path / "mine", overwrite=True)
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "years of work"
    (tmp_path / "file").write_text("x")
    with pytest.raises(ReleaseError, match="not a folder"):
        RELEASE.save(tmp_path / "file", overwrite=True)


@pytest.mark.parametrize("other", ["notes.txt", ".hidden", "routes.csv"])
def test_a_release_with_other_files_beside_it_is_not_replaced(tmp_path: Path, other: str) -> None:
    RELEASE.save(tmp_path / "out")
    (tmp_path / "out" / other).write_text("years of work")
    with pytest.raises(ReleaseError, match="contains other files"):
        RELEASE.save(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / other).read_text() == "years of work"


def test_a_folder_with_the_name_of_a_table_is_not_replaced(tmp_path: Path) -> None:
    RELEASE.save(tmp_path / "out")
    (tmp_path / "out" / "demand.parquet").unlink()
    (tmp_path / "out" / "demand.parquet").mkdir()
    (tmp_path / "out" / "demand.parquet" / "thesis.txt").write_text("years of work")
    with pytest.raises(ReleaseError, match="contains other files"):
        RELEASE.save(tmp_path / "out", overwrite=True)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="exchange of folders: on Linux only")
def test_a_release_is_replaced_in_one_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No moment without a release: whatever is renamed, the place has one before and after."""
    RELEASE.save(tmp_path / "out")
    rename, seen = Path.replace, []

    def watched(self: Path, target: Path) -> Path:
        seen.append((tmp_path / "out" / "release.json").exists())
        found = rename(self, target)
        seen.append((tmp_path / "out" / "release.json").exists())
        return found

    monkeypatch.setattr(Path, "replace", watched)
    replace(RELEASE, demand=None).save(tmp_path / "out", overwrite=True)
    assert seen == [True, True]
    assert pr.load_release(tmp_path / "out").demand is None
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_folders_that_cannot_be_exchanged_stay(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    assert not exchanged(tmp_path / "one", tmp_path / "gone")
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


@pytest.fixture
def in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on file systems that cannot exchange folders."""
    monkeypatch.setattr("privroute.release.folder.exchanged", lambda *_: False)


@pytest.mark.usefixtures("in_steps")
@pytest.mark.parametrize("failing", [1, 2])
def test_a_failed_replacement_keeps_the_old_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    RELEASE.save(tmp_path / "out")
    rename, calls = Path.replace, []

    def fail(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) == failing:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(ReleaseError, match="Input/output error"):
        replace(RELEASE, demand=None).save(tmp_path / "out", overwrite=True)
    assert same(pr.load_release(tmp_path / "out"), RELEASE)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("in_steps")
def test_an_old_release_that_can_be_moved_neither_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RELEASE.save(tmp_path / "out")
    rename, calls = Path.replace, []

    def fail(self: Path, target: Path) -> Path:
        calls.append(target)
        if len(calls) > 1:
            raise OSError(5, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(ReleaseError, match="that was there is now .*[.]old"):
        RELEASE.save(tmp_path / "out", overwrite=True)
    assert same(pr.load_release(calls[0]), RELEASE)


def test_an_old_release_that_cannot_be_removed_does_not_undo_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RELEASE.save(tmp_path / "out")

    def fail(*_arguments: object, **_options: object) -> None:
        raise OSError(13, "Permission denied")

    for remove in ("rmdir", "unlink"):
        monkeypatch.setattr(Path, remove, fail)
    monkeypatch.setattr("os.rmdir", fail)
    replace(RELEASE, demand=None).save(tmp_path / "out", overwrite=True)
    assert pr.load_release(tmp_path / "out").demand is None


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o700), (0o027, 0o750), (0o022, 0o755)])
def test_the_folder_has_the_mode_that_the_umask_gives(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        RELEASE.save(tmp_path / "out")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == mode


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from privroute.release import files  # noqa: PLC0415 - where the failure is planted

    def fail(_path: Path) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_digest", fail)
    with pytest.raises(ReleaseError, match="No space left"):
        RELEASE.save(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(FILES))
def test_an_incomplete_folder_is_refused(tmp_path: Path, name: str) -> None:
    RELEASE.save(tmp_path / "out")
    (tmp_path / "out" / name).unlink()
    with pytest.raises(ReleaseError, match=name.replace(".", r"\.")):
        pr.load_release(tmp_path / "out")


@pytest.mark.parametrize("name", sorted(FILES - {"release.json"}))
def test_a_changed_byte_is_noticed(tmp_path: Path, name: str) -> None:
    RELEASE.save(tmp_path / "out")
    path = tmp_path / "out" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(ReleaseError, match="is not the file that was released"):
        pr.load_release(tmp_path / "out")


def test_a_delta_too_large_for_single_persons_is_not_saved_unless_asked(tmp_path: Path) -> None:
    with pytest.warns(LargeDeltaWarning):
        weak = pr.learn(SCENARIO.network, HISTORY, pr.Guarantee(0.1, 0.1))
    assert "NOT PRIVATE: epsilon 0.1, delta 0.1" in repr(weak)
    with pytest.raises(ReleaseError, match=r"NOT PRIVATE .*delta 0\.1 is above 0\.001.*allow_not_private=True"):
        weak.save(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    weak.save(tmp_path / "out", allow_not_private=True)
    assert pr.load_release(tmp_path / "out").certificate == weak.certificate
    assert json.loads((tmp_path / "out" / "release.json").read_text())["certificate"]["private"] is False


def damage(**changes: Any) -> Any:
    def change(manifest: dict[str, Any]) -> dict[str, Any]:
        return manifest | changes

    return change


def in_certificate(**changes: Any) -> Any:
    def change(manifest: dict[str, Any]) -> dict[str, Any]:
        return manifest | {"certificate": manifest["certificate"] | changes}

    return change


def in_study(part: str | None, *, private: bool = True, **changes: Any) -> Any:
    """Changes in the study, or in a part of it, and in what the certificate says beside it."""

    def change(manifest: dict[str, Any]) -> dict[str, Any]:
        certificate = dict(manifest["certificate"])
        study = dict(certificate["study"])
        study = study | changes if part is None else study | {part: study[part] | changes}
        beside = {"unit": study["unit"], **(study["guarantee"] or {})}
        if isinstance(study["mechanism"], dict):
            beside |= {"mechanism": study["mechanism"]["name"], "options": study["mechanism"]["options"]}
        return manifest | {"certificate": certificate | beside | {"study": study, "private": private}}

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (damage(format=99), "format"),
        (damage(certificate=None), "certificate is missing"),
        (damage(sha256={}), "lists other files"),
        (damage(sha256={"../../secret": "x"}), "lists other files"),
        (damage(format=True), "format"),
        (damage(format=1.0), "format"),
        (damage(network={}), "network has other entries"),
        (damage(network={"crs": None, "zones": [2**40]}), "network has other entries"),
        (damage(network={"crs": 5}), "crs is a int"),
        (in_certificate(noise="none"), "calls itself private"),
        (in_certificate(noise="magic"), "noise is not one of"),
        (in_certificate(broken_assumptions=["bounded demand"]), "calls itself private"),
        (in_certificate(broken_assumptions="none"), "broken_assumptions is not a list of texts"),
        (in_certificate(broken_assumptions=[1]), "broken_assumptions is not a list of texts"),
        (in_study("mechanism", options={"constants": "paper"}), "other options than constants"),
        (in_study("guarantee", epsilon="small"), "epsilon is a str"),
        (in_certificate(epsilon=0.5), "epsilon contradicts its study"),
        (in_certificate(epsilon=True), "epsilon contradicts its study"),
        (in_certificate(delta=1e-9), "delta contradicts its study"),
        (in_certificate(unit="user"), "unit contradicts its study"),
        (in_certificate(mechanism="none"), "mechanism contradicts its study"),
        (in_certificate(options={}), "options contradicts its study"),
        (in_certificate(private=False), "calls itself private"),
        (in_certificate(extra=1), "certificate has missing or unknown fields: extra"),
        (in_certificate(study=[]), "study is not an object"),
        (in_certificate(study={}), "study in the certificate has missing or unknown fields: bounds, calendar"),
        (in_study(None, extra=1), "study in the certificate has missing or unknown fields: extra"),
        (in_study(None, calendar=5), "unusable calendar"),
        (in_study(None, pairs=True), "unusable pairs"),
        (in_study("calendar", days=None), "days is None"),
        (in_study("calendar", days=2.5), "days is 2.5"),
        (in_study("calendar", days=True), "days is True"),
        (in_study("calendar", days=4), "3 dates for 4 days"),
        (in_study("calendar", days=10**3999), "not usable"),
        (in_study("calendar", period_min=10**400), "period_min is"),
        (in_study("calendar", period_min=1441), "a day has 1,440 minutes"),
        (in_study("calendar", hour=7), "does not know hour"),
        (in_study("calendar", periods=["07:00-08:00", "07:30-09:00"]), "overlap"),
        (in_study("calendar", to=None), "dates is None"),
        (in_study("calendar", to="20260107"), "not in its plain form"),
        (in_study("calendar", to="tomorrow"), "dates is 'tomorrow'"),
        (in_study("calendar", to="2026-01-04"), "is empty or longer"),
        (in_study("calendar", time_zone=5), "time_zone is 5"),
        (in_study(None, expansion=10**400), "expansion is"),
        (in_study(None, expansion=float("inf")), "expansion is"),
        (in_study(None, bounds={}), "bounds are not complete"),
        (in_study("mechanism", name="none"), "other options than gap, bins"),
        (in_study("mechanism", name=5), "mechanism 5 is not known"),
        (in_study("mechanism", options=[]), "not a name with options"),
        (in_study("mechanism", name="magic"), "mechanism 'magic' is not known"),
        (in_study("mechanism", options={"gap": "x", "bins": 20, "smallest_bin": 200}), "gap is 'x'"),
        (in_study(None, pairs=-5), "not sizes"),
        (in_study("network", nodes=3), "another network or other pairs"),
        (in_study("network", extra=1), "not sizes"),
        (in_certificate(versions={"privroute": 1}), "an object of texts"),
        (in_certificate(sensitivity=0.001, noise_scale=0.004530877117067576), "smaller than one request moves"),
        (in_study("guarantee", epsilon=10**400), "not usable"),
        (in_certificate(rho=None), "calls itself private"),
        (in_certificate(sensitivity=None), "calls itself private"),
        (in_certificate(noise_scale=None), "calls itself private"),
        (in_certificate(private=1), "calls itself private"),
        (in_study("guarantee", delta=0.1), "calls itself private where its noise or its delta is not"),
        (in_study("guarantee", private=False, delta=0.1, epsilon=1e-9), "epsilon is smaller"),
        (in_certificate(noise_scale=1e9), "rho is not what"),
        (in_certificate(noise_scale=1e-320, sensitivity=1e300), "rho is not what"),
        (in_study("guarantee", epsilon=0.999), "epsilon is smaller"),
        (in_study("guarantee", delta=1e-7), "epsilon is smaller"),
        (in_study(None, unit="person"), "unit is 'person'"),
        (in_certificate(adjacency="whoever you like"), "unit is not known"),
    ],
)
def test_a_damaged_manifest_is_refused_with_the_reason(tmp_path: Path, change: Any, message: str) -> None:
    RELEASE.save(tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(ReleaseError, match=message):
        pr.load_release(tmp_path / "out")


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "[" * 100_000])
def test_a_manifest_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    RELEASE.save(tmp_path / "out")
    (tmp_path / "out" / "release.json").write_text(text)
    with pytest.raises(ReleaseError):
        pr.load_release(tmp_path / "out")


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="is not a release"):
        pr.load_release(tmp_path)
    with pytest.raises(ReleaseError, match="is not a release"):
        pr.load_release(tmp_path / "nowhere")


def test_certificates_are_frozen_and_complete() -> None:
    certificate = RELEASE.certificate
    with pytest.raises(AttributeError):
        certificate.rho = 0.0  # type: ignore[misc]
    values = certificate.as_dict()
    assert pr.Certificate.from_dict(json.loads(json.dumps(values))) == certificate
    assert values["private"] is True
    assert "sqrt(2)" in certificate.adjacency
    assert not replace(certificate, noise="seeded").private


@pytest.mark.parametrize("statement", ["import privroute.serve", "import privroute.release.release"])
def test_the_public_side_never_loads_the_private_side(statement: str) -> None:
    script = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    folders = ("history", "privacy", "mechanism", "evaluate", "experiments", "cli")
    private = ("opendp", *(f"privroute.{name}" for name in folders))
    assert statement.split()[1] in done.stdout.split()
    assert not [name for name in done.stdout.split() if name.startswith(private)]


def test_reading_a_release_never_loads_the_private_side(tmp_path: Path) -> None:
    RELEASE.save(tmp_path / "out")
    script = (
        f"import sys, privroute as pr; pr.load_release({str(tmp_path / 'out')!r});"
        "print('\\n'.join(name for name in sys.modules if name.startswith(('privroute', 'opendp'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "privroute.release.release" in loaded
    private = tuple(
        f"privroute.{name}" for name in ("history", "privacy", "mechanism", "evaluate", "experiments", "cli")
    )
    assert not [name for name in loaded if name.startswith(("opendp", *private))]
