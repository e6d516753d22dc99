"""WHERE clauses as disjoint boxes: three-valued logic, literals of unknown and declared type, what is not read."""

from __future__ import annotations

import pytest
from text_reader import parse_counting_query, parse_where

from dpdb.errors import PredicateError
from dpdb.predicates.region import UNION_LIMIT, Region
from dpdb.predicates.value_sets import NAN, ValueSet


def overlap(one: str, two: str, **types: str) -> bool:
    return parse_where(one, types).overlaps(parse_where(two, types))


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("x <> 1", "(x < 1 or x > 1)"),
        ("x NOT IN (1, NULL)", "no row"),
        ("x IN (1, NULL)", "x = 1"),
        ("x = NULL", "no row"),
        ("NOT x = NULL", "no row"),
        ("x NOT BETWEEN 1 AND NULL", "x < 1"),
        ("x BETWEEN 5 AND 3", "no row"),
        ("NOT (a = 1 OR b > 5)", "(a < 1 or a > 1) and b <= 5"),
        ("x IS NULL OR x > 5", "(x > 5 or x is null)"),
        ("NOT (x IS NULL)", "x is not null"),
        ("5 >= x", "x <= 5"),
        ("TRUE", "every row"),
        ("FALSE", "no row"),
        ("NULL", "no row"),
        ("x = -0.0 AND x = 0", "x = 0"),
        ("a = 1 OR a = 1.0", "a = 1"),
        ("X = 1 AND x = 1", "x = 1"),
        ("d >= DATE '2024-01-01' AND d < '2024-02-01'", "d >= '2024-01-01' and d < '2024-02-01'"),
        ("x LIKE 'a%'", "x is not null"),
        ("x NOT LIKE 'a%'", "x is not null"),
        ("", "every row"),
    ],
)
def test_conditions_under_three_valued_logic(where: str, words: str) -> None:
    assert parse_where(where).describe() == words


@pytest.mark.parametrize(
    "where",
    [
        "lower(x) = 'a'",
        "CAST(x AS INTEGER) = 1",
        "x::INT = 1",
        "x = (SELECT 1)",
        "x IN (SELECT 1)",
        "x = y",
        "NOT x = y",
        "x = 'a' COLLATE NOCASE",
        "s.x = 1",
        "rowid = 3",
        "current_user = 'a'",
        "user = 'a'",
        "x IS TRUE",
        "x IS NOT DISTINCT FROM 3",
        "x BETWEEN SYMMETRIC 5 AND 1",
        "x = ?",
        "1 = 2",
        "x NOT IN [1, NULL]",
        "x LIKE 'a' ESCAPE '!'",
        "x + 1 = 2",
    ],
)
def test_what_is_not_understood_covers_everything_and_says_so(where: str) -> None:
    predicate = parse_where(where)
    assert predicate.covers_everything
    assert predicate.notes


def test_what_is_understood_still_counts_beside_what_is_not() -> None:
    predicate = parse_where("f(x) = 3 AND y = 1")
    assert predicate.describe() == "y = 1"
    assert len(predicate.notes) == 1


def test_or_across_columns_is_a_union_of_disjoint_boxes() -> None:
    predicate = parse_where("a = 1 OR b = 2")
    assert len(predicate.boxes) == 2
    assert not Region((predicate.boxes[0],)).overlaps(Region((predicate.boxes[1],)))
    assert predicate.covers({"a": None, "b": 2})
    assert not predicate.covers({"a": None, "b": None})


def test_a_long_or_becomes_the_box_around_it() -> None:
    where = " OR ".join(f"(a = {k} AND b = {k} AND c = {k})" for k in range(UNION_LIMIT + 1))
    predicate = parse_where(where)
    assert len(predicate.boxes) == 1
    assert predicate.notes
    assert all(predicate.covers({"a": k, "b": k, "c": k}) for k in range(UNION_LIMIT + 1))
    assert not predicate.covers({"a": 99, "b": 0, "c": 0})


@pytest.mark.heavy(family="alone")
def test_long_lists_and_long_chains_are_read() -> None:
    assert not parse_where(f"x IN ({', '.join(map(str, range(3000)))})").covers({"x": 3000})
    assert parse_where(" OR ".join(f"x = {k}" for k in range(1500))).covers({"x": 1499})


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("x = '1'", "x = '01'"),
        ("x = '1'", "x = '1.0'"),
        ("x = '1'", "x = '1.4'"),
        ("x = '2'", "x = '1.6'"),
        ("x = 'true'", "x = 'T'"),
        ("x = 'true'", "x = '1'"),
        ("x = 'f'", "x = 'NO'"),
        ("x > '10'", "x < '9'"),
        ("x BETWEEN '2' AND '10'", "x = '5'"),
        ("x = '2024-01-01'", "x = '2024-01-01 00:00:00'"),
        ("x >= '2024-01-01 00:00:00'", "x = '2024-01-01'"),
        ("x = '2024-1-1'", "x = '2024-01-01'"),
        ("x = DATE '2024-01-01'", "x = '2024-01-01'"),
        ("x = 1", "x = '1'"),
        ("x = 1", "x = 'a'"),
        ("x = 123456789", "x = 123456790"),
        ("x < 0.1", "x >= 0.10000000001"),
        ("x = 9007199254740993", "x = 9007199254740992"),
        ("x", "x = 3"),
        ("x = '9f1b3c1e-0000-0000-0000-00000000000A'", "x = '9F1B3C1E00000000000000000000000a'"),
        ("x = '10:00'", "x = '10:00:00'"),
        ("x = 'nan'", "x = 'NaN'"),
        ("x = 1e5", "x = 100000"),
    ],
)
def test_literals_that_may_be_one_value_never_look_disjoint(one: str, two: str) -> None:
    assert overlap(one, two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("x = 'CA'", "x = 'NY'"),
        ("x = 'F'", "x = 'M'"),
        ("x = '02139'", "x = '02140'"),
        ("x = 1", "x = 2"),
        ("x < 5", "x >= 5"),
        ("x < 0.25", "x > 0.25"),
        ("x", "NOT x"),
        ("x = TRUE", "x = FALSE"),
        ("x < '2024-01-01'", "x >= '2024-01-01'"),
        ("x < 'm'", "x >= 'm'"),
        ("x IS NULL", "x = 1"),
        ("x IS NULL", "x <> 1"),
    ],
)
def test_ordinary_literals_keep_ordinary_slices_apart(one: str, two: str) -> None:
    assert not overlap(one, two)


