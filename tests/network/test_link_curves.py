"""Curves by link type: of TNTP files, of streets, in a study."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import privroute as pr
from privroute.errors import FormatError, NetworkError
from privroute.network.link_curves import read_type_curves, with_type_curves
from privroute.network.tntp import read_tntp_link_types
from privroute.study.source import Source

NET = """<NUMBER OF ZONES> 3
<NUMBER OF NODES> 3
<FIRST THRU NODE> 1
<NUMBER OF LINKS> 4
<END OF METADATA>
~ init_node term_node capacity length free_flow_time b power speed toll link_type ;
1 2 100 1 2 0.15 4 0 0 1 ;
2 3 100 1 2 0.15 4 0 0 2 ;
2 1 0 1 2 0.15 4 0 0 2 ;
3 1 100 1 2 0.15 4 0 0 7 ;
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.tntp").write_text(NET)
    (tmp_path / "curves.csv").write_text("link_type,vdf_type,vdf_conical,vdf_packet\n1,conical,8,\n2,MM1,,2\n")
    return tmp_path


def test_links_have_the_curves_of_their_types(folder: Path) -> None:
    assert read_tntp_link_types(folder / "net.tntp") == ["1", "2", "7"]
    network, _ = Source(str(folder / "net.tntp"), latency_types=str(folder / "curves.csv")).read()
    assert repr(network.latency) == "Latency(3 links, bpr, conical, mm1)"
    np.testing.assert_array_equal(network.latency.parameter("alpha"), [8.0, np.nan, np.nan])
    np.testing.assert_array_equal(network.latency.parameter("packet"), [np.nan, 2.0, np.nan])
    np.testing.assert_array_equal(network.latency.parameter("limit"), [np.nan, 0.95, np.nan])
    np.testing.assert_array_equal(network.latency.parameter("power"), [np.nan, np.nan, 4.0])
    pr.write_gmns(network, folder / "gmns")
    assert pr.read_gmns(folder / "gmns").latency == network.latency


def test_the_row_of_every_other_type(folder: Path) -> None:
    (folder / "curves.csv").write_text("link_type,vdf_type\n7,davidson\n*,akcelik\n")
    curves = read_type_curves(folder / "curves.csv")
    network = with_type_curves(pr.read_tntp(folder / "net.tntp"), ["1", "2", "7"], curves)
    assert repr(network.latency) == "Latency(3 links, akcelik, davidson)"


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("link_type,vdf_type\n1,akima\n", "line 2: vdf_type is 'akima'; known curves are bpr"),
        ("link_type,vdf_type,speed\n1,bpr,3\n", "column 'speed' is no parameter"),
        ("link_type,vdf_type\n1,bpr\n1,bpr\n", "line 3: link_type '1' occurs twice"),
        ("link_type,vdf_type\n,bpr\n", "line 2: link_type is empty"),
        ("link_type,vdf_type,vdf_conical\n1,conical,0.5\n", "line 2: vdf_conical is '0.5'; pass a number from 1.05"),
        (
            "link_type,vdf_type,vdf_load_1,vdf_factor_1,vdf_load_2,vdf_factor_2\n1,piecewise,0.5,2,1,2.5\n",
            "line 2: points of a piecewise curve: factors must begin at 1 or more and their slopes must not fall",
        ),
    ],
)
def test_tables_that_are_refused(folder: Path, text: str, what: str) -> None:
    (folder / "curves.csv").write_text(text)
    with pytest.raises(FormatError, match=what):
        read_type_curves(folder / "curves.csv")


def test_a_type_that_no_link_has_is_refused(folder: Path) -> None:
    (folder / "curves.csv").write_text("link_type,vdf_type\n9,bpr\n")
    with pytest.raises(NetworkError, match="no link has the type '9'; those of this network are 1, 2, 7"):
        Source(str(folder / "net.tntp"), latency_types=str(folder / "curves.csv")).read()


def test_a_study_file_keeps_the_table(folder: Path) -> None:
    text = """[network]
source = "net.tntp"
[latency]
types = "curves.csv"
[calendar]
days = 3
[guarantee]
epsilon = 1.0
delta = 1e-6
"""
    (folder / "study.toml").write_text(text)
    study = pr.Study.load(folder / "study.toml")
    assert repr(study.network.latency) == "Latency(3 links, bpr, conical, mm1)"
    study.save(folder / "again.toml")
    assert pr.Study.load(folder / "again.toml").network == study.network


@pytest.mark.parametrize(
    ("curve", "parameters", "what"),
    [
        ("piecewise", {"load_1": 1.0, "factor_1": 1 - 5e-10}, "factors must begin at 1 or more"),
        ("table", {"load_1": 1.0, "factor_1": 1 - 5e-10}, "factors must begin at 1 or more"),
        ("piecewise", {"load_1": 1e-6, "factor_1": 1e303}, "may be 1e.60 at most"),
        ("mm1", {"packet": 1e300}, "queue, in minutes, is out of the range of mm1"),
        ("akcelik", {"delay": 1e300}, "is out of the range of akcelik"),
        ("akcelik", {"period_min": 1e300}, "is out of the range of akcelik"),
    ],
)
def test_curves_that_would_fall_or_be_no_numbers_are_refused(
    curve: str, parameters: dict[str, float], what: str
) -> None:
    with pytest.raises(NetworkError, match=f"link 0: .*{what}"):
        pr.Latency.of(curve, [1.0], [1e-20], **parameters)
