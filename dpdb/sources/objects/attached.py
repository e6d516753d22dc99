"""Databases that DuckDB attaches by an extension: DuckLake and MotherDuck. One query reads one of their tables.

The extension is the owner's: it is loaded, and never fetched. Of a lake one snapshot is read, whose number is asked for
once, whatever is written meanwhile; views of it are computed of the same snapshot.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from dpdb.database import BATCH_ROWS
from dpdb.errors import SourceError
from dpdb.sources.objects.duckdb_connection import stream_of
from dpdb.sources.open import AttachedAddress
from dpdb.sources.source import choose_table, reason_in_log
from dpdb.sources.stream import Stream, StreamSource

_ATTACHED = "source_lake"
_TABLES = f"""
    SELECT schema_name, table_name, false FROM duckdb_tables() WHERE database_name = '{_ATTACHED}' AND NOT internal
    UNION ALL
    SELECT schema_name, view_name, true FROM duckdb_views() WHERE database_name = '{_ATTACHED}' AND NOT internal
    ORDER BY ALL
"""


class AttachedDatabase(StreamSource):
    """A database that an extension attaches; one of its tables or views is copied."""

    def reads(self, target: object) -> bool:
        """Say whether it is the address of one."""
        return isinstance(target, AttachedAddress)

    def stream(self, source: Any, table: str | None, *, rows: bool) -> Stream:
        """Read the table as it is now; see `StreamSource`."""
        assert isinstance(source, AttachedAddress)
        connection = _attached(source)
        with reason_in_log(f"{source.title}: its tables cannot be listed", duckdb.Error):
            found = connection.execute(_TABLES).fetchall()
        schema, name, _ = choose_table(source.title, found, table, preferred=("main",))
        place = exp.table_(name, db=schema, catalog=_ATTACHED, quoted=True).sql("duckdb")
        description = f"table {name!r} of {source.title}"
        with reason_in_log(f"{description}: cannot be read", duckdb.Error):
            described = connection.execute(f"DESCRIBE SELECT * FROM {place}").fetchall()

        def read(shown: str) -> pa.RecordBatchReader:
            """Read by a statement: the stream of a relation of DuckLake has waited for itself, in DuckDB 1.5."""
            none = "" if rows else " LIMIT 0"
            return connection.execute(f"SELECT {shown or '*'} FROM {place}{none}").to_arrow_reader(BATCH_ROWS)

        return stream_of(description, [(name, kind) for name, kind, *_ in described], read)


def _attached(source: AttachedAddress) -> duckdb.DuckDBPyConnection:
    """Connect, and attach it, a lake at its newest snapshot; what DuckDB says of an address may show a secret of it."""
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    try:
        connection.execute(f"LOAD {source.extension}")
    except duckdb.Error:
        raise SourceError(
            f"{source.title}: DuckDB's extension {source.extension!r} cannot be loaded, and dpdb fetches none: run "
            f"INSTALL {source.extension} in DuckDB {duckdb.__version__} once, as the same user"
        ) from None
    attach = f"ATTACH {exp.Literal.string(source.text).sql('duckdb')} AS {_ATTACHED}"
    with reason_in_log(f"{source.title}: cannot be attached", duckdb.Error):
        connection.execute(f"{attach} (READ_ONLY)")
        if source.extension == "ducklake":
            [(newest,)] = connection.execute(
                f"SELECT max(snapshot_id) FROM ducklake_snapshots('{_ATTACHED}')"
            ).fetchall()
            connection.execute(f"DETACH {_ATTACHED}")
            connection.execute(f"{attach} (READ_ONLY, SNAPSHOT_VERSION {int(newest)})")
    return connection
