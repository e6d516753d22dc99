"""By how much one more row changes the scores of discovered rules: all tiny tables, through the real GROUP BY.

By default those of at most 2 rows and one more; slow those of at most 3.
"""

from __future__ import annotations

import pytest
from tiny_tables import Tiny, counted, neighbours, scores_by_hand, tables

from dpdb.owner.discovery import scores

# Rows, tables, pairs of them; the greatest change of a dependency's score, and the widest range of one pair's changes.
MOST = [(2, 4_060, 10_962, 0, 2), pytest.param((3, 31_465, 109_620, 1, 3), marks=pytest.mark.slow)]


@pytest.fixture(scope="module", params=MOST)
def found(request) -> tuple[int, dict[Tiny, tuple[list[int], list[int]]], list[int]]:
    most, number, *expected = request.param
    assert len(tables(most + 1)) == number
    return most, {table: scores(counts) for table, counts in counted(most + 1).items()}, expected


@pytest.mark.heavy(family="long")
def test_scores_are_those_of_the_theory(found):
    _, scored, _ = found
    assert {table: scores_by_hand(table) for table in scored} == scored


def changes(scored, most, more=1):
    """Least and greatest change of each kind of score, the widest range of one pair's changes, and the pairs."""
    ends, widest, pairs = [[0, 0], [0, 0]], [0, 0], 0
    for one, other in neighbours(most, more):
        pairs += 1
        for kind in (0, 1):
            moved = [b - a for a, b in zip(scored[one][kind], scored[other][kind], strict=True)]
            ends[kind] = [min(ends[kind][0], *moved), max(ends[kind][1], *moved)]
            widest[kind] = max(widest[kind], max(moved) - min(moved))
    return ends, widest, pairs


def test_one_more_row_changes_scores_within_the_stated_range(found):
    """The range -2 to 1 is attained with 3 rows, and by the changes of one pair of tables alone; -1 to 0 with 2."""
    most, scored, (number, highest, width) = found
    ends, widest, pairs = changes(scored, most)
    assert pairs == number
    assert ends == [[-2, highest], [-1, 0]]
    assert widest == [width, 1]


def test_two_rows_of_a_unit_change_them_within_twice_the_range(found):
    most, scored, _ = found
    (dependencies, keys), widest, _ = changes(scored, most - 1, more=2)
    assert -4 <= dependencies[0] < dependencies[1] <= 2
    assert keys == [-2, 0]
    assert widest[0] <= 6
    assert widest[1] <= 2
