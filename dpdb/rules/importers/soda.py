"""Soda: SodaCL's `checks for TABLE` (version 3) and data contracts (version 4)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from dpdb.errors import ParameterError
from dpdb.rules.found import ACROSS_TABLES, NO_PATTERNS, WHOLE_TABLE, Found, TableRules
from dpdb.rules.importers.shapes import mapping, sequence, single, texts
from dpdb.rules.texts import among, between, column_name, one_line

__all__ = ["import_soda", "is_soda", "take_check"]

_Options: TypeAlias = Mapping[str, Any]
_METRIC = re.compile(
    r"(?P<metric>duplicate|missing|invalid)_(?P<unit>count|percent)\s*\((?P<columns>[^)]*)\)\s*(?P<rest>.*)", re.DOTALL
)
_EXISTS = re.compile(r"values in \((?P<columns>[^()]+)\) must exist in (?P<parent>[\w.]+) \((?P<targets>[^()]+)\)")
_PATTERNS = ("valid format", "valid regex", "invalid format", "invalid regex", "missing regex", "missing format")
_NONE = re.compile(r"=?\s*0\s*%?")


def is_soda(document: object) -> bool:
    """Return True for checks of SodaCL or a contract of Soda's."""
    keys = mapping(document)
    return any(key.startswith("checks for ") for key in keys) or (
        isinstance(keys.get("dataset"), str) and ("columns" in keys or "checks" in keys)
    )


def import_soda(document: object, found: Found) -> None:
    """Read all checks of a file."""
    file = mapping(document)
    for key, checks in file.items():
        if key.startswith("checks for "):
            table = found.table(key.removeprefix("checks for ").split("[")[0].strip())
            for check in sequence(checks):
                _sodacl(*single(check), table)
    if isinstance(file.get("dataset"), str):
        _contract(file, found.table(str(file["dataset"]).rsplit("/", 1)[-1]))


# -- SodaCL -------------------------------------------------------------------------------------------------------


def _sodacl(check: str, options: _Options, table: TableRules) -> None:
    match = _METRIC.fullmatch(check.strip())
    where = options.get("filter")
    if match is not None:
        columns = [name.strip().strip('"') for name in match["columns"].split(",")]
        note = None if _NONE.fullmatch(match["rest"].strip()) else f"tolerated there: {match['rest'].strip()}"
        _metric(match["metric"], _Check(columns, _spaced(options), check, where, note), table)
    elif check.startswith("values in"):
        _reference(check, where, table)
    elif check == "failed rows" and "fail condition" in options:
        _failing(str(options["fail condition"]), table, check, where)
    else:
        known = ("row_count", "schema", "freshness", "avg", "min", "max", "sum", "stddev", "change ", "anomaly")
        table.leave(check, WHOLE_TABLE if check.startswith(known) else "dpdb does not know this check")


def _reference(check: str, where: str | None, table: TableRules) -> None:
    """Take `values in (a, b) must exist in customers (x, y)`."""
    said = _EXISTS.fullmatch(check.strip())
    if said is None:
        table.leave(check, ACROSS_TABLES)
        return
    columns, targets = ([name.strip().strip('"') for name in said[key].split(",")] for key in ("columns", "targets"))
    table.refers(columns, said["parent"], targets, check, where)


# -- contracts ----------------------------------------------------------------------------------------------------


def _contract(file: _Options, table: TableRules) -> None:
    for entry in sequence(file.get("columns")):
        column = mapping(entry)
        for check in sequence(column.get("checks")):
            take_check(check, str(column.get("name", "")), table, column)
    for check in sequence(file.get("checks")):
        take_check(check, None, table, {})


