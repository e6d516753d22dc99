"""The words of statements, for their completion."""

from __future__ import annotations

from dpdb.doors.sql.call import RELEASES
from dpdb.doors.sql.functions import FUNCTIONS, NAMED_FUNCTIONS

__all__ = ["statement_words"]

_KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "WITH", "JOIN", "LEFT JOIN", "UNION ALL"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "AND", "OR", "NOT", "NULL", "BETWEEN", "LIKE", "EXPLAIN", "DESCRIBE"),
    *("DISTINCT", "VALUES", "CALL", "AS", "ON", "IN"),
)


def statement_words() -> list[str]:
    """Return words of SQL, functions that statements may call, and the parameters of releases."""
    functions = {kind.sql_name().lower() for kind in FUNCTIONS if hasattr(kind, "sql_name")} | NAMED_FUNCTIONS
    parameters = {name for names in RELEASES.values() for name in names}
    return [*_KEYWORDS, *RELEASES, *sorted(functions), *sorted(parameters)]
