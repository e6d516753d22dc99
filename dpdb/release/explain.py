"""What a release would do and cost: compiled SQL, plans over an empty table, degree terms, noise. Reads no row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpdb.constraints import (
    ConstraintsLike,
    DenialConstraint,
    describe,
    functional_dependency,
    is_symmetric,
    key_columns,
    order_dependency,
)
from dpdb.engine import (
    CrossTerm,
    GroupTerm,
    LocalSlice,
    SourceLike,
    TableSchema,
    degree_terms,
    empty_table,
    explained_constraint,
    kept_rows_sql,
    refuse_nested_loops,
)
from dpdb.privacy.epsilon import as_float, as_fraction
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
    with empty_table(
        source, table=table, csv_schema=csv_schema, constraints=constraints, unit=asked.column, most=asked.rows
    ) as opened:
        bound = opened.constraints
        refuse_nested_loops(bound, row_bound)
        protected = asked.in_schema(opened.schema)
        slices = parse_slices(opened, where, by, keys)
        terms = degree_terms(bound)
        request = parse_request(
            measure,
            epsilon,
            mechanism=mechanism,
            confidence=confidence,
            max_degree=max_degree,
            rows_per_person=protected.rows,
            rate=rate,
        )
        parts: tuple[Part, ...] = (Part(request),)
        if each_constraint:
            parts = each_constraint_parts(request, bound, mechanism=mechanism, rows_per_person=protected.rows)
        parts = within_groups(parts, bound, parse_max_group(max_group))
        empty = opened.slice(slices.predicates[0])
        return {
            "source": opened.description,
            "where": slices.words,
            "unit": {"words": protected.words, "sql": _kept(opened.schema, protected)},
            "constraints": [_constraint(empty, k) for k in range(len(bound))],
            "degree_bound": {"terms": [_term(term) for term in terms.terms], "sensitivity": terms.sensitivity},
            "releases": [planned for part in parts for planned in _releases(part)],
            "epsilon": as_float(request.charged),
            "charged": charged_rows_words(slices.charged),
        }


def _kept(schema: TableSchema, unit: PrivacyUnit) -> str | None:
    return None if unit.column is None else kept_rows_sql(schema, unit.column, unit.rows)


def _constraint(empty: LocalSlice, position: int) -> dict[str, Any]:
    bound = empty.constraints[position]
    dc, explained = bound.constraint, explained_constraint(empty, position)
    return {
        "constraint": str(dc),
        "words": describe(dc),
        "shape": _shape(dc),
        "representation": "rows in blocks" if has_blocks(bound, empty.coded) else "edge table",
        "sql": explained.sql,
        "operator": explained.operator,
        "plan": explained.plan,
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
