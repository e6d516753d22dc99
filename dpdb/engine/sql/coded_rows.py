"""The rows of a slice as arrays: one integer for each constrained value; and the canonical order of rows and edges.

A column that is only ever compared with itself is replaced by dense ranks, its codes. Every comparison of two of its
values has the same outcome on their codes, so the constraints' SQL stays what it was; NULL stays NULL. Codes never
order rows or edges by themselves: they shift when a value arrives.

In the canonical order rows become nodes, and edges are ordered over them. Rows are ordered by a hash of their
constrained values, then by the values themselves. The hash reads one row, and codes keep the order of values, so the
order of two rows depends on these two alone: a row that comes or goes shifts the ranks of others, and never swaps them.
Rows equal in all constrained values are interchangeable in every conflict. Edges are ordered by the rank of their first
row, then by the first constraint that they violate, then by the rank of their second row. Projections keep edges
greedily in this order, and the proofs of their sensitivities rest on what is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from dpdb.database import Database, filled, filled_select
from dpdb.engine.sql.bind import BoundConstraint
from dpdb.engine.sql.comparison import is_known
from dpdb.engine.sql.input_rows import hash_of
from dpdb.errors import EngineError
from dpdb.schema import free_name
from dpdb.thresholds import FEW_ROWS, HASH_BITS, SHARED_HASHES, SHORT_CODES

ROW = "row"
"""The alias of the rows in what they are asked."""
_LENT = "coded_row"

_COLUMNS_AT_ONCE = 32


class SharedHashError(Exception):
    """Two texts of a column have one hash. It is always caught: texts are copied then."""


@dataclass(frozen=True)
class CopiedHashes:
    """Which columns of a table of our own database are hashes.

    Attributes
    ----------
    texts : dict of str to exp.Expr
        For each such column rows that have its texts, among them those of every hash.
    order : exp.Expr
        The hash of the row's values, of a row aliased `ROW`.
    """

    texts: Mapping[str, exp.Expr]
    order: exp.Expr


class CodedRows:
    """Some columns of a table of our own database as order-preserving codes, and the rows' canonical order.

    The database gives each row with its number in its table, so that neither its threads nor its joins have to keep an
    order. Of a large table one column is coded at a time: neither the hash tables of several columns nor wide rows lie
    in memory together. Of a small one many are, for planning a query takes longer there than running it.

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
    copied : CopiedHashes, optional
        What the table has hashes of. Default: it has all values.

    Raises
    ------
    SharedHashError
        If two texts of a column have one hash, so that it does not stand for one text.

    Attributes
    ----------
    count : int
        Rows. Private.
    codes : dict of str to int32 or int16 array (rows,)
        Ranks of the column's values; -1 for NULL.
    """

    def __init__(
        self,
        database: Database,
        rows: exp.Table,
        number: str,
        columns: Sequence[str],
        dictionary: exp.Table,
        *,
        copied: CopiedHashes | None = None,
    ) -> None:
        self._database, self._rows, self._number = database, rows, number
        self.count = int(database.value(filled("row_count", rows=rows)))
        self._hashes = np.zeros(self.count, np.uint64)
        self._fill(self._hashes, row_hashes(rows, number, columns) if copied is None else self._of_rows(copied.order))
        texts = {} if copied is None else copied.texts
        found = {name: self._coded_by_hash(name, dictionary, values) for name, values in texts.items()}
        others = [name for name in columns if name not in found]
        if self.count > FEW_ROWS.at:
            found |= {name: self._coded(name, dictionary) for name in others}
        else:
            for first in range(0, len(others), _COLUMNS_AT_ONCE):
                found |= self._coded_together(others[first : first + _COLUMNS_AT_ONCE])
        self.codes: dict[str, Codes] = {name: found[name] for name in columns}

    def canonical_order(self, rows: Rows | None = None) -> Rows:
        """Sort rows (default: all) canonically, see `canonical_order`."""
        return canonical_order(self._hashes, list(self.codes.values()), rows)

    def ask(self, integer: exp.Expr, kind: npt.DTypeLike) -> npt.NDArray[Any]:
        """Compute an integer without NULL from each row, aliased `ROW`. Needs the table, as `largest_group_of`."""
        found = np.zeros(self.count, kind)
        self._fill(found, self._of_rows(integer))
        return found

    def _of_rows(self, integer: exp.Expr) -> exp.Select:
        rows, number = exp.alias_(self._rows.copy(), ROW, table=True), exp.column(self._number, table=ROW, quoted=True)
        return exp.select(number, integer).from_(rows)

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
        return CountedGroups(rows, self._database.value).largest_group_of(key)

    def _coded(self, column: str, dictionary: exp.Table) -> Codes:
        with self._dictionary(self._rows, column, dictionary):
            return self._codes_from(column, dictionary)

    def _coded_by_hash(self, column: str, dictionary: exp.Table, values: exp.Expr) -> Codes:
        """Code a column of hashes by the texts that they are of.

        Exact: the dictionary has every text of the column, and no two of them have one hash.
        """
        with self._dictionary(values, column, dictionary):
            by_hash = exp.select(exp.alias_(hash_of([exp.column("value")]), "value"), "rowid").from_(dictionary.copy())
            distinct = exp.Count(this=exp.Distinct(expressions=[exp.column("value")]))
            ((texts, hashes),) = self._database.rows(
                exp.select(exp.Count(this=exp.Star()), distinct).from_(by_hash.subquery("by_hash"))
            )
            if texts - hashes > SHARED_HASHES.at:
                raise SharedHashError
            return self._codes_from(column, by_hash.subquery())

    @contextmanager
    def _dictionary(self, values: exp.Expr, column: str, dictionary: exp.Table) -> Iterator[None]:
        """Keep the distinct values of a column, in order, while the block lasts."""
        self._database.execute(filled_select("dictionary", rows=values, column=column).ctas(dictionary.copy()))
        try:
            yield
        finally:
            self._database.execute(f"DROP TABLE {dictionary.sql('duckdb')}")

    def _codes_from(self, column: str, dictionary: exp.Expr) -> Codes:
        codes = np.full(self.count, -1, np.int32)
        self._fill(codes, filled("codes", rows=self._rows, number=self._number, column=column, dictionary=dictionary))
        return codes.astype(np.int16) if int(codes.max(initial=-1)) < SHORT_CODES.at else codes

    def _coded_together(self, columns: Sequence[str]) -> dict[str, Codes]:
        """Code some columns in one query, of (place of the column, number of the row, code)."""
        codes = np.full((len(columns), self.count), -1, np.int32)
        queries = [
            filled_select("few_codes", place=place, number=self._number, column=name, rows=self._rows)
            for place, name in enumerate(columns)
        ]
        for batch in self._database.stream(exp.union(*queries, distinct=False) if queries[1:] else queries[0]):
            codes[integer_column(batch, 0), integer_column(batch, 1)] = integer_column(batch, 2)
        return dict(zip(columns, codes, strict=True))

    def _fill(self, found: npt.NDArray[Any], query: exp.Expr) -> None:
        """Write what a query computes from each row, beside the row's number, to its place."""
        for batch in self._database.stream(query):
            found[integer_column(batch, 0)] = integer_column(batch, 1)

    def lent(self, columns: Sequence[str]) -> pa.Table:
        """Return the codes of columns as a table, NULL where a row has no value. Private."""
        return pa.table({name: _nullable(self.codes[name]) for name in columns})

    def create_ranked(
        self, target: exp.Table, *, rank: str, columns: Sequence[str], coded: Sequence[str], beside: Sequence[str]
    ) -> None:
        """Create the table of the rows in canonical order: `rank` from 0, codes or values, and columns beside them.

        Parameters
        ----------
        coded
            Those of them that it has as codes instead of values.
        beside
            Further columns, which have no part in the order.
        """
        order = self.canonical_order()
        row = free_name("number", [rank, *columns, *beside])
        ranked = {rank: integer_array(np.arange(self.count, dtype=np.uint32)), row: integer_array(order)}
        ranked |= {name: _nullable(self.codes[name][order]) for name in coded}
        columns_kept = [*columns, *beside]
        lent = exp.to_table(_LENT)
        if set(columns_kept) <= set(coded):
            query = filled_select("ranked_codes", columns=[rank, *columns_kept], coded=lent)
        else:
            fields = [
                exp.column(name, table=_LENT if name in ranked else ROW, quoted=True) for name in [rank, *columns_kept]
            ]
            query = filled_select(
                "ranked_row", columns=fields, coded=lent, rows=self._rows, number=self._number, place=row
            )
        with self._database.arrow_table(_LENT, pa.table(ranked)):
            self._database.execute(query.ctas(target.copy()))


