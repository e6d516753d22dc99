"""Soda's checks as constraints: SodaCL's `checks for TABLE` (version 3) and data contracts (version 4).

They are about duplicate, missing and invalid values, and rows that meet a condition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeAlias

from dpdb.errors import ParameterError
from dpdb.rules.found import ACROSS_TABLES, OF_ITS_DATABASE, WHOLE_TABLE, Found, TableRules
from dpdb.rules.importers.ends import end_line
from dpdb.rules.importers.failing_rows import no_failing_rows
from dpdb.rules.importers.fresh import age_of, fresh_lines, met, not_met
from dpdb.rules.importers.soda_thresholds import (
    limits_of_contract_rows,
    limits_of_rows,
    spaced,
    threshold_of_contract,
    threshold_of_metric,
)
from dpdb.rules.limits import OPPOSITE, Severity
from dpdb.rules.options import Options, mapping, regex, sequence, single, texts
from dpdb.rules.texts import (
    among,
    between,
    both,
    checked,
    column_name,
    found_in,
    keyed,
    keyed_with_nulls,
    one_line,
    present,
)

_Write: TypeAlias = Callable[[str | None], str | list[str]]

_METRIC = re.compile(
    r"(?P<metric>duplicate|missing|invalid)_(?P<unit>count|percent)\s*\((?P<columns>[^)]*)\)\s*(?P<rest>.*)", re.DOTALL
)
_FRESH = re.compile(
    r"freshness\s*(?:\((?P<column>[^(),]+)\)|using\s+(?P<using>[\w\"]+))\s*(?P<rest>[<>].*)?", re.DOTALL
)
_END = re.compile(r"(?P<end>min|max)(?P<length>_length)?\s*\((?P<column>[^(),]+)\)\s*(?P<rest>.*)", re.DOTALL)
_COMPARED_END = re.compile(r"(?P<sign>[<>]=?)\s*(?P<number>-?[0-9]+(?:\.[0-9]+)?)")
_DISTINCT = re.compile(r"distinct_count\s*\((?P<column>[^(),]+)\)\s*(?P<rest>.*)", re.DOTALL)
_EXISTS = re.compile(
    r"values in (?P<left>\()?(?P<columns>(?(left)[^()]+|[\w\"]+))(?(left)\)) must exist in (?P<parent>[\w.]+) "
    r"(?P<right>\()?(?P<targets>(?(right)[^()]+|[\w\"]+))(?(right)\))"
)

# Without influence on which rows fail; names of options have blanks here (contracts write `_`).
_SILENT = {
    "name", "title", "identity", "qualifier", "attributes", "description", "samples limit", "samples columns",
    "collect failed rows", "store failed rows", "type",
}  # fmt: skip
_SILENT_OF_COLUMN = {
    "name", "checks", "description", "attributes", "data type", "optional", "character maximum length",
    "numeric precision", "numeric scale", "datetime precision",
}  # fmt: skip
_SILENT_OF_CONTRACT = {
    "dataset", "columns", "checks", "name", "owner", "description", "attributes", "check attributes", "variables",
    "data source", "soda agent", "filter", "failed rows", "diagnostics",
}  # fmt: skip
# Options that define missing values, and valid ones: a check with one option of a group inherits no other of it.
_MISSING = ("missing values", "missing format", "missing regex")
_VALID = (
    "valid values", "invalid values", "valid format", "invalid format", "valid regex", "invalid regex", "valid min",
    "valid max", "valid length", "valid min length", "valid max length", "valid reference data", "include null",
)  # fmt: skip


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
        if not key.startswith("checks for "):
            continue
        name, bracket, part = (words.strip() for words in key.removeprefix("checks for ").partition("["))
        table, rules = _Table(file, name, part.removesuffix("]") if bracket else None), found.table(name)
        for check in sequence(checks):
            _sodacl(check, table, rules)
        for each in [other for other in file if other.startswith("for each ")]:
            rules.leave(each, "checks for each dataset or column: write them for the table")
    if isinstance(file.get("dataset"), str):
        _contract(file, found.table(str(file["dataset"]).rsplit("/", 1)[-1]))


# -- SodaCL -------------------------------------------------------------------------------------------------------


class _Table:
    """Settings of a table in a file of SodaCL: configurations of columns, and the filter of a part of the table."""

    def __init__(self, file: Mapping[str, Any], name: str, part: str | None) -> None:
        self.part = part
        self._filter = mapping(file.get(f"filter {name} [{part}]"))
        self._configured = mapping(file.get(f"configurations for {name}"))

    def where(self) -> str | None:
        """Return the condition of the part of the table."""
        if self.part is None:
            return None
        if list(self._filter) != ["where"]:
            raise ParameterError(f"the file does not say what [{self.part}] is by one where")
        return one_line(self._filter["where"])

    def options(self, said: object, metric: str, columns: list[str], strange: Collection[str]) -> Options:
        """Return the options of a check and the configurations of its column; checks of duplicates have none."""
        given, unknown = spaced(said), list(strange)
        for key, configured in {} if metric == "duplicate" else self._configured.items():
            name, _, column = key.partition(" for ")
            if name not in (*_MISSING, *_VALID):
                unknown.append(key)
            elif column.strip('"') in columns and (metric == "invalid" or name in _MISSING):
                if name.endswith(" values") and name in given:
                    given[name] = [*sequence(given[name]), *sequence(configured)]
                given.setdefault(name, configured)
        return Options(given if isinstance(said, Mapping) or said is None else said, _SILENT, unknown)


def _sodacl(said: object, table: _Table, rules: TableRules) -> None:
    """Take one check."""
    check, given, strange = single(said)
    match = _METRIC.fullmatch(check.strip())
    write: _Write

    def rows() -> str | None:
        return both(options.get("filter"), table.where())

    if match is not None:
        columns = [name.strip().strip('"') for name in match["columns"].split(",")]
        options = table.options(given, match["metric"], columns, strange)
        write = partial(WRITERS[match["metric"]], columns, options)
    else:
        options = Options(given, _SILENT, strange)
        if check.startswith("values in"):
            write = partial(_reference, check)
        elif check == "failed rows" and "fail condition" in options:
            write = partial(failing, "fail condition", options)
        elif check == "failed rows" and "fail query" in options:
            write = partial(_queried, "fail query", options, rules.name)
        elif check == "schema":
            rules.about_columns(lambda: _of_columns(options), check, options, _called(options, check))
            return
        elif (counted := _counted(check.strip(), options)) is not None:
            rules.count_as(counted, rows, check, options, _called(options, check))
            return
        elif check.split(" ")[0] == "row_count" and "same as" not in check:
            rest = check.removeprefix("row_count").strip()
            rules.count(lambda: limits_of_rows(rest, options), rows, check, options, _called(options, check))
            return
        else:
            rules.leave(check, _why_not(check))
            return
    is_part = table.part is not None or "filter" in options
    rules.take(
        lambda: write(rows()),
        check,
        options,
        name=_called(options, check),
        allowed=lambda: threshold_of_metric(match, options, among=is_part),
    )


def _ends(said: re.Match[str], options: Options) -> list[tuple[str, str]]:
    """Write `min(x) >= 1`; `warn` and `fail` name the numbers that it may not have. Without a value it is passed."""
    name = column_name(said["column"].strip())
    term = f"length({name})" if said["length"] else name
    severities: tuple[Severity, ...] = ("warn", "fail")
    asked: list[tuple[Severity, str, bool]] = [("fail", said["rest"], True)] if said["rest"] else []
    for severity in severities:
        if (condition := options.get(severity)) is not None:
            asked.append((severity, str(condition).removeprefix("when "), False))
    found = []
    for severity, condition, is_met in asked:
        compared = _COMPARED_END.fullmatch(condition.strip())
        if compared is None:
            raise ParameterError(f"{condition} is no comparison with one number")
        sign = compared["sign"] if is_met else OPPOSITE[compared["sign"]]
        found.append(end_line("min" if said["end"] == "min" else "max", term, sign, compared["number"], severity))
    if not found:
        raise ParameterError("it has no threshold")
    return found


def _counted(check: str, options: Options) -> Callable[[], list[tuple[str, str]]] | None:
    """Return the function that writes a check of a number; None if it is no such check."""
    if (fresh := _FRESH.fullmatch(check)) is not None:
        return partial(_fresh, fresh, options)
    if (end := _END.fullmatch(check)) is not None:
        return partial(_ends, end, options)
    if (distinct := _DISTINCT.fullmatch(check)) is None:
        return None
    counted, rest = f"distinct_count({column_name(distinct['column'].strip())})", distinct["rest"]
    return lambda: [(counted, limit) for limit in limits_of_rows(rest, options)]


def _fresh(said: re.Match[str], options: Options) -> list[tuple[str, str]]:
    """Write `freshness(updated_at) < 1d`; `warn` and `fail` name ages that are too old."""
    severities: tuple[Severity, ...] = ("warn", "fail")
    ages: list[tuple[Severity, str, int]] = [("fail", *met(said["rest"]))] if said["rest"] else []
    for severity in severities:
        if (condition := options.get(severity)) is not None:
            ages.append((severity, *not_met(condition)))
    return fresh_lines((said["column"] or said["using"]).strip().strip('"'), ages)


def _fresh_of_contract(options: Options) -> list[tuple[str, str]]:
    """Write the freshness of a contract, whose threshold is in hours unless it names a unit."""
    said = spaced(options.need("threshold"))
    severity: Severity = "warn" if str(said.pop("level", "fail")).lower() == "warn" else "fail"
    unit = said.pop("unit", "hour")
    signs = {"must be less than": "<", "must be less than or equal": "<="}
    if len(said) != 1 or next(iter(said)) not in signs:
        raise ParameterError("its threshold is no largest age")
    [(name, age)] = said.items()
    return fresh_lines(options.need("column"), [(severity, signs[name], age_of(age, unit))])


_COUNTED: dict[str, Callable[[Options], list[tuple[str, str]]]] = {
    "row": lambda options: [("row_count", limit) for limit in limits_of_contract_rows(options)],
    "freshnes": _fresh_of_contract,  # without its last s, as the kinds of duplicates and others are
}
_COLUMNS = {"when required column missing": "has", "when forbidden column present": "has no"}


def _of_columns(options: Options) -> list[tuple[str, str]]:
    """Write what a schema check says; types are those of its own database, and places are not checked here."""
    lines = []
    for severity, limit in (("fail", ""), ("warn", "warn above 0")):
        said = options.inner(severity, ())
        if "when wrong column type" in said:
            raise ParameterError(f"when wrong column type: {OF_ITS_DATABASE}")
        for key, kind in _COLUMNS.items():
            columns = texts(said.get(key))
            if any(sign in column for column in columns for sign in "%*"):
                raise ParameterError(f"{key}: dpdb has no patterns of names")
            if columns:
                lines.append((f"schema {kind} ({', '.join(map(column_name, columns))})", limit))
    if not lines:
        raise ParameterError("it does not say which columns are required or forbidden")
    return lines


_OF_THE_WHOLE = (
    "row_count", "row", "schema", "avg", "aggregate", "metric", "sql_metric", "min", "max", "sum", "stddev", "change ",
    "anomaly",
)  # fmt: skip


def _why_not(check: str) -> str:
    if check.startswith("freshnes"):
        return "it is no age of one column"
    if check == "schema":
        return OF_ITS_DATABASE
    return WHOLE_TABLE if check.startswith(_OF_THE_WHOLE) else "dpdb does not know this check"


def _called(options: Options, check: str) -> str:
    """Return the name of a check, which it has by itself if it is given none."""
    return str(options.shown("name") or check)


def _reference(check: str, where: str | None) -> str:
    """Write `values in (a, b) must exist in customers (x, y)`."""
    said = _EXISTS.fullmatch(check.strip())
    if said is None:
        raise ParameterError(ACROSS_TABLES)
    columns, targets = ([name.strip().strip('"') for name in said[key].split(",")] for key in ("columns", "targets"))
    return found_in(columns, said["parent"], targets, where)


# -- contracts ----------------------------------------------------------------------------------------------------


def _contract(file: Mapping[str, Any], table: TableRules) -> None:
    """Take all checks; keys of the contract that no importer reads count as unread options of each check."""
    whole = Options(spaced(file), _SILENT_OF_CONTRACT)
    strange, where = whole.unread(), whole.shown("filter")
    for entry in sequence(file.get("columns")):
        said = Options(spaced(entry))
        table.declare(str(said.shown("name") or ""), said.shown("data type"))
    for entry in sequence(file.get("columns")):
        column = Options(spaced(entry), _SILENT_OF_COLUMN)
        beside = {name: column.shown(name) for name in column.unread()}
        for check in sequence(mapping(entry).get("checks")):
            take_check(check, str(column.shown("name") or ""), table, beside=beside, where=where, strange=strange)
    for check in sequence(file.get("checks")):
        take_check(check, None, table, where=where, strange=strange)


def take_check(
    check: object,
    column: str | None,
    table: TableRules,
    *,
    beside: Mapping[str, Any] | None = None,
    where: object = None,
    strange: Collection[str] = (),
) -> None:
    """Take a check of a contract: `missing:`, `{type: missing}` or `{type: no_missing}`, on a column or the table.

    Parameters
    ----------
    column
        Name of the column that holds the check; None for a check of the table.
    table
        Gets the rules of the check, or the reason to leave it out.
    beside
        Options of the column, which the check inherits unless it states one of the same group; by default none.
    where
        The filter of the whole contract; None for all rows.
    strange
        Keys of the contract that no importer reads: with any, every check is left out.
    """
    name, said, others = single(check)
    if "type" in mapping(check):
        name, said, others = str(mapping(check)["type"]), check, []
    kind = name.removeprefix("no_").removeprefix("multiple_column_")
    kind = re.sub(r"(_values|_count|_percent|s)$", "", kind)
    given = spaced(said)
    if kind in WRITERS:
        given = {**_inherited(kind, beside or {}, given), **given}
    options = Options(given if isinstance(said, Mapping) or said is None else said, _SILENT, [*others, *strange])
    columns = [column] if column is not None else texts(options.get("columns")) or texts(options.get("column"))
    origin = f"{name}({', '.join(columns)})" if columns else name
    write: _Write

    def rows() -> str | None:
        return both(options.first("filter", "filter sql"), where)

    if kind == "duplicate" and column is None and columns:
        write = partial(keyed_with_nulls, columns)  # Soda compares them as texts, NULL being one of them
    elif kind in WRITERS and columns:
        write = partial(WRITERS[kind], columns, options)
    elif kind in {"failed_row", "failed_rows_expression"} and "expression" in options:
        write = partial(failing, "expression", options)
    elif kind in {"failed_row", "failed_rows_query"} and ("query" in options or "fail query" in options):
        write = partial(_queried, "query" if "query" in options else "fail query", options, table.name)
    elif kind in _COUNTED:
        table.count_as(lambda: _COUNTED[kind](options), rows, origin, options, _called(options, origin))
        return
    elif "reference" in kind:
        table.leave(origin, ACROSS_TABLES)
        return
    else:
        table.leave(origin, _why_not(kind))
        return
    is_part = where is not None or "filter" in options or "filter sql" in options
    excludes_values = "missing values" in options
    table.take(
        lambda: write(rows()),
        origin,
        options,
        name=_called(options, origin),
        allowed=lambda: threshold_of_contract(name, options, among=is_part, excludes_values=excludes_values),
    )


def _inherited(kind: str, beside: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a column that a check on it inherits."""
    others: tuple[str, ...] = () if any(name in given for name in _MISSING) else _MISSING
    if kind == "invalid" and not any(name in given for name in _VALID):
        others += _VALID
    return {name: said for name, said in beside.items() if name in others or name not in (*_MISSING, *_VALID)}


