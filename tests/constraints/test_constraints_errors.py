"""Inputs that must fail, and exactly where."""

import time

import pytest

from dpdb.constraints import MAX_PREDICATES, parse_constraint
from dpdb.errors import ConstraintSyntaxError, UnknownColumnError

BAD = [
    ("", 1, 1, "expected not(...)", "found end of text"),
    ("   ", 1, 4, "expected not(...)", "found end of text"),
    ("hello", 1, 6, "expected ',' or '->'", "found end of text"),
    ("not t1.a=t2.a", 1, 5, "expected '('", "found 't1'"),
    ("t1.a >= 0", 1, 1, "expected not(...) around what no row may be, or CHECK (...) around what every", "found 't1'"),
    ("b = 1 & s.a >= 0", 1, 9, "expected not(...) around what no row may be, or CHECK (...)", "found 's'"),
    ("t1.a = t2.a and b = 1", 1, 17, "expected a column such as t1.name", "found 'b'"),
    ("t1.a = t2.a or t1.b = t2.b", 1, 1, "expected one constraint for each alternative", "t1.a = t2.a OR t1.b"),
    ("t1.a = t2.a & t2.b = t3.b", 1, 22, "at most two tuples", "found 't3'"),
    ("t1.a = t2.a -> t1.b = t2.b", 1, 6, "write not(t1.a = t2.a & t1.b != t2.b)", "found '='"),
    ("not(R.a = r.a)", 1, 11, "expected one spelling of the tuple name 'R'", "found 'r'"),
    ("not(orders.id = customers.id)", 1, 5, "declare any others: forall one, other: not(...)", "found 'orders'"),
    ("¬{t.a = s.a)", 1, 12, "expected '&' or '}'", "found ')'"),
    ("{a, b -> c", 1, 7, "expected ',' or '}'", "found '->'"),
    ("[t.a] -> s.b", 1, 10, "expected one name of a row, as t before", "found 's'"),
    ("a b -> c", 1, 3, "put commas between columns", "found 'b'"),
    ("`a -> b", 1, 1, "expected a closing `", "found end of text"),
    ("a, b WHERE c = 1", 1, 6, "expected ',' or '->'", "found 'WHERE'"),
    ("a = 1 AND b IN parents.b", 1, 3, "expected IN (put conditions behind WHERE", "found '='"),
    ("b IN parents", 1, 13, "or values in parentheses", "found end of text"),
    ("a <= ", 1, 1, "expected a condition", "found 'a <='"),
    ("0 <= a <= 120", 1, 1, "expected comparisons of two sides each, joined by AND", "found '0 <= a > 120'"),
    ("CHECK (a = b = c)", 1, 8, "expected comparisons of two sides each, joined by AND", "found 'a = b <> c'"),
    ("a <- b", 1, 3, "expected '< -' for less than minus, or an arrow to the right", "found '<'"),
    ("a => 18", 1, 6, "greater or equal is >=", "found '18'"),
    ("a > CURRENT_DATE", 1, 5, "a rule may not depend on the time or the user", "found 'CURRENT_DATE'"),
    ("CHECK a > 0", 1, 7, "expected parentheses: CHECK (...)", "found 'a'"),
    ("UNIQUE a, b", 1, 8, "expected parentheses: UNIQUE (...)", "found 'a'"),
    ("PRIMARY KEY a", 1, 13, "expected parentheses: PRIMARY KEY (...)", "found 'a'"),
    ("NOT NULL a", 1, 10, "expected parentheses: NOT NULL (...)", "found 'a'"),
    ("a NOT NULL", 1, 3, "expected NOT NULL(a) or a IS NOT NULL", "found 'NOT'"),
    ("a = 1 -> b = 2", 1, 3, "or a = 1: b = 2", "found '='"),
    ('CONSTRAINT "two words" CHECK (a < 1)', 1, 12, "expected a name of one word", "found '\"two words\"'"),
    ("not(t1.a=>5)", 1, 9, "expected a comparison (= != < <= > >=)", "found '=>'"),
    ("not(t1.a=t2.a", 1, 14, "expected '&' or ')'", "found end of text"),
    ("not(t1.a=t2.a))", 1, 15, "expected the end of the constraint", "found ')'"),
    ("not(t1.a=t2.a) not(t1.b=t2.b)", 1, 16, "expected the end of the constraint", "found 'not'"),
    ("not()", 1, 5, "expected a column such as t1.name", "found ')'"),
    ("not(t1.a)", 1, 9, "expected a comparison", "found ')'"),
    ("not(t1.a=)", 1, 10, "expected a column such as t1.name", "found ')'"),
    ("not(t1.=t2.a)", 1, 8, "expected a column name", "found '='"),
    ("not(age < 0)", 1, 5, "expected a column such as t1.name", "found 'age'"),
    ("not(t1.state = CA)", 1, 16, "expected a column such as t1.name", "found 'CA'"),
    ('not(t1.state = "CA")', 1, 16, "expected a column such as t1.name", "found '\"CA\"'"),
    ("not(t1.a=t2.a or t1.b=t2.b)", 1, 5, "expected one constraint for each alternative", "t1.a = t2.a OR t1.b"),
    ("not(t1.a=t2.a=t1.b)", 1, 14, "expected '&' or ')'", "found '='"),
    ("not(t1.a=t2.a & (b=t2.b))", 1, 18, "expected a column such as t1.name", "found 'b'"),
    ("not(t1.a = 'x)", 1, 12, "expected a closing '", "found end of text"),
    ('not(t1."a = 5)', 1, 8, 'expected a closing "', "found end of text"),
    ('not(t1."" = 5)', 1, 8, "expected a column name that is not empty", "found '\"\"'"),
    ("not(t1.a $ 2 = 0)", 1, 10, "expected a name, a constant", "found '$'"),
    ("not(t1.a > t2.b +)", 1, 5, "expected a condition", "found 't1.a > t2.b +'"),
    ("not(t1.a > (t2.b)", 1, 18, "expected '&' or ')'", "found end of text"),
    ("not(abs(t1.a - t2.b) > 5)", 1, 5, "write t1.a > t2.b + 5", "found 'abs(t1.a - t2.b)'"),
    ("not(t1.a * t2.b > 5)", 1, 5, "each side of a comparison over one tuple", "found 't1.a * t2.b'"),
    ("not(t1.a IN (1, t2.b))", 1, 5, "a comparison such as t1.a > t2.b + 60", "found 't1.a IN (1, t2.b)'"),
    ("not(t1.a = t2.a & t2.b IS NULL & t3.c = 1)", 1, 34, "at most two tuples", "found 't3'"),
    ("not(t1.a IS NULL & t1.b = NULL)", 1, 5, "a comparison with NULL is never true", "found NULL"),
    ("not(1 + 1 = 2)", 1, 5, "expected a condition with a column", "found '1 + 1 = 2'"),
    ("not(t1.a in (1) & age < 0)", 1, 19, "expected a column such as t1.name", "found 'age'"),
    ("not(t1.a + 1e999 > 2 & t1.b = 1e999)", 1, 5, "an exponent within 400", "found '1e999'"),
    ("CHECK ()", 1, 8, "expected a condition", "found ')'"),
    ("CHECK (a = 5", 1, 13, "expected ')'", "found end of text"),
    ("CHECK (TRUE)", 1, 8, "expected a condition with a column", "found 'NOT TRUE'"),
    ("CHECK (t1.a > t2.a)", 1, 8, "expected a condition over one row", "found two tuple names"),
    ("CHECK (a > 0); CHECK (b > 0)", 1, 16, "expected the end of the constraint", "found 'CHECK'"),
    ("NOT NULL ()", 1, 11, "expected a column name", "found ')'"),
    ("cc = 44: ", 1, 10, "expected not(...)", "found end of text"),
    ("cc = 44 -> street: zip", 1, 9, "expected ':'", "found '->'"),
    ("zip -> city WHERE", 1, 18, "expected a condition", "found end of text"),
    ("zip -> city WHERE a = 1 -> 2", 1, 25, "expected the end of the constraint", "found '->'"),
    ("not(t1[a] = 1)", 1, 5, "expected a column such as t1.name", "found 't1'"),
    ("not(1 = 2)", 1, 5, "expected a column on at least one side", "found two constants"),
    ("not(t1.a = NULL)", 1, 12, "a comparison with NULL is never true", "found 'NULL'"),
    ("not(t1.a = 2020-13-01)", 1, 12, "expected a date that exists", "found '2020-13-01'"),
    ("not(t1.a = 1e999)", 1, 12, "expected a number with at most 100 digits", "found '1e999'"),
    ("not(t1.a = 1e99999999999999999999)", 1, 12, "expected a number with at most", "found '1e9"),
    (f"not(t1.a = {'9' * 101})", 1, 12, "expected a number with at most 100 digits", "found '999"),
    ("not(t0.a=t1.a&t2.a=1)", 1, 15, "at most two tuples", "found 't2'"),
    ("not(t1x.a=t1.a)", 1, 5, "expected a tuple name (such as t1 and t2, t and s", "found 't1x'"),
    ("forall t1: not(t1.a=t2.a)", 1, 21, "expected a declared tuple name (t1)", "found 't2'"),
    ("forall t1,: not(t1.a=t2.a)", 1, 11, "expected a tuple name", "found ':'"),
    ("forall t1,t2 not(t1.a=t2.a)", 1, 14, "expected ',' or ':'", "found 'not'"),
    ("∀ t1, t2: t1.a=t2.a", 1, 11, "expected 'not('", "found 't1'"),
    ("t1&t2", 1, 6, "expected '&'", "found end of text"),
    ("t1&t2&FOO(t1.a,t2.a)", 1, 7, "expected EQ, IQ, LT, GT, LTE or GTE", "found 'FOO'"),
    ("t1&t2&EQ(t1.a)", 1, 14, "expected ','", "found ')'"),
    ("t1&t2&EQ(t1.a,t2.a", 1, 19, "expected ')'", "found end of text"),
    ("t1&EQ(t1.a,t2.a)", 1, 12, "expected a declared tuple name (t1)", "found 't2'"),
    ('t1&EQ("a","b")', 1, 7, "expected a column on at least one side", "found two constants"),
    ("A ->", 1, 5, "expected a column name", "found end of text"),
    ("-> A", 1, 1, "expected not(...)", "found '->'"),
    ("A -> []", 1, 8, "expected a column name on the right", "found end of text"),
    ("A, -> B", 1, 4, "expected a column name", "found '->'"),
    ("[A, B -> C", 1, 7, "expected ',' or ']'", "found '->'"),
    ("First Name -> Zip", 1, 7, "double quotes", "found 'Name'"),
    ("A, B -> C, A", 1, 12, "expected a column that is not on the left", "found 'A'"),
    ("UNIQUE()", 1, 8, "expected a column name", "found ')'"),
    ("UNIQUE(a b)", 1, 10, "expected ',' or ')'", "found 'b'"),
    ("not(t1.a=t2.a\n  & t1.b ! t2.b)", 2, 10, "expected a comparison", "found '!'"),
]


