"""Verdicts as an Arrow table: one column layout for pandas, SQL and result files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

__all__ = ["CHECK_SCHEMA", "checks_table"]

# What each check has of its own, then what holds for all of a run.
CHECK_SCHEMA = pa.schema(
    [
        pa.field("name", pa.string(), nullable=False),
        pa.field("rule", pa.string(), nullable=False),
        pa.field("verdict", pa.string(), nullable=False),
        pa.field("severity", pa.string(), nullable=False),
        pa.field("limit", pa.float64(), nullable=False),
        pa.field("direction", pa.string(), nullable=False),
        pa.field("unit", pa.string(), nullable=False),
        pa.field("statistic", pa.string(), nullable=False),
        pa.field("lower", pa.float64()),
        pa.field("upper", pa.float64()),
        pa.field("level", pa.int64(), nullable=False),
        pa.field("since", pa.string()),
        pa.field("key", pa.string()),
        pa.field("confidence", pa.float64(), nullable=False),
        pa.field("epsilon", pa.float64(), nullable=False),
        pa.field("epsilon_reserved", pa.float64(), nullable=False),
        pa.field("suite", pa.string()),
        pa.field("run", pa.int64()),
        pa.field("runs", pa.int64()),
        pa.field("run_id", pa.string(), nullable=False),
        pa.field("guarantee", pa.string(), nullable=False),
    ]
)


def checks_table(found: Mapping[str, Any]) -> pa.Table:
    """Return one row of `CHECK_SCHEMA` per check.

    Parameters
    ----------
    found
        The verdicts of a run, as `CheckResults.to_dict` gives them.
    """
    of_run = {name: value for name, value in found.items() if name in CHECK_SCHEMA.names}
    rows = [{**check, **of_run} for check in found["checks"]]
    for row in rows:
        row["key"] = None if row.get("key") is None else str(row["key"])
    return pa.Table.from_pylist(rows, schema=CHECK_SCHEMA)