_FORMATS = {"email": "email", "uuid": "uuid", "ip address": "ipv4", "ipv4 address": "ipv4"}
"""Formats of Soda that dpdb has, too, and their names here; of an email both have their own idea."""


def _duplicate(columns: list[str], options: Options, where: str | None) -> str:
    present = _named_as_missing(columns[0], options, inside=False) if len(columns) == 1 else None
    return keyed(columns, both(present, where))


def _missing(columns: list[str], options: Options, where: str | None) -> list[str]:
    """Write that no value is missing: neither NULL nor one of the values that the check names as missing."""
    column = _one(columns)
    others = _named_as_missing(column, options, inside=False)
    written = [present(column, where)]
    return written if others is None else [*written, checked(others, where)]


def _invalid(columns: list[str], options: Options, where: str | None) -> str:
    """Write the condition of a valid value; a missing value is not invalid in Soda, nor here."""
    column = _one(columns)
    others = _named_as_missing(column, options, inside=True)
    condition = _valid(column, options)
    if others is not None:
        condition = f"{others} OR ({condition})"
    if options.flag("include null"):
        condition = f"{column_name(column)} IS NOT NULL AND ({condition})"
    return checked(condition, where)


def _one(columns: list[str]) -> str:
    if len(columns) != 1:
        raise ParameterError("it is over several columns")
    return columns[0]


