"""Keys of groups as values: whether two are the same one, and the one text of each."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.sql.comparison import evaluated
from dpdb.predicates import Literal, literal_sql

__all__ = ["equal_values", "texts_of"]


def equal_values(database: Database, literals: Sequence[Literal]) -> tuple[int, int] | None:
    """Find two literals of one type that the engine takes as equal, by their positions; None if there are none.

    Equal values may have different texts: '1 month' and '30 days', 'nan' and '-nan', 1 and '01'.
    """
    listed = ", ".join(f"({place}, {literal_sql(item).sql('duckdb')})" for place, item in enumerate(literals))
    found = database.rows(
        f"WITH listed(place, value) AS MATERIALIZED (VALUES {listed}) "
        "SELECT one.place, two.place FROM listed AS one JOIN listed AS two "
        "ON one.value = two.value AND one.place < two.place ORDER BY ALL LIMIT 1"
    )
    return (int(found[0][0]), int(found[0][1])) if found else None


def texts_of(database: Database, literals: Sequence[Literal]) -> list[str]:
    """Return the texts by which the engine shows values, one text for each value."""
    asked = [(exp.cast(literal_sql(literal), "VARCHAR", dialect="duckdb"),) for literal in literals]
    # -0 equals 0, and is shown with its sign.
    return [
        str(text).removeprefix("-") if text in ("-0.0", "-0") else str(text) for (text,) in evaluated(database, asked)
    ]
