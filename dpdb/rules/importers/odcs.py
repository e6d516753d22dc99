"""Open Data Contract Standard (ODCS 3): keys, required, unique, relationships, quality rules, `engine: dpdb`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from dpdb.errors import ParameterError
from dpdb.rules.found import NO_PATTERNS, WHOLE_TABLE, Found, TableRules
from dpdb.rules.importers.shapes import mapping, sequence, single, texts
from dpdb.rules.importers.soda import take_check
from dpdb.rules.texts import among, between, column_name

__all__ = ["import_contract", "is_contract"]

_Options: TypeAlias = Mapping[str, Any]


def is_contract(document: object) -> bool:
    """Return True for a data contract of the standard."""
    keys = mapping(document)
    return keys.get("kind") == "DataContract" and "apiVersion" in keys


def import_contract(document: object, found: Found) -> None:
    """Read all tables of a contract."""
    entries = [mapping(item) for item in sequence(mapping(document).get("schema"))]
    names = _physical_names(entries)
    for entry in entries:
        table = found.table(_physical(entry))
        properties = [mapping(item) for item in sequence(entry.get("properties"))]
        _primary_key(properties, table)
        for each in properties:
            _property(each, table, names)
        for quality in sequence(entry.get("quality")):
            _quality(mapping(quality), None, table)
        for relation in sequence(entry.get("relationships")):
            sources = texts(mapping(relation).get("from"))
            columns = [_target(source, names)[1] for source in sources]
            _relationship(columns, relation, table, names, f"relationship from {', '.join(sources)}")


def _physical(entry: _Options) -> str:
    """The name in the database, else the name in the contract."""
    return str(entry.get("physicalName") or entry.get("name") or "")


def _primary_key(properties: list[Mapping[str, Any]], table: TableRules) -> None:
    key = [each for each in properties if each.get("primaryKey") is True]
    key.sort(key=_position)
    columns = [_physical(each) for each in key]
    if columns:
        origin = f"primaryKey ({', '.join(columns)})"
        table.unique(columns, origin)
        for column in columns:
            table.not_null(column, origin)


def _position(entry: _Options) -> float:
    position = entry.get("primaryKeyPosition")
    return position if isinstance(position, (int, float)) else 0


def _physical_names(entries: list[Mapping[str, Any]]) -> dict[str, tuple[str, dict[str, str]]]:
    """The names in the database of tables and of their properties, by the names in the contract."""
    found: dict[str, tuple[str, dict[str, str]]] = {}
    for entry in entries:
        properties = [mapping(item) for item in sequence(entry.get("properties"))]
        columns = {str(each.get(key)): _physical(each) for each in properties for key in ("id", "name")}
        found |= {str(entry.get(key)): (_physical(entry), columns) for key in ("id", "name")}
    return found


def _target(said: str, names: Mapping[str, tuple[str, dict[str, str]]]) -> tuple[str, str]:
    """Read `customers.id` or `/schema/customers/properties/id`: table and column in the database."""
    parts = (
        [part for part in said.split("/") if part not in {"schema", "properties"}] if "/" in said else said.split(".")
    )
    if len(parts) < 2:
        return "", parts[0]
    table, columns = names.get(parts[-2], (parts[-2], {}))
    return table, columns.get(parts[-1], parts[-1])


def _relationship(
    columns: list[str], relation: object, table: TableRules, names: Mapping[str, Any], origin: str
) -> None:
    said = mapping(relation)
    targets = [_target(target, names) for target in texts(said.get("to"))]
    if str(said.get("type", "foreignKey")) != "foreignKey" or len({parent for parent, _ in targets}) != 1:
        table.leave(origin, "it is no foreign key to the columns of one table")
    else:
        table.refers(columns, targets[0][0], [column for _, column in targets], origin)


def _property(entry: _Options, table: TableRules, names: Mapping[str, Any]) -> None:
    column = _physical(entry)
    if entry.get("required") is True:
        table.not_null(column, f"{column}: required")
    if entry.get("unique") is True:
        table.unique([column], f"{column}: unique")
    _limits(mapping(entry.get("logicalTypeOptions")), column, table)
    for relation in sequence(entry.get("relationships")):
        _relationship([column], relation, table, names, f"{column}: relationship to {mapping(relation).get('to')}")
    for quality in sequence(entry.get("quality")):
        _quality(mapping(quality), column, table)


def _limits(options: _Options, column: str, table: TableRules) -> None:
    name = column_name(column) if column else ""
    below, above = (options.get(key) for key in ("exclusiveMaximum", "exclusiveMinimum"))
    ranges = [
        ("minimum, maximum", name, options.get("minimum"), options.get("maximum"), False),
        ("exclusiveMinimum, exclusiveMaximum", name, _number(above), _number(below), True),
        ("minLength, maxLength", f"length({name})", options.get("minLength"), options.get("maxLength"), False),
    ]
    for words, term, low, high, strict in ranges:
        if low is not None or high is not None:
            try:
                condition = between(term, low, high, strict_low=strict, strict_high=strict)
            except ParameterError as error:
                table.leave(f"{column}: {words}", str(error))
            else:
                table.check(condition, f"{column}: {words}")
    if "pattern" in options:
        table.leave(f"{column}: pattern", NO_PATTERNS)


def _number(value: object) -> object:
    return None if isinstance(value, bool) else value


def _quality(quality: _Options, column: str | None, table: TableRules) -> None:
    metric = str(quality.get("metric") or quality.get("rule") or "")
    origin = f"{column or 'table'}: {metric or quality.get('type', 'quality')}"
    arguments = mapping(quality.get("arguments"))
    columns = texts(arguments.get("properties")) if column is None else [column]
    try:
        if quality.get("engine"):
            _custom(quality, column, table, origin)
        elif metric in {"duplicateValues", "duplicateCount", "unique"} and columns:
            table.unique(columns, origin, note=_tolerated(quality))
        elif metric in {"nullValues", "nullCheck"} and columns:
            table.not_null(columns[0], origin, note=_tolerated(quality))
        elif metric == "missingValues" and columns:
            table.not_null(columns[0], origin, note=_tolerated(quality))
            others = [item for item in sequence(arguments.get("missingValues")) if item is not None]
            if others:
                table.check(among(columns[0], others, inside=False), origin, note=_tolerated(quality))
        elif metric == "invalidValues" and "validValues" in arguments and columns:
            table.check(among(columns[0], sequence(arguments["validValues"])), origin, note=_tolerated(quality))
        elif metric == "invalidValues":
            table.leave(origin, NO_PATTERNS)
        elif metric == "rowCount":
            table.leave(origin, WHOLE_TABLE)
        else:
            table.leave(origin, "dpdb does not know this rule")
    except ParameterError as error:
        table.leave(origin, str(error))


def _custom(quality: _Options, column: str | None, table: TableRules, origin: str) -> None:
    """Take a rule for a named engine: dpdb's own text, or a check of Soda's."""
    implementation = quality.get("implementation")
    if quality["engine"] == "dpdb":
        lines = implementation.splitlines() if isinstance(implementation, str) else texts(implementation)
        for line in lines:
            if line.strip():
                table.take(line.strip(), f"{column or 'table'}: engine dpdb")
    elif quality["engine"] == "soda" and isinstance(implementation, Mapping):
        check = mapping(implementation)
        name, _ = single(check)
        takes_table = column if "columns" not in check else None
        take_check(check if "type" in check else {name: check.get(name)}, takes_table, table, {})
    else:
        table.leave(origin, f"it is written for {quality['engine']}")


def _tolerated(quality: _Options) -> str | None:
    said = {key: item for key, item in quality.items() if key.startswith("mustBe")}
    parts = [f"{key} {item}" for key, item in said.items() if (key, item) != ("mustBe", 0)]
    return f"tolerated there: {', '.join(parts)}" if parts else None
