"""DQX (Databricks Labs): a list of checks, each with its `function`, `arguments`, `filter` and `criticality`.

A row fails where the condition of the check is TRUE; NULL fails none. Each row is marked by itself, so that a check
tolerates nothing.

Limits that are texts are numbers, dates in ISO's form, or Spark's SQL: `"'a'"` is the text a. Since version 0.16 the
values of lists are read so, too; before, each text was a value. A word without quotes is left out there: it was a
value, and is a column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from fractions import Fraction
from typing import Any, TypeAlias

from dpdb.errors import ParameterError
from dpdb.rules.found import ACROSS_TABLES, DEPENDS_ON_TIME, WHOLE_TABLE, Found, TableRules
from dpdb.rules.importers.ends import end_line
from dpdb.rules.limits import NOTHING, Allowed, Bound, Severity, rows_compared
from dpdb.rules.options import Options, identifier, mapping, regex, sequence, texts
from dpdb.rules.texts import both, checked, column_name, found_in, keyed, keyed_with_nulls, present, value

_Write: TypeAlias = Callable[[Options, str | None], str | list[str]]

_OF_COLUMNS = ("is_unique", "foreign_key")
# Without influence on which rows fail.
_SILENT = {
    "name", "user_metadata", "check", "criticality", "for_each_column", "message_expr", "run_config_name", "created_at",
    "rule_fingerprint", "rule_set_fingerprint",
}  # fmt: skip
_SILENT_ARGUMENTS = {"msg", "name", "row_filter"}


def is_dqx(document: object) -> bool:
    """Return True for a list of checks."""
    items = document if isinstance(document, list) else []
    return bool(items) and all("function" in mapping(mapping(item).get("check")) for item in items)


def import_dqx(document: object, found: Found) -> None:
    """Read all checks of a file, which names no table."""
    for item in sequence(document):
        take_dqx(item, None, found.table(""))


def take_dqx(item: object, column: str | None, table: TableRules) -> None:
    """Take a check, once for each of its columns.

    Parameters
    ----------
    column
        The column of a check that names none, where it stands beside one; None elsewhere.
    table
        Gets the rules, or the reason to leave the check out.
    """
    check = mapping(mapping(item).get("check"))
    name = str(check.get("function"))
    given = {**mapping(item), **{key: said for key, said in check.items() if key not in {"function", "arguments"}}}
    for columns in sequence(check.get("for_each_column")) or [None]:
        arguments = dict(mapping(check.get("arguments")))
        if columns is not None:
            arguments["columns" if isinstance(columns, list) else "column"] = columns
        elif column is not None and not {"column", "columns"} & set(arguments):
            arguments["columns" if name in _OF_COLUMNS else "column"] = [column] if name in _OF_COLUMNS else column
        _take(name, Options(given, _SILENT), arguments, table)


def _take(name: str, options: Options, arguments: Mapping[str, Any], table: TableRules) -> None:
    said = Options(arguments, _SILENT_ARGUMENTS)
    shown = ", ".join(texts(said.shown("columns")) or texts(said.shown("column")))
    origin = f"{name}({shown})"
    write = _FUNCTIONS.get(name)
    called = options.shown("name")
    if name in _AGGREGATES:
        severity_of: Severity = "warn" if options.shown("criticality") == "warn" else "fail"
        among = options.get("filter")
        table.count_as(
            lambda: _aggregate(name, said, severity_of, None if among is None else _sql(among)),
            lambda: None,
            origin,
            options,
            origin if called is None else str(called),
        )
        return
    if write is None:
        table.leave(origin, _why_not(name))
        return

    def written() -> str | list[str]:
        where = options.get("filter")
        lines = write(said, None if where is None else _sql(where))
        if unread := said.unread():
            raise ParameterError(f"dpdb does not know its argument {', '.join(unread)}")
        return lines

    severity = options.shown("criticality") or "error"
    bound = Bound("warn" if severity == "warn" else "fail", Fraction(0))
    table.take(
        written,
        origin,
        options,
        name=origin if called is None else str(called),
        allowed=lambda: Allowed((bound,), NOTHING),
    )


_AGGREGATES = {
    "is_aggr_not_less_than": ">=", "is_aggr_not_greater_than": "<=", "is_aggr_equal": "=",
}  # fmt: skip


def _aggregate(name: str, said: Options, severity: Severity, where: str | None) -> list[tuple[str, str]]:
    """Write an aggregate of all rows: their number, that of values, the smallest or largest value."""
    kind, sign, column = str(said.get("aggr_type", "count")), _AGGREGATES[name], said.need("column")
    if kind not in {"count", "count_distinct", "min", "max"}:
        raise ParameterError(WHOLE_TABLE)
    among = "" if where is None else f" WHERE {where}"
    if kind in {"min", "max"}:
        line, limit = end_line("min" if kind == "min" else "max", _term(said), sign, _limit(said, "limit"), severity)
        found = [(f"{line}{among}", limit)]
    elif kind == "count_distinct":
        values = f"distinct_count({column_name(identifier(column))}){among}"
        found = rows_compared(sign, said.need("limit")).of(values, severity)
    else:
        counted = where if column == "*" else both(f"{_term(said)} IS NOT NULL", where)
        rows = "row_count" if counted is None else f"row_count WHERE {counted}"
        found = rows_compared(sign, said.need("limit")).of(rows, severity)
    if unread := said.unread():
        raise ParameterError(f"dpdb does not know its argument {', '.join(unread)}")
    return found


def _why_not(name: str) -> str:
    if name == "has_valid_schema":
        return "it takes types that are compatible, which dpdb does not know"
    if name.startswith(("is_aggr_", "has_no_", "is_data_fresh_per", "compare_datasets", "aggr_")):
        return WHOLE_TABLE
    if name.startswith("sql_query"):
        return ACROSS_TABLES
    if name.startswith("is_valid_") or "ipv" in name or "json" in name or name.endswith("_case"):
        return "dpdb has no such format"
    if name in {"is_data_fresh", "is_not_in_future", "is_not_in_near_future", "is_older_than_n_days"}:
        return DEPENDS_ON_TIME
    return "dpdb does not know this check"


def _term(options: Options) -> str:
    """Return the column, or the expression that stands for one."""
    said = options.need("column")
    if isinstance(said, str) and re.fullmatch(r"\w+(\.\w+)+", said.strip()):
        raise ParameterError("it is about a field inside a column")
    try:
        return column_name(identifier(said))
    except ParameterError:
        return _sql(said)


def _sql(said: object) -> str:
    """Return Spark's SQL, in which what stands in double quotes is a text."""
    if not isinstance(said, str):
        raise ParameterError(f"{said!r} is no SQL")
    if '"' in said:
        raise ParameterError("what stands in double quotes is a text in Spark, and a name here: write '..'")
    if "\\" in said:
        raise ParameterError("a backslash means something else in Spark's SQL than here")
    return said


