"""`privroute budget`, and releases charged from the command line."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import refused, run
from tests.cli.conftest import FIRST, LAST

import privroute as pr
from privroute.cli.accounts import grouped_days
from privroute.cli.terminal import share
from privroute.errors import BudgetError
from privroute.privacy import ledger_file
from privroute.privacy.calibration import gaussian_rho, gaussian_scale
from privroute.privacy.scope import Scope

PROMISE = ("--epsilon", "0.1", "--delta", "1e-6")
LEARN = ("learn", "--network", "sioux-falls", *PROMISE)


def init(path: Path, *more: object) -> None:
    done = run("budget", "init", path, "--dataset", "city-2026", "--epsilon", 1, "--delta", "1e-6", *more)
    assert done.code == 0, done.err


def shown(path: Path, command: str = "show") -> dict[str, Any]:
    done = run("budget", command, path, "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)["datasets"][0]
    return found


def test_releases_are_charged_shown_and_refused(daily_csv: Path, tmp_path: Path) -> None:
    ledger, place = tmp_path / "city.ledger", tmp_path / "out"
    init(ledger)
    dates = ("--from", FIRST, "--to", LAST)
    done = run(*LEARN, "--history", daily_csv, *dates, "--ledger", ledger, "--dataset", "city-2026", "--out", place)
    assert done.code == 0, done.err
    assert "entry 1 of the ledger of city-2026" in done.text
    assert pr.load_release(place).certificate.budget["dataset"] == "city-2026"  # type: ignore[index]
    assert "entry 1 of the ledger of city-2026" in run("inspect", place).text
    text = run("budget", "show", ledger).text
    assert "0.1 of 1 spent" in text
    assert "░ of the approved rho" in text
    assert f"{FIRST} to {LAST}" in text
    history = shown(ledger, "history")["charges"]
    assert [(one["entry"], one["status"], one["folders"]) for one in history] == [(1, "released", [str(place)])]
    assert str(FIRST) in run("budget", "history", ledger, width=200).text
    stronger = ("--epsilon", "0.999", "--history", daily_csv, *dates, "--ledger", ledger, "--out", tmp_path / "two")
    problem = refused(*LEARN, *stronger)
    assert "would fit" in problem
    assert "Nothing was charged" in problem
    assert not (tmp_path / "two").exists()
    assert shown(ledger)["releases"] == 1
    assert run("budget", "set-tz", ledger, "--tz", "Europe/Berlin").code == 0
    values = shown(ledger)
    assert (values["releases"], values["without_release"], values["entries_for_lost"]) == (1, 0, 0)
    assert values["entries_for_clocks"] > 0
    assert " for other clocks." in run("budget", "show", ledger, width=200).text


def test_daily_learning_charges_the_newest_day_only(daily_csv: Path, tmp_path: Path) -> None:
    ledger, noisy = tmp_path / "city.ledger", tmp_path / "days"
    done = run("budget", "init", ledger, "--dataset", "city", *PROMISE)
    assert done.code == 0, done.err
    days = [dt.date.fromisoformat(FIRST) + dt.timedelta(days=number) for number in range(4)]
    daily = (*LEARN, "--history", daily_csv, "--mechanism", "daily", "--ledger", ledger, "--stream", noisy)
    for day in days[:2]:
        done = run(*daily, "--set", "mechanism.window=7", "--from", day, "--to", day, "--out", tmp_path / f"{day}")
        assert done.code == 0, done.err
    assert run(*daily, "--from", days[2], "--to", days[3], "--out", tmp_path / "both").code == 0
    assert shown(ledger)["releases"] == 4
    assert shown(ledger)["spent_epsilon"] == pytest.approx(0.1, rel=1e-6)
    certificate = pr.load_release(tmp_path / "both").certificate
    assert [certificate.study["calendar"][name] for name in ("days", "from", "to")] == [4, FIRST, LAST]
    again = refused(*daily, "--from", days[1], "--to", days[1], "--out", tmp_path / "again")
    assert "was added before" in again
    later = days[3] + dt.timedelta(days=1)
    again = refused(*daily, "--from", days[3], "--to", later, "--out", tmp_path / "again")
    assert "was added before" in again
    earlier = days[0] - dt.timedelta(days=1)
    again = refused(*daily, "--from", earlier, "--to", days[0], "--out", tmp_path / "again")
    assert "was added before" in again
    assert shown(ledger)["releases"] == 4  # the new day of the range was not charged either
    without = run(
        *LEARN, "--history", daily_csv, "--mechanism", "daily", "--from", FIRST, "--to", FIRST, "--out", noisy
    )
    assert without.code == 1


def test_a_year_of_daily_releases_is_one_row_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The epsilon of every day is that of one release; two weeks with a second release stand out."""
    # durability is not what this is about
    monkeypatch.setattr(ledger_file, "_configure", lambda file: file.execute("PRAGMA synchronous = OFF"))
    ledger = pr.Ledger.create(tmp_path / "city.ledger", "city", pr.Approval(1.0, 1e-6))
    daily, extra = (pr.Guarantee(epsilon, 1e-6) for epsilon in (0.1, 0.3))
    rho, more = (gaussian_rho(gaussian_scale(one.epsilon, 1e-6, 1.0), 1.0) for one in (daily, extra))
    days = [dt.date(2026, 1, 1) + dt.timedelta(days=number) for number in range(365)]
    for day in days:
        ledger.charge(Scope.of_days([day], begins_s=7 * 3600, length_s=3600), daily, rho, "daily")
    ledger.charge(Scope.of_days(days[100:114], begins_s=7 * 3600, length_s=1800), extra, more, "counts")
    found = shown(ledger.path)
    assert found["releases"] == found["without_release"] == 366
    assert [(row["first"], row["last"]) for row in found["days"]] == [
        ("2026-01-01", "2026-04-10"),
        ("2026-04-11", "2026-04-24"),
        ("2026-04-25", "2026-12-31"),
    ]
    epsilons = [row["spent_epsilon"] for row in found["days"]]
    assert epsilons[0] == epsilons[2] == pytest.approx(0.1, rel=1e-6)
    assert 0.3 < epsilons[1] < 0.4
    assert found["spent_epsilon"] == epsilons[1]
    done = run("budget", "show", ledger.path)
    assert "2026-01-01 to 2026-04-10" in done.text
    assert "366 releases charged" in done.text
    assert "366 of them have no known release" in done.text


