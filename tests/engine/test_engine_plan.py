"""Every shape: the operator at a realistic size, the edges of the plain join, refusals by shape alone."""

from __future__ import annotations

import pyarrow as pa
import pytest
from helpers_engine import ordered_edges
from sqlglot import exp

from dpdb.constraints import distinct, functional_dependency, load_constraints
from dpdb.database.database import Database
from dpdb.engine.for_owner import export_edges
from dpdb.engine.slice import LocalSlice
from dpdb.engine.sql.bind import bind
from dpdb.engine.sql.joins import NESTED_LOOP_ROWS, join_plan, refuse_nested_loops
from dpdb.errors import ParameterError
from dpdb.sources.open import open_source

ROWS = 20_000
SHAPES = {
    "zip -> city": ("minority against group", "HASH_JOIN"),
    "UNIQUE(zip, phone)": ("plain", "HASH_JOIN"),
    "not(t1.state=t2.state&t1.salary>t2.salary&t1.rate<t2.rate)": ("composite ranks", "IE_JOIN"),
    "not(t1.state=t2.state&t1.salary>t2.salary&t1.rate>t2.rate)": ("composite ranks", "IE_JOIN"),
    "not(t1.gain<t2.gain&t1.loss<t2.loss)": ("plain", "IE_JOIN"),
    "not(t1.gain<t2.loss&t1.city!=t2.city)": ("plain", "PIECEWISE_MERGE_JOIN"),
    "not(t1.salary=t2.gain&t1.city!=t2.city)": ("plain", "HASH_JOIN"),
    "not(t1.city!=t2.city&t1.state!=t2.state)": ("plain", "PIECEWISE_MERGE_JOIN"),
    "not(t1.city!=t2.city&t1.salary!=t2.gain)": ("plain", "NESTED_LOOP_JOIN"),
}


