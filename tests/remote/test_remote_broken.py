"""How many rules each row or owner breaks: asked of other engines, against our own database."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from asked_there import Sent
from helpers_remote import random_question

import dpdb
from dpdb.engine import OwnersBroken
from dpdb.opening import open_table

pytestmark = pytest.mark.filterwarnings("ignore")  # of PySpark, pandas and py4j, which are not ours to mend

RULES = ["not(t1.a < 0)", "not(t1.b > 5)", "not(t1.a > t1.b)", "not(t1.s = 'x' & t1.a >= 0)", "NOT NULL(s)"]
SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.int32()), ("s", pa.string()), ("who", pa.int64())])


def some_rows(seed: int, count: int = 200) -> pa.Table:
    rng = random.Random(seed)
    rows = [
        {
            "a": rng.choice([None, -2, -1, 0, 1, 7]),
            "b": rng.choice([None, 0, 3, 9]),
            "s": rng.choice([None, "x", "xy", "'"]),
            "who": rng.choice([None, *range(count // 3 + 1)]),
        }
        for _ in range(count)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def scans(source: Any, rules: list[str] = RULES, where: str | None = "b IS NULL OR b < 9", **named: Any) -> list[Any]:
    """Return what is counted of rows, and of owners in both ways."""
    with open_table(source, constraints=rules, **named) as table:
        chosen = None if where is None else table.where(where)
        found: list[Any] = [table.count_broken(chosen, table.constraints)]
        for told in ("rows", "any") if "who" in table.schema.names else ():
            owners = OwnersBroken()
            for first, batch in table.broken_by_owner(chosen, table.constraints, "who", told):
                owners.add(batch, first)
            found.append(owners.counts(range(len(table.constraints))))
    return [(dict(each.tops), [dict(one) for one in each.counts]) for each in found]


@pytest.mark.parametrize("count", [0, 200])
def test_other_engines_count_the_same(sent: Sent, count: int) -> None:
    rows = some_rows(3, count)
    assert scans(**sent(rows)) == scans(rows)
    assert scans(**sent(rows), where=None) == scans(rows, where=None)


@pytest.mark.heavy(family="alone")
def test_more_rules_than_a_query_asks_for(sent: Sent) -> None:
    rows = some_rows(4)
    rules = [f"not(t1.a = {k % 9 - 2} & t1.b < {k})" for k in range(120)]
    assert scans(**sent(rows), rules=rules) == scans(rows, rules=rules)


@pytest.mark.heavy(family="long")
def test_a_check_there_ends_in_numbers(sent: Sent) -> None:
    """Ten checks fail by 150 rows, at an epsilon that pays few of them."""
    rows = pa.table({f"c{i}": [int((k * 7 + i * 13) % 10 == 0) for k in range(1500)] for i in range(10)})
    rules = [f"not(t1.c{i} > 0)" for i in range(10)]
    given = sent(rows)
    with dpdb.open(given.pop("source"), constraints=rules, **given) as session:
        results = session.check("\n".join(f"{rule} fail above 0" for rule in rules), epsilon=0.4)
    assert results.count("undecided") == 0
    assert results.capped
    wrong = [each for each in results if not (each.lower or 0) <= 150 <= each.upper]
    assert len(wrong) < 8  # none but for 2%


@pytest.mark.slow
def test_random_rules_of_one_row(sent: Sent) -> None:
    asked = 0
    for seed in range(120):
        rows, constraints, where = random_question(random.Random(seed))
        with open_table(rows, constraints=constraints) as table:
            single = [each.constraint.written for each in table.constraints if each.constraint.is_single_tuple]
        if single:
            asked += 1
            assert scans(**sent(rows), rules=single, where=where) == scans(rows, rules=single, where=where)
    assert asked > 5