@pytest.mark.parametrize(("text", "line", "column", "expected", "found"), BAD)
def test_error_points_at_the_text(text, line, column, expected, found):
    with pytest.raises(ConstraintSyntaxError) as caught:
        parse_constraint(text)
    message, excerpt, caret = str(caught.value).split("\n")
    assert message.startswith(f"line {line}, column {column}: expected ")
    assert expected in message
    assert found in message
    assert excerpt == f"    {text.split(chr(10))[line - 1][:100]}"
    assert caret.index("^") == 4 + column - 1


def test_whole_message():
    with pytest.raises(ConstraintSyntaxError) as caught:
        parse_constraint("not(t1.a=t2.a", line=7)
    assert str(caught.value) == (
        "line 7, column 14: expected '&' or ')', found end of text\n    not(t1.a=t2.a\n                 ^"
    )


@pytest.mark.parametrize(
    ("text", "line", "column", "problem"),
    [
        ("not(t1.zipcod=t2.zip_code)", 1, 8, "the table has no column 'zipcod'; nearest is 'zip_code'"),
        ("zip_code ->\n Citi", 2, 2, "the table has no column 'Citi'; nearest is 'City'"),
        ("city -> zip_code", 1, 1, "column 'city' is ambiguous; write exactly 'City' or 'CITY'"),
        ("frist name -> CITY", 1, 1, "the table has no column 'frist name'; nearest is 'First Name'"),
        ('UNIQUE("no such")', 1, 8, "the table has no column 'no such'; nearest is"),
        (
            "CHECK (City ILIKE 'a%')",
            1,
            13,
            "the table has no column 'ILIKE', and rules have no ILIKE of SQL: write lower(",
        ),
        (
            "CHECK (case WHEN City = 'a' THEN TRUE END)",
            1,
            8,
            "the table has no column 'case WHEN', and rules have no CASE of",
        ),
        ("UNIQUE(DISTINCT zip_code)", 1, 8, "the table has no column 'DISTINCT zip_code', and rules have no DISTINCT"),
        (
            "CHECK (zip_code > 3 LIMIT 3)",
            1,
            21,
            "the table has no column 'LIMIT 3', and rules have no LIMIT of SQL: a rule",
        ),
    ],
)
def test_unknown_columns(text, line, column, problem):
    with pytest.raises(UnknownColumnError) as caught:
        parse_constraint(text, ["zip_code", "City", "CITY", "First Name"])
    message = str(caught.value).split("\n")[0]
    assert message.startswith(f"line {line}, column {column}: {problem}")


