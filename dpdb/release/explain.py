"""The explanation of a release: SQL, query plans over an empty table, degree terms, noise, cost. Reads no row."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Unpack

from dpdb.constraints import (
    ConstraintsLike,
    DenialConstraint,
    block_shape,
    describe,
    functional_dependency,
    is_symmetric,
    key_columns,
    order_dependency,
)
from dpdb.engine import (
    BoundConstraint,
    CrossTerm,
    GroupTerm,
    LocalSlice,
    SourceLike,
    Table,
    TableSettings,
    TableSpec,
    degree_terms,
    empty_table,
    explained_constraint,
    kept_children_sql,
    kept_rows_sql,
    refuse_nested_loops,
)
from dpdb.errors import ParameterError
from dpdb.measures import Mechanism
from dpdb.privacy import as_float, as_fraction
from dpdb.release.accounts.charged_rows import charged_rows_words
from dpdb.release.accounts.pure_units import ledger_charges
from dpdb.release.ask import Ask
from dpdb.release.conflict_graph import has_blocks
from dpdb.release.expected_time import expected_time
from dpdb.release.offer import by_rule_offer
from dpdb.release.prepare import Prepared, PublicTable, prepare
from dpdb.release.prepared.parts import MeasurePart
from dpdb.release.prepared.shares import Share, measure_shares
from dpdb.release.units.privacy_unit import PrivacyUnit, unit_of
from dpdb.release.units.private_parents import unit_of_table

__all__ = ["explain"]


_ALL = Ask("all")


def explain(
    source: SourceLike,
    constraints: ConstraintsLike,
    ask: Ask = _ALL,
    *,
    table: str | None = None,
    rows: int | None = None,
    **settings: Unpack[TableSettings],
) -> dict[str, Any]:
    """Explain a release of measures without making it. Spends nothing; reads the schema only.

    Plans come from an empty table of the same schema, because DuckDB chooses joins by row counts, which are private;
    on real data the operators may differ.

    Parameters
    ----------
    rows : int, optional
        A guess of the number of rows, for `offers`; the other parameters are those of `Session` and of the release.

    Returns
    -------
    dict
        ``source``, ``where`` (all slices together), ``unit`` (words, sql of the rows it keeps), ``constraints``
        (constraint, words, shape, representation, sql, operator, plan), ``degree_bound`` (terms, sensitivity),
        ``releases`` (measure, constraint if each is measured alone, mechanism, epsilon, noise and time in words),
        ``epsilon`` (to be charged), ``charges`` (the same as ``epsilon``, and the ``rho`` of a zcdp ledger and ``mu``
        of a gdp one, see `pure_units`), ``charged`` (for which rows a ledger charges it; see `charged_rows_words`),
        ``offers`` (what else may be asked on a table of so many rows, in words).

    Raises
    ------
    DpdbError
        As `Session`.
    """
    if ask.counts_rows:
        raise ParameterError("only releases of measures are explained; a count reads no conflict")
    spec = TableSpec.of(source, settings, constraints=constraints, table=table)
    with empty_table(spec) as opened:
        bound = opened.constraints
        refuse_nested_loops(bound, spec.sizes.row_bound)
        protected = unit_of_table(unit_of(spec.change), opened)
        prepared = prepare(PublicTable(opened, protected, spec.sizes.max_group), ask)
        terms = degree_terms(bound)
        empty = opened.slice(prepared.parts[0].predicate)
        return {
            "source": opened.description,
            "where": prepared.slices.words,
            "unit": {"words": protected.words, "sql": _kept(opened, protected)},
            "constraints": [_constraint(empty, k) for k in range(len(bound))],
            "degree_bound": {"terms": [_term(term) for term in terms.terms], "sensitivity": terms.sensitivity},
            "releases": _releases(prepared),
            "epsilon": as_float(prepared.charge.epsilon),
            "charges": ledger_charges(prepared.charge.parts, protected.rows),
            "charged": charged_rows_words(prepared.charge.coverage),
            "offers": _offers(prepared, rows),
        }


def _offers(prepared: Prepared, rows: int | None) -> list[str]:
    part = prepared.parts[0]
    if rows is None or not isinstance(part, MeasurePart) or part.rate or part.by_rule:
        return []
    table = prepared.table
    offer = by_rule_offer(part.measured(table.bound), table.opened.schema, rows)
    return [] if offer is None or all(name == "repair" for name, _ in part.measures) else [offer]


def _kept(opened: Table, unit: PrivacyUnit) -> str | None:
    if unit.children is not None and unit.children.links:
        return kept_children_sql(opened.schema, opened.inclusions, unit.children.most)
    return None if unit.column is None else kept_rows_sql(opened.schema, unit.column, unit.rows)


def _constraint(empty: LocalSlice, position: int) -> dict[str, Any]:
    bound = empty.constraints[position]
    dc, explained = bound.constraint, explained_constraint(empty, position)
    return {
        "constraint": dc.label,
        "words": describe(dc),
        "shape": _shape(dc),
        "representation": _representation(bound),
        "sql": explained.sql,
        "operator": explained.operator,
        "plan": explained.plan,
    }


def _representation(bound: BoundConstraint) -> str:
    """Say how its conflicts are kept, whatever the other constraints are."""
    if bound.constraint.is_single_tuple:
        return "rows set apart"
    return "rows in blocks" if has_blocks(bound) else "edge table"


def _shape(dc: DenialConstraint) -> str:
    recognised = {
        "foreign key": dc.inclusion is not None,
        "single-tuple": dc.is_single_tuple,
        "key": key_columns(dc) is not None,
        "functional dependency": functional_dependency(dc) is not None,
        "order constraint": order_dependency(dc) is not None,
        str(block_shape(dc)): block_shape(dc) is not None,
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
    return [expected for part in parts for expected in _expected(part, part.measured(prepared.table.bound))]


def _expected(part: MeasurePart, constraints: Sequence[BoundConstraint]) -> list[dict[str, Any]]:
    shares = measure_shares(part)
    count = sum(share.count for share in shares)
    paid = [shares[0] if part.on_one_row else share for share in shares]  # one number is drawn once
    rows = f", divided by a row count with noise of scale about {float(1 / as_fraction(count)):.3g}" if count else ""
    return [
        {
            "measure": name,
            "constraint": None if part.constraint is None else part.constraint.label,
            "mechanism": mechanism.name,
            "epsilon": float(as_fraction(share.total) * Fraction(part.charged, part.epsilon)),
            "noise": f"discrete Laplace, scale about ({mechanism.noise}) x {_scale(mechanism, noisy):.3g}{rows}",
            "time": expected_time(mechanism.reads, constraints) if mechanism.fit is None else "grows with rows",
        }
        for (name, mechanism), share, noisy in zip(part.measures, shares, paid, strict=True)
    ]


def _scale(mechanism: Mechanism, share: Share) -> float:
    """Return the scale of the answer's noise per unit of its sensitivity."""
    return float(1 / (mechanism.answer_share * as_fraction(share.cap + share.rest)))
