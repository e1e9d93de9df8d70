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
from privroute.study.contribution import Contribution
from privroute.study.trip_format import TripFormat

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from privroute.history.duckdb_tables import DuckDBTable
    from privroute.history.trip_batches import Form
    from privroute.history.trip_database import Database
    from privroute.history.trip_files import Source
    from privroute.progress import Progress

__all__ = ["TRIPS", "bound_trips"]

TRIPS, ABOUT = "trips.parquet", "bound.json"
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
) -> tuple[int, int]:
    """Write PRIVATE files with at most `max_requests` trips of each user, chosen at random within each user.

    files : all trips of the data set, files or tables of DuckDB as in read_trips
    out : a folder that is not there yet, made with mode 0700
    max_per_pair : of these at most this many with the same origin and destination; needs columns of zones
    trips : names of the columns
    previous : kept sets of earlier trips of the same users. What they hold of a user counts towards the bounds, so that
        all of them together stay within: a bound for life. The files are then the new trips alone

    Rows without a user id are dropped. Read the result with `pre_bounded=True`, and several kept sets together. A
    second kept set of the same trips is another data set: never release from both.

    Returns how many rows were read and how many were kept. PRIVATE.
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
    earlier = [_checked(Path(folder), bounds) for folder in previous]
    with open_database(memory_mb, temp_folder) as database:
        source = _one_source(find_files(files, rows_are_trips=layout.rows_are_trips), roles)
        before = _one_source(earlier, roles) if earlier else None
        if before is not None and before.forms != source.forms:
            raise HistoryError(f"{earlier[0]}: its columns have other types than the new files; convert them")
        database.put("fresh", source.stream(None))
        if before is not None:
            database.put("before", before.stream(None))
        with polled("Reading trips", lambda: source.bytes_done / max(source.bytes, 1), progress):
            kept = _write(database, place, source.forms, roles, bounds, with_previous=before is not None)
    if kept is None:
        for each in (source, before):
            if each is not None:
                each.check_whole()
        raise HistoryError("the files cannot be read to their end; one of them is damaged")
    return source.read + source.malformed, kept


def _checked(folder: Path, bounds: Contribution) -> Path:
    """The file of an earlier kept set, which must have been made with the same bounds."""
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
    return folder / TRIPS


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
    *,
    with_previous: bool,
) -> int | None:
    """Write the folder beside its place and rename it, so that it is whole or not there; its rows, or None."""
    schema = pa.schema([(roles[role], _TYPES[form]) for role, form in forms.items()])
    beside = place.with_name(f".{secrets.token_hex(8)}.part")
    kept, whole = 0, False
    try:
        beside.mkdir(mode=_PRIVATE_FOLDER, parents=True)
        with pq.ParquetWriter(beside / TRIPS, schema, compression="zstd") as writer:
            for rows in database.record_batches(_kept(forms, bounds, with_previous=with_previous)):
                columns = [rows.column(role).cast(_TYPES[form]) for role, form in forms.items()]
                writer.write_batch(pa.record_batch(columns, schema=schema))
                kept += rows.num_rows
        about = {
            "notice": "PRIVATE: the trips beside this file are records of users",
            "format": _FORMAT,
            "max_requests": bounds.max_requests,
            "max_per_pair": bounds.max_per_pair,
        }
        (beside / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")
        for path in beside.iterdir():
            path.chmod(_PRIVATE_FILE)
            flush(path)
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
