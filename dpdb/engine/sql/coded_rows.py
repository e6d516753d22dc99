"""`CodedRows`: the rows of a slice as arrays, one integer for each constrained value, in the order of their table.

The database gives each row with its number in its table, so that neither its threads nor its joins have to keep an
order. Of a large table one column is coded at a time: neither the hash tables of several columns nor wide rows lie in
memory together. Of a small one many are, for planning a query takes longer there than running it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from dpdb.database import Database
from dpdb.engine.sql.codes import code_of, create_codes
from dpdb.engine.sql.known import is_known
from dpdb.engine.sql.rank import Codes, Rows, canonical_order, hash_of, integer_column
from dpdb.schema import free_name
from dpdb.thresholds import FEW_ROWS

__all__ = ["ROW", "CodedRows", "largest_group_size"]

ROW = "row"
"""The alias of the rows in what they are asked."""
_CODE, _LENT = "code", "coded_row"

_COLUMNS_AT_ONCE = 32


class CodedRows:
    """Some columns of a table of our own database as order-preserving codes, and the rows' canonical order.

    Parameters
    ----------
    rows : exp.Table
        The table. It must not change; it may be dropped where all that is asked is known from codes.
    number : str
        Its column of the rows' numbers, 0, 1, ...: `rowid`, unless a column of that name hides it.
    columns : sequence of str
        In an order that the public schema fixes.
    dictionary : exp.Table
        A free name for what is made for one column at a time.

    Attributes
    ----------
    count : int
        Rows. Private.
    codes : dict of str to int32 array (rows,)
        Ranks of the column's values; -1 for NULL.
    """

    def __init__(
        self, database: Database, rows: exp.Table, number: str, columns: Sequence[str], dictionary: exp.Table
    ) -> None:
        self._database, self._rows, self._number = database, rows, exp.column(number, table=ROW, quoted=True)
        self.count = int(database.value(exp.select(exp.Count(this=exp.Star())).from_(rows.copy())))
        self._hashes = np.zeros(self.count, np.uint64)
        self._fill(self._hashes, [hash_of(ROW, columns)], exp.select())
        self.codes: dict[str, Codes] = {}
        if self.count > FEW_ROWS.at:
            self.codes |= {name: self._coded(name, dictionary) for name in columns}
        else:
            for first in range(0, len(columns), _COLUMNS_AT_ONCE):
                self.codes |= self._coded_together(columns[first : first + _COLUMNS_AT_ONCE])

    def canonical_order(self, rows: Rows | None = None) -> Rows:
        """Sort rows (default: all) canonically, see `canonical_order`."""
        return canonical_order(self._hashes, list(self.codes.values()), rows)

    def ask(self, integer: exp.Expr, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """Compute an integer without NULL from each row, aliased `ROW`. Needs the table, as `largest_group_of`."""
        found = np.zeros(self.count, kind)
        self._fill(found, [integer], exp.select())
        return found

    def largest_group(self, columns: Sequence[str]) -> int:
        """Size of the largest group of rows that agree in some columns and have a value in each; all rows if none."""
        if not columns:
            return self.count
        first, *others = (self.codes[name] for name in columns)
        known, group = first >= 0, first.astype(np.int64)
        for codes in others:
            known &= codes >= 0
            group = np.unique(group * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1]
        return int(np.bincount(group[known], minlength=1).max())

    def largest_group_of(self, key: exp.Expr) -> int:
        """Size of the largest group of rows, aliased `ROW`, that agree in a key that is not NULL."""
        rows = exp.alias_(self._rows.copy(), ROW, table=True)
        return int(self._database.value(largest_group_size(rows, [key])) or 0)

    def _coded(self, column: str, dictionary: exp.Table) -> Codes:
        create_codes(self._database, self._rows, column, dictionary)
        codes = np.full(self.count, -1, np.int32)
        value = exp.column(column, table=ROW, quoted=True).eq(exp.column("value", table=_CODE, quoted=True))
        joined = exp.select().join(exp.alias_(dictionary.copy(), _CODE, table=True), on=value)
        self._fill(codes, [exp.column("rowid", table=_CODE)], joined)
        self._database.execute(f"DROP TABLE {dictionary.sql('duckdb')}")
        return codes

    def _coded_together(self, columns: Sequence[str]) -> dict[str, Codes]:
        """Code some columns in one query, of (place of the column, number of the row, code)."""
        codes = np.full((len(columns), self.count), -1, np.int32)
        rows = exp.alias_(self._rows.copy(), ROW, table=True)
        queries = []
        for place, name in enumerate(columns):
            value = exp.column(name, table=ROW, quoted=True)
            query = exp.select(exp.convert(place), self._number.copy(), code_of(value))
            queries.append(query.from_(rows.copy()).where(is_known(value)))
        for batch in self._database.stream(exp.union(*queries, distinct=False) if queries[1:] else queries[0]):
            codes[integer_column(batch, 0), integer_column(batch, 1)] = integer_column(batch, 2)
        return dict(zip(columns, codes, strict=True))

    def _fill(self, found: npt.NDArray[Any], integers: Sequence[exp.Expr], query: exp.Select) -> None:
        query = query.from_(exp.alias_(self._rows.copy(), ROW, table=True))
        for batch in self._database.stream(query.select(self._number.copy(), *integers)):
            found[integer_column(batch, 0)] = integer_column(batch, 1)

    def create_ranked(
        self, target: exp.Table, *, rank: str, columns: Sequence[str], coded: Sequence[str], beside: Sequence[str]
    ) -> None:
        """Create the table of the rows in canonical order: `rank` from 0, codes or values, and columns beside them.

        Parameters
        ----------
        target
            The table to make.
        rank
            Name of its column of ranks.
        columns
            Columns of the rows that it has.
        coded
            Those of them that it has as codes instead of values.
        beside
            Further columns, which have no part in the order.
        """
        order = self.canonical_order()
        row = free_name("number", [rank, *columns, *beside])
        ranked = {rank: pa.array(np.arange(self.count, dtype=np.uint32)), row: pa.array(order)}
        ranked |= {name: _nullable(self.codes[name][order]) for name in coded}
        kept = [*columns, *beside]
        fields = [exp.column(name, table=_LENT if name in ranked else ROW, quoted=True) for name in [rank, *kept]]
        query = exp.select(*fields).from_(exp.to_table(_LENT))
        if not set(kept) <= set(coded):
            number = self._number.eq(exp.column(row, table=_LENT, quoted=True))
            query = query.join(exp.alias_(self._rows.copy(), ROW, table=True), on=number)
        with self._database.arrow_table(_LENT, pa.table(ranked)):
            self._database.execute(query.ctas(target.copy()))


def largest_group_size(rows: exp.Expr, keys: Sequence[exp.Expr]) -> exp.Select:
    """Return the query of the size of the largest group of rows that agree in keys and have each: NULL if none has."""
    size = exp.alias_(exp.Count(this=exp.Star()), "size")
    groups = exp.select(size).from_(rows).where(*map(is_known, keys)).group_by(*(key.copy() for key in keys))
    return exp.select(exp.Max(this=exp.column("size"))).from_(groups.subquery("groups"))


def _nullable(codes: Codes) -> pa.Array:
    return pa.array(codes.astype(np.uint32), mask=codes < 0)
