"""Counts of what the cells of a column of text look like. Exact, for the owner only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpdb.engine.sql.known import is_known
from dpdb.engine.table import LocalTable
from dpdb.sources import typed

__all__ = ["CellCounts", "count_cells"]


@dataclass(frozen=True)
class CellCounts:
    """Cells of a column that are not empty; those that are no missing word; of these, those that fit each candidate.

    `like` counts the cells, missing or not, that match a further pattern; `values` for each candidate those that have a
    value where its type is declared: the others are NULL then.
    """

    cells: int
    known: int
    like: int
    fitting: list[int]
    values: list[int]


def count_cells(
    table: LocalTable,
    name: str,
    candidates: Sequence[tuple[str, str]],
    *,
    missing: Sequence[str],
    like: str,
    first: int | None = None,
) -> CellCounts:
    """Count the cells of a column. Private.

    Parameters
    ----------
    candidates : sequence of (type, pattern)
        A cell fits one if it matches its pattern, whole and without regard to case, and converts to its type.
    missing : sequence of str
        Words for a cell that is not there, in lower case.
    like : str
        A further pattern to count.
    first : int, optional
        Look at so many different cells only.
    """
    column = exp.column(name, quoted=True)
    present = is_known(column)
    words = exp.select(exp.alias_(column, "word"), exp.alias_(exp.Count(this=exp.Star()), "cells"))
    words = words.from_(table.rows.scan.copy()).where(present).group_by(column.copy())
    if first is not None:
        words = words.limit(first)
    word = exp.column("word")
    cell = exp.Lower(this=exp.Trim(this=word))
    there = exp.In(this=cell, expressions=[exp.Literal.string(each) for each in missing]).not_()
    converts = [is_known(typed(word.copy(), kind)) for kind, _ in candidates]
    looks = [_looks(cell, pattern) for _, pattern in candidates]
    fits = [exp.and_(there, *both) for both in zip(looks, converts, strict=True)]
    sums = [_summed(condition) for condition in (exp.true(), there, _looks(cell, like), *fits, *converts)]
    totals = table.database.rows(exp.select(*sums).from_(words.subquery("word")))[0]
    cells, known, alike, *fitting = (int(total or 0) for total in totals)
    return CellCounts(cells, known, alike, fitting[: len(candidates)], fitting[len(candidates) :])


def _looks(cell: exp.Expr, looks: str) -> exp.Expr:
    return exp.Anonymous(this="regexp_full_match", expressions=[cell.copy(), exp.Literal.string(looks.lower())])


def _summed(condition: exp.Expr) -> exp.Expr:
    total = exp.Sum(this=exp.column("cells"))
    return exp.Filter(this=total, expression=exp.Where(this=condition.copy()))
