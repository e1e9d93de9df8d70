"""Ordinary and partitioned tables of PostgreSQL, opened for counting: `postgresql://user@host/db#schema.table`."""

from __future__ import annotations

from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from privroute.errors import HistoryError, InputError
from privroute.history.dialects import POSTGRESQL, POSTGRESQL_ASCII
from privroute.history.engine_counts import Engine, forms_of
from privroute.history.trip_tables import not_a_table
from privroute.server_address import ServerAddress, driver, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from privroute.history.trip_batches import Form

__all__ = ["open_postgresql"]

_FORMS: dict[int, Form] = {  # by the numbers of types, which are fixed
    **dict.fromkeys((20, 21, 23), "integer"),
    **dict.fromkeys((700, 701, 1700), "number"),
    **dict.fromkeys((25, 1042, 1043, 2950), "text"),
    1114: "local_us",
    1184: "utc_us",
}
_OLDEST = 140_000  # whose extract() gives exact numbers
_SCHEMA = "public"
_START = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
    "SET LOCAL search_path = pg_catalog, pg_temp",  # functions and operators are the server's own
    "SET LOCAL row_security = off",
)
# the table, its partitions and the tables that inherit from it: what each is, and what else makes its rows
_CATALOG = """
WITH RECURSIVE tree AS (
    SELECT c.oid, false AS part FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = %(schema)s AND c.relname = %(table)s
    UNION SELECT i.inhrelid, true FROM tree JOIN pg_inherits i ON i.inhparent = tree.oid
)
SELECT tree.part, CASE
    WHEN c.relkind::text <> ALL (ARRAY['r', 'p']) THEN c.relkind::text
    WHEN c.relrowsecurity THEN 'security'
    WHEN EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = c.oid) THEN 'rules'
    WHEN EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attgenerated::text <> ''
        AND a.attname = ANY (%(columns)s)) THEN 'generated'
    WHEN c.oid < 16384 THEN 'system'
    ELSE '' END
FROM tree JOIN pg_class c USING (oid) ORDER BY tree.part
"""
_KINDS = {
    "v": "a view",
    "m": "a materialised view",
    "f": "a foreign table",
    "security": "a table with row security",
    "rules": "a table with rules",
    "generated": "a table in which a column of the trips is generated",
    "system": "a table of the server's own",
}


@contextmanager
def open_postgresql(text: str, columns: Mapping[str, str], public: Mapping[str, Any]) -> Iterator[Engine]:
    """Open the table of an address.

    columns : {role: name}; public : Arrow tables by name, as statements call them
    """
    try:
        address = ServerAddress.of(text)
    except InputError as problem:
        raise HistoryError(f"{problem}") from None
    if len(address.name) not in (1, 2):
        raise HistoryError(f"{address}: name the table behind a #, like #trips or #schema.trips")
    schema, name = (_SCHEMA, *address.name)[-2:]
    table = f"{quoted(schema)}.{quoted(name)}"
    psycopg, server = driver(), None
    with suppress(psycopg.Error):  # whose words may have the user's name
        server = address.connect()
    if server is None:
        raise HistoryError(f"{address}: the server cannot be reached, or refuses the user; check the address")
    with closing(server):
        if server.info.server_version < _OLDEST:
            raise HistoryError(f"{address}: the server is older than PostgreSQL 14")
        asked = {"schema": schema, "table": name, "columns": list(columns.values())}
        forms = forms_of(f"{address}", columns, _kinds(server, address, table, asked))
        tables, values = _as_parameters(public)

        def ask(statement: str) -> Any:
            statement = statement.replace("{trips}", table).replace("%", "%%")
            for each, content in tables.items():
                statement = statement.replace(f"{{{each}}}", content)
            with server.cursor(binary=True) as cursor:
                cursor.execute(statement, {name: each for name, each in values.items() if f"({name})s" in statement})
                names = [column.name for column in cursor.description]
                rows = list(zip(*cursor.fetchall(), strict=True)) or [()] * len(names)
            if any(kind for _, kind in server.execute(_CATALOG, asked)):  # the lock does not keep new parts away
                raise ValueError
            return pa.table([pa.array(row, pa.int64()) for row in rows], names)

        utf8 = server.info.parameter_status("server_encoding") == "UTF8"
        yield Engine(f"{address}", POSTGRESQL if utf8 else POSTGRESQL_ASCII, forms, ask)


def _kinds(
    server: Any, address: ServerAddress, table: str, asked: Mapping[str, object]
) -> list[tuple[str, Form | None]]:
    """The columns of a table with their forms, in a transaction in which it stays what the catalog says."""
    parts, kinds = None, None
    with suppress(driver().Error):
        for statement in _START:
            server.execute(statement)
        parts = server.execute(_CATALOG, asked).fetchall()
        if not any(kind for _, kind in parts):
            found = server.execute(f"SELECT * FROM {table} LIMIT 0").description  # which locks it
            kinds = [(column.name, _FORMS.get(column.type_code)) for column in found]
            parts = server.execute(_CATALOG, asked).fetchall()
    for part, kind in parts or ():
        if kind:
            what = _KINDS.get(kind, "no table")
            raise not_a_table(address, f"a table of which a part is {what}" if part else what)
    if kinds is None:
        raise HistoryError(f"{address}: there is no such table, or the user may not read it")
    return kinds


def _as_parameters(public: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, list[Any]]]:
    """SQL of Arrow tables, and the parameters in it."""
    tables, values = {}, {}
    for table, content in public.items():
        parts = []
        for column in content.column_names:
            values[f"{table}_{column}"] = content.column(column).to_pylist()
            kind = "text" if pa.types.is_string(content.schema.field(column).type) else "bigint"
            parts.append(f"%({table}_{column})s::{kind}[]")
        tables[table] = f"(SELECT * FROM unnest({', '.join(parts)}) AS t({', '.join(content.column_names)}))"
    return tables, values
