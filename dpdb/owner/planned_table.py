"""The synthetic table that expected errors are simulated on: clean, then dirtied by RNoise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dpdb.constraints import (
    ColumnRef,
    DenialConstraint,
    Predicate,
    functional_dependency,
    key_columns,
    order_dependency,
)
from dpdb.engine import source_rows
from dpdb.errors import ParameterError
from dpdb.opening import open_local_table
from dpdb.owner.dirt import rnoise
from dpdb.owner.dirt.parameters import Purpose, check_count, check_real, generator, known_seed
from dpdb.owner.synthetic_domains import allowed_domains
from dpdb.owner.synthetic_table import SyntheticTable, synthesize
from dpdb.release.conflict_graph import conflict_graph


def consistent_rows(table: pa.Table, constraints: Sequence[DenialConstraint]) -> NDArray[np.int64]:
    """Return the positions of a maximal set of rows without self-conflicts and conflicts: all rows if there are none.

    The rows of fewest conflicts are taken first. For synthetic tables: the result is exact, not private.
    """
    with open_local_table(table, constraints=list(constraints)) as opened:
        part = opened.slice(keep_source_row=True)
        graph = conflict_graph(part, whole=True)
        kept = np.ones(part.node_count, np.bool_)
        if graph.degree_summary().edge_count:
            near = graph.adjacency
            kept = near.independent_nodes(np.argsort(near.degrees, kind="stable"))
        return np.sort(source_rows(part)[kept])


# Larger tables are planned on this many rows, with as many rows per value.
MOST_ROWS = 50_000
MOST_ROWS_IF_GENERAL = 5_000  # where conflicts have to be listed
_LEAST_KEPT = 50  # a synthetic table keeps at least one in this many of its rows
_MOST_MADE = 10  # so many times the rows that are wanted, and no more, are made to keep some of them


@dataclass(frozen=True, eq=False)
class PlannedTable:
    """A dirty synthetic table, the parents of its clean rows, and the guesses that it was made from."""

    rows: pa.Table
    parents: dict[str, pa.Table]
    error_rate: float
    distinct: dict[str, int]
    notes: tuple[str, ...]
    seed: int


def planned_table(
    dcs: Sequence[DenialConstraint],
    types: Mapping[str, str],
    *,
    rows: int,
    error_rate: float,
    distinct: Mapping[str, int],
    values: Mapping[str, Sequence[str]],
    seed: int | None,
) -> PlannedTable:
    """Make a table that satisfies the constraints and change cells of it. Parameters and errors as `plan`."""
    rows, error_rate = check_count("rows", rows), check_real("error_rate", error_rate, low=0, high=1)
    seed = known_seed(seed)
    _check_known(values, types, "values")
    shape, notes = _Shape(rows, _counts(distinct, types, rows), max(1, round(math.sqrt(rows)))), []
    inside = [dc for dc in dcs if dc.inclusion is None]
    if len(inside) < len(dcs):
        notes.append(
            "parents are taken as public; beside private ones plan for epsilon / K (--max-rows K, or --max-children K "
            "where all rules are on single rows, at least / 2) or epsilon / 2K (--max-children K otherwise)"
        )
    most = MOST_ROWS_IF_GENERAL if any(not dc.is_single_tuple for dc in _general(inside)) else MOST_ROWS
    if rows > most:
        shape = shape.scaled(most)
        notes.append(
            f"planned on {most:,} rows instead of {rows:,}, with as many rows per value: relative errors of the whole "
            "table are smaller where every rule compares rows with equal values"
        )
    clean, left_out = _clean(inside, types, shape, values, seed)
    dirty = rnoise(clean.rows, dcs, alpha=error_rate, seed=seed) if error_rate else clean.rows
    notes += [*clean.notes, *left_out]
    return PlannedTable(dirty, _parents(clean.rows, dcs), error_rate, clean.distinct, tuple(notes), seed)


def _parents(clean: pa.Table, dcs: Sequence[DenialConstraint]) -> dict[str, pa.Table]:
    """Make parents with the keys of all clean rows and no others: a row whose key is changed becomes an orphan."""
    parts: dict[str, list[pa.Table]] = {}
    for rule in [dc.inclusion for dc in dcs if dc.inclusion is not None]:
        keys = [clean.column(name) for name in rule.columns]
        parts.setdefault(rule.parent, []).append(pa.table(keys, names=list(rule.parent_columns)))
    return {name: pa.concat_tables(tables, promote_options="default") for name, tables in parts.items()}


@dataclass(frozen=True)
class _Shape:
    """Guesses: number of rows, distinct values by column, and distinct values of the columns without a guess."""

    rows: int
    distinct: dict[str, int]
    usual: int

    def scaled(self, rows: int) -> _Shape:
        """Return the shape of fewer rows with as many rows per value."""
        fewer = {name: max(1, round(count * rows / self.rows)) for name, count in self.distinct.items()}
        return _Shape(rows, fewer, max(1, round(self.usual * rows / self.rows)))


def _counts(guessed: Mapping[str, int], types: Mapping[str, str], rows: int) -> dict[str, int]:
    _check_known(guessed, types, "distinct values")
    for name, count in guessed.items():
        if check_count(f"distinct values of {name!r}", count) > rows:
            raise ParameterError(f"distinct values of {name!r}: {count:,} are more than the {rows:,} rows")
    return dict(guessed)


def _check_known(given: Iterable[str], types: Mapping[str, str], what: str) -> None:
    for name in given:
        if name not in types:
            raise ParameterError(f"{what} of {name!r}: no constraint has that column (known: {', '.join(types)})")


def _clean(
    dcs: Sequence[DenialConstraint],
    types: Mapping[str, str],
    shape: _Shape,
    values: Mapping[str, Sequence[str]],
    seed: int,
) -> tuple[SyntheticTable, list[str]]:
    """Make a table without conflicts: rows that still have conflicts are left out, and others made in their place."""
    rng, rows = generator(seed, Purpose.SYNTHETIC), shape.rows
    plain = [built for dc in dcs if (built := _built_around(dc)) is not None]

    known = allowed_domains(dcs, types, count=4 * rows, usual=shape.usual, given=values, allowed=consistent_rows)

    def made(count: int) -> SyntheticTable:
        return synthesize(plain, types, rows=count, distinct=shape.distinct, usual=shape.usual, rng=rng, known=known)

    first = made(rows)
    if not dcs:
        return first, []
    kept = consistent_rows(first.rows, dcs)
    if len(kept) == rows:
        return first, []
    around = [dc for dc in _general(dcs) if not dc.is_single_tuple or len(dc.table_columns) > 1]
    if _LEAST_KEPT * len(kept) < rows:
        hard = [dc for dc in around if _MOST_MADE * len(consistent_rows(first.rows, [dc])) < rows] or around
        raise ParameterError(
            f"no synthetic table for these constraints: of {rows:,} rows only {len(kept):,} agree with one another"
            + (f"; it is not built around the rule: {_labels(hard)}; plan without it, or name values that agree "
               "(--values COLUMN=V,V)" if hard else "; guess other numbers of distinct values")
        )  # fmt: skip
    more = made(min(round(1.1 * rows * rows / len(kept)), _MOST_MADE * rows))
    kept = consistent_rows(more.rows, dcs)[:rows]
    note = f"of the rows made only {len(kept):,} that agree with one another were kept, so values are not spread evenly"
    return SyntheticTable(more.rows.take(pa.array(kept)), more.distinct, more.notes), [
        note + (f"; they are not made around the rule: {_labels(around)}" if around else "")
    ]


def _labels(dcs: Sequence[DenialConstraint]) -> str:
    return "; ".join(dc.label for dc in dcs)


def _built_around(dc: DenialConstraint) -> DenialConstraint | None:
    """Return a constraint without computed columns which, for values as they are made, mostly implies this one.

    Conditions are left out, which makes it stricter, and a term of one column stands for that column. Rows that
    still violate the constraint are left out of the table later.
    """
    if not dc.computed:
        return dc

    def plain(ref: ColumnRef) -> ColumnRef | None:
        names = set(ref.table_columns)
        return ColumnRef(ref.tuple_index, names.pop()) if len(names) == 1 else None

    kept = []
    for predicate in dc.predicates:
        left = plain(predicate.left)
        right = plain(predicate.right) if isinstance(predicate.right, ColumnRef) else predicate.right
        if not predicate.is_condition:
            if left is None or right is None:
                return None
            kept.append(Predicate(left, predicate.op, right))
    return DenialConstraint(tuple(kept)) if kept else None


def _general(dcs: Sequence[DenialConstraint]) -> list[DenialConstraint]:
    """Return the constraints that synthetic tables are not built around."""
    shapes = (functional_dependency, key_columns, order_dependency)
    around = [(dc, _built_around(dc)) for dc in dcs]
    return [dc for dc, built in around if built is None or not any(shape(built) is not None for shape in shapes)]
