"""DQX (Databricks Labs): a list of checks, each with its `function`, `arguments`, `filter` and `criticality`.

A row fails where the condition of the check is TRUE; NULL fails none. Limits that are texts are SQL there, too. Each
row is marked by itself, so that a check tolerates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

from dpdb.errors import ParameterError
from dpdb.rules.found import ACROSS_TABLES, NO_PATTERNS, WHOLE_TABLE, Found, TableRules
from dpdb.rules.limits import NOTHING, Allowed, Bound
from dpdb.rules.options import Options, identifier, mapping, raw, sequence, texts
from dpdb.rules.texts import checked, column_name, found_in, keyed, keyed_with_nulls, present, value

_Write: TypeAlias = Callable[[Options, str | None], str | list[str]]

# Without influence on which rows fail.
_SILENT = {"name", "user_metadata", "check", "criticality", "for_each_column"}
_SILENT_ARGUMENTS = {"msg", "name", "row_filter"}


def is_dqx(document: object) -> bool:
    """Return True for a list of checks."""
    items = document if isinstance(document, list) else []
    return bool(items) and all("function" in mapping(mapping(item).get("check")) for item in items)


def import_dqx(document: object, found: Found) -> None:
    """Read all checks of a file, which names no table."""
    table = found.table("")
    for item in sequence(document):
        check = mapping(mapping(item).get("check"))
        name = str(check.get("function"))
        given = {**mapping(item), **{key: said for key, said in check.items() if key not in {"function", "arguments"}}}
        each = sequence(check.get("for_each_column")) or [None]
        for columns in each:
            arguments = dict(mapping(check.get("arguments")))
            if columns is not None:
                arguments["columns" if isinstance(columns, list) else "column"] = columns
            _take(name, Options(given, _SILENT), arguments, table)


def _take(name: str, options: Options, arguments: Mapping[str, Any], table: TableRules) -> None:
    said = Options(arguments, _SILENT_ARGUMENTS)
    shown = ", ".join(texts(said.shown("columns")) or texts(said.shown("column")))
    origin = f"{name}({shown})"
    write = _FUNCTIONS.get(name)
    if write is None:
        table.leave(origin, _why_not(name))
        return

    def written() -> str | list[str]:
        lines = write(said, options.get("filter"))
        if unread := said.unread():
            raise ParameterError(f"dpdb does not know its argument {', '.join(unread)}")
        return lines

    severity = options.shown("criticality") or "error"
    bound = Bound("warn" if severity == "warn" else "fail", Fraction(0))
    called = options.shown("name")
    table.take(
        written,
        origin,
        options,
        name=origin if called is None else str(called),
        allowed=lambda: Allowed((bound,), NOTHING),
    )


def _why_not(name: str) -> str:
    if name.startswith(("is_aggr_", "has_valid_schema", "has_no_", "is_data_fresh_per", "compare_datasets")):
        return WHOLE_TABLE
    if name.startswith("sql_query"):
        return ACROSS_TABLES
    if "regex" in name or name.startswith("is_valid_") or "ipv" in name:
        return NO_PATTERNS
    if name in {"is_data_fresh", "is_not_in_future", "is_not_in_near_future", "is_older_than_n_days"}:
        return "it depends on the time at which it runs"
    return "dpdb does not know this check"


def _term(options: Options) -> str:
    """Return the column, or the expression that stands for one."""
    said = options.need("column")
    try:
        return column_name(identifier(said))
    except ParameterError:
        return str(raw(said))


def _limit(options: Options, name: str) -> str:
    return raw(options.need(name))


def _not_empty(options: Options) -> str:
    term = _term(options)
    return f"{f'trim({term})' if options.flag('trim_strings') else term} <> ''"


def _present_and(write: Callable[[Options], str]) -> _Write:
    """Write that a value is not NULL besides, in one rule of one row."""
    return lambda options, where: checked(f"{_term(options)} IS NOT NULL AND {write(options)}", where)


def _row(write: Callable[[Options], str]) -> _Write:
    return lambda options, where: checked(write(options), where)


def _in_list(options: Options) -> str:
    term, values = _term(options), [value(item) for item in sequence(options.need("allowed"))]
    if not options.flag("case_sensitive", True):
        term, values = f"lower({term})", [text.lower() for text in values]
    return f"{term} IN ({', '.join(values)})"


def _compared(sign: str, name: str) -> _Write:
    return _row(lambda options: f"{_term(options)} {sign} {_limit(options, name)}")


def _in_range(options: Options) -> str:
    term, low, high = _term(options), _limit(options, "min_limit"), _limit(options, "max_limit")
    return f"{term} >= {low} AND {term} <= {high}"


def _not_in_range(options: Options) -> str:
    term, low, high = _term(options), _limit(options, "min_limit"), _limit(options, "max_limit")
    return f"{term} < {low} OR {term} > {high}"


def _expression(options: Options) -> str:
    options.get("columns")  # which it is named after
    condition = str(options.need("expression"))
    return f"NOT ({condition})" if options.flag("negate") else condition


def _unique(options: Options, where: str | None) -> str | list[str]:
    columns = list(map(identifier, sequence(options.need("columns"))))
    write = keyed if options.flag("nulls_distinct", True) else keyed_with_nulls
    return write(columns, where)


def _reference(options: Options, where: str | None) -> str:
    if options.flag("negate"):
        raise ParameterError(ACROSS_TABLES)
    columns, targets = (list(map(identifier, sequence(options.need(name)))) for name in ("columns", "ref_columns"))
    return found_in(columns, str(options.first("ref_table", "ref_df_name") or ""), targets, where)


_FUNCTIONS: dict[str, _Write] = {
    "is_not_null": lambda options, where: present(identifier(options.need("column")), where),
    "is_null": _row(lambda options: f"{_term(options)} IS NULL"),
    "is_not_empty": _row(_not_empty),
    "is_not_null_and_not_empty": _present_and(_not_empty),
    "is_in_list": _row(_in_list),
    "is_not_null_and_is_in_list": _present_and(_in_list),
    "is_equal_to": _compared("=", "value"),
    "is_not_equal_to": _compared("<>", "value"),
    "is_not_less_than": _compared(">=", "limit"),
    "is_not_greater_than": _compared("<=", "limit"),
    "is_in_range": _row(_in_range),
    "is_not_in_range": _row(_not_in_range),
    "sql_expression": _row(_expression),
    "is_unique": _unique,
    "foreign_key": _reference,
}
