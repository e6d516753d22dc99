"""Rows, or their values, in the order that `dpdb.graph.exact.deletions` reads: the query, its answer as integers.

The engine sorts once. Of an order constraint the values of one column come; where two columns are compared with each
other, each row comes twice, with one and with the other value, and nothing but its number leaves the engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from sqlglot import exp

from dpdb.constraints import SortedKind, SortedShape
from dpdb.engine.sql.bind import BoundConstraint, Operand
from dpdb.engine.sql.class_histograms import CLASS_ROWS
from dpdb.engine.sql.coded_rows import integer_column
from dpdb.engine.sql.comparison import is_known

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_IN_64_BITS = re.compile(
    r"U?(TINYINT|SMALLINT|INTEGER)|BIGINT|FLOAT|DOUBLE|DATE|TIME|TIMESTAMP(_S|_MS|_NS|TZ_NS)?|TIMESTAMP WITH TIME ZONE"
)
"""Types whose values come as integers of 64 bits in their order (`_in_64_bits`); of other values ranks come."""

_FIRST, _SECOND, _ROW, _KIND, _SIDE, _VALUE = (
    exp.column(name) for name in ("first", "second", "row", "kind", "side", "value")
)


def sorted_rows(
    bound: BoundConstraint, shape: SortedShape, rows: exp.Expr, conditions: Sequence[exp.Expr] = ()
) -> exp.Select:
    """Return the query of what `numbered` reads: the groups, if need be, and last the numbers, in order. Private.

    Rows that violate nothing are left out: that do not meet the constraint's own conditions, have no value in a column
    of equality, or lack one of the other two where that is enough.

    Parameters
    ----------
    bound, shape
        A constraint and its shape.
    rows : exp.Expr
        A table or subquery without alias that has the constraint's columns, and what the conditions read.
    conditions : sequence of exp.Expr
        Which rows are meant, called `CLASS_ROWS`.
    """
    group, first, second = _operands(bound, shape)
    needed = group if shape.kind is SortedKind.CROSS else [*group, first, second]
    met = [bound.predicates[place].over((CLASS_ROWS, CLASS_ROWS)) for place in shape.conditions]
    # Intervals need not know where a group begins.
    keys = [_over(one) for one in group] if shape.kind is SortedKind.INTERVALS else _integers_of_group(group)
    chosen = exp.select(*(exp.alias_(key, f"g{k}") for k, key in enumerate(keys)))
    chosen = chosen.select(exp.alias_(_over(first), _FIRST.name))
    if shape.kind is SortedKind.ORDER:
        chosen = chosen.select(exp.alias_(_integer(second), _SECOND.name))
    else:
        number = exp.Window(this=exp.RowNumber(), over="OVER")
        chosen = chosen.select(exp.alias_(_over(second), _SECOND.name), exp.alias_(number, _ROW.name))
    chosen = chosen.from_(exp.alias_(rows.copy(), CLASS_ROWS, table=True))
    chosen = chosen.where(
        *(is_known(_over(operand)) for operand in needed), *met, *(each.copy() for each in conditions)
    )
    names = [exp.column(f"g{k}") for k in range(len(keys))]
    if shape.kind is SortedKind.ORDER:
        return _order(chosen, names, shape)
    return _cross(chosen, names, shape) if shape.kind is SortedKind.CROSS else _intervals(chosen, names, shape)


def is_reversed(bound: BoundConstraint, shape: SortedShape, row: str) -> exp.Expr:
    """Return the condition of an interval that ends before it begins.

    Parameters
    ----------
    bound, shape
        A constraint and its shape.
    """
    _, first, second = sorted_columns(bound, shape, row)
    return exp.GT(this=first, expression=second)


def sorted_columns(bound: BoundConstraint, shape: SortedShape, row: str) -> tuple[list[exp.Expr], exp.Expr, exp.Expr]:
    """Return the values of a row, as they are compared: of the columns of equality, and of the two that are ordered.

    Parameters
    ----------
    bound, shape
        A constraint and its shape.
    """
    group, first, second = _operands(bound, shape)
    return [one.over((row, row)) for one in group], first.over((row, row)), second.over((row, row))


def numbered(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Flags, Numbers]]:
    """Read the answer to `sorted_rows`: whether each number is the first one of its group, and the numbers. Private."""
    last: list[np.int64] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        *keys, numbers = (_in_64_bits(batch, column) for column in range(batch.num_columns))
        starts = np.zeros(batch.num_rows, np.bool_)
        for key in keys:
            starts[1:] |= key[1:] != key[:-1]
        starts[0] = [key[0] for key in keys] != last
        last = [key[-1] for key in keys]
        yield starts, numbers


def _order(rows: exp.Select, names: Sequence[exp.Column], shape: SortedShape) -> exp.Select:
    """Sort so that rows without conflict are a longest non-decreasing subsequence of `second`."""
    order = [_ordered(_FIRST, descending=shape.same_way), _ordered(_SECOND, descending=shape.first_ties)]
    query = exp.select(*_copies(names), _SECOND.copy()).from_(rows.subquery("chosen"))
    return query.order_by(*map(_ordered, names), *order)


def _cross(rows: exp.Select, names: Sequence[exp.Column], shape: SortedShape) -> exp.Select:
    """Sort the ends of segments from `first` (0) to `second` (1); no value is below, or above, all others.

    Of equal values lower ends come first, unless equal values violate the constraint.
    """
    ends = _ends(rows, names, [0, 1])
    below, above = (
        exp.Case(ifs=[exp.If(this=is_known(end), true=exp.convert(0))], default=exp.convert(side))
        for end, side in ((_FIRST, -1), (_SECOND, 1))
    )
    ends = ends.select(exp.alias_(_unnested([below, above]), _SIDE.name))
    order = [*map(_ordered, (*names, _SIDE, _VALUE)), _ordered(_KIND, descending=shape.first_ties)]
    return _numbers(ends, names, 2).order_by(*order)


def _intervals(rows: exp.Select, names: Sequence[exp.Column], shape: SortedShape) -> exp.Select:
    """Sort the beginnings (0) and ends (1) of intervals.

    Where those that touch do not overlap, beginnings (3) come last, and ends of intervals without length (2) before.
    """
    kinds: list[exp.Expr | int] = [0, 1]
    if not shape.first_ties:
        is_point = _FIRST.eq(_SECOND)
        kinds = [3, exp.Case(ifs=[exp.If(this=is_point, true=exp.convert(2))], default=exp.convert(1))]
    return _numbers(_ends(rows, names, kinds), [], 4).order_by(*map(_ordered, (*names, _VALUE, _KIND)))


def _ends(rows: exp.Select, names: Sequence[exp.Column], kinds: Sequence[exp.Expr | int]) -> exp.Select:
    kind, value = _unnested(kinds), _unnested([_FIRST.copy(), _SECOND.copy()])
    ends = exp.select(*_copies(names), _ROW.copy(), exp.alias_(kind, _KIND.name), exp.alias_(value, _VALUE.name))
    return ends.from_(rows.subquery("chosen"))


def _numbers(ends: exp.Select, names: Sequence[exp.Column], kinds: int) -> exp.Select:
    """Number rows from 0, and their ends by so many kinds."""
    row = exp.paren(_ROW - 1)
    number = (row * kinds) + _KIND
    return exp.select(*_copies(names), exp.cast(number, "BIGINT")).from_(ends.subquery("row_end"))


# -- values ------------------------------------------------------------------------------------------------------


def _operands(bound: BoundConstraint, shape: SortedShape) -> tuple[list[Operand], Operand, Operand]:
    crossed = shape.kind is not SortedKind.ORDER
    first, second = (_operand(bound, name, crossed=crossed) for name in (shape.first, shape.second))
    return [_operand(bound, name, crossed=False) for name in shape.equal], first, second


def _operand(bound: BoundConstraint, column: str, *, crossed: bool) -> Operand:
    """Find a column as it is compared with itself, or with the other one."""
    between = [each for each in bound.predicates if each.joins_one_column is not crossed and not each.reads_one_tuple]
    operands = [operand for each in between for operand in (each.left, each.right) if isinstance(operand, Operand)]
    return next(operand for operand in operands if operand.column == column)


def _over(operand: Operand) -> exp.Expr:
    return operand.over((CLASS_ROWS, CLASS_ROWS))


def _integer(operand: Operand) -> exp.Expr:
    return _over(operand) if _IN_64_BITS.fullmatch(operand.compared_as) else _rank([operand])


def _integers_of_group(group: Sequence[Operand]) -> list[exp.Expr]:
    """Return what says which rows are of one group: the values, or one rank."""
    known = all(_IN_64_BITS.fullmatch(operand.compared_as) for operand in group)
    return [_over(operand) for operand in group] if known else [_rank(group)]


def _rank(operands: Sequence[Operand]) -> exp.Expr:
    order = exp.Order(expressions=[_ordered(_over(operand)) for operand in operands])
    return exp.Window(this=exp.DenseRank(), order=order, over="OVER")


def _unnested(items: Sequence[exp.Expr | int]) -> exp.Expr:
    return exp.Anonymous(this="unnest", expressions=[exp.Array(expressions=[exp.convert(item) for item in items])])


def _ordered(key: exp.Expr, *, descending: bool = False) -> exp.Ordered:
    return exp.Ordered(this=key.copy(), desc=descending)


def _copies(names: Sequence[exp.Column]) -> list[exp.Expr]:
    return [name.copy() for name in names]


def _in_64_bits(batch: pa.RecordBatch, column: int) -> Numbers:
    """Read a column of a type of `_IN_64_BITS` as integers in the order in which the engine has its values.

    The engine has one zero, and one NaN above all other numbers.
    """
    values = batch.column(column)
    if pa.types.is_floating(values.type):
        floats = integer_column(batch, column).astype(np.float64) + 0.0  # -0.0 becomes 0.0
        floats[np.isnan(floats)] = np.nan
        bits = floats.view(np.int64)
        return np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits)
    if pa.types.is_temporal(values.type):
        values = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64())
    numbers: Numbers = np.from_dlpack(values).astype(np.int64, copy=False)
    return numbers
