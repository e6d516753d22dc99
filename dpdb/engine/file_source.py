"""Scans of files: Parquet (one, a directory, a glob), CSV, and tables or views of DuckDB files."""

from __future__ import annotations

import csv
import glob
import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from sqlglot import exp

from dpdb.engine.database import Database
from dpdb.engine.schema import comparison_type, refuse_duplicate_names
from dpdb.errors import EngineError, SourceError

__all__ = ["attach", "csv_scan", "kind_of", "parquet_files", "parquet_scan"]

FileKind: TypeAlias = Literal["parquet", "csv", "duckdb"]

_CSV_SUFFIXES = {".csv": ",", ".tsv": "\t", ".csv.gz": ",", ".tsv.gz": "\t"}
_ATTACHED = "source_file"


def kind_of(path: str) -> FileKind:
    """Tell what a path holds by its first bytes, or its name where bytes do not tell.

    Raises
    ------
    SourceError
        If there is no such file, or it is none of the supported kinds.
    """
    if not path:
        raise SourceError("the path of the source is empty")
    file = Path(path)
    try:
        if file.is_dir() or (glob.has_magic(path) and not file.exists()):
            return "parquet"
        with file.open("rb") as stream:
            head = stream.read(12)
    except OSError as error:
        raise SourceError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    except ValueError:  # a NUL character
        raise SourceError(f"{path!r}: is not a path") from None
    if head[:4] == b"PAR1":
        return "parquet"
    if head[8:12] == b"DUCK":
        return "duckdb"
    if _csv_delimiter(path) is not None:
        return "csv"
    raise SourceError(f"{path}: not a Parquet, CSV (.csv, .tsv, also .gz) or DuckDB file")


# -- Parquet --------------------------------------------------------------------------------------------------


def parquet_scan(database: Database, path: str) -> exp.Expr:
    """Scan one Parquet file, all those below a directory, or those that match a glob.

    Hive partition folders add no columns: their types would be guessed from names, which may be private.
    """
    files = parquet_files(path)
    if not files:
        raise SourceError(f"{path}: no Parquet file there")
    scan = _table_function("read_parquet", [glob.escape(file) for file in files], hive_partitioning=exp.false())
    names = _parquet_names(database, files[0])
    refuse_duplicate_names(names)  # DuckDB would rename the second to name_1
    return scan


def parquet_files(path: str) -> list[str]:
    """List a file, those below a directory, or those that match a glob."""
    if Path(path).is_file():
        return [path]
    if Path(path).is_dir():
        return sorted(str(file) for file in Path(path).rglob("*.parquet"))
    # pathlib's glob takes no absolute patterns
    return sorted(file for file in glob.glob(path, recursive=True) if Path(file).is_file())  # noqa: PTH207


def _parquet_names(database: Database, file: str) -> list[str]:
    """Read the top-level column names as the file spells them; children of nested columns are passed over."""
    entries = _table_function("parquet_schema", [glob.escape(file)])
    rows = database.rows(exp.select("name", "num_children").from_(entries))
    names: list[str] = []
    pending = 0  # descendants of the current column still to come
    for name, children in rows[1:]:  # the first entry is the root
        if pending:
            pending -= 1
        else:
            names.append(str(name))
        pending += children or 0
    return names


# -- CSV ------------------------------------------------------------------------------------------------------


def csv_scan(database: Database, path: str, types: Mapping[str, str]) -> exp.Expr:
    """Scan a CSV file with a header line; columns are VARCHAR unless `types` names a type.

    Nothing is guessed from the rows: one row must not change a type and with it the meaning of the others.
    """
    delimiter = _csv_delimiter(path)
    names = _csv_header(path, delimiter or ",")
    unknown = sorted(set(types) - set(names))
    if unknown:
        raise SourceError(f"{path}: the CSV schema names {unknown[0]!r}, which is not in the header line")
    columns = exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.Literal.string(n), expression=exp.Literal.string("VARCHAR")) for n in names
        ]
    )
    rows = _table_function(
        "read_csv",
        [glob.escape(path)],
        auto_detect=exp.false(),
        header=exp.true(),
        delim=exp.Literal.string(delimiter or ","),
        quote=exp.Literal.string('"'),
        escape=exp.Literal.string('"'),
        null_padding=exp.true(),
        parallel=exp.false(),  # DuckDB's parallel reader refuses line breaks in quoted cells together with null_padding
        columns=columns,
    )
    cells = [_csv_cell(database, path, name, types.get(name)) for name in names]
    return exp.select(*cells).from_(rows).subquery("csv_row")


