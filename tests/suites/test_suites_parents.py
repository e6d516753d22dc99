"""Checks beside private parents: what a unit, or a row of either table, moves, and what a transcript loses by it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from exact_law import Code, losses, small_plan
from inside import true_numbers
from sqlglot import exp
from stub_noise import StubNoise
from suite_cases import Case, count

import dpdb
from dpdb.doors.cli.main import main
from dpdb.engine import unit_rows, unit_rows as children
from dpdb.engine.parents import by_key
from dpdb.ledger import Ledger
from dpdb.privacy.noise import replaced_noise
from dpdb.schema import TableSchema
from dpdb.suites import load_suite
from dpdb.suites.counted import CountedSuite, counted_suite

# -- the law of verdicts ----------------------------------------------------------------------------------------

FLIPS = {  # what is tested, and what one row of a parent moves: look-ups up, orphans down
    "one child of each key": (2, [(0, 1), (-1, 0)]),
    "two children of each key": (4, [(0, 1, 2), (-2, -1, 0)]),
}


@pytest.mark.heavy
@pytest.mark.parametrize("name", FLIPS)
def test_what_flips_loses_no_more_than_is_charged(name: str) -> None:
    most, changes = FLIPS[name]
    case = Case(small_plan([count(most)] * 2, 1, (1, 2), (1, 0)), [(0,), (-1, 0)], changes)
    assert losses(case.plan, case.pairs(), Code()).holds


@pytest.mark.heavy(family="long")
def test_the_law_sees_flips_taken_for_single_rows() -> None:
    """Half of that divisor: two statistics of one bank move apart."""
    case = Case(small_plan([count()] * 2, 2, (1, 2), (1, 0)), [(0,), (-1, 0)], [(0, 1), (-1, 0)])
    assert not losses(case.plan, case.pairs(), Code()).holds


# -- what moves ---------------------------------------------------------------------------------------------------

SUITE = """
looked: CHECK (b <= p.c) BY u = p.u  fail above 3
among: CHECK (b <= p.c) BY u = p.u WHERE b = 1  fail above 10%
found: u IN p.u WHERE p.c = 0  fail above 1% of non-null
plain: n, a -> b  fail above 2
rows: row_count  fail below 5
"""
Child = tuple[int | None, int, int]
Parent = tuple[int | None, int | None]
Instance = tuple[tuple[Child, ...], tuple[Parent, ...]]
CHILDREN: list[Child] = [(key, a, b) for key in (1, 2, None) for a, b in ((0, 0), (0, 1), (1, 1))]
PARENTS: list[Parent] = [(1, 0), (1, 1), (2, 0), (2, None), (None, 0)]


def bags(values: Sequence[Any], most: int) -> list[tuple[Any, ...]]:
    return [bag for size in range(most + 1) for bag in combinations_with_replacement(values, size)]


def without_unit(instance: Instance, unit: int) -> Instance:
    child, parent = instance
    return tuple(row for row in child if row[0] != unit), tuple(row for row in parent if row[0] != unit)


def without_row(rows: tuple[Any, ...], place: int) -> tuple[Any, ...]:
    return rows[:place] + rows[place + 1 :]


@pytest.fixture(autouse=True)
def numbers_hash_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of an instance and its units decide nothing: neighbours order their rows alike."""
    for module in (unit_rows, children):
        real = module.value_order

        def without_number(schema: TableSchema, *rest: Any, real: Any = real) -> list[exp.Expr]:
            return real(TableSchema(tuple(column for column in schema.columns if column.name not in "nu")), *rest)

        monkeypatch.setattr(module, "value_order", without_number)


