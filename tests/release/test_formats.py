"""Every release format that was ever published is read: one folder of each is kept here. docs/release-format.md"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import privroute as pr
from privroute.errors import GuaranteeError, ReleaseError
from privroute.release.files import FORMAT
from privroute.release.usefulness import useful_in_words
from privroute.study.mechanisms import check_public_options

KEPT = Path(__file__).parent / "formats"


def test_a_folder_of_each_format_is_kept() -> None:
    """Of format 4 one is kept when it is published."""
    assert sorted(int(folder.name) for folder in KEPT.iterdir()) == list(range(2, FORMAT))


@pytest.mark.parametrize("folder", [KEPT / "2"], ids=lambda folder: f"format {folder.name}")
def test_a_kept_release_reads_as_when_it_was_written(folder: Path) -> None:
    release = pr.load_release(folder)
    certificate = release.certificate
    assert certificate.private
    assert (certificate.epsilon, certificate.delta, certificate.unit) == (1.0, 1e-6, "request")
    assert f"{certificate.calendar}" == "mon-fri, 2026-03-02 to 2026-03-06 (5 days), 07:00-08:00, Europe/Berlin"
    assert certificate.expansion == 2.0
    assert release.network.node_labels == ("a", 2, 3, "d")
    for route in release.policy.routes("a", "d"):
        assert route.nodes[0] == "a"
        assert route.nodes[-1] == "d"
    assert release.demand is not None
    assert release.demand.total_per_min > 0


@pytest.mark.parametrize(("number", "message"), [(1, "was never published"), (FORMAT + 1, "newer privroute")])
def test_other_formats_are_refused_with_a_sentence(tmp_path: Path, number: int, message: str) -> None:
    shutil.copytree(KEPT / "2", tmp_path / "release")
    manifest = tmp_path / "release" / "release.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": number}))
    with pytest.raises(ReleaseError, match=message):
        pr.load_release(tmp_path / "release")


def test_a_folder_of_several_periods_is_read_as_it_was_published() -> None:
    release = pr.load_release(KEPT / "3")
    assert release.certificate.private
    assert [str(slot) for slot in release.slots] == [
        "workday 07:00-08:00",
        "workday 08:00-09:00",
        "weekend 07:00-08:00",
        "weekend 08:00-09:00",
    ]
    assert [slot.calendar.days for slot in release.slots] == [4, 4, 3, 3]  # one workday is a holiday
    for each in release.each():
        assert each.policy.routes("a", "d")[0].nodes[0] == "a"
        assert each.demand is not None
        assert each.quality is not None


def test_a_release_for_all_days_is_read_and_its_objective_is_shown(tmp_path: Path) -> None:
    folder = Path(__file__).parent / "format_2_all_days"
    release = pr.load_release(folder)
    assert release.certificate.private
    assert release.certificate.measured_share == pytest.approx(release.certificate.quality_share + 0.02)
    assert "Objective: all days." in useful_in_words(release)
    changed = pr.reroute(release, capacity={0: 10.0})
    changed.save(tmp_path / "changed")
    assert "Objective: all days." not in useful_in_words(pr.load_release(tmp_path / "changed"))


@pytest.mark.parametrize("option", [{"objective": "x"}, {"day_variation": -1.0}, {"day_variation": "x"}, {"rounds": 2}])
def test_former_options_are_checked(option: dict[str, object]) -> None:
    options = dict(pr.load_release(KEPT / "2").certificate.options)
    check_public_options("counts", options)
    with pytest.raises(GuaranteeError):
        check_public_options("counts", options | option)
