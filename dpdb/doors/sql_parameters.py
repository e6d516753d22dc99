"""Parameters of the functions in SQL: the options of an `Ask` under names that SQL can write, those of a `SuiteAsk`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from dpdb.release import COUNT_OPTIONS, MEASURE_OPTIONS, OPTIONS, Kind

__all__ = ["CHECK", "CHECK_PARAMETERS", "PARAMETERS", "TABLE"]

TABLE = "table_name"  # comes before the options
# Options may be given without names in this order; others follow in the order of `Ask`.
_ORDER = (
    "measure", "epsilon", "where", "by", "keys", "mechanism", "confidence", "max_degree", "run_id", "theta", "label",
)  # fmt: skip
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

# A suite's name comes first; of the other fields of `SuiteAsk` only what a caller may choose.
CHECK = "dp_check"
CHECK_PARAMETERS: Mapping[str, Kind] = MappingProxyType(
    {"suite": "text", "epsilon": "amount", "confidence": "number", "certain": "text", "run_id": "text", "label": "text"}
)
