"""Open Data Contract Standard (ODCS 3): keys, required, unique, relationships, quality rules, `engine: dpdb`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

from dpdb.constraints import VIOLATIONS
from dpdb.errors import ParameterError
from dpdb.rules.found import ANY_TABLE, OF_ITS_DATABASE, Found, TableRules
from dpdb.rules.importers.dqx import take_dqx
from dpdb.rules.importers.failing_rows import counts_all_rows, no_failing_rows
from dpdb.rules.importers.fresh import age_of, fresh_lines
from dpdb.rules.importers.soda import take_check
from dpdb.rules.importers.soda_thresholds import largest_allowed
from dpdb.rules.limits import NOTHING, Allowed, Bound, Counted, Severity, allowed_rows
from dpdb.rules.options import Options, mapping, regex, sequence, texts
from dpdb.rules.texts import among, between, checked, column_name, found_in, keyed, present

_Options: TypeAlias = Mapping[str, Any]

# Without influence on which rows fail.
_ABOUT = {
    "id", "name", "description", "businessName", "tags", "customProperties", "authoritativeDefinitions", "deprecated",
}  # fmt: skip
_SILENT_OF_TABLE = _ABOUT | {
    "physicalName", "physicalType", "logicalType", "dataGranularityDescription", "properties", "quality",
    "relationships", "contextualDefinition",
}  # fmt: skip
_SILENT_OF_PROPERTY = _ABOUT | {
    "physicalName", "physicalType", "logicalType", "primaryKey", "primaryKeyPosition", "partitioned",
    "partitionKeyPosition", "classification", "encryptedName", "transformSourceObjects", "transformLogic",
    "transformDescription", "examples",
    "criticalDataElement", "quality", "relationships", "logicalTypeOptions", "required", "unique",
    "properties", "items",
}  # fmt: skip
_SILENT_OF_LIMITS = {"timezone", "defaultTimezone"}
_SILENT_OF_QUALITY = _ABOUT | {"type", "dimension", "businessImpact", "method", "scheduler", "schedule"}


_WARNINGS = ("warning", "warn", "info")
_OPERATORS = {
    "mustBe": "must be", "mustBeLessThan": "must be less than", "mustBeLessOrEqualTo": "must be less than or equal",
    "mustBeBetween": "must be between", "mustBeGreaterThan": "must be greater than",
    "mustBeGreaterOrEqualTo": "must be greater than or equal", "mustNotBe": "must not be",
}  # fmt: skip
_NO_THRESHOLD = "it has no threshold"
# The standard does not say whether values or rows are counted.
_OF_DUPLICATES = ("duplicateValues", "duplicateCount", "unique")


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
        table.leave_unknown(entry, _SILENT_OF_TABLE, "table: ")
        properties = [mapping(item) for item in sequence(entry.get("properties"))]
        _primary_key(properties, table)
        for each in properties:
            table.declare(_physical(each), each.get("physicalType") or each.get("logicalType"))
        for each in properties:
            _property(each, table, names)
        _types(properties, table, {str(_get(server, "type")) for server in sequence(mapping(document).get("servers"))})
        for quality in sequence(entry.get("quality")):
            _quality(quality, None, table)
        for relation in sequence(entry.get("relationships")):
            sources = texts(mapping(relation).get("from"))
            columns = [_target(source, names)[1] for source in sources]
            _relationship(columns, relation, table, names, f"relationship from {', '.join(sources)}")
    _service_levels(document, names, found)


def _types(properties: list[_Options], table: TableRules, engines: set[str]) -> None:
    """Take the types of a table's columns, which are those of DuckDB where the contract has servers of it alone."""
    typed = [(_physical(each), str(each["physicalType"])) for each in properties if each.get("physicalType")]
    if not typed:
        return
    origin = f"physicalType of {', '.join(name for name, _ in typed)}"
    if engines != {"duckdb"}:
        why = f"types are those of {', '.join(sorted(engines))}, not of DuckDB" if engines else OF_ITS_DATABASE
        table.leave(origin, why)
        return
    line = f"schema has ({', '.join(f'{column_name(name)} {kind}' for name, kind in typed)})"
    table.about_columns(lambda: [(line, "")], origin, Options(None), origin)


