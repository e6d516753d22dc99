"""A client's query of the catalog, rewritten: what PostgreSQL writes becomes what DuckDB answers over the same relations.

Default deny: relations of the catalog, functions that are known, and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from dpdb.bounded_parser import parse_postgres
from dpdb.doors.server.postgres.catalog.content import Content, function_names, relation_name
from dpdb.doors.server.postgres.catalog.functions import FUNCTIONS, PREFIX
from dpdb.doors.server.postgres.catalog.relations import formatted, pg_types, relations
from dpdb.doors.sql.call import RELEASES
from dpdb.doors.sql.functions import FUNCTIONS as HARMLESS
from dpdb.doors.sql.rewrite import ANSWERS
from dpdb.errors import StatementRefusedError

__all__ = ["Rewritten", "query_of", "rewritten"]

_SCHEMAS = ("pg_catalog", "information_schema")
_REG = ("regclass", "regtype", "regproc", "regprocedure", "regnamespace", "regrole", "regoper", "regoperator")
_INTEGERS = {"oid": "BIGINT", "xid": "BIGINT", "cid": "BIGINT"}
_OPERATORS = {
    "~": exp.RegexpLike, "~*": exp.RegexpILike, "=": exp.EQ, "<>": exp.NEQ, "!=": exp.NEQ, "~~": exp.Like,
    "~~*": exp.ILike, "<": exp.LT, ">": exp.GT, "<=": exp.LTE, ">=": exp.GTE, "+": exp.Add, "-": exp.Sub,
    "||": exp.DPipe,
}  # fmt: skip
_NEGATED = {"!~": exp.RegexpLike, "!~*": exp.RegexpILike, "!~~": exp.Like, "!~~*": exp.ILike}
# What the parser has classes for, and is a function of the catalog.
_TYPED = {
    exp.CurrentUser: "current_user", exp.SessionUser: "session_user", exp.CurrentSchema: "current_schema",
    exp.CurrentDatabase: "current_database", exp.CurrentSchemas: "current_schemas", exp.CurrentVersion: "version",
    exp.CurrentRole: "current_role", exp.CurrentCatalog: "current_catalog", exp.ArrayToString: "array_to_string",
}  # fmt: skip
# Behind `pg_catalog.` the parser has no classes for these.
_PLAIN = (
    "lower", "upper", "length", "substring", "replace", "split_part", "count", "min", "max", "sum", "array_agg",
    "string_agg", "generate_series", "unnest", "coalesce", "concat", "trim", "btrim", "rtrim", "ltrim", "abs", "left",
    "right", "strpos", "md5", "now", "greatest", "least", "nullif", "bool_or", "bool_and", "array_length", "chr",
    "regexp_replace", "starts_with", "array_append", "array_cat", "row_number", "any_value", "round",
)  # fmt: skip
_WORDS = ("current_user", "session_user", "user", "current_role", "current_catalog", "current_schema")
_RUN = (
    *HARMLESS, exp.And, exp.Or, exp.Exists, exp.Any, exp.CurrentTimestamp, exp.CurrentDate, exp.Unnest,
    exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.ArrayConcat, exp.ArrayContains, exp.ToChar,
    exp.Chr, exp.MD5, exp.Initcap, exp.ArrayAgg, exp.StringToArray, exp.RegexpILike, exp.Posexplode, exp.CurrentTime,
)  # fmt: skip


@dataclass
class Rewritten:
    """A query as a process of its own runs it.

    Attributes
    ----------
    sql : str
    relations : set of str
        The relations that it reads.
    functions : set of str
        The functions that it calls.
    """

    sql: str = ""
    relations: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)


def query_of(text: str) -> exp.Query | None:
    """Return a statement that asks the catalog and nothing else, as its tree; None of any other.

    Raises
    ------
    StatementRefusedError
        It asks the catalog and for something else as well.
    """
    try:
        trees = parse_postgres(_with_named_arrays(text))
    except (SqlglotError, RecursionError):
        return None
    tree = trees[0] if len(trees) == 1 else None
    if not isinstance(tree, exp.Query):
        return None
    named = {folded for with_ in tree.find_all(exp.CTE) if (folded := with_.alias.lower())}
    tables = [table for table in tree.find_all(exp.Table) if not (not table.db and table.name.lower() in named)]
    ours = [_relation(table) is not None or not isinstance(table.this, exp.Identifier) for table in tables]
    asks = any(_relation(table) is not None for table in tables) or any(map(_asks, tree.walk()))
    if not asks:
        return None
    if any(isinstance(node, exp.Anonymous) and node.name.lower() in RELEASES for node in tree.walk()):
        raise StatementRefusedError("a statement asks the catalog or for releases: ask in two")
    if not all(ours):
        if any(_relation(table) is not None for table in tables):
            raise StatementRefusedError("a statement asks the catalog or of tables: ask in two")
        return None
    return tree


def _with_named_arrays(text: str) -> str:
    """Write `oid[]` as PostgreSQL names that type, `_oid`: the parser reads no brackets behind such types."""
    if "[" not in text:
        return text
    tokens = Dialect.get_or_raise("postgres").tokenize(text)
    for word, opening, closing in reversed([*zip(tokens, tokens[1:], tokens[2:], strict=False)]):
        if word.text.lower() in (*_REG, *_INTEGERS) and (opening.text, closing.text) == ("[", "]"):
            text = f"{text[: word.start]}_{word.text}{text[closing.end + 1 :]}"
    return text


def _relation(table: exp.Table) -> str | None:
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


def _asks(node: exp.Expr) -> bool:
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in FUNCTIONS
    if isinstance(node, exp.Cast):
        return _type_name(node.to) in _REG
    if isinstance(node, exp.Column) and not node.table:
        return not node.this.args.get("quoted") and node.name.lower() in _WORDS
    return type(node) in _TYPED and not isinstance(node, exp.ArrayToString)


def rewritten(tree: exp.Query, content: Content) -> Rewritten:
    """Rewrite a query.

    Raises
    ------
    StatementRefusedError
        At what is not known.
    """
    found = Rewritten()
    _name_results(tree)
    rewriter = _Rewriter(content, found)
    for node in [*tree.walk(bfs=False)][::-1]:  # leaves first
        changed = rewriter.changed(node)
        if changed is not node:
            node.replace(changed)
    try:
        found.sql = tree.sql("duckdb", unsupported_level=None)
    except (SqlglotError, ValueError, RecursionError):
        raise StatementRefusedError("the catalog here cannot answer this") from None
    return found


def _name_results(tree: exp.Query) -> None:
    """Give the columns of the result the names that PostgreSQL gives them."""
    for select in tree.find_all(exp.Select):
        items = []
        for item in select.expressions:
            plain = isinstance(item, (exp.Alias, exp.Star)) or (isinstance(item, exp.Column) and not _asks(item))
            items.append(item if plain else exp.alias_(item, _implied(item)[0] or "?column?", quoted=True))
        select.set("expressions", items)


def _implied(node: exp.Expr) -> tuple[str, bool]:
    """Return the name that an expression gives its column, and whether one of its own (`FigureColname`)."""
    if isinstance(node, (exp.Paren, exp.Collate, exp.Bracket)):
        return _implied(node.this)
    if isinstance(node, exp.Cast):
        name, own = _implied(node.this)
        return (name, True) if own else (_type_name(node.to).removesuffix("[]"), False)
    if isinstance(node, exp.Case):
        name, own = _implied(node.args["default"]) if node.args.get("default") else ("", False)
        return (name, True) if own else ("case", False)
    if isinstance(node, exp.Subquery):
        first = node.this.expressions[:1]
        return (first[0].alias_or_name, True) if first and first[0].alias_or_name else ("", False)
    if isinstance(node, exp.Dot):
        return _implied(node.expression)
    if isinstance(node, (exp.Column, exp.Identifier, exp.Anonymous)):
        return node.name.lower(), True
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        name = "string_agg" if isinstance(node, exp.GroupConcat) else node.sql_name().lower()
        return _TYPED.get(type(node), name), True
    return "", False


class _Rewriter:
    """Changes one node after another; `found` gets what the query needs."""

    def __init__(self, content: Content, found: Rewritten) -> None:
        self._content, self._found = content, found

    def changed(self, node: exp.Expr) -> exp.Expr:
        """Return what stands for a node whose parts are changed already."""
        if isinstance(node, exp.Identifier) and not node.args.get("quoted"):
            node.set("this", node.name.lower())
            node.set("quoted", not _is_star(node))
            return node
        change = _CHANGES.get(type(node))
        if change is not None:
            return change(self, node)
        if isinstance(node, exp.Func) and not isinstance(node, _RUN):
            raise StatementRefusedError(f"the catalog here has no function {node.sql_name().lower()}")
        return node

    def call(self, name: str, arguments: list[exp.Expr]) -> exp.Expr:
        """Call a function of the catalog."""
        if name not in FUNCTIONS:
            raise StatementRefusedError(f"the catalog here has no function {name}")
        most = FUNCTIONS[name][0]
        if len(arguments) > most:
            raise StatementRefusedError(f"the function {name} takes at most {most} arguments")
        self._found.functions.add(name)
        given = [*arguments, *(exp.null() for _ in range(most - len(arguments)))]
        return exp.Anonymous(this=f"{PREFIX}{name}", expressions=given)

    def _table(self, node: exp.Table) -> exp.Expr:
        if isinstance(node.this, exp.Anonymous) and node.this.name == f"{PREFIX}pg_get_keywords":
            self._found.functions.discard("pg_get_keywords")
            return self._read("pg_get_keywords", node, node.alias or "pg_get_keywords")
        if not isinstance(node.this, exp.Identifier):
            node.set("db", None)
            return node
        relation = _relation(node)
        return node if relation is None else self._read(relation, node, node.alias or node.name)

    def _read(self, relation: str, node: exp.Table, alias: str) -> exp.Expr:
        with_ = node.find_ancestor(exp.Query)
        while with_ is not None:  # a name of WITH comes before the catalog's
            if not node.db and any(one.alias.lower() == relation for one in with_.ctes):
                return node
            with_ = with_.find_ancestor(exp.Query)
        self._found.relations.add(relation)
        read = exp.table_(relation_name(relation), db=ANSWERS, quoted=True)
        columns = node.args["alias"].args.get("columns") if node.args.get("alias") else None
        read.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True), columns=columns))
        for part in ("joins", "laterals"):
            if node.args.get(part):
                read.set(part, node.args[part])
        return read

    def _column(self, node: exp.Column) -> exp.Expr:
        name = node.name.lower()
        if node.table in _SCHEMAS and not node.db and name in _WORDS:
            return self.call(name, [])
        if not node.table and name in _WORDS and node.meta.get("word", True) and not _is_alias(node):
            return self.call(name, [])
        node.set("db", None)
        node.set("catalog", None)
        return node

    def _dot(self, node: exp.Dot) -> exp.Expr:
        if isinstance(node.this, exp.Identifier) and node.this.name.lower() in _SCHEMAS:
            return node.expression
        if isinstance(node.this, (exp.Paren, exp.Column)) and isinstance(node.expression, exp.Identifier):
            value = node.this.this if isinstance(node.this, exp.Paren) else node.this
            key = exp.Literal.string(node.expression.name)
            return exp.Anonymous(this="struct_extract", expressions=[value.copy(), key])
        return node

    def _anonymous(self, node: exp.Anonymous) -> exp.Expr:
        name = node.name.lower()
        if name.startswith(PREFIX) or name in ("struct_extract", "list_contains", "json_object"):
            return node
        if name == "json_build_object":
            return exp.cast(
                exp.Anonymous(this="json_object", expressions=node.expressions), "VARCHAR", dialect="duckdb"
            )
        if (name == "all" and len(node.expressions) == 1) or name in _PLAIN:
            return node  # its comparison takes it
        return self.call(name, node.expressions)

    def _typed(self, node: exp.Expr) -> exp.Expr:
        arguments = [node.this] if isinstance(node.this, exp.Expr) else []
        if isinstance(node, exp.ArrayToString):
            arguments = [node.this, node.expression]
        return self.call(_TYPED[type(node)], arguments)

    def _collate(self, node: exp.Collate) -> exp.Expr:
        return node.this

    def _operator(self, node: exp.Operator) -> exp.Expr:
        sign = str(node.args["operator"]).rpartition(".")[2].strip()
        if sign in _OPERATORS:
            return self._compared(_OPERATORS[sign](this=node.this, expression=node.expression))
        if sign in _NEGATED:
            return exp.not_(_NEGATED[sign](this=node.this, expression=node.expression))
        raise StatementRefusedError(f"the catalog here has no operator {sign}")

    def _compared(self, node: exp.Expr) -> exp.Expr:
        """Rewrite comparisons with any or all values of an array, and of functions with 0, which stands for none."""
        right = node.args.get("expression")
        is_all = isinstance(right, exp.Anonymous) and right.name.lower() == "all"
        if isinstance(right, exp.Any) or is_all:
            values = right.expressions[0] if is_all else right.this
            while isinstance(values, exp.Paren):
                values = values.this
            if isinstance(values, (exp.Query, exp.Subquery)):
                return node
            if isinstance(values, exp.Literal):
                digits = all(part.strip().isdigit() for part in values.name.strip("{}").split(","))
                values = self._array(values, "oid" if digits else "text")
            held = exp.Anonymous(this="list_contains", expressions=[values.copy(), node.this.copy()])
            if isinstance(node, exp.EQ) and not is_all:
                return held
            if isinstance(node, exp.NEQ) and is_all:
                return exp.not_(held)
            raise StatementRefusedError("the catalog here compares with arrays by = ANY and <> ALL alone")
        for one, other in (("this", "expression"), ("expression", "this")):
            column, value = node.args[one], node.args[other]
            if isinstance(column, exp.Column) and _is_function(column) and _is_zero(value):
                node.set(other, exp.Literal.string("-"))
        return node

    def _cast(self, node: exp.Cast) -> exp.Expr:
        kind = _type_name(node.to)
        value = node.this
        if kind.endswith("[]"):
            return self._array(value, kind[:-2])
        if kind in _REG:
            return self._reg(node, kind, value)
        if kind in _INTEGERS:
            if isinstance(value, exp.Anonymous) and value.name in {f"{PREFIX}{reg}" for reg in _REG}:
                return value.expressions[0]  # the number that a name was made of
            return exp.cast(value, "BIGINT", dialect="duckdb")
        if kind in (
            "name",
            "char",
            "text",
            "varchar",
            "bpchar",
            "sql_identifier",
            "character_data",
            "yes_or_no",
            "unknown",
        ):
            return exp.cast(value, "VARCHAR", dialect="duckdb")
        if kind in ("int2vector", "oidvector"):
            return self._array(value, "int8")
        if kind == "cardinal_number":
            return exp.cast(value, "INTEGER", dialect="duckdb")
        if isinstance(node.to, exp.DataType) and node.to.this != exp.DataType.Type.USERDEFINED:
            return node
        raise StatementRefusedError(f"the catalog here has no type {kind}")

    def _array(self, value: exp.Expr, kind: str) -> exp.Expr:
        if isinstance(value, exp.Literal) and value.is_string and value.name[:1] == "{":
            inside = value.name.strip("{}")
            parts = [part.strip().strip('"') for part in inside.split(",")] if inside else []
            value = exp.Array(expressions=[exp.Literal.string(part) for part in parts])
        numbers = ("oid", "int2", "int4", "int8", "smallint", "int", "bigint", "regtype", "xid", *_REG)
        return exp.cast(value, f"{'BIGINT' if kind in numbers else 'VARCHAR'}[]", dialect="duckdb")

    def _reg(self, node: exp.Cast, kind: str, value: exp.Expr) -> exp.Expr:
        if isinstance(value, exp.Null):
            return exp.cast(value, "BIGINT", dialect="duckdb")
        if isinstance(value, exp.Literal) and value.is_string and not value.name.isdigit():
            return exp.Literal.number(self._oid(kind, value.name))
        if isinstance(value, exp.Literal):
            return exp.Literal.number(value.name)
        if isinstance(value, exp.Cast) and isinstance(value.this, exp.Literal):  # a text that was cast before
            return exp.Literal.number(self._oid(kind, value.this.name))
        if isinstance(node.parent, (exp.EQ, exp.NEQ, exp.In)) or kind not in ("regclass", "regtype", "regnamespace"):
            return value
        return self.call(kind, [value])

    def _oid(self, kind: str, name: str) -> int:
        plain = name.replace('"', "").removeprefix("pg_catalog.").removeprefix("public.")
        content, known = self._content, pg_types()
        if kind == "regclass":
            found = content.own.get(name.replace('"', "").removeprefix("public."), content.oids.get(plain))
        elif kind == "regtype":
            found = next((one.oid for one in known.values() if plain in (one.name, formatted(one.name))), None)
        elif kind == "regnamespace":
            found = {"pg_catalog": 11, "public": 2200, "information_schema": 13_000}.get(plain)
        else:
            found = (
                {one: oid for oid, one in function_names().items()}.get(plain) if kind.startswith("regproc") else None
            )
        if found is None:
            raise StatementRefusedError(f"{kind} {name!r} does not exist")
        return found


def _is_star(node: exp.Identifier) -> bool:
    return node.name == "*"


def _is_alias(node: exp.Column) -> bool:
    """Whether a word is the name of a column that a query in FROM gives, as in ORDER BY."""
    return bool(node.this.args.get("word_of_column"))


def _is_function(column: exp.Column) -> bool:
    kinds = {known.get(column.name.lower()) for known in relations().values()} - {None}
    return kinds == {"regproc"}


def _is_zero(value: object) -> bool:
    return isinstance(value, exp.Literal) and value.name == "0"


def _type_name(kind: exp.Expr) -> str:
    """Return the name of a type as PostgreSQL's catalog has it, of arrays with brackets behind it."""
    if isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.ARRAY:
        return f"{_type_name(kind.expressions[0])}[]" if kind.expressions else "text[]"
    if isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.USERDEFINED:
        named = kind.args.get("kind")
        name = named.expression.name if isinstance(named, exp.Dot) else getattr(named, "name", str(named))
        return f"{name[1:]}[]" if name.startswith("_") else str(name).lower()
    return str(getattr(kind.this, "value", kind.this)).lower()


_CHANGES = {
    exp.Table: _Rewriter._table,
    exp.Column: _Rewriter._column,
    exp.Dot: _Rewriter._dot,
    exp.Anonymous: _Rewriter._anonymous,
    exp.Collate: _Rewriter._collate,
    exp.Operator: _Rewriter._operator,
    exp.Cast: _Rewriter._cast,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.GT, exp.LTE, exp.GTE, exp.Like, exp.RegexpLike), _Rewriter._compared),
    **dict.fromkeys(_TYPED, _Rewriter._typed),
}
