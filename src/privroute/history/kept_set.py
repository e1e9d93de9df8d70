"""The kept set of a data set at user level: at most k trips of each user, chosen once, before the first release.

Every release from the kept set then counts at most k requests of a user in all, whatever its dates and periods, so a
ledger with kept requests adds up only what overlaps (docs/proofs/ledger.md, Theorem 4). What is kept of a user depends
on that user's rows and a salt alone (docs/proofs/user.md, Lemmas 1 and 4).
"""

from __future__ import annotations

import json
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from privroute.errors import FormatError, HistoryError, arg, named
from privroute.history.bounding import new_salt
from privroute.history.trip_columns import user_key, zone_key
from privroute.history.trip_database import UnreadableError, open_database
from privroute.history.trip_files import find_files, sources
from privroute.network.checks import show
from privroute.progress import check_progress, polled
from privroute.release.folder import flush
from privroute.study.contribution import Contribution, is_set_name
from privroute.study.trip_format import TripFormat

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from privroute.history.duckdb_tables import DuckDBTable
    from privroute.history.trip_batches import Form
    from privroute.history.trip_database import Database
    from privroute.history.trip_files import Source
    from privroute.progress import Progress

__all__ = ["TRIPS", "bound_trips", "check_kept_set"]

TRIPS, ABOUT = "trips.parquet", "bound.json"
_CONTINUED = "continued"
_FORMAT = 1
_PRIVATE_FOLDER, _PRIVATE_FILE = 0o700, 0o600
_TYPES: dict[str, Any] = {
    "integer": pa.int64(),
    "number": pa.float64(),
    "text": pa.large_string(),
    "local_us": pa.timestamp("us"),
    "utc_us": pa.timestamp("us", "UTC"),
}


