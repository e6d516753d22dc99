"""Suite files: a constraint or `row_count` per line, its limits at the end, and names before it."""

from __future__ import annotations

import time
import warnings
from datetime import date
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest

from dpdb.constraints import Limit, load_constraints
from dpdb.constraints.text.cursor import Cursor
from dpdb.constraints.text.lexer import Kind, Source
from dpdb.constraints.text.line import cut_limits
from dpdb.errors import ConstraintSyntaxError, IgnoredLimitsWarning, ParameterError, UnknownColumnError
from dpdb.suites import Suite, load_suite

SUITE = """\ufeff# what is checked\r
zip_city: zip -> city  warn above 0, fail above 0.1%  # as agreed\r
"orders.id-unique": UNIQUE(id) Fail  Above 20 rows;

row_count WHERE day >= {date}  fail below 1000
CHECK (day <> {date} AND note = 'fail above 3')
total >= 0 fail above 1% of non-null
UNIQUE(a) WHERE live  fail above 3 duplicate values, warn above 1 duplicate value
key(b)  fail above 1.5% of non-null in duplicates
key(c)  fail above 5 rows in duplicates
a -> fail fail above 2
d: {date} -> {date2}
two: z -> p, q fail above 1 row
"""


def _shown(suite: Suite) -> list[tuple[object, ...]]:
    return [
        (line.number, line.name, str(line.rule or line.where), [limit.written(line.statistic) for limit in line.limits])
        for line in suite.lines
    ]


def test_a_suite(tmp_path: Path) -> None:
    path = tmp_path / "nightly.suite"
    path.write_bytes(SUITE.encode())
    suite = load_suite(path, date="2026-11-23")
    assert _shown(suite) == [
        (2, "zip_city", "not(t1.zip=t2.zip&t1.city!=t2.city)", ["warn above 0", "fail above 0.1%"]),
        (3, "orders.id-unique", "not(t1.id=t2.id)", ["fail above 20"]),
        (5, "row_count WHERE day >= {date}", "day >= DATE '2026-11-23'", ["fail below 1000"]),
        (
            6,
            "CHECK (day <> {date} AND note = 'fail above 3')",
            "not(NOT (t1.day <> DATE '2026-11-23' AND t1.note = 'fail above 3'))",
            ["fail above 0"],
        ),
        (7, "total >= 0", "not(t1.total<0)", ["fail above 1% of non-null"]),
        (
            8,
            "UNIQUE(a) WHERE live",
            "not(t1.a=t2.a&t1.live=TRUE&t2.live=TRUE)",
            ["fail above 3 duplicate values", "warn above 1 duplicate values"],
        ),
        (9, "key(b)", "not(t1.b=t2.b)", ["fail above 1.5% of non-null in duplicates"]),
        (10, "key(c)", "not(t1.c=t2.c)", ["fail above 5 rows in duplicates"]),
        (11, "a -> fail", "not(t1.a=t2.a&t1.fail!=t2.fail)", ["fail above 2"]),
        (12, "d", "not(t1.date=t2.date&t1.date2!=t2.date2)", ["fail above 0"]),
        (13, "two (z -> p)", "not(t1.z=t2.z&t1.p!=t2.p)", ["fail above 1"]),
        (13, "two (z -> q)", "not(t1.z=t2.z&t1.q!=t2.q)", ["fail above 1"]),
    ]
    assert [line.statistic for line in suite.lines if line.statistic != "violations"] == [
        "row_count", "duplicate values", "rows in duplicates", "rows in duplicates",
    ]  # fmt: skip
    assert suite.lines[0].limits[1] == Limit("fail", "above", Fraction(1, 1000), "share")
    assert suite == load_suite(SUITE, date=date(2026, 11, 23))


def test_the_digest_is_of_what_is_tested() -> None:
    one = load_suite("k: zip->city fail above 1%  # why\n\nrow_count fail below 9")
    same = "# and\nk: not(t1.zip=t2.zip & t1.city!=t2.city)  fail above 1.0%\nrow_count fail below 9 rows\n"
    assert load_suite(same).digest == one.digest
    others = ["l: zip->city fail above 1%", "k: zip->city fail above 1", "k: zip->city warn above 1%",
              "k: city->zip fail above 1%", "k: zip->city"]  # fmt: skip
    digests = {load_suite(f"{other}\nrow_count fail below 9").digest for other in others}
    assert len(digests | {one.digest}) == len(others) + 1


