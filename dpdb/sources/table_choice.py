"""The choice of the table or view of a database that is meant."""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.errors import SourceError
from dpdb.names import listed_names

__all__ = ["choose_table", "refuse_table_name"]


def choose_table(
    description: str, found: list[tuple[str, str, bool]], wanted: str | None, *, preferred: Sequence[str]
) -> tuple[str, str, bool]:
    """Pick the wanted one of (schema, table, is view), or the only one.

    Parameters
    ----------
    description
        What messages call the source.
    found
        The tables that it has.
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
