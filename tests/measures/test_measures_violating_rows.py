"""`violating_rows`: under rules on one row every measure is one count, of sensitivity 1, drawn once for a call.

False alarms: `distribution_check` rejects a private mechanism with probability at most 2e-9 in each of the few
directions here.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from distribution_check import is_caught
from inside import true_numbers
from noise_scripts import recorded

import dpdb
from dpdb.errors import ParameterError
from dpdb.measures import all_measures
from dpdb.measures.answer import FROM_BELOW
from dpdb.privacy.epsilon import NANO
from dpdb.release import Ask, Release, Session
from dpdb.release.explain import explain
from dpdb.release.published.release import recorded_releases

CERTAIN = 1_000_000  # the noise is 0 except with probability below exp(-1,000)
Row = tuple[int | None, str | None]
VALUES: list[Row] = list(itertools.product((None, 1, 5), (None, "x", "zz")))
MEASURES = [measure for measure in all_measures() if measure.of_one_row]
RULES = ["NOT NULL(a)", "CHECK (a < 3)", "b IN p.b", "CHECK (b LIKE 'z%' OR a = 5)"]
PARENTS = {"p": pa.table({"b": ["x"]})}


def broken(row: Row) -> list[bool]:
    """Which of the rules a row breaks, by hand; what a NULL leaves unknown is not broken."""
    a, b = row
    like = [] if a is None else [a == 5]
    like += [] if b is None else [b.startswith("z")]
    known_false = len(like) == 2 and not any(like)
    return [a is None, a is not None and a >= 3, b is not None and b != "x", known_false]


def multisets(most: int) -> list[tuple[Row, ...]]:
    return [rows for size in range(most + 1) for rows in itertools.combinations_with_replacement(VALUES, size)]


def in_slices(tables: Sequence[tuple[Row, ...]]) -> pa.Table:
    """Tables as slices of one: their number is a column."""
    rows = [(number, *row) for number, rows in enumerate(tables) for row in rows]
    columns = [list(column) for column in zip(*rows, strict=True)]
    return pa.table(dict(zip(("t", "a", "b"), map(pa.array, columns), strict=True)))


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("most", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_every_measure_of_every_small_table_is_the_number_of_violating_rows(most: int) -> None:
    """Through parser, SQL and statistics: all tables of so many rows of nine kinds, each with every row removed."""
    tables = multisets(most)
    counts: dict[tuple[Row, ...], int] = {}
    keys = list(range(len(tables)))
    with Session(in_slices(tables), constraints=RULES, public_parents=PARENTS) as session:
        released = session.dp_inconsistency("all", CERTAIN, by="t", keys=keys)
        some = keys if most > 2 else keys[::9]
        alone = session.dp_inconsistency("repair", CERTAIN, by="t", keys=some, each_constraint=True)
        predicates = session.prepare(Ask("repair", by="t", keys=keys, epsilon=1)).slices.predicates
        for number, rows in enumerate(tables):
            expected = sum(any(broken(row)) for row in rows)
            assert [one.value for one in released[3 * number : 3 * number + 3]] == [expected] * 3
            if number % 7 == 0:  # what the measures are by their definitions, from the conflict graph
                statistics = true_numbers(session).statistics(predicates[number])
                assert {measure.truth(statistics) for measure in MEASURES} == {expected}
            counts[rows] = statistics_of(session, predicates[number])
    for place, number in enumerate(some):
        each = [one.value for one in alone[4 * place : 4 * place + 4]]
        assert each == [sum(broken(row)[rule] for row in tables[number]) for rule in range(4)]
    for rows, count in counts.items():
        for gone in range(len(rows)):
            assert count - counts[rows[:gone] + rows[gone + 1 :]] in (0, 1)


def statistics_of(session: Session, predicate: Any) -> int:
    return true_numbers(session).statistics(predicate).self_conflicts


ROWS = [(1, "x"), (5, None), (None, "x")]


def table(rows: Sequence[Row]) -> pa.Table:
    a, b = zip(*rows, strict=True)
    return pa.table({"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.string())})


# -- noise ----------------------------------------------------------------------------------------------------


@pytest.mark.heavy
@pytest.mark.parametrize("measure", [*(measure.name for measure in MEASURES), "all"])
@pytest.mark.parametrize("rows_per_person", [1, 4])
def test_one_draw_of_scale_one_over_epsilon(measure: str, rows_per_person: int) -> None:
    with Session(table(ROWS), constraints=["NOT NULL(a)", "a < 3"][:1], rows_per_person=rows_per_person) as session:
        found, drawn = recorded(lambda: session.dp_inconsistency(measure, "0.5"))
    [one] = drawn
    assert (one.kind, one.value) == ("laplace", 1)
    assert 0 <= Fraction(one.scale) - 2 * rows_per_person < Fraction(1, 10**6)
    releases = [found] if isinstance(found, Release) else list(found)
    assert {release.raw for release in releases} == {one.result}
    assert [release.epsilon for release in releases] == [0.5, 0, 0][: len(releases)]
    for release in releases:
        assert (release.mechanism, release.quantity, release.theta) == ("violating_rows", "rows", None)
        assert release.upper is not None
        assert release.upper_reason is None
        assert (release.estimate_lower, release.estimate_upper) == (release.lower, release.upper)
        assert "rows that break a rule by themselves" in release.estimand


def test_rates_divide_one_count_by_another() -> None:
    with Session(table(ROWS), constraints="NOT NULL(a)") as session:
        found, drawn = recorded(lambda: session.dp_inconsistency("all", 1, rate=True))
    assert [(one.value, round(1 / one.scale, 6)) for one in drawn] == [(3, 0.05), (1, 0.95)]
    assert [release.epsilon for release in found] == [1, 0]
    assert found[0].value == found[1].value


def test_rules_on_one_row_among_others_have_their_own_count() -> None:
    rules = ["a -> b", "NOT NULL(a)"]
    with Session(table(ROWS), constraints=rules) as session:
        names = {r.mechanism for r in session.dp_inconsistency("all", 1)}
        assert names == {"ladder", "fewest_deletions"}
        each = session.dp_inconsistency("minimal_inconsistency", 1, each_constraint=True)
        assert [r.mechanism for r in each] == ["ladder", "violating_rows"]
        assert [r.quantity for r in each] == ["pairs of rows", "rows"]
        every = session.dp_inconsistency("all", 1, each_constraint=True)
        assert sum(round(r.epsilon * NANO) for r in every) == NANO
        assert "by constraint" in dpdb.release.releases_words(each)
        assert session.prepare(Ask("repair", each_constraint=True, epsilon=1)).charge.request["measures"] == {
            "repair": "fewest_deletions or violating_rows"
        }


def sampler(rows: Sequence[Row], epsilon: float, *, apart: bool = False) -> Any:
    """Samples of what one call for all measures publishes; `apart`: of three draws at the whole epsilon.

    Of three draws the samples say whether all are at most the value on `ROWS`, 2: so are .39 of the samples there and
    .02 of the neighbour's, which a test of 1,500 misses with probability 2e-20 (binomial tails). Cells of three
    numbers, hundreds of them, are too many for a pilot.
    """
    session = Session(table(rows), constraints=["NOT NULL(a)", "CHECK (a < 3)"])
    parts = session.prepare(Ask("all", epsilon)).parts
    statistics = true_numbers(session).statistics()

    def outcome() -> tuple[float, ...]:
        answers = [one for part in parts for one in part.answers(statistics)]  # type: ignore[attr-defined]
        return tuple(min(max(answer.unclamped, -1), 6) for answer in answers)

    def sample(count: int) -> list[Any]:
        if apart:
            return [all(outcome()[0] <= 2 for _ in range(3)) for _ in range(count)]
        return [outcome() for _ in range(count)]

    return sample


BOTH = (ROWS, [*ROWS, (7, "y")])


def test_neighbours_are_within_epsilon() -> None:
    first, second = (sampler(rows, 1) for rows in BOTH)
    assert not is_caught(first, second, 1, 1_500, 400)


def test_a_doubled_epsilon_is_caught() -> None:
    first, second = (sampler(rows, 2) for rows in BOTH)
    assert is_caught(first, second, 1, 1_500, 400)


@pytest.mark.heavy(family="long")
def test_a_draw_for_each_measure_would_be_caught() -> None:
    first, second = (sampler(rows, 1, apart=True) for rows in BOTH)
    assert is_caught(first, second, 1, 1_500, 400)


def test_the_interval_holds_on_both_sides_as_often_as_it_says() -> None:
    """By the noise's exact law, not by samples: what lies beyond the tail on either side."""
    with Session(table([(None, "x")] * 1_000), constraints="NOT NULL(a)") as session:
        release = session.dp_inconsistency("repair", "0.3", confidence=0.9)
    assert isinstance(release, Release)
    assert release.estimate_upper > 0, "cut off at 0, with probability below exp(-297), it tells nothing of the tail"
    tail = release.estimate_upper - release.raw
    q = math.exp(-1 / release.noise_scale)
    beyond = 2 * q ** (tail + 1) / (1 + q)
    assert beyond <= 0.1 < 2 * q**tail / (1 + q)