def bound_trips(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    max_requests: int,
    max_per_pair: int | None = None,
    trips: TripFormat | None = None,
    previous: Sequence[str | os.PathLike[str]] = (),
    memory_mb: int = 512,
    temp_folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> tuple[int, int, str]:
    """Write PRIVATE files with at most `max_requests` trips of each user, chosen at random within each user.

    files : all trips of the data set, files or tables of DuckDB as in read_trips
    out : a folder that is not there yet, made with mode 0700
    max_per_pair : of these at most this many with the same origin and destination; needs columns of zones
    trips : names of the columns
    previous : all parts of the kept set so far. What they hold of a user counts towards the bounds, so that all parts
        together stay within: a bound for life. The files are then the new trips alone

    Rows without a user id are dropped. Read the result with `pre_bounded=True` and the set's name, and all parts
    together. A second kept set of the same trips has another name, and a ledger charges what is released from it apart.

    Returns how many rows were read and how many were kept, PRIVATE, and the name of the kept set, which is random.
    """
    check_progress(progress)
    bounds = Contribution("user", max_requests, max_per_pair, pre_bounded=True)
    layout = trips or TripFormat()
    if max_per_pair is not None and layout.has_coordinates:
        raise HistoryError(
            f"{named('max_per_pair')} needs columns of zones; omit it with coordinates, and bound users alone"
        )
    place = Path(out)
    if place.exists():
        raise HistoryError(f"{place} already exists; a kept set is made once and never replaced: choose another folder")
    roles = layout.roles(with_user=True)
    if len(set(roles.values())) < len(roles):
        raise HistoryError("one column is named for two things; a kept set has a column for each: copy it first")
    parts = [_checked(Path(folder), bounds) for folder in previous]
    name, number = _next_part(parts)
    earlier = [part.folder / TRIPS for part in parts]
    with open_database(memory_mb, temp_folder) as database:
        source = _one_source(find_files(files, rows_are_trips=layout.rows_are_trips), roles)
        before = _one_source(earlier, roles) if earlier else None
        if before is not None and before.forms != source.forms:
            raise HistoryError(f"{earlier[0]}: its columns have other types than the new files; convert them")
        database.put("fresh", source.stream(None))
        if before is not None:
            database.put("before", before.stream(None))
        with polled("Reading trips", lambda: source.bytes_done / max(source.bytes, 1), progress):
            kept = _write(database, place, source.forms, roles, bounds, (name, number), parts)
    if kept is None:
        for each in (source, before):
            if each is not None:
                each.check_whole()
        raise HistoryError("the files cannot be read to their end; one of them is damaged")
    return source.read + source.malformed, kept, name


@dataclass(frozen=True, slots=True)
class _Part:
    """A folder that was made earlier: the name of its kept set, and its number among the parts."""

    folder: Path
    name: str
    number: int


def _next_part(parts: Sequence[_Part]) -> tuple[str, int]:
    """Name and number of a new part: it continues one kept set, and knows all of its parts."""
    if not parts:
        return secrets.token_hex(8), 1
    if len({part.name for part in parts}) > 1:
        raise HistoryError(
            f"{parts[1].folder} is not a part of the kept set of {parts[0].folder}; pass parts of one set"
        )
    numbers = sorted(part.number for part in parts)
    if numbers != list(range(1, len(parts) + 1)):
        raise HistoryError(
            f"the parts {', '.join(map(str, numbers))} of the kept set {parts[0].name} were passed; a limit for life "
            "needs all of them, each once"
        )
    last = max(parts, key=lambda part: part.number)
    if (last.folder / _CONTINUED).exists():
        raise HistoryError(
            f"{last.folder} is not the last part of its kept set: a later one was made with it; pass that one, too. If "
            f"it is lost and nothing was released from it, remove the file {_CONTINUED} there"
        )
    return last.name, last.number + 1


def _checked(folder: Path, bounds: Contribution) -> _Part:
    """An earlier part, which must have been made with the same bounds."""
    about = None
    with suppress(OSError, ValueError):
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise FormatError(folder, "is not a kept set that privroute bound made")
    if (about.get("max_requests"), about.get("max_per_pair")) != (bounds.max_requests, bounds.max_per_pair):
        raise HistoryError(
            f"{folder} was made with {arg('max_requests')} {show(about.get('max_requests'))} and {arg('max_per_pair')} "
            f"{show(about.get('max_per_pair'))}; a bound for life is the same for all parts"
        )
    name, number = about.get("name"), about.get("part")
    if not is_set_name(name) or type(number) is not int:
        raise FormatError(folder, "is a kept set without a name, made by version 0.2; make one of all trips")
    return _Part(folder, str(name), number)


def check_kept_set(files: Sequence[object], kept: Contribution | None) -> None:
    """Refuse files of another kept set than the one that is named; folders that `bound_trips` made name theirs."""
    for folder in dict.fromkeys(file.parent for file in files if isinstance(file, Path)):
        name = None
        with suppress(OSError, ValueError, AttributeError):
            name = json.loads((folder / ABOUT).read_text(encoding="utf-8")).get("name")
        if name is not None and kept is not None and kept.kept_set not in (None, name):
            raise HistoryError(
                f"{folder} is of the kept set {show(name)}, and {named('kept_set')} is {show(kept.kept_set)}; "
                "pass that name"
            )


def _mark_continued(parts: Sequence[_Part]) -> None:
    """Note in the last part that there is a later one, before that one is there."""
    last = max(parts, key=lambda part: part.number).folder
    try:
        (last / _CONTINUED).touch(mode=_PRIVATE_FILE, exist_ok=False)
        flush(last)
    except OSError as problem:
        raise HistoryError(
            f"{last} cannot be marked as continued ({problem.strerror}), so a second later part could not be "
            "noticed; make the folder writable"
        ) from None


def _one_source(paths: Sequence[Path | DuckDBTable], roles: Mapping[str, str]) -> Source:
    found = sources(paths, roles)
    if len(found) > 1:
        raise HistoryError(
            "the files have columns of different types; convert them to the same types, so that a user has one id in "
            "all of them"
        )
    return found[0]


def _write(
    database: Database,
    place: Path,
    forms: Mapping[str, Form],
    roles: Mapping[str, str],
    bounds: Contribution,
    named: tuple[str, int],
    parts: Sequence[_Part],
) -> int | None:
    """Write the folder beside its place and rename it, so that it is whole or not there; its rows, or None."""
    schema = pa.schema([(roles[role], _TYPES[form]) for role, form in forms.items()])
    beside = place.with_name(f".{secrets.token_hex(8)}.part")
    kept, whole = 0, False
    try:
        beside.mkdir(mode=_PRIVATE_FOLDER, parents=True)
        with pq.ParquetWriter(beside / TRIPS, schema, compression="zstd") as writer:
            for rows in database.record_batches(_kept(forms, bounds, with_previous=bool(parts))):
                columns = [rows.column(role).cast(_TYPES[form]) for role, form in forms.items()]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                kept += rows.num_rows
        about = {
            "notice": "PRIVATE: the trips beside this file are records of users",
            "format": _FORMAT,
            "name": named[0],
            "part": named[1],
            "max_requests": bounds.max_requests,
            "max_per_pair": bounds.max_per_pair,
        }
        (beside / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        for path in beside.iterdir():
            path.chmod(_PRIVATE_FILE)
            flush(path)
        if parts:
            _mark_continued(parts)
        beside.rename(place)
        flush(place.parent)
        whole = True
    except UnreadableError:
        pass
    except OSError as problem:
        raise HistoryError(f"{place} cannot be written ({problem.strerror}); check the folder") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return kept if whole else None


def _kept(forms: Mapping[str, Form], bounds: Contribution, *, with_previous: bool) -> str:
    """SQL of the rows to keep. Keys come from the row and a new salt; earlier rows go first."""
    key = user_key("user_id", forms["user_id"])
    if key is None:
        raise HistoryError("the column of user ids holds neither whole numbers nor texts")
    zones = [zone_key(role, forms[role]) for role in ("origin", "destination") if role in forms]
    pair = ", ".join(f"coalesce(CAST({zone[0]} AS VARCHAR), '')" for zone in zones if zone is not None)
    names = ", ".join(forms)
    salt = new_salt()
    parts = [f"SELECT {names}, 1 AS later FROM fresh"]
    if with_previous:
        parts.append(f"SELECT {names}, 0 AS later FROM before")
    owned = f"SELECT *, {key} AS owner, {f'concat_ws(chr(31), {pair})' if pair else 'NULL'} AS ends FROM ("
    owned += " UNION ALL ".join(parts) + ")"
    # rows are equal where their keys are made of the same texts: 0.0 and -0.0 are equal numbers with different keys
    equal = ", ".join(f"CAST({name} AS VARCHAR)" if form == "number" else name for name, form in forms.items())
    numbered = (
        f"SELECT *, row_number() OVER (PARTITION BY later, owner, {equal}) AS copy FROM ({owned}) "
        "WHERE owner IS NOT NULL"
    )
    texts = " || '/' || ".join(f"coalesce(CAST({name} AS VARCHAR), '')" for name in forms if name != "user_id")
    keyed = f"SELECT *, md5_number('{salt}' || '/' || {texts} || '/' || copy || '/' || owner) AS key FROM ({numbered})"
    order = f"ORDER BY later, key, copy, {names}"
    per_pair = f"SELECT *, row_number() OVER (PARTITION BY owner, ends {order}) AS of_pair FROM ({keyed})"
    within = f"SELECT * FROM ({per_pair}) WHERE of_pair <= {bounds.max_per_pair}"
    per_user = f"SELECT *, row_number() OVER (PARTITION BY owner {order}) AS of_user FROM ({within})"
    return f"SELECT {names} FROM ({per_user}) WHERE of_user <= {bounds.max_requests} AND later = 1"
