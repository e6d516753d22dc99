"""A unit leaves both tables: every statistic changes within its claim, and each guard is needed for that.

All databases of one child and one parent up to a size, and every removal of a unit from both, through the real code:
the rows kept of a unit, their orphans, the conflict graph and its statistics.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from sqlglot import exp

from dpdb.engine import unit_rows
from dpdb.engine.duckdb.database import Database
from dpdb.engine.parents.opened import ParentTable
from dpdb.engine.parents.rules import resolved
from dpdb.engine.schema import Column, TableSchema
from dpdb.engine.sources.source import Source
from dpdb.engine.table import LocalTable
from dpdb.release.statistics import SliceStatistics

Child = tuple[int | None, int, int]  # key, a, b
RULES = ("key IN p.id", "a -> b")
BESIDE = (*RULES, "b = 1: (key, a) IN p(id, c)", "not(t1.a < t2.a & t1.b > t2.b)")
CHILDREN = [(key, a, b) for key in (1, 2, None) for a, b in ((0, 0), (0, 1), (1, 0))]
PARENTS: list[tuple[int | None, int]] = [(1, 0), (1, 1), (2, 0), (None, 0)]
THETAS = (1, 2)


@dataclass(frozen=True)
class Instance:
    """A child and a parent, whose columns are ``id, c``."""

    child: tuple[Child, ...]
    parent: tuple[tuple[int | None, int], ...]

    def without(self, unit: int, *, of_child: int = 0, of_parent: int = 0) -> Instance:
        """Remove a value of columns (by place) from both tables."""
        return Instance(
            tuple(row for row in self.child if row[of_child] != unit),
            tuple(row for row in self.parent if row[of_parent] != unit),
        )


class Parents:
    """Gives the parent as it stands in the tested database."""

    def found(self, database: Database, constraints: Sequence[Any], schema: TableSchema) -> Any:
        del schema
        columns = TableSchema(tuple(Column(name, kind) for name, kind in database.describe("SELECT * FROM tested_p")))
        parent = ParentTable("p", False, False, columns, exp.to_table("tested_p"), None, "")
        return tuple(resolved(dc, {"p": ("p", columns)}) for dc in constraints), {"p": parent}


def arrow(rows: Sequence[Sequence[Any]], names: str) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(names.split())
    return pa.table([pa.array(list(column), pa.int64()) for column in columns], names=names.split())


def statistics(
    database: Database, instance: Instance, rules: Sequence[str], unit: str | None, most: int
) -> dict[str, int]:
    with (
        database.arrow_table("tested", arrow(instance.child, "key a b")),
        database.arrow_table("tested_p", arrow(instance.parent, "id c")),
    ):
        schema = TableSchema(tuple(Column(*each) for each in database.describe("SELECT * FROM tested")))
        source = Source("tested", schema, exp.to_table("tested"))
        table = LocalTable(database, source, constraints=list(rules), parents=Parents(), unit=unit, most=most)
        part = table.slice()
        try:
            own, orphans = SliceStatistics(part), part.self_conflicts
            found = {"rows": part.row_count, "orphans": orphans, "degree bound": own.degree_bound()}
            found["cover"] = own.twice_fractional_cover().value + 2 * orphans
            for theta in THETAS:
                found[f"edges {theta}"] = own.projected_edges([theta])[0] + orphans
                found[f"witness {theta}"] = own.witnesses([theta])[0] + orphans
            return found
        finally:
            part.close()
            for made in ("unit_input", "unit_row"):
                database.execute(f"DROP TABLE IF EXISTS {made}")


# One row of the measured table changes each of them by at most this; all of them are monotone in rows.
CLAIMED = {"rows": 1, "orphans": 1, "cover": 2} | {
    f"{name} {theta}": theta + (name == "witness") for name in ("edges", "witness") for theta in THETAS
}


def broken(larger: dict[str, int], smaller: dict[str, int], most: int, terms: int) -> list[str]:
    """Statistics that change by more than `most` rows may change them, or the other way."""
    claimed = CLAIMED | {"degree bound": terms}
    return [name for name, each in claimed.items() if not 0 <= larger[name] - smaller[name] <= most * each]


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(threads=1) as opened:
        yield opened


def instances(largest: int, parents: int) -> list[Instance]:
    bags = [bag for size in range(largest + 1) for bag in itertools.combinations_with_replacement(CHILDREN, size)]
    beside = [bag for size in range(parents + 1) for bag in itertools.combinations_with_replacement(PARENTS, size)]
    return [Instance(child, parent) for child in bags for parent in beside]


def audited(database: Database, tested: Sequence[Instance], rules: Sequence[str], most: int) -> int:
    """Compare every instance with its neighbours; return how many pairs differ in orphans."""
    terms = 2 if len(rules) > 2 else 1
    moved = 0
    for instance in tested:
        mine = statistics(database, instance, rules, "key", most)
        for unit in (1, 2):
            smaller = instance.without(unit)
            theirs = statistics(database, smaller, rules, "key", most)
            assert not broken(mine, theirs, most, terms), (instance, unit)
            moved += mine["orphans"] != theirs["orphans"]
    return moved


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("rules", [RULES, BESIDE], ids=["foreign key and FD", "several rules"])
def test_a_unit_changes_every_statistic_within_its_claim(database: Database, rules: tuple[str, ...], most: int) -> None:
    """A sample (seeded) of the instances of the complete test below."""
    tested = random.Random(most).sample(instances(4, 3), 6)
    assert audited(database, tested, rules, most) > 0


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("rules", [RULES, BESIDE], ids=["foreign key and FD", "several rules"])
def test_every_small_instance(database: Database, rules: tuple[str, ...], most: int) -> None:
    """220 children of up to 3 rows, 15 parents of up to 2 rows, 2 units each."""
    assert audited(database, instances(3, 2), rules, most) > 0


def test_beside_a_public_parent_one_row_changes_every_statistic_within_its_claim(database: Database) -> None:
    """The row is the unit, and the parent is the same for both neighbours."""
    moved = 0
    for instance in random.Random(3).sample([each for each in instances(3, 2) if len(each.child) == 3], 7):
        mine = statistics(database, instance, BESIDE, None, 1)
        for place in range(3):
            smaller = Instance(instance.child[:place] + instance.child[place + 1 :], instance.parent)
            theirs = statistics(database, smaller, BESIDE, None, 1)
            assert not broken(mine, theirs, 1, terms=2), (instance, place)
            moved += mine["orphans"] != theirs["orphans"]
    assert moved > 0


MANY = tuple((1, 0, b) for b in (0, 0, 1, 1, 1))


def test_the_claim_sees_that_no_limit_is_applied(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    instance = Instance(MANY, ())

    def pair() -> list[str]:
        both = [statistics(database, each, RULES, "key", 2) for each in (instance, instance.without(1))]
        return broken(*both, 2, 1)

    assert not pair()
    kept = unit_rows.kept_rows
    monkeypatch.setattr(unit_rows, "kept_rows", lambda schema, unit, most, rows: kept(schema, unit, most + 9, rows))
    assert "orphans" in pair()


def test_the_claim_sees_a_unit_that_is_not_the_key(database: Database) -> None:
    """Without that guard: the unit is `a`, and what it has in the parent goes with it, by any column of the parent."""
    instance = Instance(((1, 0, 0), (1, 1, 0), (1, 2, 0), (1, 3, 0)), ((1, 0),))
    both = [
        statistics(database, each, ["key IN p.id"], "a", 1)
        for each in (instance, instance.without(0, of_child=1, of_parent=1))
    ]
    assert "orphans" in broken(*both, 1, 0)


def test_the_claim_sees_a_parent_row_that_goes_alone(database: Database) -> None:
    """The removal of the parent's row without the unit's rows is no neighbour: it is up to k rows changed."""
    instance = Instance(MANY, ((1, 0),))
    alone = Instance(MANY, ())
    both = [statistics(database, each, ["key IN p.id"], "key", 2) for each in (instance, alone)]
    assert "orphans" in broken(*both, 2, 0)  # they come and do not go: not monotone
    assert both[1]["orphans"] - both[0]["orphans"] == 2  # and no more than k


def test_the_claim_sees_a_parent_with_two_columns_of_the_unit(database: Database) -> None:
    """Without that guard: `key` is compared with `id` and with `c`, and a unit takes the rows that have it in `id`."""
    instance = Instance(((1, 0, 0), (1, 1, 0), (1, 2, 0)), ((2, 1),))
    rules = ["key IN p.c", "a = 9: key IN p.id"]
    both = [statistics(database, each, rules, "key", 3) for each in (instance, instance.without(2))]
    assert "orphans" in broken(*both, 3, 0)


def test_the_claim_sees_a_measured_table_that_is_its_own_parent(database: Database) -> None:
    """Without that guard, `manager IN staff.id` with the manager as the unit: its rows are parents of other units."""
    staff = [(9, 1, 0), (9, 2, 0), (9, 3, 0), (1, 4, 0), (2, 5, 0), (3, 6, 0)]  # manager, id, -
    rows = Instance(tuple(staff), tuple((row[1], 0) for row in staff))
    left = [row for row in staff if row[0] != 9]  # unit 9 leaves, and with it the employees 1, 2 and 3
    both = [
        statistics(database, each, ["key IN p.id"], "key", 1)
        for each in (rows, Instance(tuple(left), tuple((row[1], 0) for row in left)))
    ]
    assert "orphans" in broken(*both, 1, 0)
