"""Hostile arguments end in the package's errors, and copies of values are values again."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privroute as pr
from privroute.errors import DemandError, HistoryError, InputError, NetworkError

SCENARIO = pr.sioux_falls()
NETWORK, DEMAND = SCENARIO.network, SCENARIO.demand
PAIRS = pr.Pairs([0, 1], [1, 0])
LATENCY = pr.Latency.affine([1.0, 2.0], 1.0)
HISTORY = pr.DemandHistory(PAIRS, [[1, 2]], dates=[dt.date(2026, 3, 2)], expansion=2)
HUGE = 10**400
RAGGED: Any = [[1.0], [2.0, 3.0]]
# typed as anything: calls with these are wrong on purpose
NOTHING: Any = None
FIVE: Any = 5
EMPTY: Any = []


def two_nodes(**options: Any) -> pr.Network:
    return pr.Network([0, 1], [1, 0], LATENCY, ["a", "b"], **options)


def pickled(value: object) -> object:
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


@pytest.mark.parametrize("value", [NETWORK, LATENCY, PAIRS, DEMAND, HISTORY], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("again", [pickled, copy.deepcopy, copy.copy])
def test_copies_are_equal_and_read_only(value: Any, again: Callable[[Any], Any]) -> None:
    other = again(value)
    assert other == value
    arrays = [getattr(other, field.name) for field in fields(value)]
    assert all(not array.flags.writeable for array in arrays if isinstance(array, np.ndarray))


def test_a_forged_pickle_is_checked_like_any_other_value() -> None:
    make, (kind, arguments) = PAIRS.__reduce__()
    with pytest.raises(DemandError, match="outside"):
        make(kind, arguments | {"origin": np.array([-5, 1])})


MASKED = np.ma.masked_array([1, 2], [False, True])
MASKED_WEEK: Any = np.ma.masked_array(np.ones(7), np.eye(7, dtype=bool)[0])
MASKED_ARGUMENTS: dict[str, Callable[[], object]] = {
    "rates": lambda: pr.Demand(PAIRS, MASKED),
    "free flow": lambda: pr.Latency.bpr(MASKED, 1.0, 1.0, 1.0),
    "factor": lambda: pr.Latency.affine([1.0, 2.0], 1.0, MASKED),
    "flow": lambda: LATENCY.time(MASKED),
    "tail": lambda: pr.Network(MASKED, [1, 0], LATENCY, ["a", "b"]),
    "no_through": lambda: two_nodes(no_through=np.ma.masked_array([True, False], [False, True])),
    "coordinates": lambda: two_nodes(coordinates=np.ma.masked_array(np.ones((2, 2)), np.eye(2, dtype=bool))),
    "rows of coordinates": lambda: two_nodes(coordinates=[MASKED, MASKED]),
    "counts": lambda: pr.DemandHistory(PAIRS, np.ma.masked_array([[1, 2]], [[False, True]])),
    "matrix": lambda: pr.demand_from_matrix(two_nodes(), np.ma.masked_array(np.ones((2, 2)), np.eye(2, dtype=bool))),
    "daily matrix": lambda: pr.DemandHistory.from_matrices(
        two_nodes(), [np.ma.masked_array(np.ones((2, 2), dtype=int), np.eye(2, dtype=bool))]
    ),
    "positions": lambda: PAIRS.positions(MASKED, [1, 0]),
    "weekday": lambda: pr.simulate_days(DEMAND, days=1, weekday=MASKED_WEEK),
}


@pytest.mark.parametrize("call", MASKED_ARGUMENTS.values(), ids=MASKED_ARGUMENTS.keys())
def test_masked_entries_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(InputError, match="has masked entries"):
        call()


def test_an_array_with_an_empty_mask_is_an_array() -> None:
    assert pr.Demand(PAIRS, np.ma.masked_array([1.0, 2.0], [False, False])).total_per_min == 3


NOT_REAL: dict[str, Any] = {
    "complex": np.array([1j, 2.0]),
    "text": ["1", "2"],
    "bool": [True, False],
    "date": np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"),
    "huge": [HUGE, 1],
}


@pytest.mark.parametrize("values", NOT_REAL.values(), ids=NOT_REAL.keys())
def test_only_real_numbers_are_taken_for_real_numbers(values: Any) -> None:
    square = np.array([values, values])
    calls: list[tuple[type[InputError], Callable[[], object]]] = [
        (DemandError, lambda: pr.Demand(PAIRS, values)),
        (DemandError, lambda: pr.demand_from_matrix(two_nodes(), square)),
        (NetworkError, lambda: pr.Latency.bpr(values, 1.0, 1.0, 1.0)),
        (NetworkError, lambda: pr.Latency.affine([1.0, 2.0], 1.0, values)),
        (NetworkError, lambda: LATENCY.marginal_cost(values)),
        (NetworkError, lambda: LATENCY.marginal_slope_bound(values)),
        (NetworkError, lambda: two_nodes(coordinates=square)),
        (NetworkError, lambda: two_nodes(length_km=values)),
        (HistoryError, lambda: pr.simulate_days(DEMAND, days=1, weekday=[*values, *values, *values, values[0]])),
    ]
    for error, call in calls:
        with pytest.raises(error, match="pass real numbers"):
            call()


@pytest.mark.parametrize("minutes", [True, "60", None, 0, -1, np.nan, np.inf, HUGE, 1j, [60]])
def test_a_period_is_one_positive_number_everywhere(tmp_path: Path, minutes: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: pr.demand_from_matrix(two_nodes(), np.ones((2, 2)), period_min=minutes),
        lambda: pr.read_tntp(tmp_path / "x", capacity_period_min=minutes),
        lambda: pr.read_tntp_trips(tmp_path / "x", NETWORK, period_min=minutes),
        lambda: pr.DemandHistory(PAIRS, [[1, 2]], period_min=minutes),
        lambda: pr.simulate_days(DEMAND, days=1, period_min=minutes),
    ]
    for call in calls:
        with pytest.raises(InputError, match="period_min is .*; pass a positive number of minutes"):
            call()


@pytest.mark.parametrize("minutes", [60, 60.0, np.int64(60), np.float32(60)])
def test_numbers_of_numpy_are_numbers(minutes: Any) -> None:
    assert pr.demand_from_matrix(two_nodes(), np.full((2, 2), 60), period_min=minutes).rate_per_min.tolist() == [1, 1]
    assert pr.DemandHistory(PAIRS, [[1, 2]], period_min=minutes, expansion=minutes).period_min == 60
    assert pr.simulate_days(DEMAND, days=1, drift_per_day=np.float64(0), day_sd=minutes * 0).days == 1


WRONG: dict[str, tuple[type[InputError], Callable[[], object]]] = {
    "ragged rates": (DemandError, lambda: pr.Demand(PAIRS, RAGGED)),
    "no pairs": (DemandError, lambda: pr.Demand.from_observed(NOTHING, [1.0])),
    "ragged capacity": (NetworkError, lambda: pr.Latency.bpr([1.0, 2.0], RAGGED, 1.0, 1.0)),
    "ragged no_through": (NetworkError, lambda: two_nodes(no_through=[[True], [False, True]])),
    "ragged coordinates": (NetworkError, lambda: two_nodes(coordinates=RAGGED)),
    "parameter of another curve": (NetworkError, lambda: NETWORK.with_latency("bpr", factor=2)),
    "text as flow": (NetworkError, lambda: LATENCY.time("abc")),
    "huge flow": (NetworkError, lambda: LATENCY.time([HUGE, 1])),
    "bounds of another length": (NetworkError, lambda: LATENCY.marginal_cost_bound([1.0, 2.0, 3.0])),
    "huge expansion": (DemandError, lambda: pr.Demand(PAIRS, [1, 2], expansion=HUGE)),
    "huge factor": (DemandError, lambda: pr.Demand(PAIRS, [1, 2]) * HUGE),
    "huge period": (HistoryError, lambda: pr.simulate_days(DEMAND, days=1, period_min=HUGE)),
    "huge drift": (HistoryError, lambda: pr.simulate_days(DEMAND, days=1, drift_per_day=HUGE)),
    "bool as drift": (HistoryError, lambda: pr.simulate_days(DEMAND, days=1, drift_per_day=True)),
    "no date": (HistoryError, lambda: pr.simulate_days(DEMAND, days=1, start="Monday")),
    "no demand": (HistoryError, lambda: pr.simulate_days(NOTHING, days=3)),
    "no network": (DemandError, lambda: pr.Pairs.of_zones(NOTHING)),
    "no network for a matrix": (DemandError, lambda: pr.demand_from_matrix(NOTHING, [[1.0]])),
    "no network for a history": (HistoryError, lambda: pr.DemandHistory.from_matrices(NOTHING, [])),
    "no network for trips": (DemandError, lambda: pr.read_tntp_trips("x", NOTHING)),
    "no network for a table": (DemandError, lambda: pr.read_od_csv("x", NOTHING)),
    "no network for Open Matrix": (DemandError, lambda: pr.read_omx("x", NOTHING)),
    "no network for counts": (DemandError, lambda: pr.read_daily_od("x", NOTHING, dates=("2026-03-02", "2026-03-02"))),
    "no network for GMNS": (NetworkError, lambda: pr.write_gmns(NOTHING, "x")),
    "no network for GeoJSON": (InputError, lambda: pr.write_geojson(NOTHING, "x")),
    "no network to draw": (InputError, lambda: pr.draw_network(NOTHING, "x.png")),
    "number as path": (InputError, lambda: pr.read_tntp(FIVE)),
    "bytes as path": (InputError, lambda: pr.read_gmns(b"x")),  # type: ignore[arg-type]
    "number as folder": (InputError, lambda: pr.write_gmns(NETWORK, FIVE)),
    "number as picture": (InputError, lambda: pr.draw_network(NETWORK, FIVE)),
    "number as map": (InputError, lambda: pr.write_geojson(NETWORK, FIVE)),
    "number as Open Matrix": (InputError, lambda: pr.read_omx(FIVE, NETWORK)),
    "list as time unit": (InputError, lambda: pr.read_tntp("x", time_unit=EMPTY)),
    "number as column": (InputError, lambda: pr.read_od_csv("x", NETWORK, origin=FIVE)),
    "column of counts": (
        InputError,
        lambda: pr.read_daily_od("x", NETWORK, dates=("2026-03-02", "2026-03-02"), trips=FIVE),
    ),
    "list as layout": (InputError, lambda: pr.read_od_csv("x", NETWORK, layout=EMPTY)),
    "list as choice": (DemandError, lambda: pr.Pairs.of_zones(NETWORK, on_unreachable=EMPTY)),
    "folder with too long a name": (InputError, lambda: pr.read_gmns("x" * 5000)),
    "folder with a NUL": (InputError, lambda: pr.write_gmns(NETWORK, "a\0b")),
    "dates as number": (HistoryError, lambda: pr.DemandHistory(PAIRS, [[1, 2]], dates=FIVE)),
}


@pytest.mark.parametrize(("error", "call"), WRONG.values(), ids=WRONG.keys())
def test_wrong_arguments_end_in_the_packages_errors(error: type[InputError], call: Callable[[], object]) -> None:
    with pytest.raises(error, match="; "):  # what is wrong, and what to do
        call()


def test_a_start_may_be_a_text() -> None:
    dates = pr.simulate_days(DEMAND, days=2, start="2026-03-02").dates
    assert dates == (dt.date(2026, 3, 2), dt.date(2026, 3, 3))
