"""Which statements ask the catalog, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from dpdb.bounded_parser import parse_postgres
from dpdb.doors.server.postgres.catalog.functions import FUNCTIONS
from dpdb.doors.server.postgres.catalog.relations import relations
from dpdb.doors.server.postgres.catalog.type_names import INTEGERS, REG, type_name
from dpdb.doors.sql.call import RELEASES
from dpdb.doors.sql.parse import parted_parameters
from dpdb.errors import StatementRefusedError

__all__ = ["SCHEMAS", "TYPED", "WORDS", "asks", "parsed", "query_of", "relation_of"]

SCHEMAS = ("pg_catalog", "information_schema")
# What the parser has classes for, and is a function of the catalog.
TYPED: Mapping[type[exp.Expr], str] = {
    exp.CurrentUser: "current_user", exp.SessionUser: "session_user", exp.CurrentSchema: "current_schema",
    exp.CurrentDatabase: "current_database", exp.CurrentSchemas: "current_schemas", exp.CurrentVersion: "version",
    exp.CurrentRole: "current_role", exp.CurrentCatalog: "current_catalog", exp.ArrayToString: "array_to_string",
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
    """Return a statement that asks the catalog and nothing else, as its tree; None of any other.

    Raises
    ------
    StatementRefusedError
        It asks the catalog and for something else as well.
    """
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
    if isinstance(node, exp.Column) and not node.table:
        return not node.this.args.get("quoted") and node.name.lower() in WORDS
    return type(node) in TYPED and not isinstance(node, exp.ArrayToString)
