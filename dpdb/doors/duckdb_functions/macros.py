"""The SQL macros of `dpdb.register`: for each function a scalar macro (one release) and a table macro (a row for each).

They are temporary, so they live and die with the connection and are never written into its file. The scalar macros call
the registration's Python function directly: as a subquery it would run even in a CASE branch that is not taken.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from dpdb.doors.sql_parameters import CHECK, CHECK_KINDS, CHECK_PARAMETERS, PARAMETERS, TABLE
from dpdb.release import OPTIONS, Kind

__all__ = ["ARGUMENTS", "CHECK_ARGUMENTS", "check_macros", "release_macros"]

_CONSTRAINTS = "constraints"  # a parameter of measures here, where the owner asks; no option of a release
_TYPES: Mapping[Kind, str] = {
    "text": "VARCHAR", "amount": "DOUBLE", "keys": "VARCHAR[]", "whole": "BIGINT", "number": "DOUBLE",
    "flag": "BOOLEAN",
}  # fmt: skip
_OF_OPTION: Mapping[str, str] = {name: _TYPES[option.metadata["kind"]] for name, option in OPTIONS.items()}
_OF_CHECK: Mapping[str, str] = {option: _TYPES[CHECK_KINDS[option]] for option in CHECK_PARAMETERS.values()}


def _struct(types: Mapping[str, str]) -> str:
    return "STRUCT(" + ", ".join(f'"{name}" {kind}' for name, kind in types.items()) + ")"


def _given(options: Mapping[str, str], types: Mapping[str, str]) -> str:
    """Return all options as a struct: of each the parameter that gives it, or NULL."""
    return "{" + ", ".join(f"'{option}': {options.get(option, 'NULL')}::{kind}" for option, kind in types.items()) + "}"


# Of the Python function: one row, function, table, constraints, options, database, schema, transaction.
ARGUMENTS = ("BOOLEAN", "VARCHAR", "VARCHAR", "VARCHAR", _struct(_OF_OPTION), "VARCHAR", "VARCHAR", "UBIGINT")
# Of the one for suites: options, the table that the caller expects, database, schema, transaction.
CHECK_ARGUMENTS = (_struct(_OF_CHECK), "VARCHAR", "VARCHAR", "VARCHAR", "UBIGINT")


def check_macros(function: str) -> str:
    """Return the statements that create the macro of suites: a table function, with a row for each check."""
    names = (*CHECK_PARAMETERS, TABLE)
    options = _given({option: name for name, option in CHECK_PARAMETERS.items()}, _OF_CHECK)
    call = f"{function}({options}, {TABLE}::VARCHAR, current_database(), current_schema(), txid_current())"
    head = f"CREATE TEMP MACRO {CHECK}({names[0]}, {', '.join(f'{name} := NULL' for name in names[1:])})"
    return f"{head} AS TABLE SELECT unnest({call}, max_depth := 2);\n"


def release_macros(function: str) -> str:
    """Return the statements that create all macros around the Python function of that name."""
    return "".join(_macros(name, function) for name in PARAMETERS)


def _macros(name: str, function: str) -> str:
    parameters = PARAMETERS[name]
    defaults = {known: exp.convert(OPTIONS[option].default).sql("duckdb") for known, option in parameters.items()}
    if name == "dp_inconsistency":
        names = [*defaults]
        names.insert(names.index("label"), _CONSTRAINTS)
        defaults = {known: defaults.get(known, "NULL") for known in names}
    head = f"CREATE TEMP MACRO {name}({TABLE}, {', '.join(map('{} := {}'.format, defaults, defaults.values()))})"
    options = _given({option: known for known, option in parameters.items()}, _OF_OPTION)
    constraints = _CONSTRAINTS if _CONSTRAINTS in defaults else "NULL"
    call = (
        f"'{name}', {TABLE}::VARCHAR, {constraints}::VARCHAR, {options}, "
        "current_database(), current_schema(), txid_current()"
    )
    rows = f"SELECT unnest({function}(false, {call}), max_depth := 2)"
    return f"{head} AS {function}(true, {call})[1];\n{head} AS TABLE {rows};\n"
