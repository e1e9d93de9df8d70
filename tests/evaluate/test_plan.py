from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privroute as pr
from privroute.errors import InputError, PrivrouteError
from privroute.evaluate.plan import Plan, PlanRow, plan
from privroute.evaluate.plan_files import draw_plan, write_plan
from privroute.evaluate.suboptimality import Baseline, Comparison

SCENARIO = pr.sioux_falls()


def made(**changes: Any) -> Plan:
    options: dict[str, Any] = {"days": 5, "epsilons": (1.0, 0.003), "draws": 3, "seed": 4} | changes
    return plan(SCENARIO.network, options.pop("prior", SCENARIO.demand), **options)


def rows(*medians: float) -> Plan:
    return Plan(
        mechanism="counts",
        delta=1e-6,
        days=1,
        period_min=60.0,
        expansion=1.0,
        seed=1,
        expected_trips=1.0,
        optimum_minutes=1.0,
        rows=tuple(PlanRow(10.0**at, 1.0, (median,)) for at, median in enumerate(medians)),
        without_noise=(0.0,),
        without_data=(Comparison("nothing", 1.0),),
    )


def test_more_privacy_costs_more_and_no_noise_costs_least() -> None:
    found = made()
    assert [row.epsilon for row in found.rows] == [0.003, 1.0]
    strict, loose = found.rows
    assert strict.noise_scale > 100 * loose.noise_scale
    assert strict.low > loose.high
    assert loose.median > 0
    assert found.without_noise_median <= loose.median * 1.5
    for row in found.rows:
        assert row.low <= row.median <= row.high
        assert len(row.percent) == 3


def test_the_same_seed_gives_the_same_plan_and_progress_counts_every_policy() -> None:
    seen: list[tuple[str, float]] = []
    first = made(progress=lambda phase, share: seen.append((phase, share)))
    assert seen == [("Learning from simulated days", done / 15) for done in range(1, 16)]
    assert made() == first
    assert made(seed=5) != first


def test_a_row_has_the_verdict_that_the_release_itself_would_give() -> None:
    found = made(epsilons=(1.0, 0.003), draws=2)
    assert found.rows[1].verdict == "better"
    assert found.rows[0].verdict in ("undecided", "worse")
    assert found.smallest_shown == 1.0
    assert all(row.verdict is None for row in found.other_rows)
    assert all(row.verdict is None for row in made(epsilons=(1.0,), quality_share=0.0).rows)
    users = pr.Contribution("user", 2)
    assert made(epsilons=(1.0,), draws=1, contribution=users).of_kept_trips
    stated = made(epsilons=(1.0,), draws=1, contribution=users, total_per_h=60 * SCENARIO.demand.total_per_min)
    assert not stated.of_kept_trips
    assert stated.smallest_shown == 1.0
    # what is measured changes no policy
    with_share = made(epsilons=(1.0,), draws=1).rows[0].percent
    assert made(epsilons=(1.0,), draws=2).rows[0].percent[:1] == with_share


def test_rows_without_data_are_measured_against_the_prior() -> None:
    found = made(draws=1, epsilons=(1.0,))
    baseline = Baseline.of(SCENARIO.network, SCENARIO.demand)
    assert found.optimum_minutes == baseline.minutes
    assert {row.name.split()[0] for row in found.without_data} == {"no", "gravity", "equal", "fastest"}
    alone = made(draws=1, epsilons=(1.0,), prior_is_gravity=True)
    assert {row.name.split()[0] for row in alone.without_data} == {"no", "equal", "fastest"}


def test_a_fleet_that_sees_a_tenth_has_a_tenth_of_the_trips_and_pays_more() -> None:
    whole, fleet = made(epsilons=(0.01,)), made(epsilons=(0.01,), expansion=10.0)
    assert fleet.expected_trips == pytest.approx(whole.expected_trips / 10)
    assert whole.expected_trips == pytest.approx(SCENARIO.demand.total_per_min * 60 * 5)
    assert fleet.rows[0].median > whole.rows[0].median


def test_daily_pays_for_every_day_that_it_could_release() -> None:
    assert made(mechanism="daily").rows[0].median > made().rows[0].median


def test_the_smallest_epsilon_is_the_one_from_which_on_all_are_good() -> None:
    assert rows(3.0, 0.05, 0.01).smallest_epsilon(0.1) == 10.0
    assert rows(0.05, 3.0, 0.01).smallest_epsilon(0.1) == 100.0
    assert rows(3.0, 2.0).smallest_epsilon(0.1) is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"days": 0}, "days is 0"),
        ({"days": 2.5}, "days is 2.5"),
        ({"draws": 0}, "draws is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"epsilons": ()}, "epsilons is empty"),
        ({"epsilons": (0.0,)}, "epsilon is 0.0"),
        ({"delta": 0.0}, "delta is 0.0"),
        ({"epsilons": (1e-9,), "delta": 1e-30}, "more than is simulated"),
        ({"mechanism": "none"}, "needs no plan"),
        ({"mechanism": "magic"}, "mechanism is 'magic'"),
        ({"expansion": 0.1}, "expansion is 0.1"),
        ({"period_min": -1.0}, "period_min is -1.0"),
        ({"days": 10**9}, "fewer days"),
        ({"prior": SCENARIO.demand * 0.0}, "zero everywhere"),
    ],
)
def test_what_cannot_be_planned_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(PrivrouteError, match=message):
        made(**changes)


def test_files_and_a_picture_also_where_nothing_is_above_the_optimum(tmp_path: Path) -> None:
    paths = write_plan(rows(0.0, -1e-13), tmp_path / "plan")
    assert [path.name for path in paths] == ["plan.csv", "plan.json", "plan.png"]
    assert all(path.stat().st_size for path in paths)
    with pytest.raises(InputError, match="cannot be written"):
        draw_plan(rows(1.0), tmp_path / "plan.nothing")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be used as a folder"):
        write_plan(rows(1.0), tmp_path / "file")


def test_planning_leaves_the_prior_alone() -> None:
    before = np.array(SCENARIO.demand.rate_per_min)
    made(draws=1, epsilons=(1.0,), expansion=4.0)
    assert np.array_equal(SCENARIO.demand.rate_per_min, before)


def test_without_a_mechanism_counts_and_layered_are_planned_side_by_side() -> None:
    found = made(epsilons=(1.0,), draws=1)
    assert (found.mechanism, found.other_mechanism) == ("counts", "layered")
    assert [row.epsilon for row in found.other_rows] == [1.0]
    assert found.as_dict()["other_rows"][0]["percent"] == list(found.other_rows[0].percent)
    alone = made(epsilons=(1.0,), draws=1, mechanism="layered")
    assert [replace(row, verdict=None) for row in alone.rows] == list(found.other_rows)
    assert alone.other_mechanism is None
