"""Pairs of tables that differ in one row, chosen so that sensitivities are attained."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class TablePair:
    """`rows` and the same with `extra`, under the constraints."""

    rows: tuple[tuple[int, int], ...]
    extra: tuple[int, int]
    constraints: tuple[str, ...]

    def tables(self) -> tuple[pa.Table, pa.Table]:
        return _table(self.rows), _table((*self.rows, self.extra))


def _table(rows: tuple[tuple[int, int], ...]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [(), ()]
    return pa.table({name: pa.array(column, pa.int64()) for name, column in zip("AB", columns, strict=True)})


FD = "not(t1.A = t2.A and t1.B != t2.B)"
SINGLE = "not(t1.B < 0)"
NO_EQUALITY = "not(t1.A < t2.A and t1.B > t2.B)"

PAIRS = {
    # The extra row conflicts with three rows that had no conflict.
    "hub": TablePair(((1, 0), (1, 0), (1, 0)), (1, 1), (FD,)),
    "long hub": TablePair(tuple((1, 0) for _ in range(8)), (1, 1), (FD,)),
    # The extra row is in conflict with itself and counts as U.
    "self-conflict": TablePair(((1, 0), (1, 1), (2, -3)), (1, -1), (FD, SINGLE)),
    # No equality: the degree bound is the number of rows.
    "no equality": TablePair(((1, 1), (1, 2), (1, 3)), (2, 0), (NO_EQUALITY,)),
    # The extra row conflicts with one row of a path of conflicts and changes what the projection keeps.
    "two constraints": TablePair(((1, 0), (1, 1), (2, 1), (2, 2)), (2, 0), (FD, "not(t1.B = t2.B and t1.A != t2.A)")),
    "first row": TablePair((), (1, 1), (FD,)),
}

# Those whose fewest rows to delete are not counted by `fewest_deletions`.
NO_CLOSED_FORM = {"two constraints"}
# Those without decision bits.
NO_BITS = {*NO_CLOSED_FORM, "no equality"}
