"""The statements of a script of SQL: one that cannot be read leaves out itself, not the script.

Scripts of databases' own tools hold more than SQL: the data of COPY and the commands of psql in those of pg_dump, `GO`
between batches of SQL Server, `/` between statements of Oracle.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from dpdb.bounded_parser import TooMuchWorkError, parse_script
from dpdb.errors import ParameterError

_COPY = re.compile(r"COPY\b[^;]*\bFROM\s+stdin\b[^;]*;\s*", re.IGNORECASE)
_END_OF_DATA = "\\."
_BETWEEN = re.compile(r"\s*(?:GO(?:\s+\d+)?|/)\s*;?\s*", re.IGNORECASE)
# How the rows are stored says nothing of them.
_STORED = re.compile(r"\b(PRIMARY\s+KEY|UNIQUE)\s+(?:NON)?CLUSTERED\b", re.IGNORECASE)


def statements_of(text: str, dialect: str) -> Iterator[exp.Expr | str | None]:
    """Return the statements of a script as trees; of one that cannot be read, its text.

    Parameters
    ----------
    dialect
        The SQL dialect of the text, by sqlglot's names.

    Raises
    ------
    ParameterError
        If there is no such dialect, none of the statements is SQL of it, or the data of a COPY have no end.
    """
    text = _STORED.sub(r"\1", "\n".join(_sql_of(text.split("\n"))))
    try:
        yield from _parsed(text, dialect)
        return
    except TooMuchWorkError as error:
        raise ParameterError(f"the file {error}") from None
    except (SqlglotError, RecursionError, ValueError) as error:
        details = getattr(error, "errors", None)
        where = f" (line {details[0]['line']}: {details[0]['description']})" if details else ""
        whole = ParameterError(f"the file is no SQL of dialect {dialect!r}{where}; name another with --dialect")
    each = [(part, _tree(part, dialect)) for part in _parts(text, dialect)]
    if not any(tree for _, trees in each for tree in trees or ()):
        raise whole
    for part, trees in each:
        yield from [part] if trees is None else trees


def _sql_of(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines of a script without data and commands, a semicolon between its batches; each line is read once.

    Raises
    ------
    ParameterError
        If data have no end.
    """
    in_data = False
    for line in lines:
        if in_data:
            in_data = line.rstrip() != _END_OF_DATA
        elif _COPY.fullmatch(line):
            in_data = True
        elif not line.startswith("\\"):
            yield ";" if _BETWEEN.fullmatch(line) else line
    if in_data:
        raise ParameterError(f"the data of COPY have no end ({_END_OF_DATA}): the file is cut off")


def _tree(text: str, dialect: str) -> list[exp.Expr | None] | None:
    try:
        return _parsed(text, dialect)
    except (SqlglotError, RecursionError, ValueError):
        return None


def _parts(text: str, dialect: str) -> Iterator[str]:
    """Cut a script at its semicolons; none if it has no words of the dialect."""
    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(text)
    except (SqlglotError, ValueError):
        return
    start = 0
    for token in tokens:
        if token.token_type.name == "SEMICOLON":
            yield text[start : token.start]
            start = token.end + 1
    yield text[start:]


def _parsed(text: str, dialect: str) -> list[exp.Expr | None]:
    """Parse without sqlglot's warnings about the statements that it does not read."""
    with _silent():
        return parse_script(text, dialect)


@contextmanager
def _silent() -> Iterator[None]:
    log = logging.getLogger("sqlglot")
    before = log.disabled
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = before
