"""What a release would do and cost: compiled SQL, plans over an empty table, degree terms, noise. Reads no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from dpdb.privacy import as_float, as_fraction
from dpdb.release.breakdown import Part, each_constraint_parts, within_groups
from dpdb.release.charged_rows import charged_rows_words
from dpdb.release.conflict_graph import has_blocks
from dpdb.release.privacy_unit import PrivacyUnit, parse_unit
from dpdb.release.request import parse_max_group, parse_request
from dpdb.release.shares import measure_shares
from dpdb.release.slices import Key, parse_slices

__all__ = ["explain"]


def explain(
    source: SourceLike,
    constraints: ConstraintsLike,
    *,
    measure: str = "all",
    epsilon: object = 1.0,
    table: str | None = None,
    csv_schema: Mapping[str, str] | None = None,
    where: str | None = None,
    by: str | None = None,
    keys: Sequence[Key] | None = None,
    mechanism: str | None = None,
    confidence: float = 0.95,
    max_degree: int | None = None,
    rows_per_person: int = 1,
    unit: str | None = None,
    max_rows: int | None = None,
    row_bound: int | None = None,
    max_group: int | None = None,
    rate: bool = False,
    each_constraint: bool = False,
) -> dict[str, Any]:
    """Explain a release without making it. Spends nothing; reads the schema only.

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
    asked = parse_unit(rows_per_person, unit, max_rows)
    with Database() as database:
        opened = open_empty(database, source, table=table, csv_schema=csv_schema)
        dcs = distinct(load_constraints(constraints, opened.schema.names))
        bound = bind(database, dcs, opened.schema)
        refuse_nested_loops(bound, row_bound)
        protected = asked.in_schema(opened.schema)
        slices = parse_slices(database, opened.schema, where, by, keys)
        terms = degree_terms(bound)
        request = parse_request(
            measure,
            epsilon,
            mechanism=mechanism,
            confidence=confidence,
            max_degree=max_degree,
            rows_per_person=protected.rows,
            covers_all_rows=terms.covers_all_rows,
            rate=rate,
        )
        parts: tuple[Part, ...] = (Part(request),)
        if each_constraint:
            parts = each_constraint_parts(request, bound, mechanism=mechanism, rows_per_person=protected.rows)
        parts = within_groups(parts, bound, parse_max_group(max_group))
        empty = Slice(database, opened, bound, slices.predicates[0], name="slice")
        return {
            "source": opened.description,
            "where": slices.words,
            "unit": {"words": protected.words, "sql": _kept(opened, protected)},
            "constraints": [_constraint(database, empty, k, dc) for k, dc in enumerate(bound)],
            "degree_bound": {"terms": [_term(term) for term in terms.terms], "sensitivity": terms.sensitivity},
            "releases": [planned for part in parts for planned in _releases(part)],
            "epsilon": as_float(request.charged),
            "charged": charged_rows_words(slices.charged),
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


def _releases(part: Part) -> list[dict[str, Any]]:
    request, planned = part.request, []
    shares = measure_shares(request)
    count = sum(share.count for share in shares)
    rows = f", divided by a row count with noise of scale about {float(1 / as_fraction(count)):.3g}" if count else ""
    for (name, mechanism), share in zip(request.measures, shares, strict=True):
        answer = float(1 / (mechanism.answer_share * as_fraction(share.cap + share.rest)))
        planned.append(
            {
                "measure": name,
                "constraint": part.constraint,
                "mechanism": mechanism.name,
                "epsilon": float(as_fraction(share.total) * Fraction(request.charged, request.epsilon)),
                "noise": f"discrete Laplace, scale about ({mechanism.noise}) x {answer:.3g}{rows}",
            }
        )
    return planned
