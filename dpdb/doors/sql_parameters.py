"""Parameters of the functions in SQL: the options of an `Ask` under names that SQL can write, those of a `SuiteAsk`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any

from dpdb.errors import ParameterError
from dpdb.release import COUNT_OPTIONS, MEASURE_OPTIONS, OPTIONS, Kind
from dpdb.suites import SuiteAsk

TABLE = "table_name"  # comes before the options
# Options may be given without names in this order; others follow in the order of `Ask`.
_ORDER = (
    "measure", "epsilon", "where", "by", "keys", "mechanism", "confidence", "max_degree", "run_id", "theta", "label",
)  # fmt: skip
# What is released and what it costs, with the remedy where it is NULL.
_NEVER_NULL = {
    "epsilon": "give a value: epsilon := 0.5",
    "rho": "leave it out, or give a value: rho := 0.01",
    "measure": "leave it out for its default, or give a value: measure := 'repair'",
}
_SPELLED = {"where": "where_clause", "by": "by_column", "keys": "group_keys"}  # SQL has words of its own for these


def _parameters(options: Iterable[str]) -> Mapping[str, str]:
    own = {*options}
    return MappingProxyType(
        {_SPELLED.get(name, name): name for name in dict.fromkeys((*_ORDER, *OPTIONS)) if name in own}
    )


# Of each function, the names of options by parameter, in order.
PARAMETERS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {"dp_inconsistency": _parameters(MEASURE_OPTIONS), "dp_count": _parameters(COUNT_OPTIONS)}
)

# Of `dp_check`, the fields of `SuiteAsk` by parameter, in their order; what releases have, too, is of the same kind.
CHECK = "dp_check"
CHECK_PARAMETERS: Mapping[str, str] = MappingProxyType(
    {_SPELLED.get(option.name, option.name): option.name for option in fields(SuiteAsk)}
)
CHECK_KINDS: Mapping[str, Kind] = MappingProxyType(
    {name: OPTIONS[name].metadata["kind"] if name in OPTIONS else "text" for name in CHECK_PARAMETERS.values()}
    | {"within": "number", "sizes": "flag"}
)

# Of `dp_diagnose`, the fields of `DiagnosisAsk` by parameter; with their kinds here, so that few load its room.
DIAGNOSE = "dp_diagnose"
DIAGNOSE_KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "by": "columns",
        "keys": "lists",
        "epsilon": "amount",
        "top": "whole",
        "expected": "amount",
        "rules": "flag",
        "where": "text",
        "confidence": "number",
        "run_id": "text",
        "label": "text",
        "measure": "text",
    }
)
DIAGNOSE_PARAMETERS: Mapping[str, str] = MappingProxyType({_SPELLED.get(name, name): name for name in DIAGNOSE_KINDS})


# Of every function, the names of options by parameter, and the kinds of these options.
FUNCTIONS: Mapping[str, Mapping[str, str]] = {**PARAMETERS, CHECK: CHECK_PARAMETERS, DIAGNOSE: DIAGNOSE_PARAMETERS}
KINDS: Mapping[str, Mapping[str, Kind]] = {
    **{name: {one: OPTIONS[one].metadata["kind"] for one in options.values()} for name, options in PARAMETERS.items()},
    CHECK: CHECK_KINDS,
    DIAGNOSE: DIAGNOSE_KINDS,
}


def given_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a call gives, by name: NULL leaves one out, except what is released and what it costs.

    Raises
    ------
    ParameterError
        If epsilon, rho or measure is NULL: a driver's None, given by mistake, would spend the default.
    """
    for name, remedy in _NEVER_NULL.items():
        if name in values and values[name] is None:
            raise ParameterError(f"{name} is NULL: {remedy}")
    return {name: value for name, value in values.items() if value is not None}
