"""Which statements ask the catalog, and nothing else; the names and types that PostgreSQL gives their columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from dpdb.bounded_parser import parse_postgres
from dpdb.doors.server.postgres.catalog.content import HIDDEN, arrow_type, function_names, relations
from dpdb.doors.server.postgres.catalog.functions import FUNCTIONS
from dpdb.doors.sql.call import RELEASES
from dpdb.doors.sql.column_names import name_columns, type_name
from dpdb.doors.sql.parse import parted_parameters
from dpdb.errors import StatementRefusedError

REG = ("regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "regoper", "regoperator")
"""Types whose values are numbers, and are shown as the name of what has that number."""
INTEGERS = ("oid", "xid", "cid")
TEXTS = (
    "name", "char", "text", "varchar", "bpchar", "sql_identifier", "character_data", "yes_or_no", "unknown",
)  # fmt: skip


SCHEMAS = ("pg_catalog", "information_schema")
# What the parser has classes for, and is a function of the catalog.
TYPED: Mapping[type[exp.Expr], str] = {
    exp.CurrentUser: "current_user", exp.SessionUser: "session_user", exp.CurrentSchema: "current_schema",
    exp.CurrentDatabase: "current_database", exp.CurrentSchemas: "current_schemas", exp.CurrentVersion: "version",
    exp.CurrentRole: "current_role", exp.CurrentCatalog: "current_catalog", exp.ArrayToString: "array_to_string",
    exp.Encode: "encode",
}  # fmt: skip
# The clock, which statements about tables do not read.
CLOCK: Mapping[type[exp.Expr], str] = {
    exp.CurrentTimestamp: "now", exp.CurrentDate: "current_date", exp.CurrentTime: "current_time",
    exp.Localtimestamp: "localtimestamp", exp.Localtime: "localtime",
}  # fmt: skip
_VERBS = ("select", "insert", "update", "delete")
WORDS = ("current_user", "session_user", "user", "current_role", "current_catalog", "current_schema")


def parsed(text: str) -> exp.Expr | None:
    """Read one statement in PostgreSQL's SQL; None of what cannot be read."""
    try:
        trees = parse_postgres(_readable(parted_parameters(text)))
    except (SqlglotError, RecursionError):
        return None
    return trees[0] if len(trees) == 1 else None


def query_of(text: str) -> exp.Query | None:
    """Return a statement that asks the catalog and nothing else, as its tree; None of any other."""
    tree = parsed(text)
    if not isinstance(tree, exp.Query):
        return None
    named = {folded for with_ in tree.find_all(exp.CTE) if (folded := with_.alias.lower())}
    tables = [table for table in tree.find_all(exp.Table) if not (not table.db and table.name.lower() in named)]
    ours = [relation_of(table) is not None or not isinstance(table.this, exp.Identifier) for table in tables]
    if not any(relation_of(table) is not None for table in tables) and not any(map(asks, tree.walk())):
        return None
    if any(isinstance(node, exp.Anonymous) and node.name.lower() in RELEASES for node in tree.walk()):
        raise StatementRefusedError("a statement asks the catalog or for releases: ask in two")
    if not all(ours):
        if any(relation_of(table) is not None for table in tables):
            raise StatementRefusedError("a statement asks the catalog or of tables: ask in two")
        return None
    return tree


def _readable(text: str) -> str:
    """Write what the parser does not read as what it does: `oid[]` by that type's name, and names that are verbs."""
    tokens = Dialect.get_or_raise("postgres").tokenize(text)
    for place in range(len(tokens) - 1, 0, -1):
        before, word = tokens[place - 1], tokens[place]
        following = [token.text for token in tokens[place + 1 : place + 3]]
        if word.text.lower() in (*REG, *INTEGERS) and following == ["[", "]"]:
            text = f"{text[: word.start]}_{word.text}{text[tokens[place + 2].end + 1 :]}"
        elif before.text.lower() in ("as", ".") and word.text.lower() in _VERBS and text[word.start] != '"':
            text = f'{text[: word.start]}"{word.text.lower()}"{text[word.end + 1 :]}'
    return text


def relation_of(table: exp.Table) -> str | None:
    """Return the relation of the catalog that a table names."""
    if not isinstance(table.this, exp.Identifier):
        return None
    name, schema = table.name.lower(), table.db.lower()
    if schema == "information_schema":
        name = f"information_schema.{name}"
    elif schema not in ("", "pg_catalog"):
        return None
    if name in relations():
        return name
    if schema or name.startswith("pg_"):
        raise StatementRefusedError(f"the catalog here has no relation {name}")
    return None