# -- words ----------------------------------------------------------------------------------------------------


def test_a_given_theta_is_refused_where_no_rule_has_one() -> None:
    with Session(table(ROWS), constraints=["NOT NULL(a)"]) as session:
        with pytest.raises(ParameterError, match="theta does not apply to mechanism 'violating_rows' of problematic"):
            session.dp_inconsistency("problematic", 1, theta=3)
        assert session.spent() == 0
    with Session(table(ROWS), constraints=["NOT NULL(a)", "a -> b"]) as session:
        found = session.dp_inconsistency("problematic", 1, theta=3, each_constraint=True)
    assert [(one.mechanism, one.theta, one.theta_from) for one in found] == [
        ("violating_rows", None, None), ("ladder", 3, "given"),
    ]  # fmt: skip


def test_the_count_is_refused_where_a_rule_compares_rows() -> None:
    with Session(table(ROWS), constraints=["NOT NULL(a)", "a -> b"]) as session:
        with pytest.raises(ParameterError, match="counts rows that break a rule by themselves, and a -> b compares"):
            session.dp_inconsistency("repair", 1, mechanism="violating_rows")
        assert session.spent() == 0


REASONS = {
    "CHECK (a < 3)": "leave the mechanism out for a count with both ends",
    "a -> b": "every row of the largest group with a common left-hand side",
    "not(t1.a < t2.a & t1.b > t2.b)": "every other row in conflict (a rule compares rows without an equality",
    "not(t1.a = t2.c & t1.b != t2.b)": "every row of the largest group with a common value where a rule compares by",
}


