"""`RemoteThinning`: asks a remote table for the rows that may do for 2 tau*, and for what has to be known for that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sqlglot import exp

from dpdb.constraints import block_shape
from dpdb.engine import AcrossColumn, LocalSlice, Partners
from dpdb.engine.sql import BoundConstraint, ComputedColumn, WherePredicate
from dpdb.remote.fetched import Asking, fetched, in_parts, stored_columns
from dpdb.remote.in_conflict.thinned_rows import ALL, HASH, OPEN, SHARE, Thinned, is_thinned, order_values, thinned_rows
from dpdb.remote.queries import slice_tuples
from dpdb.remote.table import new_name
from dpdb.schema import Column, TableSchema, free_name

__all__ = ["RemoteThinning", "may_be_thinned"]


def may_be_thinned(constraints: Sequence[BoundConstraint]) -> bool:
    """Say whether fewer rows may do than all in conflict. Public: the constraints' shapes.

    Conflicts that have to be listed need their rows; for the others, one constraint must have rows to spare.
    """
    pairwise = [dc for dc in constraints if not dc.constraint.is_single_tuple]
    return all(block_shape(dc.constraint) is not None for dc in pairwise) and any(map(is_thinned, pairwise))


@dataclass(frozen=True, eq=False)
class _Values:
    """The values of an order rule: a slice of them, and their hashes in its own order."""

    slice: LocalSlice
    hashes: pa.Array


class RemoteThinning:
    """Parts of the rows of a slice (implements `dpdb.engine.Thinning`).

    Parameters
    ----------
    constraints
        All those of the slice: rows that conflict with themselves do not come.
    name : str
        A name for what is made in our own database.
    """

    def __init__(
        self, asking: Asking, constraints: Sequence[BoundConstraint], where: WherePredicate | None, *, name: str
    ) -> None:
        self._asking, self._all, self._where, self._name = asking, tuple(constraints), where, name
        self.constraints = tuple(dc for dc in constraints if not dc.constraint.is_single_tuple)
        self.orders: Sequence[int] = [place for place, dc in enumerate(self.constraints) if _is_order(dc)]
        self._values: dict[int, _Values] = {}

    def values(self, position: int) -> tuple[LocalSlice, NDArray[np.int64]]:
        """Ask for the values of an order rule; see `dpdb.engine.Thinning`. Private."""
        asking, dc = self._asking, self.constraints[position]
        columns = stored_columns([dc], asking.schema)
        value_hash, copies, number = (free_name(name, asking.schema.names) for name in (HASH, "copies", "number"))
        tuples = slice_tuples(asking.rows, asking.schema, self._all, self._where, columns)
        query = order_values(tuples, dc, columns, (value_hash, copies), asking.spelling)
        answer = pa.concat_tables(in_parts(asking, query, columns)).combine_chunks()
        numbered = answer.select(list(columns)).append_column(number, pa.array(np.arange(answer.num_rows)))
        name = f"{self._name}_values_{position}"
        kept = Column(number, "BIGINT")
        with fetched(asking, name, columns, iter([numbered]), [kept]) as rows:
            made = LocalSlice(asking.database, rows, [dc], None, name=name, keep=[number])
        order = made.numbers(number)
        counts = answer[copies].to_numpy().astype(np.int64)[order]
        self._values[position] = _Values(made, answer[value_hash].combine_chunks().take(pa.array(order)))
        return made, counts

    def part(
        self, partners: Partners, chosen: Mapping[int, tuple[NDArray[np.float64], NDArray[np.bool_]]]
    ) -> tuple[LocalSlice, NDArray[np.bool_]]:
        """Ask for a part of the rows; see `dpdb.engine.Thinning`. Private."""
        asking = self._asking
        columns = stored_columns(self.constraints, asking.schema)
        row_hash, is_open = (free_name(name, asking.schema.names) for name in ("row_hash", OPEN))
        tuples = self._with_hash(row_hash, columns)
        hashed = {place: stored_columns([self.constraints[place]], asking.schema) for place in self.orders}
        with self._lent(chosen) as lent:
            thinned = Thinned(partners, row_hash, is_open, lent, hashed)
            query = thinned_rows(tuples, self.constraints, columns, thinned, asking.spelling)
            name = f"{self._name}_part"
            flag = Column(is_open, "BIGINT")
            with fetched(asking, name, columns, in_parts(asking, query, columns), [flag]) as rows:
                made = LocalSlice(asking.database, rows, self.constraints, None, name=name, keep=[is_open])
        try:
            return made, made.numbers(is_open) > 0
        except BaseException:
            made.close()
            raise

    def _with_hash(self, row_hash: str, columns: Sequence[str]) -> exp.Select:
        """Select the rows with a hash of all their values, by which rows differ that the constraints cannot tell."""
        asking = self._asking
        names = [
            column.name for column in asking.schema.columns if not isinstance(column, (AcrossColumn, ComputedColumn))
        ]
        known = [name for name in names if asking.schema[name].type is not None]
        hashed = asking.spelling.row_hash([exp.column(name, quoted=True) for name in known])
        rows = exp.select("*", exp.alias_(hashed, row_hash, quoted=True)).from_(asking.rows.copy())
        schema = TableSchema((*asking.schema.columns, Column(row_hash, "UBIGINT")))
        return slice_tuples(rows.subquery("hashed_row"), schema, self._all, self._where, [*columns, row_hash])

    @contextmanager
    def _lent(
        self, chosen: Mapping[int, tuple[NDArray[np.float64], NDArray[np.bool_]]]
    ) -> Iterator[dict[int, exp.Table]]:
        """Lend the hashes of the values that come, under names that no other process uses."""
        table, lent = self._asking.table, dict[int, exp.Table]()
        names = {place: new_name() for place in chosen}
        try:
            for place, name in names.items():
                lent[place] = table.lend(name, _by_hash(self._values[place].hashes, *chosen[place]))
            yield lent
        finally:
            for name in names.values():
                table.take_back(name)

    def close(self) -> None:
        """Drop the values of order rules."""
        for values in self._values.values():
            values.slice.close()


def _by_hash(hashes: pa.Array, share: NDArray[np.float64], is_open: NDArray[np.bool_]) -> pa.Table:
    """Make the table that is lent: each hash once, with the most that is said of its values."""
    whole = np.ceil(share * ALL).astype(np.int64)
    table = pa.table({HASH: hashes, SHARE: whole, OPEN: is_open.astype(np.int64)}).filter(pa.array(whole > 0))
    said = table.group_by(HASH).aggregate([(SHARE, "max"), (OPEN, "max")])
    return said.select([HASH, f"{SHARE}_max", f"{OPEN}_max"]).rename_columns([HASH, SHARE, OPEN])


def _is_order(dc: BoundConstraint) -> bool:
    shape = block_shape(dc.constraint)
    return shape is not None and shape.order is not None