def test_a_budget_for_users_adds_every_release(tmp_path: Path) -> None:
    init(tmp_path / "l", "--unit", "user", "--tz", "Europe/Zurich")
    assert "The costs of all releases add up" in run("budget", "show", tmp_path / "l").text
    found = shown(tmp_path / "l")
    assert found["approved"]["time_zone"] == "Europe/Zurich"
    assert found["days"] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", 0, "--delta", "1e-6"), "epsilon is 0.0"),
        (("--epsilon", 1, "--delta", 1), "delta is 1.0"),
        (("--epsilon", 1, "--delta", "1e-6", "--unit", "person"), "known: request, user, user-day"),
        (("--epsilon", 1, "--delta", "1e-6", "--tz", "Nowhere"), "--tz is 'Nowhere'"),
        (
            ("--epsilon", 1, "--delta", "1e-6", "--kept-requests", 5),
            "--kept-requests and --kept-per-pair are only valid with the unit user",
        ),
    ],
)
def test_approvals_that_mean_nothing_are_refused(tmp_path: Path, options: tuple[object, ...], message: str) -> None:
    assert message in refused("budget", "init", tmp_path / "l", "--dataset", "city", *options)
    assert not (tmp_path / "l").exists()


def test_ledgers_are_checked_before_the_private_file_is_opened(tmp_path: Path) -> None:
    init(tmp_path / "l")
    init(tmp_path / "users", "--unit", "user")
    private = ("--history", tmp_path / "never-opened.csv", "--from", FIRST, "--to", LAST, "--out", tmp_path / "out")
    for options, message in (
        (("--ledger", tmp_path / "none"), "there is no such ledger"),
        (("--ledger", tmp_path), "is a folder"),
        (("--ledger", tmp_path / "l", "--dataset", "town"), "there is no data set 'town'"),
        (("--dataset", "city-2026"), "--dataset needs --ledger"),
        (("--stream", tmp_path / "s"), "--stream is only valid with --mechanism daily"),
        (("--set", "mechanism.half_life_days=3"), "mechanism.half_life_days is only valid with --mechanism daily"),
        (("--mechanism", "daily", "--set", "mechanism.half_life_days=0"), "mechanism.half_life_days is 0.0"),
        (("--ledger", tmp_path / "l", "--epsilon", 2), "with this release it would be 2"),
        (("--ledger", tmp_path / "users"), "for one user, this release for one request"),
    ):
        text = refused(*LEARN, *private, *options)
        assert message in text
        assert "never-opened" not in text


def test_what_is_not_private_is_not_charged_and_not_read_for_it(tmp_path: Path) -> None:
    init(tmp_path / "l")
    private = ("--history", tmp_path / "never-opened.csv", "--from", FIRST, "--to", LAST, "--out", tmp_path / "out")
    unprotected = ("--mechanism", "none", "--allow-not-private", "--ledger", tmp_path / "l")
    text = refused("learn", "--network", "sioux-falls", *private, *unprotected)
    assert "cannot be charged to a budget" in text
    assert "never-opened" not in text


