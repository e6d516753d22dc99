"""A client's query of the catalog, rewritten: as DuckDB answers it over the same relations.

Default deny: relations of the catalog, functions that are known, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dpdb.doors.server.postgres.catalog.content import HIDDEN, Content, relation_name, relations
from dpdb.doors.server.postgres.catalog.functions import FUNCTIONS, PREFIX
from dpdb.doors.server.postgres.catalog.question import (
    CLOCK,
    INTEGERS,
    REG,
    SCHEMAS,
    TEXTS,
    TYPED,
    WORDS,
    name_asked_columns,
    relation_of,
    result_kinds,
)
from dpdb.doors.sql.check import FUNCTIONS as HARMLESS
from dpdb.doors.sql.column_names import type_name
from dpdb.doors.sql.rewrite import ANSWERS
from dpdb.errors import StatementRefusedError

_OPERATORS = {
    "~": exp.RegexpLike, "~*": exp.RegexpILike, "=": exp.EQ, "<>": exp.NEQ, "!=": exp.NEQ, "~~": exp.Like,
    "~~*": exp.ILike, "<": exp.LT, ">": exp.GT, "<=": exp.LTE, ">=": exp.GTE, "+": exp.Add, "-": exp.Sub,
    "||": exp.DPipe,
}  # fmt: skip
_NEGATED = {"!~": exp.RegexpLike, "!~*": exp.RegexpILike, "!~~": exp.Like, "!~~*": exp.ILike}
# Behind `pg_catalog.` the parser has no classes for these.
_PLAIN = (
    "lower", "upper", "length", "substring", "replace", "split_part", "count", "min", "max", "sum", "array_agg",
    "string_agg", "generate_series", "unnest", "coalesce", "concat", "trim", "btrim", "rtrim", "ltrim", "abs", "left",
    "right", "strpos", "md5", "now", "greatest", "least", "nullif", "bool_or", "bool_and", "array_length", "chr",
    "regexp_replace", "starts_with", "array_append", "array_cat", "row_number", "any_value", "round", "concat_ws",
)  # fmt: skip
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
    kinds : mapping of str to str
        The types of columns of its result, see `result_kinds`.
    hidden : set of str
        The columns that no star stands for, and that it names.
    """

    sql: str = ""
    relations: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    kinds: Mapping[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)


def rewritten(tree: exp.Query, content: Content) -> Rewritten:
    """Rewrite a query."""
    found = Rewritten()
    found.kinds = result_kinds(tree, {one for table in tree.find_all(exp.Table) if (one := relation_of(table))})
    found.hidden = HIDDEN.keys() & {column.name.lower() for column in tree.find_all(exp.Column)}
    name_asked_columns(tree)
    rewriter = _Rewriter(content, found)
    for node in [*tree.walk(bfs=False)][::-1]:  # leaves first
        changed = rewriter.changed(node)
        if changed is not node:
            node.replace(changed)
    try:
        found.sql = tree.sql("duckdb", unsupported_level=ErrorLevel.IGNORE)
    except (SqlglotError, ValueError, RecursionError):
        raise StatementRefusedError("the catalog here cannot answer this") from None
    return found


