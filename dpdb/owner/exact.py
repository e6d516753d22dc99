"""Exact measures, for the owner of the data only: nothing here is private."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from dpdb.constraints import ConstraintsLike
from dpdb.engine import (
    VIOLATIONS,
    LocalSlice,
    Progress,
    Slice,
    SourceLike,
    export_edges,
    no_progress,
    open_local_table,
    violating_pairs,
    violations_of,
)
from dpdb.errors import ParameterError
from dpdb.graph import count_maximal_independent_sets, minimum_vertex_cover
from dpdb.owner.export import write_batches
from dpdb.release import parse_unit
from dpdb.release.conflict_graph import conflict_graph

__all__ = ["ExactMeasures", "exact_measures"]

# The exact repair and maximal_consistency hold the graph in memory; beyond this many edges they are not tried.
_LARGEST_IN_MEMORY = 20_000_000


@dataclass(frozen=True)
class ExactMeasures:
    """True values of one slice. Private: for the owner.

    Attributes
    ----------
    rows : int
    self_conflicts : int
        Rows that violate a single-tuple constraint; they count once in each measure and leave the graph.
    drastic : int
        1 if there is any conflict.
    minimal_inconsistency, problematic : int
    repair_fractional : float
        tau* plus self-conflicts.
    repair_lower, repair_upper : int
        Equal where a solver proved the repair exactly.
    maximal_consistency : int or None
    max_degree : int
    reasons : dict
        For each field that is None or not proved: why.
    by_constraint : list of (text, count), optional
        Violating pairs (rows for single-tuple constraints) of each constraint, whatever others they violate.
    """

    rows: int
    self_conflicts: int
    drastic: int
    minimal_inconsistency: int
    problematic: int
    repair_fractional: float
    repair_lower: int
    repair_upper: int
    maximal_consistency: int | None
    max_degree: int
    reasons: dict[str, str] = field(default_factory=dict)
    by_constraint: tuple[tuple[str, int], ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON; `by_constraint` only if it was asked for."""
        fields = asdict(self)
        if self.by_constraint is None:
            del fields["by_constraint"]
        else:
            fields["by_constraint"] = [{"constraint": text, "violations": n} for text, n in self.by_constraint]
        return fields


def exact_measures(
    source: SourceLike,
    constraints: ConstraintsLike,
    *,
    non_private: bool = False,
    table: str | None = None,
    csv_schema: Mapping[str, str] | None = None,
    where: str | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    by_constraint: bool = False,
    violations: str | Path | None = None,
    materialize: str | Path | None = None,
    time_limit: float = 10.0,
    memory_limit: str | None = None,
    temp_directory: str | Path | None = None,
    threads: int | None = None,
    progress: Progress = no_progress,
) -> ExactMeasures:
    """Compute the true measures of a table. Owner only: the result is not private and has no privacy guarantee.

    Parameters
    ----------
    non_private : bool
        Must be True: the owner says that exact values may leave.
    unit, max_rows : str and int, optional
        Measure what a session with this unit measures: at most `max_rows` rows of each value of the column.
    by_constraint : bool
        Also count the violations of each constraint.
    violations : path, optional
        Write every conflict to this new .csv or .parquet file: constraint, row_1, row_2 (positions in the source from
        0; row_2 is empty for a row that conflicts with itself).
    materialize : path, optional
        Leave the conflict graph in this new DuckDB file; see `dpdb.engine.export_edges`.
    time_limit : float
        Seconds for proving the exact repair.

    Raises
    ------
    ParameterError
        Without `non_private`, if the violations file exists, or if rows are to be written and a unit leaves some out.
    DpdbError
        As `Session`.
    """
    if non_private is not True:
        raise ParameterError(
            "exact values are not private; only the owner of the data may ask, with --non-private (non_private=True)"
        )
    asked = parse_unit(1, unit, max_rows)
    if asked.column is not None and (violations is not None or materialize is not None):
        raise ParameterError("violations and materialize name rows by their place in the source; leave out the unit")
    with open_local_table(
        source,
        table=table,
        csv_schema=csv_schema,
        constraints=constraints,
        unit=asked.column,
        most=asked.rows,
        memory_limit=memory_limit,
        temp_directory=temp_directory,
        threads=threads,
        progress=progress,
    ) as opened:
        part = opened.slice(
            None if where is None else opened.where(where),
            keep_source_row=by_constraint or violations is not None or materialize is not None,
        )
        if violations is not None:
            progress("writing violations")
            write_batches(VIOLATIONS, violating_pairs(part), violations)
        if materialize is not None:
            progress("writing edges")
            export_edges(part, materialize)
        counts = _by_constraint(part) if by_constraint else None
        progress("computing measures")
        return _measures(part, time_limit, counts)


def _by_constraint(part: LocalSlice) -> tuple[tuple[str, int], ...]:
    return tuple((str(bound.constraint), violations_of(part, bound)) for bound in part.constraints)


def _measures(part: Slice, time_limit: float, by_constraint: tuple[tuple[str, int], ...] | None) -> ExactMeasures:
    u = part.self_conflicts
    graph = conflict_graph(part)
    degrees = graph.degree_summary()
    doubled = graph.twice_fractional_cover()
    reasons = {}
    consistent: int | None = None
    if degrees.edge_count > _LARGEST_IN_MEMORY:
        lower, upper = -(-doubled // 2), min(doubled, graph.greedy_cover_size())
        if lower < upper:
            reasons["repair"] = (
                f"more than {_LARGEST_IN_MEMORY:,} conflicts: bounds from the fractional and greedy covers"
            )
        reasons["maximal_consistency"] = f"more than {_LARGEST_IN_MEMORY:,} conflicts"
    else:
        cover = minimum_vertex_cover(graph.adjacency, time_limit=time_limit)
        lower, upper = cover.lower, cover.upper
        consistent, why_not = count_maximal_independent_sets(graph.adjacency)
        if not cover.proved:
            reasons["repair"] = cover.reason or "the solver did not prove the bounds equal"
        if consistent is None:
            reasons["maximal_consistency"] = why_not or "too large to count"
    return ExactMeasures(
        rows=part.row_count,
        self_conflicts=u,
        drastic=int(degrees.edge_count + u > 0),
        minimal_inconsistency=degrees.edge_count + u,
        problematic=degrees.positive_degree_nodes + u,
        repair_fractional=_half(Fraction(doubled, 2) + u),
        repair_lower=lower + u,
        repair_upper=upper + u,
        maximal_consistency=consistent,
        max_degree=degrees.max_degree,
        reasons=reasons,
        by_constraint=by_constraint,
    )


def _half(value: Fraction) -> float:
    return int(value) if value.denominator == 1 else float(value)
