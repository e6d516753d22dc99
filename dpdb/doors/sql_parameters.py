"""Parameters of the functions in SQL: the options of what is asked, under names that SQL can write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from dpdb.diagnosis import ASKED
from dpdb.errors import ParameterError
from dpdb.options import Kind, Option
from dpdb.release import COUNT_OPTIONS, MEASURE_OPTIONS, OPTIONS
from dpdb.suites import SUITE_OPTIONS

TABLE = "table_name"  # comes before the options, but for a suite, which has its own
MEASURE, COUNT, CHECK, DIAGNOSE = "dp_inconsistency", "dp_count", "dp_check", "dp_diagnose"
# The options of each function.
_ASKED: Mapping[str, Mapping[str, Option]] = {
    MEASURE: {name: OPTIONS[name] for name in MEASURE_OPTIONS},
    COUNT: {name: OPTIONS[name] for name in COUNT_OPTIONS},
    CHECK: SUITE_OPTIONS,
    DIAGNOSE: ASKED,
}
# Options may be given without names, and statements are written so: the order in which they came is kept, and what
# comes later follows in the order of the fields.
_RELEASE_ORDER = (
    "measure", "epsilon", "where", "by", "keys", "mechanism", "confidence", "max_degree", "run_id", "theta", "label",
    "rate", "each_constraint", "rho",
)  # fmt: skip
_ORDER: Mapping[str, tuple[str, ...]] = {
    MEASURE: _RELEASE_ORDER,
    COUNT: _RELEASE_ORDER,
    CHECK: ("suite",),
    DIAGNOSE: ("by", "keys", "epsilon", "top", "expected", "rules", "where", "confidence", "run_id", "label"),
}
# What is released and what it costs, with the remedy where it is NULL.
_NEVER_NULL = {
    "epsilon": "give a value: epsilon := 0.5",
    "rho": "leave it out, or give a value: rho := 0.01",
    "measure": "leave it out for its default, or give a value: measure := 'repair'",
}
_SPELLED = {"where": "where_clause", "by": "by_column", "keys": "group_keys"}  # SQL has words of its own for these


def _parameters(function: str) -> Mapping[str, str]:
    own: Iterable[str] = dict.fromkeys((*_ORDER[function], *_ASKED[function]))
    return {_SPELLED.get(name, name): name for name in own if name in _ASKED[function] or name == "suite"}


# Of every function, the names of options by parameter, in order; and the kinds of these options.
FUNCTIONS: Mapping[str, Mapping[str, str]] = MappingProxyType({name: _parameters(name) for name in _ASKED})
KINDS: Mapping[str, Mapping[str, Kind]] = {
    function: {name: own[name].kind if name in own else "text" for name in FUNCTIONS[function].values()}
    for function, own in _ASKED.items()
}
# What is spent, where nothing is by default.
SPENT = tuple(name for name, kind in KINDS[MEASURE].items() if kind == "amount")


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
