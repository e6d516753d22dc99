"""`plan`: the error to expect of private releases, before anything is spent and without reading a row."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Unpack

from dpdb.constraints import ConstraintsLike, DenialConstraint
from dpdb.engine import NESTED_LOOP_ROWS, ProtectedChange, PublicSizes, TableSettings, TableSpec
from dpdb.errors import ParameterError
from dpdb.measures import measure_named
from dpdb.opening import declared_table, empty_table
from dpdb.owner.simulation import ExpectedError, Plan, Rung, Simulation
from dpdb.privacy import as_float
from dpdb.release import Ask, Epsilon, Session, by_rule_offer, risk_of
from dpdb.sources import SourceLike

# Beyond this many conflicts the linear programs of `r2t` are too slow for expected errors.
_MOST_FOR_R2T = 200_000
_LADDER = ("0.1", "0.2", "0.5", "1", "2", "5", "10")
_SECONDS = 20.0  # for all repetitions together


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
    values: Mapping[str, Sequence[str]] | None = None,
    max_degree: int | None = None,
    target: float | None = None,
    repetitions: int = 50,
    seed: int | None = None,
    **settings: Unpack[TableSettings],
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
        dependency, a key nor an order constraint) that many rows are simulated, with as many rows per value.
    error_rate : float
        A guess of the share of wrong cells in the constrained columns, from 0 to 1.
    epsilon : number
        Privacy cost of the releases whose error is expected.
    table : str, optional
        Table or view of a DuckDB file or connection.
    schema : mapping of column to SQL type, optional
        Without a source: all columns that matter. With a CSV file: types of its columns.
    distinct : mapping of column to int, optional
        Guessed numbers of distinct values; the square root of `rows` for the others, more where a key needs more.
    values : mapping of column to texts, optional
        Values that a column may have, where none that its rules allow is found from the rules alone.
    max_degree : int, optional
        The public bound that `em`, `hierarchical`, `baseline_max` and `r2t` need; without it they are left out.
    target : float, optional
        A relative error that is small enough, such as 0.05: also look for the smallest epsilon that reaches it.
    repetitions : int
        Releases per figure; fewer where they would take too long.
    seed : int, optional
        Repeats the synthetic table, not the noise.
    **settings
        As `dpdb.open`. Noise is as for `rows_per_person`, and as for `max_rows` rows of each value of a `unit`; parents
        are taken as public ones, and a note says what private ones cost.

    Returns
    -------
    Plan

    Raises
    ------
    ParameterError
        If a number is out of range, a column given is not constrained, neither source nor schema is given, no value
        is known that the rules of a column allow, or hardly any of the rows that are made agree with one another.
    DpdbError
        As `Session`, for errors of source or constraints.

    Examples
    --------
    >>> import dpdb
    >>> columns = {"zip": "VARCHAR", "city": "VARCHAR"}
    >>> planned = dpdb.plan(None, "zip -> city", rows=300, error_rate=0.01, schema=columns, repetitions=5)
    >>> planned.epsilon, planned.rows, [error.measure for error in planned.together]
    (1.0, 300, ['minimal_inconsistency', 'problematic', 'repair'])
    >>> planned.risk.odds_words
    '2.72-fold'
    """
    # Not at the top of the file: nothing that makes a release may load the noise generators.
    from dpdb.owner.dirt.parameters import check_count, check_real
    from dpdb.owner.planned_table import planned_table

    repetitions = check_count("repetitions", repetitions)
    if target is not None:
        target = check_real("target", target, low=0, above_low=True)
    if schema is not None:
        settings["csv_schema"] = schema
    spec = TableSpec.of(source, settings, constraints=constraints, table=table).with_assumed_parents()
    dcs, types, offer = _known(spec, rows)
    ask = Ask("all", epsilon, max_degree=max_degree)
    made = planned_table(
        dcs, types, rows=rows, error_rate=error_rate, distinct=distinct or {}, values=values or {}, seed=seed
    )
    rows_per_person = spec.change.rows_per_person if spec.change.unit is None else spec.change.most
    planned = TableSpec(
        made.rows,
        list(dcs),
        public_parents=made.parents,
        change=ProtectedChange(rows_per_person),
        sizes=PublicSizes(NESTED_LOOP_ROWS, spec.sizes.max_group),
        limits=spec.limits,
    )
    with Session(planned) as session:
        simulation = Simulation(session, repetitions=repetitions, max_degree=max_degree)
        simulated, skipped = _simulated(simulation, epsilon, max_degree)
        smallest, ladder = ({}, ()) if target is None else _smallest(simulation, target)
        return Plan(
            rows=made.rows.num_rows,
            error_rate=made.error_rate,
            epsilon=as_float(ask.charged),
            seed=made.seed,
            distinct=made.distinct,
            notes=made.notes if offer is None else (*made.notes, offer),
            expected=simulated,
            together=simulation.together(epsilon, _SECONDS / 4),
            skipped=skipped,
            target=target,
            smallest_epsilon=smallest,
            risk=risk_of(as_float(ask.charged)),
            ladder=ladder,
            charges=session.prepare(ask).charge.in_each_notion(),
        )


