"""Exact measures, for the owner of the data only: nothing here is private."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import NDArray

from dpdb.constraints import ConstraintsLike, known_rows
from dpdb.engine import Progress, Slice, Table, TableSettings, TableSpec, WherePredicate, export_edges, no_progress
from dpdb.errors import ParameterError
from dpdb.graph import count_maximal_independent_sets, minimum_vertex_cover
from dpdb.measures import EXACT, TrueNumbers, all_measures
from dpdb.names import nearest_words
from dpdb.opening import is_remote, open_local_table, open_table
from dpdb.owner.listing import Listing
from dpdb.release import CountedStatistics
from dpdb.release.conflict_graph import conflict_graph
from dpdb.sources import Faults, SourceLike

if TYPE_CHECKING:
    from dpdb.engine import StatisticKind

# The exact repair and maximal_consistency hold the graph in memory; beyond this many edges they are not tried.
_LARGEST_IN_MEMORY = 20_000_000


def exact_measures(
    source: SourceLike,
    constraints: ConstraintsLike,
    *,
    non_private: bool = False,
    table: str | None = None,
    where: str | None = None,
    measures: Sequence[str] | None = None,
    by_constraint: bool = False,
    violations: str | Path | None = None,
    repair_rows: str | Path | None = None,
    suggestions: str | Path | None = None,
    columns: Sequence[str] = (),
    materialize: str | Path | None = None,
    time_limit: float = 10.0,
    progress: Progress = no_progress,
    **settings: Unpack[TableSettings],
) -> ExactMeasures:
    """Compute the true measures of a table. Owner only: the result is not private and has no privacy guarantee.

    Parameters
    ----------
    non_private : bool
        Must be True: the owner states that exact values may be shown.
    measures : sequence of str, optional
        Compute these of `EXACT_MEASURES` only; by default the five of Mohapatra et al.
    by_constraint : bool
        Also count the violations of each constraint by itself, whatever others the rows violate, as a release for each
        constraint does; and compute the `measures` that are named of each.
    violations : path, optional
        Write the violations of each constraint by itself to this new .csv, .parquet or .duckdb file: constraint, row_1,
        row_2 (positions in the source from 0; row_2 is empty for a row that violates a constraint over one tuple).
    repair_rows : path, optional
        Write the positions of a smallest set of rows without which there is no conflict (where `reasons` has `repair`,
        of a set of `repair_upper` rows).
    suggestions : path, optional
        Write, for each functional dependency, the rows that differ from the majority of their group, and its value.
    columns : sequence of str
        Also write these columns of each row into the files: keys and names, say; `["*"]` for whole rows.
    materialize : path, optional
        Leave the conflict graph in this new DuckDB file; see `dpdb.engine.export_edges`.
    time_limit : float
        Seconds for proving the exact repair.
    **settings
        As `Session`: with `unit` and `max_rows`, or `max_children`, only the rows that a session uses are measured;
        declared sizes and `rows_per_person` change no exact value.

    Raises
    ------
    ParameterError
        Without `non_private`, if a file exists or has another ending, a measure is unknown, or if rows are to be
        written and a unit leaves some out.
    """
    if non_private is not True:
        raise ParameterError(
            "exact values are not private; only the owner of the data may ask, with --non-private (non_private=True)"
        )
    wanted = _known(EXACT if measures is None else measures)
    of_each = None if not by_constraint else () if measures is None else wanted
    listing = Listing(violations, repair_rows, suggestions, tuple(columns))
    spec = TableSpec.of(source, settings, constraints=constraints, table=table)
    names_rows = listing.is_asked or materialize is not None
    if names_rows and (spec.change.unit is not None or spec.change.max_children is not None):
        left_out = "unit" if spec.change.unit is not None else "max_children"
        raise ParameterError(
            f"violations and materialize name rows by their place in the source; leave out the {left_out}"
        )
    if is_remote(spec.source) and not names_rows:
        return _remote_measures(spec, where, (wanted, of_each), time_limit, progress)
    with open_local_table(spec, progress=progress) as opened:
        predicate = None if where is None else opened.where(where)
        part = opened.slice(predicate, keep_source_row=by_constraint or names_rows, keep=listing.kept(opened))
        listing.write_conflicts(part, opened.written, progress)
        if materialize is not None:
            progress("writing edges")
            export_edges(part, materialize)
        progress("computing measures")
        found, cover = _measures(
            part, time_limit, wanted, CountedStatistics(opened, predicate), with_cover=repair_rows is not None
        )
        found = replace(found, faults=opened.faults, judged=_judged(opened, where))
        listing.write_repair(part, cover, progress)
        if of_each is None:
            return found
        progress("computing measures of each constraint")
        return replace(found, by_constraint=_of_each(opened, predicate, part.under, of_each, time_limit))


def _remote_measures(
    spec: TableSpec,
    where: str | None,
    wanted: tuple[Sequence[str], Sequence[str] | None],
    time_limit: float,
    progress: Progress,
) -> ExactMeasures:
    """Compute the measures of a table in another engine, together and by constraint; fetch only rows in conflict."""
    of_all, of_each = wanted
    with open_table(spec, progress=progress) as opened:
        predicate = None if where is None else opened.where(where)
        counted = CountedStatistics(opened, predicate)
        found, _ = _measures(opened.slice(predicate), time_limit, of_all, counted, with_cover=False)
        found = replace(found, judged=_judged(opened, where))
        if of_each is None:
            return found

        def under(position: int) -> Slice:
            return opened.slice(predicate, position=position)

        return replace(found, by_constraint=_of_each(opened, predicate, under, of_each, time_limit))


def _judged(opened: Table, where: str | None) -> dict[str, int]:
    """Count for each constraint as it was written, but those that ask for NULL, the rows that it can judge."""
    constraints = [bound.constraint for bound in opened.constraints]
    asked = {
        text: known_rows(constraints[place])
        for text, place in opened.written
        if _ASKS_FOR_NULL.search(text) is None and constraints[place].table_columns
    }
    known = [opened.where(text if where is None else f"({where}) AND {text}") for text in asked.values()]
    return dict(zip(asked, opened.count_rows(known) if known else [], strict=True))


def _known(measures: Sequence[str]) -> tuple[str, ...]:
    """Check names of measures, and sort them in the order of `EXACT_MEASURES`."""
    for name in measures:
        if name not in EXACT_MEASURES:
            raise ParameterError(f"there is no measure {name!r}{nearest_words(name, EXACT_MEASURES)}")
    if not measures:
        raise ParameterError(f"name at least one measure of {', '.join(EXACT_MEASURES)}")
    return tuple(name for name in EXACT_MEASURES if name in measures)


def _of_each(
    opened: Table,
    predicate: WherePredicate | None,
    under: Callable[[int], Slice],
    wanted: Sequence[str],
    time_limit: float,
) -> tuple[RuleMeasures, ...]:
    """Measure every written constraint by itself, in the slice that `under` returns, and close that slice."""
    found = []
    for position in range(len(opened.constraints)):
        alone = under(position)
        try:
            violations = conflict_graph(alone).degree_summary().edge_count + alone.self_conflicts
            counted = CountedStatistics(opened, predicate, position)
            measured = _measures(alone, time_limit, wanted, counted, with_cover=False)[0] if wanted else None
        finally:
            alone.close()
        found.append((violations, measured))
    return tuple(RuleMeasures(text, *found[position]) for text, position in opened.written)


def _measures(
    part: Slice, time_limit: float, wanted: Sequence[str], counted: CountedStatistics, *, with_cover: bool
) -> tuple[ExactMeasures, NDArray[np.bool_] | None]:
    """Return the wanted measures, and a vertex cover if rows are asked and one is found.

    The fewest rows to delete are counted where the rules have a closed form, unless the rows are asked.
    """
    graph = _TrueGraph(part, counted, time_limit, with_cover=with_cover)
    found = {name: EXACT_MEASURES[name].of(graph) for name in wanted}
    shown = {own: value for name in wanted for own, value in found[name].items()}
    cover = graph.cover if with_cover else None
    return (
        ExactMeasures(
            rows=part.row_count,
            self_conflicts=part.self_conflicts,
            values=shown,
            max_degree=graph.max_degree,
            reasons=graph.reasons,
            measures=tuple(wanted),
        ),
        cover,
    )


class _TrueGraph:
    """The conflict graph of a slice as measures read it (implements `dpdb.measures.TrueGraph`).

    Attributes
    ----------
    reasons : dict of str to str
        For each field that is not known or not proved: why.
    """

    def __init__(self, part: Slice, counted: CountedStatistics, time_limit: float, *, with_cover: bool) -> None:
        self._counted, self._time_limit, self._with_cover = counted, time_limit, with_cover
        self._graph = conflict_graph(part, whole=with_cover)
        self._degrees = self._graph.degree_summary()
        self.self_conflicts, self.reasons = part.self_conflicts, dict[str, str]()

    @property
    def edges(self) -> int:
        """Pairs of rows in conflict."""
        return self._degrees.edge_count

    @property
    def rows_in_conflict(self) -> int:
        """Rows of the graph that are in some conflict."""
        return self._degrees.positive_degree_nodes

    @property
    def max_degree(self) -> int:
        """The most conflicts of a row."""
        return self._degrees.max_degree

    @property
    def cover(self) -> NDArray[np.bool_] | None:
        """A vertex cover, if one is found: True for its nodes."""
        return self._covers[1]

    def covers(self) -> tuple[float, float, float]:
        """The fractional cover and bounds of the smallest one, with the rows that violate by themselves."""
        fractional, lower, upper = (_half(size + self.self_conflicts) for size in self._covers[0])
        return fractional, lower, upper

    def counted(self, kind: StatisticKind) -> int | None:
        """A statistic that is counted without the graph; None if the rules have none of its kind."""
        return self._counted.if_known(kind)

    def consistent_subsets(self) -> int | None:
        """The number of maximal consistent subsets; None above a limit."""
        if self.edges > _LARGEST_IN_MEMORY:
            self.reasons["maximal_consistency"] = f"more than {_LARGEST_IN_MEMORY:,} conflicts"
            return None
        consistent, why_not = count_maximal_independent_sets(self._graph.adjacency)
        if consistent is None:
            self.reasons["maximal_consistency"] = why_not or "too large to count"
        return consistent

    @cached_property
    def _covers(self) -> tuple[tuple[Fraction, Fraction, Fraction], NDArray[np.bool_] | None]:
        fewest = None if self._with_cover else self._counted.if_known("violations")
        doubled, found = self._graph.twice_fractional_cover(), None
        if fewest is not None:
            lower = upper = fewest - self.self_conflicts
        elif self.edges > _LARGEST_IN_MEMORY:
            lower, upper = -(-doubled // 2), min(doubled, self._graph.greedy_cover_size())
            if lower < upper:
                self.reasons["repair"] = (
                    f"more than {_LARGEST_IN_MEMORY:,} conflicts: bounds from the fractional and greedy covers"
                )
        else:
            cover = minimum_vertex_cover(self._graph.adjacency, time_limit=self._time_limit)
            lower, upper, found = cover.lower, cover.upper, cover.cover
            if not cover.proved:
                self.reasons["repair"] = cover.reason or "the solver did not prove the bounds equal"
        return (Fraction(doubled, 2), Fraction(lower), Fraction(upper)), found


def _half(value: Fraction) -> float:
    return int(value) if value.denominator == 1 else float(value)


_ASKS_FOR_NULL = re.compile(r"\b(?:NULL|COALESCE)\b", re.IGNORECASE)

EXACT_MEASURES = {measure.name: measure.exact for measure in all_measures()}
"""What is computed of each measure, by its name."""


@dataclass(frozen=True)
class ExactMeasures:
    """True values of one slice. Private: for the owner.

    Each field of a measure (`dpdb.measures.Measure.exact`) is an attribute, too: `drastic`, 1 if there is any conflict;
    `minimal_inconsistency`; `problematic`; `repair_fractional`, tau* plus self-conflicts; `repair_lower` and
    `repair_upper`, equal where the repair is known exactly; `maximal_consistency`. It is None if the measure was not
    requested, or could not be computed.

    Attributes
    ----------
    self_conflicts : int
        Rows that violate a single-tuple constraint; they count once in each measure and leave the graph.
    reasons : dict
        For each field that is None or not proved: why.
    by_constraint : tuple of RuleMeasures, optional
        The measures of each written constraint by itself.
    faults : Faults, optional
        What was not read of a source whose cells are text (CSV), by column and by file.
    judged : dict of str to int
        For each constraint as it was written, the rows that have a value in every column of it: the others violate
        nothing. Constraints that ask whether a column is NULL judge every row, and are left out.
    """

    rows: int
    self_conflicts: int
    values: TrueNumbers
    max_degree: int
    reasons: dict[str, str] = field(default_factory=dict)
    by_constraint: tuple[RuleMeasures, ...] | None = None
    measures: tuple[str, ...] = EXACT
    faults: Faults | None = None
    judged: dict[str, int] = field(default_factory=dict)

    @property
    def not_of_type(self) -> dict[str, int]:
        """For each column with a declared type: cells that are NULL because they are not written as a value of it."""
        return {} if self.faults is None else self.faults.not_of_type

    def __getattr__(self, name: str) -> Any:
        if any(name in known.fields for known in EXACT_MEASURES.values()):
            return self.values.get(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return the requested fields, ready for JSON."""
        fields: dict[str, Any] = {"rows": self.rows, "self_conflicts": self.self_conflicts, **self.values}
        fields |= {"max_degree": self.max_degree, "reasons": dict(self.reasons)}
        if self.judged:
            fields["judged"] = dict(self.judged)
        if self.faults:
            fields |= {name: found for name, found in self.faults.to_dict().items() if found}
        if self.by_constraint is not None:
            fields["by_constraint"] = [rule.to_dict() for rule in self.by_constraint]
        return fields


@dataclass(frozen=True)
class RuleMeasures:
    """True values of one constraint by itself, whatever other constraints its rows violate. Private.

    Attributes
    ----------
    violations : int
        Pairs of rows that violate it; of a constraint over one tuple, rows.
    """

    constraint: str
    violations: int
    measured: ExactMeasures | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the requested fields, ready for JSON; `reasons` only if it is not empty."""
        fields: dict[str, Any] = {"constraint": self.constraint, "violations": self.violations}
        if self.measured is not None:
            found = self.measured.to_dict()
            fields |= self.measured.values
            fields |= {"reasons": found["reasons"]} if found["reasons"] else {}
        return fields
