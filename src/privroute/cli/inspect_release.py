"""`privroute inspect`: show a certificate in plain language."""

import math
from typing import Annotated

import typer

import privroute as pr
from privroute.cli import inputs
from privroute.cli.terminal import heading, line, say, say_json, table
from privroute.policy.routes import count_text
from privroute.release.explanation import budget_in_words, explain, odds_factor, periods_in_words
from privroute.release.signal import Signal
from privroute.release.signing import signed_by
from privroute.release.usefulness import is_thin, is_unproved, period_values, quality_values, useful_in_words

__all__ = ["inspect", "routes_in_words", "show_periods"]

_WRONG_VERDICTS = 0.025


def inspect(
    release: inputs.ReleaseArgument,
    at: inputs.AtOption = None,
    trusted: inputs.TrustedOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Explain what a release protects, how strongly, and what it does not protect."""
    found = pr.load_release(release, trusted=trusted)
    found = found if at is None else found.at(at)
    signer = signed_by(release)
    certificate, words, size = found.certificate, explain(found.certificate), found.policy.summary()
    network, signal = found.network, Signal.of(found)
    if as_json:
        known = certificate.guaranteed and certificate.rho is not None and certificate.delta is not None
        say_json(
            {
                "private": certificate.private,
                "signed_by": signer,
                "signature_checked": trusted is not None,
                "odds_factor": odds_factor(certificate.rho or 0.0, certificate.delta or 0.0) if known else None,
                "certificate": certificate.as_dict(),
                "quality": quality_values(found),
                **({"periods": [period_values(each) for each in found.each()]} if found.parts else {}),
                "signal": None if signal is None else signal.as_dict(),
                "words": words.as_dict(),
                "network": {"nodes": network.nodes, "links": network.links, "zones": int(network.zones.size)},
                "policy": {"pairs": size.pairs, "paths": size.paths, "most_paths": size.most_paths},
                "demand_released": found.demand is not None,
                "units": network.units.as_dict(),
            }
        )
        return
    line(f"Release {release}", style="bold")
    say(words.verdict, style="bold green" if certificate.private else "bold white on red")
    say(f"For {certificate.calendar}.")
    if found.parts:
        heading("Periods")
        say(periods_in_words(certificate))
        show_periods(found)
    heading("How useful it is" + (f", {found.slot}" if found.parts else ""))
    for sentence in useful_in_words(found):
        say(sentence, bullet=True)
    for title, _, sentences in words.sections:
        heading(title)
        for sentence in sentences:
            say(sentence, bullet=True)
    heading("Contents")
    say(f"{network.nodes:,} nodes, {network.links:,} links, {network.zones.size:,} zones.", bullet=True)
    say(network.units.said(f"Travel times: {network.latency.words}."), bullet=True)
    say(f"Routes: {routes_in_words(found.policy)}.", bullet=True)
    say(_demand(found), bullet=True)
    versions = ", ".join(f"{name} {version}" for name, version in certificate.versions.items())
    say(_signed(signer, checked=trusted is not None), bullet=True)
    say(f"Budget: {budget_in_words(certificate)}. Created with {versions or 'unknown versions'}.", bullet=True)


def _signed(signer: str | None, *, checked: bool) -> str:
    if signer is None:
        return "Not signed: that its files belong together was checked, who made them was not."
    return (
        f"Signed with the trusted key {signer}."
        if checked
        else f"Signed, as it says, with the key {signer}; to check it, pass --trusted."
    )


def show_periods(found: pr.Release) -> None:
    """One line for each period: its traffic, what was measured, and whether it is too thin to be used."""
    rows, units = [], found.network.units
    for each in found.each():
        values = period_values(each)
        rows.append(
            (
                str(each.slot),
                "-" if each.demand is None else units.flow_text(each.demand.total_per_min),
                "not measured" if each.quality is None else f"{each.quality.above_optimum}",
                values["verdict"],
            )
        )
    columns = ["period", units.flow.replace(" ", "\n", 1), "above optimum", "verdict"]
    table("Policies by period", columns, rows, left=(0, 3))
    measured = [each for each in found.each() if each.quality is not None]
    unproved = [str(each.slot) for each in measured if is_unproved(each)]
    thin = [str(each.slot) for each in measured if is_thin(each)]
    if unproved:
        say(f"Undecided, or worse than no data: {_listed(unproved, found)}.")
    if thin:
        say(f"Too thin, the noise drowns the counts of single pairs: {_listed(thin, found)}.")
    if len(measured) > 1:
        wrong = math.ceil(_WRONG_VERDICTS * len(measured))
        say(f"Each verdict holds by itself; of {len(measured):,} up to about {wrong:,} may be wrong by chance.")


def _listed(periods: list[str], found: pr.Release) -> str:
    return "all periods" if len(periods) == len(found.slots) else ", ".join(periods)


def _demand(found: pr.Release) -> str:
    if found.demand is None:
        return "Demand: none; only the routes were released."
    kind = "with noise, released with the routes" if found.certificate.private else "NOT PRIVATE"
    units = found.network.units
    return f"Demand: {units.flow_text(found.demand.total_per_min)} {units.flow} in total ({kind})."


def routes_in_words(policy: pr.RoutingPolicy) -> str:
    """The size of a policy."""
    size = policy.summary()
    total = count_text(size.paths)
    each = "" if total.startswith("more") else f" ({size.mean_paths:.2f} per pair, at most {size.most_paths})"
    return f"{size.pairs:,} pairs, {total} routes{each}, {size.mean_links:.1f} links per route"
