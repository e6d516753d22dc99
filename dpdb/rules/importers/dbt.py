"""dbt's `schema.yml`: tests of models, sources, seeds and snapshots, and the constraints of model contracts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from dpdb.errors import ParameterError
from dpdb.rules.found import ACROSS_TABLES, WHOLE_TABLE, Found, TableRules
from dpdb.rules.importers.great_expectations import expect
from dpdb.rules.importers.shapes import mapping, sequence, single, texts
from dpdb.rules.texts import among, between, checked, column_name, dependency, found_in, keyed, present, value

__all__ = ["import_schema", "is_schema"]

_Options: TypeAlias = Mapping[str, Any]
_RESOURCES = ("models", "seeds", "snapshots")
_WITHOUT_RULES = ("semantic_models", "metrics", "unit_tests", "exposures", "macros", "groups")
_BESIDE = {"config", "arguments", "name", "description", "where", "severity", "tags", "meta", "limit", "enabled"}


def is_schema(document: object) -> bool:
    """Return True for a file of dbt's that describes resources."""
    return any(isinstance(mapping(document).get(kind), list) for kind in (*_RESOURCES, "sources", *_WITHOUT_RULES))


def import_schema(document: object, found: Found) -> None:
    """Read the tests and constraints of all resources of a file."""
    schema = mapping(document)
    resources = [item for kind in _RESOURCES for item in sequence(schema.get(kind))]
    resources += [table for source in sequence(schema.get("sources")) for table in sequence(_get(source, "tables"))]
    for item in resources:
        resource = mapping(item)
        table = found.table(str(resource.get("name", "")))
        for test in _tests(resource):
            _test(test, None, table)
        for constraint in sequence(resource.get("constraints")):
            _constraint(mapping(constraint), texts(_get(constraint, "columns")), table)
        for entry in sequence(resource.get("columns")):
            column = mapping(entry)
            name = str(column.get("name", ""))
            for test in _tests(column):
                _test(test, name, table)
            for constraint in sequence(column.get("constraints")):
                _constraint(mapping(constraint), [name], table)


def _get(item: object, key: str) -> Any:
    return mapping(item).get(key)


def _tests(item: _Options) -> list[Any]:
    return sequence(item.get("data_tests")) + sequence(item.get("tests"))


def _test(test: object, column: str | None, table: TableRules) -> None:
    """Take one generic test, on a column or (None) on the table."""
    name, given = single(test)
    if "test_name" in mapping(test):  # the long form: {name: ..., test_name: unique, ...}
        given = mapping(test)
        name = str(given["test_name"])
    options = {key: item for key, item in given.items() if key not in _BESIDE}
    options |= mapping(given.get("arguments"))
    config = mapping(given.get("config"))
    where = given.get("where", config.get("where"))
    shown = str(options.get("column_name") or column or "")
    origin = f"{name}({shown})" if shown else name
    if given.get("enabled", config.get("enabled", True)) is False:
        table.leave(origin, "it is not enabled")
        return
    if column is not None:
        options.setdefault("column_name", column)
    package, _, short = name.rpartition(".")
    try:
        if package == "dbt_expectations":
            expect(short, options | {"column": options.get("column_name")}, table, where)
            return
        write = _GENERIC_TESTS.get(short)
        if write is None:
            table.leave(origin, _WHY_NOT.get(short, "dpdb does not know this test"))
            return
        table.take(write(options, where), origin)
    except KeyError as error:
        table.leave(origin, f"the option {error} is missing")
    except (ParameterError, TypeError, ValueError) as error:
        table.leave(origin, str(error))


def _accepted_values(options: _Options, where: str | None) -> str:
    values = sequence(options["values"])
    written = [item if isinstance(item, str) else value(item) for item in values]
    if options.get("quote", True) is not False:
        return checked(among(options["column_name"], map(str, values)), where)
    return checked(f"{column_name(options['column_name'])} IN ({', '.join(written)})", where)


def _not_accepted_values(options: _Options, where: str | None) -> str:
    values = sequence(options["values"])
    return checked(among(options["column_name"], values, inside=False), where)


def _range(options: _Options, where: str | None) -> str:
    strict = options.get("inclusive", True) is False
    name = column_name(options["column_name"])
    ends = [options.get("min_value"), options.get("max_value")]
    if all(not isinstance(end, str) for end in ends):
        return checked(between(name, *ends, strict_low=strict, strict_high=strict), where)
    signs = (">", "<") if strict else (">=", "<=")  # texts are SQL: another column, say
    parts = [f"{name} {sign} {end}" for sign, end in zip(signs, ends, strict=True) if end is not None]
    return checked(" AND ".join(parts), where)