def _csv_cell(database: Database, path: str, name: str, declared: str | None) -> exp.Expr:
    cell = exp.column(name, quoted=True)
    if declared is None:
        return cell
    try:
        kind = database.describe(exp.select(exp.cast(exp.null(), declared, dialect="duckdb")))[0][1]
    except Exception:
        kind = None
    if kind is None or comparison_type(kind) is None:
        raise SourceError(f"{path}: column {name!r}: {declared!r} is not a SQL type that constraints can compare")
    # TRY_CAST: a cell that does not convert is NULL, so one row can neither fail the scan nor change another row.
    return exp.alias_(exp.cast(cell, kind, dialect="duckdb").transform(_as_try_cast), name, quoted=True)


def _as_try_cast(node: exp.Expr) -> exp.Expr:
    return exp.TryCast(this=node.this, to=node.args["to"]) if type(node) is exp.Cast else node


def _csv_delimiter(path: str) -> str | None:
    return next((mark for suffix, mark in _CSV_SUFFIXES.items() if path.lower().endswith(suffix)), None)


def _csv_header(path: str, delimiter: str) -> list[str]:
    reader = gzip.open if path.lower().endswith(".gz") else open
    try:
        # Rows are decoded along with the header; only the header's bytes may decide whether it can be read.
        with reader(path, "rt", encoding="utf-8-sig", errors="surrogateescape", newline="") as text:
            names = next(csv.reader(text, delimiter=delimiter), [])
        "".join(names).encode()
    except (OSError, EOFError, zlib.error, UnicodeEncodeError, csv.Error):
        raise SourceError(f"{path}: the header line cannot be read as UTF-8 CSV") from None
    if not names or any(not name.strip() for name in names):
        raise SourceError(f"{path}: the first line must name every column")
    refuse_duplicate_names(names)
    return names


# -- DuckDB ---------------------------------------------------------------------------------------------------


def attach(database: Database, path: str, table: str | None) -> tuple[exp.Expr, bool]:
    """Attach a DuckDB file read-only; return its table (or view) and whether it is a view.

    Raises
    ------
    SourceError
        If the file is in use for writing, the table does not exist, or several could be meant.
    """
    try:
        database.execute(f"ATTACH {exp.Literal.string(path).sql('duckdb')} AS {_ATTACHED} (READ_ONLY)")
    except EngineError:
        raise SourceError(
            f"{path}: cannot be opened read-only (is it open for writing? then pass that connection instead)"
        ) from None
    found = database.rows(
        f"SELECT schema_name, table_name, false FROM duckdb_tables() WHERE database_name = '{_ATTACHED}' "
        f"UNION ALL SELECT schema_name, view_name, true FROM duckdb_views() "
        f"WHERE database_name = '{_ATTACHED}' AND NOT internal ORDER BY ALL"
    )
    schema, name, is_view = choose_table(path, found, table, preferred=("main",))
    if is_view:  # a view in another schema may name a table of the main one without saying so
        database.execute(f"SET search_path = 'main,{_ATTACHED}.main'")
    return exp.table_(name, db=schema, catalog=_ATTACHED, quoted=True), is_view


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


def _table_function(name: str, files: list[str], **options: exp.Expr) -> exp.Expr:
    paths = exp.Array(expressions=[exp.Literal.string(file) for file in files])
    named = [exp.PropertyEQ(this=exp.to_identifier(key), expression=value) for key, value in options.items()]
    return exp.Table(this=exp.Anonymous(this=name, expressions=[paths, *named]))
