"""The files of a release folder: how each is read, once and against its checksum, and what columns a table has."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from privroute.errors import ReleaseError
from privroute.network.curve_columns import CURVE_COLUMN, parameter_columns
from privroute.network.curves import CURVES
from privroute.network.text_files import map_bytes, read_bytes
from privroute.release.folder import DEMAND, FIXED_COST, LINKS, NODES, POLICY, ROUTES, STREETS, ZONES
from privroute.release.map_tables import STREET_COLUMNS, ZONE_COLUMNS

if TYPE_CHECKING:
    import mmap
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["ReleaseFiles"]

_LARGEST_TABLE = 2_000_000_000
_LARGEST_POLICY = 16_000_000_000
_POLICY_ENDING = POLICY[POLICY.index(".") :]
_MOST_VALUES = 500_000_000

_TEXT, _NUMBER, _WHOLE, _FLAG, _LINKS = pa.string(), pa.float64(), pa.int64(), pa.bool_(), pa.large_list(pa.int32())


@dataclass(frozen=True, slots=True)
class _Layout:
    """What a table has to be.

    columns : names and types, in order
    optional : columns that are empty in all rows where they are not known
    most_rows : more are not read
    """

    columns: dict[str, pa.DataType]
    optional: frozenset[str]
    most_rows: int


_LAYOUTS = {
    NODES: _Layout(
        {"node_id": _TEXT, "x_coord": _NUMBER, "y_coord": _NUMBER, "is_zone": _FLAG, "no_through": _FLAG},
        frozenset({"x_coord", "y_coord"}),
        2_000_000,
    ),
    LINKS: _Layout(
        {
            "link_id": _TEXT,
            "from_node_id": _TEXT,
            "to_node_id": _TEXT,
            "length_km": _NUMBER,
            "free_flow_min": _NUMBER,
            "capacity_per_min": _NUMBER,
            "background_per_min": _NUMBER,
            CURVE_COLUMN: _TEXT,
        },
        frozenset({"length_km"}),
        10_000_000,
    ),
    ROUTES: _Layout(
        {"origin": _TEXT, "destination": _TEXT, "route": _WHOLE, "probability": _NUMBER, "link_ids": _LINKS},
        frozenset(),
        200_000_000,
    ),
    DEMAND: _Layout(
        {"origin": _TEXT, "destination": _TEXT, "noisy_count": _WHOLE, "rate_per_min": _NUMBER},
        frozenset({"noisy_count"}),
        100_000_000,
    ),
    STREETS: _Layout(STREET_COLUMNS, frozenset(), 10_000_000),
    ZONES: _Layout(ZONE_COLUMNS, frozenset(), 2_000_000),
}


class ReleaseFiles:
    """The files of a folder. Each is read once, and what is used are the bytes whose checksum was compared.

    digests : checksums by name
    held : copy all files into memory now, so that what happens to the folder later changes nothing. Otherwise tables
        are copied and policies are mapped when they are asked for
    """

    def __init__(self, place: Path, digests: Mapping[str, object], *, held: bool = False) -> None:
        self._place, self._digests = place, digests
        self._held: dict[str, bytes | memoryview | mmap.mmap] = {}
        if held:
            self._held = {name: self._checked(name, copied=True) for name in digests}

    def __contains__(self, name: str) -> bool:
        return name in self._digests

    def check(self) -> None:
        """Compare all checksums now."""
        for name in self._digests:
            self.data(name)

    def data(self, name: str) -> bytes | memoryview | mmap.mmap:
        """The bytes of a file."""
        return self._held[name] if name in self._held else self._checked(name)

    def table(self, name: str, kind: str | None = None) -> pa.Table:
        """The table of a file.

        kind : which of the tables it is, where its name says also for which period
        """
        data = self.data(name)
        layout = _LAYOUTS[kind or name]
        _check_layout(name, pq.ParquetFile(pa.BufferReader(data)), layout)
        # labels stay dictionaries: a long one that stands in every row is one text in memory
        labels = [column for column, kind in layout.columns.items() if kind == _TEXT]
        table = pq.ParquetFile(pa.BufferReader(data), read_dictionary=labels).read(use_threads=False)
        for column in layout.columns:
            missing = table[column].null_count
            if missing and not (column in layout.optional and missing == len(table)):
                raise ReleaseError(f"{name}: {column} is empty in {missing:,} of {len(table):,} rows")
        return table

    def _checked(self, name: str, *, copied: bool = False) -> bytes | memoryview | mmap.mmap:
        """Read a file; one that is not what was released is refused."""
        data: bytes | memoryview | mmap.mmap
        if name.endswith(_POLICY_ENDING):
            data = map_bytes(self._place / name, largest=_LARGEST_POLICY, copied=copied)
        else:
            data = read_bytes(self._place / name, largest=_LARGEST_TABLE)
        if hashlib.sha256(data).hexdigest() != self._digests[name]:
            raise ReleaseError(f"{name} is not the file that was released; copy the whole folder again")
        return data


def _check_layout(name: str, file: pq.ParquetFile, layout: _Layout) -> None:
    """Refuse, by the file's own description, what is too large or has other columns."""
    found = file.schema_arrow
    # fixed costs, if there are any, and the parameters of the curves that occur stand behind the other columns
    further = [FIXED_COST, *parameter_columns(CURVES)] if name == LINKS else []
    wanted = layout.columns | {column: _NUMBER for column in further if column in found.names}
    if found.names != list(wanted) or any(found.field(column).type != kind for column, kind in wanted.items()):
        listed = ", ".join(f"{column} {kind}" for column, kind in wanted.items())
        raise ReleaseError(f"{name} has other columns than {listed}")
    about = file.metadata
    if about.num_rows > layout.most_rows:
        raise ReleaseError(f"{name} has {about.num_rows:,} rows; more than {layout.most_rows:,} are not read")
    groups = [about.row_group(position) for position in range(about.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    if size > _LARGEST_TABLE:
        raise ReleaseError(f"{name} unpacks to {size:,} bytes; more than {_LARGEST_TABLE:,} are not read")
    file.scan_contents()  # an error where a column is damaged, of which asking below would end the process
    for column in range(about.num_columns):
        values = sum(group.column(column).num_values for group in groups)
        if values > _MOST_VALUES:
            raise ReleaseError(f"{name} has {values:,} values in one column; more than {_MOST_VALUES:,} are not read")