def _known(spec: TableSpec, rows: int) -> tuple[tuple[DenialConstraint, ...], dict[str, str], str | None]:
    """Bind the constraints to the schema only; return them, and the columns they name with their types.

    Also return a note about further mechanisms or measures for so many rows, if there is one.
    """
    if spec.source is None and not spec.csv_schema:
        raise ParameterError("a plan needs a source, for its column names and types, or a schema in its place")
    with (
        declared_table(spec.csv_schema or {}, constraints=spec.constraints, assumes_parents=True)
        if spec.source is None
        else empty_table(spec)
    ) as known:
        dcs = tuple(bound.constraint for bound in known.constraints)
        named = {name for dc in dcs for name in dc.table_columns}
        types = {column.name: column.type or "VARCHAR" for column in known.schema.columns if column.name in named}
        return dcs, types, by_rule_offer(known.constraints, known.schema, rows)


def _simulated(
    simulation: Simulation, epsilon: Epsilon, max_degree: int | None
) -> tuple[tuple[ExpectedError, ...], dict[str, str]]:
    expected, skipped = [], {}
    shown = [(measure.name, name) for measure in simulation.measures for name in measure.by_name]
    todo = sorted(shown, key=lambda each: each[1] == "r2t")  # the slow one last
    end = time.monotonic() + _SECONDS
    for position, (measure, name) in enumerate(todo):
        if measure_named(measure).mechanism(name).needs_max_degree and max_degree is None:
            skipped[f"{measure} {name}"] = "it needs a public max_degree"
        elif name == "r2t" and simulation.conflicts > _MOST_FOR_R2T:
            skipped[f"{measure} {name}"] = f"slow beyond {_MOST_FOR_R2T:,} conflicts"
        elif why := simulation.refused(measure, name):
            if measure_named(measure).mechanism(name).is_default_where_it_applies:
                continue
            skipped[f"{measure} {name}"] = why
        else:
            seconds = (end - time.monotonic()) / (len(todo) - position)
            expected.append(simulation.alone(measure, name, epsilon, seconds))
    expected.sort(key=lambda error: shown.index((error.measure, error.mechanism)))
    return tuple(expected), skipped


def _smallest(simulation: Simulation, target: float) -> tuple[dict[str, float | None], tuple[Rung, ...]]:
    """Climb the ladder with each measure until it reaches the target; return its epsilon for each, and the rungs."""
    found: dict[str, float | None] = {}
    rungs = {epsilon: Rung(risk_of(float(epsilon)), {}) for epsilon in _LADDER}
    seconds = _SECONDS / (len(simulation.measures) * len(_LADDER))
    for measure in simulation.measures:
        found[measure.name] = None
        for epsilon, rung in rungs.items():
            error = simulation.alone(measure.name, simulation.defaults[measure.name], epsilon, seconds)
            rung.relative_error_90[measure.name] = error.relative_error_90
            if error.relative_error_90 is not None and error.relative_error_90 <= target:
                found[measure.name] = float(epsilon)
                break
    return found, tuple(rung for rung in rungs.values() if rung.relative_error_90)
