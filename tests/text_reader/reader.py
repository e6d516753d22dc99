"""WHERE clauses into boxes: a walk over the sqlglot tree under SQL's three-valued logic.

Every condition is asked twice: which rows may make it true, and which may make it false. Rows that make it unknown are
in neither, NOT swaps the two questions, and AND and OR are intersections and unions. Both answers are supersets of the
truth, so a condition that is not understood answers "every row" to both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from dpdb.constraints import OPERATORS, Operator
from dpdb.errors import PredicateError
from dpdb.names import folded
from dpdb.predicates.region import EVERYTHING, TOO_MANY_PARTS, UNION_LIMIT, Box, Region, intersection, one_side, union
from dpdb.predicates.value_sets import ValueSet
from text_reader.literals import Literal, LiteralKind, column_type, meanings

__all__ = ["parse_counting_query", "parse_where"]

_NOT_COLUMNS = frozenset(
    f"{prefix}{name}"
    for prefix, names in {
        "": ["rowid", "user", "role", "session_user", "localtime", "localtimestamp"],
        "current_": ["user", "role", "catalog", "schema", "date", "time", "timestamp"],
    }.items()
    for name in names
)
_PLAIN_QUERY = frozenset(["kind", "expressions", "from_", "where", "group", "having", "order", "limit"])


def parse_where(where: str | None, types: Mapping[str, str] | None = None) -> Region:
    """Read a WHERE clause (without the word WHERE) as the rows it may select.

    Parameters
    ----------
    where
        The condition, in DuckDB's SQL; None or blank selects every row.
    types
        Declared SQL types by column. Literals of a column without a type are read so that every usual type is covered
        (see `text_reader.literals`).

    Raises
    ------
    PredicateError
        The text is not one SQL condition.
    """
    if where is None or not where.strip():
        return Region(text=where or "")
    query = _parse(f"SELECT count(*) FROM t WHERE {where}\n", where)
    if not isinstance(query, exp.Select) or any(query.args.get(key) for key in query.args if key not in _CONDITION):
        raise PredicateError(f"{where!r} is not one SQL condition; write what would follow WHERE, nothing else")
    return _condition(query.args["where"].this, where, types, frozenset())


_CONDITION = frozenset(["kind", "expressions", "from_", "where"])


def parse_counting_query(line: str, types: Mapping[str, str] | None = None) -> Region:
    """Read a WHERE clause or a query `SELECT count(*) FROM t WHERE ...` as the rows its answer may depend on.

    Any aggregate query over one table is accepted; joins, subqueries, samples and the like cover everything.

    Raises
    ------
    PredicateError
        The text is neither a condition nor a query.
    """
    if line.split(None, 1)[:1] and line.split(None, 1)[0].lower() not in ("select", "from", "with", "("):
        return parse_where(line, types)
    query = _parse(line, line)
    if not isinstance(query, exp.Query):
        raise PredicateError(f"{line!r} is neither a condition nor a SELECT; write one of the two")
    problem = _beyond_one_table(query)
    if problem:
        return Region(notes=(f"{problem}, so the query is charged for every row",), text=line)
    where = query.args.get("where")
    if where is None:
        return Region(text=line)
    table = query.args["from_"].this
    return _condition(where.this, line, types, frozenset([folded(table.alias_or_name)]))


def _parse(sql: str, shown: str) -> exp.Expr:
    try:
        statements = sqlglot.parse(sql, dialect="duckdb")
    except (SqlglotError, RecursionError) as error:
        raise PredicateError(f"{shown!r} cannot be read as SQL; check its spelling and quotes") from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Expr):
        raise PredicateError(f"{shown!r} is not one SQL statement; give one per line")
    return statements[0]


def _beyond_one_table(query: exp.Expr) -> str | None:
    """Say why the answer may depend on more than the rows of one table that satisfy WHERE, None when it does not."""
    if not isinstance(query, exp.Select):
        return "the query combines several queries"
    extra = sorted(key.strip("_") for key, value in query.args.items() if value and key not in _PLAIN_QUERY)
    if extra:
        return f"the query has a part that is not understood ({', '.join(extra)})"
    if any(node is not query for node in query.find_all(exp.Query)):
        return "the query has a subquery"
    aliases = {folded(item.alias) for item in query.expressions if item.alias}
    where = query.args.get("where")
    if where is not None and any(folded(column.name) in aliases for column in where.find_all(exp.Column)):
        return "WHERE uses a name defined in the SELECT list"
    return _beyond_a_name(query.args.get("from_"))


def _beyond_a_name(source: exp.Expr | None) -> str | None:
    """Say why FROM is more than one table called by its name, None when it is not."""
    table = source.this if source is not None else None
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        return "the query does not read one table by name"
    if any(value for key, value in table.args.items() if key not in ("this", "db", "catalog", "alias")):
        return "the table is sampled, joined or changed before it is filtered"
    if table.args.get("alias") and table.args["alias"].args.get("columns"):
        return "the columns of the table are renamed"
    return None


def _condition(tree: exp.Expr, text: str, types: Mapping[str, str] | None, qualifiers: frozenset[str]) -> Region:
    reader = _Reader({folded(name): kind for name, kind in (types or {}).items()}, qualifiers, "[" in text)
    try:
        boxes = reader.rows(tree, True)
    except RecursionError:
        return Region(notes=("the condition is nested too deeply, so every row is covered",), text=text)
    return Region.union(boxes, tuple(reader.notes), text) if boxes else Region((), tuple(reader.notes), text)


class _Reader:
    """One walk over one condition; collects notes about what was over-approximated."""

    def __init__(self, types: Mapping[str, str], qualifiers: frozenset[str], brackets: bool) -> None:
        self.types = types
        self.qualifiers = qualifiers
        self.brackets = brackets
        self.notes: list[str] = []

    def rows(self, tree: exp.Expr, truth: bool) -> list[Box]:
        """Boxes around all rows that may give `tree` the value `truth`."""
        handler = _HANDLERS.get(type(tree))
        if handler is None or any(value for key, value in tree.args.items() if key not in _KNOWN_PARTS):
            return self.not_understood(tree)
        return handler(self, tree, truth)

    def not_understood(self, tree: exp.Expr) -> list[Box]:
        words = tree.sql(dialect="duckdb")
        shown = words if len(words) <= 60 else words[:57] + "..."
        self.notes.append(f"`{shown}` is not understood, so it is taken to cover every row")
        return EVERYTHING

    def paren(self, tree: exp.Expr, truth: bool) -> list[Box]:
        return self.rows(tree.this, truth)

    def negation(self, tree: exp.Expr, truth: bool) -> list[Box]:
        return self.rows(tree.this, not truth)

    def connective(self, tree: exp.Expr, truth: bool) -> list[Box]:
        parts = [self.rows(part, truth) for part in tree.flatten()]
        return self.all_of(parts) if isinstance(tree, exp.And) is truth else self.any_of(parts)

    def all_of(self, parts: Sequence[list[Box]]) -> list[Box]:
        return intersection(parts, UNION_LIMIT, self.too_many)

    def any_of(self, parts: Iterable[list[Box]]) -> list[Box]:
        return union((box for part in parts for box in part), UNION_LIMIT, self.too_many)

    def too_many(self) -> None:
        self.notes.append(TOO_MANY_PARTS)

    def comparison(self, tree: exp.Expr, truth: bool) -> list[Box]:
        operator = OPERATORS[type(tree)]
        column, literal = self.column(tree.this), _literal(tree.expression)
        if column is None:
            operator, column, literal = operator.flipped, self.column(tree.expression), _literal(tree.this)
        if column is None or literal is None:
            return self.not_understood(tree)
        return self.compare(column, operator if truth else operator.negated, literal)

    def compare(self, column: str, operator: Operator, literal: Literal) -> list[Box]:
        return self.compare_each(column, [(operator, literal)])[0]

    def compare_each(self, column: str, compared: Sequence[tuple[Operator, Literal]]) -> list[list[Box]]:
        """The rows of several comparisons with one column, whose literals a database brings to one type."""
        known = [literal for _, literal in compared if literal.kind is not LiteralKind.NULL]
        meant = dict(zip(known, meanings(known, column_type(self.types.get(column))), strict=True))
        for literal, found in meant.items():
            if not found.understood:
                self.notes.append(
                    f"what {literal.text!r} means on column {column} is not certain, so it covers all its values"
                )
        return [
            [] if literal.kind is LiteralKind.NULL else one_side(column, meant[literal].compare(operator))
            for operator, literal in compared
        ]

    def between(self, tree: exp.Expr, truth: bool) -> list[Box]:
        column, low, high = self.column(tree.this), _literal(tree.args["low"]), _literal(tree.args["high"])
        if column is None or low is None or high is None:
            return self.not_understood(tree)
        if truth:
            return self.all_of(self.compare_each(column, [(Operator.GE, low), (Operator.LE, high)]))
        return self.any_of(self.compare_each(column, [(Operator.LT, low), (Operator.GT, high)]))

    def membership(self, tree: exp.Expr, truth: bool) -> list[Box]:
        column, literals = self.column(tree.this), [_literal(item) for item in tree.expressions]
        if column is None or not literals or None in literals or self.brackets:
            return self.not_understood(tree)
        known = [item for item in literals if item is not None and item.kind is not LiteralKind.NULL]
        meant = meanings(known, column_type(self.types.get(column)))
        if any(not item.understood for item in meant):
            self.notes.append(
                f"a value of the list for column {column} is not certain, so the list covers all its values"
            )
        if truth:
            return one_side(column, ValueSet.union([item.equal for item in meant]))
        if len(known) < len(literals):  # x NOT IN (1, NULL) is never true
            return []
        return one_side(column, ValueSet.intersection([ValueSet.present(), *(item.unequal for item in meant)]))

    def null_test(self, tree: exp.Expr, truth: bool) -> list[Box]:
        column = self.column(tree.this)
        if column is None or not isinstance(tree.expression, exp.Null):
            return self.not_understood(tree)
        return one_side(column, ValueSet.only_null() if truth else ValueSet.present())

    def pattern(self, tree: exp.Expr, _truth: bool) -> list[Box]:
        column, literal = self.column(tree.this), _literal(tree.expression)
        if column is None or literal is None or literal.kind is LiteralKind.NULL:
            return self.not_understood(tree)
        self.notes.append(f"a pattern on column {column} is taken to cover all its values except NULL")
        return one_side(column, ValueSet.present())

    def constant(self, tree: exp.Expr, truth: bool) -> list[Box]:
        if isinstance(tree, exp.Null):
            return []
        return EVERYTHING if bool(tree.this) is truth else []

    def flag(self, tree: exp.Expr, truth: bool) -> list[Box]:
        """A column that stands alone as a condition."""
        column = self.column(tree)
        if column is None:
            return self.not_understood(tree)
        return self.compare(column, Operator.EQ, Literal(LiteralKind.BOOLEAN, "true" if truth else "false"))

    def column(self, tree: exp.Expr) -> str | None:
        """The attribute a tree names, None when it is anything but a plain column of the table."""
        if isinstance(tree, exp.Paren):
            return self.column(tree.this)
        if not isinstance(tree, exp.Column) or not isinstance(tree.this, exp.Identifier) or tree.args.get("db"):
            return None
        if tree.args.get("table") and folded(tree.table) not in self.qualifiers:
            return None  # may be a field of a structure
        name = folded(tree.name)
        return None if name in _NOT_COLUMNS and not tree.this.quoted else name


_KNOWN_PARTS = frozenset(["this", "expression", "expressions", "low", "high", "table", "negate"])


_HANDLERS: dict[type[exp.Expr], Callable[[_Reader, exp.Expr, bool], list[Box]]] = {
    exp.Paren: _Reader.paren,
    exp.Not: _Reader.negation,
    exp.And: _Reader.connective,
    exp.Or: _Reader.connective,
    **dict.fromkeys(OPERATORS, _Reader.comparison),
    exp.Between: _Reader.between,
    exp.In: _Reader.membership,
    exp.Is: _Reader.null_test,
    exp.Like: _Reader.pattern,
    exp.ILike: _Reader.pattern,
    exp.Boolean: _Reader.constant,
    exp.Null: _Reader.constant,
    exp.Column: _Reader.flag,
}


def _literal(tree: exp.Expr) -> Literal | None:
    """A constant of the clause, None when the tree is anything else."""
    if isinstance(tree, exp.Paren):
        return _literal(tree.this)
    reader = _CONSTANTS.get(type(tree))
    return reader(tree) if reader else None


def _negative(tree: exp.Expr) -> Literal | None:
    inner = _literal(tree.this)
    if inner is None or inner.kind is not LiteralKind.NUMBER or inner.text.startswith("-"):
        return None
    return Literal(LiteralKind.NUMBER, f"-{inner.text}")


def _moment(tree: exp.Expr) -> Literal | None:
    """DATE '...' and TIMESTAMP '...', which are casts in the tree; a DATE with a time of day loses it, or does not."""
    kind = tree.args["to"].sql(dialect="duckdb")
    text = tree.this.name if isinstance(tree.this, exp.Literal) and tree.this.is_string else None
    if text is None or not (kind == "TIMESTAMP" or (kind == "DATE" and ":" not in text)):
        return None
    return Literal(LiteralKind.MOMENT, text)


_CONSTANTS: dict[type[exp.Expr], Callable[[exp.Expr], Literal | None]] = {
    exp.Null: lambda _: Literal(LiteralKind.NULL, "NULL"),
    exp.Boolean: lambda tree: Literal(LiteralKind.BOOLEAN, str(tree.this).lower()),
    exp.Literal: lambda tree: Literal(LiteralKind.TEXT if tree.is_string else LiteralKind.NUMBER, tree.name),
    exp.Neg: _negative,
    exp.Cast: _moment,
}
