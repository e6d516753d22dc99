"""Keys in a set of tables: one person more changes what is counted by 0 or 1, and 0 means that no value is shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, combinations_with_replacement, product
from random import Random

import pyarrow as pa
import pytest
from case_share import of_all
from sqlglot import exp

from dpdb.engine.owners import count_sharing_owners, key_of
from dpdb.engine.sql.input_rows import read_columns
from dpdb.opening import open_local_table

Held = Sequence[Sequence[int | None]]  # by owner, the values of its rows
_VALUES = (None, 0, 1, 2)


def _found(sets: Sequence[Held], rule: str = "UNIQUE(k)") -> list[int]:
    """Count the owners of each set, whose rows are those of one in a column that says so."""
    rows = [(at, owner, value) for at, held in enumerate(sets) for owner, values in enumerate(held) for value in values]
    columns = {name: pa.array([row[at] for row in rows], pa.int64()) for at, name in enumerate(("place", "p", "k"))}
    counts = []
    with open_local_table(pa.table(columns), constraints=[rule]) as opened:
        key = key_of(opened.constraints[0], opened.schema)
        assert key is not None
        read_columns(opened.database, opened.rows, {"place", "p", "k"}, exp.to_table("every"))
        for at in range(len(sets)):
            opened.database.execute(f"CREATE OR REPLACE VIEW one AS FROM every WHERE place = {at}")
            counts.append(count_sharing_owners(opened.database, key, "p", exp.to_table("one")))
    return counts


def _values(values: Sequence[int | None]) -> Counter[int]:
    return Counter(value for value in values if value is not None)


def _clashes(held: Held) -> tuple[set[int], set[tuple[int, int]]]:
    """Return who repeats a value, and the pairs of others who share one."""
    own = {owner for owner, values in enumerate(held) if max(_values(values).values(), default=0) > 1}
    others = [owner for owner in range(len(held)) if owner not in own]
    return own, {
        (one, other) for one, other in combinations(others, 2) if _values(held[one]).keys() & _values(held[other])
    }


def _fewest(held: Held) -> int:
    """Return the fewest owners without whom no value occurs twice."""
    own, pairs = _clashes(held)
    others = range(len(held))
    covers = (set(gone) for size in range(len(held) + 1) for gone in combinations(others, size))
    return len(own) + next(len(gone) for gone in covers if all(gone & set(pair) for pair in pairs))


def _without(held: Held, at: int) -> tuple[Sequence[int | None], ...]:
    return (*held[:at], (), *held[at + 1 :])


def _check(sets: Sequence[Held]) -> int:
    """Compare each set with those of one owner less; return how many differ by 1."""
    asked = dict.fromkeys(tuple(map(tuple, held)) for held in sets)
    asked |= dict.fromkeys([_without(held, at) for held in asked for at in range(len(held))])
    found = dict(zip(asked, _found([*asked]), strict=True))
    for held, count in found.items():
        most = _fewest(held)
        assert most <= 2 * count <= 2 * most
    moved = [found[held] - found[_without(held, at)] for held in sets for at in range(len(held))]
    assert set(moved) <= {0, 1}
    return sum(moved)


def _holdings(most: int) -> list[tuple[int | None, ...]]:
    return [each for size in range(most + 1) for each in combinations_with_replacement(_VALUES, size)]


@pytest.mark.heavy(family="privacy")
def test_an_owner_more_changes_the_count_by_0_or_1() -> None:
    random, some = Random(33), _holdings(3)
    assert _check([tuple(random.choices(some, k=4)) for _ in range(of_all(20))]) > of_all(10)


@pytest.mark.slow
def test_an_owner_more_changes_the_count_of_all_small_sets_by_0_or_1() -> None:
    """All sets of three owners with at most two rows, and of four with the values of two."""
    assert _check([*product(_holdings(2), repeat=3)]) > 1000
    assert _check([*combinations_with_replacement([(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)], 4)]) > 100


def test_one_owner_takes_any_number_of_pairs_along_but_is_in_one() -> None:
    star = [(0, 1, 2, 3, 4), *((value,) for value in range(5))]
    assert _found([star, [(), *star[1:]], [(7, 7), (7,), (7,), (8,)]]) == [1, 0, 2]


def test_conditions_and_several_columns_choose_what_is_shared() -> None:
    table = pa.table({"p": [1, 1, 2, 3, 4, 4, None], "k": [0, 1, 0, 1, 5, 5, 1]})
    rules = ["UNIQUE(k)", "UNIQUE(k) WHERE k > 0", "UNIQUE(p, k)", "UNIQUE(k) WHERE k <> 5"]
    with open_local_table(table, constraints=rules) as opened:
        assert opened.count_owners("p", opened.constraints) == [2, 2, 1, 1]