def _expression(options: _Options, where: str | None) -> str:
    column = options.get("column_name")
    expression = str(options["expression"])
    return checked(expression if column is None else f"{column_name(column)} {expression}", where)


def _determined(options: _Options, where: str | None) -> str:
    """Write a functional dependency: as proposed for dbt_utils on a column, or with both sides named."""
    left = options.get("depends_on", options.get("determinants", options.get("columns")))
    right = options.get("dependent", options.get("determines", options.get("column_name")))
    if not texts(left) or not isinstance(right, str):
        raise ParameterError("a functional dependency needs depends_on, and a column that depends on it")
    return dependency(texts(left), right, where)


def _relationship(options: _Options, where: str | None) -> str:
    """Write a foreign key; conditions on the rows of the other table are none that dpdb knows."""
    if str(options.get("to_condition", "1=1")).replace(" ", "") != "1=1":
        raise ParameterError("to_condition: a condition on the rows of the other table; name a view of them instead")
    among = options.get("from_condition")
    if among is not None and str(among).replace(" ", "") != "1=1":
        where = str(among) if where is None else f"({where}) AND ({among})"
    return found_in([options["column_name"]], _model(options["to"]), [options["field"]], where)


def _model(said: object) -> str:
    """Read `ref('customers')` and `source('shop', 'customers')`; a name alone is itself."""
    quoted = re.findall(r"""["']([^"']+)["']""", str(said))
    if quoted and re.match(r"(ref|source)\s*\(", str(said).strip(" {}")):
        return str(quoted[-1])
    if not re.fullmatch(r"[\w.]+", str(said)):
        raise ParameterError(f"to: {said} names no model")
    return str(said)


def _written(options: _Options, where: str | None) -> str:
    """Write a constraint that is dpdb's own text."""
    if where is not None:
        raise ParameterError("say the condition in the constraint itself")
    return str(options["constraint"])


_GENERIC_TESTS: dict[str, Callable[[_Options, str | None], str]] = {
    "unique": lambda o, where: keyed([o["column_name"]], where),
    "not_null": lambda o, where: present(o["column_name"], where),
    "accepted_values": _accepted_values,
    "unique_combination_of_columns": lambda o, where: keyed(texts(o["combination_of_columns"]), where),
    "not_accepted_values": _not_accepted_values,
    "accepted_range": _range,
    "expression_is_true": _expression,
    "not_empty_string": lambda o, where: checked(f"trim({column_name(o['column_name'])}) <> ''", where),
    "functional_dependency": _determined,
    "denial_constraint": _written,
    "relationships": _relationship,
    "relationships_where": _relationship,
}
_WHY_NOT = {
    "equality": ACROSS_TABLES,
    "equal_rowcount": ACROSS_TABLES,
    "fewer_rows_than": ACROSS_TABLES,
    "cardinality_equality": ACROSS_TABLES,
    "recency": "it depends on the time at which it runs",
    "at_least_one": WHOLE_TABLE,
    "not_constant": WHOLE_TABLE,
    "not_null_proportion": "take NOT NULL and gate the share of rows: --rate --fail-above problematic=SHARE",
    "sequential_values": WHOLE_TABLE,
    "mutually_exclusive_ranges": "ranges that overlap are a rule over pairs: not(t1.low < t2.high & t1.high > t2.low)",
}


def _constraint(constraint: _Options, columns: list[str], table: TableRules) -> None:
    """Take a constraint of a model contract."""
    kind = str(constraint.get("type", ""))
    origin = f"constraint {kind}({', '.join(columns)})"
    try:
        if kind in {"primary_key", "unique"}:
            table.unique(columns, origin)
        if kind in {"primary_key", "not_null"}:
            for column in columns:
                table.not_null(column, origin)
        elif kind == "check":
            table.check(str(constraint.get("expression", "")), origin)
        elif kind == "foreign_key":
            _foreign_key(constraint, columns, table, origin)
        elif kind != "unique":
            table.leave(origin, "dpdb does not know this constraint")
    except ParameterError as error:
        table.leave(origin, str(error))


def _foreign_key(constraint: _Options, columns: list[str], table: TableRules, origin: str) -> None:
    """Take a foreign key: `to` and `to_columns`, or `expression: "customers (id)"`."""
    expression = re.fullmatch(
        r"\s*(?:references\s+)?([\w.]+)\s*\(([^()]*)\)\s*", str(constraint.get("expression", "")), re.I
    )
    if "to" in constraint:
        table.refers(columns, _model(constraint["to"]), texts(constraint.get("to_columns")), origin)
    elif expression is not None:
        table.refers(columns, expression[1], [name.strip() for name in expression[2].split(",")], origin)
    else:
        table.leave(origin, "it does not say which columns of which table")
