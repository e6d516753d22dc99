"""dbt's `schema.yml`: tests of models, sources, seeds and snapshots, and the constraints of model contracts.

Tests go by their names. How many failures they allow is said by `severity`, `error_if`, `warn_if`, `fail_calc` and
`limit`.

The failures of a test are the rows of its query. Those of `unique` are values that occur more than once, those of
`accepted_values` distinct values, those of most others rows of the table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dpdb.constraints import DUPLICATE_VALUES, VIOLATIONS
from dpdb.errors import ParameterError
from dpdb.names import LONGEST_NAME
from dpdb.rules.found import ACROSS_TABLES, ANY_TABLE, OF_ITS_DATABASE, WHOLE_TABLE, Found, TableRules
from dpdb.rules.importers.dbt_expectations import (
    RECENT,
    ROW_COUNTS,
    Write,
    about_columns,
    between_values,
    column_of,
    columns_of,
    counts,
    expectation,
    limits_of_rows,
    row_condition,
    severity_of_one,
    why_no_rule,
)
from dpdb.rules.importers.fresh import FUTURE, fresh_lines, periods
from dpdb.rules.limits import (
    ASKS_FOR_DIRT,
    EVERY,
    NOTHING,
    OPPOSITE,
    Allowed,
    Bound,
    Counted,
    Severity,
    largest_met,
    number,
    of_selected,
)
from dpdb.rules.options import Options, identifier, is_always, listed, mapping, sequence, single, texts
from dpdb.rules.texts import (
    both,
    checked,
    column_name,
    dependency,
    found_in,
    keyed,
    keyed_with_nulls,
    missing,
    present,
)  # fmt: skip

_RESOURCES = ("models", "seeds", "snapshots")
_WITHOUT_RULES = ("semantic_models", "metrics", "unit_tests", "exposures", "macros", "groups")
# Without influence on which rows fail.
SILENT = {
    "name", "test_name", "description", "tags", "meta", "docs", "store_failures", "store_failures_as", "alias",
    "schema", "database", "group",
}  # fmt: skip
_SILENT_OF_RESOURCE = {
    "name", "description", "docs", "meta", "tags", "config", "columns", "constraints", "data_tests", "tests", "access",
    "group", "versions", "latest_version", "deprecation_date", "identifier", "database", "schema", "loader",
    "loaded_at_field", "loaded_at_query", "freshness", "quoting", "external", "time_spine", "primary_entity",
    "agg_time_dimension",
}  # fmt: skip
_SILENT_OF_COLUMN = {
    "name", "description", "data_type", "meta", "tags", "quote", "policy_tags", "config", "docs", "constraints",
    "data_tests", "tests", "granularity",
}  # fmt: skip
_SILENT_OF_CONSTRAINT = {"name", "warn_unenforced", "warn_unsupported"}


@dataclass(frozen=True)
class Project:
    """What a project says of all its tests: their settings, and the names of generic tests that it defines itself."""

    defaults: Mapping[str, Any] = field(default_factory=dict)
    own_tests: frozenset[str] = frozenset()


def is_schema(document: object) -> bool:
    """Return True for a file of dbt's that describes resources or tests."""
    kinds = (*_RESOURCES, "sources", *_WITHOUT_RULES, "data_tests", "tests")
    return any(isinstance(mapping(document).get(kind), list) for kind in kinds)


def import_schema(document: object, found: Found, project: Project | None = None) -> None:
    """Read the tests and constraints of all resources of a file."""
    schema, project = mapping(document), project or Project()
    for said in sequence(schema.get("unit_tests")):
        table = found.table(str(_get(said, "model") or ANY_TABLE))
        table.leave(f"unit test {_get(said, 'name')}", "it tests the SQL of the model, not its rows")
    resources: list[tuple[object, str | None]] = [
        (item, None) for kind in _RESOURCES for item in sequence(schema.get(kind))
    ]
    resources += [
        (table, str(_get(source, "name")))
        for source in sequence(schema.get("sources"))
        for table in sequence(_get(source, "tables"))
    ]
    _freshness_of_sources(schema, found)
    for item, source in resources:
        resource = mapping(item)
        table = found.table(str(resource.get("name", "")))
        table.leave_unknown(resource, _SILENT_OF_RESOURCE, "")
        for entry in sequence(resource.get("columns")):
            table.declare(str(_get(entry, "name") or ""), _get(entry, "data_type"))
        _leave_types(resource, table)
        for test in tests_of(resource):
            _test(test, None, table, source, project)
        for constraint in sequence(resource.get("constraints")):
            _constraint(constraint, [], table)
        for entry in sequence(resource.get("columns")):
            column = mapping(entry)
            name = str(column.get("name", ""))
            table.leave_unknown(column, _SILENT_OF_COLUMN, f"{name}: ")
            for test in tests_of(column):
                _test(test, name, table, source, project)
            for constraint in sequence(column.get("constraints")):
                _constraint(constraint, [name], table)
        for version in sequence(resource.get("versions")):
            _leave_of_version(mapping(version), table)


