"""The choice of a slice's conflict graph: blocks of rows where every constraint allows, else edges.

Both scan in one canonical order, so every statistic is the same value on either. The choice reads constraint shapes
only; it changes time and memory, never an answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from dpdb.constraints import DenialConstraint, functional_dependency, key_columns, order_dependency
from dpdb.engine import BoundConstraint, Slice, coded_columns, may_coincide
from dpdb.graph import BlockConstraint, BlockGraph, EdgeGraph, by_class, by_order, load_block_kernels, load_edge_kernels

__all__ = ["ConflictGraph", "conflict_graph", "has_blocks", "load_kernels"]

ConflictGraph = BlockGraph | EdgeGraph
Codes = Mapping[str, NDArray[np.int32]]


def load_kernels(constraints: Sequence[BoundConstraint], statistics: Iterable[str]) -> None:
    """Load what the conflict graph of a slice under these constraints needs for some of its statistics.

    Compiles it at the first time on a machine. Reads constraint shapes only; see `dpdb.graph.loading`.
    """
    pairwise = [dc for dc in constraints if not dc.constraint.is_single_tuple]
    coded = coded_columns(constraints, sorted({name for dc in constraints for name in dc.columns}))
    blocks = all(has_blocks(dc, coded) for dc in pairwise)
    ordered = any(order_dependency(dc.constraint) is not None for dc in pairwise)
    for statistic in statistics:
        if blocks:
            load_block_kernels(statistic, ordered=ordered, alone=len(pairwise) == 1)
        else:
            load_edge_kernels(statistic)


def conflict_graph(slice_: Slice, *, materialize: bool = False) -> ConflictGraph:
    """Return the conflict graph of a slice, factorized unless a constraint has no blocks or `materialize` is asked."""
    pairwise = [dc for dc in slice_.constraints if not dc.constraint.is_single_tuple]
    if materialize or not all(has_blocks(dc, slice_.coded) for dc in pairwise):
        return EdgeGraph(slice_.edges)
    codes = slice_.codes()
    blocks = [_block(dc.constraint, codes, slice_.node_count) for dc in pairwise]
    tested = np.array([may_coincide(one, other) for one in pairwise for other in pairwise], np.bool_)
    return BlockGraph(slice_.node_count, blocks, tested.reshape(len(pairwise), len(pairwise)))


def has_blocks(dc: BoundConstraint, coded: Sequence[str]) -> bool:
    """Return whether a constraint's conflicts lie inside groups of coded rows. Public: reads its shape only."""
    shapes = (functional_dependency, key_columns, order_dependency)
    return set(dc.columns) <= set(coded) and any(shape(dc.constraint) is not None for shape in shapes)


def _block(dc: DenialConstraint, codes: Codes, row_count: int) -> BlockConstraint:
    dependency, key, order = functional_dependency(dc), key_columns(dc), order_dependency(dc)
    if dependency is not None:
        return by_class([codes[name] for name in dependency.lhs], codes[dependency.rhs], row_count)
    if key is not None:
        return by_class([codes[name] for name in key], None, row_count)
    assert order is not None
    prefix = [codes[name] for name in order.prefix]
    return by_order(prefix, codes[order.first], codes[order.second], opposite=order.opposite, row_count=row_count)