def test_a_text_in_double_quotes_is_told_from_a_column():
    with pytest.raises(UnknownColumnError, match=r"no column 'open'.*; a text stands in single quotes"):
        parse_constraint('state = "open"', ["state"])


@pytest.mark.parametrize("text", ["[a b] -> c", "{c a b} -> d", "(a b, c) -> d", "d -> [a b]"])
def test_words_that_are_one_column_and_two_are_refused(text):
    """They were read as the one column without a word; without brackets there is one reading."""
    with pytest.raises(ConstraintSyntaxError, match="double quotes around a name: 'a b' is a column, and two others"):
        parse_constraint(text, ["a", "b", "c", "d", "a b"])
    assert parse_constraint(text, ["a", "c", "d", "a b"])
    assert parse_constraint("a b -> c", ["a", "b", "c", "a b"])[0].table_columns == ("a b", "c")


@pytest.mark.parametrize(
    "text", ["check a -> b", "unique = 1", "unique IS NULL", "current_date > b", "a < - b", "a <-1"]
)
def test_columns_that_are_called_like_words_of_rules(text):
    assert parse_constraint(text, ["check a", "a", "b", "unique", "current_date"])


def test_table_without_columns():
    with pytest.raises(UnknownColumnError, match="the table has no column 'a'"):
        parse_constraint("a -> b", [])


