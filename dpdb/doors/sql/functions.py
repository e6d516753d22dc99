"""The functions that statements may call on releases and public tables: pure, and of their arguments alone.

Every other function is refused, such as those that read files, settings, variables, the catalog or the clock, or take
SQL as text.
"""

from __future__ import annotations

from sqlglot import exp

from dpdb.doors.sql.call import RELEASES

__all__ = ["FUNCTIONS", "NAMED_FUNCTIONS", "statement_words"]

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
