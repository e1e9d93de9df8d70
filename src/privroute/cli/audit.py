"""`privroute audit`: test whether a mechanism violates its guarantee."""

import math
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

import privroute as pr
from privroute.cli.study_options import StudyArgument, settings_of, with_keys
from privroute.cli.terminal import bar, chance, line, say, say_json, table, warn
from privroute.errors import InputError, arg
from privroute.study.guarantee import short

if TYPE_CHECKING:
    from privroute.evaluate.attack import Attack

__all__ = ["audit"]

_ATTACKED_DAYS = 50
_ATTACKED_ALPHA = 400 / 60  # vehicle-minutes per minute, of mechanisms that need it
_CALIBRATION = 100
_BLIND = 0.1  # a test is called weak if it accepts an accuracy this far above the allowed one
_SEED = 1  # of the days around the trip and of the coins; the noise of the releases has no seed


@with_keys("mechanism.name", "guarantee.epsilon", "guarantee.delta")
def audit(
    given: dict[str, Any],
    study: StudyArgument = None,
    attack: Annotated[
        bool, typer.Option("--attack", help="Try to detect one rare trip in published flows and in releases instead.")
    ] = False,
    runs: Annotated[
        int | None,
        typer.Option(
            min=50,
            max=1_000_000,
            help="Number of releases of each data set. Default: 2000. With --attack, number of trials. Default: 1000.",
        ),
    ] = None,
    false_alarm: Annotated[float, typer.Option(help="Probability that a correct mechanism fails the test.")] = 1e-3,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Test a mechanism.

    The mechanism, epsilon and delta come from a study file or from the flags below. Defaults: counts, delta 1e-6, and
    epsilon 4 (the test has little power below 3), or 0.1 with --attack. Exits with code 1 if the releases violate the
    guarantee.
    """
    settings = settings_of(study, given)
    mechanism = settings.get("mechanism.name")
    if mechanism == "none":
        raise InputError(f"{arg('mechanism', 'none')} has no guarantee to test; choose another mechanism")
    epsilon = settings.values.get("guarantee.epsilon", 0.1 if attack else 4.0)
    promise = pr.Guarantee(epsilon, settings.values.get("guarantee.delta", 1e-6))
    if attack:
        trials = runs or 1000
        _attack(mechanism, promise, trials + trials % 2, false_alarm, as_json=as_json)
        return
    from privroute.evaluate.audit import audit as run_audit  # noqa: PLC0415 - the private side
    from privroute.evaluate.audit import worst_case  # noqa: PLC0415
    from privroute.mechanism.learn import Announcement, warn_of_large_delta  # noqa: PLC0415
    from privroute.study.mechanisms import as_mechanism  # noqa: PLC0415

    runs = runs or 2000
    chosen, data = worst_case(mechanism)
    warn_of_large_delta(promise)
    announced = Announcement(pr.Study(data[0], data[1].frame, promise, as_mechanism(chosen), quality_share=0.0))
    if not as_json:
        say(f"Making {runs:,} releases of each of two data sets with {mechanism} ...")
    with bar() as progress:
        found = run_audit(
            lambda _, history: announced.release(history),
            promise,
            data=data,
            runs=runs,
            false_alarm=false_alarm,
            progress=progress,
        )
    if as_json:
        say_json(
            {
                **_promised(mechanism, promise),
                "runs": runs,
                "false_alarm": false_alarm,
                "epsilon_lower_bound": found.epsilon_lower_bound,
                "passed": found.passed,
            }
        )
        _exit_unless(passed=found.passed)
        return
    line(f"Mechanism {mechanism}, guarantee: epsilon {promise.epsilon:g}, delta {short(promise.delta)}")
    line(
        f"Found: epsilon is at least {found.epsilon_lower_bound:.4g} (wrong with probability at most {false_alarm:g}; "
        f"{runs:,} releases of each data set)"
    )
    _exit_unless(passed=found.passed)
    if found.epsilon_lower_bound == 0:
        say("This number of releases cannot distinguish the two data sets; increase --runs or --epsilon.")
    line("Passed: no violation of the guarantee found.", style="bold green")
    say(
        "One data set contains a single trip between two zones that nobody else travels between; the other does not. "
        "The released count of that pair, or its released routes, does not distinguish them better than the guarantee "
        "allows. This test detects large errors, such as too little noise. It cannot prove that there are none, and "
        "with few runs its bound is far below the true value. The proofs are in docs/proofs."
    )


def _attack(mechanism: str, promise: pr.Guarantee, trials: int, alarm: float, *, as_json: bool) -> None:
    from privroute.evaluate.attack import (  # noqa: PLC0415 - the private side
        answer_without_noise,
        attack_flows,
        attack_releases,
        rare_trip,
    )

    scenario = pr.sioux_falls()
    network = scenario.network
    history = pr.simulate_days(scenario.demand, days=_ATTACKED_DAYS, seed=_SEED)
    case = rare_trip(history, pair=0)
    on_flows: dict[str, pr.Minimiser | pr.Sgd] = {
        "minimiser": pr.Minimiser(alpha=_ATTACKED_ALPHA),
        "sgd": pr.Sgd(public_demand=scenario.demand, alpha=_ATTACKED_ALPHA),
    }
    if not as_json:
        say(
            f"Running {trials:,} trials with published flows, then {2 * (trials + 2 * _CALIBRATION):,} releases, half "
            f"of them with {mechanism} ..."
        )
    with bar() as progress:
        found = [*attack_flows(network, history, trials=trials, false_alarm=alarm, seed=_SEED, progress=progress)]
    for name, promised in (("none", None), (mechanism, promise)):
        chosen: str | pr.Minimiser | pr.Sgd = on_flows.get(name, name)
        with bar() as progress:
            found.append(
                attack_releases(
                    partial(pr.learn, network, guarantee=promised, mechanism=chosen, quality_share=0.0),
                    partial(answer_without_noise, network, guarantee=promised, mechanism=chosen),
                    case,
                    promised,
                    trials=trials,
                    calibration=_CALIBRATION,
                    false_alarm=alarm,
                    seed=_SEED,
                    progress=progress,
                )
            )
    if as_json:
        say_json(
            {
                **_promised(mechanism, promise),
                "days": history.days,
                "attacks": [
                    {**row.as_dict(), "published": name}
                    for name, row in zip(_names(found, mechanism, promise), found, strict=True)
                ],
            }
        )
        _exit_unless(passed=found[-1].passed)
        return
    _show(found, mechanism, promise, history.days)


def _show(found: "list[Attack]", mechanism: str, promise: pr.Guarantee, days: int) -> None:
    release = found[-1]
    say(
        f"Sioux Falls, {days} simulated days. A coin flip decides whether the data contain one trip between two places "
        "that nobody else travels to or from. The attacker sees the publication, knows everything except the coin "
        "flip, and guesses its result."
    )
    table(
        f"Right answers in {release.trials:,} trials (50 % is guessing)",
        ["published", "right", "at least", "at most", "allowed"],
        [
            (
                name,
                chance(row.accuracy),
                chance(row.confidence[0]),
                chance(row.confidence[1]),
                "-" if row.limit is None else chance(row.limit),
            )
            for name, row in zip(_names(found, mechanism, promise), found, strict=True)
        ],
    )
    _exit_unless(passed=release.passed)
    line("Passed: no violation of the guarantee found.", style="bold green")
    least = math.floor(100 * found[1].least_delta(promise.epsilon)) / 100
    say(
        "The flows are exact, so they balance at the destination of the trip only if the trip was not made. An "
        f"attacker who knows the map detects it, and no guarantee with a delta below {least:g} is possible. A policy "
        "without noise reveals the trip to an attacker who knows all other trips. For a release, no attacker is right "
        "in more than (e^epsilon + delta)/(1 + e^epsilon) of the trials."
    )
    most, allowed = release.most_hits / release.trials, release.limit or 0.0
    say(
        f"The test fails if more than {release.most_hits:,} of the {release.trials:,} answers about releases are right "
        f"({chance(most)}). A correct mechanism fails with probability {release.false_alarm:g} at most. For details "
        "see docs/attack.md."
    )
    if most - allowed > _BLIND:
        say(
            f"With this number of trials the test detects only large errors: an accuracy of up to {chance(most)} "
            f"passes, where {chance(allowed)} is allowed. Increase --runs."
        )


def _names(found: "list[Attack]", mechanism: str, promise: pr.Guarantee) -> list[str]:
    release = f"{mechanism}, epsilon {promise.epsilon:g}, delta {short(promise.delta)}"
    return [*(row.published for row in found[:2]), "routing policy without noise", release]


def _exit_unless(*, passed: bool) -> None:
    """Warn and exit with code 1 if the test failed."""
    if not passed:
        warn("FAILED: the releases can be distinguished better than the guarantee allows.")
        warn("Do not publish releases of this version. Keep this output and report it to the project.")
        raise typer.Exit(1)


def _promised(mechanism: str, promise: pr.Guarantee) -> dict[str, Any]:
    return {"mechanism": mechanism, "epsilon": promise.epsilon, "delta": promise.delta}
