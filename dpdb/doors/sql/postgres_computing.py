"""What PostgreSQL computes otherwise than DuckDB, in a checked tree: by macros whose choice is that of the types."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from dpdb.errors import StatementRefusedError

_PREFIX = "as_pg_"
_INNER = re.compile(rf"\b(?:{_PREFIX}|of_pg_)(\w+)")
_ZERO = "CASE WHEN b = 0 THEN error('division by zero') ELSE"
# Which of several is taken, the types of the arguments decide, as PostgreSQL's functions of one name are chosen.
_MACROS: Mapping[str, str] = {
    "div": f"(a BIGINT, b BIGINT) AS a // b, (a DOUBLE, b DOUBLE) AS {_ZERO} a / b END",
    "round": "(a) AS CASE WHEN typeof(a) IN ('DOUBLE', 'FLOAT') THEN round_even(a, 0) ELSE round(a) END",
    "substr": "(a, b) AS substr(a, greatest(b, 1)), (a, b, c) AS CASE WHEN c < 0 "
              "THEN error('negative substring length not allowed') "
              "ELSE substr(a, greatest(b, 1), greatest(b + c - greatest(b, 1), 0)) END",
    "text": "(a DOUBLE) AS CASE WHEN isinf(a) THEN CASE WHEN a > 0 THEN 'Infinity' ELSE '-Infinity' END "
            "WHEN isnan(a) THEN 'NaN' ELSE regexp_replace(a::VARCHAR, '\\.0$', '') END, "
            "(a BOOLEAN) AS a::VARCHAR, (a BIGINT) AS a::VARCHAR, (a VARCHAR) AS a, (a DATE) AS a::VARCHAR, "
            "(a TIMESTAMP) AS a::VARCHAR, (a HUGEINT) AS a::VARCHAR",
}  # fmt: skip


def without_inner_names(message: str) -> str:
    """Return a message with the names of functions as the statement has them."""
    return _INNER.sub(r"\1", message)


def compute_as_postgres(tree: exp.Expr) -> str:
    """Change a checked tree so that DuckDB computes what PostgreSQL does; return the macros that it needs.

    Raises
    ------
    StatementRefusedError
        DuckDB cannot compute it as PostgreSQL does.
    """
    used: set[str] = set()
    for node in [*tree.walk(bfs=False)][::-1]:
        change = _CHANGES.get(type(node))
        if change is not None:
            change(node, used)
    return "".join(
        f"CREATE MACRO {_PREFIX}{name}{definition};\n" for name, definition in _MACROS.items() if name in used
    )


def _call(node: exp.Expr, used: set[str], name: str, *arguments: exp.Expr) -> None:
    used.add(name)
    call = exp.Anonymous(this=f"{_PREFIX}{name}")
    node.replace(call)
    call.set("expressions", list(arguments))


def _divide(node: exp.Div, used: set[str]) -> None:
    _call(node, used, "div", node.this, node.expression)


def _round(node: exp.Round, used: set[str]) -> None:
    if node.args.get("decimals") is None:
        _call(node, used, "round", node.this)


def _substring(node: exp.Substring, used: set[str]) -> None:
    start, length = node.args.get("start"), node.args.get("length")
    if start is not None:
        _call(node, used, "substr", node.this, start, *(() if length is None else (length,)))


def _like(node: exp.Like | exp.ILike, _used: set[str]) -> None:
    if isinstance(node.expression, (exp.Any, exp.All)):
        raise StatementRefusedError("LIKE compares with one pattern, not with ANY or ALL of several")
    if not isinstance(node.parent, exp.Escape):
        escaped = exp.Escape(expression=exp.Literal.string("\\"))
        node.replace(escaped)
        escaped.set("this", node)


_PATTERN = re.compile(r"\\.|.", re.DOTALL)


def _similar(node: exp.SimilarTo, _used: set[str]) -> None:
    """Write SQL's pattern as a regular expression, which DuckDB takes SIMILAR TO for."""
    pattern = node.expression
    if isinstance(node.parent, exp.Escape) or not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise StatementRefusedError("SIMILAR TO takes a pattern in quotes, and no ESCAPE")
    node.set("expression", exp.Literal.string(_regular(pattern.name)))


def _regular(pattern: str) -> str:
    found, inside = [], False
    for piece in _PATTERN.findall(pattern):
        if piece[0] == "\\":
            if len(piece) == 1:
                raise StatementRefusedError("a pattern ends with a backslash")
            found.append(re.escape(piece[1]))
        elif inside:
            inside = piece != "]"
            found.append(piece)
        elif piece == "[":
            inside = True
            found.append(piece)
        else:
            found.append({"%": "(?s:.*)", "_": "(?s:.)", ".": r"\.", "^": r"\^", "$": r"\$"}.get(piece, piece))
    return "".join(found)


def _cast(node: exp.Cast, used: set[str]) -> None:
    if node.to.this in (exp.DType.VARCHAR, exp.DType.TEXT) and not isinstance(node.this, (exp.Literal, exp.Null)):
        _call(node, used, "text", node.this)


_CHANGES: Mapping[type[exp.Expr], Callable[[Any, set[str]], None]] = {
    exp.Div: _divide,
    exp.Round: _round,
    exp.Substring: _substring,
    exp.Like: _like,
    exp.ILike: _like,
    exp.SimilarTo: _similar,
}