def test_too_many_predicates():
    def denial(count):
        return f"not({'&'.join(f't1.c{i}=t2.c{i}' for i in range(count))})"

    (dc,) = parse_constraint(denial(MAX_PREDICATES))
    assert len(dc.predicates) == MAX_PREDICATES
    with pytest.raises(ConstraintSyntaxError, match="at most 64 predicates, found '&'"):
        parse_constraint(denial(MAX_PREDICATES + 1))
    with pytest.raises(ConstraintSyntaxError, match="at most 63 columns, found 'c63'"):
        parse_constraint(",".join(f"c{i}" for i in range(64)) + "->x")


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(
    "piece",
    [
        "(",
        "not(",
        "¬",
        '"',
        "'",
        '""',
        "a ",
        "a,",
        "1",
        "1.",
        "1e",
        "-",
        "#",
        "\n",
        "&t1",
        "t'",
        "\0",
        "é",
        "a->",
    ],
)
@pytest.mark.parametrize("size", [90_000, 1_000_000])
def test_long_garbage_fails_fast(piece, size):
    started = time.thread_time()  # other work on the machine does not count
    for prefix in ("", "not(t1.a=", "UNIQUE("):
        with pytest.raises((ConstraintSyntaxError, UnknownColumnError)) as caught:
            parse_constraint(prefix + piece * (size // len(piece)), ["a", "b c d"])
        assert len(str(caught.value)) < 1000
    assert time.thread_time() - started < 20
