from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.command import refused, run
from tests.cli.conftest import FIRST, LAST, MARK

import privroute as pr

DATES = ("--from", FIRST, "--to", LAST)
PROMISE = ("--epsilon", "0.1", "--delta", "1e-6")
BASE = ("learn", "--network", "sioux-falls")


def unmarked(text: str) -> bool:
    return str(MARK) not in text and f"{MARK:,}" not in text


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ((), "counts"),
        (("--mechanism", "daily"), "daily"),
        (("--mechanism", "daily", "--set", "mechanism.window=2"), "daily"),
        (("--mechanism", "minimiser", "--alpha", 500), "minimiser"),
    ],
)
def test_a_history_becomes_a_private_release(
    daily_csv: Path, tmp_path: Path, options: tuple[object, ...], name: str
) -> None:
    done = run(*BASE, "--history", daily_csv, *DATES, *PROMISE, "--expansion", 2, *options, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert done.err == ""
    certificate = pr.load_release(tmp_path / "out").certificate
    assert certificate.private
    assert (certificate.mechanism, certificate.data, certificate.days) == (name, "counts", 4)
    assert (certificate.epsilon, certificate.delta, certificate.expansion) == (0.1, 1e-6, 2.0)
    assert certificate.study["calendar"]["from"] == FIRST
    assert certificate.study["calendar"]["to"] == LAST


def test_what_is_printed_about_the_data_is_marked_and_holds_no_record(daily_csv: Path, tmp_path: Path) -> None:
    done = run(*BASE, "--history", daily_csv, *DATES, *PROMISE, "--out", tmp_path / "out")
    counted = [line for line in done.out.splitlines() if "trips counted" in line]
    assert len(counted) == 1
    assert counted[0].startswith("PRIVATE")
    assert unmarked(done.out + done.err)


def test_nothing_of_the_terminal_is_in_the_release(daily_csv: Path, history: pr.DemandHistory, tmp_path: Path) -> None:
    run(*BASE, "--history", daily_csv, *DATES, *PROMISE, "--out", tmp_path / "out")
    manifest = (tmp_path / "out" / "release.json").read_text()
    total = int(history.counts.sum()) - int(history.counts[0, 0]) + MARK
    assert str(total) not in manifest
    assert unmarked(manifest)


def test_a_release_that_is_there_is_replaced_only_when_asked(daily_csv: Path, tmp_path: Path) -> None:
    arguments = (*BASE, "--history", daily_csv, *DATES, *PROMISE, "--out", tmp_path / "out")
    assert run(*arguments).code == 0
    before = (tmp_path / "out" / "release.json").read_text()
    assert "--overwrite" in refused(*arguments)
    assert (tmp_path / "out" / "release.json").read_text() == before
    assert run(*arguments, "--overwrite").code == 0
    (tmp_path / "out" / "notes.txt").write_text("years of work")
    assert "and is not replaced; choose another with --out" in refused(*arguments, "--overwrite")
    assert (tmp_path / "out" / "notes.txt").read_text() == "years of work"
    assert (tmp_path / "out" / "release.json").read_text() != before


def test_no_noise_has_to_be_asked_for_twice_and_is_said_loudly(daily_csv: Path, tmp_path: Path) -> None:
    arguments = (*BASE, "--history", daily_csv, *DATES, "--mechanism", "none", "--out", tmp_path / "out")
    assert "NOT PRIVATE" in refused(*arguments)
    assert not (tmp_path / "out").exists()
    assert "no --epsilon" in refused(*arguments, "--allow-not-private", "--epsilon", "1")
    done = run(*arguments, "--allow-not-private")
    assert done.code == 0
    assert "NOT PRIVATE" in done.err
    assert not pr.load_release(tmp_path / "out").certificate.private


@pytest.mark.parametrize("mechanism", [(), ("--mechanism", "daily", "--stream", "days")])
def test_a_delta_too_large_for_single_persons_has_to_be_asked_for_twice_and_is_said_loudly(
    daily_csv: Path, tmp_path: Path, mechanism: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    arguments = (*BASE, *DATES, "--epsilon", "0.1", "--delta", "0.1", "--out", tmp_path / "out", *mechanism)
    text = refused(*arguments, "--history", tmp_path / "never-opened.csv")
    assert "NOT PRIVATE: --delta 0.1 is above 0.001" in text
    assert "never-opened" not in text
    done = run(*arguments, "--history", daily_csv, "--allow-not-private")
    assert done.code == 0, done.err
    before, after = (" ".join(done.err.split()).split("NOT PRIVATE: delta 0.1 is above 0.001"))[1:]
    assert "holds as stated" in before
    assert "do not publish it" in after
    assert "add up" not in done.text  # the words of a private release
    certificate = pr.load_release(tmp_path / "out").certificate
    assert certificate.guaranteed
    assert not certificate.private


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*DATES,), "--epsilon and --delta are needed"),
        ((*DATES, "--epsilon", "0.1"), "--epsilon and --delta are needed"),
        ((*DATES, "--epsilon", "0", "--delta", "1e-6"), "epsilon is 0.0"),
        ((*DATES, "--epsilon", "inf", "--delta", "1e-6"), "epsilon is inf"),
        ((*DATES, "--epsilon", "1", "--delta", "1"), "delta is 1.0"),
        ((*DATES, "--epsilon", "1e-300", "--delta", "1e-300"), "larger epsilon"),
        ((*PROMISE,), "--from is missing"),
        ((*PROMISE, "--from", FIRST), "--to is missing"),
        ((*PROMISE, "--from", LAST, "--to", FIRST), "is before"),
        ((*PROMISE, "--from", "5.1.2026", "--to", LAST), "--from is '5.1.2026'; write a date like 2026-03-02"),
        ((*PROMISE, *DATES, "--set", "mechanism.window=2"), "mechanism.window is only valid with --mechanism daily"),
        (
            (*PROMISE, *DATES, "--set", "mechanism.window=9", "--mechanism", "daily"),
            "mechanism.window is 9 days where the history has 4",
        ),
        ((*PROMISE, *DATES, "--period-min", "-1"), "--period-min is -1.0"),
        ((*PROMISE, *DATES, "--period-min", "nan"), "--period-min is nan"),
        ((*PROMISE, *DATES, "--period-min", "1441"), "--period-min is 1441, and a day has 1,440 minutes"),
        ((*PROMISE, *DATES, "--expansion", "0"), "--expansion is 0.0"),
        (
            (*PROMISE, *DATES, "--set", "network.factor=2", "--latency", "bpr"),
            "network.factor is only valid with --latency affine",
        ),
        ((*PROMISE, *DATES, "--network", "missing.tntp"), "--network takes"),
    ],
)
def test_what_is_public_is_checked_before_the_private_file_is_opened(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    """The private file does not exist: opening it would be another error."""
    history = tmp_path / "never-opened.csv"
    text = refused(*BASE, "--history", history, "--out", tmp_path / "out", *arguments)
    assert message in text
    assert "never-opened" not in text


def test_a_place_that_cannot_be_written_is_refused_before_the_private_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "other.txt").write_text("")
    for place in ("file", "file/inside", "full"):
        text = refused(*BASE, "--history", tmp_path / "never-opened.csv", *DATES, *PROMISE, "--out", tmp_path / place)
        assert "--out" in text
        assert "never-opened" not in text