def _leave_types(resource: Mapping[str, Any], table: TableRules) -> None:
    """List the types that an enforced contract asks for."""
    typed = [str(_get(entry, "name")) for entry in sequence(resource.get("columns")) if _get(entry, "data_type")]
    said = [mapping(_get(place, "contract")) for place in (resource, resource.get("config"))]
    if typed and any(each.get("enforced") is True for each in said):
        table.leave(f"data_type of {', '.join(typed)}", OF_ITS_DATABASE)


def _freshness_of_sources(schema: Mapping[str, Any], found: Found) -> None:
    for source in sequence(schema.get("sources")):
        for each in sequence(_get(source, "tables")):
            _freshness(mapping(source), mapping(each), found.table(str(_get(each, "name"))))


def _freshness(source: Mapping[str, Any], item: Mapping[str, Any], table: TableRules) -> None:
    """Take how new the rows of a source have to be: the table's own words, else those of the source."""
    said: dict[str, Any] = {}
    for place in (source, mapping(source.get("config")), item, mapping(item.get("config"))):
        said |= {key: place[key] for key in ("freshness", "loaded_at_field", "loaded_at_query") if key in place}
    if not isinstance(said.get("freshness"), Mapping):
        return
    options = Options(said["freshness"])
    ages = {name: options.get(name) for name in ("warn_after", "error_after")}
    if any(ages.values()):
        table.count_as(
            lambda: fresh_lines(identifier(said.get("loaded_at_field") or said.get("loaded_at_query")), periods(ages)),
            lambda: options.get("filter"),
            "source freshness",
            options,
            "freshness",
        )


def _leave_of_version(version: Mapping[str, Any], table: TableRules) -> None:
    """List the tests and constraints that one version of a model has beside those of all."""
    columns = [mapping(entry) for entry in sequence(version.get("columns"))]
    for place in [version, *columns]:
        said = [single(test)[0] or str(_get(test, "test_name")) for test in tests_of(place)]
        said += [f"constraint {_get(item, 'type')}" for item in sequence(place.get("constraints"))]
        of_column = f"({place.get('name')})" if place is not version else ""
        for name in said:
            reason = "it is of one version of the model: import the file of that version by itself"
            table.leave(f"v{version.get('v')}: {name}{of_column}", reason)


def _get(item: object, key: str) -> Any:
    return mapping(item).get(key)


def tests_of(item: Mapping[str, Any]) -> list[Any]:
    """Return the tests that stand beside a resource or a column, or in a file."""
    return sequence(item.get("data_tests")) + sequence(item.get("tests"))


def _test(test: object, column: str | None, table: TableRules, source: str | None, project: Project) -> None:
    """Take one generic test, on a column or (None) on the table, which is a model or belongs to a source."""
    name, said, strange = single(test)
    if "test_name" in mapping(test):  # the long form: {name: ..., test_name: unique, ...}
        said, strange = test, []
        name = str(mapping(test)["test_name"])
    flat = _flat(said, column)
    options = Options(flat, SILENT, strange)
    config = options.inner("config", SILENT, project.defaults)
    shown = str(options.shown("column_name") or "")
    origin = f"{name}({shown})" if shown else name
    write, why = (None, _OWN) if name in project.own_tests else _writer(name)
    called = test_name(name, table.name, source, mapping(flat))

    def allowed() -> Allowed:
        return allowed_failures(name, options, config)

    def among() -> str | None:
        if not options.flag("enabled", True) or not config.flag("enabled", True):
            raise ParameterError("it is not enabled")
        said = [options.get("where"), config.get("where")]
        return both(*(where for where in said if where is not None and not is_always(where)))

    if name in ROW_COUNTS:
        table.count(
            lambda: limits_of_rows(name, options, allowed()),
            lambda: row_condition(options, among()),
            origin,
            options,
            called,
        )
    elif (counted := counts(name)) is not None:
        table.count_as(
            lambda: counted(options, severity_of_one(allowed())),
            lambda: row_condition(options, among()),
            origin,
            options,
            called,
            note=FUTURE if name == RECENT[1] else None,
        )
    elif (of_columns := about_columns(name)) is not None:
        table.about_columns(
            lambda: of_columns(options, severity_of_one(allowed()), among()),
            origin,
            options,
            called,
        )
    elif write is None:
        table.leave(origin, why)
    else:
        table.take(lambda: write(options, among()), origin, options, name=called, allowed=allowed)


