"""Numbers of distinct values: counted against plain Python, what one row changes, and limits on both sides."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from datetime import date
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from case_share import fifth
from simulated import most_allowed
from test_suites_volume import WAYS, checked

import dpdb
from dpdb.errors import ConstraintSyntaxError, DpdbError, ParameterError, UnknownColumnError
from dpdb.suites import Session, TableSet, load_suite, prepare_check

SUITE = """
distinct_count(a) within [0, 9]
distinct_count(a, b)  fail above 9
part: distinct_count(a) WHERE b > 0  fail above 9
"""


def true_counts(rows: pa.Table, suite: str, **settings: object) -> list[int]:
    loaded = load_suite(suite)
    with Session(rows, constraints=loaded.rules, budget=1, **settings) as session:  # type: ignore[arg-type]
        return [int(each.value) for each in session.exact_checks(loaded, non_private=True)]


def of(*rows: tuple[int | None, int | None]) -> pa.Table:
    a, b = zip(*rows, strict=True) if rows else ((), ())
    return pa.table({"a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64())})


def apart(rows: tuple[tuple[int | None, int | None], ...]) -> list[int]:
    known = [(a, b) for a, b in rows if a is not None]
    return [
        len({a for a, _ in known}),
        len({(a, b) for a, b in known if b is not None}),
        len({a for a, b in known if b is not None and b > 0}),
    ]


def tables(most: int) -> dict[tuple[tuple[int | None, int | None], ...], list[int]]:
    """Every table of so many rows of 0, 1 and NULL (a fifth of the largest), with its counts by the real code."""
    cells: list[tuple[int | None, int | None]] = [*itertools.product((None, 0, 1), repeat=2)]  # type: ignore[list-item]
    return {
        rows: true_counts(of(*rows), SUITE)
        for size in range(most + 1)
        for rows in (fifth if size == most else list)([*itertools.combinations_with_replacement(cells, size)])
    }


@pytest.mark.parametrize("most", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_one_row_more_changes_a_count_by_0_or_1(most: int) -> None:
    """Tables of up to 2 (slow: 4) rows over 9 rows: 55 (715) in all, each beside those with one row less."""
    counts = tables(most)
    assert counts == {rows: apart(rows) for rows in counts}
    moved = set()
    for rows, found in counts.items():
        for place in range(len(rows)):
            less = counts[rows[:place] + rows[place + 1 :]]
            moved |= {(test, more - before) for test, (before, more) in enumerate(zip(less, found, strict=True))}
    assert moved == {(test, change) for test in range(3) for change in (0, 1)}


@pytest.mark.heavy
@pytest.mark.parametrize("largest", [1, 2, 3])
def test_a_unit_of_k_rows_changes_a_count_by_0_to_k(largest: int) -> None:
    """All units of k rows of three values, with and without another unit beside; the plan has as much."""
    moved = set()
    for values in itertools.product((0, 1, 2), repeat=largest):
        rows = [*[("one", value) for value in values], ("two", 0)]
        table = pa.table({"u": [u for u, _ in rows], "a": pa.array([a for _, a in rows], pa.int64())})
        suite = "distinct_count(a) fail above 9 of used rows"
        settings = {"unit": "u", "max_rows": largest}
        whole = true_counts(table, suite, **settings)[0]
        moved.add(whole - true_counts(table.filter(pa.compute.equal(table["u"], "two")), suite, **settings)[0])
        with Session(table, constraints=load_suite(suite).rules, budget=1, **settings) as session:  # type: ignore[arg-type]
            [tested] = [each.tested for each in prepare_check(session, suite).counted.limits]
        assert (tested.low, tested.high) == (0, largest)
    assert moved == set(range(min(largest, 2) + 1))
    with pytest.raises(ParameterError, match=r"write 'fail above 9 distinct values of used rows'"):
        dpdb.check(table, "distinct_count(a) fail above 9", 1, unit="u", max_rows=largest)


def test_values_of_every_type_are_counted() -> None:
    columns: dict[str, pa.Array] = {
        "whole": pa.array([1, 1, 2, None], pa.int8()),
        "huge": pa.array([2**63, 1, 2**63, None], pa.uint64()),
        "money": pa.array([Decimal("1.10"), Decimal("1.1"), Decimal("2"), None], pa.decimal128(9, 2)),
        "word": pa.array(["a", "A", "a ", None]),
        "bytes": pa.array([b"\xff", b"", b"\xff", None]),
        "day": pa.array([date(2026, 1, 1), date(2026, 1, 2), None, None]),
        "yes": pa.array([True, False, True, None]),
        "part": pa.array([0.5, 1.5, 0.5, None], pa.float64()),
    }
    table = pa.table(columns)
    found = true_counts(table, "\n".join(f"distinct_count({name}) fail above 9" for name in columns))
    assert found == [len({*column.drop_null().to_pylist()}) for column in columns.values()]
    assert found == [2, 2, 2, 3, 2, 2, 2, 2]


def test_many_values_are_counted_by_hashes_as_by_groups() -> None:
    values = [k * k % 30_011 for k in range(40_000)]
    table = pa.table({"a": values, "id": range(40_000)})
    assert true_counts(table, "distinct_count(a) fail above 9\ndistinct_count(id) fail above 9") == [
        len({*values}),
        40_000,
    ]


@pytest.mark.heavy
@pytest.mark.parametrize("way", WAYS)
def test_both_sides_are_decided(tmp_path: Path, way: str) -> None:
    """Beta is 1e-7. `checked` opens a table of so many ids: none below passes, none within fails."""
    suite = "distinct_count(id) within [500, 2000]\n"
    verdicts = {
        count: [each.verdict for each in checked(tmp_path, count, suite, WAYS[way])] for count in (0, 499, 1200, 9000)
    }
    assert verdicts[0][0] == verdicts[499][0] == "fail"
    assert verdicts[1200] == ["pass", "pass"]
    assert verdicts[9000] == ["pass", "fail"]


@pytest.mark.heavy
@pytest.mark.parametrize(("count", "place"), [(49, 0), (60, 1)])
def test_no_wrong_verdict_more_often_than_said(count: int, place: int) -> None:
    """100 runs at beta .2: below its least number none may pass, at its most none may fail; chance below 1e-6."""
    table, wrong = pa.table({"id": range(count)}), ("pass", "fail")[place]
    suite = load_suite("distinct_count(id) within [50, 60]\n")
    with Session(table, constraints=suite.rules, budget=1000) as session:
        found = [session.check(suite, 1, confidence=0.8)[place].verdict == wrong for _ in range(100)]
    assert sum(found) <= most_allowed(100, 0.2)


def test_it_is_no_rule_where_constraints_are_read() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = dpdb.open(of((1, 1)), constraints=f"a -> b\n{SUITE}freshness(a) < 1 day\n", budget=1)
    assert [str(each) for each in found.public.constraints] == ["not(t1.a=t2.a&t1.b!=t2.b)"]
    assert "3 distinct_count lines and 1 freshness line" in str(caught[0].message)
    found.close()


def test_names_tell_limits_apart_and_the_key_beside_is_a_rule() -> None:
    suite = load_suite(
        "c: distinct_count(a) warn below 9, fail below 5, fail above 50, warn above 40\nd: UNIQUE(a) fail above 3\n"
    )
    with Session(of((1, 1)), constraints=suite.rules, budget=9) as session:
        run = prepare_check(session, suite)
    names = [each.name for each in run.counted.limits]
    assert names == ["c (warn below)", "c (fail below)", "c (fail above)", "c (warn above)", "d"]
    assert [each.statistic for each in suite.lines] == ["distinct values", "violations"]
    assert Counter(each.tested.direction for each in run.counted.limits) == {"below": 2, "above": 3}


def test_units_of_a_set_are_no_values(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "suites").mkdir()
    pq.write_table(pa.table({"person": [1, 1, 2], "a": [1, 2, 3]}), tmp_path / "data" / "v.parquet")
    file = tmp_path / "suites" / "v.suite.txt"
    file.write_text("distinct_count(a) within [1, 9]\n")
    with pytest.raises(ParameterError, match=r"a unit may have any number of values"):
        TableSet(tmp_path / "data", tmp_path / "suites", unit="person")
    file.write_text("distinct_count(a) fail above 9 distinct values of used rows\n")
    with TableSet(tmp_path / "data", tmp_path / "suites", unit="person", max_rows=2) as tables:
        assert tables.prepare().counted.moves == [2]


WRONG: list[tuple[str, type[DpdbError], str]] = [
    ("distinct_count(a)", ConstraintSyntaxError, "a limit after distinct_count"),
    ("distinct_count(a) within [5, 4]", ConstraintSyntaxError, "a number from 5 to"),
    ("distinct_count(a) within [5]", ConstraintSyntaxError, "expected ','"),
    ("distinct_count(a) within [4, 5", ConstraintSyntaxError, "expected ']'"),
    ("distinct_count(a) within [1.5, 4]", ConstraintSyntaxError, "a whole number"),
    ("distinct_count(a) within [1, 9999999999999999]", ConstraintSyntaxError, "a whole number"),
    ("distinct_count(a) within [1, 4] fail above 9", ConstraintSyntaxError, "or other limits, not both"),
    ("distinct_count(a) fail above 1%", ConstraintSyntaxError, "a number of values"),
    ("distinct_count(a) fail above 1 duplicate values", ConstraintSyntaxError, "a number of values"),
    ("distinct_count(a) fail above 1, fail above 2", ConstraintSyntaxError, "at most one warn and one fail"),
    ("distinct_count(a) warn above 5, fail above 2", ConstraintSyntaxError, "a warning before the failure"),
    ("distinct_count() within [1, 4]", ConstraintSyntaxError, "a column name"),
    ("distinct_count(*) within [1, 4]", ConstraintSyntaxError, "a column name"),
    ("distinct_count(gone) within [1, 4]", UnknownColumnError, "no column 'gone'"),
    ("UNIQUE(a) fail above 3 distinct values", ConstraintSyntaxError, "distinct_count(..) before"),
    ("a > 0 fail below 3", ConstraintSyntaxError, "'above' in the limit of a rule"),
]


@pytest.mark.parametrize(("line", "error", "words"), WRONG)
def test_what_is_no_such_check_is_refused(line: str, error: type[DpdbError], words: str) -> None:
    with pytest.raises(error) as caught:
        dpdb.check(of((1, 1)), line, 1)
    assert words in str(caught.value)
