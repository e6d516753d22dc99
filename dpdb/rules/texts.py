"""Constraint texts: names and values as SQL and dpdb both read them, and the constraints that all tools know."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from itertools import product
from math import isfinite
from unicodedata import category

from sqlglot.dialects.duckdb import DuckDB

from dpdb.constraints import parse_constraint, without_comment
from dpdb.errors import ParameterError
from dpdb.names import in_double_quotes, is_encodable
from dpdb.rules.conditions import plain_condition

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_QUOTED = re.compile(r"""('(?:[^']|'')*'|"(?:[^"]|"")*")""")
_NAME_IN_QUOTES = re.compile(r'"((?:[^"]|"")+)"|`([^`]+)`|\[([^\[\]]+)\]')
_LONGEST_COMMENT = 1_000
_MOST_NULLABLE = 4
_KEYWORDS = frozenset(words.split()[0] for words in DuckDB.Tokenizer.KEYWORDS if words.strip())


def bare_name(name: str) -> str:
    """Return a column's name without the quotes that other tools' files need around it: "..", `..` or [..]."""
    quoted = _NAME_IN_QUOTES.fullmatch(name.strip())
    return name if quoted is None else quoted[2] or quoted[3] or quoted[1].replace('""', '"')


def column_name(name: object) -> str:
    """Write a column's name, in quotes unless it is a plain word and no keyword of SQL."""
    if not isinstance(name, str) or not name:
        raise ParameterError(f"{name!r} is no column name")
    name = bare_name(name)
    if _PLAIN.fullmatch(name) and name.upper() not in _KEYWORDS:
        return name
    return in_double_quotes(name)


def value(item: object) -> str:
    """Write a number, truth value, date or text."""
    if isinstance(item, bool):
        return "TRUE" if item else "FALSE"
    if isinstance(item, (int, float, Decimal)) and isfinite(item):
        return str(item)
    if isinstance(item, (str, date, datetime)):
        return "'" + str(item).replace("'", "''") + "'"
    raise ParameterError(f"{item!r} is no number, text or date")


def among(column: object, values: Iterable[object], *, inside: bool = True) -> str:
    """Write that a column has one of some values, or none of them.

    Parameters
    ----------
    values
        The values; None among them is skipped.
    inside
        True for IN, False for NOT IN.
    """
    listed = ", ".join(value(item) for item in values if item is not None)
    if not listed:
        raise ParameterError("the list of values is empty")
    return f"{column_name(column)} {'IN' if inside else 'NOT IN'} ({listed})"


def between(term: str, low: object, high: object, *, strict_low: bool = False, strict_high: bool = False) -> str:
    """Write that a term lies between two values.

    Parameters
    ----------
    low, high
        The bounds; None for no bound on that side. At least one is needed.
    strict_low, strict_high
        Whether the bound itself is excluded.
    """
    ends = [(">" if strict_low else ">=", low), ("<" if strict_high else "<=", high)]
    parts = [f"{term} {sign} {value(end)}" for sign, end in ends if end is not None]
    if not parts:
        raise ParameterError("neither a smallest nor a largest value is given")
    return " AND ".join(parts)


def dependency(determinants: Sequence[object], dependent: object, where: object = None) -> str:
    """Write a functional dependency.

    Parameters
    ----------
    determinants
        Names of the columns on the left side; without any, the dependent column has one value.
    dependent
        Name of the column on the right side.
    where
        Condition on the rows that the dependency is about; None for all rows.
    """
    left = ", ".join(map(column_name, determinants))
    return f"{left or '[]'} -> {column_name(dependent)}{_where(where)}"


def keyed(columns: Sequence[object], where: object = None) -> str:
    """Write a key."""
    if not columns:
        raise ParameterError("a key needs at least one column")
    return f"UNIQUE({', '.join(map(column_name, columns))}){_where(where)}"


def keyed_with_nulls(columns: Sequence[object], where: object = None, *, also_all_missing: bool = True) -> list[str]:
    """Write a key in which NULL is a value, as in GROUP BY: one rule for each choice of columns that are NULL.

    Parameters
    ----------
    where
        Condition on the rows that the key is about; None for all rows.
    also_all_missing
        Whether two rows in which all columns are NULL violate the key, too.
    """
    names = [column_name(column) for column in columns]
    if len(names) > _MOST_NULLABLE:
        raise ParameterError(
            f"NULL is a value of this key, and of more than {_MOST_NULLABLE} columns that takes too many rules; "
            f"where they are never NULL write {keyed(columns, where)}"
        )
    written = []
    for pattern in product((False, True), repeat=len(names)):
        absent = [name for name, is_null in zip(names, pattern, strict=True) if is_null]
        among = both(*(f"{name} IS NULL" for name in absent), *([] if where is None else [where]))
        if len(absent) < len(names):
            kept = [column for column, is_null in zip(columns, pattern, strict=True) if not is_null]
            written.append(keyed(kept, among))
        elif also_all_missing:
            parts = [f"t{number}.{name} IS NULL" for name in names for number in (1, 2)]
            written.append(f"not({' & '.join(parts)}){_where(where)}")
    return written