class _Rewriter:
    """Changes one node after another; `found` gets what the query needs."""

    def __init__(self, content: Content, found: Rewritten) -> None:
        self._content, self._found = content, found
        self._names: dict[int, tuple[exp.Query, frozenset[str]]] = {}

    def changed(self, node: exp.Expr) -> exp.Expr:
        """Return what stands for a node whose parts are changed already."""
        if isinstance(node, exp.Identifier) and not node.args.get("quoted"):
            node.set("this", node.name.lower())
            node.set("quoted", node.name != "*")
            node.meta["is_word"] = True
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
        called = node.this.name.removeprefix(PREFIX) if isinstance(node.this, exp.Anonymous) else ""
        if called in _RELATIONS:
            self._found.functions.discard(called)
            return self._read(_RELATIONS[called], node, node.alias or called)
        if not isinstance(node.this, exp.Identifier):
            node.set("db", None)
            return node if _gives_rows(node.this) else _row_of(node)
        relation = relation_of(node)
        return node if relation is None else self._read(relation, node, node.alias or node.name)

    def _read(self, relation: str, node: exp.Table, alias: str) -> exp.Expr:
        with_ = node.find_ancestor(exp.Query)
        while with_ is not None:  # a name of WITH comes before the catalog's
            if not node.db and relation in self._defined(with_):
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

    def _defined(self, query: exp.Query) -> frozenset[str]:
        """Return the names that a query defines by WITH; rewriting does not change them."""
        if id(query) not in self._names:  # with the query itself, so that no other one gets its id
            self._names[id(query)] = query, frozenset(one.alias.lower() for one in query.ctes)
        return self._names[id(query)][1]

    def _column(self, node: exp.Column) -> exp.Expr:
        name = node.name.lower()
        if name in WORDS and (node.table in SCHEMAS or (not node.table and node.this.meta.get("is_word"))):
            return self.call(name, [])
        node.set("db", None)
        node.set("catalog", None)
        return node

    def _dot(self, node: exp.Dot) -> exp.Expr:
        if isinstance(node.this, exp.Identifier) and node.this.name.lower() in SCHEMAS:
            return _expr(node.expression)
        if isinstance(node.this, (exp.Paren, exp.Column)) and isinstance(node.expression, exp.Identifier):
            value = node.this.this if isinstance(node.this, exp.Paren) else node.this
            key = exp.Literal.string(node.expression.name)
            return exp.Anonymous(this="struct_extract", expressions=[value.copy(), key])
        return node

    def _anonymous(self, node: exp.Anonymous) -> exp.Expr:
        name = node.name.lower()
        if name.startswith(PREFIX) or name in ("struct_extract", "list_contains", "json_object", "regexp_extract"):
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
        elif isinstance(node, exp.Encode):
            arguments = [node.this, node.args["charset"]]
        return self.call(TYPED[type(node)], arguments)

    def _clock(self, node: exp.Expr) -> exp.Expr:
        return self.call(CLOCK[type(node)], [])

    def _collate(self, node: exp.Collate) -> exp.Expr:
        return _expr(node.this)

    def _operator(self, node: exp.Operator) -> exp.Expr:
        sign = str(node.args["operator"]).rpartition(".")[2].strip()
        if sign in _OPERATORS:
            return _escaped(self._compared(_OPERATORS[sign](this=node.this, expression=node.expression)))
        if sign in _NEGATED:
            return exp.not_(_escaped(_NEGATED[sign](this=node.this, expression=node.expression)))
        raise StatementRefusedError(f"the catalog here has no operator {sign}")

    def _like(self, node: exp.Like | exp.ILike) -> exp.Expr:
        found = self._compared(node) if isinstance(node, exp.Like) else node
        return found if isinstance(node.parent, exp.Escape) else _escaped(found)

    def _compared(self, node: exp.Expr) -> exp.Expr:
        """Rewrite comparisons with any or all values of an array, and of functions with 0, which stands for none."""
        right: Any = node.args.get("expression")
        is_all = isinstance(right, exp.Anonymous) and right.name.lower() == "all"
        if isinstance(right, exp.Any) or is_all:
            values: Any = right.expressions[0] if is_all else right.this
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
            if isinstance(column, exp.Column) and _is_function(column) and _is_text(value):
                node.set(other, exp.Literal.number(self._content.oid("regproc", value.name)))
        return node

    def _cast(self, node: exp.Cast) -> exp.Expr:  # noqa: PLR0911 - a case per kind of type
        kind, value = type_name(node.to), node.this
        if kind.endswith("[]"):
            return self._array(value, kind[:-2])
        if kind in ("int2vector", "oidvector"):
            return self._array(value, "int8")
        if kind in REG:
            return self._reg(node, kind, value)
        if kind in TEXTS and isinstance(value, exp.Column) and _is_function(value):
            return self.call("regproc", [value])
        shown = isinstance(value, exp.Anonymous) and value.name in {f"{PREFIX}{reg}" for reg in REG}
        if kind in INTEGERS and shown:
            return _expr(value.expressions[0])  # the number that a name was made of
        plain = {**dict.fromkeys(INTEGERS, "BIGINT"), **dict.fromkeys(TEXTS, "VARCHAR"), "cardinal_number": "INTEGER"}
        if kind in plain:
            return exp.cast(value, plain[kind], dialect="duckdb")
        if isinstance(node.to, exp.DataType) and node.to.this != exp.DataType.Type.USERDEFINED:
            return node
        raise StatementRefusedError(f"the catalog here has no type {kind}")

    def _divided(self, node: exp.Div) -> exp.Expr:
        """Divide what was cast to whole numbers as such."""
        left, right = node.this, node.expression
        is_whole = isinstance(right, exp.Literal) and not right.is_string and right.name.isdigit() and right.name != "0"
        if is_whole and isinstance(left, exp.Cast) and left.to.is_type(*exp.DataType.INTEGER_TYPES):
            return exp.IntDiv(this=left, expression=right)
        return node

    def _matched(self, node: exp.Substring) -> exp.Expr:
        """Take `substring(a FROM pattern)` as what the pattern's first group matches."""
        pattern = node.args.get("start")
        if not (isinstance(pattern, exp.Literal) and pattern.is_string):
            return node
        group = exp.Literal.number(int("(" in pattern.name))
        found = exp.Anonymous(this="regexp_extract", expressions=[node.this, pattern, group])
        return exp.Anonymous(this="nullif", expressions=[found, exp.Literal.string("")])

    def _array(self, value: exp.Expr, kind: str) -> exp.Expr:
        if isinstance(value, exp.Literal) and value.is_string and value.name[:1] == "{":
            inside = value.name.strip("{}")
            parts = [part.strip().strip('"') for part in inside.split(",")] if inside else []
            value = exp.Array(expressions=[exp.Literal.string(part) for part in parts])
        numbers = ("oid", "int2", "int4", "int8", "smallint", "int", "bigint", "regtype", "xid", *REG)
        return exp.cast(value, f"{'BIGINT' if kind in numbers else 'VARCHAR'}[]", dialect="duckdb")

    def _reg(self, node: exp.Cast, kind: str, value: exp.Expr) -> exp.Expr:
        if isinstance(value, exp.Null):
            return exp.cast(value, "BIGINT", dialect="duckdb")
        text = value.this if isinstance(value, exp.Cast) else value  # a text that was cast before
        if isinstance(text, exp.Literal):
            if text.name.isdigit():
                return exp.Literal.number(text.name)
            number = exp.Literal.number(self._content.oid(kind, text.name))
            return self.call(kind, [number]) if isinstance(node.parent, exp.Alias) and kind in _SHOWN else number
        if kind in _BY_NAME and _is_made_text(text):
            value = self.call(f"to_{kind}", [value])
            if isinstance(node.parent, exp.Anonymous) and node.parent.name.lower().endswith("_description"):
                return value  # a function of numbers
        is_text = isinstance(node.parent, exp.Cast)
        if isinstance(node.parent, (exp.EQ, exp.NEQ, exp.In)) or kind not in (
            *_SHOWN,
            *(["regproc"] if is_text else []),
        ):
            return value
        return self.call(kind, [value])


