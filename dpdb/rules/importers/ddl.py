"""SQL DDL: PRIMARY KEY, UNIQUE, NOT NULL, CHECK, REFERENCES of CREATE and ALTER TABLE; CREATE UNIQUE INDEX."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.bounded_parser import TooMuchWorkError, parse_script
from dpdb.errors import ParameterError
from dpdb.rules.found import Found, TableRules

__all__ = ["import_ddl", "is_ddl"]


def is_ddl(text: str) -> bool:
    """Return True if a text looks like statements that make tables."""
    words = text.upper()
    return "CREATE TABLE" in words or "ALTER TABLE" in words or "CREATE UNIQUE INDEX" in words or "CREATE TEMP" in words


def import_ddl(text: str, found: Found, dialect: str) -> None:
    """Read the constraints of all tables that statements make or alter; other statements are passed over.

    Raises
    ------
    ParameterError
        If the text is no SQL of the dialect.
    """
    try:
        with _silent():
            statements = parse_script(text, dialect)
    except TooMuchWorkError as error:
        raise ParameterError(f"the file {error}") from None
    except (SqlglotError, RecursionError, ValueError) as error:
        details = getattr(error, "errors", None)
        where = f" (line {details[0]['line']}: {details[0]['description']})" if details else ""
        raise ParameterError(f"the file is no SQL of dialect {dialect!r}{where}; name another with --dialect") from None
    for statement in statements:
        if isinstance(statement, exp.Create) and statement.kind == "TABLE":
            _table(statement, found)
        elif isinstance(statement, exp.Create) and statement.kind == "INDEX" and statement.args.get("unique"):
            _unique_index(statement, found)
        elif isinstance(statement, exp.Alter):
            _alter(statement, found)


@contextmanager
def _silent() -> Iterator[None]:
    """The parser says of each statement that it does not read that it does not; those are none of ours."""
    log = logging.getLogger("sqlglot")
    before = log.disabled
    log.disabled = True
    try:
        yield
    finally:
        log.disabled = before


def _table(statement: exp.Create, found: Found) -> None:
    schema = statement.this
    if not isinstance(schema, exp.Schema):
        return
    table = found.table(schema.this.name)
    for part in schema.expressions:
        if isinstance(part, exp.ColumnDef):
            for constraint in part.constraints:
                _constraint(constraint.kind, [part.name], table, constraint.name)
        else:
            _table_constraint(part, table)


def _table_constraint(part: exp.Expr, table: TableRules) -> None:
    named = part.name if isinstance(part, exp.Constraint) else ""
    for constraint in part.expressions if isinstance(part, exp.Constraint) else [part]:
        _constraint(constraint, [], table, named)


def _alter(statement: exp.Alter, found: Found) -> None:
    table = found.table(statement.this.name)
    for action in statement.args.get("actions") or []:
        if isinstance(action, exp.AddConstraint):
            for part in action.expressions:
                _table_constraint(part, table)
        elif isinstance(action, exp.AlterColumn) and action.args.get("allow_null") is False:
            table.not_null(action.name, f"ALTER COLUMN {action.name}")


def _unique_index(statement: exp.Create, found: Found) -> None:
    index = statement.this
    parameters = index.args.get("params")
    ordered = parameters.args.get("columns") if parameters is not None else None
    table = found.table(index.args["table"].name if index.args.get("table") else "")
    origin = f"unique index {index.name}"
    columns = [item.this if isinstance(item, exp.Ordered) else item for item in ordered or []]
    where = parameters.args.get("where") if parameters is not None else None
    if not columns or not all(isinstance(column, exp.Column) for column in columns):
        table.leave(origin, "it is over expressions")
        return
    table.unique([column.name for column in columns], origin, where=None if where is None else _sql(where.this))


def _constraint(kind: exp.Expr | None, columns: list[str], table: TableRules, named: str) -> None:
    """Take one constraint; `columns` is the column that it stands behind, if it stands behind one."""
    shown = f"{named}: " if named else ""
    if isinstance(kind, (exp.PrimaryKey, exp.PrimaryKeyColumnConstraint)):
        columns = columns or _columns(kind.expressions)
        origin = f"{shown}PRIMARY KEY ({', '.join(columns)})"
        table.unique(columns, origin)
        table.found.primary_keys.setdefault(table.name, columns)
        for column in columns:
            table.not_null(column, origin)
    elif isinstance(kind, exp.UniqueColumnConstraint):
        inside = kind.this
        columns = columns or _columns(inside.expressions if isinstance(inside, exp.Schema) else [])
        table.unique(columns, f"{shown}UNIQUE ({', '.join(columns)})")
    elif isinstance(kind, exp.NotNullColumnConstraint) and not kind.args.get("allow_null"):
        table.not_null(columns[0], f"{shown}NOT NULL {columns[0]}")
    elif isinstance(kind, exp.CheckColumnConstraint):
        origin = f"{shown}CHECK ({_sql(kind.this)})"
        if any(division.args.get("typed") for division in kind.this.find_all(exp.Div)):
            table.leave(origin, "there / may round to whole numbers, here it never does; write // or / yourself")
        else:
            table.check(_sql(kind.this), origin)
    elif isinstance(kind, (exp.ForeignKey, exp.Reference)):
        columns = columns or _columns(kind.expressions)
        _reference(columns, kind.args["reference"] if isinstance(kind, exp.ForeignKey) else kind, table, shown)
    elif isinstance(kind, exp.ExcludeColumnConstraint):
        table.leave(f"{shown}EXCLUDE", "write it as a denial constraint: not(t1... & t2...)")


def _reference(columns: list[str], reference: exp.Expr, table: TableRules, shown: str) -> None:
    """Take a foreign key; without columns it refers to the primary key, which the same file may have made before."""
    target = reference.this
    parent = target.this if isinstance(target, exp.Schema) else target
    named = table.found.primary_keys.get(parent.name, [])
    if isinstance(target, exp.Schema):
        named = _columns(target.expressions)
    name = f"{parent.db}.{parent.name}" if parent.db else parent.name
    table.refers(columns, name, named, f"{shown}REFERENCES of ({', '.join(columns)})")


def _columns(parts: list[exp.Expr]) -> list[str]:
    return [part.this.name if isinstance(part, exp.Ordered) else part.name for part in parts]


def _sql(condition: exp.Expr) -> str:
    while isinstance(condition, exp.Paren):
        condition = condition.this
    return condition.sql("duckdb", comments=False)
