"""The decision on a statement's tree, default deny: known parts, known functions, known tables, and releases.

If this check accepted every statement, none could read private rows, because the private table is not where statements
run. The check gives a refused statement its reason, and leaves no second way in to be found.

The parser knows far more parts of SQL than `STRUCTURES` and `EXPRESSIONS`, and all others are refused. Functions are
pure, and of their arguments alone; refused are those that read files, settings, variables, the catalog or the clock, or
take SQL as text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from sqlglot import exp

from dpdb.doors.sql.call import RELEASES, example, release_name
from dpdb.doors.sql.parse import is_number, nearest, refused
from dpdb.errors import StatementRefusedError
from dpdb.names import folded

# Parts that may name tables or change what a query does, and everything that may be attached to them.
STRUCTURES: Mapping[type[exp.Expr], frozenset[str]] = {
    kind: frozenset(args.split())
    for kind, args in {
        exp.Select: "expressions from_ joins where group having qualify windows order limit offset distinct with_",
        exp.Union: "this expression distinct by_name order limit offset with_",
        exp.Except: "this expression distinct by_name order limit offset with_",
        exp.Intersect: "this expression distinct by_name order limit offset with_",
        exp.Subquery: "this alias joins with_ order limit offset",
        exp.With: "expressions",
        exp.CTE: "this alias materialized",
        exp.From: "this",
        exp.Join: "this on using kind side method",
        exp.Table: "this alias joins",
        exp.TableAlias: "this columns",
        exp.Values: "expressions alias",
        exp.Lateral: "this alias view outer",
        exp.Unnest: "expressions alias",
        exp.Limit: "expression",
        exp.Offset: "expression",
        exp.Column: "this table db catalog",
        exp.Dot: "this expression",
        exp.Identifier: "this quoted",
        exp.Star: "except_ replace rename",
        exp.DataType: "this expressions nested",
        exp.Cast: "this to",
        exp.TryCast: "this to safe",
        exp.Anonymous: "this expressions",
    }.items()
}

# Parts that only combine their own parts, all of which are checked in turn.
EXPRESSIONS: frozenset[type[exp.Expr]] = frozenset(
    (
        exp.Alias, exp.Literal, exp.Boolean, exp.Null, exp.Var, exp.Interval, exp.Paren, exp.Tuple, exp.PropertyEQ,
        exp.Neg, exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.DPipe, exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ,
        exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between, exp.Like,
        exp.ILike, exp.SimilarTo, exp.Glob, exp.Escape, exp.Exists, exp.Any, exp.All, exp.Where, exp.Group, exp.Rollup,
        exp.Cube, exp.GroupingSets, exp.Having, exp.Qualify, exp.Order, exp.Ordered, exp.Distinct, exp.Filter,
        exp.Window, exp.WindowSpec, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls, exp.Bracket, exp.Slice,
        exp.DataTypeParam,
    )
)  # fmt: skip

_DATA_TYPES = (
    "TINYINT SMALLINT INT BIGINT INT128 UTINYINT USMALLINT UINT UBIGINT UINT128 FLOAT DOUBLE DECIMAL BOOLEAN TEXT "
    "VARCHAR CHAR DATE TIME TIMESTAMP TIMESTAMPNTZ TIMESTAMPTZ INTERVAL ARRAY LIST"
)
TYPES = frozenset(getattr(exp.DType, name) for name in _DATA_TYPES.split())

# Advice for refused parts that an analyst is likely to try.
REASONS: Mapping[type[exp.Expr], str] = {
    exp.Placeholder: "is a parameter, and statements take none: write the value",
    exp.Parameter: "is a variable, and statements read none: write the value",
    exp.SessionParameter: "is a setting, and statements read none",
    exp.TableSample: "is a sample, and answers do not depend on chance here: use LIMIT",
    exp.Into: "writes a table, and statements only read: use --out for results",
    exp.Lambda: "is a function of its own: write the expression out",
    exp.Comprehension: "is a function of its own: write the expression out",
    exp.PositionalColumn: "names a column by number: write its name",
    exp.Columns: "picks columns by pattern: write their names",
    exp.Pivot: "is a pivot: use CASE inside an aggregate function",
    exp.Collate: "is a collation, which may load an extension: compare upper(...) or lower(...)",
    exp.AtTimeZone: "needs the time zone extension: write timestamps in one zone",
    exp.HistoricalData: "asks for another version of a table: there is one only",
    exp.Kwarg: "is a named argument, which only releases take",
    exp.JSONExtract: "is JSON access: write a struct's field as value.field",
    exp.JSONExtractScalar: "is JSON access: write a struct's field as value.field",
}


_CONDITIONAL = (exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least)
_NUMBERS = (
    exp.Abs, exp.Ceil, exp.Floor, exp.Round, exp.Trunc, exp.Sign, exp.Sqrt, exp.Cbrt, exp.Exp, exp.Ln, exp.Log, exp.Pow,
    exp.Mod, exp.Pi, exp.IsNan, exp.IsInf, exp.Sin, exp.Cos, exp.Tan, exp.Asin, exp.Acos, exp.Atan, exp.Atan2,
    exp.Degrees, exp.Radians,
)  # fmt: skip
_TEXT = (
    exp.Upper, exp.Lower, exp.Length, exp.Trim, exp.Substring, exp.Replace, exp.Concat, exp.ConcatWs, exp.Left,
    exp.Right, exp.StartsWith, exp.EndsWith, exp.Contains, exp.StrPosition, exp.Pad, exp.SplitPart, exp.Split,
    exp.Format, exp.Reverse, exp.RegexpLike, exp.RegexpFullMatch, exp.RegexpReplace, exp.RegexpExtract,
)  # fmt: skip
_DATES = (exp.Extract, exp.TimestampTrunc, exp.DateTrunc, exp.Year, exp.Month, exp.Day, exp.TimeToStr, exp.DateDiff)
_LISTS = (exp.Array, exp.Struct, exp.StructExtract, exp.Explode, exp.ArraySize, exp.ArrayContains)
_AGGREGATES = (
    exp.Sum, exp.Avg, exp.Min, exp.Max, exp.Count, exp.CountIf, exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance,
    exp.VariancePop, exp.Median, exp.Mode, exp.Quantile, exp.PercentileCont, exp.PercentileDisc, exp.ArgMax, exp.ArgMin,
    exp.ArrayAgg, exp.GroupConcat, exp.AnyValue, exp.First, exp.Last, exp.LogicalAnd, exp.LogicalOr, exp.Corr,
    exp.Grouping,
)  # fmt: skip
_WINDOWS = (
    exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile, exp.Lag, exp.Lead, exp.FirstValue,
    exp.LastValue, exp.NthValue,
)  # fmt: skip

# By the class that the parser gives a call.
FUNCTIONS: frozenset[type[exp.Expr]] = frozenset(
    (exp.Cast, exp.TryCast, *_CONDITIONAL, *_NUMBERS, *_TEXT, *_DATES, *_LISTS, *_AGGREGATES, *_WINDOWS)
)
# By name, where the parser has no class of its own.
NAMED_FUNCTIONS = frozenset((
    "even", "fdiv", "fmod", "isfinite", "printf", "round_even", "strlen", "prefix", "suffix", "list_sum", "list_avg",
    "list_min", "list_max", "regr_slope", "geomean", "product", "row", "quantile_disc",
))  # fmt: skip


_KEYWORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY", "HAVING", "LIMIT", "WITH", "JOIN", "LEFT JOIN", "UNION ALL"),
    *("CASE", "WHEN", "THEN", "ELSE", "END", "AND", "OR", "NOT", "NULL", "BETWEEN", "LIKE", "EXPLAIN", "DESCRIBE"),
    *("DISTINCT", "VALUES", "CALL", "AS", "ON", "IN"),
)


def statement_words() -> list[str]:
    """Return words of SQL, functions that statements may call, and the parameters of releases."""
    functions = {kind.sql_name().lower() for kind in FUNCTIONS if hasattr(kind, "sql_name")} | NAMED_FUNCTIONS
    parameters = {name for names in RELEASES.values() for name in names}
    return [*_KEYWORDS, *RELEASES, *sorted(functions), *sorted(parameters)]


_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery, exp.Values)
# DuckDB reads these names as system functions where no column has them.
_SYSTEM_VALUES = frozenset((
    "current_catalog", "current_database", "current_date", "current_localtime", "current_localtimestamp",
    "current_query", "current_role", "current_schema", "current_time", "current_timestamp", "current_transaction_id",
    "current_user", "localtime", "localtimestamp", "session_user", "user",
))  # fmt: skip
_FILE_MARKS = ("/", "\\", "*", ":", ".parquet", ".csv", ".json", ".duckdb", ".db", ".txt", ".gz")
_SYSTEM_TABLES = ("duckdb_", "pg_", "pragma_", "sqlite_", "information_schema")

Scope = frozenset[str]


def check_statement(tree: exp.Expr, private: str, public: Collection[str]) -> list[exp.Anonymous]:
    """Check a statement and return its release calls, in the order of the text. Their arguments are not yet read.

    Parameters
    ----------
    private : str
        The private table's public name, which a statement may not read.
    public : collection of str
        The public tables, as `folded` names.
    """
    if not isinstance(tree, _QUERIES):
        raise refused(tree, "is not a query: write SELECT ... FROM ...", "syntax")
    checker = _Checker(folded(private), frozenset(public))
    try:
        checker.visit(tree, frozenset())
    except RecursionError:
        raise StatementRefusedError("the statement is nested too deeply", kind="size") from None
    return sorted(checker.calls, key=lambda call: int(call.meta.get("start", 0)))


class _Checker:
    """Walks a tree with the names that WITH has defined so far."""

    def __init__(self, private: str, public: Scope) -> None:
        self._private = private
        self._public = public
        self.calls: list[exp.Anonymous] = []

    def visit(self, node: exp.Expr, scope: Scope) -> None:
        if isinstance(node, exp.Anonymous) and release_name(node):
            self.calls.append(node)  # `read_call` checks that its arguments are literals
            return
        if isinstance(node, exp.Table):
            self._check_table(node, scope)
        self._check_kind(node)
        if type(node) in _PLACES:
            _PLACES[type(node)](node)
        definitions = node.args.get("with_")
        if definitions is not None:
            scope = self._define(definitions, scope)
        for child in node.iter_expressions():
            if child is not definitions:
                self.visit(child, scope)

    def _define(self, definitions: exp.Expr, scope: Scope) -> Scope:
        if type(definitions) is not exp.With:
            raise refused(definitions, "is not allowed")
        if definitions.args.get("recursive"):
            raise refused(definitions, "is recursive and may never end: write WITH without RECURSIVE")
        self._check_kind(definitions)
        for definition in definitions.expressions:
            name = folded(definition.alias)
            if name == self._private:
                raise refused(definition, "has the private table's name: choose another")
            if not isinstance(definition.this, _QUERIES):
                raise refused(definition, "is not a query: WITH names queries only")
            self.visit(definition, scope)
            scope |= {name}
        return scope

    def _check_kind(self, node: exp.Expr) -> None:
        kind = type(node)
        if kind in REASONS:
            raise refused(node, REASONS[kind])
        if kind is exp.Anonymous:
            self._check_named_function(node)
        elif kind not in FUNCTIONS and kind not in EXPRESSIONS and kind not in STRUCTURES:
            if isinstance(node, exp.Func):
                raise refused(node, "is not a function that statements may call", "function")
            raise refused(node, f"is not allowed here ({node.key})")
        if kind is exp.DataType and node.this not in TYPES:
            raise refused(node, "is not a type that statements may use")
        extra = sorted(k for k, v in node.args.items() if v and k not in STRUCTURES.get(kind, node.args))
        if extra:
            raise refused(node, f"is not allowed with {', '.join(extra).strip('_')}")
        if kind is exp.Literal and not node.is_string and not is_number(node.this):
            raise refused(node, "is not a number")
        if kind is exp.Var and not (node.name.isascii() and node.name.isidentifier()):
            raise refused(node, "is not a word that is known here")

    def _check_named_function(self, node: exp.Expr) -> None:
        name = folded(node.name)
        if name not in NAMED_FUNCTIONS:
            raise refused(
                node,
                f"is not a function that statements may call{nearest(name, [*RELEASES, *NAMED_FUNCTIONS])}",
                "function",
            )

    def _check_table(self, node: exp.Table, scope: Scope) -> None:
        if node.args.get("db") or node.args.get("catalog"):
            raise refused(node, "names a schema or database: write the name of a public table or a release alone")
        if isinstance(node.this, exp.Anonymous) and release_name(node.this):
            return
        if not isinstance(node.this, exp.Identifier):
            raise refused(
                node,
                "is not a table that statements may read: only releases, public tables and WITH queries are"
                + (nearest(node.this.name, RELEASES) if isinstance(node.this, exp.Expr) else ""),
            )
        name = folded(node.name)
        if name in scope or name in self._public:
            return
        if name == self._private:
            raise refused(node, f"is private: ask for a release, such as dp_count('{node.name}', epsilon := 0.1)")
        if name in RELEASES:
            raise refused(node, f"lacks its arguments: write {example(name, self._private)}")
        if name.startswith(_SYSTEM_TABLES):
            raise refused(node, "is a table of the system, which statements do not read")
        if any(mark in name for mark in _FILE_MARKS):
            raise refused(
                node, "looks like a file, and statements read none: its owner can add it with --public NAME=FILE"
            )
        near = nearest(name, sorted(self._public | scope | {self._private}))
        raise refused(node, f"is not a public table{near}", "table")


def _check_column(node: exp.Expr) -> None:
    if not node.text("table") and folded(node.name) in _SYSTEM_VALUES:
        raise refused(node, "is a value of the system; if a column has this name, write table.column")


def _check_field(node: exp.Expr) -> None:
    if isinstance(node.expression, exp.Star):
        raise refused(node, "takes a release apart: write SELECT * FROM and the release")
    if not isinstance(node.expression, exp.Identifier):
        raise refused(node, "is a function with a schema or behind a dot: write it as f(x)")


def _check_lateral(node: exp.Expr) -> None:
    if not isinstance(node.this, exp.Subquery):
        raise refused(node, "is not LATERAL (SELECT ...): write a subquery")


def _check_unnested(node: exp.Expr) -> None:
    if release_name(_bare(node.this)):
        raise refused(node, "cannot take a release apart here: write SELECT * FROM and the release")


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


# Further checks of the content of these allowed parts.
_PLACES: Mapping[type[exp.Expr], Callable[[exp.Expr], None]] = {
    exp.Column: _check_column,
    exp.Dot: _check_field,
    exp.Lateral: _check_lateral,
    exp.Explode: _check_unnested,
}
