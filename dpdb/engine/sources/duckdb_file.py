"""Tables and views of DuckDB files, attached read-only."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.engine.duckdb.database import Database
from dpdb.errors import EngineError, SourceError

__all__ = ["attach", "choose_table", "leave_out_names"]

_ATTACHED = "source_file"


def attach(database: Database, path: str, table: str | None) -> tuple[exp.Expr, bool]:
    """Attach a DuckDB file read-only; return its table (or view) and whether its rows are computed on reading.

    Those of a view are, and those of a table with generated columns.

    Raises
    ------
    SourceError
        If the file cannot be opened (with the reason), the table does not exist, or several could be meant.
    """
    try:
        database.execute(f"ATTACH {exp.Literal.string(path).sql('duckdb')} AS {_ATTACHED} (READ_ONLY)")
    except EngineError as error:
        raise SourceError(f"{path}: {_why_not(str(error))}") from None
    found = database.rows(
        f"SELECT schema_name, table_name, false FROM duckdb_tables() WHERE database_name = '{_ATTACHED}' "
        f"UNION ALL SELECT schema_name, view_name, true FROM duckdb_views() "
        f"WHERE database_name = '{_ATTACHED}' AND NOT internal ORDER BY ALL"
    )
    schema, name, is_view = choose_table(path, found, table, preferred=("main",))
    if is_view:  # it may name tables and macros of the main schema without saying so; see `leave_out_names`
        database.execute(f"SET search_path = 'main,{_ATTACHED}.main'")
    return exp.table_(name, db=schema, catalog=_ATTACHED, quoted=True), is_view or _is_generated(database, schema, name)


def leave_out_names(database: Database) -> None:
    """Forget the names of an attached file, after its view was copied: its macro ``hash`` is not what dpdb calls so."""
    database.execute("RESET search_path")


def _is_generated(database: Database, schema: str, name: str) -> bool:
    wanted = {"database_name": _ATTACHED, "schema_name": schema, "table_name": name}
    same = [exp.EQ(this=exp.column(key), expression=exp.Literal.string(value)) for key, value in wanted.items()]
    columns = exp.select(exp.Count(this=exp.Star())).from_(exp.Table(this=exp.Anonymous(this="duckdb_columns")))
    return bool(database.value(columns.where(*same, exp.column("is_generated"))))


def _why_not(problem: str) -> str:
    """Say why a file could not be attached; DuckDB speaks of the file only, no row has been read."""
    if "Could not set lock" in problem or "file handle conflict" in problem:
        return "is open for writing: close it there, or pass that connection instead of the file"
    if "without a key" in problem:
        return "is encrypted: attach it with its key in a DuckDB connection and pass that connection instead"
    if "newer version" in problem or "older version" in problem:
        return f"is of another version of DuckDB than this one ({problem.splitlines()[0]})"
    return "DuckDB cannot open it (is it damaged or cut short?); the details are in the owner's log"


def choose_table(
    description: str, found: list[tuple[str, str, bool]], wanted: str | None, *, preferred: Sequence[str]
) -> tuple[str, str, bool]:
    """Pick the wanted one of (schema, table, is view), or the only one; `preferred` schemas go first."""
    names = ", ".join(f"{schema}.{name}" for schema, name, _ in found) or "none"
    if wanted is None:
        chosen = found
        problem = f"name one with table= (it has: {names})"
    else:
        key = wanted.casefold()
        chosen = [row for row in found if row[1].casefold() == key or f"{row[0]}.{row[1]}".casefold() == key]
        if len(chosen) > 1:
            best = next((schema for schema in preferred if any(row[0] == schema for row in chosen)), None)
            chosen = [row for row in chosen if row[0] == best]
        problem = f"no table or view {wanted!r} (it has: {names})"
    if len(chosen) != 1:
        raise SourceError(f"{description}: {problem}")
    return chosen[0]
