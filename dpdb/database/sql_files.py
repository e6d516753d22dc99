"""The SQL that is not generated: named files, shipped in the wheel as `dpdb/sql`, in a checkout in `sql/`."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import sqlglot
from sqlglot import exp

__all__ = ["sql_file", "sql_statement"]

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def sql_file(name: str) -> str:
    """Return the text of `sql/<name>.sql`.

    Raises
    ------
    FileNotFoundError
        If neither the wheel nor the checkout has the file: a packaging mistake.
    """
    for folder in (_PACKAGE / "sql", _PACKAGE.parent / "sql"):
        path = folder / f"{name}.sql"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise FileNotFoundError(f"{name}.sql is missing from the installed package")


def sql_statement(name: str, schema: str) -> exp.Expr:
    """Return the one statement of `sql/<name>.sql` with its tables moved into `schema`."""
    statement = sqlglot.parse_one(sql_file(name), dialect="duckdb")
    for table in statement.find_all(exp.Table):
        table.set("db", exp.to_identifier(schema, quoted=True))
    return statement