def people(rows: int) -> pa.Table:
    """Make a table whose functional dependencies and order hold but for every 997th row."""
    index = range(rows)
    return pa.table(
        {
            "zip": [k % 500 for k in index],
            "city": [f"c{k % 500 // 3 if k % 997 else k % 7}" for k in index],
            "phone": [k // 2 if k % 997 else k % 7 for k in index],
            "state": [k % 50 for k in index],
            "salary": [(k * 7919) % 5000 for k in index],
            "rate": [(k * 7919) % 5000 // 10 if k % 997 else k % 300 for k in index],
            "gain": [k % 1000 if k % 109 == 0 else 0 for k in index],
            "loss": [k % 900 if k % 113 == 0 else 0 for k in index],
        }
    )


def slice_of(database: Database, rules: list[str], rows: int) -> LocalSlice:
    source = open_source(database, people(rows).cast(people(1).schema))
    bound = bind(database, distinct(load_constraints(rules, source.schema.names)), source.schema)
    return LocalSlice(database, source, bound, None, name="part")


@pytest.mark.heavy
@pytest.mark.parametrize("rule", SHAPES)
def test_the_operator_at_a_realistic_size(rule: str) -> None:
    shape, operator = SHAPES[rule]
    with Database() as database:
        part = slice_of(database, [rule], ROWS)
        members = part.table("member")
        plan = join_plan(
            0, part.pairwise, part.tuples, part.rank, members=members, coded=part.coded, taken=part.tuple_columns
        )
        assert (plan.shape, plan.operator) == (shape, operator)
        if plan.members is not None:
            database.execute(plan.members.ctas(members.copy()))
        joins = {name for name in database.operators(plan.edges) if "JOIN" in name}
        assert joins == {operator}


@pytest.mark.heavy(family="long")
def test_plans_together_give_the_edges_of_the_plain_joins() -> None:
    """On values of realistic groups; random small tables are in the oracle tests."""
    rules = [rule for rule in SHAPES if "city!=" not in rule]
    with Database() as database:
        part = slice_of(database, rules, 3_000)
        assert part.edges.node_count == 3_000
        found = database.rows(exp.select("u", "v", "dc").from_(part.table("conflict_edge")))
        assert found == database.rows(ordered_edges(part.pairwise, part.tuples, part.rank))
        assert len({dc for _, _, dc in found}) >= 3


def test_nested_loops_are_refused_by_shape_unless_a_public_bound_admits_them() -> None:
    rule = "not(t1.city!=t2.city&t1.state!=t2.state)"
    with Database() as database:
        for rows in (0, 10):  # the data does not matter
            source = open_source(database, people(rows).cast(people(1).schema))
            bound = bind(database, load_constraints(rule, source.schema.names), source.schema)
            for row_bound in (None, NESTED_LOOP_ROWS + 1):
                with pytest.raises(ParameterError, match="row_bound"):
                    refuse_nested_loops(bound, row_bound)
            refuse_nested_loops(bound, NESTED_LOOP_ROWS)
            database.execute("DROP TABLE source_row")


@pytest.mark.heavy
@pytest.mark.parametrize(
    "rule", ["[] -> city", "not(t1.zip='1'&t2.zip='1'&t1.city!=t2.city)", "not(t1.zip='1'&t2.zip='2')"]
)
def test_a_constant_column_has_blocks_and_is_not_refused(rule: str) -> None:
    with Database() as database:
        source = open_source(database, people(10))
        refuse_nested_loops(bind(database, load_constraints(rule, source.schema.names), source.schema), None)


@pytest.mark.heavy(family="long")
def test_the_exported_edges_are_complete_ordered_and_small(tmp_path: pytest.TempPathFactory) -> None:
    path = tmp_path / "edges.duckdb"  # type: ignore[operator]
    with Database() as database:
        source = open_source(database, people(ROWS))
        dcs = distinct(load_constraints(["zip -> city", "state -> rate"], source.schema.names))
        part = LocalSlice(database, source, bind(database, dcs, source.schema), None, name="part", keep_source_row=True)
        export_edges(part, path)
        expected = database.rows(exp.select("u", "v").from_(part.table("conflict_edge")))
        with pytest.raises(ParameterError, match="exists already"):
            export_edges(part, path)
    with Database() as database:
        database.execute(f"ATTACH '{path}' AS e (READ_ONLY)")
        assert database.rows("SELECT u, v FROM e.conflict_edge") == expected
        assert [name for name, _ in database.describe("SELECT * FROM e.conflict_edge")] == ["u", "v", "dc"]
        conflicts = database.rows("SELECT * FROM e.conflict ORDER BY ALL LIMIT 1000")
        assert {row[0] for row in conflicts} <= {dc.written for dc in dcs}
        rows = people(ROWS).to_pylist()
        for text, one, other in conflicts:
            dependency = functional_dependency(dcs[[dc.written for dc in dcs].index(text)])
            assert dependency is not None
            assert all(rows[one][name] == rows[other][name] for name in dependency.lhs)
            assert rows[one][dependency.rhs] != rows[other][dependency.rhs]
    assert len(expected) > 100_000
    assert path.stat().st_size / len(expected) < 4
    assert [p.name for p in path.parent.iterdir()] == ["edges.duckdb"]


@pytest.mark.heavy(family="long")
def test_columns_called_like_the_helper_columns_change_nothing() -> None:
    """A column x that is compared with another column keeps its values beside the composite rank."""
    table = pa.table(
        {"s": [1, 1, 1], "p": [1, 2, 3], "r": [3, 2, 1], "x": [1, 2, 9], "y": [5, 1, 7], "minor": [1, 1, 0]}
    )
    rules = ["not(t1.s=t2.s&t1.p>t2.p&t1.r<t2.r)", "s -> r", "not(t1.x=t2.y&t1.minor=1)"]
    with Database() as database:
        source = open_source(database, table)
        bound = bind(database, load_constraints(rules, source.schema.names), source.schema)
        part = LocalSlice(database, source, bound, None, name="part")
        assert part.edges.node_count == 3
        found = database.rows(exp.select("u", "v", "dc").from_(part.table("conflict_edge")))
        assert found == [(0, 1, 0), (0, 2, 0), (1, 2, 0)]
