"""Sources: what the user points at, turned into one scan that our own database can read.

A source is only ever read. Whatever can be wrong with its rows is found when it is opened: files are read once,
completely, and what is no plain table (CSV, streams, relations, views) is copied into our database then, so that every
release sees the same rows and none fails on what they are.

A path names files, and these tell their kind: to find them reads no row. What is no local table is refused, with what
to do instead; so are texts that are addresses, unless dpdb reads them.

From an address come local copies of its files, fetched once, when the table is opened. A release never waits for a
network, and what is fetched cannot change between two releases of a session. A ledger compares the rows, not the
addresses. Names and passwords of an address are shown nowhere.

A token changes when the rows of a source may have changed. It is private: a ledger keeps it under its key.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.database import Database
from dpdb.errors import EngineError, ParameterError, SourceError
from dpdb.files.new_file import WorkFolder
from dpdb.schema import Column, TableSchema, TypeOrigin
from dpdb.sources.cells.delimiter import parse_delimiter
from dpdb.sources.kinds import FileSource, file_kinds, kind_of
from dpdb.sources.paths import (
    Files,
    is_many,
    listed,
    named_place,
    partitions,
    refuse_logs,
    refuse_underscores,
    root_of,
    state_of_files,
)
from dpdb.sources.source import Reading, Source, SourceLike, Wanted, declared_column, null_of, presence

if TYPE_CHECKING:
    from dpdb.sources.cells.writing import Writing


def open_source(
    database: Database,
    source: SourceLike,
    *,
    table: str | None = None,
    csv_schema: Mapping[str, str] | None = None,
    rows: Reading = Reading.ALL,
    delimiter: str | None = None,
    likely_delimiter: str | None = None,
) -> Source:
    """Make `source` readable in `database` and read its schema.

    Parameters
    ----------
    source
        Path of a Parquet, CSV or JSON-lines file, of a directory or glob of one kind (see `find_files`); of an Arrow,
        Excel, SQLite or DuckDB file; of a table of a lake (see `lake_table`); an address or ``-`` (`fetched_files`);
        a DuckDB connection or relation; a connection of an ADBC driver or ``adbc:DRIVER:URI``;
        ``ducklake:...`` or ``md:...``; a pyarrow Table, Dataset
        or RecordBatchReader; anything with ``__arrow_c_stream__`` (pandas, Polars). How CSV text is cut into rows is in
        `csv.lines`.
    table : str, optional
        Table or view (``"name"`` or ``"schema.name"``) of a database, sheet of a workbook; needed if there are several.
    csv_schema : mapping of column name to SQL type, optional
        Types of columns of cells (CSV, Excel, JSON lines, which need it), and in names of folders (``year=2024``); the
        others are VARCHAR, because types guessed from rows would depend on private rows. A cell that does not convert
        to its type is NULL. The key ``*`` says how all cells are written; see `dpdb.sources.cells.writing`.
    rows : Reading
        Which rows are wanted. Names and types are public, rows are not.
    delimiter : str, optional
        The character at which CSV text is cut, see `parse_delimiter`; a file of any other name that is of no known kind
        is CSV text, too. Without it, see `told_delimiter`.

    Raises
    ------
    ParameterError
        If the delimiter is none, or what is said of all cells is wrong.
    SourceError
        If there is no such file or table, its schema is not usable, or its rows cannot be read. All wanted rows are
        read here, so that no release fails on what they are; the message tells nothing of them.
    """
    mark, likely = (None if text is None else parse_delimiter(text) for text in (delimiter, likely_delimiter))
    types, writing = _written(csv_schema or {}, mark)
    mark = mark if writing is None else writing.delimiter
    is_text = mark is not None or likely is not None or (writing is not None and writing.is_of_csv)
    target = source
    if isinstance(source, (str, os.PathLike)):
        place = os.fspath(source)
        target = AdbcAddress.parse(place) or AttachedAddress.parse(place) or _files(place, database, or_text=is_text)
    kind = kind_of(target)
    if mark is not None or writing is not None:
        _refuse_text(kind, target, mark, writing)
    return kind.open(database, target, Wanted(table, types, rows, mark, likely, writing))


def _written(types: Mapping[str, str], mark: str | None) -> tuple[Mapping[str, str], Writing | None]:
    """Part a schema into types of columns and what it says of all cells, with the delimiter that is given beside it."""
    if "*" not in types:
        return types, None
    from dpdb.sources.cells.writing import split_writing

    own, writing = split_writing(types)
    if mark is not None and writing is not None:
        if writing.delimiter not in (None, mark):
            raise ParameterError(f"two delimiters are given: {mark!r}, and {writing.delimiter!r} in the schema")
        writing = replace(writing, delimiter=mark)
        writing.check(mark)
    return own, writing


def _refuse_text(kind: object, target: object, mark: str | None, writing: Writing | None) -> None:
    """Refuse to cut, or to read texts of, what has no text that is cut, or no cells."""
    is_cut, shown = False, ""
    if isinstance(kind, FileSource) and isinstance(target, Files):
        is_cut = kind.takes_delimiter or (mark is None and kind.has_cells and not (writing and writing.is_of_csv))
        shown = f"{target.place}: is {kind.title}; "
    if not is_cut:
        what = (
            "a delimiter applies" if mark is not None else "* in a schema (beside nulls of JSON lines, Excel) applies"
        )
        raise SourceError(f"{shown}{what} to CSV text only")


def _files(place: str, database: Database, *, or_text: bool) -> Files:
    if not is_fetched(place):
        return find_files(place, or_text=or_text)

    return fetched_files(place, database.directory, or_text=or_text)


def declared_schema(database: Database, types: Mapping[str, str]) -> TableSchema:
    """Build the schema of a table that is only declared: column names with SQL types."""
    columns = []
    for name, told in _written(types, None)[0].items():
        declared, _, _ = declared_column(told)
        try:
            ((_, kind),) = database.describe(exp.select(null_of(declared)))
        except (EngineError, SqlglotError, ValueError):
            raise SourceError(f"schema: column {name!r}: {declared!r} is not a SQL type") from None
        columns.append(Column(name, kind, TypeOrigin.DECLARED))
    return TableSchema(tuple(columns))


def find_files(place: str, *, or_text: bool = False) -> Files:
    """Find the files of a path: one file, a folder of files, or a glob.

    A file is known by its first bytes, or by its name where bytes do not tell; in a folder, at any depth, those named
    .parquet, .csv, .tsv, .jsonl or .ndjson (the text ones also .gz and .zst) count. Names that begin with a dot are
    passed over, as in a glob. A folder may also be a table of a lake; see `lake_table`. With `or_text` a file that is
    of no known kind is text that is cut at a delimiter.

    Raises
    ------
    SourceError
        If there is no such file, it is none of the supported kinds, several kinds lie together, a folder belongs to a
        table format with a log of its own (Delta, Iceberg, Hudi), the files lie in folders with different keys, a name
        in a folder begins with an underscore (most programs pass such files over, some do not), or the path is a URL.
    """
    if not place:
        raise SourceError("the path of the source is empty")
    refuse_url(place)
    try:
        with named_place(place):
            return lake_table(place) or _found(place, or_text=or_text)
    except UnicodeEncodeError:
        raise SourceError(f"{place}: a file's name is not UTF-8; rename it") from None
    except ValueError:  # a NUL character
        raise SourceError(f"{place!r}: is not a path") from None


def _found(place: str, *, or_text: bool) -> Files:
    paths = listed(place, _in_folder)
    for path in paths:
        path.encode()
    if not is_many(place):
        return Files(_kind_of(place, paths[0], or_text=or_text).kind, place, tuple(paths))
    in_folder = Path(place).is_dir()
    kinds = {_kind_by_name(path) if in_folder else _kind_of(place, path, or_text=or_text) for path in paths}
    root = root_of(place)
    refuse_logs(place, root, paths)
    if in_folder:
        refuse_underscores(place, paths)
    if not paths:
        raise SourceError(f"{place}: no {' or '.join(kind.title for kind in file_kinds() if kind.many)} file there")
    if len(kinds) > 1 or not next(iter(kinds)).many:
        raise SourceError(f"{place}: holds files of several kinds, or DuckDB files; name the files of one table")
    keys, values = partitions(place, root, paths)
    return Files(next(iter(kinds)).kind, place, tuple(paths), keys, values)


def state_of(place: str) -> str:
    """Describe the state of a path's rows; see `state_of_files`. Private.

    Raises
    ------
    SourceError
        If a file is no longer there.
    """
    with named_place(place):
        return state_of_files(place, listed(place, _in_folder))


def _in_folder(name: str) -> bool:
    return any(kind.many and kind.is_named(name) for kind in file_kinds())


def _kind_of(place: str, path: str, *, or_text: bool) -> FileSource:
    file = Path(path)
    if file.exists() and not file.is_file():
        raise SourceError(f"{place}: is not a regular file; write its rows to one")  # a pipe can be read only once
    with file.open("rb") as stream:
        head = stream.read(12)
    for kind in file_kinds():
        if kind.begins(head):
            return kind
    for kind in file_kinds():
        if kind.known_by_name and kind.is_named(path):
            return kind
    if or_text:
        return next(kind for kind in file_kinds() if kind.takes_delimiter)
    *others, last = (f"{kind.title}{kind.endings}" for kind in file_kinds())
    raise SourceError(
        f"{place}: not a {', '.join(others)} or {last} file; for CSV text of another name give its delimiter, "
        "which `dpdb schema` proposes"
    )


def _kind_by_name(path: str) -> FileSource:
    """Return the kind of a file in a folder, by its name."""
    return next(kind for kind in file_kinds() if kind.many and kind.is_named(path))


ICEBERG = "iceberg:"


def lake_table(place: str) -> Files | None:
    """Return what a path names if it is a table of a lake, whose library finds its files; else None.

    That is a folder with ``_delta_log``, a folder whose ``metadata/version-hint.text`` tells the current version, a
    file ``*.metadata.json``, or ``iceberg:catalog.namespace.table``. No library reads a lake in place: its rows are
    copied, and what a ledger compares are the rows, not their files, so that compaction changes nothing.
    """
    folder = Path(place)
    if (
        place.startswith(ICEBERG)
        or place.endswith(".metadata.json")
        or (folder / "metadata/version-hint.text").exists()
    ):
        return Files("iceberg", place, (place,), is_fetched=True)
    return Files("delta", place, (place,), is_fetched=True) if (folder / "_delta_log").is_dir() else None


STANDARD_INPUT = "-"

_FETCHED = re.compile(r"(https?|s3)://", re.IGNORECASE)
_READ = re.compile(r"(https?://|s3://|iceberg:|adbc:|ducklake:|md:|motherduck:)", re.IGNORECASE)

# With one slash, too: that is what pathlib makes of two. What is almost an address may hold a password as well as one.
_URL = re.compile(
    r"\s*(?:(?:jdbc:)?([a-z][a-z0-9+.-]+):[/\\]|(adbc|jdbc|https?|s3|postgres(?:ql)?|mysql|snowflake):)",
    re.IGNORECASE,
)
_DATABASES = {
    *("postgres", "postgresql", "mysql", "mariadb", "sqlite", "mssql", "sqlserver", "oracle", "snowflake", "bigquery"),
    *("jdbc", "redshift", "clickhouse", "mongodb", "duckdb"),
}  # fmt: skip


def is_address(place: str) -> bool:
    """Say whether a text is an address that dpdb reads, not a path."""
    return bool(_READ.match(place))


def is_fetched(place: str) -> bool:
    """Say whether a text names what is fetched before it is read: an address of files, or standard input."""
    return place == STANDARD_INPUT or bool(_FETCHED.match(place))


def refuse_url(place: str) -> None:
    """Raise `SourceError` if a text is the address of something that is not a local file; say what to do instead."""
    match = _URL.match(place)
    if match is None or Path(place).exists():
        return
    scheme = (match[1] or match[2]).lower()  # and no more of it: it may hold a password
    if scheme == "file":
        raise SourceError("file://...: give the path itself, without file://")
    if scheme == "adbc":
        raise SourceError("adbc:...: is no such address; write adbc:DRIVER:URI, such as adbc:postgresql:URI")
    if scheme in ("https", "http", "s3"):
        raise SourceError(f"{scheme}:...: is no such address; write {scheme}://HOST/PATH, with no blank before it")
    if scheme in _DATABASES:
        raise SourceError(
            f"{scheme}:...: not a source; give an ADBC driver and its address (adbc:DRIVER:URI), attach the database "
            "in a DuckDB connection and give that to dpdb.open, or export the table to Parquet"
        )
    raise SourceError(
        f"{scheme}://...: dpdb fetches https:// and s3:// only; copy the files to a local disk, or read them in a "
        "DuckDB connection and give that to dpdb.open"
    )


_ADDRESS = re.compile(r"adbc:([a-z][a-z0-9_]*):(.*)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class AdbcAddress:
    """A driver, by the name of its package ``adbc_driver_NAME``, and its own address, which may hold secrets."""

    driver: str
    uri: str

    @classmethod
    def parse(cls, place: str) -> Self | None:
        """Read an address, or return None if it is none."""
        match = _ADDRESS.fullmatch(place)
        return None if match is None else cls(match[1].lower(), match[2])


_LAKE = re.compile(r"(ducklake|md|motherduck):(.*)", re.DOTALL | re.IGNORECASE)
_EXTENSIONS: Mapping[str, tuple[str, str]] = {
    "ducklake": ("DuckLake", "ducklake"), "md": ("MotherDuck", "motherduck"),
    "motherduck": ("MotherDuck", "motherduck"),
}  # fmt: skip


@dataclass(frozen=True, repr=False)
class AttachedAddress:
    """An address that DuckDB attaches; it may hold secrets.

    Attributes
    ----------
    text : str
        As DuckDB takes it, such as ``ducklake:metadata.ducklake``.
    title : str
        Its kind, for messages, which show nothing else of it.
    """

    text: str
    title: str
    extension: str

    @classmethod
    def parse(cls, place: str) -> Self | None:
        """Read an address, or return None if it is none; a file of such a name is a file."""
        match = _LAKE.fullmatch(place)
        if match is None or Path(place).exists():
            return None
        scheme = match[1].lower()
        return cls(f"{'md' if scheme == 'motherduck' else scheme}:{match[2]}", *_EXTENSIONS[scheme])


def keep_standard_input() -> Path:
    """Return a copy of all of standard input, which lives as long as the process.

    Its first bytes tell its kind as those of a file do; texts are JSON lines if they begin with a brace, also after
    blanks, else CSV.

    Raises
    ------
    SourceError
        If it is a terminal, or nothing comes.
    """
    _, path = _kept()
    return path


@cache
def _kept() -> tuple[WorkFolder, Path]:
    if sys.stdin is None or sys.stdin.isatty():
        raise SourceError("standard input: is a terminal; pipe the rows into it")
    folder = WorkFolder()
    plain = folder.path / "rows"
    with plain.open("xb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    with plain.open("rb") as file:
        head = file.read(1 << 10)
    if not head:
        raise SourceError("standard input: is empty")
    is_json = head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    return folder, plain.rename(plain.with_suffix(".jsonl" if is_json else ".csv"))


_WITH_TABLES = ("duckdb", "sqlite", "excel")


def has_tables(place: str) -> bool:
    """Say whether a table can be named of a source; nothing is fetched, so a file behind an address is one table."""
    if is_address(place):
        return place.lower().startswith("adbc:") or bool(_LAKE.match(place))
    return place != STANDARD_INPUT and find_files(place, or_text=True).kind in _WITH_TABLES


def fetched_files(place: str, folder: Path, *, or_text: bool = False) -> Files:
    """Fetch the files of an address into a folder; see `is_fetched`.

    Parameters
    ----------
    place : str
        ``-`` for standard input; or an address: ``https://``, ``http://``, or ``s3://`` of an object, a glob or a
        folder of objects.
    folder : Path
        A private one, which lives as long as the table is open.

    Raises
    ------
    SourceError
        As `find_files`; if nothing can be fetched, or only a part of it.
    """
    scheme = place.partition("://")[0].lower()
    if place == STANDARD_INPUT:
        shown, found = "standard input", keep_standard_input()
    elif scheme in ("https", "http"):
        from dpdb.sources.downloads import download

        shown, found = download(place, _new(folder))
    else:
        from dpdb.sources.downloads import download_objects, is_delta

        if is_delta(place):
            return Files("delta", place, (place,), is_fetched=True)
        shown, found = place, download_objects(place, _new(folder))
    try:
        return replace(find_files(str(found), or_text=or_text), place=shown, is_fetched=True)
    except SourceError as error:  # it names our copy
        raise SourceError(str(error).replace(str(found), shown)) from None


def _new(folder: Path) -> Path:
    made = folder / "fetched"
    made.mkdir(mode=0o700)
    return made


def opened_content(database: Database, source: Source, tested: Sequence[str] = ()) -> str:
    """Describe the rows that a source had when it was opened: by `state_of` its files, else by number and digests.

    Where cells become values of a type, by which rule they do is part of it: by another one the rows are others.

    Parameters
    ----------
    tested
        Columns that cannot be compared of which it is read whether they are NULL.
    """
    if source.state is not None:
        return source.state + source.read_as + source.reading
    digest = rows_digest(source.schema.usable, tested).from_(source.scan)
    return ",".join(str(value) for value in database.rows(digest)[0]) + source.reading


def is_changed(source: Source) -> bool:
    """Return whether the files of a source are in another state now than when it was opened; other rows were copied.

    Raises
    ------
    SourceError
        If a file is no longer there.
    """
    return source.path is not None and state_of(source.path) != source.state


def rows_digest(names: Sequence[str], tested: Sequence[str] = ()) -> exp.Select:
    """Select the number of rows and two order-free digests of the named columns, and of where the `tested` are NULL.

    It lacks a FROM.
    """
    columns = [exp.column(name, quoted=True) for name in names]
    row = exp.Anonymous(this="hash", expressions=[*columns, *map(presence, tested)])
    return exp.select(
        exp.Count(this=exp.Star()),
        exp.Anonymous(this="bit_xor", expressions=[row]),
        exp.Sum(this=exp.cast(row.copy(), "HUGEINT", dialect="duckdb")),
    )