@pytest.mark.parametrize(
    "row",
    [
        f"{FIRST},1,2,MARK-8271",
        f"{FIRST},MARK-8271,2,1",
        f"{FIRST},1,MARK-8271,1",
        "MARK-8271,1,2,1",
        f"{FIRST},1,2,-8271",
        f"{FIRST},1,2,8271.5",
        f'{FIRST},1,2,"MARK-8271',
        f"{FIRST},1,2,3,MARK-8271",
        f"{FIRST},[bold]8271,2,3",
    ],
)
def test_an_unusable_record_stops_nothing_and_is_never_shown(tmp_path: Path, row: str) -> None:
    private = tmp_path / "daily.csv"
    private.write_text(f"date,origin,destination,trips\n{FIRST},1,2,3\n{row}\n")
    done = run(*BASE, "--history", private, *DATES, *PROMISE, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert "1 of 2 rows counted" in done.out
    assert "8271" not in done.out + done.err
    assert (tmp_path / "out").exists()


def test_a_header_of_private_names_is_not_shown(tmp_path: Path) -> None:
    private = tmp_path / "daily.csv"
    private.write_text("MARK8271,b\n1,2\n")
    assert "8271" not in refused(*BASE, "--history", private, *DATES, *PROMISE, "--out", tmp_path / "out")


@pytest.fixture
def public_csv(tmp_path: Path) -> Path:
    path = tmp_path / "public.csv"
    path.write_text("origin,destination,trips\n" + "".join(f"{zone},{zone % 24 + 1},60\n" for zone in range(1, 25)))
    return path


def test_the_papers_algorithm_takes_its_public_demand_from_a_file(
    daily_csv: Path, public_csv: Path, tmp_path: Path
) -> None:
    arguments = (*BASE, "--history", daily_csv, *DATES, *PROMISE, "--mechanism", "sgd", "--alpha", 5)
    done = run(*arguments, "--set", f"mechanism.public_demand={public_csv}", "--out", tmp_path / "out")
    assert done.code == 0, done.err
    certificate = pr.load_release(tmp_path / "out").certificate
    assert certificate.private
    assert certificate.mechanism == "sgd"
    told = run("inspect", tmp_path / "out").out
    assert "on the share of a mean pair on a link of median curvature" in " ".join(told.split())


def test_constants_of_the_paper_have_to_be_asked_for_twice_and_are_said_loudly(
    daily_csv: Path, public_csv: Path, tmp_path: Path
) -> None:
    mechanism = (
        "--mechanism",
        "sgd",
        "--alpha",
        5,
        "--set",
        f"mechanism.public_demand={public_csv}",
        "--set",
        "mechanism.constants=paper",
    )
    arguments = (*BASE, "--history", daily_csv, *DATES, *PROMISE, *mechanism, "--out", tmp_path / "out")
    assert "NOT PRIVATE" in refused(*arguments)
    done = run(*arguments, "--allow-not-private")
    assert done.code == 0, done.err
    assert "NOT PRIVATE" in done.err
    assert not pr.load_release(tmp_path / "out").certificate.private
    assert "bounded demand" in " ".join(run("inspect", tmp_path / "out").out.split())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--mechanism", "minimiser"), "needs --alpha"),
        (("--mechanism", "sgd", "--alpha", 5), "needs --set mechanism.public_demand=..."),
        (("--alpha", 5), "--alpha is only valid with"),
        (("--mechanism", "daily", "--set", "mechanism.ceiling=5"), "mechanism.ceiling is only valid with"),
        (("--mechanism", "minimiser", "--alpha", -5), "alpha is -5"),
        (("--mechanism", "minimiser", "--alpha", 5, "--set", "mechanism.ceiling=0.5"), "ceiling is 0.5"),
        (("--mechanism", "minimiser", "--alpha", 1e-9), "choose a larger tolerance or alpha"),
    ],
)
def test_options_of_noise_on_flows_are_checked_before_the_private_file_is_opened(
    options: tuple[object, ...], says: str, tmp_path: Path
) -> None:
    told = refused(*BASE, "--history", tmp_path / "none.csv", *DATES, *PROMISE, *options, "--out", tmp_path / "out")
    assert says in " ".join(told.split())
