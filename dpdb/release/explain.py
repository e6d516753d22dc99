"""The explanation of a release: SQL, query plans over an empty table, degree terms, noise, cost. Reads no row."""

from __future__ import annotations

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
    Table,
    TableSettings,
    TableSpec,
    degree_terms,
    explained_constraint,
    kept_children_sql,
    kept_rows_sql,
    refuse_nested_loops,
)
from dpdb.errors import ParameterError
from dpdb.opening import empty_table
from dpdb.privacy import as_float
from dpdb.release.ask import Ask
from dpdb.release.conflict_graph import has_blocks
from dpdb.release.prepare import PublicTable, prepare
from dpdb.release.privacy_unit import PrivacyUnit, unit_of, unit_of_table
from dpdb.sources import SourceLike

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
        of a gdp one, `Charge.in_each_notion`), ``charged`` (for which rows a ledger charges it:
        in words, as disjoint boxes of values per column, and in notes what was not understood),
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
        slices, charged = prepared.slices.predicates, prepared.charge.coverage
        one_slice = prepared.parts[: len(prepared.parts) // len(slices)]  # every slice has the same parts
        offer = None if rows is None else prepared.parts[0].offer(opened.schema, rows)
        empty = opened.slice(slices[0])
        return {
            "source": opened.description,
            "where": prepared.slices.words,
            "unit": {"words": protected.words, "sql": _kept(opened, protected)},
            "constraints": [_constraint(empty, k) for k in range(len(bound))],
            "degree_bound": {"terms": [_term(term) for term in terms.terms], "sensitivity": terms.sensitivity},
            "releases": [expected for part in one_slice for expected in part.expected()],
            "epsilon": as_float(prepared.charge.epsilon),
            "charges": prepared.charge.in_each_notion(),
            "charged": {
                "rows": charged.describe(),
                "every_row": charged.covers_everything,
                "boxes": [{name: values.describe(name) for name, values in box} for box in charged.boxes],
                "notes": list(charged.notes),
            },
            "offers": [] if offer is None else [offer],
        }


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
    """Say how the conflicts of one constraint are stored, whatever the other constraints are."""
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