@pytest.mark.heavy
@pytest.mark.parametrize("rule", REASONS)
@pytest.mark.parametrize("mechanism", ["ladder", "r2t"])
def test_the_reason_for_the_missing_upper_end_is_true_of_the_rules(rule: str, mechanism: str) -> None:
    rows = table(ROWS).append_column("c", pa.array([1, 2, 3]))
    with Session(rows, constraints=[rule], row_bound=10) as session:
        found = session.dp_inconsistency("minimal_inconsistency", 1, mechanism=mechanism, max_degree=4)
    assert isinstance(found, Release)
    others = set(REASONS.values()) - {REASONS[rule]}
    assert REASONS[rule] in (found.upper_reason or "")
    assert not any(other in (found.upper_reason or "") for other in others)
    assert FROM_BELOW.count("{") == 0


def test_explain_says_what_is_drawn() -> None:
    said = explain(table(ROWS), ["NOT NULL(a)"], Ask("all", "0.5"))
    assert Counter(one["mechanism"] for one in said["releases"]) == {"violating_rows": 3}
    assert [one["epsilon"] for one in said["releases"]] == [0.5, 0, 0]
    assert {one["noise"] for one in said["releases"]} == {"discrete Laplace, scale about (1) x 2 rows"}


def test_what_is_recorded_is_read_again() -> None:
    import json

    with Session(table(ROWS), constraints="NOT NULL(a)") as session:
        found = session.dp_inconsistency("all", 1)
    assert recorded_releases(json.dumps([one.to_dict() for one in found])) == found
    assert "nothing more: one number with the release before it" in str(found[1])


def test_two_counts_can_be_compared() -> None:
    with Session(table(ROWS), constraints="NOT NULL(a)") as session:
        one, two = (session.dp_inconsistency("problematic", CERTAIN) for _ in range(2))
    assert isinstance(one, Release)
    assert isinstance(two, Release)
    assert two.change(one).value == 0
