"""Constraint texts: names and values as SQL and dpdb both read them, and the forms that all tools know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal

from sqlglot.dialects.duckdb import DuckDB

from dpdb.errors import ParameterError

__all__ = ["among", "between", "checked", "column_name", "dependency", "keyed", "one_line", "present", "value"]

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = frozenset(words.split()[0] for words in DuckDB.Tokenizer.KEYWORDS if words.strip())


def column_name(name: object) -> str:
    """Write a column's name: plain where SQL takes it for nothing else."""
    if not isinstance(name, str) or not name:
        raise ParameterError(f"{name!r} is no column name")
    if _PLAIN.fullmatch(name) and name.upper() not in _KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def value(item: object) -> str:
    """Write a number, truth value, date or text.

    Raises
    ------
    ParameterError
        If it is none of these.
    """
    if isinstance(item, bool):
        return "TRUE" if item else "FALSE"
    if isinstance(item, (int, float, Decimal)):
        return str(item)
    if isinstance(item, (str, date, datetime)):
        return "'" + str(item).replace("'", "''") + "'"
    raise ParameterError(f"{item!r} is no number, text or date")


def among(column: object, values: Iterable[object], *, inside: bool = True) -> str:
    """Write that a column has one of some values, or none of them; NULL among them says nothing."""
    listed = ", ".join(value(item) for item in values if item is not None)
    if not listed:
        raise ParameterError("the list of values is empty")
    return f"{column_name(column)} {'IN' if inside else 'NOT IN'} ({listed})"


def between(term: str, low: object, high: object, *, strict_low: bool = False, strict_high: bool = False) -> str:
    """Write that a term lies between two values, each of which may be None."""
    ends = [(">" if strict_low else ">=", low), ("<" if strict_high else "<=", high)]
    parts = [f"{term} {sign} {value(end)}" for sign, end in ends if end is not None]
    if not parts:
        raise ParameterError("neither a smallest nor a largest value is given")
    return " AND ".join(parts)


def dependency(determinants: Sequence[object], dependent: object, where: str | None = None) -> str:
    """Write a functional dependency."""
    left = ", ".join(map(column_name, determinants))
    return f"{left or '[]'} -> {column_name(dependent)}{_where(where)}"


def keyed(columns: Sequence[object], where: str | None = None) -> str:
    """Write a key."""
    if not columns:
        raise ParameterError("a key needs at least one column")
    return f"UNIQUE({', '.join(map(column_name, columns))}){_where(where)}"


def present(column: object, where: str | None = None) -> str:
    """Write that a column is never NULL."""
    name = column_name(column)
    return f"NOT NULL({name})" if where is None else checked(f"{name} IS NOT NULL", where)


def checked(condition: str, where: str | None = None) -> str:
    """Write a condition that a row violates when it is FALSE, as SQL's CHECK does, among the rows of `where`."""
    condition = one_line(condition)
    return f"CHECK ({condition})" if where is None else f"CHECK (NOT ({one_line(where)}) OR ({condition}))"


def one_line(text: str) -> str:
    """Write a text without line breaks and repeated blanks outside quotes; templates of other tools are refused.

    Raises
    ------
    ParameterError
        If it is empty or holds a template (`{{ ... }}`).
    """
    if "{{" in text or "{%" in text or "${" in text:
        raise ParameterError("it has a template, which only its own tool fills in")
    parts = re.split(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""", text.strip().rstrip(";"))
    shown = "".join(part if number % 2 else re.sub(r"\s+", " ", part) for number, part in enumerate(parts))
    if not shown.strip():
        raise ParameterError("the condition is empty")
    return shown.strip()


def _where(where: str | None) -> str:
    return "" if where is None else f" WHERE {one_line(where)}"
