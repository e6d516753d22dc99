"""`Source`: a table as our own database reads it; how one is described and copied; what every kind can do.

Columns are text until the owner gives them a type in cells of CSV files and names of folders. Of a database the table
or view that is meant is chosen. Packages that only some kinds of sources need are installed by an extra of dpdb; what
fails in them is told here, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa
from sqlglot import exp, tokenize

from dpdb.database import Database
from dpdb.errors import OWNER_LOG, EngineError, SourceError
from dpdb.names import listed_names
from dpdb.predicates import ZONED_NANOSECONDS
from dpdb.schema import Column, TableSchema, TypeOrigin, comparison_type, free_name

if TYPE_CHECKING:
    from dpdb.constraints import UnitPath
    from dpdb.sources.cells.faults import Faults
    from dpdb.sources.cells.writing import Writing
    from dpdb.sources.paths import Files

_COPY = exp.to_table("source_row")

# A path, a glob, a DuckDB connection or relation, or anything with the Arrow C stream interface.
SourceLike: TypeAlias = Any


class Rows(Protocol):
    """Rows that a query can read: those of a source, or at most k of each unit."""

    @property
    def description(self) -> str:
        """The source as the user named it, for messages."""

    @property
    def schema(self) -> TableSchema:
        """Names and types: public."""

    @property
    def scan(self) -> exp.Expr:
        """Table expression for a FROM clause."""


@dataclass(frozen=True)
class Source:
    """A table as our database reads it.

    Attributes
    ----------
    description : str
        What the user named, for messages and `repr`.
    schema : TableSchema
        Names and types: public.
    path : str, optional
        The files whose state (see `state_of`) is that of the rows; None if the rows were computed or streamed.
    state : str, optional
        That state when the source was opened. Private.
    files : Files, optional
        The files that every query reads anew; None if the rows were copied, or are those of no file. A table is one
        state of them: see `Table.refuse_change`.
    faults : Faults, optional
        What was not read of text. Private.
    read_as : str
        How text is cut into rows, where the schema does not tell; see `CsvColumns`.
    reading : str
        By which rule, and which declarations beside types, cells are read as values; empty where none is but as text.
    is_computed : bool
        Whether its rows are computed whenever they are read, as a view's are.
    by_column : bool
        Whether a query reads the columns that it names alone, so that each can be read again at its own cost. Public.
    """

    description: str
    schema: TableSchema
    scan: exp.Expr
    path: str | None = None
    state: str | None = field(default=None, repr=False)
    files: Files | None = field(default=None, repr=False)
    faults: Faults | None = field(default=None, repr=False)
    read_as: str = ""
    reading: str = ""
    is_computed: bool = False
    by_column: bool = False

    @property
    def own(self) -> Source:
        """The source itself; of a view that joins it with other tables, the one that is measured."""
        return self

    @property
    def beside(self) -> Sequence[Beside]:
        """These other tables."""
        return ()

    @property
    def reached(self) -> UnitPath | None:
        """The keys that lead from its rows through these tables to units, if they do."""
        return None


class Beside(Protocol):
    """A table that a view joins with the measured one."""

    def is_changed(self) -> bool:
        """Return whether it has other rows now than when it was opened. Private."""

    def opened_content(self) -> str:
        """Describe the state of its rows when it was opened. Private."""


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
    writing : Writing, optional
        How all cells are written, where that is declared.
    """

    table: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    rows: Reading = Reading.ALL
    delimiter: str | None = None
    likely_delimiter: str | None = None
    writing: Writing | None = None


class SourceKind(Protocol):
    """One kind of source. A new one is a file in `files` or `objects` and a line in `SOURCES`."""

    def reads(self, target: object) -> bool:
        """Say whether this kind reads a target: `Files` where the user named a path, else the object that they gave."""

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


def scanned(database: Database, description: str, scan: exp.Expr) -> Source:
    """Describe what a table expression gives; no row is read."""
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
    read_as, reading = source.read_as, source.reading
    return Source(source.description, source.schema, _COPY, read_as=read_as, reading=reading, by_column=True)


def told_of_lost(source: Source, lost: Mapping[str, Counter[str]]) -> Source:
    """Tell the owner which cells of a source are NULL because they are no text.

    Parameters
    ----------
    lost
        Cells by column, by file.
    """
    if not any(lost.values()):
        return source
    from dpdb.sources.cells.faults import Faults, FileFaults

    faults = Faults({name: FileFaults(not_utf8=cells) for name, cells in lost.items()})
    OWNER_LOG.warning("%s: not read: %s", source.description, "; ".join(faults.words()))
    return replace(source, faults=faults)


def presence(name: str) -> exp.Expr:
    """Return what is read of a column that cannot be compared: NULL where it is NULL, else true."""
    missing = exp.column(name, quoted=True).is_(exp.null())
    return exp.Case(ifs=[exp.If(this=missing, true=exp.null())], default=exp.true())


def without_rows(schema: TableSchema) -> exp.Expr:
    """Return a table expression of a schema that gives no row."""
    columns = [exp.alias_(null_of(column.type or "VARCHAR"), column.name, quoted=True) for column in schema.columns]
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


# Where columns have no type of their own.
UNTYPED = "of CSV, JSON-lines and Excel files, and keys of folders (year=2024/)"