def _named_as_missing(column: str, options: Options, *, inside: bool) -> str | None:
    """Write that a value is one of those that the check names as missing, or is none of them; None if it names none."""
    others = [item for item in sequence(options.get("missing values")) if item is not None]
    parts = [among(column, others, inside=inside)] if others else []
    parts += _patterns(column_name(column), "missing", options, inside=inside)
    return (" OR " if inside else " AND ").join(parts) or None


def _patterns(name: str, way: str, options: Options, *, inside: bool) -> list[str]:
    """Write the regular expression and the format of `valid`, `invalid` or `missing` values, or that there is none."""
    parts = []
    if f"{way} regex" in options:
        parts.append(regex(name, options.get(f"{way} regex"), inside=inside))
    if f"{way} format" in options:
        said = str(options.get(f"{way} format"))
        if (number := _number_format(said)) is not None:
            parts.append(regex(name, number, inside=inside))
        elif said in _FORMATS:
            parts.append(f"{'' if inside else 'NOT '}has_format({name}, '{_FORMATS[said]}')")
        else:
            raise ParameterError(f"dpdb has not Soda's format {said}")
    return parts


_NUMBER = re.compile(
    "(?:(?P<sign>positive|negative) )?(?:integer|(?P<kind>decimal|percentage)(?: (?P<mark>point|comma))?)"
)