def _limit(options: Options, name: str) -> str:
    return _compared_with(options.need(name))


def _compared_with(said: object) -> str:
    """Write a limit: a text is a whole number, a date or a moment in ISO's form, or SQL."""
    if not isinstance(said, str):
        return value(said)
    if said.isdigit():
        return said
    try:
        moment = datetime.fromisoformat(said)
    except ValueError:
        return _sql(said)
    if moment.tzinfo is not None:
        raise ParameterError(f"{said} is a moment of a time zone")
    return value(moment if ":" in said else moment.date())


def _not_empty(options: Options) -> str:
    term = _term(options)
    return f"{f'trim({term})' if options.flag('trim_strings') else term} <> ''"


def _empty(options: Options) -> str:
    term = _term(options)
    return f"{f'trim({term})' if options.flag('trim_strings') else term} = ''"


def _present_and(write: Callable[[Options], str]) -> _Write:
    """Write that a value is not NULL besides, in one rule of one row."""
    return lambda options, where: checked(f"{_term(options)} IS NOT NULL AND {write(options)}", where)


def _row(write: Callable[[Options], str]) -> _Write:
    return lambda options, where: checked(write(options), where)


def _listed(name: str, sign: str) -> Callable[[Options], str]:
    def write(options: Options) -> str:
        term, values = _term(options), [_member(item) for item in sequence(options.need(name))]
        if not values:
            raise ParameterError("the list of values is empty")
        if not options.flag("case_sensitive", True):
            term, values = f"lower({term})", [text.lower() for text in values]
        return f"{term} {sign} ({', '.join(values)})"

    return write


def _member(said: object) -> str:
    written = _compared_with(said)
    if isinstance(said, str) and written == said and not said.isdigit() and not _TEXT.fullmatch(said):
        raise ParameterError(f"a text before DQX 0.16, and a column since: {said}; for a text write \"'{said}'\"")
    return written


_TEXT = re.compile(r"'(?:[^'\\]|'')*'")
_in_list = _listed("allowed", "IN")


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
    condition = _sql(options.need("expression"))
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
    "is_empty": _row(_empty),
    "is_null_or_empty": _row(_empty),
    "is_not_null_and_not_empty": _present_and(_not_empty),
    "is_in_list": _row(_in_list),
    "is_not_in_list": _row(_listed("forbidden", "NOT IN")),
    "is_not_null_and_is_in_list": _present_and(_in_list),
    "is_equal_to": _compared("=", "value"),
    "is_not_equal_to": _compared("<>", "value"),
    "is_not_less_than": _compared(">=", "limit"),
    "is_not_greater_than": _compared("<=", "limit"),
    "is_in_range": _row(_in_range),
    "is_not_in_range": _row(_not_in_range),
    "regex_match": _row(lambda o: regex(_term(o), o.need("regex"), inside=not o.flag("negate"))),
    "is_valid_ipv4_address": _row(lambda o: f"has_format({_term(o)}, 'ipv4')"),
    "sql_expression": _row(_expression),
    "is_unique": _unique,
    "foreign_key": _reference,
}
