"""The parts of SQL that a statement may have; the parser knows far more, and all others are refused."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

__all__ = ["EXPRESSIONS", "REASONS", "STRUCTURES", "TYPES"]

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
