"""SNDlib (sndlib.zib.de): networks and demands in its native format and in XML, capacities and demands in Mbit/s."""

from __future__ import annotations

import io
import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import DemandError, FormatError
from privroute.network.checks import check_type
from privroute.network.data_network import PER_MIN_OF_MBPS, Line, data_network
from privroute.network.demand import Demand
from privroute.network.network import Network
from privroute.network.pairs import Pairs
from privroute.network.text_files import Where, as_path, read_bytes, read_text

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from privroute.network.data_network import LineOptions

__all__ = ["read_sndlib", "read_sndlib_demands"]

_WORD = re.compile(r"\(|\)|[^\s()]+")
_SECTIONS = ("NODES", "LINKS", "DEMANDS", "META", "ADMISSIBLE_PATHS")
_NODE_WORDS, _LINK_WORDS, _DEMAND_WORDS = 5, 9, 8


@dataclass(frozen=True, slots=True)
class _Content:
    nodes: dict[str, tuple[float, float] | None]
    lines: list[Line]
    demands: list[tuple[str, str, float]]


def read_sndlib(path: str | os.PathLike[str], options: LineOptions | None = None) -> Network:
    """Read a network: a line's capacity is what is installed, or the largest module where nothing is.

    SNDlib's lines have no direction; each becomes a link each way with that capacity.
    """
    place = as_path(path)
    found = _read(place)
    if not found.lines:
        raise FormatError(place, "has no links; pass a file of type network")
    return data_network(place, dict(found.nodes), found.lines, options)


def read_sndlib_demands(path: str | os.PathLike[str], network: Network) -> Demand:
    """Read a demand matrix for the pairs of all nodes of the network; demands of one pair are added."""
    check_type(network, Network, "network", DemandError)
    place = as_path(path)
    index = {str(label): position for position, label in enumerate(network.node_labels)}
    pairs = Pairs.of_zones(network, on_unreachable="drop")
    rates = np.zeros(len(pairs))
    for origin, destination, mbps in _read(place).demands:
        for end in (origin, destination):
            if end not in index:
                raise FormatError(place, f"a demand names node {end[:40]!r}, which the network does not have")
        if origin == destination:
            continue
        position = int(pairs.positions([index[origin]], [index[destination]])[0])
        if position < 0:
            raise FormatError(place, f"no path leads from {origin[:40]!r} to {destination[:40]!r}")
        rates[position] += mbps * PER_MIN_OF_MBPS
    return Demand(pairs, rates)


def _read(place: Path) -> _Content:
    data = read_bytes(place)
    return _from_xml(place, data) if data.lstrip()[:1] == b"<" else _from_native(place, data)


def _from_native(place: Path, data: bytes) -> _Content:
    """Sections NAME ( entries ), an entry on each line; # begins a comment."""
    content = _Content({}, [], [])
    section = ""
    for number, line in enumerate(read_text(place, data).split("\n"), start=1):
        where = Where(place, number)
        words = _WORD.findall(line.partition("#")[0])
        if not words or words[0].startswith("?"):
            continue
        if not section:
            if words[0] not in _SECTIONS or words[1:] not in (["("], ["(", ")"]):
                raise where.error(f"{words[0][:40]!r} begins no section of SNDlib's native format")
            section = "" if words[-1] == ")" else words[0]
        elif words == [")"]:
            section = ""
        elif section == "NODES":
            name, x, y = _shape(where, words, "( x y )", (0, 2, 3), _NODE_WORDS)
            content.nodes[name] = (where.number(x, "the longitude"), where.number(y, "the latitude"))
        elif section == "LINKS":
            name, a, b, installed = _shape(where, words, "( source target ) capacity ...", (0, 2, 3, 5), _LINK_WORDS)
            numbers = [where.amount(word, "a module's capacity") for word in words[10:-1:2]]
            content.lines.append(Line(name, (a, b), _capacity(where.amount(installed, "the capacity"), numbers)))
        elif section == "DEMANDS":
            _, a, b, value = _shape(where, words, "( source target ) unit value ...", (0, 2, 3, 6), _DEMAND_WORDS)
            content.demands.append((a, b, where.amount(value, "the demand")))
    if section:
        raise FormatError(place, f"the section {section} does not end; the file is cut short")
    return content


def _shape(where: Where, words: list[str], wanted: str, places: tuple[int, ...], least: int) -> list[str]:
    if len(words) < least or words[1] != "(" or words[4] != ")":
        raise where.error(f"expected an entry like: name {wanted}")
    return [words[place] for place in places]


def _capacity(installed: float, modules: list[float]) -> float | None:
    capacity = installed or max(modules, default=0.0)
    return capacity if capacity > 0 else None


def _from_xml(place: Path, data: bytes) -> _Content:
    content = _Content({}, [], [])
    reason = ""
    try:
        for _, item in ET.iterparse(io.BytesIO(data), ("end",)):  # noqa: S314 - expat bounds the growth of entities
            _take(place, item, content)
    except (ET.ParseError, ValueError, LookupError) as problem:
        if isinstance(problem, FormatError):
            raise
        reason = f"cannot be read as XML of SNDlib ({problem})"
    if reason:
        raise FormatError(place, reason)
    if not (content.nodes or content.demands):
        raise FormatError(place, "has no nodes and no demands; it is not a file of SNDlib")
    if any(mbps < 0 for _, _, mbps in content.demands):
        raise FormatError(place, "has a demand below 0")
    return content


def _take(place: Path, item: ET.Element, content: _Content) -> None:
    """Note what one element says."""
    tag = item.tag.rpartition("}")[2]
    if tag == "node" and item.get("id"):
        x, y = (_amount(place, item, f".//{{*}}{name}") for name in ("x", "y"))
        content.nodes[str(item.get("id"))] = (x, y)
    elif tag == "nodes" and item.get("coordinatesType") == "pixel":  # places on a drawing have no lengths
        content.nodes.update(dict.fromkeys(content.nodes))
    elif tag == "link":
        installed = _amount(place, item, "{*}preInstalledModule/{*}capacity", default=0.0)
        modules = [_value(place, found.text) for found in item.findall(".//{*}addModule/{*}capacity")]
        content.lines.append(Line(str(item.get("id")), _ends(place, item), _capacity(installed, modules)))
    elif tag == "demand":
        content.demands.append((*_ends(place, item), _amount(place, item, "{*}demandValue")))


def _ends(place: Path, item: ET.Element) -> tuple[str, str]:
    found = [(item.findtext(f"{{*}}{name}") or "").strip() for name in ("source", "target")]
    if not all(found):
        raise FormatError(place, f"{item.get('id', 'an entry')!r} lacks its source or target")
    return found[0], found[1]


def _amount(place: Path, item: ET.Element, path: str, default: float | None = None) -> float:
    text = item.findtext(path)
    if text is None and default is not None:
        return default
    return _value(place, text)


def _value(place: Path, text: str | None) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise FormatError(place, f"{(text or '')[:40]!r} is not a finite number")
    return value
