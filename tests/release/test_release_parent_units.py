"""A unit leaves both tables: every statistic changes within its claim, and each guard is needed for that.

All databases of one child and one parent up to a size, and every removal of a unit from both, through the real code:
the rows kept of a unit, their orphans, the conflict graph and its statistics.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

import pytest
from sqlglot import exp
from two_tables import BESIDE, LOOK_UPS, LOOKED_UP, RULES, WITH_MEMBERS, Instance, broken, instances, statistics

from dpdb.database.database import Database
from dpdb.engine import unit_rows
from dpdb.engine.sql import input_rows
from dpdb.engine.sql.input_rows import AcrossColumn


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database(threads=1) as opened:
        yield opened


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


@pytest.mark.heavy
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


@pytest.mark.heavy
@pytest.mark.parametrize("most", [1, 2])
def test_a_unit_changes_look_ups_within_their_claim(database: Database, most: int) -> None:
    tested = random.Random(most).sample(instances(4, 3, LOOKED_UP), 8)
    assert audited(database, tested, LOOK_UPS, most) > 0


@pytest.mark.heavy
@pytest.mark.parametrize("most", [1, 2])
def test_a_unit_changes_look_ups_with_members_within_their_claim(database: Database, most: int) -> None:
    tested = random.Random(most).sample(instances(4, 3, LOOKED_UP), 40)  # fewer move nothing
    assert audited(database, tested, WITH_MEMBERS, most) > 0


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
def test_look_ups_of_every_small_instance(database: Database, most: int) -> None:
    """220 children of up to 3 rows, 21 parents of up to 2 rows with NULL and repeated keys, 2 units each."""
    assert audited(database, instances(3, 2, LOOKED_UP), LOOK_UPS, most) > 0


def test_the_claim_sees_a_look_up_without_its_key(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then rows of the parent decide over those of other units."""
    instance = Instance(((1, 0, 1), (2, 0, 1), (2, 1, 1)), ((1, 0),))

    def pair() -> list[str]:
        both = [statistics(database, each, LOOK_UPS[:1], "key", 1) for each in (instance, instance.without(1))]
        return broken(*both, 1, 1)

    assert not pair()
    real = input_rows.violates_across

    def without_key(column: AcrossColumn, rows: exp.Table) -> exp.Update:
        made = real(column, rows)
        for equal in list(made.find_all(exp.EQ)):
            if isinstance(equal.this, exp.Column) and equal.this.name == "id":
                equal.replace(exp.true())
        return made

    monkeypatch.setattr(input_rows, "violates_across", without_key)
    assert "orphans" in pair()


@pytest.mark.heavy(family="privacy")
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
