"""A diagnosis as an Arrow table: one column layout for pandas, SQL and result files."""

from __future__ import annotations

import pyarrow as pa

from dpdb.diagnosis.published_fields import DiagnosisFields

__all__ = ["DIAGNOSIS_SCHEMA", "diagnosis_table"]

# What each named slice has of its own, then what holds for all; a diagnosis of rules alone has one row without slice.
DIAGNOSIS_SCHEMA: pa.Schema = pa.schema(
    [
        pa.field("rank", pa.int64()),
        pa.field("by_column", pa.string()),
        pa.field("key", pa.string()),
        pa.field("lower", pa.float64()),
        pa.field("upper", pa.float64()),
        pa.field("slices", pa.int64(), nullable=False),
        pa.field("worst_column", pa.string()),
        pa.field("worst_key", pa.string()),
        pa.field("rule", pa.string()),
        pa.field("rule_lower", pa.float64()),
        pa.field("rule_upper", pa.float64()),
        pa.field("statistic", pa.string(), nullable=False),
        pa.field("expected", pa.string()),
        pa.field("confidence", pa.float64(), nullable=False),
        pa.field("epsilon", pa.float64(), nullable=False),
        pa.field("run_id", pa.string()),
        pa.field("guarantee", pa.string(), nullable=False),
    ]
)


def diagnosis_table(found: DiagnosisFields) -> pa.Table:
    """Return one row of `DIAGNOSIS_SCHEMA` per named slice."""
    rule, (worst_column, worst_key) = found.rule, found.worst or (None, None)
    of_all = {
        "worst_column": worst_column,
        "worst_key": worst_key,
        "rule": None if rule is None else rule.rule,
        "rule_lower": None if rule is None else rule.lower,
        "rule_upper": None if rule is None else rule.upper,
        **{name: getattr(found, name) for name in _OF_ALL},
    }
    rows = [
        {"rank": rank, "by_column": one.column, "key": one.key, "lower": one.lower, "upper": one.upper, **of_all}
        for rank, one in enumerate(found.named, 1)
    ]
    return pa.Table.from_pylist(rows or [of_all], schema=DIAGNOSIS_SCHEMA)


_OF_ALL = ("slices", "statistic", "expected", "confidence", "epsilon", "run_id", "guarantee")
