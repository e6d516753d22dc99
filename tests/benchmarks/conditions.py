"""Rules as peers get them: predicates as JSON, so that a peer's environment needs nothing of dpdb's."""

from __future__ import annotations

import json

import pyarrow.parquet as pq

from dpdb.constraints import ColumnRef, distinct, load_constraints


def conditions(source: str, constraints: str) -> str:
    """Return, of each rule, its predicates as [tuple, column, operator, tuple, column] with tuples 0 and 1."""
    found = []
    for dc in distinct(load_constraints(constraints, pq.read_schema(source).names)):
        rule = []
        for predicate in dc.predicates:
            right = predicate.right
            assert isinstance(right, ColumnRef), "peers compare columns alone"
            left = predicate.left
            rule.append([left.tuple_index, left.column, predicate.op.value, right.tuple_index, right.column])
        found.append(rule)
    return json.dumps(found)