def take_check(check: object, column: str | None, table: TableRules, beside: _Options) -> None:
    """Take a check of a contract: `missing:`, `{type: missing}` or `{type: no_missing}`, on a column or the table."""
    given = mapping(check)
    name, options = (str(given["type"]), given) if "type" in given else single(check)
    options = {**beside, **mapping(options)}
    kind = name.removeprefix("no_").removeprefix("multiple_column_")
    kind = re.sub(r"(_values|_count|_percent|s)$", "", kind)
    columns = texts(options.get("columns")) if column is None else [column]
    columns = columns or texts(options.get("column"))
    origin = f"{name}({', '.join(columns)})" if columns else name
    where = options.get("filter", options.get("filter_sql"))
    if kind in {"duplicate", "missing", "invalid"} and columns:
        _metric(kind, _Check(columns, _spaced(options), origin, where, _threshold(options)), table)
    elif kind in {"failed_row", "failed_rows_expression"} and "expression" in options:
        _failing(str(options["expression"]), table, origin, where)
    elif "reference" in kind or "valid_reference_data" in options:
        table.leave(origin, ACROSS_TABLES)
    else:
        known = kind in {"schema", "row", "freshness", "avg", "aggregate", "metric", "sql_metric", "min", "max", "sum"}
        table.leave(origin, WHOLE_TABLE if known else "dpdb does not know this check")


def _threshold(options: _Options) -> str | None:
    threshold = mapping(options.get("threshold"))
    said = {key: item for key, item in {**options, **threshold}.items() if key.startswith("must_be")}
    parts = [f"{key} {item}" for key, item in said.items() if (key, item) != ("must_be", 0)]
    return f"tolerated there: {', '.join(parts)}" if parts else None


def _spaced(options: _Options) -> dict[str, Any]:
    """Contracts write `valid_values`, SodaCL `valid values`."""
    return {key.replace("_", " "): item for key, item in options.items()}


# -- the three metrics ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Check:
    """A check by one of the three metrics about rows; the options have SodaCL's names."""

    columns: list[str]
    options: _Options
    origin: str
    where: str | None
    note: str | None


def _metric(metric: str, check: _Check, table: TableRules) -> None:
    patterns = [key for key in _PATTERNS if key in check.options]
    try:
        if metric == "duplicate":
            table.unique(check.columns, check.origin, where=check.where, note=check.note)
        elif "valid reference data" in check.options:
            table.leave(check.origin, ACROSS_TABLES)
        elif patterns:
            table.leave(check.origin, f"{patterns[0]}: {NO_PATTERNS}")
        elif metric == "missing":
            _missing(check, table)
        else:
            table.check(_valid(check.columns[0], check.options), check.origin, where=check.where, note=check.note)
    except (ParameterError, TypeError) as error:
        table.leave(check.origin, str(error))


def _missing(check: _Check, table: TableRules) -> None:
    """NULL counts as missing there, and so do further values that are named."""
    column, others = check.columns[0], sequence(check.options.get("missing values"))
    table.not_null(column, check.origin, where=check.where, note=check.note)
    if others:
        condition = among(column, others, inside=False)
        table.check(condition, check.origin, where=check.where, note=check.note)


def _valid(column: str, options: _Options) -> str:
    """Write what makes a value valid; a value that is missing is not invalid there, nor here."""
    name = column_name(column)
    length = f"length({name})"
    parts = []
    if "valid values" in options:
        parts.append(among(column, sequence(options["valid values"])))
    if "invalid values" in options:
        parts.append(among(column, sequence(options["invalid values"]), inside=False))
    if "valid length" in options:
        parts.append(between(length, options["valid length"], options["valid length"]))
    for term, low, high in ((name, "valid min", "valid max"), (length, "valid min length", "valid max length")):
        if low in options or high in options:
            parts.append(between(term, options.get(low), options.get(high)))
    if not parts:
        raise ParameterError("it does not say which values are valid")
    return " AND ".join(parts)


def _failing(condition: str, table: TableRules, origin: str, where: str | None) -> None:
    """Take a condition that rows fail by meeting it."""
    try:
        table.check(f"NOT ({one_line(condition)})", origin, where=where)
    except ParameterError as error:
        table.leave(origin, str(error))