class Counts:
    """The exact numbers of a suite on many instances, each the slice of one number: f, and f - p n for shares."""

    def __init__(self, instances: set[Instance], **settings: Any) -> None:
        self._number = {instance: number for number, instance in enumerate(sorted(instances, key=repr))}

        def rows(place: int, names: str) -> pa.Table:
            made = [
                (n, None if key is None else 3 * n + key, *rest)
                for instance, n in self._number.items()
                for key, *rest in instance[place]
            ]
            columns = [*zip(*made, strict=True)]
            return pa.table([pa.array(column, pa.int64()) for column in columns], names=names.split())

        suite = load_suite(SUITE)
        rules = [line.rule for line in suite.lines if line.rule is not None]
        parents = {"p": rows(1, "n u c")}
        self._session = dpdb.open(rows(0, "n u a b"), constraints=rules, private_parents=parents, **settings)
        self.suite: CountedSuite = counted_suite(self._session.public, suite)

    def __enter__(self) -> Counts:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    def of(self, instance: Instance) -> list[Fraction]:
        where = self._session.public.opened.where(f"n = {self._number[instance]}")
        found = self.suite.counts(true_numbers(self._session), where)
        pairs = zip(found, self.suite.limits, strict=True)
        return [value - (each.tested.rate or 0) * of for (value, of), each in pairs]

    def changes(self, larger: Instance, smaller: Instance) -> list[Fraction]:
        return [one - other for one, other in zip(self.of(larger), self.of(smaller), strict=True)]

    def ranges(self) -> list[tuple[Fraction, Fraction]]:
        return [(each.tested.low, each.tested.high) for each in self.suite.limits]


def broken_by_units(tested: Sequence[Instance], most: int) -> tuple[set[int], int]:
    """Which checks a unit moves by more than is claimed; and how many neighbours differ."""
    pairs = [(instance, without_unit(instance, unit)) for instance in tested for unit in (1, 2)]
    broken, moved = set(), 0
    with Counts({each for pair in pairs for each in pair}, unit="u", max_rows=most) as counts:
        for pair in pairs:
            changes = counts.changes(*pair)
            moved += any(changes)
            broken |= {
                place
                for place, (change, (low, high)) in enumerate(zip(changes, counts.ranges(), strict=True))
                if not low <= change <= high
            }
    return broken, moved


SMALL: list[Instance] = list(product(bags(CHILDREN, 3), bags(PARENTS, 2)))


@pytest.mark.heavy
@pytest.mark.parametrize("most", [1, 2])
def test_a_unit_moves_each_check_within_its_claim(most: int) -> None:
    broken, moved = broken_by_units(random.Random(most).sample(SMALL, 12), most)
    assert (broken, moved > 0) == (set(), True)


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
def test_a_unit_moves_each_check_of_every_small_instance_within_its_claim(most: int) -> None:
    for start in range(0, len(SMALL), 200):
        assert broken_by_units(SMALL[start : start + 200], most)[0] == set()


@pytest.mark.heavy(family="long")
def test_the_claim_sees_a_key_that_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_key(pairs: Any, alias: str) -> exp.Expr:
        assert [pair.column for pair in pairs] == ["u"]
        return exp.maybe_parse(f"({alias}.key_0 - 1) // 3 = (child_row.u - 1) // 3", dialect="duckdb")

    instance: Instance = (((1, 0, 1), (2, 0, 1), (2, 1, 1)), ((1, 0),))
    assert broken_by_units([instance], 1)[0] == set()
    monkeypatch.setattr(by_key, "same_key", without_key)  # any key of the same instance
    assert broken_by_units([instance], 1)[0]


def moved_by_rows(tested: Sequence[Instance], most: int) -> list[Fraction]:
    """Return the most that a row of either table moves each check; it has to be within half of what is claimed."""
    pairs: list[tuple[Instance, Instance]] = []
    for child, parent in tested:
        pairs += [((child, parent), (without_row(child, place), parent)) for place in range(len(child))]
        pairs += [((child, parent), (child, without_row(parent, place))) for place in range(len(parent))]
    steps, greatest = 2 * most, [Fraction(0)] * 5
    with Counts({each for pair in pairs for each in pair}, max_children=most) as counts:
        assert counts.ranges() == [
            (steps * Fraction(low), steps * Fraction(high))
            for low, high in ((0, 1), ("-1/10", "9/10"), ("-1/100", 1), (0, 1), (0, 1))
        ]
        for pair in pairs:
            greatest = [max(most, abs(change)) for most, change in zip(greatest, counts.changes(*pair), strict=True)]
    assert all(change <= max(most, 1) for change in greatest)
    return greatest