def test_a_delta_too_large_for_single_persons_is_charged_and_never_called_private(
    daily_csv: Path, tmp_path: Path
) -> None:
    """Its rho holds, and rho is what adds up."""
    text = run("budget", "init", tmp_path / "l", "--dataset", "city", "--epsilon", 1, "--delta", 0.01).err
    assert "NOT PRIVATE: the approved delta 0.01 is above 0.001" in text
    data = ("--history", daily_csv, "--from", FIRST, "--to", LAST, "--out", tmp_path / "out")
    weak = ("--epsilon", 0.1, "--delta", 0.1, "--ledger", tmp_path / "l", "--allow-not-private")
    done = run("learn", "--network", "sioux-falls", *data, *weak)
    assert done.code == 0, done.err
    assert "It was still charged" in done.text
    assert "which is too large to protect single persons" in done.text
    assert shown(tmp_path / "l")["releases"] == 1
    assert "NOT PRIVATE: the approved delta" in run("budget", "show", tmp_path / "l").err


def test_a_stream_refuses_before_the_private_file_is_opened(daily_csv: Path, tmp_path: Path) -> None:
    """What the stream's first day fixed is public: its account, its guarantee, its period, its dates."""
    init(tmp_path / "l")
    init(tmp_path / "other")
    days, account = ("--mechanism", "daily", "--stream", tmp_path / "days"), ("--ledger", tmp_path / "l")
    first = ("--history", daily_csv, "--from", FIRST, "--to", FIRST, "--out", tmp_path / "out")
    done = run(*LEARN, *days, *account, *first)
    assert done.code == 0, done.err
    assert "(1 day), 60 minutes of each day" in done.text
    assert "0 of 1 day without any" in done.text
    assert "1 release charged" in run("budget", "show", tmp_path / "l").text
    later = ("--history", tmp_path / "never-opened.csv", "--from", LAST, "--to", LAST, "--out", tmp_path / "later")
    for options, message in (
        ((), "but no ledger was passed"),
        (("--ledger", tmp_path / "other"), "charged to the data set 'city-2026'"),
        ((*account, "--epsilon", 0.2), "epsilon is 0.2 where the stream has 0.1; use that"),
        ((*account, "--period-min", 30), "--period-min is 30.0 where the stream has 60.0"),
        ((*account, "--from", FIRST), "was added before"),
    ):
        text = refused(*LEARN, *days, *later, *options)
        assert message in text
        assert "never-opened" not in text
        assert "{" not in text
    assert shown(tmp_path / "l")["releases"] == 1
    assert not shown(tmp_path / "other")["releases"]


def test_days_before_a_rejected_day_of_a_stream_are_named_with_the_way_to_go_on(
    daily_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    init(tmp_path / "l")
    days = (
        "--mechanism",
        "daily",
        "--stream",
        tmp_path / "days",
        "--ledger",
        tmp_path / "l",
        "--out",
        tmp_path / "out",
    )
    charge, calls = pr.Ledger.charge, []

    def spent_meanwhile(*given: Any, **options: Any) -> Any:
        calls.append(given)
        if len(calls) > 2:
            raise BudgetError("another process has spent the rest")
        return charge(*given, **options)

    monkeypatch.setattr(pr.Ledger, "charge", spent_meanwhile)
    told = refused(*LEARN, "--history", daily_csv, "--from", FIRST, "--to", LAST, *days)
    assert "2 days of 4 were added to the stream (2026-01-05 to 2026-01-06) and remain charged" in told
    assert "2026-01-07 was rejected, and no release was written: another process has spent the rest" in told
    assert told.endswith("go on with --from 2026-01-07")
    assert not (tmp_path / "out").exists()
    monkeypatch.undo()
    done = run(*LEARN, "--history", daily_csv, "--from", "2026-01-07", "--to", LAST, *days)
    assert done.code == 0, done.err
    assert pr.load_release(tmp_path / "out").certificate.days == 4
    assert shown(tmp_path / "l")["releases"] == 4


def test_an_empty_ledger_and_bars_at_their_ends(tmp_path: Path) -> None:
    init(tmp_path / "l")
    assert "0 of 1 spent" in run("budget", "show", tmp_path / "l").text
    assert run("budget", "history", tmp_path / "l").code == 0
    assert "already exists" in refused(
        "budget", "init", tmp_path / "l", "--dataset", "city-2026", "--epsilon", 5, "--delta", "1e-6"
    )
    assert [share(value, width=4).count("█") for value in (0.0, 1e-9, 0.5, 0.99, 1.0, 2.0)] == [0, 1, 2, 3, 4, 4]


def test_weeks_with_the_same_spending_are_one_row() -> None:
    def week(first: str, last: str, epsilon: float) -> dict[str, object]:
        return {"first": first, "last": last, "spent_epsilon": epsilon, "share": epsilon, "fits_epsilon": 0.5}

    weeks = [week("2026-03-02", "2026-03-06", 0.5), week("2026-03-09", "2026-03-13", 0.5)]
    other = week("2026-03-16", "2026-03-16", 0.7)
    rows = grouped_days([*weeks, other])
    assert [row["days"] for row in rows] == ["2026-03-02 to 2026-03-13 (10 days)", "2026-03-16"]
    assert [row["spent_epsilon"] for row in rows] == [0.5, 0.7]