def _service_levels(document: object, names: Mapping[str, tuple[str, dict[str, str]]], found: Found) -> None:
    """Take how new rows have to be, `freshness` of a column; what else is promised is of no rows."""
    for said in sequence(mapping(document).get("slaProperties")):
        promise = Options(said, {"description", "driver", "id", "schedule", "scheduler"})
        name = str(promise.get("property"))
        if name not in _OF_TIME:
            continue
        table, column = _target(str(promise.get("element") or ANY_TABLE), names)
        rules, origin = found.table(table or ANY_TABLE), f"slaProperties: {name}"
        if name == "freshness":
            rules.count_as(partial(_fresh, promise, column), lambda: None, origin, promise, name)
        else:  # from an event to its row
            rules.leave(origin, _NO_AGE)


_OF_TIME = ("freshness", "latency")
_NO_AGE = "it is no age of the newest rows"
_PERIODS = {"d": "day", "h": "hour", "hr": "hour", "m": "minute", "min": "minute", "s": "second", "sec": "second"}


def _fresh(promise: Options, column: str) -> list[tuple[str, str]]:
    unit = str(promise.need("unit")).lower()
    return fresh_lines(column, [("fail", "<", age_of(promise.need("value"), _PERIODS.get(unit, unit)))])


def _physical(entry: _Options) -> str:
    """Return the name in the database, else the name in the contract."""
    return str(entry.get("physicalName") or entry.get("name") or "")


def _primary_key(properties: list[Mapping[str, Any]], table: TableRules) -> None:
    key = [each for each in properties if each.get("primaryKey") is True]
    key.sort(key=_position)
    columns = [_physical(each) for each in key]
    if columns:
        origin = f"primaryKey ({', '.join(columns)})"
        table.take(lambda: [keyed(columns), *map(present, columns)], origin, Options(None))


def _position(entry: _Options) -> float:
    position = entry.get("primaryKeyPosition")
    return position if isinstance(position, (int, float)) else 0


def _physical_names(entries: list[Mapping[str, Any]]) -> dict[str, tuple[str, dict[str, str]]]:
    """Return the names of tables and their properties in the database, by their names in the contract."""
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
    said = Options(relation, _ABOUT | {"from"})

    def written() -> str:
        targets = [_target(target, names) for target in texts(said.get("to"))]
        if said.get("type", "foreignKey") != "foreignKey" or len({parent for parent, _ in targets}) != 1:
            raise ParameterError("it is no foreign key to the columns of one table")
        return found_in(columns, targets[0][0], [column for _, column in targets])

    table.take(written, origin, said)


def _property(entry: _Options, table: TableRules, names: Mapping[str, Any]) -> None:
    column = _physical(entry)
    table.leave_unknown(entry, _SILENT_OF_PROPERTY, f"{column}: ")
    if entry.get("required") is True:
        table.take(lambda: present(column), f"{column}: required", Options(None))
    if entry.get("unique") is True:
        table.take(lambda: keyed([column]), f"{column}: unique", Options(None))
    for key in ("required", "unique", "primaryKey"):
        if not isinstance(entry.get(key), (bool, type(None))):
            table.leave(f"{column}: {key}", f"{entry[key]!r} is neither true nor false")
    _limits(Options(entry.get("logicalTypeOptions"), _SILENT_OF_LIMITS), column, table)
    for relation in sequence(entry.get("relationships")):
        _relationship([column], relation, table, names, f"{column}: relationship to {mapping(relation).get('to')}")
    for quality in sequence(entry.get("quality")):
        _quality(quality, column, table)
    for inner in [*sequence(entry.get("properties")), *sequence(entry.get("items"))]:
        _leave_nested(mapping(inner), column, table)


