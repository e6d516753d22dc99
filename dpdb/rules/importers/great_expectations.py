"""Great Expectations suites (JSON of 0.x and 1.x): each expectation about rows is a rule.

The names are those of `dbt_expectations`, too, whose tests go through `expect`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dpdb.errors import ParameterError
from dpdb.rules.found import NO_PATTERNS, WHOLE_TABLE, Found, TableRules
from dpdb.rules.importers.shapes import mapping, sequence, texts
from dpdb.rules.texts import among, between, checked, column_name, keyed, present, value

__all__ = ["expect", "import_suite", "is_suite"]

_Options: TypeAlias = Mapping[str, Any]
_Write: TypeAlias = Callable[[_Options, str | None], str]


def is_suite(document: object) -> bool:
    """Return True for a suite of expectations."""
    return isinstance(mapping(document).get("expectations"), list)


def import_suite(document: object, found: Found) -> None:
    """Read a suite."""
    suite = mapping(document)
    table = found.table(str(mapping(suite.get("meta")).get("table", "")))
    for item in sequence(suite.get("expectations")):
        expectation = mapping(item)
        name = str(expectation.get("type") or expectation.get("expectation_type") or "")
        expect(name, mapping(expectation.get("kwargs")), table)


def expect(name: str, options: _Options, table: TableRules, where: str | None = None) -> None:
    """Take one expectation by its name and options; `where` limits it to some rows."""
    shown = ", ".join(texts(options.get("column_list")) or _columns_of(options))
    origin = f"{name}({shown})" if where is None else f"{name}({shown}) where {where}"
    if options.get("row_condition"):
        condition = _row_condition(options)
        if condition is None:
            table.leave(origin, "its row_condition is written for another parser; write it as SQL after WHERE")
            return
        where = condition if where is None else f"({where}) AND ({condition})"
    write = _EXPECTATIONS.get(name)
    if write is None:
        table.leave(origin, _reason(name))
        return
    try:
        table.take(write(options, where), origin, _mostly(options))
    except KeyError as error:
        table.leave(origin, f"the option {error} is missing")
    except (ParameterError, TypeError, ValueError) as error:
        table.leave(origin, str(error))


def _columns_of(options: _Options) -> list[str]:
    named = ("column", "column_A", "column_B")
    return [str(options[key]) for key in named if key in options]


def _mostly(options: _Options) -> str | None:
    mostly = options.get("mostly")
    if not isinstance(mostly, (int, float)) or mostly >= 1:
        return None
    return f"mostly {mostly:g}: gate with --rate --fail-above problematic={round(1 - mostly, 10):g}"


def _row_condition(options: _Options) -> str | None:
    """Only conditions that are SQL; pandas and the tool's own parser have other grammars."""
    condition = options.get("row_condition")
    parser = options.get("condition_parser")
    return condition if isinstance(condition, str) and parser in {"spark", None} and "col(" not in condition else None


def _reason(name: str) -> str:
    if "regex" in name or "strftime" in name or "json" in name:
        return NO_PATTERNS
    if name.startswith("expect_table_") or name.endswith(_WHOLE):
        return WHOLE_TABLE
    return "dpdb does not know this expectation"


_WHOLE = (
    "_mean_to_be_between", "_median_to_be_between", "_sum_to_be_between", "_stdev_to_be_between", "_max_to_be_between",
    "_min_to_be_between", "_unique_value_count_to_be_between", "_proportion_of_unique_values_to_be_between",
    "_to_exist", "_to_be_of_type", "_to_be_in_type_list", "_quantile_values_to_be_between",
    "_distinct_values_to_be_in_set", "_distinct_values_to_equal_set",
    "_distinct_values_to_contain_set", "_most_common_value_to_be_in_set",
)  # fmt: skip


def _value_between(options: _Options, where: str | None) -> str:
    strictly = bool(options.get("strictly"))
    condition = between(
        column_name(options["column"]),
        options.get("min_value"),
        options.get("max_value"),
        strict_low=bool(options.get("strict_min")) or strictly,
        strict_high=bool(options.get("strict_max")) or strictly,
    )
    return checked(condition, where)


def _length_between(options: _Options, where: str | None) -> str:
    low, high = options.get("min_value"), options.get("max_value")
    return checked(between(f"length({column_name(options['column'])})", low, high), where)


def _length_equal(options: _Options, where: str | None) -> str:
    return checked(f"length({column_name(options['column'])}) = {value(options['value'])}", where)


def _like(sign: str) -> _Write:
    def write(options: _Options, where: str | None) -> str:
        return checked(f"{column_name(options['column'])} {sign} {value(options['like_pattern'])}", where)

    return write


def _pair(options: _Options) -> tuple[str, str]:
    return column_name(options["column_A"]), column_name(options["column_B"])


def _greater(options: _Options, where: str | None) -> str:
    greater, smaller = _pair(options)
    return checked(f"{greater} {'>=' if options.get('or_equal') else '>'} {smaller}", where)


def _equal(options: _Options, where: str | None) -> str:
    one, other = _pair(options)
    return checked(f"{one} = {other}", where)


def _pair_among(options: _Options, where: str | None) -> str:
    one, other = _pair(options)
    pairs = [f"({one} = {value(a)} AND {other} = {value(b)})" for a, b in options["value_pairs_set"]]
    if not pairs:
        raise ParameterError("the list of pairs is empty")
    return checked(" OR ".join(pairs), where)


def _different_in_a_row(options: _Options, where: str | None) -> str:
    names = [column_name(name) for name in texts(options["column_list"])]
    parts = [f"{one} <> {other}" for k, one in enumerate(names) for other in names[k + 1 :]]
    if not parts:
        raise ParameterError("at least two columns are needed")
    return checked(" AND ".join(parts), where)


_EXPECTATIONS: dict[str, _Write] = {
    "expect_column_values_to_not_be_null": lambda o, where: present(o["column"], where),
    "expect_column_values_to_be_null": lambda o, where: checked(f"{column_name(o['column'])} IS NULL", where),
    "expect_column_values_to_be_unique": lambda o, where: keyed([o["column"]], where),
    "expect_compound_columns_to_be_unique": lambda o, where: keyed(texts(o["column_list"]), where),
    "expect_multicolumn_values_to_be_unique": lambda o, where: keyed(texts(o["column_list"]), where),
    "expect_select_column_values_to_be_unique_within_record": _different_in_a_row,
    "expect_column_values_to_be_in_set": lambda o, where: checked(among(o["column"], sequence(o["value_set"])), where),
    "expect_column_values_to_not_be_in_set": lambda o, where: checked(
        among(o["column"], sequence(o["value_set"]), inside=False), where
    ),
    "expect_column_values_to_be_between": _value_between,
    "expect_column_value_lengths_to_be_between": _length_between,
    "expect_column_value_lengths_to_equal": _length_equal,
    "expect_column_values_to_match_like_pattern": _like("LIKE"),
    "expect_column_values_to_not_match_like_pattern": _like("NOT LIKE"),
    "expect_column_pair_values_a_to_be_greater_than_b": _greater,
    "expect_column_pair_values_A_to_be_greater_than_B": _greater,
    "expect_column_pair_values_to_be_equal": _equal,
    "expect_column_pair_values_to_be_in_set": _pair_among,
}
