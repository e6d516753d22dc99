"""SQL DDL: PRIMARY KEY, UNIQUE, NOT NULL, CHECK, REFERENCES of CREATE and ALTER TABLE; CREATE UNIQUE INDEX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from sqlglot import exp

from dpdb.errors import ParameterError
from dpdb.rules.conditions import plain
from dpdb.rules.found import ANY_TABLE, Found, TableRules
from dpdb.rules.importers.ddl_statements import statements_of
from dpdb.rules.options import Options
from dpdb.rules.texts import checked, found_in, keyed, keyed_with_nulls, present

# Without influence on which rows violate the rule: time of the check, action on violation, storage of an index.
_SILENT = {"enforced", "include", "delete", "update", "desc", "with_storage", "using", "tablespace", "index_type"}
_SILENT_WORDS = re.compile(
    r"(NOT )?(DEFERRABLE|ENFORCED|VALID)|INITIALLY \w+|ON (DELETE|UPDATE) .*|NO INHERIT|MATCH SIMPLE|(NO)?VALIDATE"
    r"|(NO)?RELY|ENABLE|DISABLE|NO CHECK",
    re.IGNORECASE,
)
# Statements that sqlglot passes on unread although they may hold rules.
_UNREAD = re.compile(
    r"(?P<what>(create )?unique .*?\bon|(create |alter )?table) (if (not )?exists )?(only )?"
    r"(?P<table>[^ (]+)(?P<rest>.*)",
    re.IGNORECASE,
)
# Clauses by which a table has what another one has.
_OF_OTHER_TABLES: dict[type[exp.Expr], str] = {
    exp.InheritsProperty: "INHERITS", exp.LikeProperty: "LIKE", exp.PartitionedOfProperty: "PARTITION OF",
}  # fmt: skip
_GONE = "see whether a rule above is gone"
_LONGEST = 1_000
_COMMENT = re.compile(r"--.*")
_RULES = re.compile(r"\b(unique|primary\s+key|check|references|foreign\s+key|not\s+null|exclude)\b", re.IGNORECASE)


def is_ddl(text: str) -> bool:
    """Return True if a text looks like statements that make tables."""
    words = text.upper()
    return "CREATE TABLE" in words or "ALTER TABLE" in words or "CREATE UNIQUE INDEX" in words or "CREATE TEMP" in words


def import_ddl(text: str, found: Found, dialect: str) -> None:
    """Read the constraints of all tables that statements make or alter; skip other statements.

    Parameters
    ----------
    found
        Gets the rules and the constraints that are left out.
    dialect
        The SQL dialect of the text, by sqlglot's names.

    Raises
    ------
    ParameterError
        If the text is no SQL of the dialect.
    """
    for statement in statements_of(text, dialect):
        if isinstance(statement, exp.Create) and statement.kind == "TABLE":
            _table(statement, found)
        elif isinstance(statement, exp.Create) and statement.kind == "INDEX" and statement.args.get("unique"):
            _unique_index(statement, found)
        elif isinstance(statement, exp.Alter):
            _alter(statement, found)
        elif isinstance(statement, exp.Drop):
            _drop(statement, found)
        elif isinstance(statement, exp.Command):
            _unread(f"{statement.this} {statement.expression}", found)
        elif isinstance(statement, str):
            _unread(statement, found)


def _table(statement: exp.Create, found: Found) -> None:
    schema = statement.this
    others = list(statement.find_all(*_OF_OTHER_TABLES))
    if not isinstance(schema, exp.Schema) and not others:
        return
    table = found.table(schema.this.name if isinstance(schema, exp.Schema) else schema.name)
    for other in others:
        names = " and ".join(dict.fromkeys(parent.name for parent in other.find_all(exp.Table)))
        table.leave(f"{_OF_OTHER_TABLES[type(other)]} {names}", f"rules of {names} may hold here, too: import those")
    for part in schema.expressions:
        if isinstance(part, exp.ColumnDef) and part.kind is not None:
            table.declare(part.name, part.kind.sql())
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
        elif isinstance(action, exp.ColumnDef):
            for constraint in action.constraints:
                _constraint(constraint.kind, [action.name], table, constraint.name)
        elif isinstance(action, exp.AlterColumn) and action.args.get("allow_null") is False:
            table.take(partial(present, action.name), f"ALTER COLUMN {action.name}", Options(None))
        elif isinstance(action, (exp.RenameColumn, exp.AlterRename)):
            table.leave(f"ALTER TABLE: {action.sql('duckdb', comments=False)}", "rules above have the name from before")
        elif isinstance(action, exp.Drop) or (isinstance(action, exp.AlterColumn) and action.args.get("allow_null")):
            table.leave(f"ALTER TABLE: {action.sql('duckdb', comments=False)}", _GONE)


def _drop(statement: exp.Drop, found: Found) -> None:
    """Leave out that a table or an index goes whose rules have been taken; else it takes none with it."""
    kind, names = statement.kind, {each.name for each in statement.args.get("tables") or []}
    for name in sorted(names):
        of = (
            {name} if kind == "TABLE" else {rule.table for rule in found.rules if kind == "INDEX" and rule.name == name}
        )
        for table in of & {rule.table for rule in found.rules}:
            found.table(table).leave(f"DROP {kind} {name}", _GONE)


def _unread(statement: str, found: Found) -> None:
    """Leave out a statement that sqlglot does not read and that names a rule."""
    text = " ".join(_COMMENT.sub(" ", statement)[:_LONGEST].split())
    said = _UNREAD.match(text)
    if said is not None and (_RULES.search(said["rest"]) or "unique" in said["what"].lower()):
        name = re.split(r"[.(]", said["table"])[-1].strip('"`[]')
        found.table(name).leave(text, "sqlglot does not read this statement")
    elif said is None and _RULES.search(text):
        found.table(ANY_TABLE).leave(text, "sqlglot does not read this statement")


def _unique_index(statement: exp.Create, found: Found) -> None:
    index = statement.this
    table = found.table(index.args["table"].name if index.args.get("table") else "")
    options = _options(index.args.get("params"))
    where = options.get("where")

    def written() -> str:
        return keyed(_columns(options.get("columns")), None if where is None else _sql(where.this))

    table.take(written, f"unique index {index.name}", options, name=index.name)


def _options(node: exp.Expr | None, strange: Sequence[str] = ()) -> Options:
    """Return the parts of a statement as options; skip empty parts."""
    said = {key: part for key, part in (node.args if node is not None else {}).items() if part not in (False, [])}
    words = [str(word) for word in said.pop("options", [])]
    return Options(said, _SILENT, [*strange, *(word for word in words if not _SILENT_WORDS.fullmatch(word))])


def _constraint(kind: exp.Expr | None, columns: list[str], table: TableRules, named: str) -> None:
    """Take one constraint; `columns` has the column of a column constraint, and is empty for a table constraint."""
    shown = f"{named}: " if named else ""
    options = _options(kind)
    if isinstance(kind, (exp.PrimaryKey, exp.PrimaryKeyColumnConstraint)):
        parts = options.get("expressions")
        key = columns or _names(parts)
        table.found.primary_keys.setdefault(table.name, key)
        origin = f"{shown}PRIMARY KEY ({', '.join(key)})"
        table.take(lambda: _primary(columns or _columns(parts)), origin, options, name=named)
    elif isinstance(kind, exp.UniqueColumnConstraint):
        inside = options.get("this")
        parts = inside.expressions if isinstance(inside, exp.Schema) else []
        write = keyed_with_nulls if options.flag("nulls") else keyed
        origin = f"{shown}UNIQUE ({', '.join(columns or _names(parts))})"
        table.take(lambda: write(columns or _columns(parts)), origin, options, name=named)
    elif isinstance(kind, exp.NotNullColumnConstraint) and not kind.args.get("allow_null"):
        table.take(lambda: present(columns[0]), f"{shown}NOT NULL {columns[0]}", options, name=named)
    elif isinstance(kind, exp.CheckColumnConstraint):
        origin = f"{shown}CHECK ({_sql(kind.this)})"
        table.take(lambda: _check(options.need("this")), origin, options, name=named)
    elif isinstance(kind, exp.ForeignKey):
        columns = columns or _names(options.get("expressions"))
        _reference(columns, options.need("reference"), table, named, options.unread())
    elif isinstance(kind, exp.Reference):
        _reference(columns, kind, table, named)
    elif isinstance(kind, exp.ExcludeColumnConstraint):
        table.leave(f"{shown}EXCLUDE", "write it as a denial constraint: not(t1... & t2...)")


def _primary(columns: Sequence[str]) -> list[str]:
    return [keyed(columns), *map(present, columns)]


def _check(condition: exp.Expr) -> str:
    if any(division.args.get("typed") for division in condition.find_all(exp.Div)):
        raise ParameterError("there / may round to whole numbers, here it never does; write // or / yourself")
    return checked(_sql(condition))


def _reference(
    columns: list[str], reference: exp.Expr, table: TableRules, named: str, strange: Sequence[str] = ()
) -> None:
    """Take a foreign key; without target columns it refers to the primary key that the file has declared before."""
    options = _options(reference, strange)
    target = options.need("this")
    parent = target.this if isinstance(target, exp.Schema) else target
    targets = table.found.primary_keys.get(parent.name, [])
    if isinstance(target, exp.Schema):
        targets = _names(target.expressions)
    name = f"{parent.db}.{parent.name}" if parent.db else parent.name
    origin = f"{f'{named}: ' if named else ''}REFERENCES of ({', '.join(columns)})"
    table.take(lambda: found_in(columns, name, targets), origin, options, name=named)


def _names(parts: Sequence[exp.Expr] | None) -> list[str]:
    """Return the names of columns, for a message."""
    return [part.this.name if isinstance(part, exp.Ordered) else part.name for part in parts or []]


def _columns(parts: Sequence[exp.Expr] | None) -> list[str]:
    """Return the names of columns."""
    plain = [part.this if isinstance(part, exp.Ordered) else part for part in parts or []]
    if not plain or not all(isinstance(part, (exp.Column, exp.Identifier)) for part in plain):
        raise ParameterError("it is over expressions")
    return [part.name for part in plain]


def _sql(condition: exp.Expr) -> str:
    while isinstance(condition, exp.Paren):
        condition = condition.this
    return plain(condition).sql("duckdb", comments=False)