@pytest.mark.heavy
@pytest.mark.parametrize("most", [1, 2])
def test_a_row_of_either_table_moves_checks_within_half_a_claim(most: int) -> None:
    """A row that flips is two steps of the path that the claim counts: one goes, and one comes."""
    both: Instance = (((1, 0, 1), (1, 1, 1)), ((1, 0),))
    assert moved_by_rows([both, *random.Random(most).sample(SMALL, 6)], most)[0] == most


@pytest.mark.slow
@pytest.mark.parametrize("most", [1, 2])
def test_a_row_of_either_table_moves_checks_of_many_instances_within_half_a_claim(most: int) -> None:
    tested = random.Random(f"rows {most}").sample(SMALL, 300)
    for start in range(0, len(tested), 100):
        moved_by_rows(tested[start : start + 100], most)


# -- end to end -----------------------------------------------------------------------------------------------------

CHECKS = """
late: CHECK (day <= person.death) BY person_id = person.person_id  fail above 300
found: person_id IN person.person_id WHERE person.kind = 1  fail above 300
sex: CHECK (person.kind = 1) BY person_id = person.person_id WHERE code = 3  fail above 25% of used rows
rows: row_count  fail below 100 of used rows
"""


@pytest.fixture
def health(tmp_path: Path) -> Path:
    path = tmp_path / "health.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE person AS SELECT i AS person_id, i % 2 AS kind, "
            "CASE WHEN i % 5 < 3 THEN DATE '2020-01-01' + CAST(i % 300 AS INTEGER) END AS death FROM range(1000) t(i)"
        )
        connection.execute(
            "CREATE TABLE visit AS SELECT i AS visit_id, i % 1000 AS person_id, i % 7 AS code, "
            "DATE '2020-01-01' + CAST(i % 400 AS INTEGER) AS day FROM range(3000) t(i)"
        )
    (tmp_path / "suite.txt").write_text(CHECKS)
    return path


TRUTH = {
    "late": "FROM visit JOIN person USING (person_id) WHERE NOT (day <= death)",
    "found": "FROM visit WHERE person_id NOT IN (SELECT person_id FROM person WHERE kind = 1)",
    "sex": "FROM visit JOIN person USING (person_id) WHERE kind <> 1 AND code = 3",
    "rows": "FROM visit",
}
FORMS: list[dict[str, Any]] = [{"unit": "person_id", "max_rows": 3}, {"max_children": 3}]


@pytest.mark.heavy
@pytest.mark.parametrize("form", [*FORMS, {"public": True}])
def test_verdicts_and_sizes_are_those_of_sql(health: Path, form: dict[str, Any]) -> None:
    with duckdb.connect(str(health), read_only=True) as connection:
        truth = {name: connection.execute(f"SELECT count(*) {query}").fetchall()[0][0] for name, query in TRUTH.items()}
    kind = "public_parents" if form.get("public") else "private_parents"
    settings = {name: value for name, value in form.items() if name != "public"}
    suite = load_suite(CHECKS)
    rules = [line.rule for line in suite.lines if line.rule is not None]
    with dpdb.open(health, table="visit", constraints=rules, **{kind: ["person"]}, **settings) as session:
        counted = counted_suite(session.public, suite)
        found = [int(value) for value, _ in counted.counts(true_numbers(session), None)]
        assert found == list(truth.values())
        with replaced_noise(StubNoise()):
            verdicts = {each.name: each.verdict for each in session.check(CHECKS, 100)}
    assert verdicts == {"late": "fail", "found": "fail", "sex": "pass", "rows": "pass"}


@pytest.mark.heavy(family="privacy")
def test_the_command_checks_beside_private_parents(health: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = health.parent / "l.ledger"
    Ledger.create(ledger, 200).close()
    words = [str(health), "--table", "visit", "--private-parent", "person", "--unit", "person_id", "--max-rows", "3"]
    with replaced_noise(StubNoise()):
        code = main(["check", *words, str(health.parent / "suite.txt"), "--epsilon", "100", "--ledger", str(ledger)])
    shown = capsys.readouterr()
    assert code == 1, shown.err
    assert "late" in shown.out
    with Ledger.open(ledger) as opened:
        assert 0 < opened.summary().spent < 100  # what passes is settled