def found_in(columns: Sequence[object], parent: str, targets: Sequence[object], where: object = None) -> str:
    """Write a foreign key: the values of columns are found in those of another table.

    Parameters
    ----------
    parent
        Name of the other table; dots separate its parts.
    targets
        Names of the other table's columns, one for each of `columns`.
    where
        Condition on the referring rows; None for all rows.
    """
    table = ".".join(map(column_name, parent.split(".")))
    if not targets:
        raise ParameterError(f"it names no column of {parent}: write {column_name(columns[0])} IN {table}.COLUMN")
    if len(columns) != len(targets) or not columns:
        raise ParameterError(f"{len(columns)} columns cannot refer to {len(targets)} of {parent}")
    if len(columns) == 1:
        return f"{column_name(columns[0])} IN {table}.{column_name(targets[0])}{_where(where)}"
    left, right = (", ".join(map(column_name, names)) for names in (columns, targets))
    return f"({left}) IN {table}({right}){_where(where)}"


def looked_up(condition: str, parent: str, keys: Mapping[str, str], where: object = None) -> str:
    """Write a condition that a row meets together with each row of another table that has its key.

    Parameters
    ----------
    condition
        With the other table's name before its columns.
    keys
        The other table's column of each column of the key.
    where
        Condition on the rows; None for all rows.
    """
    pairs = " AND ".join(f"{column_name(own)} = {parent}.{column_name(other)}" for own, other in keys.items())
    return f"CHECK ({condition}) BY {pairs}{_where(where)}"


def missing(columns: Iterable[object], *, every: bool) -> str:
    """Write that columns are NULL, every one of them or any."""
    return (" AND " if every else " OR ").join(f"{column_name(column)} IS NULL" for column in columns)


def both(*conditions: object) -> str | None:
    """Write the conjunction of some conditions; None without conditions."""
    said = [_condition(condition) for condition in conditions if condition is not None]
    return " AND ".join(said if len(said) < 2 else [_bracketed(part) for part in said]) or None


def _bracketed(condition: str) -> str:
    return condition if re.fullmatch(r"[\w.]+ IS (NOT )?NULL", condition) else f"({condition})"


def present(column: object, where: object = None) -> str:
    """Write that a column is never NULL."""
    return f"NOT NULL({column_name(column)}){_where(where)}"


def checked(condition: object, where: object = None) -> str:
    """Write a condition that a row violates when it is FALSE, as SQL's CHECK does, among the rows of `where`."""
    return f"CHECK ({_condition(condition)}){_where(where)}"


def one_line(text: object) -> str:
    """Write a text without line breaks and repeated blanks outside quotes; templates of other tools are refused.

    Raises
    ------
    ParameterError
        If it is no text, is empty or holds a template (`{{ ... }}`).
    """
    if not isinstance(text, str):
        raise ParameterError(f"{text!r} is no condition")
    if "{{" in text or "{%" in text or "${" in text:
        raise ParameterError("it has a template, which only its own tool fills in")
    parts = _QUOTED.split(text.strip().rstrip(";"))
    shown = "".join(part if number % 2 else re.sub(r"\s+", " ", part) for number, part in enumerate(parts))
    if not shown.strip():
        raise ParameterError("the condition is empty")
    return shown.strip()


def readable_line(text: str) -> str:
    """Write a constraint as one line of a constraints file, without comment, which a terminal shows unchanged.

    Raises
    ------
    ParameterError
        If a name or value in it has a line break or another control character, or is not Unicode, or if the text means
        something else without its line breaks, because they end comments.
    """
    line = one_line(text) if "\n" in text or "\r" in text else text
    if any(character != "\t" and category(character) == "Cc" for character in line) or not is_encodable(line):
        raise ParameterError("a name or value has a character that cannot stand in a line")
    if line != text and parse_constraint(line) != parse_constraint(text):
        raise ParameterError("its line breaks have a meaning; write it in one line")
    return without_comment(line)


def comment(text: str) -> str:
    """Write a text as a comment: on one line, without control characters, cut when it is long."""
    words = "".join(" " if category(character) in {"Cc", "Cs"} else character for character in text[:_LONGEST_COMMENT])
    return " ".join(words.split()) + ("..." if len(text) > _LONGEST_COMMENT else "")


def _where(where: object) -> str:
    return "" if where is None else f" WHERE {_condition(where)}"


def _condition(text: object) -> str:
    """Write a condition in one line and dpdb's words; refuse signs of SQL that mean AND or begin a comment in dpdb."""
    line = one_line(text)
    for part in _QUOTED.split(line)[::2]:
        sign = re.search(r"[&^#]", part)
        if sign is not None:
            raise ParameterError(f"{sign[0]} means something else in SQL than here; for a conjunction write AND")
    return plain_condition(str(text), line)