def _flat(said: object, column: str | None) -> object:
    """Return the options of a test with its arguments and its column among them."""
    if said is not None and not isinstance(said, Mapping):
        return said
    given = dict(mapping(said))
    if isinstance(given.get("arguments"), Mapping):
        given |= mapping(given.pop("arguments"))
    if column is not None:
        given.setdefault("column_name", column)
    return given


def _writer(name: str) -> tuple[Write | None, str]:
    """Return the function that writes a test, or the reason why there is none."""
    package, _, short = name.rpartition(".")
    if package == "dbt_expectations":
        return expectation(short), why_no_rule(short)
    return _GENERIC_TESTS.get(short), _WHY_NOT.get(short, "dpdb does not know this test")


def _accepted_values(sign: str) -> Write:
    def write(options: Options, where: str | None) -> str:
        name, values = column_of(options), listed(options.need("values"), options.flag("quote", True))
        return checked(f"{name} {sign} ({values})", where)

    return write


def _range(options: Options, where: str | None) -> str:
    return between_values(column_of(options), options, where, strict=not options.flag("inclusive", True))


def _expression(options: Options, where: str | None) -> str:
    column, expression = options.get("column_name"), str(options.need("expression"))
    return checked(expression if column is None else f"{column_name(column)} {expression}", where)


def _not_empty(options: Options, where: str | None) -> str:
    name = column_of(options)
    return checked(f"trim({name}) <> ''" if options.flag("trim_whitespace", True) else f"{name} <> ''", where)


def _combination(options: Options, where: str | None) -> list[str]:
    """Write a key of which NULL is a value: the test groups by its columns."""
    return keyed_with_nulls(columns_of(options, texts(options.need("combination_of_columns"))), where)


def _ranges(options: Options, where: str | None) -> list[str]:
    """Write that each range is valid and no two ranges of a partition overlap; NULL is a partition, too."""
    low, high = (column_name(identifier(options.need(f"{end}_bound_column"))) for end in ("lower", "upper"))
    gaps = options.choice("gaps", "allowed", "required", "not_allowed")
    if gaps == "not_allowed":
        raise ParameterError("gaps: that a next range follows is no rule over two rows")
    sign = "<=" if options.flag("zero_length_range_allowed") else "<"
    less, more = ("<=", ">=") if gaps == "required" else ("<", ">")
    apart = f"t1.{low} {less} t2.{high} & t1.{high} {more} t2.{low}"
    written = [checked(f"{low} IS NOT NULL AND {high} IS NOT NULL AND {low} {sign} {high}", where)]
    said = options.get("partition_by")
    if said is None:
        return [*written, f"not({apart}){_where(where)}"]
    partition = identifier(said)
    name = column_name(partition)
    alone = both(missing([partition], every=True), where)
    return [*written, f"not(t1.{name} = t2.{name} & {apart}){_where(where)}", f"not({apart}){_where(alone)}"]


def _where(where: str | None) -> str:
    return "" if where is None else f" WHERE {where}"


def _determined(options: Options, where: str | None) -> str:
    """Write a functional dependency: as proposed for dbt_utils on a column, or with both sides named."""
    left = options.first("depends_on", "determinants", "columns")
    right = options.first("dependent", "determines", "column_name")
    if not texts(left) or not isinstance(right, str):
        raise ParameterError("a functional dependency needs depends_on, and a column that depends on it")
    return dependency(texts(left), right, where)


def _relationship(options: Options, where: str | None) -> str:
    """Write a foreign key; dpdb has no conditions on the rows of the other table."""
    if not is_always(options.get("to_condition", "1=1")):
        raise ParameterError("to_condition: a condition on the rows of the other table; name a view of them instead")
    among = options.get("from_condition", "1=1")
    where = where if is_always(among) else both(among, where)
    return found_in([options.need("column_name")], _model(options.need("to")), [options.need("field")], where)


