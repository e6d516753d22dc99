"""`Column`: one column under change. Its active domain is that of the given table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from dpdb.constraints import DenialConstraint
from dpdb.errors import ConstraintTypeError
from dpdb.owner.dirt.cell import (
    BooleanCell,
    BytesCell,
    Cell,
    DecimalCell,
    FloatCell,
    InstantCell,
    IntegerCell,
    TextCell,
    TimeCell,
    Value,
)
from dpdb.schema import refuse_duplicate_names


class Column:
    """A column of a table, with the changes that noise makes to its cells.

    Attributes
    ----------
    plain : pyarrow.ChunkedArray
        The original column in the plain type of `cell`.
    """

    def __init__(self, table: pa.Table, name: str) -> None:
        self.name = name
        self._given: pa.ChunkedArray = table.column(name)
        arrow = self._given.type
        self.cell = _cell(name, arrow.value_type if pa.types.is_dictionary(arrow) else arrow)
        decoded = self._given.cast(self.cell.arrow) if pa.types.is_dictionary(arrow) else self._given
        self.plain = self.cell.plain(decoded)
        self._changed: dict[int, Value] = {}

    def values_at(self, rows: npt.NDArray[np.int64]) -> list[Value | None]:
        """Return the original values of some rows."""
        return self.cell.values(self.plain.take(pa.array(rows)))

    def __getitem__(self, row: int) -> Value | None:
        """Return the current value of one row."""
        return self._changed[row] if row in self._changed else self.cell.values(self.plain.slice(row, 1))[0]

    def __setitem__(self, row: int, value: Value) -> None:
        self._changed[row] = value

    @cached_property
    def counted_domain(self) -> tuple[list[Value], npt.NDArray[np.int64]]:
        """The distinct values of the original column except NULL, ascending, and how often each occurs."""
        values, counts = self.cell.canonical(self.plain.drop_null()).value_counts().flatten()
        order = pc.sort_indices(values)
        return self.cell.values(values.take(order)), counts.take(order).to_numpy()

    def result(self, changes: Mapping[int, Value | None] | None = None) -> pa.ChunkedArray:
        """Return the column, in its original type, with changes (by default those assigned) made."""
        changes = self._changed if changes is None else changes
        if not changes:
            return self._given
        rows = np.fromiter(changes, np.int64, len(changes))
        order = np.argsort(rows)
        values = list(changes.values())
        replacements = self.cell.array([values[k] for k in order])
        mask = np.zeros(len(self._given), dtype=bool)
        mask[rows] = True
        if pa.types.is_dictionary(self._given.type):
            return _encoded(pc.replace_with_mask(self.plain, pa.array(mask), replacements), self._given.type)
        return pc.replace_with_mask(self.plain, pa.array(mask), replacements).cast(self._given.type)


def constrained_columns(table: pa.Table, constraints: Iterable[DenialConstraint]) -> list[Column]:
    """Return the columns that occur in at least one constraint, in the table's order.

    Raises
    ------
    ConstraintTypeError
        If noise cannot change values of a column's type.
    SourceError
        If two columns have one name.
    """
    refuse_duplicate_names(table.column_names)
    named = {name for dc in constraints for name in dc.table_columns}
    return [Column(table, name) for name in table.column_names if name in named]


def with_columns(table: pa.Table, changed: Mapping[str, pa.ChunkedArray]) -> pa.Table:
    """Return the table with some columns replaced; names and column order stay."""
    for name, data in changed.items():
        at = table.column_names.index(name)
        table = table.set_column(at, table.schema.field(at).with_type(data.type), data)
    return table


def _cell(name: str, arrow: pa.DataType) -> Cell:
    is_a = pa.types
    kinds = (
        (is_a.is_integer, IntegerCell),
        (lambda kind: is_a.is_float32(kind) or is_a.is_float64(kind), FloatCell),
        (is_a.is_decimal, DecimalCell),
        (is_a.is_boolean, BooleanCell),
        (lambda kind: is_a.is_string(kind) or is_a.is_large_string(kind) or is_a.is_string_view(kind), TextCell),
        (lambda kind: is_a.is_binary(kind) or is_a.is_large_binary(kind) or is_a.is_binary_view(kind), BytesCell),
        (lambda kind: is_a.is_date32(kind) or is_a.is_timestamp(kind), InstantCell),
        (is_a.is_time, TimeCell),
    )
    for matches, kind in kinds:
        if matches(arrow):
            return kind(arrow)
    raise ConstraintTypeError(f"column {name!r} has type {arrow}, in which noise cannot change values")


def _encoded(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Encode as a dictionary, which includes the typos; its indices widen if necessary."""
    encoded = pa.array(column.cast(wanted.value_type).combine_chunks()).dictionary_encode()
    fits = len(encoded.dictionary) <= np.iinfo(wanted.index_type.to_pandas_dtype()).max
    indices = encoded.indices.cast(wanted.index_type) if fits else encoded.indices
    return pa.chunked_array([pa.DictionaryArray.from_arrays(indices, encoded.dictionary, ordered=wanted.ordered)])
