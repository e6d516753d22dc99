"""Releases as an Arrow table: the one column layout of every surface (SQL results, result tables, reports)."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from dpdb.release.published.release_fields import ReleaseFields

__all__ = ["RELEASE_SCHEMA", "release_table"]

# One column per field of `Release`, in its order; tests hold both against each other.
RELEASE_SCHEMA = pa.schema(
    [
        pa.field("measure", pa.string(), nullable=False),
        pa.field("estimand", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("lower", pa.float64(), nullable=False),
        pa.field("upper", pa.float64()),
        pa.field("confidence", pa.float64(), nullable=False),
        pa.field("epsilon", pa.float64()),
        pa.field("mechanism", pa.string(), nullable=False),
        pa.field("theta", pa.int64()),
        pa.field("noise_scale", pa.float64(), nullable=False),
        pa.field("where", pa.string()),
        pa.field("constraints_sha256", pa.string(), nullable=False),
        pa.field("guarantee", pa.string(), nullable=False),
        pa.field("release_id", pa.string(), nullable=False),
        pa.field("version", pa.string(), nullable=False),
        pa.field("quantity", pa.string(), nullable=False),
        pa.field("constraint", pa.string()),
        pa.field("rho", pa.float64()),
        pa.field("upper_reason", pa.string()),
        pa.field("raw", pa.float64()),
        pa.field("estimate_lower", pa.float64()),
        pa.field("estimate_upper", pa.float64()),
        pa.field("estimate_reason", pa.string()),
        pa.field("unit", pa.string()),
        pa.field("theta_from", pa.string()),
        pa.field("handicaps", pa.int64()),
        pa.field("draw_share", pa.float64()),
        pa.field("theta_limits", pa.bool_()),
        pa.field("constraint_text", pa.string()),
    ]
)


def release_table(releases: Iterable[ReleaseFields]) -> pa.Table:
    """Return the releases as rows of `RELEASE_SCHEMA`, in order. Costs nothing: releases are public."""
    return pa.Table.from_pylist([release.to_dict() for release in releases], schema=RELEASE_SCHEMA)