def largest_group_size(rows: exp.Expr, keys: Sequence[exp.Expr]) -> exp.Select:
    """Return the query of the size of the largest group of rows that agree in keys and have each: NULL if none has."""
    return filled_select("degree_bound", rows=rows, known=[is_known(key) for key in keys], keys=keys)


@dataclass(frozen=True)
class CountedGroups:
    """The groups of rows, each counted by a GROUP BY (implements `dpdb.engine.sql.joins.Groups`). Private.

    Attributes
    ----------
    rows : exp.Expr
        The rows, aliased `ROW`.
    """

    rows: exp.Expr
    value: Callable[[exp.Select], Any]

    def largest_group(self, columns: Sequence[str]) -> int:
        """Size of the largest group of rows that agree in some columns and have a value in each; all rows if none."""
        return self._largest([exp.column(name, table=ROW, quoted=True) for name in columns])

    def largest_group_of(self, key: exp.Expr) -> int:
        """Size of the largest group of rows, aliased `ROW`, that agree in a key that is not NULL."""
        return self._largest([key])

    def _largest(self, keys: Sequence[exp.Expr]) -> int:
        return int(self.value(largest_group_size(self.rows.copy(), keys)) or 0)


def _nullable(codes: Codes) -> pa.Array:
    known = np.packbits(codes >= 0, bitorder="little")
    buffers = [pa.py_buffer(known), pa.py_buffer(codes.astype(np.uint32))]
    return pa.Array.from_buffers(pa.uint32(), codes.size, buffers)