def test_constraints_of_a_suite_are_those_of_the_file_without_limits() -> None:
    text = SUITE.replace("{date}  fail", "DATE '2026-11-23'  fail").replace("<> {date}", "<> DATE '2026-11-23'")
    with pytest.warns(IgnoredLimitsWarning) as told:
        found = load_constraints(text)
    assert [str(each.message) for each in told] == [
        "ignored: the limits of 8 lines and 1 row_count line, which `dpdb check` tests"
    ]
    suite = load_suite(SUITE, date="2026-11-23")
    assert list(found) == [line.rule for line in suite.lines if line.rule is not None]
    assert [dc.label for dc in found[:2]] == ["zip_city: zip -> city", '"orders.id-unique": UNIQUE(id)']


def test_a_date_that_nothing_uses_is_not_missed_by_a_measure() -> None:
    with pytest.warns(IgnoredLimitsWarning, match=r"ignored: 1 row_count line, which"):
        assert len(load_constraints("row_count WHERE day = {date} fail below 3\na -> b")) == 1


def test_where_warnings_are_errors_constraints_are_read_all_the_same() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(load_constraints("a -> b fail above 3")) == 1


COLUMNS = ["a", "b", "c", "d", "fail", "above", "warn"]


@pytest.mark.parametrize(
    ("line", "column", "expected"),
    [
        ("a->b fail above -1", 17, "a number from 0 on, without a sign, found '-1'"),
        ("a->b fail above 101%", 17, "a percentage from 0% to 100%, found '101'"),
        ("a->b fail above 1.00001%", 17, "a percentage with at most four decimals"),
        ("a->b fail above 1.5", 17, "a whole number of rows"),
        ("a->b fail above 1e3", 17, "a number written in at most 40 digits"),
        (f"a->b fail above {'9' * 5000}", 17, "a number written in at most 40 digits"),
        ("a->b fail above 1000000000000001 rows", 17, r"a whole number of rows from 0 to 10\^15"),
        ("row_count fail below 1%", 11, "a number of rows as the limit of row_count"),
        ("row_count fail below 1 duplicate values", 11, "a number of rows as the limit of row_count"),
        ("k: row_count WHERE a > 1", 25, "a limit after row_count, such as 'fail below 1000'"),
        ("row_count WHERE fail below 3", 17, "a condition, found end of text"),
        ("row_count WHERE f(a) > 3 fail below 3", 1, r"a condition after WHERE \('F\(a\) > 3' is not allowed"),
        ("row_count WHERE d > {date} fail below 3", 1, "a date given for {date}"),
        ("CHECK (d > {date}) fail above 3", 12, "a date given for {date}, found '{'"),
        ("a->b fail below 3", 6, "'above' in the limit of a rule"),
        ("a->b warn above 1, warn above 2", 20, "at most one warn and one fail"),
        ("a->b warn above 1, fail above 2, warn above 2", 34, "at most one warn and one fail"),
        ("a->b warn above 5, fail above 2", 17, "a warning before the failure, at most the number of 'fail above 2'"),
        ("a->b fail above 2%, warn above 2.5%", 32, "a warning before the failure, at most the number of 'fail above"),
        ("row_count warn below 9, fail below 20", 22, "a warning before the failure, at least the number of 'fail bel"),
        ("a->b warn above 0 fail above 1", 6, "limits at the end of the line, such as "),
        ("a->b fail above lots", 6, "limits at the end of the line, such as "),
        ("a->b fail above 3 \"rows\"", 6, "limits at the end of the line, such as "),
        ("fail above 3", 1, "a rule before its limits"),
        ("a -> fail above 3", 6, "a column name, found end of text"),
        ("a->b fail above 3 duplicate values", 6, r"a key such as UNIQUE\(a\), of which alone duplicate values"),
        ("not(t1.a = t2.a & t1.b = 1) fail above 3 rows in duplicates", 29, "a key such as"),
        ("UNIQUE(a) fail above 3 duplicate values, warn above 1", 42, "both limits of a line about duplicate values"),
        ("NOT NULL(a) fail above 1% of non-null", 13, "a percentage of all rows"),
        ('"a": b -> c', 1, "a name that no column has, or a condition such as active = TRUE"),
        ('"": b -> c', 1, "a name of 1 to 200 printable characters"),
        (f'"{"x" * 201}": b -> c', 1, "a name of 1 to 200 printable characters"),
        ('"x\ty": b -> c', 1, "a name of 1 to 200 printable characters"),
        ('k: a -> c\n"K": b -> c', 1, "a name that no other constraint has, found 'K'"),
        ("a -> b\na -> b fail above 3", 1, "a name that no other check has, such as that of line 2, found 'a -> b'"),
    ],
)  # fmt: skip
def test_bad_lines_have_line_and_column(line: str, column: int, expected: str) -> None:
    number = 2 + line.count("\n")
    with pytest.raises(ConstraintSyntaxError, match=rf"^line {number}, column {column}: expected {expected}"):
        load_suite(f"# first\n{line}", COLUMNS)


