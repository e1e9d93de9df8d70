"""From the labels that users name to pairs of the policy."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

import numpy as np

from privroute.errors import InputError, PolicyError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from privroute.network.labels import Label
    from privroute.policy.routing_policy import RoutingPolicy

__all__ = ["MOST_PAIRS", "PairIndex", "whole"]

MOST_PAIRS = 100_000
_LABEL_TYPES = {int, str}
_LONGEST_SHOWN = 40
_EXAMPLES = 5


class PairIndex:
    """Finds pairs by the labels of their ends; a text that spells a whole number also finds that number."""

    def __init__(self, policy: RoutingPolicy) -> None:
        labels = policy.network.node_labels
        self._node: dict[object, int] = {label: node for node, label in enumerate(labels)}
        self._node |= {str(label): node for node, label in enumerate(labels)}
        zones = zip(policy.network.zones.tolist(), policy.network.zone_names, strict=True)
        for zone, name in zones:  # whose labels come first where a node has the same
            self._node[name] = self._node[str(name)] = zone
        self._zones = policy.network.zone_names
        self._nodes = len(labels)
        keys = policy.pairs.origin.astype(np.int64) * self._nodes + policy.pairs.destination
        # most releases have their pairs in order, and need no list of positions
        in_order = bool(np.all(keys[1:] > keys[:-1]))
        self._order = None if in_order else np.argsort(keys, kind="stable")
        self._keys = keys if self._order is None else keys[self._order]

    def pair(self, origin: Label, destination: Label) -> int:
        """Position of one pair, or an error that says which end is not known."""
        tail, head = self._node.get(origin, -1), self._node.get(destination, -1)
        found = self._find(tail, head) if tail >= 0 and head >= 0 else -1
        if found < 0:
            raise self._unknown(origin, destination)
        return found

    def at(self, origin: int, destination: int) -> int:
        """Position of the pair of two nodes."""
        found = self._find(origin, destination)
        if found < 0:
            raise PolicyError("the release has no routes between the zones of these places")
        return found

    def _find(self, tail: int, head: int) -> int:
        key = tail * self._nodes + head
        at = int(self._keys.searchsorted(key))
        if at < self._keys.size and self._keys[at] == key:
            return at if self._order is None else int(self._order[at])
        return -1

    def pairs(self, ends: object) -> NDArray[np.int64]:
        """Positions of many pairs, each a list of two labels."""
        if not isinstance(ends, list):
            raise InputError("pairs is not a list of pairs like [1, 20]")
        if len(ends) > MOST_PAIRS:
            raise InputError(f"pairs has {len(ends):,} entries; ask for at most {MOST_PAIRS:,} at once")
        if not set(map(type, ends)) <= {list} or not set(map(len, ends)) <= {2}:
            raise InputError("pairs has an entry that is not a list of two labels like [1, 20]")
        flat = list(chain.from_iterable(ends))
        if not set(map(type, flat)) <= _LABEL_TYPES:
            flat = [whole(end) for end in flat]
        if not set(map(type, flat)) <= _LABEL_TYPES:
            raise InputError("pairs has an end that is neither a whole number nor a text")
        found = np.fromiter(map(self._node.get, flat, repeat(-1)), np.int64, len(flat)).reshape(-1, 2)
        keys = np.where((found >= 0).all(axis=1), found[:, 0] * self._nodes + found[:, 1], -1)
        if not self._keys.size:
            at = np.zeros(keys.size, np.int64)
            known = np.zeros(keys.size, bool)
        else:
            at = np.minimum(self._keys.searchsorted(keys), self._keys.size - 1)
            known = self._keys[at] == keys
        if not known.all():
            first = int(np.argmin(known))
            raise PolicyError(f"pairs, entry {first:,}: {self._unknown(*ends[first])}")
        return np.asarray(at if self._order is None else self._order[at])

    def _unknown(self, origin: Label, destination: Label) -> PolicyError:
        for label in (origin, destination):
            if label not in self._node:
                zones = ", ".join(str(name)[:_LONGEST_SHOWN] for name in self._zones[:_EXAMPLES])
                return PolicyError(
                    f"no zone is labelled {_shown(label)}; the {len(self._zones):,} zones begin with {zones}. "
                    "/v1/network lists them, and /v1/route takes longitude,latitude"
                )
        if self._node[origin] == self._node[destination]:
            return PolicyError("origin and destination are the same node; a route needs two different ones")
        return PolicyError(f"the release has no routes from {_shown(origin)} to {_shown(destination)}")


def whole(value: object) -> object:
    """Return a number like 7.0 as 7, which JSON does not tell apart; anything else as it is."""
    return int(value) if type(value) is float and value.is_integer() else value


def _shown(label: Label) -> str:
    text = str(label)
    return repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…")
