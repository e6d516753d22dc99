"""Units reached through keys: the view, and its theorem (`dpdb.engine.parents.reached`) over all small instances.

Instances have three tables, with repeated, NULL and dangling keys and orders of several customers. Each of them is a
number in all keys, so one database holds many, and each change of all of them is one more database.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from dpdb.opening import open_table

Item: TypeAlias = tuple[int, int | None]
Order: TypeAlias = tuple[int | None, int | None]
Customer: TypeAlias = tuple[int | None, int | None]
Instance: TypeAlias = tuple[tuple[Item, ...], tuple[Order, ...], tuple[Customer, ...]]
Used: TypeAlias = Counter[tuple[int, int | None, int]]
"""Rows used of an instance: number of the item, its order, its unit."""

PATH = "(inst, order_id) -> orders(inst, id), (inst, customer_id) -> customers(inst, id), person"
UNITS = (7, 8)


def instances() -> Iterator[Instance]:
    """All of up to 3 items, 2 orders and 2 customers over keys 1, 2 and NULL."""
    items = [tuple(enumerate(orders)) for count in range(4) for orders in itertools.product((1, 2, None), repeat=count)]
    pairs = [
        rows
        for count in range(3)
        for rows in itertools.combinations_with_replacement([*itertools.product((1, 2, None), repeat=2)], count)
    ]
    people = [tuple((key, None if unit is None else unit + 6) for key, unit in rows) for rows in pairs]
    return itertools.product(items, pairs, people)  # type: ignore[return-value]


def owners(instance: Instance) -> tuple[list[set[int]], list[set[int]]]:
    """To which units each item and each order belong, by plain loops."""
    items, orders, customers = instance
    of_orders = [
        {unit for key, unit in customers if key is not None and unit is not None and key == customer}
        for _, customer in orders
    ]
    of_items = [
        {
            unit
            for (key, _), units in zip(orders, of_orders, strict=True)
            for unit in units
            if key is not None and key == order
        }
        for _, order in items
    ]
    return of_items, of_orders


def without(instance: Instance, unit: int, how: str, chosen: random.Random) -> Instance:
    """A neighbour: without the rows of the unit, and of those that are its own alone or nobody's without some."""
    items, orders, customers = instance
    of_items, of_orders = owners(instance)

    def goes(units: set[int]) -> bool:
        free = units <= {unit}
        return {
            "nothing else": False,
            "its own": units == {unit},
            "its own and nobody's": free,
            "some": free and chosen.random() < 0.5,
        }[how]

    return (
        tuple(item for item, units in zip(items, of_items, strict=True) if not goes(units)),
        tuple(order for order, units in zip(orders, of_orders, strict=True) if not goes(units)),
        tuple(customer for customer in customers if customer[1] != unit),
    )


def used_rows(path: Path, cases: Sequence[Instance], most: int) -> dict[int, Used]:
    """The rows that releases of items would read, through the real code, by instance."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as database:
        for place, (name, columns) in enumerate(
            {"items": ("n", "order_id"), "orders": ("id", "customer_id"), "customers": ("id", "person")}.items()
        ):
            rows = [(number, *row) for number, case in enumerate(cases) for row in case[place]]
            made = pa.table(
                {
                    column: pa.array([row[at] for row in rows], pa.int64())
                    for at, column in enumerate(("inst", *columns))
                }
            )
            if name == "customers":  # persons of two instances are two
                persons = [None if row[2] is None else row[0] * 10 + row[2] for row in rows]
                made = made.set_column(2, "person", pa.array(persons, pa.int64()))
            database.execute(f"CREATE TABLE {name} AS SELECT * FROM made")
    found: dict[int, Used] = defaultdict(Counter)
    with open_table(str(path), table="items", unit=PATH, max_rows=most) as table:
        query = exp.select("inst", "n", "order_id", '"customers.person"').from_(table.rows.scan)  # type: ignore[attr-defined]
        for inst, number, order, person in table.database.rows(query):  # type: ignore[attr-defined]
            found[inst][number, order, person - 10 * inst] += 1
    return found


def check_instances(cases: Sequence[Instance], tmp_path: Path) -> tuple[int, dict[int, int]]:
    """Compare rows used with loops, and neighbours with one another; return how many pairs, and the largest change."""
    chosen = random.Random(53)
    largest: dict[int, int] = {}
    pairs = 0
    for most in (1, 2, 3):
        whole = used_rows(tmp_path / "whole.duckdb", cases, most)
        for number, case in enumerate(cases):
            of_items, _ = owners(case)
            belongs = [(item, unit) for item, units in zip(case[0], of_items, strict=True) for unit in units]
            expected = Counter(unit for _, unit in belongs)
            found = Counter(row[2] for row in whole[number].elements())
            assert found == Counter({unit: min(most, count) for unit, count in expected.items()}), case
            assert set(whole[number]) <= {(*item, unit) for item, unit in belongs}, case
            assert set(whole[number].values()) <= {1}, case
        for unit, how in itertools.product(UNITS, ("nothing else", "its own", "its own and nobody's", "some")):
            less = [without(case, unit, how, chosen) for case in cases]
            left = used_rows(tmp_path / "less.duckdb", less, most)
            for number, case in enumerate(cases):
                stays = Counter({row: count for row, count in whole[number].items() if row[2] != unit})
                assert left[number] == stays, (case, unit, how)
                change = whole[number].total() - left[number].total()
                largest[most] = max(largest.get(most, 0), change)
                pairs += 1
    return pairs, largest


@pytest.mark.heavy(family="privacy")
def test_a_unit_that_leaves_takes_at_most_k_rows_and_changes_no_other(tmp_path: Path) -> None:
    cases = random.Random(1).sample([*instances()], 600)
    assert check_instances(cases, tmp_path)[1] == {1: 1, 2: 2, 3: 3}


@pytest.mark.slow
def test_the_same_for_all_small_instances(tmp_path: Path) -> None:
    cases = [*instances()]
    assert len(cases) == 40 * 55 * 55
    pairs, largest = check_instances(cases, tmp_path)
    print(f"{len(cases):,} instances, {pairs:,} pairs of neighbours; largest change by limit: {largest}")
    assert largest == {1: 1, 2: 2, 3: 3}
