"""Tests of the dbt package `dbt_expectations`: Great Expectations' names, with meanings and options of their own.

Values that the package pastes into its SQL without quotes are SQL here, too. NULL fails none of its comparisons, is no
member of a set, and is a value of a key.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import TypeAlias

from dpdb.errors import ParameterError
from dpdb.rules.found import DEPENDS_ON_TIME, WHOLE_TABLE
from dpdb.rules.importers.ends import End, asked_end, end_line
from dpdb.rules.importers.fresh import age_of, fresh_lines
from dpdb.rules.importers.great_expectations import why_not
from dpdb.rules.limits import Allowed, RowRange, Severity, rows_between, rows_compared
from dpdb.rules.options import Options, identifier, is_always, like, listed, raw, regex, sequence
from dpdb.rules.texts import both, checked, column_name, keyed, keyed_with_nulls, missing, present

Write: TypeAlias = Callable[[Options, str | None], str | list[str]]


def expectation(name: str) -> Write | None:
    """Return the function that writes a test of the package; None if dpdb has no such rule."""
    write = _TESTS.get(name)
    if write is None:
        return None

    return lambda options, where: write(options, row_condition(options, where))


def row_condition(options: Options, where: str | None) -> str | None:
    """Return a condition together with that of the rows that a test looks at."""
    condition = options.get("row_condition")
    return where if is_always(condition) else both(condition, where)


def limits_of_rows(name: str, options: Options, allowed: Allowed) -> list[str]:
    """Return the limits of a test of the number of rows, which has one failure or none."""
    return ROW_COUNTS[name](options).limits(severity_of_one(allowed))


def severity_of_one(allowed: Allowed) -> Severity:
    """Return what the failure of a test is that has one or none."""
    if any(bound.amount != 0 for bound in allowed.bounds):
        raise ParameterError("its failures are no rows")
    return "fail" if any(bound.severity == "fail" for bound in allowed.bounds) else "warn"


def why_no_rule(name: str) -> str:
    """Return why dpdb has no rule for a test of the package."""
    if name in _ABOUT_TIME:
        return DEPENDS_ON_TIME
    return WHOLE_TABLE if name in _WHOLE or "other_table" in name or "stdevs" in name else why_not(name)


def counts(name: str) -> Callable[[Options, Severity], list[tuple[str, str]]] | None:
    """Return the function that writes a test of a number of values or new rows; None if it is no such test."""
    if name in RECENT:
        return lambda options, severity: recent(name, options, severity)
    if (end := _ENDS.get(name)) is not None:
        return lambda options, severity: [_of_end(end, options, severity)]
    values_of = _DISTINCT.get(name)
    if values_of is None:
        return None
    return lambda options, severity: values_of(options).of(f"distinct_count({column_of(options)})", severity)


def recent(name: str, options: Options, severity: Severity) -> list[tuple[str, str]]:
    """Return the line of a test that a table has recent rows, of this package or of dbt_utils."""
    column, count = ("field", "interval") if name == "dbt_utils.recency" else ("column_name", "interval")
    if options.flag("ignore_time_component"):
        raise ParameterError("ignore_time_component: an age is of moments")
    age = age_of(options.need(count), options.need("datepart"))
    return fresh_lines(identifier(options.need(column)), [(severity, "<=", age)])


def _of_end(end: End, options: Options, severity: Severity) -> tuple[str, str]:
    sign, limit = asked_end(end, options, strict=options.flag("strictly"))
    return end_line(end, column_of(options), sign, raw(limit), severity)


_ENDS: dict[str, End] = {
    "dbt_expectations.expect_column_min_to_be_between": "min",
    "dbt_expectations.expect_column_max_to_be_between": "max",
}


def about_columns(name: str) -> Callable[[Options, Severity, str | None], list[tuple[str, str]]] | None:
    """Return the function that writes a test of the columns themselves; None if it is no such test."""
    kind = _OF_COLUMNS.get(name)
    return None if kind is None else lambda options, severity, where: [_schema(kind, options, severity, where)]


def _schema(kind: str, options: Options, severity: Severity, where: str | None) -> tuple[str, str]:
    if where is not None:
        raise ParameterError("where: columns are those of all rows")
    if str(options.get("transform", "upper")) not in {"upper", "lower"}:  # case does not count here either
        raise ParameterError("transform: names of columns are compared in any case")
    if options.get("column_index") is not None:
        raise ParameterError("column_index: dpdb checks the order of columns, not the place of one")
    names = sequence(options.need("column_list")) if "column_list" in options else [options.need("column_name")]
    if not names:
        raise ParameterError("the list of columns is empty")
    listed_names, order = ", ".join(map(column_name, names)), " in order" if kind == "in order" else ""
    line = f"schema {'is' if order else kind} ({listed_names}){order}"
    return line, "" if severity == "fail" else "warn above 0"


_OF_COLUMNS = {
    "dbt_expectations.expect_column_to_exist": "has",
    "dbt_expectations.expect_table_columns_to_contain_set": "has",
    "dbt_expectations.expect_table_columns_to_not_contain_set": "has no",
    "dbt_expectations.expect_table_columns_to_match_set": "is",
    "dbt_expectations.expect_table_columns_to_match_ordered_list": "in order",
}


def _strict(options: Options) -> RowRange:
    strict = options.flag("strictly")
    return rows_between(options.get("min_value"), options.get("max_value"), strict_low=strict, strict_high=strict)


_DISTINCT: dict[str, Callable[[Options], RowRange]] = {
    "dbt_expectations.expect_column_unique_value_count_to_be_between": _strict,
    "dbt_expectations.expect_column_distinct_count_to_equal": lambda o: rows_compared("=", o.need("value")),
    "dbt_expectations.expect_column_distinct_count_to_be_greater_than": lambda o: rows_compared(">", o.need("value")),
    "dbt_utils.at_least_one": lambda _: RowRange(1),
    "dbt_utils.not_constant": lambda _: RowRange(2),
}
RECENT = ("dbt_utils.recency", "dbt_expectations.expect_row_values_to_have_recent_data")
_ABOUT_TIME = (
    "expect_grouped_row_values_to_have_recent_data",
    "expect_column_values_to_be_within_n_moving_stdevs",
)  # fmt: skip
_WHOLE = (
    "expect_multicolumn_sum_to_equal", "equal_expression", "expect_row_values_to_have_data_for_every_n_datepart",
    "expect_column_values_to_have_consistent_casing",
)  # fmt: skip


def column_of(options: Options) -> str:
    """Return the column of a test, as SQL writes it."""
    return column_name(options.need("column_name"))


def _in_set(options: Options, where: str | None) -> str:
    name, values = column_of(options), listed(options.need("value_set"), options.flag("quote_values", True))
    return checked(f"{name} IS NOT NULL AND {name} IN ({values})", where)


def _not_in_set(options: Options, where: str | None) -> str:
    values = listed(options.need("value_set"), options.flag("quote_values", True))
    return checked(f"{column_of(options)} NOT IN ({values})", where)


def _between(term: str, options: Options, where: str | None) -> str:
    return between_values(term, options, where, strict=options.flag("strictly"))


def between_values(term: str, options: Options, where: str | None, *, strict: bool) -> str:
    """Write that a term lies between `min_value` and `max_value`, which are SQL.

    Parameters
    ----------
    where
        The rows that it looks at.
    strict
        Whether the bounds themselves are excluded.
    """
    signs = (">", "<") if strict else (">=", "<=")
    ends = [options.get("min_value"), options.get("max_value")]
    parts = [f"{term} {sign} {raw(end)}" for sign, end in zip(signs, ends, strict=True) if end is not None]
    if not parts:
        raise ParameterError("neither a smallest nor a largest value is given")
    return checked(" AND ".join(parts), where)


def _like(sign: str) -> Write:
    def write(options: Options, where: str | None) -> str:
        return checked(like(column_of(options), sign, options.need("like_pattern")), where)

    return write


def _like_list(sign: str) -> Write:
    def write(options: Options, where: str | None) -> str:
        patterns = [like(column_of(options), sign, item) for item in sequence(options.need("like_pattern_list"))]
        return checked(_joint(options).join(patterns), where)

    return write


def _joint(options: Options) -> str:
    return " AND " if options.choice("match_on", "any", "all") == "all" else " OR "


def _regex(inside: bool) -> Write:
    def write(options: Options, where: str | None) -> str:
        return checked(_found(options, options.need("regex"), inside), where)

    return write


def _regex_list(inside: bool) -> Write:
    def write(options: Options, where: str | None) -> str:
        found = [_found(options, pattern, inside) for pattern in sequence(options.need("regex_list"))]
        return checked(_joint(options).join(found), where)

    return write


def _found(options: Options, pattern: object, inside: bool) -> str:
    """Write that a pattern is found; `is_raw` is about how a database writes it. The flag `i` overlooks case."""
    options.get("is_raw")
    flags = str(options.get("flags") or "")
    if flags.strip("ci") or not isinstance(pattern, str):
        raise ParameterError("only the flags c and i of a regular expression are known")
    return regex(column_of(options), f"(?i){pattern}" if "i" in flags else pattern, inside=inside)


def columns_of(options: Options, columns: list[str]) -> list[str]:
    """Return columns by their names, which the file writes as SQL unless `quote_columns`."""
    return columns if options.flag("quote_columns") else [identifier(column) for column in columns]


def _columns(options: Options) -> list[str]:
    return columns_of(options, sequence(options.need("column_list")))


def _ignored_rows(options: Options) -> str:
    return options.choice("ignore_row_if", "all_values_are_missing", "any_value_is_missing")


def _compound(options: Options, where: str | None) -> str | list[str]:
    columns = _columns(options)
    if _ignored_rows(options) == "any_value_is_missing":
        return keyed(columns, where)
    return keyed_with_nulls(columns, where, also_all_missing=False)


def _different_in_a_row(options: Options, where: str | None) -> str:
    """Write that a row has as many distinct values as columns; a missing value does not count."""
    columns = _columns(options)
    names = list(map(column_name, columns))
    parts = [f"{name} IS NOT NULL" for name in names]
    parts += [f"{one} <> {other}" for one, other in combinations(names, 2)]
    ignored = missing(columns, every=_ignored_rows(options) == "all_values_are_missing")
    return checked(f"{ignored} OR {' AND '.join(parts)}", where)


def _pair(options: Options) -> tuple[str, str]:
    return raw(options.need("column_A")), raw(options.need("column_B"))


def _pair_among(options: Options, where: str | None) -> str:
    one, other = _pair(options)
    pairs = [f"({one} = {raw(a)} AND {other} = {raw(b)})" for a, b in options.need("value_pairs_set")]
    if not pairs:
        raise ParameterError("the list of pairs is empty")
    return checked(" OR ".join(pairs), where)


def _equal(options: Options, where: str | None) -> str:
    return checked(" = ".join(_pair(options)), where)


def _greater(options: Options, where: str | None) -> str:
    return checked((" >= " if options.flag("or_equal") else " > ").join(_pair(options)), where)


ROW_COUNTS: dict[str, Callable[[Options], RowRange]] = {
    "dbt_expectations.expect_table_row_count_to_be_between": _strict,
    "dbt_expectations.expect_table_row_count_to_equal": lambda o: rows_compared("=", o.need("value")),
}
_TESTS: dict[str, Write] = {
    "expression_is_true": lambda o, where: checked(o.need("expression"), where),
    "expect_column_values_to_not_be_null": lambda o, where: present(o.need("column_name"), where),
    "expect_column_values_to_be_null": lambda o, where: checked(f"{column_of(o)} IS NULL", where),
    "expect_column_values_to_be_unique": lambda o, where: keyed([o.need("column_name")], where),
    "expect_column_values_to_be_in_set": _in_set,
    "expect_column_distinct_values_to_be_in_set": lambda o, where: _in_set(
        o, both(f"{column_of(o)} IS NOT NULL", where)
    ),
    "expect_column_values_to_not_be_in_set": _not_in_set,
    "expect_column_values_to_be_between": lambda o, where: _between(column_of(o), o, where),
    "expect_column_value_lengths_to_be_between": lambda o, where: _between(f"length({column_of(o)})", o, where),
    "expect_column_value_lengths_to_equal": lambda o, where: checked(
        f"length({column_of(o)}) = {raw(o.need('value'))}", where
    ),
    "expect_column_values_to_match_like_pattern": _like("LIKE"),
    "expect_column_values_to_not_match_like_pattern": _like("NOT LIKE"),
    "expect_column_values_to_match_like_pattern_list": _like_list("LIKE"),
    "expect_column_values_to_not_match_like_pattern_list": _like_list("NOT LIKE"),
    "expect_column_values_to_match_regex": _regex(True),
    "expect_column_values_to_not_match_regex": _regex(False),
    "expect_column_values_to_match_regex_list": _regex_list(True),
    "expect_column_values_to_not_match_regex_list": _regex_list(False),
    "expect_compound_columns_to_be_unique": _compound,
    "expect_select_column_values_to_be_unique_within_record": _different_in_a_row,
    "expect_column_pair_values_A_to_be_greater_than_B": _greater,
    "expect_column_pair_values_to_be_equal": _equal,
    "expect_column_pair_values_to_be_in_set": _pair_among,
}