def _leave_nested(entry: _Options, path: str, table: TableRules) -> None:
    """List the rules of a field inside a column, or of the items of a list."""
    name = f"{path}.{_physical(entry) or 'items'}"
    said = [key for key in ("required", "unique") if entry.get(key) is True]
    said += [str(_get(item, "metric") or _get(item, "rule") or "quality") for item in sequence(entry.get("quality"))]
    said += [f"relationship to {_get(item, 'to')}" for item in sequence(entry.get("relationships"))]
    said += [key for key in mapping(entry.get("logicalTypeOptions")) if key not in _SILENT_OF_LIMITS]
    for rule in said:
        table.leave(f"{name}: {rule}", "it is about a field inside a column")
    for inner in [*sequence(entry.get("properties")), *sequence(entry.get("items"))]:
        _leave_nested(mapping(inner), name, table)


def _get(item: object, key: str) -> Any:
    return mapping(item).get(key)


def _limits(options: Options, column: str, table: TableRules) -> None:
    """Take the limits of a column, each a rule by itself."""
    low, high = options.get("minimum"), options.get("maximum")
    below, above = (options.get(key) for key in ("exclusiveMaximum", "exclusiveMinimum"))
    # Version 3.0 of the standard says by true that `minimum` itself is too small; 3.1 has a number of its own.
    strict = above is True and low is not None, below is True and high is not None
    no_ends = [key for key, end, is_strict in (("Minimum", above, strict[0]), ("Maximum", below, strict[1]))
               if end is True and not is_strict]  # fmt: skip
    ranges = [
        ("minimum, maximum", "{0}", low, high, strict),
        ("exclusiveMinimum, exclusiveMaximum", "{0}", _number(above), _number(below), (True, True)),
        ("minLength, maxLength", "length({0})", options.get("minLength"), options.get("maxLength"), (False, False)),
    ]
    for words, term, first, last, is_strict in ranges:
        if first is not None or last is not None:
            write = partial(_limit, column, term, first, last, is_strict)
            table.take(write, f"{column}: {words}", Options(None))
    for key in no_ends:
        table.leave(f"{column}: exclusive{key}", f"there is no {key.lower()} that it could leave out")
    if options.get("pattern") is not None:
        write = partial(_pattern, column, options.get("pattern"))
        table.take(write, f"{column}: pattern", Options(None))
    if (said := options.get("format")) is not None:
        table.take(partial(_format, column, said), f"{column}: format", Options(None))
    for name in options.unread():
        table.leave(f"{column}: {name}", "dpdb does not know this option")


def _format(column: str, said: object) -> str:
    if said not in ("email", "uuid", "ipv4"):
        raise ParameterError(f"dpdb has no format {said}")
    return checked(f"has_format({column_name(column)}, '{said}')")


def _pattern(column: str, pattern: object) -> str:
    return checked(regex(column_name(column), pattern))


def _limit(column: str, term: str, low: object, high: object, strict: tuple[bool, bool]) -> str:
    name = column_name(column)
    return checked(between(term.replace("{0}", name), low, high, strict_low=strict[0], strict_high=strict[1]))


def _number(value: object) -> object:
    return None if isinstance(value, bool) else value


def _quality(said: object, column: str | None, table: TableRules) -> None:
    """Take a quality rule of a column or (None) of the table."""
    quality = Options(said, _SILENT_OF_QUALITY)
    metric = str(quality.first("metric", "rule") or "")
    origin = f"{column or 'table'}: {metric or quality.shown('type') or 'quality'}"
    if "engine" in quality:
        _custom(quality, column, table, origin)
    elif metric == "rowCount" or (not metric and _is_row_count(quality, table.name)):
        severity: Severity = "warn" if str(quality.get("severity", "error")).lower() in _WARNINGS else "fail"
        names = quality.starting("mustBe") + quality.starting("mustNotBe")
        compared = {_OPERATORS.get(name, name): quality.get(name) for name in names}

        def limits() -> list[str]:
            quality.choice("unit", "rows")
            if not compared:
                raise ParameterError(_NO_THRESHOLD)
            return allowed_rows(compared).limits(severity)

        quality.get("query")
        table.count(limits, lambda: None, origin, quality, _name(quality) or origin)
    elif quality.get("type") == "sql" and not metric:
        table.take(
            lambda: _counted_by_query(quality, table.name),
            origin,
            quality,
            name=_name(quality),
            allowed=lambda: _allowed(quality, Counted(VIOLATIONS)),
        )
    elif metric not in _METRICS:
        is_text = quality.shown("type") == "text"
        table.leave(origin, "it is said in words" if is_text else "dpdb does not know this rule")
    else:
        counted = NOTHING if metric in _OF_DUPLICATES else Counted(VIOLATIONS, "share")
        table.take(
            lambda: _METRICS[metric](_columns(quality, column), quality),
            origin,
            quality,
            name=_name(quality),
            allowed=lambda: _allowed(quality, counted),
        )


