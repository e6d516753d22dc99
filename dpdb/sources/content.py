"""The token that changes when the rows of a source may have changed. Private: a ledger keeps it under its key."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.database import Database
from dpdb.sources.places import state_of
from dpdb.sources.source import Source, presence

__all__ = ["is_changed", "opened_content", "rows_digest"]


def opened_content(database: Database, source: Source, tested: Sequence[str] = ()) -> str:
    """Describe the rows that a source had when it was opened: by `state_of` its files, else by number and digests.

    Parameters
    ----------
    tested
        Columns that cannot be compared of which it is read whether they are NULL.
    """
    if source.state is not None:
        return source.state + source.read_as
    digest = rows_digest(source.schema.usable, tested).from_(source.scan)
    return ",".join(str(value) for value in database.rows(digest)[0])


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
