"""`SOURCES`: the kinds of sources, in the order in which they are asked whether they read what the user gave.

Each is named by its module in this package and its class there, and loaded when it is asked: who measures a Parquet
file loads no reader of CSV.

A `FileSource` has the steps that all kinds of files have in common.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from sqlglot import exp

from dpdb.database import Database
from dpdb.errors import EngineError, OutOfMemoryError, SourceError
from dpdb.sources.paths import Files
from dpdb.sources.source import Reading, Source, Wanted, copied, presence, unreadable, without_rows

if TYPE_CHECKING:
    from dpdb.sources.source import SourceKind

# What reads a path: `FileSource`s.
FILES = (
    "files.parquet.ParquetFiles",
    "files.csv_files.CsvFiles",
    "files.json_lines.JsonLines",
    "files.excel.ExcelFile",
    "files.arrow_file.ArrowFile",
    "files.orc_file.OrcFile",
    "files.sqlite_file.SQLiteFile",
    "files.duckdb_file.DuckDBFile",
)

SOURCES = (
    *FILES,
    "files.lakes.DeltaTable",
    "files.lakes.IcebergTable",
    "objects.duckdb_connection.DuckDBConnection",
    "objects.duckdb_connection.DuckDBRelation",
    "objects.data_frame.DataFrame",
    "objects.adbc_connection.AdbcConnection",
    "objects.attached.AttachedDatabase",
    "objects.arrow_stream.ArrowStream",  # the last one: it refuses what is no source
)


def file_kinds() -> Iterator[FileSource]:
    """Load the kinds of files, one after the other."""
    return map(_loaded, FILES)


def kind_of(target: object) -> SourceKind:
    """Return the first kind that reads a target; see `SourceKind.reads`."""
    kinds: Iterator[SourceKind] = map(_loaded, SOURCES)
    return next(kind for kind in kinds if kind.reads(target))


@cache
def _loaded(name: str) -> Any:
    module, _, known_as = name.rpartition(".")
    return getattr(import_module(f"dpdb.sources.{module}"), known_as)()


class FileSource(ABC):
    """A kind of files.

    Attributes
    ----------
    title, endings : str
        Its name in messages, and the endings of file names where these tell the kind.
    known_by_name : bool
        Whether a file that begins like no kind is of this one if its name says so.
    many : bool
        Whether a folder or a glob of such files is one table.
    takes_delimiter : bool
        Whether its files are text that is cut at a delimiter.
    has_cells : bool
        Whether its rows come as texts, of which some may be declared to be NULL.
    """

    kind: ClassVar[str]
    title: ClassVar[str]
    endings: ClassVar[str] = ""
    known_by_name: ClassVar[bool] = False
    many: ClassVar[bool] = True
    takes_delimiter: ClassVar[bool] = False
    has_cells: ClassVar[bool] = False

    def begins(self, head: bytes) -> bool:
        """Say whether a file whose first 12 bytes are these is of this kind: never, where others begin alike."""
        del head
        return False

    def is_named(self, path: str) -> bool:
        """Say whether a file's name tells that it is of this kind: never, where the first bytes do."""
        del path
        return False

    @abstractmethod
    def describe(self, database: Database, files: Files, wanted: Wanted) -> Source:
        """Describe files as a source without reading a row.

        Parameters
        ----------
        database
            Where the source is to be readable.
        wanted
            What the owner has said of the table, and which rows are wanted.
        """

    def read(self, database: Database, source: Source, files: Files, wanted: Wanted) -> Source:
        """Read every value that a release can read, as it will read them, and keep nothing but the files.

        Parameters
        ----------
        database
            Where the source is readable.
        source
            What `describe` has returned.
        """
        del wanted
        try:
            read_all(database, source, source.schema.usable)
        except OutOfMemoryError:
            raise unreadable(source) from None
        except EngineError:
            return self.mended(database, source, files)
        return replace(source, files=files)

    def mended(self, database: Database, source: Source, files: Files) -> Source:
        """Copy files that our database does not read, where that is no damage; most kinds know no such thing.

        Raises
        ------
        SourceError
            If they cannot be read at all.
        """
        del database, files
        raise unreadable(source)

    def reads(self, target: object) -> bool:
        """Say whether the target is files of this kind."""
        return isinstance(target, Files) and target.kind == self.kind

    def open(self, database: Database, target: Files, wanted: Wanted) -> Source:
        """Describe the files, then read or copy them unless no row is wanted; see `open_source`."""
        state = None if wanted.rows is Reading.NONE else target.settled_state()
        found = self._described(database, target, wanted)
        if wanted.rows is Reading.NONE:
            return copied(database, replace(found, scan=without_rows(found.schema)))
        if found.is_computed:
            return copied(database, found)
        found = replace(found, path=target.path, state=state)
        if wanted.rows is Reading.COMPUTED and found.path is not None:
            return replace(found, scan=without_rows(found.schema))
        found = self.read(database, found, target, wanted)
        refuse_change(target, state)
        return found

    def _described(self, database: Database, files: Files, wanted: Wanted) -> Source:
        try:
            return self.describe(database, files, wanted)
        except EngineError as error:
            # Names of folders may be private.
            problem = str(error).splitlines()[0] if len(files.paths) == 1 else "the reason is in the owner's log"
            raise SourceError(f"{files.place}: cannot be read as a {self.kind} file: {problem}") from None


def read_all(database: Database, source: Source, names: Sequence[str], nested: Sequence[str] = ()) -> None:
    """Read every value of columns, and of nested ones whether they are NULL.

    Raises
    ------
    EngineError
        If some value cannot be read; the message may print it.
    """
    cells = [*(exp.column(name, quoted=True) for name in names), *map(presence, nested)]
    if cells:
        # One column at a time: where a file has dictionaries, only their values are hashed then.
        digests = [exp.Anonymous(this="bit_xor", expressions=[exp.func("hash", cell)]) for cell in cells]
        query = exp.select(*digests).from_(source.scan.copy())
        database.sparing(partial(database.execute, query))


def with_presence(database: Database, source: Source, names: Sequence[str]) -> Source:
    """Return a source of which it can be read whether nested columns are NULL; with text that is no UTF-8 a copy.

    Parameters
    ----------
    database
        Where the source is readable.
    names
        Its nested columns that are asked for; that is read here, so that no release fails on it.

    Raises
    ------
    SourceError
        If reading fails.
    """
    try:
        read_all(database, source, (), names)
    except EngineError:
        if source.files is None:
            raise unreadable(source) from None
        kind: Any = kind_of(source.files)
        copy: Source = kind.mended(database, source, source.files)
        refuse_change(source.files, source.state)
        return replace(copy, files=None)
    return source


def refuse_change(files: Files, state: str | None) -> None:
    """Raise `SourceError` if files are not in the state in which they were found."""
    if files.state() != state:
        raise SourceError(f"{files.place}: changed while it was opened; open it again when nobody writes to its files")
