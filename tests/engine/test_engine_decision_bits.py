"""Decision bits and rows that share keys, through parser, binding and SQL, against their definitions on small tables.

The number of maximal consistent subsets is counted here as it is defined: of all subsets of the rows those that have no
conflict, and to which no row can be added without one.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest
from case_share import fifth
from test_engine_exact_statistic import SHAPES, Conflict, Row, Shape, both, counted, fd, key, opened, rows_of

from dpdb.engine import exact_statistic
from dpdb.engine.closed_forms import StatisticKind
from dpdb.graph import BIT
from dpdb.graph.exact.decision_bits import bit_steps, decision_steps

# -- the logarithm --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [*range(1, 40), 2**130 - 1, 2**130, 2**130 + 1, 3**90, 10**45])
def test_steps_are_the_floor_of_a_million_times_the_logarithm(count: int) -> None:
    """Compared as integers: 2^steps <= count^(10^6) < 2^(steps + 1), by lengths; a power of two is met exactly."""
    steps, power = bit_steps(count), 1 << (count.bit_length() - 1)
    assert steps == (0 if count == 1 else math.floor(Fraction(BIT) * _log2(count)))
    assert (steps == BIT * (count.bit_length() - 1)) == (count == power or steps % BIT == 0)


def _log2(count: int) -> Fraction:
    """log2 of a count to 200 digits, by squaring: another way than the one that is tested."""
    whole = count.bit_length() - 1
    digits, rest, scale = Fraction(whole), Fraction(count, 1 << whole), 600
    fixed = (rest.numerator << scale) // rest.denominator
    for place in range(1, 120):
        fixed = fixed * fixed >> scale
        if fixed >> (scale + 1):
            digits, fixed = digits + Fraction(1, 1 << place), fixed >> 1
    return digits


@pytest.mark.heavy(family="long")
def test_a_factor_of_one_to_two_is_at_most_a_bit() -> None:
    rng = random.Random(8)
    for _ in range(3_000):
        count = rng.randint(1, 2 ** rng.randint(1, 400))
        more = rng.randint(count, 2 * count)
        assert 0 <= bit_steps(more) - bit_steps(count) <= BIT
        assert bit_steps(2 * count) - bit_steps(count) == BIT


def test_huge_counts_are_no_slower_than_their_length() -> None:
    assert bit_steps(3**400_000) == 400_000 * 15849625007211561814537389439478 // 10**25  # log2(3), by its digits
    assert decision_steps([(1, 1, 3, 300_000), (1, 2, 2, 1)]) == bit_steps(3**300_000 + 2)
    assert decision_steps([]) == 0


# -- by definition --------------------------------------------------------------------------------------------

NESTED = [
    Shape("nested", ("a -> b", "a, c -> d"), 4, both(fd([0], 1), fd([0, 2], 3)), never_null="abcd"),
    Shape("nested with a key", ("a -> b", "UNIQUE(a, c)"), 3, both(fd([0], 1), key(0, 2)), never_null="abc"),
    Shape(
        "nested over the whole table",
        ("[] -> a", "b -> c", "b, c -> d"),
        4,
        both(fd([], 0), fd([1], 2), fd([1, 2], 3)),
        never_null="abcd",
    ),
    Shape(
        "three deep",
        ("[] -> a", "b -> c", "UNIQUE(b, d)"),
        4,
        both(fd([], 0), fd([1], 2), key(1, 3)),
        never_null="abcd",
    ),
    Shape(
        "constants", ("[] -> a", "a -> b", "a, b -> c"), 3, both(fd([], 0), fd([0], 1), fd([0, 1], 2)), never_null="abc"
    ),
    Shape("one side, declared", ("a -> b, c",), 3, fd([0], 1, 2), never_null="bc"),
    Shape(
        "alone and nested",
        ("CHECK (d < 2)", "a -> b", "a, c -> d"),
        4,
        both(fd([0], 1), fd([0, 2], 3)),
        lambda row: row[3] == 2,
        never_null="abcd",
    ),
]
BY_NAME = {shape.name: shape for shape in [*SHAPES, *NESTED]}
COUNTED = [
    BY_NAME[name]
    for name in (
        "fd", "constant", "fd of two columns", "fd on some rows", "fd of one row", "fd of either row", "not together",
        "not together at all", "unique", "unique on some rows", "one row", "primary key", *(one.name for one in NESTED),
    )
]  # fmt: skip


def violating(rows: Sequence[Row], conflict: Conflict, place: int, other: int) -> bool:
    return conflict(rows[place], rows[other]) or conflict(rows[other], rows[place])


def maximal_subsets(rows: Sequence[Row], shape: Shape) -> int:
    """Count them by definition, of the rows that violate nothing by themselves."""
    left = [row for row in rows if not shape.alone(row)]
    near = [
        sum(
            1 << other for other in range(len(left)) if other != place and violating(left, shape.conflict, place, other)
        )
        for place in range(len(left))
    ]
    return sum(
        all(((chosen >> place) & 1) == (not near[place] & chosen) for place in range(len(left)))
        for chosen in range(1 << len(left))
    )


def bits_are(steps: int, subsets: int, groups: int) -> bool:
    """Whether steps are the logarithm, rounded down once in each of some groups."""
    exact = BIT * math.log2(subsets)
    return exact - groups - 1e-6 <= steps <= exact + 1e-6


def found_bits(folder: Path, shape: Shape, tables: Sequence[Sequence[Row]]) -> list[int]:
    with opened(folder, shape, tables) as table:
        statistic = exact_statistic(table.constraints, table.schema, "decision bits")
        assert statistic is not None, shape
        assert (statistic.low, statistic.high, statistic.parts) == (0, BIT, BIT)
        return [one for [one] in counted(table, [statistic], range(len(tables)))]


@pytest.mark.heavy
@pytest.mark.parametrize("shape", fifth(COUNTED), ids=str)
def test_bits_are_those_of_the_subsets_by_definition(shape: Shape, tmp_path: Path) -> None:
    rng = random.Random(f"{shape} bits")
    tables = [rows_of(shape, rng) for _ in range(40)]
    for rows, steps in zip(tables, found_bits(tmp_path, shape, tables), strict=True):
        assert bits_are(steps, maximal_subsets(rows, shape), len(rows)), rows


@pytest.mark.slow
@pytest.mark.parametrize("shape", COUNTED, ids=str)
def test_bits_of_a_thousand_tables_are_those_of_the_subsets(shape: Shape, tmp_path: Path) -> None:
    rng = random.Random(f"{shape} slow bits")
    tables = [rows_of(shape, rng) for _ in range(1_000)]
    for rows, steps in zip(tables, found_bits(tmp_path, shape, tables), strict=True):
        assert bits_are(steps, maximal_subsets(rows, shape), len(rows)), rows


VALUES: dict[str, tuple[Sequence[int | None], ...]] = {
    "fd": ([0, None], [0, 1, None]),
    "fd of one row": ([0], [0, 1, None], [0, 1]),
    "fd of either row": ([0], [0, 1], [0, 1, 2], [0, 2]),
    "not together": ([0, None], [0, 1], [0, 1]),
    "unique on some rows": ([0, 1, None], [1, 0]),
    "primary key": ([0, None], [0, 1]),
    "nested": ([0], [0, 1], [0, 1], [0, 1]),
    "nested with a key": ([0], [0, 1], [0, 1]),
    "alone and nested": ([0], [0, 1], [0], [0, 1, 2]),
}


def small_tables(name: str, most: int) -> list[tuple[Row, ...]]:
    every = list(itertools.product(*VALUES[name]))
    return [rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(every, size)]


@pytest.mark.heavy
@pytest.mark.parametrize("most", [3, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", fifth(list(VALUES)))
def test_one_row_changes_the_bits_by_at_most_one_in_every_small_table(name: str, most: int, tmp_path: Path) -> None:
    """Every multiset of rows with NULL, and each of its rows removed, through SQL; both ends are attained."""
    tables = small_tables(name, most)
    found = dict(zip(tables, found_bits(tmp_path, BY_NAME[name], tables), strict=True))
    changes = {found[rows] - found[rows[:gone] + rows[gone + 1 :]] for rows in tables for gone in range(len(rows))}
    assert (min(changes), max(changes)) == (0, BIT)


# -- rows that share keys -------------------------------------------------------------------------------------

KEYS = {
    "one": Shape("one key", ("UNIQUE(a, b)",), 2, key(0, 1)),
    "two": Shape("two keys", ("UNIQUE(a)", "UNIQUE(b)"), 2, both(key(0), key(1))),
    "contained": Shape("a key in another", ("UNIQUE(a)", "UNIQUE(a, b)"), 2, both(key(0), key(0, 1))),
    "three": Shape("three keys", ("UNIQUE(a)", "UNIQUE(b)", "UNIQUE(c)"), 3, both(key(0), key(1), key(2))),
    "some rows": Shape(
        "keys of some rows",
        ("UNIQUE(a) WHERE c = 1", "UNIQUE(b)"),
        3,
        both(lambda p, q: p[2] == q[2] == 1 and key(0)(p, q), key(1)),
    ),
    "alone": Shape(
        "keys and a check",
        ("UNIQUE(a)", "UNIQUE(b)", "CHECK (a < 2)"),
        2,
        both(key(0), key(1)),
        lambda row: row[0] == 2,
    ),
    "a dependency of the key": Shape("key and fd", ("UNIQUE(a)", "a -> b"), 2, both(key(0), fd([0], 1))),
    "a dependency of more": Shape(
        "key, key and fd", ("a, b -> c", "UNIQUE(a)", "UNIQUE(c)"), 3, both(key(0), key(2), fd([0, 1], 2))
    ),
    "an order of the key": Shape(
        "key and order",
        ("UNIQUE(a)", "not(t1.a = t2.a & t1.b < t2.b & t1.c > t2.c)"),
        3,
        both(key(0), lambda p, q: key(0)(p, q) and None not in (*p, *q) and p[1] < q[1] and p[2] > q[2]),
    ),
    "a dependency of some rows": Shape(
        "key and fd of some rows",
        ("UNIQUE(a) WHERE c = 1", "a -> b WHERE c = 1"),
        3,
        lambda p, q: p[2] == q[2] == 1 and key(0)(p, q),
    ),
    "a dependency of one row": Shape(
        "key and fd of one row",
        ("UNIQUE(a)", "not(t1.c = 1 & t1.a = t2.a & t1.b != t2.b)"),
        3,
        key(0),
    ),
}
HIGHEST = {
    "one": 2, "two": 3, "contained": 2, "three": 4, "some rows": 3, "alone": 3, "a dependency of the key": 2,
    "a dependency of more": 3, "an order of the key": 2, "a dependency of some rows": 2, "a dependency of one row": 2,
}  # fmt: skip
SHARING: StatisticKind = "rows sharing keys"


def in_conflict(rows: Sequence[Row], shape: Shape) -> int:
    left = [row for row in rows if not shape.alone(row)]
    return (
        len(rows)
        - len(left)
        + sum(
            any(other != place and violating(left, shape.conflict, place, other) for other in range(len(left)))
            for place in range(len(left))
        )
    )


def found_sharing(folder: Path, name: str, tables: Sequence[Sequence[Row]]) -> list[int]:
    with opened(folder, KEYS[name], tables) as table:
        statistic = exact_statistic(table.constraints, table.schema, SHARING)
        assert statistic is not None
        assert (statistic.low, statistic.high) == (0, HIGHEST[name])
        return [one for [one] in counted(table, [statistic], range(len(tables)))]


@pytest.mark.heavy(of=10)
@pytest.mark.parametrize("most", [3, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", KEYS)
def test_rows_that_share_a_key_are_those_in_conflict_and_one_row_changes_them_by_one_for_each_key(
    name: str, most: int, tmp_path: Path
) -> None:
    """Every multiset of rows with NULL: the number by definition, its changes from 0 to 1 + K, and both attained."""
    columns = KEYS[name].columns
    values: list[list[int | None]] = [[0, 1, None]] * columns if columns < 3 else [[0, 1, None], [0, 1], [1, 0]]
    if name == "alone":
        values[0] = [0, 2, 1]
    every = list(itertools.product(*values))
    tables = [rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(every, size)]
    found = dict(zip(tables, found_sharing(tmp_path, name, tables), strict=True))
    assert all(count == in_conflict(rows, KEYS[name]) for rows, count in found.items())
    changes = {found[rows] - found[rows[:gone] + rows[gone + 1 :]] for rows in tables for gone in range(len(rows))}
    most_of_all = HIGHEST[name] if len(tables[-1]) > HIGHEST[name] - 1 else max(changes)
    assert (min(changes), max(changes)) == (0, most_of_all)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("rules", "kind"),
    [
        (["not(t1.a = t2.a & t1.b = 1)"], SHARING),
        (["UNIQUE(a)", "b -> a"], SHARING),
        (["UNIQUE(a, b)", "a -> b"], SHARING),  # rows that differ in b share no key
        (["UNIQUE(a) WHERE c = 1", "a -> b"], SHARING),
        (["UNIQUE(a) WHERE c = 1", "not(t1.c = 1 & t1.a = t2.a & t1.b != t2.b)"], SHARING),
        (["not(t1.a = t2.a & t1.c <= t2.c)", "a -> b"], SHARING),  # two rows without c share no key
        (["UNIQUE(a)", "not(t1.a = t2.b)"], SHARING),
        (["a -> b"], SHARING),
        (["a -> b, c"], "decision bits"),
        (["a -> b", "c -> d"], "decision bits"),
        (["a -> b", "a, c -> d"], "decision bits"),
        (["UNIQUE(a)", "UNIQUE(b)"], "decision bits"),
        (["not(t1.a < t2.a & t1.b > t2.b)"], "decision bits"),
        (["CHECK (a < 1)"], "decision bits"),
    ],
)
def test_other_rules_have_none(rules: list[str], kind: StatisticKind, tmp_path: Path) -> None:
    """A key on one row, or a NULL that the schema allows: decided before a row is read."""
    with opened(tmp_path, Shape("other", tuple(rules), 4, key(0)), [[(0, 0, 0, 0)]]) as table:
        assert exact_statistic(table.constraints, table.schema, kind) is None
