"""How many rules each row or owner breaks, against plain Python: our own database."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from broken_rows import by_owner, by_row, by_sum

from dpdb.engine import OwnersBroken, broken
from dpdb.opening import open_table

RULES = [
    "not(t1.a < 0)", "not(t1.b > 5)", "not(t1.a > t1.b)", "not(t1.s = 'x' & t1.a >= 0)", "NOT NULL(s)",
    "a IN parents.a", "not(length(t1.s) > 1)",
]  # fmt: skip
PARENTS = {0, 1, 2, 3}
IN_PYTHON = [
    lambda r: r["a"] is not None and r["a"] < 0,
    lambda r: r["b"] is not None and r["b"] > 5,
    lambda r: None not in (r["a"], r["b"]) and r["a"] > r["b"],
    lambda r: None not in (r["s"], r["a"]) and r["s"] == "x" and r["a"] >= 0,
    lambda r: r["s"] is None,
    lambda r: r["a"] is not None and r["a"] not in PARENTS,
    lambda r: r["s"] is not None and len(r["s"]) > 1,
]


def some_rows(seed: int, count: int) -> list[dict[str, object]]:
    rng = random.Random(seed)
    return [
        {
            "a": rng.choice([None, -2, -1, 0, 1, 7]),
            "b": rng.choice([None, 0, 3, 9]),
            "s": rng.choice([None, "x", "xy", "'"]),
            "who": rng.choice([None, *range(count // 3 + 1)]),
        }
        for _ in range(count)
    ]


SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.int32()), ("s", pa.string()), ("who", pa.int64())])


def opened(rows):
    parents = pa.table({"a": pa.array(sorted(PARENTS), pa.int64())})
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    return open_table(table, constraints="\n".join(RULES), public_parents={"parents": parents})


@pytest.mark.heavy
@pytest.mark.parametrize("where", [None, "b = 3", "s IS NOT NULL"])
@pytest.mark.parametrize("count", [0, 1, 60])
def test_rows_by_how_many_rules_they_break(count, where, monkeypatch):
    rows = some_rows(count, count)
    chosen = {
        None: lambda r: True, "b = 3": lambda r: r["b"] == 3, "s IS NOT NULL": lambda r: r["s"] is not None
    }[where]  # fmt: skip
    expected = by_sum([told for told in by_row([r for r in rows if chosen(r)], IN_PYTHON) if sum(told)])
    with opened(rows) as table:
        where = None if where is None else table.where(where)
        for per_scan in (400, 3, 1):  # any number of scans gives the same
            monkeypatch.setattr(broken, "PER_SCAN", per_scan)
            found = table.count_broken(where, table.constraints)
            assert (dict(found.tops), [*found.counts]) == (expected[0], expected[1] or [{}] * len(RULES))


@pytest.mark.heavy
@pytest.mark.parametrize("told", ["rows", "any"])
@pytest.mark.parametrize("count", [0, 1, 60])
def test_owners_by_how_many_rules_they_break_over_slices(count, told, monkeypatch):
    """Two slices are two sets of statistics: A of an owner is over both."""
    rows = some_rows(100 + count, count)
    slices = [lambda r: r["b"] == 3, lambda r: r["b"] == 9]
    both = [lambda r, f=f, s=s: s(r) and f(r) for s in slices for f in IN_PYTHON]
    owners = by_owner(rows, both, "who", any_row=told == "any")
    expected = by_sum(list(owners.values()))
    with opened(rows) as table:
        for per_scan in (400, 3):
            monkeypatch.setattr(broken, "PER_SCAN", per_scan)
            found = OwnersBroken()
            for place, text in enumerate(("b = 3", "b = 9")):
                for first, batch in table.broken_by_owner(table.where(text), table.constraints, "who", told):
                    found.add(batch, place * len(RULES) + first)
            counts = found.counts(range(2 * len(RULES)))
            assert (dict(counts.tops), [*counts.counts]) == (expected[0], expected[1] or [{}] * 2 * len(RULES))
