"""The explanation of a release: what reads conflicts and by which SQL, degree terms, noise, cost. Reads no row.

Its queries are those that the release runs, noted while they run over an empty table of the same schema.
"""

from __future__ import annotations

from collections.abc import Sequence
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
    LocalTable,
    Table,
    TableSettings,
    TableSpec,
    constrained_columns,
    degree_terms,
    explained_constraint,
    kept_children_sql,
    kept_rows_sql,
    refuse_nested_loops,
    texts_compared_alone,
)
from dpdb.errors import ParameterError
from dpdb.opening import empty_table, is_remote
from dpdb.privacy import as_float
from dpdb.release.ask import Ask
from dpdb.release.conflict_graph import has_blocks
from dpdb.release.measure_part import MeasurePart
from dpdb.release.parts import Part
from dpdb.release.prepare import PublicTable, prepare
from dpdb.release.privacy_unit import PrivacyUnit, unit_of, unit_of_table
from dpdb.release.statistics import PrivateSlices
from dpdb.schema import TableSchema
from dpdb.sources import SourceLike
from dpdb.thresholds import FEW_ROWS, FEW_TEXTS, SHARED_HASHES, Threshold

_DEFAULT = Ask(epsilon=1)  # nothing is spent


def explain(
    source: SourceLike,
    constraints: ConstraintsLike,
    ask: Ask = _DEFAULT,
    *,
    table: str | None = None,
    rows: int | None = None,
    **settings: Unpack[TableSettings],
) -> dict[str, Any]:
    """Explain a release of measures without making it. Spends nothing; reads the schema only.

    Queries and plans come from an empty table of the same schema: how many queries run, and which joins DuckDB chooses,
    may depend on the number of rows, which is private. `choices` names both ways of each such choice.

    Parameters
    ----------
    rows : int, optional
        A guess of the number of rows, for `offers`; the other parameters are those of `Session` and of the release.

    Returns
    -------
    dict
        ``source``, ``where`` (all slices together), ``unit`` (words, sql of the rows it keeps), ``constraints``
        (constraint, words, shape, representation; of each whose self-join runs or may run sql, operator and plan, else
        None), ``degree_bound`` (terms, sensitivity), ``releases`` (measure, constraint if each is measured alone,
        mechanism, epsilon; noise, time and what it reads of edges, in words), ``queries`` of one slice in the order in
        which they run (files of ``sql/``, sql; None for a table of another engine, which is asked in its own SQL),
        ``choices`` (in words, what private numbers choose between),
        ``epsilon`` (to be charged), ``charges`` (the same as ``epsilon``, and the ``rho`` of a zcdp ledger and ``mu``
        of a gdp one, `Charge.in_each_notion`), ``charged`` (for which rows a ledger charges it:
        in words, as disjoint boxes of values per column, in notes what was not understood, and in ``also`` the private
        parents whose ledgers are charged the same, for every row),
        ``offers`` (what else may be asked on a table of so many rows, in words).
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
        joined = _joined(one_slice)
        return {
            "source": opened.description,
            "where": prepared.slices.words,
            "unit": {"words": protected.words, "sql": _kept(opened, protected)},
            "constraints": [_constraint(empty, k, joins=k in joined) for k in range(len(bound))],
            "degree_bound": {"terms": [_term(term) for term in terms.terms], "sensitivity": terms.sensitivity},
            "releases": [expected for part in one_slice for expected in part.expected()],
            "queries": None if is_remote(spec.source) else _queries(opened, one_slice),
            "choices": _choices(one_slice, None if is_remote(spec.source) else opened.schema),
            "epsilon": as_float(prepared.charge.epsilon),
            "charges": prepared.charge.in_each_notion(),
            "charged": {
                "rows": charged.describe(),
                "every_row": charged.covers_everything,
                "boxes": [{name: values.describe(name) for name, values in box} for box in charged.boxes],
                "notes": list(charged.notes),
                "also": [] if protected.children is None else protected.children.parents,
            },
            "offers": [] if offer is None else [offer],
        }


def _kept(opened: Table, unit: PrivacyUnit) -> str | None:
    if unit.children is not None and unit.children.links:
        return kept_children_sql(opened.schema, opened.inclusions, unit.children.most)
    return None if unit.column is None else kept_rows_sql(opened.schema, unit.column, unit.rows)


def _joined(parts: Sequence[Part]) -> set[int]:
    """Return the places of the constraints whose self-joins run or may run."""
    found: set[int] = set()
    for part in parts:
        if isinstance(part, MeasurePart):
            found |= {place + (part.position or 0) for place in part.way.joined}
    return found


def _queries(empty: LocalTable, parts: Sequence[Part]) -> list[dict[str, Any]]:
    """Note the queries of one slice; nothing is drawn."""
    slices = PrivateSlices(empty)
    with empty.database.traced() as ran:
        for part in parts:
            if isinstance(part, MeasurePart):
                part.read(slices)
        queries = [*ran]
    slices.forget()
    return [{"files": list(query.files), "sql": query.sql} for query in queries]


def _choices(parts: Sequence[Part], schema: TableSchema | None) -> list[str]:
    """Say what private numbers choose between; `schema` is None for a table of another engine."""
    found: list[Threshold] = []
    for part in parts:
        if not isinstance(part, MeasurePart):
            continue
        for each in part.way.thresholds:
            if each is FEW_ROWS and schema is not None and _may_hash_texts(part, schema):
                found += [FEW_TEXTS, SHARED_HASHES]
            found.append(each)
    return list(dict.fromkeys(each.words for each in found))


def _may_hash_texts(part: MeasurePart, schema: TableSchema) -> bool:
    selecting = set() if part.predicate is None else set(part.predicate.columns)
    return bool(texts_compared_alone(part.rules, constrained_columns(part.rules, schema), selecting, schema))


def _constraint(empty: LocalSlice, position: int, *, joins: bool) -> dict[str, Any]:
    bound = empty.constraints[position]
    dc = bound.constraint
    explained = explained_constraint(empty, position) if joins else None
    return {
        "constraint": dc.label,
        "words": describe(dc),
        "shape": _shape(dc),
        "representation": _representation(bound, joins=joins, lists_edges=empty.lists_edges),
        "sql": None if explained is None else explained.sql,
        "operator": None if explained is None else explained.operator,
        "plan": None if explained is None else explained.plan,
    }


def _representation(bound: BoundConstraint, *, joins: bool, lists_edges: bool) -> str:
    """Say how the conflicts of one constraint are held."""
    if bound.constraint.is_single_tuple:
        return "rows set apart"
    if lists_edges or not has_blocks(bound):
        return "edge table" if joins else "no edges"
    return "rows in blocks, or edge table" if joins else "rows in blocks"


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
