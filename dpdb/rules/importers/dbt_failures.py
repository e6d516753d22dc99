"""dbt's tests by name, and how many failures they allow: `severity`, `error_if`, `warn_if`, `fail_calc` and `limit`.

The failures of a test are the rows of its query. Those of `unique` are values that occur more than once, those of
`accepted_values` distinct values, those of most others rows of the table.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dpdb.constraints import DUPLICATE_VALUES, VIOLATIONS
from dpdb.names import LONGEST_NAME
from dpdb.rules.limits import NOTHING, Allowed, Bound, Counted, above, number, reaching
from dpdb.rules.options import Options

__all__ = ["allowed_failures", "test_name"]

_ROWS = Counted(VIOLATIONS)
_VALUES = Counted(DUPLICATE_VALUES)
_FAILURES = {
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
_CONDITION = re.compile(r"\s*(?P<sign>>=?|!=|<>)\s*(?P<number>\d+)\s*")
_SETTINGS = ("severity", "error_if", "warn_if", "fail_calc", "limit")
_NOT_IN_NAMES = {
    *_SETTINGS, "alias", "arguments", "config", "database", "description", "docs", "enabled", "group", "meta", "model",
    "name", "schema", "store_failures", "store_failures_as", "tags", "test_name", "where",
}  # fmt: skip


def allowed_failures(test: str, options: Options, config: Options) -> Allowed:
    """Read the settings of a test: it warns by `warn_if`, and fails by `error_if` unless its severity is `warn`."""
    words = ", ".join(filter(None, [options.notes(*_SETTINGS), config.notes(*_SETTINGS)]))
    said = {name: config.shown(name) if options.shown(name) is None else options.shown(name) for name in _SETTINGS}
    bounds = [Bound("warn", _largest(said["warn_if"], said["limit"]))]
    if str(said["severity"] or "error").lower() != "warn":
        bounds.append(Bound("fail", _largest(said["error_if"], said["limit"])))
    if test == "dbt_utils.not_null_proportion":
        return _proportion(options, bounds, words, among=bool(options.shown("where") or config.shown("where")))
    allowed = Allowed(tuple(bounds), _counted(test), words=words)
    is_counted = str(said["fail_calc"] or "count(*)").replace(" ", "").lower() == "count(*)"
    return allowed if is_counted else replace(allowed, counted=NOTHING)


def _proportion(options: Options, bounds: list[Bound], words: str, *, among: bool) -> Allowed:
    """Return what is left of the smallest share of rows that are not NULL; the test has one failure, or none."""
    words = ", ".join(filter(None, [options.notes("at_least", "at_most"), words]))
    least, most = number(options.shown("at_least")), number(options.shown("at_most"))
    is_plain = least is not None and least <= 1 and most in {None, 1} and all(bound.amount == 0 for bound in bounds)
    amount = 1 - least if is_plain and least is not None else None
    counted = Counted(VIOLATIONS, None if among else "share")
    return Allowed(tuple(replace(bound, amount=amount) for bound in bounds), counted, percent=True, words=words)


def _counted(test: str) -> Counted:
    if test.startswith("dbt_expectations."):
        return _FAILURES.get(test, _ROWS)
    return _FAILURES.get(test, NOTHING)


def _largest(condition: object, limit: object) -> Any:
    """Return the largest number of failures at which a condition is not met, of which at most `limit` are counted."""
    said = _CONDITION.fullmatch(str(condition or "!= 0"))
    if said is None or (said["sign"] in {"!=", "<>"} and int(said["number"]) != 0):
        return None
    read = reaching if said["sign"] == ">=" else above
    largest, most = read(said["number"], percent=False), number(limit)
    return None if largest is None or (most is not None and largest >= most) else largest


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
