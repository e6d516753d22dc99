"""`Source`: a table as our own database reads it, and what every kind of source can do (`SourceKind`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeAlias

from sqlglot import exp

from dpdb.engine.duckdb.database import Database
from dpdb.engine.schema import TableSchema
from dpdb.engine.sources.csv_lines import Faults

__all__ = ["Reading", "Rows", "Source", "SourceKind", "SourceLike", "Wanted"]

# A path, a glob, a DuckDB connection or relation, or anything with the Arrow C stream interface.
SourceLike: TypeAlias = Any


class Rows(Protocol):
    """Rows that a query can read: those of a source, or at most k of each unit."""

    @property
    def description(self) -> str:
        """What the user named, for messages."""
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
    faults : Faults, optional
        What the rule for bad lines was needed for in CSV files. Private.
    """

    description: str
    schema: TableSchema
    scan: exp.Expr
    path: str | None = None
    state: str | None = field(default=None, repr=False)
    faults: Faults | None = field(default=None, repr=False)


class Reading(Enum):
    """Which rows are wanted of a source."""

    ALL = "all of them"
    COMPUTED = "only those that are computed or streamed: a file that is a plain table is described, and looks empty"
    NONE = "none: the source is only described, and a table without rows stands for it"


@dataclass(frozen=True)
class Wanted:
    """What is wanted of a source; see `open_source`."""

    table: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    rows: Reading = Reading.ALL


class SourceKind(Protocol):
    """One kind of source. A new one is a file in this folder and a line in `SOURCES`."""

    def reads(self, target: object) -> bool:
        """Say whether this kind reads a target: `Files` where the user named a path, else the object that they gave."""
        ...

    def open(self, database: Database, target: Any, wanted: Wanted) -> Source:
        """Make the target readable in the database; see `open_source` for the errors."""
        ...
