"""Soda's checks as constraints: duplicate, missing and invalid values, and rows that meet a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpdb.errors import ParameterError
from dpdb.rules.found import ACROSS_TABLES, NO_PATTERNS
from dpdb.rules.importers.shapes import sequence
from dpdb.rules.options import Options
from dpdb.rules.texts import among, between, both, checked, column_name, keyed, keyed_with_nulls, one_line, present

__all__ = ["WRITERS", "failing", "several_duplicates"]

_PATTERNS = ("missing regex", "missing format", "valid format", "valid regex", "invalid format", "invalid regex")


def several_duplicates(columns: list[str], where: str | None) -> list[str]:
    """Write a key over columns that Soda compares as texts, NULL being one of them."""
    return keyed_with_nulls(columns, where)


def _duplicate(columns: list[str], options: Options, where: str | None) -> str:
    others = _missing_values(options) if len(columns) == 1 else []
    return keyed(columns, both(among(columns[0], others, inside=False) if others else None, where))


def _missing(columns: list[str], options: Options, where: str | None) -> list[str]:
    """Write that no value is missing: neither NULL nor one of the values that the check names as missing."""
    column, others = _one(columns), _missing_values(options)
    written = [present(column, where)]
    return [*written, checked(among(column, others, inside=False), where)] if others else written


def _invalid(columns: list[str], options: Options, where: str | None) -> str:
    """Write the condition of a valid value; a missing value is not invalid in Soda, nor here."""
    column, others = _one(columns), _missing_values(options)
    condition = _valid(column, options)
    if others:
        condition = f"{among(column, others)} OR ({condition})"
    if options.flag("include null"):
        condition = f"{column_name(column)} IS NOT NULL AND ({condition})"
    return checked(condition, where)


def _one(columns: list[str]) -> str:
    if len(columns) != 1:
        raise ParameterError("it is over several columns")
    return columns[0]


def _missing_values(options: Options) -> list[Any]:
    for name in _PATTERNS:
        if name in options:
            raise ParameterError(f"{name}: {NO_PATTERNS}")
    return [item for item in sequence(options.get("missing values")) if item is not None]


def _valid(column: str, options: Options) -> str:
    if "valid reference data" in options:
        raise ParameterError(ACROSS_TABLES)
    name = column_name(column)
    length = f"length({name})"
    parts = []
    if "valid values" in options:
        values = sequence(options.get("valid values"))
        parts.append(among(column, values) if values else f"{name} IS NULL")
    if "invalid values" in options:
        values = sequence(options.get("invalid values"))
        if None in values:
            raise ParameterError("null among its invalid values takes all others away there")
        parts.append(among(column, values, inside=False))
    if "valid length" in options:
        parts.append(between(length, options.get("valid length"), options.get("valid length")))
    for term, low, high in ((name, "valid min", "valid max"), (length, "valid min length", "valid max length")):
        if low in options or high in options:
            parts.append(between(term, options.get(low), options.get(high)))
    if not parts:
        raise ParameterError("it does not say which values are valid")
    return " AND ".join(parts)


def failing(name: str, options: Options, where: str | None) -> str:
    """Write a condition that rows fail by meeting it."""
    return checked(f"NOT ({one_line(options.need(name))})", where)


WRITERS: dict[str, Callable[[list[str], Options, str | None], str | list[str]]] = {
    "duplicate": _duplicate,
    "missing": _missing,
    "invalid": _invalid,
}
