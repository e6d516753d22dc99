"""Rows with values that must never be seen."""

from __future__ import annotations

import pyarrow as pa

RULE = "zip -> city"
# All pass where noise adds nothing, so a run costs the first share, a quarter of its epsilon.
NIGHTLY = f"zip_city: {RULE} warn above 1, fail above 20 rows\nrow_count fail above 900"
_CANARIES = ("canary_", "91827364", "91827365")


def private_rows() -> pa.Table:
    return pa.table(
        {
            "zip": ["1", "1", "1", "2", "2", "3"],
            "city": ["canary_heron", "canary_finch", "canary_finch", "canary_stork", "canary_raven", "canary_eagle"],
            "age": [30, 31, 32, 33, 34, 20],
            "state": ["CA", "CA", "NY", "NY", "NY", "TX"],
            "note": [f"canary_note_{k}" for k in range(6)],
            "pay": [918273645 + k for k in range(6)],
        }
    )


def shows_private(*texts: object) -> bool:
    return any(canary in str(text) for canary in _CANARIES for text in texts)
