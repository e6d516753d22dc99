"""What a release would do and cost: compiled SQL, plans over an empty table, degree terms, noise. Reads no row."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sqlglot import exp

from dpdb.constraints import (
    ConstraintsLike,
    DenialConstraint,
    describe,
    distinct,
    functional_dependency,
    is_symmetric,
    key_columns,
    load_constraints,
    order_dependency,
)
from dpdb.engine.duckdb.database import Database
from dpdb.engine.slice import Slice
from dpdb.engine.sources.open import Source, SourceLike, open_empty
from dpdb.engine.sql.bind import BoundConstraint, bind
from dpdb.engine.sql.compile import self_conflict
from dpdb.engine.sql.degree_bound import CrossTerm, GroupTerm, degree_terms
from dpdb.engine.sql.joins import join_plan, refuse_nested_loops
from dpdb.engine.unit_rows import kept_rows
from dpdb.errors import ParameterError
from dpdb.measures.mechanism import Mechanism
from dpdb.privacy.epsilon import as_float, as_fraction
from dpdb.release.ask import Ask
from dpdb.release.charged_rows import charged_rows_words
from dpdb.release.conflict_graph import has_blocks
from dpdb.release.numbers import parse_max_group
from dpdb.release.parts import MeasurePart
from dpdb.release.prepare import Prepared, PublicTable, prepare
from dpdb.release.privacy_unit import PrivacyUnit, parse_unit
from dpdb.release.shares import Share, measure_shares

__all__ = ["explain"]


_ALL = Ask("all")


def explain(
    source: SourceLike,
    constraints: ConstraintsLike,
    ask: Ask = _ALL,
    *,
    table: str | None = None,
    csv_schema: Mapping[str, str] | None = None,
    rows_per_person: int = 1,
    unit: str | None = None,
    max_rows: int | None = None,
    row_bound: int | None = None,
    max_group: int | None = None,
) -> dict[str, Any]:
    """Explain a release of measures without making it. Spends nothing; reads the schema only.

    Plans come from an empty table of the same schema, because DuckDB chooses joins by row counts, which are private;
    on real data the operators may differ.

    Returns
    -------
    dict
        ``source``, ``where`` (all slices together), ``unit`` (words, sql of the rows it keeps), ``constraints``
        (constraint, words, shape, representation, sql, operator, plan), ``degree_bound`` (terms, sensitivity),
        ``releases`` (measure, constraint if each is measured alone, mechanism, epsilon, noise in words), ``epsilon``
        (to be charged), ``charged`` (for which rows a ledger charges it; see `charged_rows_words`).

    Raises
    ------
    DpdbError
        As `Session`.
    """
    if ask.counts_rows:
        raise ParameterError("only releases of measures are explained; a count reads no conflict")
    asked = parse_unit(rows_per_person, unit, max_rows)
    with Database() as database:
        opened = open_empty(database, source, table=table, csv_schema=csv_schema)
        dcs = distinct(load_constraints(constraints, opened.schema.names))
        bound = bind(database, dcs, opened.schema)
        refuse_nested_loops(bound, row_bound)
        protected = asked.in_schema(opened.schema)
        prepared = prepare(PublicTable(database, opened.schema, bound, protected, parse_max_group(max_group)), ask)
        terms = degree_terms(bound)
        empty = Slice(database, opened, bound, prepared.parts[0].predicate, name="slice")
        return {
            "source": opened.description,
            "where": prepared.slices.words,
            "unit": {"words": protected.words, "sql": _kept(opened, protected)},
            "constraints": [_constraint(database, empty, k, dc) for k, dc in enumerate(bound)],
            "degree_bound": {"terms": [_term(term) for term in terms.terms], "sensitivity": terms.sensitivity},
            "releases": _releases(prepared),
            "epsilon": as_float(prepared.charge.epsilon),
            "charged": charged_rows_words(prepared.charge.coverage),
        }


def _kept(source: Source, unit: PrivacyUnit) -> str | None:
    if unit.column is None:
        return None
    kept = kept_rows(source, unit.column, unit.rows, exp.to_table("source_row"))
    return kept.sql("duckdb", normalize_functions=False)


def _constraint(database: Database, empty: Slice, position: int, bound: BoundConstraint) -> dict[str, Any]:
    dc = bound.constraint
    if dc.is_single_tuple:
        query = exp.select("*").from_(empty.tuples.copy()).where(self_conflict([bound], "tuple_row"))
        statements, operator = [query], "FILTER"
    else:
        index = [k for k, _ in empty.pairwise].index(position)
        members = empty.table(f"member_{position}")
        plan = join_plan(
            index,
            empty.pairwise,
            empty.tuples,
            empty.rank,
            members=members,
            coded=empty.coded,
            taken=empty.tuple_columns,
        )
        statements, operator = [plan.edges], plan.operator
        if plan.members is not None:
            database.execute(plan.members.ctas(members.copy()))
            statements.insert(0, plan.members)
    return {
        "constraint": str(dc),
        "words": describe(dc),
        "shape": _shape(dc),
        "representation": "rows in blocks" if has_blocks(bound, empty.coded) else "edge table",
        "sql": ";\n".join(s.sql("duckdb", normalize_functions=False, pretty=True) for s in statements),
        "operator": operator,
        "plan": database.operators(statements[-1]),
    }


def _shape(dc: DenialConstraint) -> str:
    recognised = {
        "single-tuple": dc.is_single_tuple,
        "key": key_columns(dc) is not None,
        "functional dependency": functional_dependency(dc) is not None,
        "order constraint": order_dependency(dc) is not None,
        "symmetric": is_symmetric(dc),
    }
    return next((shape for shape, holds in recognised.items() if holds), "general")


def _term(term: GroupTerm | CrossTerm) -> str:
    if isinstance(term, CrossTerm):
        return f"largest group of {term.first.column} + largest group of {term.second.column}"
    return f"largest group of ({', '.join(term.columns)}) - 1" if term.columns else "number of rows - 1"


def _releases(prepared: Prepared) -> list[dict[str, Any]]:
    """Return what is to be expected of the releases of the first slice; they are alike in all slices."""
    first = prepared.slices.predicates[0]
    parts = [part for part in prepared.parts if isinstance(part, MeasurePart) and part.predicate is first]
    return [expected for part in parts for expected in _expected(part)]


def _expected(part: MeasurePart) -> list[dict[str, Any]]:
    shares = measure_shares(part)
    count = sum(share.count for share in shares)
    rows = f", divided by a row count with noise of scale about {float(1 / as_fraction(count)):.3g}" if count else ""
    return [
        {
            "measure": name,
            "constraint": part.constraint,
            "mechanism": mechanism.name,
            "epsilon": float(as_fraction(share.total) * Fraction(part.charged, part.epsilon)),
            "noise": f"discrete Laplace, scale about ({mechanism.noise}) x {_scale(mechanism, share):.3g}{rows}",
        }
        for (name, mechanism), share in zip(part.measures, shares, strict=True)
    ]


def _scale(mechanism: Mechanism, share: Share) -> float:
    """Return the scale of the answer's noise per unit of its sensitivity."""
    return float(1 / (mechanism.answer_share * as_fraction(share.cap + share.rest)))