def _is_row_count(quality: Options, table: str) -> bool:
    return quality.shown("type") == "sql" and counts_all_rows(quality.shown("query"), table)


def _counted_by_query(quality: Options, table: str) -> str:
    """Write a rule on the number that a query returns: the rows that meet its condition."""
    if not quality.starting("must"):
        raise ParameterError(_NO_THRESHOLD)
    return no_failing_rows(quality.need("query"), table, counted=True)


def _columns(quality: Options, column: str | None) -> list[str]:
    columns = texts(quality.inner("arguments").get("properties")) if column is None else [column]
    if not columns:
        raise ParameterError("it names no properties")
    return columns


def _none_missing(columns: list[str], options: Options) -> list[str]:
    others = [item for item in sequence(options.inner("arguments").get("missingValues")) if item is not None]
    written = list(map(present, columns))
    return written + [checked(among(column, others, inside=False)) for column in columns if others]


def _each_valid(columns: list[str], options: Options) -> list[str]:
    arguments = options.inner("arguments")
    if "pattern" not in arguments and "validValues" not in arguments:
        raise ParameterError("it does not say which values are valid")
    pattern, values = arguments.get("pattern"), arguments.get("validValues")
    in_list = [among(column, sequence(values)) if values is not None else "" for column in columns]
    found = [regex(column_name(column), pattern) if pattern is not None else "" for column in columns]
    return [checked(" AND ".join(filter(None, parts))) for parts in zip(in_list, found, strict=True)]


_METRICS: dict[str, Callable[[list[str], Options], str | list[str]]] = {
    **dict.fromkeys(_OF_DUPLICATES, lambda columns, _: keyed(columns)),
    **dict.fromkeys(["nullValues", "nullCheck"], lambda columns, _: list(map(present, columns))),
    "missingValues": _none_missing,
    "invalidValues": _each_valid,
}


def _custom(quality: Options, column: str | None, table: TableRules, origin: str) -> None:
    """Take a rule for a named engine: dpdb's own text, or a check of Soda's or DQX's."""
    engine, implementation = quality.get("engine"), quality.get("implementation")
    if engine == "dpdb":
        counted = Counted(VIOLATIONS, "share") if implementation else NOTHING
        lines = implementation.splitlines() if isinstance(implementation, str) else texts(implementation)
        for line in lines:
            if line.strip():
                origin = f"{column or 'table'}: engine dpdb"
                table.take(line.strip, origin, quality, name=_name(quality), allowed=lambda: _allowed(quality, counted))
    elif engine == "soda" and isinstance(implementation, Mapping):
        check = mapping(implementation)
        takes_table = column if "columns" not in check else None
        take_check(check, takes_table, table, strange=quality.unread())
    elif engine == "dqx" and isinstance(implementation, Mapping) and not quality.unread():
        take_dqx(implementation, column, table)
    else:
        table.leave(origin, f"it is written for {engine}")


def _name(quality: Options) -> str | None:
    said = quality.shown("name") or quality.shown("id")
    return None if said is None else str(said)


def _allowed(quality: Options, counted: Counted) -> Allowed:
    """Read the limit of a quality rule: a comparison, `unit`, of all rows for percentages, and `severity`."""
    names = quality.starting("mustBe") + quality.starting("mustNotBe")
    unit = str(quality.get("unit", "rows"))
    words = quality.notes(*names, *(["unit"] if "unit" in quality else []))
    severity = str(quality.get("severity", "error")).lower()
    amount = largest_allowed(
        {_OPERATORS.get(name, name): quality.shown(name) for name in names}, percent=unit == "percent"
    )
    bound = Bound("warn" if severity in _WARNINGS else "fail", amount if unit in {"rows", "percent"} else None)
    return Allowed((bound,), counted, unit == "percent", words)
