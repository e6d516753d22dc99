"""Conditions and terms of one tuple in constraints: what they become, and their one text."""

import random

import pytest
from case_share import fifth

from dpdb.constraints import (
    ColumnRef,
    Constant,
    DenialConstraint,
    Operator,
    Predicate,
    describe,
    distinct,
    load_constraints,
    parse_constraint,
)
from dpdb.errors import ConstraintSyntaxError, UnknownColumnError

READ = {
    # terms
    "not(t1.a > t2.b + 60)": "not(t1.a > t2.b + 60)",
    "not(t1.a>t2.b+60&t1.c=t2.c)": "not(t1.a > t2.b + 60 & t1.c=t2.c)",
    "¬(t1.a ≥ t2.b+1 ∧ t1.c≠t2.c)": "not(t1.a >= t2.b + 1 & t1.c!=t2.c)",
    "not(LOWER(t1.a) = lower( t2.a ))": "not(lower(t1.a) = lower(t2.a))",
    "not(t1.hour*100+t1.minute <> t1.time)": "not(t1.hour * 100 + t1.minute != t1.time)",
    'not(t1."First Name" + 1 > t2."or")': 'not(t1."First Name" + 1 > t2."or")',
    # solved for one tuple
    "not(t1.a - t2.b > 60)": "not(t1.a > t2.b + 60)",
    "not(t1.a - t2.b < 0)": "not(t1.a<t2.b)",
    "not(60 < t1.a - t2.b)": "not(t1.a > t2.b + 60)",
    "not(t2.b - t1.a > 60)": "not(t1.a + 60 < t2.b)",
    "not(t1.a + t2.b = 10)": "not(t1.a = 10 - t2.b)",
    "not(-t1.a - t2.b > 3)": "not(-t1.a > t2.b + 3)",
    "not(t1.a - 5 - (t2.b + 2) > 10)": "not(t1.a > (t2.b + 2) + 5 + 10)",
    "not(t1.d - t2.d > INTERVAL 1 HOUR)": "not(t1.d > t2.d + INTERVAL '1' HOUR)",
    # conditions
    "not(t1.a IS NULL)": "not(t1.a IS NULL)",
    "not(t2.a is not null & t2.b = 1)": "not(t1.a IS NOT NULL & t1.b=1)",
    "not(t1.a = t2.a and t1.b not in ('x','it''s & y'))": "not(t1.a=t2.a & t1.b NOT IN ('x', 'it''s & y'))",
    "not(t1.a BETWEEN 1 AND 5 AND t1.b LIKE 'x%')": "not(t1.a>=1 & t1.a<=5 & t1.b LIKE 'x%')",
    "not(t1.a = 1 OR t1.b = 2)": "not((t1.a = 1 OR t1.b = 2))",
    "not(t1.a = 1 \u2228 t1.b = 2 & t1.c = 3)": "not((t1.a = 1 OR t1.b = 2 AND t1.c = 3))",
    "not((t1.a = t2.a) & NOT t1.ok)": "not(t1.a=t2.a&t1.ok=FALSE)",
    "not(t1.a > 2 * 60)": "not(t1.a > 2 * 60)",
    "not(t1.a + 0 > DATE '2020-01-31' & t1.b = 2020-01-31)": "not(t1.a + 0 > '2020-01-31' & t1.b='2020-01-31')",
    # what every row must satisfy
    "CHECK (a >= 0)": "not(t1.a<0)",
    "check(a IN (1, 2))": "not(t1.a NOT IN (1, 2))",
    "CHECK (a IS NULL OR b IS NOT NULL)": "not(t1.a IS NOT NULL & t1.b IS NULL)",
    "CHECK (a > 0 AND b < 5)": "not(NOT (t1.a > 0 AND t1.b < 5))",
    "CHECK (NOT (a = 1))": "not(t1.a=1)",
    "CHECK (ok)": "not(t1.ok=FALSE)",
    "CHECK (t1.a < t1.b)": "not(t1.a>=t1.b)",
    "NOT NULL (a)": "not(t1.a IS NULL)",
    # on some rows only
    "cc = 44: zip -> street": "not(t1.zip=t2.zip&t1.street!=t2.street&t1.cc=44&t2.cc=44)",
    "zip -> city WHERE country = 'US'": "not(t1.zip=t2.zip&t1.city!=t2.city&t1.country='US'&t2.country='US')",
    "UNIQUE(a) WHERE active": "not(t1.a=t2.a&t1.active=TRUE&t2.active=TRUE)",
    "x IN (1, 2): UNIQUE(a) WHERE y LIKE 'b%'": (
        "not(t1.a=t2.a & t1.x IN (1, 2) & t1.y LIKE 'b%' & t2.x IN (1, 2) & t2.y LIKE 'b%')"
    ),
    "CHECK (a > 0) WHERE b = 1": "not(t1.a<=0&t1.b=1)",
    "forall t1, t2: not(t1.a > t2.a * 2) WHERE b = 1": "not(t1.a > t2.a * 2 & t1.b=1 & t2.b=1)",
}


