"""`privroute audit`: try to catch the mechanism breaking its promise."""

from typing import Annotated

import typer

import privroute as pr
from privroute.cli.mechanisms import MechanismName
from privroute.cli.terminal import bar, line, say, warn

__all__ = ["audit"]


def audit(
    mechanism: Annotated[MechanismName, typer.Option(help="The mechanism to test.")] = "counts",
    epsilon: Annotated[
        float, typer.Option(help="The epsilon it promises; a few thousand runs see little below 3.")
    ] = 4.0,
    delta: Annotated[float, typer.Option(help="The delta it promises.")] = 1e-6,
    runs: Annotated[int, typer.Option(min=50, max=1_000_000, help="Releases of each of the two data sets.")] = 2000,
    false_alarm: Annotated[float, typer.Option(help="How often a sound mechanism may be accused.")] = 1e-3,
) -> None:
    """Release two data sets that differ in one trip many times, and see how well they can be told apart.

    Leaves with exit code 1 if the releases contradict the promise.
    """
    from privroute.evaluate.audit import audit as run_audit  # noqa: PLC0415 - the private side
    from privroute.evaluate.audit import worst_case  # noqa: PLC0415

    promise = pr.Guarantee(epsilon=epsilon, delta=delta)
    chosen, data = worst_case(mechanism)
    with bar(f"Releasing with {mechanism}", runs) as done:
        found = run_audit(
            lambda network, history: pr.learn(network, history, promise, chosen),
            promise,
            data=data,
            runs=runs,
            false_alarm=false_alarm,
            progress=done,
        )
    line(f"Mechanism {mechanism}, promised: epsilon {promise.epsilon:g}, delta {promise.delta:g}")
    line(
        f"Found: epsilon is at least {found.epsilon_lower_bound:.4g} (wrong with probability at most {false_alarm:g}; "
        f"{runs:,} releases of each data set)"
    )
    if not found.passed:
        warn("FAILED: the releases can be told apart better than the promise allows.")
        say("Do not publish releases of this version. Keep this output and report it to the project.")
        raise typer.Exit(1)
    if found.epsilon_lower_bound == 0:
        say("That is: so many releases do not tell the two apart; more --runs or a larger --epsilon see more.")
    line("Passed: nothing contradicts the promise.", style="bold green")
    say(
        "One data set has a single trip between two zones that nobody else travels between, the other one has not; "
        "whoever looks at the released count of that pair, or at its released routes, tells them apart no better than "
        "promised. A test like this "
        "finds gross faults, such as too little noise; it cannot prove that there are none, and its bound is far below "
        "the truth where runs are few. The proof is in docs/proofs."
    )