@pytest.mark.parametrize(
    ("kind", "one", "two", "meet"),
    [
        ("INTEGER", "x = 123456789", "x = 123456790", False),
        ("INTEGER", "x = '7'", "x = '07'", True),
        ("INTEGER", "x = 1.4", "x = 1", True),
        ("INTEGER", "x = 'a'", "x = 3", True),
        ("DECIMAL(10,2)", "x = 1.23", "x = 1.24", False),
        ("DECIMAL(10,2)", "x = 1.234", "x = 1.23", True),
        ("REAL", "x = 0.1", "x = 0.10000000001", True),
        ("DOUBLE", "x = 0.1", "x = 0.10000000001", False),
        ("DOUBLE", "x = 9007199254740993", "x = 9007199254740992", True),
        ("DOUBLE", "x = 'nan'", "x > 1e300", True),
        ("DOUBLE", "x = 'nan'", "x <= 'inf'", False),
        ("VARCHAR", "x = '1'", "x = '01'", False),
        ("VARCHAR", "x = '1'", "x = 1", True),
        ("DATE", "x = '2024-01-01'", "x = '2024-01-02'", False),
        ("DATE", "x = '2024-01-01 12:00:00'", "x = '2024-01-01'", True),
        ("TIMESTAMP", "x < '2024-01-01'", "x >= '2024-01-01 00:00:00'", False),
        ("BOOLEAN", "x = 'yes'", "x = 't'", True),
        ("BOOLEAN", "x = 'yes'", "NOT x", False),
        ("ENUM('a', 'b')", "x = 'a'", "x = 'b'", True),
        ("ENUM('a', 'b')", "x = 'a'", "x IS NULL", False),
        ("TIMESTAMPTZ", "x = '2024-01-01'", "x = '2024-01-02'", True),
    ],
)
def test_declared_types_decide_how_literals_are_read(kind: str, one: str, two: str, meet: bool) -> None:
    assert overlap(one, two, x=kind) is meet


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("SELECT count(*) FROM t WHERE a = 1", "a = 1"),
        ("select sum(b) from s.t as u where u.a = 1 and t.b = 2", "a = 1"),
        ("SELECT c, count(*) FROM t WHERE a = 1 GROUP BY c HAVING count(*) > 3", "a = 1"),
        ("SELECT count(*) FROM t", "every row"),
        ("a = 1", "a = 1"),
        ("(a = 1)", "a = 1"),
        ("SELECT count(*) FROM t USING SAMPLE 10% WHERE a = 1", "every row"),
        ("SELECT count(*) FROM t, u WHERE a = 1", "every row"),
        ("SELECT count(*) FROM t JOIN u USING (a) WHERE a = 1", "every row"),
        ("SELECT (SELECT max(a) FROM t) FROM t WHERE a = 1", "every row"),
        ("SELECT b AS a, count(*) FROM t WHERE a = 1", "every row"),
        ("SELECT count(*) FROM t AS u(b, a) WHERE a = 1", "every row"),
        ("SELECT count(*) FROM read_csv('f') WHERE a = 1", "every row"),
        ("SELECT 1 FROM t WHERE a = 1 UNION SELECT 2 FROM t", "every row"),
        ("WITH c AS (SELECT 1) SELECT count(*) FROM c WHERE a = 1", "every row"),
    ],
)
def test_counting_queries(line: str, words: str) -> None:
    assert parse_counting_query(line).describe() == words


@pytest.mark.parametrize(
    "text", ["a =", "a = 1; DROP TABLE t", "a = 1 GROUP BY b", "a = 1 LIMIT 3", "'", "a = 1 b = 2"]
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(PredicateError):
        parse_where(text)


def test_columns_that_differ_beyond_ascii_stay_apart() -> None:
    assert overlap('"É" = 1', '"é" = 2')


def test_slices_inside_a_clause() -> None:
    slices = Region.of({"State": ValueSet.points(["CA", "NY"])})
    assert (parse_where("age > 3") & slices).describe() == "age > 3 and (state = 'CA' or state = 'NY')"


def test_nan_is_the_greatest_value_and_equal_to_itself() -> None:
    above = ValueSet.above(10**400, closed=False)
    assert above.__contains__(float("nan"))
    assert NAN in ValueSet.points([NAN])
    assert float("inf") in above
    assert not ValueSet.below(float("inf"), closed=True).__contains__(float("nan"))
