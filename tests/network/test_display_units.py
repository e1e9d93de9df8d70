"""Units: conversions, words, what is refused, and that files of networks keep them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.release.data_network import native, odd_words

import privroute as pr
from privroute.errors import FormatError, InputError, NetworkError, PrivrouteError
from privroute.network.changes import without_links
from privroute.network.display_units import MBIT, TIME_UNITS, Units
from privroute.network.networkx_graph import from_networkx, to_networkx

MS_PER_MIN = 60_000.0


def test_numbers_are_converted_once() -> None:
    assert MBIT.time_of(1 / MS_PER_MIN) == pytest.approx(1.0)
    assert MBIT.flow_of(60.0) == pytest.approx(1.0)
    assert MBIT.flow_per_h * 3600 == pytest.approx(1.0)
    assert Units().flow_of(1.0) == 60.0
    assert Units().time_of(2.5) == 2.5
    assert (Units().amount, MBIT.amount, Units(flow="pallets / min").amount) == ("vehicles", "Mbit", "pallets")
    assert [Units(time=unit).time_of(60.0) for unit in TIME_UNITS] == pytest.approx([3.6e6, 3600.0, 60.0, 1.0])


@pytest.mark.parametrize("amount", ["vehicles", "Vehicles", "veh", "pcu", "cars"])
def test_vehicles_go_by_several_names(amount: str) -> None:
    assert Units(flow=f"{amount}/h").on_roads
    assert Units(flow=f"{amount}/h").said("Travel times of vehicles on roads") == "Travel times of vehicles on roads"
    assert not MBIT.on_roads


def test_columns_say_their_unit_and_roads_keep_theirs() -> None:
    assert MBIT.column("expected_min") == ("expected_ms", MS_PER_MIN)
    name, factor = MBIT.column("volume_per_h")
    assert name == "volume_Mbit_per_s"
    assert factor * 3600 == pytest.approx(1.0)
    assert MBIT.column("rate_per_min") == ("rate_per_min", 1.0)
    for name in ("expected_min", "volume_per_h", "volume_over_capacity", "length_km"):
        assert Units().column(name) == (name, 1.0)


@given(st.sampled_from(["trip", "Trips", "travel time", "Travel times", "empty roads", "vehicles", "drivers"]))
def test_sentences_of_roads_become_those_of_the_units(words: str) -> None:
    sentence = f"{words} of a pair"
    assert Units().said(sentence) == sentence
    assert odd_words(MBIT.said(sentence)) == []
    assert MBIT.said(sentence)[0].isupper() == sentence[0].isupper()


@pytest.mark.parametrize(
    "values",
    [
        {"flow": ""},
        {"flow": "Mbit"},
        {"flow": "/s"},
        {"flow": "Mbit/day"},
        {"flow": "<b>Mbit</b>/s"},
        {"flow": "=cmd()/s"},
        {"flow": "Mbit\n/s"},
        {"flow": "M\N{RIGHT-TO-LEFT OVERRIDE}tib/s"},
        {"flow": "x" * 60 + "/s"},
        {"flow": 3},
        {"request": ""},
        {"request": " "},
        {"request": "<script>"},
        {"request": "a\tb"},
        {"request": "x" * 41},
        {"request": None},
        {"time": "minutes"},
        {"time": ["ms"]},
    ],
)
def test_what_a_screen_could_not_show_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Units(**values)  # type: ignore[arg-type]


@given(st.text(max_size=45), st.text(max_size=45))
def test_any_text_is_taken_or_refused_and_what_is_taken_is_plain(request: str, amount: str) -> None:
    try:
        units = Units(request, f"{amount}/s")
    except InputError:
        return
    for text in (units.request, units.amount):
        assert not set("<>&\"'=+@\n\r\t\\`{}$") & set(text)
        assert text.isprintable()
    assert Units.from_dict(units.as_dict()) == units
    assert Units.of_columns(units.as_columns()) == units


def test_other_alphabets_are_words(tmp_path: Path) -> None:
    units = Units("envoi", "véhicules/h", "s")
    assert units.requests == "envois"
    assert Units(flow="车辆/h").amount == "车辆"
    network = replace(pr.read_sndlib(native(tmp_path)), units=Units("Übertragung", "Mbit/s", "ms"))
    pr.write_gmns(network, tmp_path / "gmns")
    assert pr.read_gmns(tmp_path / "gmns") == network


def test_files_of_networks_keep_the_units(tmp_path: Path) -> None:
    network = pr.read_sndlib(native(tmp_path))
    assert network.units == MBIT
    pr.write_gmns(network, tmp_path / "gmns")
    assert pr.read_gmns(tmp_path / "gmns") == network
    assert from_networkx(to_networkx(network)) == network
    assert without_links(network, ["A_B"]).units == MBIT
    roads = pr.sioux_falls().network
    pr.write_gmns(roads, tmp_path / "roads")
    assert "unit" not in (tmp_path / "roads" / "config.csv").read_text()
    assert pr.read_gmns(tmp_path / "roads").units == Units()


def test_a_closed_link_leaves_the_costs_of_the_others() -> None:
    network = pr.sioux_falls().network.with_fixed_costs(np.arange(76.0))
    assert without_links(network, [network.link_labels[3]]).fixed_cost_min.tolist() == [0, 1, 2, *range(4, 76)]


def test_odd_units_in_a_folder_are_refused_with_its_name(tmp_path: Path) -> None:
    pr.write_gmns(pr.read_sndlib(native(tmp_path)), tmp_path / "gmns")
    config = tmp_path / "gmns" / "config.csv"
    config.write_text(config.read_text().replace("Mbit/s", "<b>/s"))
    with pytest.raises(FormatError, match="its units cannot be used"):
        pr.read_gmns(tmp_path / "gmns")


def test_zones_with_streets_of_their_own_are_refused(tmp_path: Path) -> None:
    network = pr.read_sndlib(native(tmp_path))
    with pytest.raises(PrivrouteError, match="connectors of zones are streets, but Mbit flow here"):
        pr.with_grid(network, 100.0)


def test_units_have_their_type() -> None:
    with pytest.raises(NetworkError, match="units is a str"):
        replace(pr.sioux_falls().network, units="Mbit/s")  # type: ignore[arg-type]


def test_notebooks_speak_in_units(tmp_path: Path) -> None:
    network = pr.read_sndlib(native(tmp_path))
    shown = network._repr_html_()
    assert "Mbit/s, ms" in shown
    assert odd_words(shown) == []
    axes = pr.draw_network(network, tmp_path / "network.png")
    labels = [part.get_ylabel() for part in axes.figure.axes]
    assert "free-flow time (ms)" in labels
