"""Tables and views of DuckDB files, attached read-only."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from dpdb.database import Database
from dpdb.errors import EngineError, SourceError
from dpdb.schema import TableSchema
from dpdb.sources.kinds import FileSource
from dpdb.sources.paths import Files
from dpdb.sources.source import Source, Wanted, choose_table, declared_types, scanned

_ATTACHED = "source_file"


class DuckDBFile(FileSource):
    """A DuckDB file; one of its tables or views is read."""

    kind = "duckdb"
    title = "DuckDB"
    many = False

    def begins(self, head: bytes) -> bool:
        """Say whether these are the first bytes of a DuckDB file."""
        return head[8:12] == b"DUCK"

    def describe(self, database: Database, files: Files, wanted: Wanted) -> Source:
        """Attach the file and choose its table; see `FileSource`."""
        declared_types(database, files.place, (), wanted.types)
        scan, is_computed = _attach(database, files, wanted.table)
        found = _with_nullability(database, scanned(database, files.place, scan), scan)
        return replace(found, is_computed=is_computed, by_column=True)

    def open(self, database: Database, target: Files, wanted: Wanted) -> Source:
        """Open the table, and forget the file's names after a view was copied: its macro ``hash`` is not dpdb's."""
        found = super().open(database, target, wanted)
        database.execute("RESET search_path")
        return found


def _attach(database: Database, files: Files, table: str | None) -> tuple[exp.Table, bool]:
    """Attach a DuckDB file read-only; return its table (or view) and whether its rows are computed on reading.

    Those of a view are, and those of a table with generated columns.

    Raises
    ------
    SourceError
        If the file cannot be opened (with the reason), the table does not exist, or several could be meant.
    """
    try:
        database.execute(f"ATTACH {exp.Literal.string(files.paths[0]).sql('duckdb')} AS {_ATTACHED} (READ_ONLY)")
    except EngineError as error:
        raise SourceError(f"{files.place}: {_why_not(str(error))}") from None
    found = database.rows(
        f"SELECT schema_name, table_name, false FROM duckdb_tables() WHERE database_name = '{_ATTACHED}' "
        f"UNION ALL SELECT schema_name, view_name, true FROM duckdb_views() "
        f"WHERE database_name = '{_ATTACHED}' AND NOT internal ORDER BY ALL"
    )
    schema, name, is_view = choose_table(files.place, found, table, preferred=("main",))
    if is_view:  # it may name tables and macros of the main schema without saying so; see `open`
        database.execute(f"SET search_path = 'main,{_ATTACHED}.main'")
    return exp.table_(name, db=schema, catalog=_ATTACHED, quoted=True), is_view or _is_generated(database, schema, name)


def _is_generated(database: Database, schema: str, name: str) -> bool:
    return bool(database.rows(_columns(schema, name, "is_generated")))


def _with_nullability(database: Database, source: Source, table: exp.Table) -> Source:
    """Say of its columns which are declared NOT NULL: a fact of the catalog, which DuckDB holds rows to."""
    optional = {name for (name,) in database.rows(_columns(table.db, table.name, "is_nullable"))}
    columns = (replace(column, nullable=column.name in optional) for column in source.schema.columns)
    return replace(source, schema=TableSchema(tuple(columns)))


def _columns(schema: str, name: str, property_: str) -> exp.Select:
    """Return the query of the columns of an attached table or view that have a property."""
    wanted = {"database_name": _ATTACHED, "schema_name": schema, "table_name": name}
    same = [exp.column(key).eq(exp.Literal.string(value)) for key, value in wanted.items()]
    catalog = exp.Table(this=exp.Anonymous(this="duckdb_columns"))
    return exp.select("column_name").from_(catalog).where(*same, exp.column(property_))


def _why_not(problem: str) -> str:
    """Say why a file could not be attached; DuckDB speaks of the file only, no row has been read."""
    if "Could not set lock" in problem or "file handle conflict" in problem:
        return "is open for writing: close it there, or pass that connection instead of the file"
    if "without a key" in problem:
        return "is encrypted: attach it with its key in a DuckDB connection and pass that connection instead"
    if "newer version" in problem or "older version" in problem:
        return f"is of another version of DuckDB than this one ({problem.splitlines()[0]})"
    return "DuckDB cannot open it (is it damaged or cut short?); the details are in the owner's log"
