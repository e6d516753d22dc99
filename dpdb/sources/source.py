"""`Source`: a table as our own database reads it; how one is described and copied; what every kind can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from sqlglot import exp

from dpdb.database import Database
from dpdb.errors import EngineError, SourceError
from dpdb.schema import Column, TableSchema, TypeOrigin

if TYPE_CHECKING:
    from dpdb.sources.csv.lines import Faults
    from dpdb.sources.files import Files

__all__ = [
    "Reading",
    "Rows",
    "Source",
    "SourceKind",
    "SourceLike",
    "Wanted",
    "copied",
    "nothing_usable",
    "presence",
    "scanned",
    "text_column",
    "unreadable",
    "without_rows",
]

_COPY = exp.to_table("source_row")

# A path, a glob, a DuckDB connection or relation, or anything with the Arrow C stream interface.
SourceLike: TypeAlias = Any


class Rows(Protocol):
    """Rows that a query can read: those of a source, or at most k of each unit."""

    @property
    def description(self) -> str:
        """The source as the user named it, for messages."""
        ...

    @property
    def schema(self) -> TableSchema:
        """Names and types: public."""
        ...

    @property
    def scan(self) -> exp.Expr:
        """Table expression for a FROM clause."""
        ...


@dataclass(frozen=True)
class Source:
    """A table as our database reads it.

    Attributes
    ----------
    description : str
        What the user named, for messages and `repr`.
    schema : TableSchema
        Names and types: public.
    scan : exp.Expr
        Table expression for a FROM clause.
    path : str, optional
        The files whose state (see `state_of`) is that of the rows; None if the rows were computed or streamed.
    state : str, optional
        That state when the source was opened. Private.
    files : Files, optional
        The files that every query reads anew; None if the rows were copied, or are those of no file. A table is one
        state of them: see `Table.refuse_change`.
    faults : Faults, optional
        What became NULL while text was read. Private.
    read_as : str
        How text is cut into rows, where the schema does not tell; see `CsvColumns`.
    is_computed : bool
        Whether its rows are computed whenever they are read, as a view's are.
    """

    description: str
    schema: TableSchema
    scan: exp.Expr
    path: str | None = None
    state: str | None = field(default=None, repr=False)
    files: Files | None = field(default=None, repr=False)
    faults: Faults | None = field(default=None, repr=False)
    read_as: str = ""
    is_computed: bool = False


class Reading(Enum):
    """The rows that are wanted of a source."""

    ALL = "all of them"
    COMPUTED = "only those that are computed, streamed or fetched, by which a ledger knows them; else as NONE"
    NONE = "none: the source is only described, and a table without rows stands for it"


@dataclass(frozen=True)
class Wanted:
    """A request for a source; see `open_source`.

    Attributes
    ----------
    likely_delimiter : str, optional
        Of CSV text, where its header line has it: the delimiter of the table that this one lies beside.
    """

    table: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    rows: Reading = Reading.ALL
    delimiter: str | None = None
    likely_delimiter: str | None = None


class SourceKind(Protocol):
    """One kind of source. A new one is a file in this folder and a line in `SOURCES`."""

    def reads(self, target: object) -> bool:
        """Say whether this kind reads a target: `Files` where the user named a path, else the object that they gave."""
        ...

    def open(self, database: Database, target: Any, wanted: Wanted) -> Source:
        """Make the target readable in the database; see `open_source` for the errors.

        Parameters
        ----------
        database
            Where the source becomes readable.
        target
            What this kind has found behind the name: files, a connection, an Arrow object.
        wanted
            What the owner has said of the table, and which rows are wanted.
        """
        ...


def scanned(database: Database, description: str, scan: exp.Expr) -> Source:
    """Describe what a table expression gives; no row is read.

    Parameters
    ----------
    database
        Where the table can be read.
    description
        What messages call the source.
    scan
        The table expression.
    """
    described = database.describe(exp.select("*").from_(scan))
    return Source(description, TableSchema(tuple(Column(name, kind) for name, kind in described)), scan)


def copied(database: Database, source: Source) -> Source:
    """Copy the columns that dpdb can compare, and whether the others are NULL; of those that are not read nothing."""
    if not source.schema.usable:
        raise nothing_usable(source.description)
    read = {name for name, _ in database.describe(exp.select("*").from_(source.scan.copy()))}
    columns = [
        exp.column(column.name, quoted=True)
        if column.type is not None
        else exp.alias_(presence(column.name), column.name, quoted=True)
        for column in source.schema.columns
        if column.name in read
    ]
    try:
        database.execute(exp.select(*columns).from_(source.scan).ctas(_COPY, dialect="duckdb"))
    except EngineError:  # its message may print values of rows
        raise unreadable(source) from None
    return Source(source.description, source.schema, _COPY, read_as=source.read_as)


def presence(name: str) -> exp.Expr:
    """Return what is read of a column that cannot be compared: NULL where it is NULL, else true."""
    missing = exp.column(name, quoted=True).is_(exp.null())
    return exp.Case(ifs=[exp.If(this=missing, true=exp.null())], default=exp.true())


def without_rows(schema: TableSchema) -> exp.Expr:
    """Return a table expression of a schema that gives no row."""
    columns = [
        exp.alias_(exp.cast(exp.null(), column.type or "VARCHAR", dialect="duckdb"), column.name, quoted=True)
        for column in schema.columns
    ]
    return exp.select(*columns).where(exp.false()).subquery("no_row")


def text_column(name: str, kinds: Mapping[str, str]) -> Column:
    """Return a column that is text in its files: in the type that the owner declares for it, if any."""
    if name in kinds:
        return Column(name, kinds[name], TypeOrigin.DECLARED)
    return Column(name, "VARCHAR", TypeOrigin.TEXT_CELLS)


def nothing_usable(description: str) -> SourceError:
    """Make the error of a source without a column that dpdb can compare."""
    return SourceError(f"{description}: no column has a type that constraints can compare")


def unreadable(source: Source) -> SourceError:
    """Make the error of a source whose rows cannot be read; the reason may print them."""
    return SourceError(f"{source.description}: reading its rows failed; the reason is in the owner's log")