def _number_format(said: str) -> str | None:
    """Return the expression of a format of numbers in texts, such as `negative decimal comma`; None for other ones.

    Blanks may stand anywhere but between digits. What is positive may have a plus, and be zero; what is negative has a
    minus, or is zero.
    """
    words = _NUMBER.fullmatch(said)
    if words is None:
        return None
    mark = {"point": "[.]", "comma": ",", None: "[.,]"}[words["mark"]]
    is_whole = words["kind"] is None
    digits, zeros = (f"{one}+" if is_whole else f"(?:{one}+(?:{mark}{one}+)?|{mark}{one}+)" for one in ("[0-9]", "0"))
    number = {"positive": f"[+]? *{digits}", "negative": f"(?:- *{digits}|{zeros})", None: f"[-+]? *{digits}"}
    return f"^ *{number[words['sign']]} *{'% *' if words['kind'] == 'percentage' else ''}$"


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
    parts += _patterns(name, "valid", options, inside=True) + _patterns(name, "invalid", options, inside=False)
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


def _queried(name: str, options: Options, table: str, where: str | None) -> str:
    return no_failing_rows(options.need(name), table, where)


WRITERS: dict[str, Callable[[list[str], Options, str | None], str | list[str]]] = {
    "duplicate": _duplicate,
    "missing": _missing,
    "invalid": _invalid,
}