def _model(said: object) -> str:
    """Read `ref('customers')` or `source('shop', 'customers')`; return a plain name unchanged."""
    quoted = re.findall(r"""["']([^"']+)["']""", str(said))
    if quoted and re.match(r"(ref|source)\s*\(", str(said).strip(" {}")):
        return str(quoted[-1])
    if not re.fullmatch(r"[\w.]+", str(said)):
        raise ParameterError(f"to: {said} names no model")
    return str(said)


def _written(options: Options, where: str | None) -> str:
    """Write a constraint that is dpdb's own text."""
    if where is not None:
        raise ParameterError("say the condition in the constraint itself")
    return str(options.need("constraint"))


_GENERIC_TESTS: dict[str, Write] = {
    "unique": lambda o, where: keyed([o.need("column_name")], where),
    "not_null": lambda o, where: present(o.need("column_name"), where),
    "accepted_values": _accepted_values("IN"),
    "unique_combination_of_columns": _combination,
    "not_accepted_values": _accepted_values("NOT IN"),
    "accepted_range": _range,
    "expression_is_true": _expression,
    "not_empty_string": _not_empty,
    "functional_dependency": _determined,
    "denial_constraint": _written,
    "relationships": _relationship,
    "relationships_where": _relationship,
    "mutually_exclusive_ranges": _ranges,
    "not_null_proportion": lambda o, where: present(o.need("column_name"), where),
}
_OWN = "the project defines this test itself"
_WHY_NOT = {
    **dict.fromkeys(("equality", "equal_rowcount", "fewer_rows_than", "cardinality_equality"), ACROSS_TABLES),
    **dict.fromkeys(("sequential_values",), WHOLE_TABLE),
}


def _constraint(said: object, columns: list[str], table: TableRules) -> None:
    """Take a constraint of a model contract."""
    constraint = Options(said, _SILENT_OF_CONSTRAINT)
    kind = str(constraint.get("type", ""))
    columns = columns or texts(constraint.get("columns"))
    origin = f"constraint {kind}({', '.join(columns)})"
    write = _CONSTRAINTS.get(kind)
    if write is None:
        table.leave(origin, "dpdb does not know this constraint")
    else:
        table.take(lambda: write(constraint, columns), origin, constraint)


def _foreign_key(constraint: Options, columns: list[str]) -> str:
    """Write a foreign key: `to` and `to_columns`, or `expression: "customers (id)"`."""
    said = r"\s*(?:references\s+)?([\w.]+)\s*\(([^()]*)\)\s*"
    if "to" in constraint:
        return found_in(columns, _model(constraint.need("to")), texts(constraint.get("to_columns")))
    expression = re.fullmatch(said, str(constraint.get("expression", "")), re.I)
    if expression is None:
        raise ParameterError("it does not say which columns of which table")
    return found_in(columns, expression[1], [name.strip() for name in expression[2].split(",")])


_CONSTRAINTS: dict[str, Callable[[Options, list[str]], str | list[str]]] = {
    "primary_key": lambda _, columns: [keyed(columns), *map(present, columns)],
    "unique": lambda _, columns: keyed(columns),
    "not_null": lambda _, columns: list(map(present, columns)),
    "check": lambda constraint, _: checked(constraint.need("expression")),
    "foreign_key": _foreign_key,
}


_ROWS = Counted(VIOLATIONS)
_VALUES = Counted(DUPLICATE_VALUES)
_FAILURES = {
    "singular": _ROWS,
    "unique": _VALUES,
    "not_null": _ROWS,
    "relationships": _ROWS,
    "dbt_utils.accepted_range": _ROWS,
    "dbt_utils.expression_is_true": _ROWS,
    "dbt_utils.not_empty_string": _ROWS,
    "dbt_utils.relationships_where": _ROWS,
    "dbt_expectations.expect_column_values_to_be_unique": _VALUES,
    "dbt_expectations.expect_compound_columns_to_be_unique": _VALUES,
}
_CONDITION = re.compile(r"\s*(?P<sign>[<>]=?|=|!=|<>)\s*(?P<number>\d+)\s*")
_OF_MOST = {"=": ">=", "!=": "<", "<>": "<"}
SETTINGS = ("severity", "error_if", "warn_if", "fail_calc", "limit")
_NOT_IN_NAMES = {
    *SETTINGS, "alias", "arguments", "config", "database", "description", "docs", "enabled", "group", "meta", "model",
    "name", "schema", "store_failures", "store_failures_as", "tags", "test_name", "where",
}  # fmt: skip