def test_limits_that_cannot_be_compared_may_stand_in_any_order() -> None:
    lines = [
        "a->b warn above 5, fail above 2%", "a->b fail above 1% of non-null, warn above 2%",
        "row_count fail below 9, warn above 3", "row_count warn below 20, fail above 3",
        "a->b warn above 2, fail above 2",
    ]  # fmt: skip
    for line in lines:
        assert len(load_suite(line, COLUMNS).lines[0].limits) == 2


def test_what_is_no_suite(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no checks given"):
        load_suite("# nothing")
    for wrong in ("today", "2026-02-30", "2026-11-23T00:00:00", "2026-1-1"):
        with pytest.raises(ParameterError, match="is no date"):
            load_suite("a -> b", date=wrong)
    assert len(load_suite("a <> 'x'\na <> 'X'").lines) == 2
    path = tmp_path / "twice.suite"
    for twice in ("k: a -> b\nl: a -> b\n\nL: a -> b", "a -> b\na -> b", "row_count WHERE f(a) = 1 fail below 1"):
        path.write_text(twice, encoding="utf-8")
        with pytest.raises(ConstraintSyntaxError, match=r"twice\.suite: line \d, column 1: expected a "):
            load_suite(path)
    with pytest.raises(UnknownColumnError, match="line 1, column 6: the table has no column 'e'"):
        load_suite("a -> e fail above 3", COLUMNS)


RULES = [
    "a -> b", "k: a, fail -> above", "fail -> above", "warn above -> fail", "UNIQUE(fail, above)", "key(a) WHERE warn",
    "not(t1.fail > t2.fail & t1.above < t2.above)", "CHECK (fail > 3 AND c = 'fail above 3')", "a <= b WHERE fail > 1",
    "a = 'warn above 1, fail above 2'", '"x.y": t1.a = t2.a and t1."fail above 3" != t2."fail above 3"', "a IN p.fail",
    "b BETWEEN 1 AND 3", "c LIKE '%above%'", '"fail above 3" -> "warn above 0, fail above 1%"', "a % 2 = 1", "a = -1",
    "fail = 3: above -> warn", "CHECK (d > DATE '2020-01-01')", "a IS NOT NULL WHERE b = 3.5",
    "above is null or fail = 2",
    '"a fail above": c -> "fail above 3"', "NOT NULL(fail)", "a < b -- fail above 3",
]  # fmt: skip
MORE_COLUMNS = [*COLUMNS, "warn above", "fail above 3", "warn above 0, fail above 1%"]
UNITS = {"": "rows", " rows": "rows", " ROW": "rows", "%": "share", " %": "share"}


def _random_limit(random: Random, severity: str) -> tuple[str, Limit]:
    written, unit = random.choice(list(UNITS.items()))
    number = random.choice(
        ["0", "1", "007", "20", "99.5" if unit == "share" else "1000000", "0.0001" if unit == "share" else "3"]
    )
    amount = Fraction(number) / (100 if unit == "share" else 1)
    words = random.choice([f"{severity} above ", f"{severity.upper()}  above\t", f"{severity} Above "])
    return f"{words}{number}{written}", Limit(severity, "above", min(amount, Fraction(10**15)), unit)  # type: ignore[arg-type]


def _without_warnings(text: str) -> tuple[object, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredLimitsWarning)
        return load_constraints(text, MORE_COLUMNS)


@pytest.mark.heavy
@pytest.mark.parametrize("rule", RULES)
def test_limits_are_cut_off_whatever_the_rule_says(rule: str) -> None:
    """The rule is read as without limits, and what is written again is the same suite."""
    random = Random(rule)
    plain, dash, comment = rule.partition(" --")
    [alone] = load_constraints(rule, MORE_COLUMNS)
    for _ in range(40):
        severities = random.sample(["warn", "fail"], random.randint(1, 2))
        limits = [_random_limit(random, severity) for severity in severities]
        if any(limit.unit != "rows" and limit.amount > 1 for _, limit in limits):
            continue
        ordered = sorted(limits, key=lambda each: each[1].severity == "fail")
        if len({limit.unit for _, limit in limits}) == 1 and ordered[0][1].amount > ordered[-1][1].amount:
            continue
        text = f"{plain}{random.choice([' ', '  '])}{random.choice([', ', ' ,', ',']).join(w for w, _ in limits)}"
        text += random.choice(["", ";", " ; "]) + dash + comment
        [line] = load_suite(text, MORE_COLUMNS).lines
        assert (line.rule, line.limits) == (alone, tuple(limit for _, limit in limits))
        assert _without_warnings(text) == (alone,)
        again = (
            f"{line.rule and line.rule.written}  {', '.join(limit.written(line.statistic) for limit in line.limits)}"
        )
        [reread] = load_suite(again, MORE_COLUMNS).lines
        assert (reread.rule, reread.limits) == (line.rule, line.limits)


WORDS = ["warn", "fail", "above", "below", "0", "7", "%", "rows", "row", "of", "non", "-", "null", ",", "duplicate",
         "values", "in", "duplicates", "a", "'fail above 3'", '"fail"', ";", ">"]  # fmt: skip
UNIT = r"( rows?| duplicate values?| rows in duplicates| %( of non - null)?( duplicate values| in duplicates)?)?"


@pytest.mark.heavy(family="alone")
def test_the_longest_list_of_limits_is_cut_off() -> None:
    """As a regular expression over the words finds it."""
    import re

    one = rf"(warn|fail) (above|below) [07]{UNIT}"
    pattern = re.compile(rf"(?:^| )({one}( , {one})*)( ;)?$")
    random = Random(28)
    found = 0
    for _ in range(6_000):
        words = random.choices(WORDS, k=random.randint(0, 4))
        for _ in range(random.randint(1, 3)):
            words += ["," * random.randint(0, 1), *random.choice([["fail", "above", "7"], ["warn", "below", "0"]])]
            words += random.choice(
                ["", "rows", "%", "% of non - null", "% in duplicates", "rows in duplicates", "x"]
            ).split()
            words += random.choices(WORDS, k=random.random() < 0.2)
        text = " ".join(word for word in words if word)
        said = pattern.search(text)
        expected = len(text) if said is None else said.start(1)
        cursor = Cursor(Source(text), None)
        try:
            rest, limits = cut_limits(cursor)
        except ConstraintSyntaxError:  # two of one severity, or of two statistics
            assert said is not None
            continue
        assert (rest.tokens[-1].offset if limits.limits else len(text)) == expected
        assert len(limits.limits) == (0 if said is None else 1 + said[1].count(" , "))
        found += bool(limits.limits)
    assert 1_500 < found < 4_500


def test_a_hostile_line_is_read_in_linear_time() -> None:
    for text in ("a -> b " + "fail above 1, " * 7_000 + "x", "a -> b " + "fail above 1, " * 7_000 + "fail above 1"):
        start = time.process_time()
        with pytest.raises(ConstraintSyntaxError):
            load_suite(text)
        assert time.process_time() - start < 5


def test_dates_stand_for_nothing_but_dates() -> None:
    texts = [
        "CHECK (a <> '{date}')",
        '"{date}" -> b',
        "a -> {date}",
        "CHECK (a BETWEEN {date} AND {date} + INTERVAL 7 DAY)",
    ]
    rules = [str(line.rule) for line in load_suite("\n".join(texts), date="2026-01-31").lines]
    assert rules == [
        rules[0],
        'not(t1."{date}"=t2."{date}"&t1.b!=t2.b)',
        "not(t1.a=t2.a&t1.date!=t2.date)",
        rules[3],
    ]
    assert "{date}" in rules[0]
    assert rules[3].count("DATE '2026-01-31'") == 2


def test_tokens_know_where_they_end() -> None:
    cursor = Cursor(Source("row_count WHERE d={date}AND a>1 fail below 1"), None)
    assert cursor.tokens[-1].kind is Kind.END
    [line] = load_suite("row_count WHERE d={date} AND a>1 fail below 1", date="2026-01-31").lines
    assert line.where == "d=DATE '2026-01-31' AND a>1"