def coded_columns(constraints: Sequence[BoundConstraint], columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that no constraint over two tuples compares with another column or a constant.

    They alone are stored as codes: of other columns constraints read the values, too.
    """
    pairwise = [dc for dc in constraints if not dc.constraint.is_single_tuple]
    compared = {name for dc in pairwise for name in dc.columns}
    apart = [predicate for dc in pairwise for predicate in dc.predicates if not predicate.joins_one_column]
    other = {operand.column for predicate in apart for operand in predicate.operands}
    return tuple(name for name in columns if name in compared and name not in other)


Nodes = npt.NDArray[np.uint32]
Codes = npt.NDArray[np.signedinteger[Any]]
Rows = npt.NDArray[np.int64]

_BITS = np.uint64(32)


def row_hashes(rows: exp.Table, number: str, columns: Sequence[str]) -> exp.Expr:
    """Return the query of the hashes by which rows are ordered first; `columns` as the public schema orders them."""
    return filled("row_hash", rows=rows, number=number, columns=columns)


def canonical_order(hashes: npt.NDArray[np.uint64], codes: Sequence[Codes], rows: Rows | None = None) -> Rows:
    """Sort rows canonically: by hash, then by their codes, then by position.

    Sorted by most bits of the hash first. Only where rows that are equal in these differ in the others or in a code,
    which hardly ever happens, they are sorted by them: by the codes of the first column first, NULL (-1) after all
    others.

    Parameters
    ----------
    hashes, codes : array (all rows,)
        Of each row; an array of codes for each column.
    rows : array, optional
        Ascending positions of the rows that are wanted. Default: all. The order of any rows is the restriction of the
        whole order, since the order of two rows depends on these two alone.

    Returns
    -------
    array
        Their positions: that of the first row, that of the second one, and so on.
    """
    if rows is not None and rows.size == hashes.size:
        rows = None  # all of them
    wanted = hashes if rows is None else hashes[rows]
    # One sort of integers: of the hash as many bits as the place leaves, and the place below them.
    bits = np.uint64(max(1, int(wanted.size).bit_length(), min(63, 64 - int(HASH_BITS.at))))
    keys = (wanted >> bits << bits) | np.arange(wanted.size, dtype=np.uint64)
    keys.sort()
    pairs = np.flatnonzero((keys[1:] ^ keys[:-1]) >> bits == 0)  # the next row's bits are the same
    order = (keys & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
    del keys
    if rows is not None:
        order = rows[order]
    one, other = order[pairs], order[pairs + 1]
    differ = hashes[one] != hashes[other]
    for column in codes:
        differ |= column[one] != column[other]
    if differ.any():
        run = np.cumsum(np.append(True, np.diff(pairs) != 1))  # which run of equal bits each pair is in
        mixed_pairs = pairs[np.isin(run, run[differ])]
        places = np.union1d(mixed_pairs, mixed_pairs + 1)
        mixed = order[places]
        by_codes = [column[mixed].view(f"u{column.itemsize}") for column in reversed(codes)]
        order[places] = mixed[np.lexsort((*by_codes, hashes[mixed]))]
    return order


class TableEdges:
    """The materialized conflict edges in canonical order (implements `dpdb.graph.OrderedEdges`)."""

    def __init__(self, database: Database, table: exp.Table | exp.Subquery | None, node_count: int) -> None:
        self._database, self._table = database, table
        self.node_count = node_count  # node i is the row of canonical rank i

    @property
    def edge_count(self) -> int:
        """Edges. Private."""
        if self._table is None:
            return 0
        return int(self._database.value(filled("row_count", rows=self._table)))

    def batches(self) -> Iterator[tuple[Nodes, Nodes]]:
        """Stream (u, v) in the order in which the table was written: of `conflict_edge`, the canonical one."""
        if self._table is None:
            return
        for batch in self._database.stream(filled("edge_scan", edges=self._table)):
            yield integer_column(batch, 0), integer_column(batch, 1)


def refuse_repeated(batches: Iterable[tuple[Nodes, Nodes]]) -> None:
    """Refuse edges (u, v) that are not u < v, by ascending u, each once.

    One sort of integers for each batch: .08 seconds for a million edges, where a primary key takes 1.2 and keeps all of
    them in memory.

    Raises
    ------
    EngineError
        If they are not.
    """
    rest, done = np.empty(0, np.uint64), np.uint32(0)
    for u, v in batches:
        if not u.size:
            continue
        if u[0] < done or (u[1:] < u[:-1]).any() or (u >= v).any():
            _refuse()
        done = u[-1]
        pairs = np.concatenate([rest, u.astype(np.uint64) << _BITS | v])
        goes_on = pairs >> _BITS == done  # perhaps, in the next batch
        if _has_equal(np.sort(pairs[~goes_on])):
            _refuse()
        rest = pairs[goes_on]
    if _has_equal(np.sort(rest)):
        _refuse()


def _has_equal(ascending: npt.NDArray[np.uint64]) -> bool:
    return bool((ascending[1:] == ascending[:-1]).any())


def _refuse() -> None:
    raise EngineError("the edge table lists a pair of rows twice or out of order: please report this defect")


def integer_array(values: npt.NDArray[Any]) -> pa.Array:
    """Return integers as a column, without a copy (`pa.array` would import pandas where it is installed)."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, [None, pa.py_buffer(values)])


def integer_column(rows: pa.RecordBatch | pa.Table, column: int | str) -> npt.NDArray[Any]:
    """Read an integer column without NULL, without `to_numpy`, which would import pandas where it is installed."""
    found = rows.column(column)
    return np.from_dlpack(found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found)