def allowed_failures(test: str, options: Options, config: Options) -> Allowed:
    """Read the settings of a test: it warns by `warn_if`, and fails by `error_if` unless its severity is `warn`."""
    words = ", ".join(filter(None, [options.notes(*SETTINGS), config.notes(*SETTINGS)]))
    said = {name: config.shown(name) if options.shown(name) is None else options.shown(name) for name in SETTINGS}
    names: dict[Severity, str] = {"warn": "warn_if", "fail": "error_if"}
    severity = str(said["severity"] or "error").lower()
    if severity not in {"warn", "error"}:  # such as a template, which only dbt fills in
        raise ParameterError(f"severity {said['severity']} is neither warn nor error")
    if severity == "warn":
        del names["fail"]
    bounds = [Bound(severity, _largest(name, said[name], said["limit"])) for severity, name in names.items()]
    if str(said["fail_calc"] or "count(*)").replace(" ", "").lower() != "count(*)":
        raise ParameterError(f"fail_calc {said['fail_calc']}: that some rows fail does not say that the test does")
    if test == "dbt_utils.not_null_proportion":
        return _proportion(options, bounds, words, among=bool(options.shown("where") or config.shown("where")))
    return Allowed(tuple(bounds), _counted(test), words=words)


def _proportion(options: Options, bounds: list[Bound], words: str, *, among: bool) -> Allowed:
    """Return what is left of the smallest share of rows that are not NULL; the test has one failure, or none."""
    words = ", ".join(filter(None, [options.notes("at_least", "at_most"), words]))
    least, most = number(options.shown("at_least")), number(options.shown("at_most"))
    if least is None or not 0 <= least <= 1:
        raise ParameterError("at_least is no share from 0 to 1")
    if most is not None and most < 1:
        raise ParameterError(f"at_most: {ASKS_FOR_DIRT}")
    bounds = [replace(bound, amount=1 - least if bound.amount == 0 else EVERY) for bound in bounds]
    return Allowed(tuple(bounds), Counted(VIOLATIONS, of_selected("share", among)), percent=True, words=words)


def _counted(test: str) -> Counted:
    if test.startswith("dbt_expectations."):
        return _FAILURES.get(test, _ROWS)
    return _FAILURES.get(test, NOTHING)


def _largest(name: str, condition: object, limit: object) -> Fraction:
    """Return the largest number of failures at which a condition is not met, of which at most `limit` are counted."""
    said = _CONDITION.fullmatch(str(condition or "!= 0"))
    if said is None:
        raise ParameterError(f"dpdb does not know {name} {condition}")
    sign, most = said["sign"], number(limit)
    if most is not None and int(said["number"]) >= most:  # more are counted as so many
        sign = _OF_MOST.get(sign, sign)
    try:
        largest = largest_met(OPPOSITE[sign], said["number"])
    except ParameterError as error:
        raise ParameterError(f"{name} {condition}: {error}") from None
    return EVERY if most is not None and largest >= most else largest


def test_name(test: str, table: str, source: str | None, given: Mapping[str, Any]) -> str:
    """Return the name that dbt gives a generic test, or the one that it is given.

    dbt joins the test, the model and the arguments in the order of their names; a source's test begins with `source_`.
    Names that are too long end in their MD5, as the names of dbt's files do.
    """
    if isinstance(given.get("name"), str):
        return str(given["name"])
    package, _, short = test.rpartition(".")
    kind = "_".join(filter(None, [package, "" if source is None else "source", short]))
    identifier = f"{kind}_{table}" if source is None else f"{kind}_{source}_{table}"
    arguments = [given[name] for name in sorted(given) if name not in _NOT_IN_NAMES]
    parts = [part for said in arguments for part in _parts(said)]
    name = f"{identifier}_{'__'.join(re.sub('[^0-9a-zA-Z_]+', '_', str(part)) for part in parts)}"
    if len(name) <= LONGEST_NAME:
        return name
    return f"{identifier[:30]}_{hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()}"


def _parts(said: object) -> list[object]:
    if isinstance(said, Mapping):
        return list(said.values())
    return list(said) if isinstance(said, (list, tuple)) else [said]
