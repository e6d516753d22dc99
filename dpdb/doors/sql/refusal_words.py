"""The wording of refusals: the refused part of the statement, its place, and the name that was probably meant."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dpdb.constraints import shortened
from dpdb.errors import StatementRefusedError
from dpdb.names import close_name, folded

__all__ = ["nearest", "one_line", "refused", "shown"]

_LONGEST_LINE = 500


def refused(node: exp.Expr, problem: str, kind: str = "") -> StatementRefusedError:
    """Return (not raise) the refusal of a part of a statement; `problem` follows that part's text."""
    line, column = _place(node)
    return StatementRefusedError(f"{shown(node)} {problem}", line=line, column=column, kind=kind)


def shown(node: exp.Expr) -> str:
    """Return a part of a statement, quoted and cut when it is long."""
    try:
        text = node.sql("duckdb", comments=False, normalize_functions=False, unsupported_level=ErrorLevel.IGNORE)
    except (
        SqlglotError,
        RecursionError,
        ValueError,
        AttributeError,
        TypeError,
    ):  # the parser reads more than it can write
        text = node.key
    return shortened(" ".join(text.split()) or node.key)


def nearest(wanted: str, known: Iterable[str]) -> str:
    """Name the known name closest to the wanted one, and tell whether that only looks like it."""
    odd = "; it has letters that are not ASCII" if not wanted.isascii() else ""
    near = close_name(folded(wanted), known)
    return odd if near is None else f"{odd}; did you mean {near}?"


def one_line(text: str) -> str:
    """Return a message as one line of printable characters, cut when it is long."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: 20 * _LONGEST_LINE]).split())
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 4]} ..."


def _place(node: exp.Expr) -> tuple[int | None, int | None]:
    """Return line and column of the first character whose place the parser knows."""
    marked = [part.meta for part in node.walk() if "start" in part.meta]
    if not marked:
        return None, None
    first = min(marked, key=lambda meta: int(meta["start"]))
    # The parser's column is that of a word's last character.
    return int(first["line"]), int(first["col"]) - (int(first["end"]) - int(first["start"]))