def declared_types(
    database: Database, place: str, columns: Collection[str], types: Mapping[str, str]
) -> dict[str, str]:
    """Return the types that the owner declares for text columns, in DuckDB's spelling.

    Parameters
    ----------
    columns
        Columns without a type.
    types
        SQL types by column name, maybe with a format and texts that are NULL; see `dpdb.sources.cells.formats`.

    Raises
    ------
    SourceError
        If a declared column is none of `columns`, its type is no SQL type that constraints can compare, or its values
        are not written so.
    """
    unknown = sorted(set(types) - set(columns))
    if unknown and not columns:
        raise SourceError(f"{place}: a schema applies to columns without a type: {UNTYPED}")
    if unknown:
        raise SourceError(f"{place}: the schema names {unknown[0]!r}, which is no column without a type (header line)")
    kinds = {}
    for name, told in types.items():
        declared, written, _ = declared_column(told)
        try:
            kind = database.describe(exp.select(null_of(declared)))[0][1]
        except Exception:
            kind = ""
        if comparison_type(kind) is None:
            raise SourceError(f"{place}: column {name!r}: {declared!r} is not a SQL type that constraints can compare")
        if written is not None:
            _refuse_format(place, name, kind, written)
        kinds[name] = kind
    return kinds


def _refuse_format(place: str, name: str, kind: str, written: str) -> None:
    from dpdb.sources.cells.formats import format_problem

    problem = format_problem(kind, written)
    if problem is not None:
        raise SourceError(f"{place}: column {name!r}, format {written!r}: {problem}")


def declared_column(declared: str) -> tuple[str, str | None, tuple[str, ...]]:
    """Part what is declared of a column into its type, its format and the texts that are NULL; most have a type alone.

    See `dpdb.sources.cells.formats.Declared`.
    """
    if not declared.rstrip().endswith("'"):
        return declared, None, ()
    from dpdb.sources.cells.formats import split_declared

    return split_declared(declared)


def declared_formats(types: Mapping[str, str]) -> dict[str, str]:
    """Return the formats among declared types, by column."""
    found = {name: declared_column(declared)[1] for name, declared in types.items()}
    return {name: written for name, written in found.items() if written is not None}


def declared_nulls(types: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return the texts that are NULL in columns of their own, by column."""
    found = {name: declared_column(declared)[2] for name, declared in types.items()}
    return {name: nulls for name, nulls in found.items() if nulls}


def null_of(declared: str) -> exp.Expr:
    """Return NULL in a type as its owner spells it. Raises what sqlglot raises for what is no type."""
    # sqlglot does not know this type, and takes its name as it is.
    is_unknown = declared.strip().upper() == ZONED_NANOSECONDS
    return exp.Cast(this=exp.null(), to=exp.DataType.build(declared, dialect="duckdb", udt=is_unknown))


def column_definition(name: str, kind: str) -> str:
    """Write a column and its type as a schema option reads them: words of SQL, and odd names, in quotes.

    What is said of all cells (``*``, of a parent ``customers.*``) stands in brackets.
    """
    if name == "*" or name.endswith(".*"):
        bare = kind.strip()
        inside = bare if bare.startswith("(") and bare.endswith(")") else f"({bare})"
        return f"{name if name == '*' else exp.to_identifier(name, quoted=True).sql('duckdb')} {inside}"
    words = tokenize(name, dialect="duckdb") if name.isidentifier() and name.isascii() else []
    plain = len(words) == 1 and words[0].token_type.name == "VAR"
    return f"{exp.to_identifier(name, quoted=not plain).sql('duckdb')} {kind}"


def named_columns(names: Sequence[str], keys: Sequence[str] = ()) -> tuple[str, ...]:
    """Name the columns whose cell in a header line is empty, or blank: `column0`, `column1`, ..., by their places.

    Where another column, or a key of folders, has that name, up to case, underscores follow until none has. Names
    alone decide, which are public.
    """
    taken = [*(name for name in names if name.strip()), *keys]
    return tuple(name if name.strip() else free_name(f"column{at}", taken) for at, name in enumerate(names))


def has_ordered_categories(kind: pa.DataType) -> bool:
    """Say whether Arrow calls values ordered. Which order that is stands in the rows, so it is not known."""
    return bool(pa.types.is_dictionary(kind) and kind.ordered)


def choose_table(
    description: str, found: list[tuple[str, str, bool]], wanted: str | None, *, preferred: Sequence[str]
) -> tuple[str, str, bool]:
    """Pick the wanted one of (schema, table, is view), or the only one.

    Parameters
    ----------
    wanted
        The name that was given, with or without a schema; None for the only table.
    preferred
        Schemas that go first where a name is in several.
    """
    names = listed_names([f"{schema}.{name}" for schema, name, _ in found]) or "none"
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


def refuse_table_name(description: str, wanted: str | None) -> None:
    """Raise `SourceError` if the user names a table of a source that is one table itself."""
    if wanted is not None:
        raise SourceError(f"{description}: a table name applies to databases and workbooks only")


@contextmanager
def reason_in_log(problem: str, *errors: type[Exception], where: str = "") -> Iterator[None]:
    """Turn errors of a block, which may print values, into one that names the problem; the owner's log has the reason.

    Parameters
    ----------
    problem
        The message, such as "place: cannot be read".
    where
        What the log calls the place; else it has the message.

    Raises
    ------
    SourceError
        For one of the errors; a `SourceError` of the block is raised as it is.
    """
    try:
        yield
    except SourceError:
        raise
    except errors as error:
        OWNER_LOG.error("%s: %s", where or problem, error)
        raise SourceError(f"{problem}; the reason is in the owner's log") from None


def needed(module: str, extra: str, place: str) -> Any:
    """Import a module.

    Parameters
    ----------
    place
        What cannot be read without it, for the message.

    Raises
    ------
    SourceError
        If it is not installed; says which extra installs it.
    """
    try:
        return import_module(module)
    except ImportError:
        raise SourceError(f"{place}: reading it needs {module}: pip install 'dpdb[{extra}]'") from None
