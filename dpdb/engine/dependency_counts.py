"""Counts of columns and of pairs of them, for scores of dependencies and keys: a query for each, whoever answers it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlglot import exp

from dpdb.engine.sql.pair_counts import PairCounts, ValueCounts, pair_counts, pair_of, value_counts, values_of

__all__ = ["DependencyCounts", "count_dependencies"]

_Ask: TypeAlias = Callable[[exp.Select], Sequence[Any]]
_Rows: TypeAlias = Callable[[set[str]], exp.Expr]


@dataclass(frozen=True)
class DependencyCounts:
    """The counts of some columns, and of some pairs of columns, in the order in which they were asked. Private."""

    values: Sequence[ValueCounts]
    pairs: Sequence[PairCounts]


def count_dependencies(
    ask: _Ask, rows: _Rows, columns: Sequence[str], pairs: Sequence[tuple[str, str]], *, spread: bool = False
) -> DependencyCounts:
    """Count columns and pairs. Which queries are asked depends on no row. Private.

    Parameters
    ----------
    ask
        Answers a query of one row.
    rows
        Returns a table or subquery without alias that has some columns.
    columns, pairs
        What is counted.
    spread
        See `pair_counts`.
    """
    return DependencyCounts(
        [values_of(ask(value_counts(rows({name}), name))) for name in columns],
        [pair_of(ask(pair_counts(rows({*pair}), *pair, spread=spread))) for pair in pairs],
    )
