"""Conditions as `DataFrame.query` of pandas reads them: comparisons of a column and a constant, joined by & and |.

There a missing value is unequal to everything, and meets no other comparison.
"""

from __future__ import annotations

import ast
import re

from dpdb.errors import ParameterError
from dpdb.rules.texts import column_name, value

_QUOTED = re.compile(r"""('[^']*'|"[^"]*")""")
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "=", ast.NotEq: "<>", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def pandas_condition(text: str) -> str:
    """Return a condition of pandas as SQL."""
    parts = _QUOTED.split(text.strip())
    parts[::2] = [part.replace("&", " and ").replace("|", " or ") for part in parts[::2]]  # as pandas itself does
    try:
        return _written(ast.parse("".join(parts), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ParameterError(_OTHER) from None


_OTHER = "its row_condition is more than comparisons of a column and a constant; write it as SQL after WHERE"


def _written(node: ast.expr) -> str:
    if isinstance(node, ast.BoolOp):
        joint = " AND " if isinstance(node.op, ast.And) else " OR "
        return joint.join(f"({_written(part)})" for part in node.values)
    if not isinstance(node, ast.Compare) or len(node.ops) != 1:
        raise ParameterError(_OTHER)
    column, other, sign = node.left, node.comparators[0], _SIGNS.get(type(node.ops[0]))
    if not isinstance(column, ast.Name) or sign is None:
        raise ParameterError(_OTHER)
    constant = ast.literal_eval(other)
    if not isinstance(constant, (int, float, str)):
        raise ParameterError(_OTHER)
    name = column_name(column.id)
    written = f"{name} {sign} {value(constant)}"
    return f"{written} OR {name} IS NULL" if sign == "<>" else written
