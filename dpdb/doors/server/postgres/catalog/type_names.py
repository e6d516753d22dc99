"""Names of types in a client's query, as PostgreSQL's catalog has them."""

from __future__ import annotations

from sqlglot import exp

__all__ = ["INTEGERS", "REG", "TEXTS", "type_name"]

REG = ("regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "regoper", "regoperator")
"""Types whose values are numbers, and are shown as the name of what has that number."""
INTEGERS = ("oid", "xid", "cid")
TEXTS = (
    "name", "char", "text", "varchar", "bpchar", "sql_identifier", "character_data", "yes_or_no", "unknown",
)  # fmt: skip


def type_name(kind: exp.Expr) -> str:
    """Return the name of a type as PostgreSQL's catalog has it, of arrays with brackets behind it."""
    if isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.ARRAY:
        return f"{type_name(kind.expressions[0])}[]" if kind.expressions else "text[]"
    if isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.USERDEFINED:
        named = kind.args.get("kind")
        name = named.expression.name if isinstance(named, exp.Dot) else getattr(named, "name", str(named))
        return f"{name[1:]}[]" if name.startswith("_") else str(name).lower()
    return str(getattr(kind.this, "value", kind.this)).lower()
