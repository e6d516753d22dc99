"""Texts that other tools paste into their SQL unchanged: names of columns, values, patterns and conditions."""

from __future__ import annotations

import re

from dpdb.errors import ParameterError
from dpdb.rules.importers.shapes import sequence
from dpdb.rules.texts import value

__all__ = ["identifier", "is_always", "like", "listed", "raw"]


def identifier(said: object) -> str:
    """Read a column's name as SQL writes it, in quotes or not.

    Raises
    ------
    ParameterError
        If it is another expression.
    """
    text = said.strip() if isinstance(said, str) else ""
    if re.fullmatch(r"[^\W\d]\w*", text):
        return text
    quoted = re.fullmatch(r"\"((?:[^\"]|\"\")+)\"|`([^`]+)`", text)
    if quoted is None:
        raise ParameterError(f"{said} is no column but an expression")
    return str(quoted[2] or quoted[1].replace('""', '"'))


def is_always(condition: object) -> bool:
    """Return True for `1=1`, which takes all rows."""
    said = re.fullmatch(r"\s*(\d+)\s*=\s*(\d+)\s*", str(condition))
    return said is not None and said[1] == said[2]


def raw(item: object) -> str:
    """Write a value; a text is SQL already."""
    return item if isinstance(item, str) else value(item)


def like(name: str, sign: str, pattern: object) -> str:
    """Write that a column is like a pattern, or not.

    Parameters
    ----------
    name
        The column, as SQL writes it.
    sign
        The operator, such as `LIKE` or `NOT LIKE`.
    pattern
        The pattern, which becomes a quoted text.

    Raises
    ------
    ParameterError
        If databases differ in what the pattern means.
    """
    for character in r"[\^" if isinstance(pattern, str) else "":
        if character in str(pattern):
            raise ParameterError(f"databases differ in what {character} means in a pattern of LIKE")
    return f"{name} {sign} {value(pattern)}"


def listed(values: object, quote: bool) -> str:
    """Write a list of values, as text or as SQL.

    Raises
    ------
    ParameterError
        If it is empty.
    """
    written = [value(str(item)) if quote and value(item) else raw(item) for item in sequence(values)]
    if not written:
        raise ParameterError("the list of values is empty")
    return ", ".join(written)