def asks(node: exp.Expr) -> bool:
    """Whether a node is a function of the catalog, or a word that is one."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in FUNCTIONS
    if isinstance(node, exp.Cast):
        return type_name(node.to) in REG
    if type(node) in CLOCK:
        return True
    if isinstance(node, exp.Column) and not node.table:
        return not node.this.args.get("quoted") and node.name.lower() in WORDS
    return type(node) in TYPED and not isinstance(node, exp.ArrayToString)


# Those that a client may have to know from text and numbers.
_KINDS = ("name", "oid", "char", "int2vector", "oidvector", "xid", "_oid", "regproc", "varchar")
# What functions give that is no text.
_GIVEN = {
    "pg_get_userbyid": "name", "pg_encoding_to_char": "name", "current_database": "name", "current_user": "name",
    "session_user": "name", "current_schema": "name", "current_catalog": "name", "user": "name", "current_role": "name",
}  # fmt: skip
_MOST_STEPS = 8


def name_asked_columns(tree: exp.Query) -> None:
    """Give the columns of the result the names that PostgreSQL gives them."""
    name_columns(tree, TYPED, asks)


def result_kinds(tree: exp.Query, read: Iterable[str]) -> dict[str, str]:  # noqa: C901 - a case per kind of expression
    """Return the types of a result's columns by their names, as the catalog has them; of what is of such a type.

    Parameters
    ----------
    tree
        The query, not yet rewritten.
    """
    types: dict[str, set[str]] = {}
    for relation in read:
        for name, kind in relations()[relation].items():
            types.setdefault(name, set()).add(kind)
    of_relations = {name: next(iter(kinds)) for name, kinds in types.items() if len(kinds) == 1}
    defined = {alias.alias.lower(): alias.this for alias in tree.find_all(exp.Alias)}
    named = {
        table.alias_or_name.lower(): relations()[read_from]
        for table in tree.find_all(exp.Table) if (read_from := relation_of(table))
    }  # fmt: skip

    def kind_of(node: object, steps: int) -> str:  # noqa: PLR0911 - the same
        if steps == 0:
            return ""
        if isinstance(node, exp.Column):
            name = node.name.lower()
            if name in WORDS and asks(node):
                return "name"
            own = named.get(node.table.lower(), {}).get(name) or HIDDEN.get(name) or of_relations.get(name)
            return own or kind_of(defined.get(name), steps - 1)
        if isinstance(node, exp.Expr) and (type(node) in TYPED or isinstance(node, exp.Anonymous)):
            return _GIVEN.get(TYPED.get(type(node), node.name.lower()), "")
        if isinstance(node, exp.Dot):  # a function behind its schema
            return kind_of(node.expression, steps - 1)
        if isinstance(node, exp.Cast):
            return type_name(node.to)
        if isinstance(node, exp.ArrayAgg):
            inside = kind_of(node.this.this if isinstance(node.this, exp.Order) else node.this, steps - 1)
            return f"_{inside}" if inside else ""
        if isinstance(node, exp.Case):
            return kind_of(node.args["ifs"][0].args["true"], steps - 1)
        if isinstance(node, exp.Subquery):
            return kind_of(node.this.selects[0] if node.this.selects else None, steps - 1)
        return kind_of(node.this, steps - 1) if isinstance(node, (exp.Paren, exp.Coalesce, exp.Alias)) else ""

    found = {item.alias_or_name.lower(): kind_of(item, _MOST_STEPS) for item in tree.selects}
    if any(isinstance(item, exp.Star) for item in tree.selects):
        found |= of_relations | {name: kind_of(node, _MOST_STEPS) for name, node in defined.items()}
    for item in tree.selects:
        if isinstance(item, exp.Column) and isinstance(item.this, exp.Star):
            found = {**named.get(item.table.lower(), {}), **found}
    return found


def with_kinds(table: pa.Table, kinds: Mapping[str, str]) -> pa.Table:
    """Return a result with its types as metadata (`pg_type`) of its columns."""
    columns, fields = [], []
    for field, column in zip(table.schema, table.columns, strict=True):
        kind = kinds.get(field.name.lower(), "")
        known = kind in _KINDS and field.type == arrow_type(kind)
        if known and kind.endswith("vector"):  # written as numbers with blanks between
            texts = [None if one is None else " ".join(map(str, one)) for one in column.to_pylist()]
            column, field = pa.array(texts, pa.string()), field.with_type(pa.string())  # noqa: PLW2901
        elif known and kind == "regproc":  # shown as names
            texts = [None if one is None else function_names().get(one, str(one)) for one in column.to_pylist()]
            column, field = pa.array(texts, pa.string()), field.with_type(pa.string())  # noqa: PLW2901
        columns.append(column)
        fields.append(field.with_metadata({b"pg_type": kind.encode()}) if known else field)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))
