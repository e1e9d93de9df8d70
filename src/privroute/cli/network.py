"""`privroute network`: import, check and draw networks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privroute.cli.study_options import SetOption, settings_of, with_keys
from privroute.cli.terminal import line, number_of, say, say_json
from privroute.errors import InputError

if TYPE_CHECKING:
    from privroute.network.network import Network
    from privroute.network.read_notes import ReadNotes

__all__ = ["network"]

network = typer.Typer(
    help="Import, check and draw networks: OpenStreetMap, OSMnx, GMNS, TNTP, SNDlib, Topology Zoo.",
    no_args_is_help=True,
    add_completion=False,
)

_KEYS = (
    *("network.nodes", "network.latency", "network.factor", "network.time_unit", "network.length_unit"),
    *("network.speed_unit", "zones.source", "zones.id", "zones.grid_km", "zones.connectors"),
    *("network.capacity_mbps", "network.packet_bytes", "network.queue_limit", "network.km_per_ms", "network.least_ms"),
)
_Source = Annotated[
    str,
    typer.Argument(
        metavar="NETWORK",
        help="OpenStreetMap extract (.osm, .osm.pbf), OSMnx graph (.graphml, .gpkg), GMNS folder, TNTP net file, "
        "SNDlib (native, .xml), or Topology Zoo (.graphml).",
        show_default=False,
    ),
]


@network.command("import")
@with_keys(*_KEYS)
def import_network(
    given: dict[str, Any],
    source: _Source,
    out: Annotated[Path, typer.Option(metavar="PATH", help="GMNS folder to write.", show_default=False)],
    keep_islands: Annotated[
        bool, typer.Option("--keep-islands", help="Keep streets outside of the largest connected network.")
    ] = False,
    service: Annotated[
        bool, typer.Option("--service", help="Take service roads (driveways, alleys) of an OpenStreetMap extract.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing network.")] = False,
    assigned: SetOption = None,
) -> None:
    """Write a network as a GMNS folder, with the lines, names, classes, lanes and OpenStreetMap ids of its streets.

    Nothing is downloaded: the guide says how to get an extract. With --zones or --grid-km the folder has zones, too.
    """
    from privroute.network.gmns_writing import write_gmns  # noqa: PLC0415 - numbers and readers

    if (out / "node.csv").exists() and not overwrite:
        raise InputError(f"{out} has a network already; choose another --out, or replace it with --overwrite")
    found, notes = _read(source, given, assigned, keep_islands=keep_islands, service=service)
    write_gmns(found, out)
    _tell(found, notes)
    line(f"Written: {out}", style="bold")


@network.command("check")
@with_keys(*_KEYS)
def check(
    given: dict[str, Any],
    source: _Source,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    assigned: SetOption = None,
) -> None:
    """Show what is odd about a network: lengths, speeds, capacities, dead ends, islands, one-way traps.

    A network whose units contradict its coordinates is refused, with the factor that would fit.
    """
    from dataclasses import asdict  # noqa: PLC0415

    from privroute.network.inspection import inspect_network  # noqa: PLC0415 - numbers and readers

    found, notes = _read(source, given, assigned, keep_islands=True)
    findings = inspect_network(found)
    if as_json:
        sizes = {"nodes": found.nodes, "links": found.links, "zones": int(found.zones.size)}
        say_json(
            {
                **sizes,
                "units": found.units.as_dict(),
                "left_out": notes.counts,
                "findings": [asdict(each) for each in findings],
            }
        )
        return
    _tell(found, notes)
    for each in findings:
        examples = ", ".join(str(label) for label in each.examples)
        words = each.words if each.count > 1 else _of_one(each.words)
        say(f"{each.count:,} of {each.total:,} {words} (such as {examples})", bullet=True)
    if not findings:
        line("Nothing odd was found.")


@network.command("draw")
@with_keys(*_KEYS)
def draw(
    given: dict[str, Any],
    source: _Source,
    out: Annotated[Path, typer.Option(metavar="PATH", help="Picture to write (.png, .svg, .pdf).", show_default=False)],
    assigned: SetOption = None,
) -> None:
    """Draw a network, with its links coloured by their free-flow speed or time and its zones as discs."""
    from privroute.network.draw import draw_network  # noqa: PLC0415 - numbers and readers

    found, notes = _read(source, given, assigned)
    sizes = f"{number_of(found.links, 'link')}, {number_of(found.zones.size, 'zone')}"
    draw_network(found, out, title=f"{Path(source).name}: {sizes}")
    _tell(found, notes)
    line(f"Written: {out}", style="bold")


def _read(
    source: str,
    given: dict[str, Any],
    assigned: list[str] | None,
    *,
    keep_islands: bool = False,
    service: bool = False,
) -> "tuple[Network, ReadNotes]":
    from privroute.network.read_notes import ReadNotes  # noqa: PLC0415 - numbers and readers

    notes = ReadNotes()
    settings = settings_of(None, {**given, "network.source": source}, assigned)
    found, _ = settings.source().read(notes, keep_islands=keep_islands, service=service)
    return settings.with_units(found), notes


_ONE = {"are dead ends": "is a dead end", "are on islands": "is on an island", " are ": " is ", " have ": " has "}
_ONE |= {" take ": " takes ", "their nodes": "its nodes", "than they have": "than it has"}


def _of_one(words: str) -> str:
    """The words of a finding about one link or node: 1 of 433 nodes is a dead end."""
    for several, one in _ONE.items():
        words = words.replace(several, one, 1)
    return words


def _tell(found: "Network", notes: "ReadNotes") -> None:
    say(f"{number_of(found.nodes, 'node')}, {number_of(found.links, 'link')}, {number_of(found.zones.size, 'zone')}.")
    for sentence in notes.sentences():
        say(sentence, bullet=True)
