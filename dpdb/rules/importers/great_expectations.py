"""Great Expectations suites (JSON of 0.x and 1.x): each expectation about rows is a rule.

A row with a missing value is read as the tool's own pandas engine and its published test cases read it: expectations of
one column pass over it, and those of several columns have `ignore_row_if`.

What an expectation tolerates is said by `mostly` and its `severity`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import TypeAlias

from dpdb.constraints import ROWS_IN_DUPLICATES, VIOLATIONS
from dpdb.errors import ParameterError
from dpdb.rules.found import OF_ITS_DATABASE, WHOLE_TABLE, Found, TableRules
from dpdb.rules.importers.ends import End, asked_end, end_line
from dpdb.rules.importers.failing_rows import no_failing_rows
from dpdb.rules.limits import (
    NOTHING,
    Allowed,
    Bound,
    Counted,
    RowRange,
    Severity,
    Share,
    number,
    rows_between,
    rows_compared,
)
from dpdb.rules.options import Options, like, mapping, regex, sequence, texts
from dpdb.rules.pandas_conditions import pandas_condition
from dpdb.rules.texts import (
    among,
    between,
    both,
    checked,
    column_name,
    keyed,
    keyed_with_nulls,
    missing,
    present,
    value,
)  # fmt: skip

_Write: TypeAlias = Callable[[Options, str | None], str | list[str]]

# Without influence on which rows fail.
_SILENT_OF_SUITE = {
    "name", "expectation_suite_name", "id", "ge_cloud_id", "data_context_id", "data_asset_type", "meta", "notes",
    "description", "evaluation_parameters", "suite_parameters", "expectations",
}  # fmt: skip
_SILENT_OF_ITEM = {
    "id", "ge_cloud_id", "meta", "notes", "description", "rendered_content", "expectation_context",
    "success_on_last_run",
}  # fmt: skip
_SILENT = {
    "result_format", "catch_exceptions", "include_config", "meta", "notes", "description", "batch_id",
    "output_strftime_format", "unexpected_index_column_names",
}  # fmt: skip
# Switches that must be off: dpdb compares values as the column holds them.
_OFF = ("parse_strings_as_datetimes", "allow_cross_type_comparisons", "auto")


def is_suite(document: object) -> bool:
    """Return True for a suite of expectations."""
    return isinstance(mapping(document).get("expectations"), list)


def import_suite(document: object, found: Found) -> None:
    """Read a suite."""
    suite = Options(document, _SILENT_OF_SUITE)
    table = found.table(str(mapping(suite.shown("meta")).get("table", "")))
    table.leave_unknown(document, _SILENT_OF_SUITE, "suite: ")
    for said in sequence(suite.get("expectations")):
        item = Options(said, _SILENT_OF_ITEM)
        name = str(item.first("type", "expectation_type") or "")
        _expect(name, item, item.inner("kwargs", _SILENT), table)


def _of_distinct(
    values_of: Callable[[Options], RowRange], options: Options, severity: Severity
) -> list[tuple[str, str]]:
    return values_of(options).of(f"distinct_count({_column(options)})", severity)


def _of_end(end: End, options: Options, severity: Severity) -> list[tuple[str, str]]:
    """Write the smallest or largest value, which is missing there, and fails, where no row has a value."""
    column = _column(options)
    options.flag(f"strict_{'max' if end == 'min' else 'min'}")
    sign, limit = asked_end(end, options, strict=options.flag(f"strict_{end}"))
    some = (f"distinct_count({column})", f"{severity} below 1")
    return [end_line(end, column, sign, value(limit), severity), some]


def _expect(name: str, item: Options, options: Options, table: TableRules) -> None:
    """Take one expectation."""
    named = [options.shown(key) for key in ("column", "column_A", "column_B")]
    shown = ", ".join(texts(options.shown("column_list")) or [str(column) for column in named if column is not None])
    write, range_of, origin = _EXPECTATIONS.get(name), _ROW_COUNTS.get(name), f"{name}({shown})"
    severity, notes = severity_of(item, options), [severity_note(item), severity_note(options)]
    if range_of is not None:
        table.count(lambda: range_of(options).limits(severity), lambda: _row_condition(options), name, item, name)
        return
    counted_by = _COUNTED.get(name)
    if counted_by is not None:
        counted = partial(counted_by, options, severity)
        table.count_as(counted, lambda: _row_condition(options), origin, item, origin)
        return
    columns_of = _OF_COLUMNS.get(name)
    if columns_of is not None:
        limit = "" if severity == "fail" else "warn above 0"
        table.about_columns(lambda: [(columns_of(options), limit)], origin, item, origin)
        return
    if name == "unexpected_rows_expectation":
        write = partial(_queried, table.name)
    if write is None:
        table.leave(origin, why_not(name))
        return

    def written() -> str | list[str]:
        for switch in _OFF:
            if options.flag(switch):
                raise ParameterError(f"{switch}: dpdb compares the values that the column holds")
        return write(options, _looked_at(name, options))

    note = "; ".join(filter(None, notes)) or None
    allowed = partial(allowed_by_mostly, name, options, severity)
    table.take(written, origin, item, note, name=origin, allowed=allowed)


_CONDITION = re.compile(
    r"""col\("(?P<column>[A-Za-z][\w.-]*)"\)\s*
    (?:(?P<present>\.notnull\(\))
      |(?P<sign>[<>]=?|==|!=)\s*(?:(?P<number>[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)|(?P<quote>["'])(?P<text>[^"']+)(?P=quote)))
    """,
    re.VERBOSE | re.IGNORECASE,
)


def _row_condition(options: Options) -> str | None:
    """Return the condition: SQL, one comparison of the tool's own parser, or comparisons as pandas writes them."""
    condition, parser = options.get("row_condition"), options.get("condition_parser")
    if condition is None or condition == "":
        return None
    if isinstance(condition, str) and parser in {None, "spark"} and "col(" not in condition:
        return condition
    if isinstance(condition, str) and parser == "pandas":
        return pandas_condition(condition)
    own = parser in {"great_expectations", "great_expectations__experimental__"} and isinstance(condition, str)
    said = _CONDITION.fullmatch(condition.strip()) if own else None
    if said is None:
        raise ParameterError("its row_condition is written for another parser; write it as SQL after WHERE")
    name = column_name(said["column"])
    if said["present"]:
        return f"{name} IS NOT NULL"
    return f"{name} {said['sign'].replace('==', '=')} {said['number'] or value(said['text'])}"


def _looked_at(name: str, options: Options) -> str | None:
    """Return the condition of the rows that an expectation looks at, of which `mostly` is a share."""
    where = _row_condition(options)
    if where is None or options.shown("mostly") is None or _of_missing_rows(name, options):
        return where
    return both(where, f"{column_name(options.shown('column'))} IS NOT NULL")


def _of_missing_rows(name: str, options: Options) -> bool:
    """Return whether an expectation looks at rows in which its column is NULL, or is of several columns."""
    return "column" not in options or name in _OF_NULLS


def why_not(name: str) -> str:
    """Return why dpdb has no rule for an expectation."""
    if name.endswith(("_to_be_of_type", "_to_be_in_type_list")):
        return OF_ITS_DATABASE
    if "strftime" in name or "json" in name:
        return "dpdb does not read dates or documents in texts"
    if name.startswith("expect_table_") or name.endswith(_WHOLE) or any(word in name for word in _STATISTICS):
        return WHOLE_TABLE
    return "dpdb does not know this expectation"


_WHOLE = (
    "_mean_to_be_between", "_median_to_be_between", "_sum_to_be_between", "_stdev_to_be_between",
    "_proportion_of_unique_values_to_be_between", "_quantile_values_to_be_between",
    "_distinct_values_to_equal_set",
    "_distinct_values_to_contain_set", "_most_common_value_to_be_in_set", "_to_be_increasing", "_to_be_decreasing",
)  # fmt: skip
_STATISTICS = ("p_value", "kl_divergence", "z_scores", "cramers_phi", "change_between", "completeness")


# -- one column ---------------------------------------------------------------------------------------------------


def _column(options: Options) -> str:
    return column_name(options.need("column"))


def _in_set(options: Options, where: str | None) -> str:
    name, values = _column(options), sequence(options.need("value_set"))
    return checked(among(options.get("column"), values) if values else f"{name} IS NULL", where)


def _between(term: str, options: Options, where: str | None) -> str:
    ends = options.get("min_value"), options.get("max_value")
    strict_low, strict_high = options.flag("strict_min"), options.flag("strict_max")
    return checked(between(term, *ends, strict_low=strict_low, strict_high=strict_high), where)


def _like(sign: str) -> _Write:
    def write(options: Options, where: str | None) -> str:
        return checked(like(_column(options), sign, options.need("like_pattern")), where)

    return write


def _like_list(options: Options, where: str | None) -> str:
    return checked(_joint(options).join(_each_pattern("LIKE", options)), where)


def _joint(options: Options) -> str:
    return " AND " if options.choice("match_on", "any", "all") == "all" else " OR "


def _each_pattern(sign: str, options: Options) -> list[str]:
    patterns = [like(_column(options), sign, item) for item in sequence(options.need("like_pattern_list"))]
    if not patterns:
        raise ParameterError("the list of patterns is empty")
    return patterns


def _each_regex(options: Options, inside: bool) -> list[str]:
    patterns = [regex(_column(options), item, inside=inside) for item in sequence(options.need("regex_list"))]
    if not patterns:
        raise ParameterError("the list of patterns is empty")
    return patterns


# -- several columns ----------------------------------------------------------------------------------------------


def _ignored(options: Options, every: str, some: str, none: str) -> str:
    """Return which rows an expectation skips: "every" if all values are missing, "any" if any is missing, or "none"."""
    word = options.choice("ignore_row_if", every, some, none)
    return {every: "every", some: "any", none: "none"}[word]


def _of_pair(options: Options) -> str:
    return _ignored(options, "both_values_are_missing", "either_value_is_missing", "neither")


def _of_list(options: Options) -> str:
    return _ignored(options, "all_values_are_missing", "any_value_is_missing", "never")


def _complete(condition: str, columns: Sequence[object], ignored: str, where: str | None) -> str:
    """Write a comparison that is NULL where one of its columns is; a row with a missing value fails unless ignored."""
    if ignored == "any":
        return checked(condition, where)
    given = " AND ".join(f"{column_name(column)} IS NOT NULL" for column in columns)
    condition = f"{given} AND {condition}"
    return checked(condition if ignored == "none" else f"{missing(columns, every=True)} OR {condition}", where)


def _pair(options: Options) -> list[object]:
    return [options.need("column_A"), options.need("column_B")]


def _greater(options: Options, where: str | None) -> str:
    pair = _pair(options)
    sign = " >= " if options.flag("or_equal") else " > "
    return _complete(sign.join(map(column_name, pair)), pair, _of_pair(options), where)


def _equal(options: Options, where: str | None) -> str:
    pair = _pair(options)
    return _complete(" = ".join(map(column_name, pair)), pair, _of_pair(options), where)


def _pair_among(options: Options, where: str | None) -> str:
    """Write the allowed pairs; unlike elsewhere, a pair may name a missing value."""
    pair = _pair(options)
    allowed = [
        " AND ".join(f"{column_name(name)} IS NOT NULL AND {column_name(name)} = {value(said)}" if said is not None
                     else f"{column_name(name)} IS NULL" for name, said in zip(pair, each, strict=True))
        for each in options.need("value_pairs_set")
    ]  # fmt: skip
    ignored = _of_pair(options)
    if ignored != "none":
        allowed = [missing(pair, every=ignored == "every"), *allowed]
    if not allowed:
        raise ParameterError("the list of pairs is empty")
    return checked(" OR ".join(allowed), where)


def _columns(options: Options, fewest: int = 1) -> list[str]:
    columns = sequence(options.need("column_list"))
    if len(columns) < fewest:
        raise ParameterError(f"at least {fewest} columns are needed")
    return columns


def _compound(options: Options, where: str | None) -> str | list[str]:
    columns, ignored = _columns(options), _of_list(options)
    if ignored == "any":
        return keyed(columns, where)
    return keyed_with_nulls(columns, where, also_all_missing=ignored == "none")


def _different_in_a_row(options: Options, where: str | None) -> str:
    """Write that no two columns have the same value, two missing values being the same."""
    columns, ignored = _columns(options, fewest=2), _of_list(options)
    names = list(map(column_name, columns))
    if len(names) == 2 and ignored != "none":
        return checked(" <> ".join(names), where)
    condition = " AND ".join(
        f"{one} <> {other} AND ({one} IS NOT NULL OR {other} IS NOT NULL)" for one, other in combinations(names, 2)
    )
    if ignored != "none":
        condition = f"{missing(columns, every=ignored == 'every')} OR {condition}"
    return checked(condition, where)


def _sum(options: Options, where: str | None) -> str:
    columns = _columns(options)
    condition = f"{' + '.join(map(column_name, columns))} = {value(options.need('sum_total'))}"
    return _complete(condition, columns, _of_list(options), where)


def _queried(table: str, options: Options, where: str | None) -> str:
    return no_failing_rows(options.need("unexpected_rows_query"), table, where)


# -- the columns themselves, which are public -----------------------------------------------------------------------


def _schema(options: Options, key: str, kind: str, end: str = "") -> str:
    columns = sequence(options.need(key))
    if not columns:
        raise ParameterError("the list of columns is empty")
    return f"schema {kind} ({', '.join(map(column_name, columns))}){end}"


def _exists(options: Options) -> str:
    if options.get("column_index") is not None:
        raise ParameterError("column_index: dpdb checks the order of columns, not the place of one")
    return f"schema has ({_column(options)})"


_OF_COLUMNS: dict[str, Callable[[Options], str]] = {
    "expect_column_to_exist": _exists,
    "expect_table_columns_to_match_set": lambda o: _schema(
        o, "column_set", "is" if o.flag("exact_match", True) else "has"
    ),
    "expect_table_columns_to_match_ordered_list": lambda o: _schema(o, "column_list", "is", " in order"),
}
_ROW_COUNTS: dict[str, Callable[[Options], RowRange]] = {
    "expect_table_row_count_to_be_between": lambda o: rows_between(
        o.get("min_value"), o.get("max_value"), strict_low=o.flag("strict_min"), strict_high=o.flag("strict_max")
    ),
    "expect_table_row_count_to_equal": lambda o: rows_compared("=", o.need("value")),
}
_COUNTED: dict[str, Callable[[Options, Severity], list[tuple[str, str]]]] = {
    "expect_column_unique_value_count_to_be_between": partial(
        _of_distinct, _ROW_COUNTS["expect_table_row_count_to_be_between"]
    ),
    "expect_column_min_to_be_between": partial(_of_end, "min"),
    "expect_column_max_to_be_between": partial(_of_end, "max"),
}
_SHARE_OF_VALUES = "expect_column_proportion_of_non_null_values_to_be_between"
_EXPECTATIONS: dict[str, _Write] = {
    "expect_column_distinct_values_to_be_in_set": _in_set,
    "expect_column_values_to_not_be_null": lambda o, where: present(o.need("column"), where),
    "expect_column_values_to_be_null": lambda o, where: checked(f"{_column(o)} IS NULL", where),
    _SHARE_OF_VALUES: lambda o, where: present(o.need("column"), where),
    "expect_column_values_to_be_unique": lambda o, where: keyed([o.need("column")], where),
    "expect_column_values_to_be_in_set": _in_set,
    "expect_column_values_to_not_be_in_set": lambda o, where: checked(
        among(o.need("column"), sequence(o.need("value_set")), inside=False), where
    ),
    "expect_column_values_to_be_between": lambda o, where: _between(_column(o), o, where),
    "expect_column_value_lengths_to_be_between": lambda o, where: _between(f"length({_column(o)})", o, where),
    "expect_column_value_lengths_to_equal": lambda o, where: checked(
        f"length({_column(o)}) = {value(o.need('value'))}", where
    ),
    "expect_column_values_to_match_like_pattern": _like("LIKE"),
    "expect_column_values_to_not_match_like_pattern": _like("NOT LIKE"),
    "expect_column_values_to_match_like_pattern_list": _like_list,
    "expect_column_values_to_not_match_like_pattern_list": lambda o, where: checked(
        " AND ".join(_each_pattern("NOT LIKE", o)), where
    ),
    "expect_column_values_to_match_regex": lambda o, where: checked(regex(_column(o), o.need("regex")), where),
    "expect_column_values_to_not_match_regex": lambda o, where: checked(
        regex(_column(o), o.need("regex"), inside=False), where
    ),
    "expect_column_values_to_match_regex_list": lambda o, where: checked(_joint(o).join(_each_regex(o, True)), where),
    "expect_column_values_to_not_match_regex_list": lambda o, where: checked(
        " AND ".join(_each_regex(o, False)), where
    ),
    "expect_compound_columns_to_be_unique": _compound,
    "expect_select_column_values_to_be_unique_within_record": _different_in_a_row,
    "expect_multicolumn_values_to_be_unique": _different_in_a_row,
    "expect_multicolumn_sum_to_equal": _sum,
    "expect_column_pair_values_a_to_be_greater_than_b": _greater,
    "expect_column_pair_values_A_to_be_greater_than_B": _greater,
    "expect_column_pair_values_to_be_equal": _equal,
    "expect_column_pair_values_to_be_in_set": _pair_among,
}


_WARNINGS = ("warning", "info")
_OF_NULLS = ("expect_column_values_to_be_null", "expect_column_values_to_not_be_null", _SHARE_OF_VALUES)
_OF_KEYS = ("expect_column_values_to_be_unique", "expect_compound_columns_to_be_unique")


def severity_of(*places: Options) -> Severity:
    """Return what a failure of an expectation is, by its `severity`: critical (the default), warning or info."""
    said = [str(place.shown("severity")).lower() for place in places if "severity" in place]
    return "warn" if said and all(word in _WARNINGS for word in said) else "fail"


def severity_note(place: Options) -> str | None:
    """Read a severity; return it for a comment unless `warn` and `fail` say it."""
    word = str(place.get("severity", "critical")).lower()
    return None if word in {"critical", "warning"} else f"severity {place.shown('severity')}"


def allowed_by_mostly(name: str, options: Options, severity: Severity) -> Allowed:
    """Read `mostly`, the share that must meet an expectation, of the rows that it looks at.

    Great Expectations divides by the rows that are not NULL for expectations of one column, by all rows for
    `to_be_null` and `to_not_be_null`, and by the rows that `ignore_row_if` leaves for those of several columns.
    """
    mostly = options.get("mostly", 1) if name != _SHARE_OF_VALUES else _least_share(options)
    if isinstance(mostly, dict):  # a parameter, known when the suite runs
        return Allowed((Bound(severity, None),), NOTHING, words=f"mostly {mostly}")
    if isinstance(mostly, bool) or not isinstance(mostly, (int, float)) or not 0 <= mostly <= 1:
        raise ParameterError(f"mostly: {mostly!r} is no share from 0 to 1")
    allowed = 1 - (number(mostly) or Fraction(0))
    counted = Counted(ROWS_IN_DUPLICATES if name in _OF_KEYS else VIOLATIONS, _share(name, options))
    return Allowed((Bound(severity, allowed),), counted, percent=True, words=f"mostly {mostly}")


def _least_share(options: Options) -> object:
    """Return the least share of values that are there; a largest one asks for NULL."""
    most = options.get("max_value")
    if (most is not None and most != 1) or options.flag("strict_max") or options.flag("strict_min"):
        raise ParameterError("a share of values is at least a number here, and nothing else")
    return options.need("min_value")


def _share(name: str, options: Options) -> Share | None:
    if options.shown("row_condition"):
        is_selected = name in _OF_NULLS or (name not in _OF_KEYS and not _of_missing_rows(name, options))
        return "share of selected" if is_selected else None
    if name in _OF_NULLS:
        return "share"
    word = str(options.shown("ignore_row_if") or "all")
    several = "column_A" in options or len(sequence(options.shown("column_list"))) > 1
    if not several or word.startswith(("any", "either")):
        return "share of non-null"
    return "share" if word in {"neither", "never"} else None