@pytest.mark.parametrize(("text", "canonical"), READ.items())
def test_what_is_read_has_one_text_that_says_the_same(text, canonical):
    (dc,) = parse_constraint(text)
    assert str(dc) == canonical
    assert parse_constraint(canonical) == (dc,)
    assert str(dc.swapped().swapped()) == canonical


def test_columns_of_the_table_are_known_and_spelled_as_it_does():
    names = ["Zip Code", "a", "Ok", "in time"]
    (dc,) = parse_constraint("not(t1.zip code + 1 > t2.ZIP CODE & t1.in time IS NULL)", names)
    assert str(dc) == 'not(t1."Zip Code" + 1 > t2."Zip Code" & t1."in time" IS NULL)'
    assert dc.table_columns == ("Zip Code", "in time")
    (dc,) = parse_constraint("CHECK (zip code > 0 OR ok)", names)
    assert dc.table_columns == ("Ok", "Zip Code")
    with pytest.raises(UnknownColumnError, match="line 1, column 11: the table has no column 'b'"):
        parse_constraint("CHECK (a + b > 0)".replace("a + b", "a +b"), names)
    loaded = load_constraints([parse_constraint("not(t1.A + 1 > t2.ok)")[0]], names)
    assert str(loaded[0]) == "not(t1.a + 1 > t2.Ok)"


def test_constraints_are_equal_up_to_order_sides_and_tuples():
    texts = [
        "not(t1.a > t2.b + 60 & t1.c IS NULL)",
        "not(t2.c IS NULL & t1.b + 60 < t2.a)",
        "not(t2.a-t1.b>60&t2.c IS NULL)",
    ]
    assert len(distinct(dc for text in texts for dc in parse_constraint(text))) == 1
    other = ["not(t1.a > t2.b + 60 & t2.c IS NULL)", "not(t1.a > t2.b + 61 & t1.c IS NULL)"]
    assert len(distinct(dc for text in [*texts, *other] for dc in parse_constraint(text))) == 3


def test_a_condition_is_no_column_of_that_name():
    real = DenialConstraint((Predicate(ColumnRef(0, "a IS NULL"), Operator.EQ, Constant(True)),))
    (dc,) = parse_constraint("not(t1.a IS NULL)")
    assert real != dc
    assert str(real) == 'not(t1."a IS NULL"=TRUE)'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NOT NULL (a)", "no row may have a IS NULL"),
        ("CHECK (a IN (1, 2))", "no row may have a NOT IN (1, 2)"),
        (
            "not(lower(t1.a) = lower(t2.a) & trim(t1.b) != trim(t2.b))",
            "rows with the same lower(a) must have the same trim(b)",
        ),
        ("not(t1.a > t2.b + 60)", "no two rows t1, t2 may have t1.a > t2.b + 60"),
        ("not(t1.a = t2.a & t2.b IS NULL)", "no two rows t1, t2 may have t1.a = t2.a and t2.b IS NULL"),
    ],
)  # fmt: skip
def test_words(text, words):
    (dc,) = parse_constraint(text)
    assert describe(dc) == words


TERMS = ["{}", "{}", "{} + 60", "{} - 1.5", "-{}", "abs({} - 3) * 2", "lower({})", "{} % 100", "({} + 1) * -2"]
ALONE = [
    "{} IS NULL", "{} IS NOT NULL", "{} IN (1, 2)", "{} NOT IN ('a', 'b''c')", "{} LIKE '%x_'", "{} NOT LIKE 'y'",
    "{} BETWEEN 1 AND 5", "NOT {} BETWEEN 1 AND 5", "({} = 1 OR {} IS NULL)", "NOT ({} = 1 AND {} > 2)", "{} = '&'",
    "({} < 3)", "NOT {} = DATE '2020-01-01'", "{} + INTERVAL '1 day' > DATE '2020-01-01'",
]  # fmt: skip


def random_constraint(rng):
    columns = ["a", "b", '"c d"', "e", '"IN"', '"x""y"']

    def column(tuple_name):
        return f"{tuple_name}.{rng.choice(columns)}"

    def predicate():
        one, two = rng.choice([("t1", "t2"), ("t2", "t1"), ("t1", "t1")])
        if rng.random() < 0.4:
            return rng.choice(ALONE).replace("{}", column(one))
        left, right = rng.choice(TERMS).format(column(one)), rng.choice(TERMS).format(column(two))
        if rng.random() < 0.2:
            return f"{left} - {right} > {rng.choice(['60', '0', '-1.50'])}"
        return f"{left} {rng.choice(['=', '<', '>=', '<>', '≠'])} {right}"

    parts = [predicate() for _ in range(rng.randint(1, 4))]
    return f"not({rng.choice([' & ', ' and ', '&', ' ∧ ']).join(parts)})"


@pytest.mark.heavy(family="alone")
def test_random_constraints_read_their_own_text_again():
    refused, seeds = 0, fifth(range(600))
    for seed in seeds:
        text = random_constraint(random.Random(seed))
        try:
            (dc,) = parse_constraint(text)
        except ConstraintSyntaxError:
            refused += 1  # a sum over both tuples within a condition
            continue
        for made in (dc, dc.swapped(), dc.oriented(), dc.canonical()):
            assert parse_constraint(str(made)) == (made,), text
    assert refused < len(seeds) / 6