_SHOWN = ("regclass", "regtype", "regnamespace")
_BY_NAME = ("regclass", "regtype")


def _is_made_text(value: exp.Expr) -> bool:
    """Whether a value is text that the statement puts together."""
    while isinstance(value, exp.Paren):
        value = value.this
    return isinstance(value, (exp.DPipe, exp.Concat))


def _expr(node: object) -> exp.Expr:
    assert isinstance(node, exp.Expr)
    return node


def _is_function(column: exp.Column) -> bool:
    kinds = {known.get(column.name.lower()) for known in relations().values()} - {None}
    return kinds == {"regproc"}


def _is_text(value: object) -> bool:
    return isinstance(value, exp.Literal) and value.is_string


# Functions whose rows are those of a relation.
_RELATIONS = {"pg_get_keywords": "pg_get_keywords", "pg_show_all_settings": "pg_settings"}
_ROWS = ("generate_series", "unnest", "_pg_expandarray", "generate_subscripts")


def _gives_rows(node: object) -> bool:
    """Whether a function in FROM gives rows; any other gives one value."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower().removeprefix(PREFIX) in _ROWS
    return isinstance(node, (exp.Unnest, exp.GenerateSeries, exp.ExplodingGenerateSeries, exp.Explode))


def _row_of(table: exp.Table) -> exp.Expr:
    """Return the one row of a function in FROM that gives a value: its column is named as the table is."""
    value, alias = _expr(table.this), table.args.get("alias")
    name = table.alias or str(value.meta.get("called") or value.name or value.key).lower().removeprefix(PREFIX)
    names = alias.args.get("columns") if alias is not None else None
    row = exp.select(exp.alias_(value, names[0] if names else name, quoted=True)).subquery(name)
    row.args["alias"].this.set("quoted", True)
    for part in ("joins", "laterals"):
        if table.args.get(part):
            row.set(part, table.args[part])
    return row


def _select(_rewriter: _Rewriter, node: exp.Select) -> exp.Expr:
    if not node.expressions:  # EXISTS (SELECT FROM ..)
        node.set("expressions", [exp.Literal.number(1)])
    return node


def _escaped(node: exp.Expr) -> exp.Expr:
    """Return LIKE with the escape that it has where none is named: a backslash."""
    if not isinstance(node, (exp.Like, exp.ILike)):
        return node
    return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))


_CHANGES: Mapping[type[exp.Expr], Callable[[_Rewriter, Any], exp.Expr]] = {
    exp.Table: _Rewriter._table,
    exp.Select: _select,
    exp.Column: _Rewriter._column,
    exp.Dot: _Rewriter._dot,
    exp.Anonymous: _Rewriter._anonymous,
    exp.Collate: _Rewriter._collate,
    exp.Operator: _Rewriter._operator,
    exp.Cast: _Rewriter._cast,
    exp.Div: _Rewriter._divided,
    exp.Substring: _Rewriter._matched,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.GT, exp.LTE, exp.GTE, exp.RegexpLike), _Rewriter._compared),
    **dict.fromkeys((exp.Like, exp.ILike), _Rewriter._like),
    **dict.fromkeys(TYPED, _Rewriter._typed),
    **dict.fromkeys(CLOCK, _Rewriter._clock),
}
