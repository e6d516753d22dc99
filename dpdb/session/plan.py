"""`plan`: the error to expect of private releases, before anything is spent and without reading a row."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from dpdb.constraints import (
    ConstraintsLike,
    DenialConstraint,
    describe,
    functional_dependency,
    key_columns,
    load_constraints,
    order_dependency,
)
from dpdb.constraints import distinct as distinct_constraints
from dpdb.engine.binding import bind
from dpdb.engine.database import Database
from dpdb.engine.plan import NESTED_LOOP_ROWS
from dpdb.engine.schema import TableSchema
from dpdb.engine.source import SourceLike, declared_schema, read_schema
from dpdb.errors import ParameterError
from dpdb.noise import rnoise
from dpdb.noise.parameters import Purpose, check_count, check_real, check_seed, fresh_seed, generator
from dpdb.privacy.epsilon import as_float
from dpdb.session.consistent_rows import consistent_rows
from dpdb.session.request import MEASURES, parse_request
from dpdb.session.session import Epsilon, Session
from dpdb.session.simulation import ExpectedError, Simulation, mechanisms_of
from dpdb.synthetic import SyntheticTable, synthesize

__all__ = ["Plan", "plan"]

# Larger tables are planned on this many rows, with as many rows per value.
_MOST_ROWS = 50_000
_MOST_ROWS_IF_GENERAL = 5_000  # where conflicts have to be listed
# Beyond this many conflicts the linear programs of `r2t` are too slow for a plan.
_MOST_FOR_R2T = 200_000
_LEAST_KEPT = 4  # a synthetic table keeps at least one in this many of its rows
_LADDER = ("0.1", "0.2", "0.5", "1", "2", "5", "10")
_SECONDS = 20.0  # for all repetitions together


@dataclass(frozen=True)
class Plan:
    """What to expect, simulated on a synthetic table.

    Attributes
    ----------
    rows : int
        Of the synthetic table.
    error_rate, epsilon : float
    seed : int
        Repeats the synthetic table; the noise of the releases is fresh in every plan.
    distinct : dict
        Constrained column -> number of values that it was given.
    notes : tuple of str
        Where the synthetic table is not what was asked for, in words.
    expected : tuple of ExpectedError
        Every measure and mechanism, released alone at `epsilon`.
    together : tuple of ExpectedError
        The three measures released together (``measure="all"``) at `epsilon` in total.
    skipped : dict
        ``"measure mechanism"`` -> why it was not simulated.
    target : float or None
    smallest_epsilon : dict
        With a target: measure -> the smallest epsilon of a short ladder at which the default mechanism, alone, has a
        relative error of at most `target` in 90% of the releases; None if it is above the ladder.
    """

    rows: int
    error_rate: float
    epsilon: float
    seed: int
    distinct: dict[str, int]
    notes: tuple[str, ...]
    expected: tuple[ExpectedError, ...]
    together: tuple[ExpectedError, ...]
    skipped: dict[str, str]
    target: float | None
    smallest_epsilon: dict[str, float | None]

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, ready for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class _Shape:
    """Guesses: rows, distinct values by column, and of the columns that nobody guessed."""

    rows: int
    distinct: dict[str, int]
    usual: int

    def scaled(self, rows: int) -> _Shape:
        """Return the shape of fewer rows with as many rows per value."""
        fewer = {name: max(1, round(count * rows / self.rows)) for name, count in self.distinct.items()}
        return _Shape(rows, fewer, max(1, round(self.usual * rows / self.rows)))


def plan(
    source: SourceLike | None,
    constraints: ConstraintsLike,
    *,
    rows: int,
    error_rate: float,
    epsilon: Epsilon = 1.0,
    table: str | None = None,
    schema: Mapping[str, str] | None = None,
    distinct: Mapping[str, int] | None = None,
    max_degree: int | None = None,
    target: float | None = None,
    repetitions: int = 50,
    seed: int | None = None,
) -> Plan:
    """Simulate private releases on a synthetic table of a guessed shape. Spends nothing; reads the schema only.

    The table has `rows` rows over the constrained columns and satisfies the constraints; its values are spread evenly.
    RNoise then changes `error_rate` of its cells. All figures are of that table: they are as good as the guesses.

    Parameters
    ----------
    source : as `dpdb.open`, or None
        Only its column names and types are read, never a row. None: `schema` has them.
    constraints : as `dpdb.open`
    rows : int
        A guess of the number of rows. Above 50,000 (5,000 where a constraint over two tuples is neither a functional
        dependency, a key nor an order constraint) the plan is made for so many rows, with as many rows per value.
    error_rate : float
        A guess of the share of wrong cells in the constrained columns, from 0 to 1.
    epsilon : number
        Privacy cost to plan for.
    table : str, optional
        Table or view of a DuckDB file or connection.
    schema : mapping of column to SQL type, optional
        Without a source: all columns that matter. With a CSV file: types of its columns.
    distinct : mapping of column to int, optional
        Guessed numbers of distinct values; the square root of `rows` for the others, more where a key needs more.
    max_degree : int, optional
        The public bound that `em`, `hierarchical`, `baseline_max` and `r2t` need; without it they are left out.
    target : float, optional
        A relative error that is small enough, such as 0.05: also look for the smallest epsilon that reaches it.
    repetitions : int
        Releases per figure; fewer where they would take too long.
    seed : int, optional
        Repeats the synthetic table, not the noise.

    Returns
    -------
    Plan

    Raises
    ------
    ParameterError
        If a number is out of range, a column given is not constrained, neither source nor schema is given, or less
        than a quarter of the rows that are made agree with one another.
    DpdbError
        As `Session`, for what is wrong with source or constraints.
    """
    rows, repetitions = check_count("rows", rows), check_count("repetitions", repetitions)
    error_rate = check_real("error_rate", error_rate, low=0, high=1)
    if target is not None:
        target = check_real("target", target, low=0, above_low=True)
    chosen = check_seed(seed)
    seed = fresh_seed() if chosen is None else chosen
    dcs, types = _constrained_types(source, constraints, table, schema)
    request = parse_request(
        "all",
        epsilon,
        mechanism=None,
        confidence=0.95,
        max_degree=max_degree,
        rows_per_person=1,
        covers_all_rows=False,
    )
    shape, notes = _Shape(rows, _counts(distinct or {}, types, rows), max(1, round(math.sqrt(rows)))), []
    most = _MOST_ROWS_IF_GENERAL if any(not dc.is_single_tuple for dc in _general(dcs)) else _MOST_ROWS
    if rows > most:
        shape = shape.scaled(most)
        notes.append(
            f"planned on {most:,} rows instead of {rows:,}, with as many rows per value: relative errors of the whole "
            "table are smaller where every rule compares rows with equal values"
        )
    made, why = _clean(dcs, types, shape, seed)
    dirty = rnoise(made.rows, dcs, alpha=error_rate, seed=seed) if error_rate else made.rows
    with Session(dirty, constraints=list(dcs), row_bound=NESTED_LOOP_ROWS) as session:
        simulation = Simulation(session, repetitions=repetitions, max_degree=max_degree)
        simulated, skipped = _simulated(simulation, epsilon, max_degree)
        return Plan(
            rows=made.rows.num_rows,
            error_rate=error_rate,
            epsilon=as_float(request.charged),
            seed=seed,
            distinct=made.distinct,
            notes=(*notes, *made.notes, *why),
            expected=simulated,
            together=simulation.together(epsilon, _SECONDS / 4),
            skipped=skipped,
            target=target,
            smallest_epsilon={} if target is None else _smallest(simulation, target),
        )


def _constrained_types(
    source: SourceLike | None, constraints: ConstraintsLike, table: str | None, schema: Mapping[str, str] | None
) -> tuple[tuple[DenialConstraint, ...], dict[str, str]]:
    """Bind the constraints to the schema, and to nothing else; return the columns they name with their types."""
    with Database() as database:
        known: TableSchema
        if source is None:
            if not schema:
                raise ParameterError("a plan needs a source, for its column names and types, or a schema in its place")
            known = declared_schema(database, schema)
        else:
            known = read_schema(database, source, table=table, csv_schema=schema)
        dcs = distinct_constraints(load_constraints(constraints, known.names))
        bind(database, dcs, known)
    named = {name for dc in dcs for name in dc.columns}
    return dcs, {column.name: column.type or "VARCHAR" for column in known.columns if column.name in named}


def _counts(guessed: Mapping[str, int], types: Mapping[str, str], rows: int) -> dict[str, int]:
    for name, count in guessed.items():
        if name not in types:
            raise ParameterError(
                f"distinct values of {name!r}: no constraint has that column (known: {', '.join(types)})"
            )
        if check_count(f"distinct values of {name!r}", count) > rows:
            raise ParameterError(f"distinct values of {name!r}: {count:,} are more than the {rows:,} rows")
    return dict(guessed)


def _clean(
    dcs: Sequence[DenialConstraint], types: Mapping[str, str], shape: _Shape, seed: int
) -> tuple[SyntheticTable, list[str]]:
    """Make a table without conflicts: rows that still have some are left out, and others made in their place."""
    rng, rows = generator(seed, Purpose.SYNTHETIC), shape.rows

    def made(count: int) -> SyntheticTable:
        return synthesize(dcs, types, rows=count, distinct=shape.distinct, usual=shape.usual, rng=rng)

    first = made(rows)
    kept = consistent_rows(first.rows, dcs)
    if len(kept) == rows:
        return first, []
    beside = "; ".join(map(describe, _general(dcs)))
    if _LEAST_KEPT * len(kept) < rows:
        raise ParameterError(
            f"no synthetic table for these constraints: of {rows:,} rows only {len(kept):,} agree with one another"
            + (f"; it is not built around the rule: {beside}" if beside else "; guess other numbers of distinct values")
        )
    more = made(round(1.1 * rows * rows / len(kept)))
    kept = consistent_rows(more.rows, dcs)[:rows]
    note = f"of the rows made only {len(kept):,} that agree with one another were kept, so values are not spread evenly"
    return SyntheticTable(more.rows.take(pa.array(kept)), more.distinct, more.notes), [
        note + (f"; they are not made around the rule: {beside}" if beside else "")
    ]


def _general(dcs: Sequence[DenialConstraint]) -> list[DenialConstraint]:
    """The constraints that tables are not built around."""
    shapes = (functional_dependency, key_columns, order_dependency)
    return [dc for dc in dcs if not any(shape(dc) is not None for shape in shapes)]


def _simulated(
    simulation: Simulation, epsilon: Epsilon, max_degree: int | None
) -> tuple[tuple[ExpectedError, ...], dict[str, str]]:
    expected, skipped = [], {}
    shown = [(measure, name) for measure in MEASURES for name in mechanisms_of(measure)]
    todo = sorted(shown, key=lambda each: each[1] == "r2t")  # the slow one last
    end = time.monotonic() + _SECONDS
    for position, (measure, name) in enumerate(todo):
        if mechanisms_of(measure)[name].needs_max_degree and max_degree is None:
            skipped[f"{measure} {name}"] = "it needs a public max_degree"
        elif name == "r2t" and simulation.conflicts > _MOST_FOR_R2T:
            skipped[f"{measure} {name}"] = f"slow beyond {_MOST_FOR_R2T:,} conflicts"
        else:
            seconds = (end - time.monotonic()) / (len(todo) - position)
            expected.append(simulation.alone(measure, name, epsilon, seconds))
    expected.sort(key=lambda error: shown.index((error.measure, error.mechanism)))
    return tuple(expected), skipped


def _smallest(simulation: Simulation, target: float) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for measure in MEASURES:
        name = simulation.default(measure)
        found[measure] = None
        for epsilon in _LADDER:
            error = simulation.alone(measure, name, epsilon, _SECONDS / (len(MEASURES) * len(_LADDER)))
            if error.relative_error_90 is not None and error.relative_error_90 <= target:
                found[measure] = float(epsilon)
                break
    return found
