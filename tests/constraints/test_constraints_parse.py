"""Every notation that is accepted, and what it means."""

import pytest
from hypothesis import given, settings, strategies as st

from dpdb.constraints import (
    ColumnRef,
    Constant,
    DenialConstraint,
    Operator,
    Predicate,
    parse_constraint,
)
from dpdb.errors import UnknownColumnError

FD = "not(t1.a=t2.a&t1.b!=t2.b)"

SAME_AS_FD = [
    FD,
    "NOT ( t1.a = t2.a && t1.b <> t2.b ) ;",
    "¬(t0.a == t1.a ^ t0.b <> t1.b)",
    "!(t.a == s.a and t.b != s.b)",
    "!(t.a == s.a AND t.b ≠ s.b)",
    "not(t.a = t'.a ∧ t.b != t'.b)",
    "not(t.a = t\u2032.a & t.b != t\u2019.b)",
    "not(ti.a = tj.a & ti.b != tj.b)",
    "not(t_i.a = t_j.a & t_i.b != t_j.b)",
    "not(T1.a=T2.a&T1.b!=T2.b)",
    "forall t1,t2: not(t1.a=t2.a&t1.b!=t2.b)",
    "∀ t1, t2 : ¬(t1.a=t2.a&t1.b!=t2.b)",
    "∀t, t': not(t.a=t'.a and t.b!=t'.b)",
    'not(t1."a"=t2."a"&t1."b"!=t2."b")',
    "\n  not(t1.a=t2.a  # first\n & t1.b!=t2.b) -- second\n",
    "t1&t2&EQ(t1.a,t2.a)&IQ(t1.b,t2.b)",
    "t1 & t2 & eq( t1.a , t2.a ) & iq( t1.b , t2.b ) ;",
    "a -> b",
    "a → b;",
    "[a] -> [b]",
    '"a" -> "b"',
    "a, a -> b, b",
    "¬{ t.a = s.a ∧ t.b ≠ s.b }",
    "¬[t.a = s.a ⋀ t.b ≠ s.b]",
    "not(x.a = y.a & x.b != y.b)",
    "not(t1.a = t3.a & t1.b != t3.b)",
    "not(row1.a = row2.a & row1.b != row2.b)",
    "¬(t\u03b1.a = tβ.a ∧ t\u03b1.b ≠ tβ.b)",
    "¬(t₁.a = t₂.a ∧ t₁.b ≠ t₂.b)",
    "¬(r.a = r'.a ∧ r.b ≠ r'.b)",
    "∀ r, r': ¬(r.a = r'.a ∧ r.b ≠ r'.b)",
    "forall first, second: not(first.a = second.a & first.b != second.b)",
    "t1.a = t2.a and t1.b != t2.b",
    "t.a = s.a ∧ t.b ≠ s.b;",
    "{a} -> b",
    "(a) -> (b)",
    "[t.a] -> t.b",
    "t1.a -> t1.b",
    "a => b",
    "a ⇒ b",
    "{a} ⟶ {b}",
    "`a` -> `b`",
]


@pytest.mark.parametrize("text", SAME_AS_FD)
def test_notations_of_a_dependency(text):
    assert [str(dc) for dc in parse_constraint(text)] == [FD]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a, b -> c", ["not(t1.a=t2.a&t1.b=t2.b&t1.c!=t2.c)"]),
        ("[A, B] -> [C]", ["not(t1.A=t2.A&t1.B=t2.B&t1.C!=t2.C)"]),
        ("a -> b, c", ["not(t1.a=t2.a&t1.b!=t2.b)", "not(t1.a=t2.a&t1.c!=t2.c)"]),
        ("[] -> a", ["not(t1.a!=t2.a)"]),
        (
            "key, not, unique -> forall",
            ['not(t1.key=t2.key&t1."not"=t2."not"&t1.unique=t2.unique&t1."forall"!=t2."forall")'],
        ),
        ("2nd, 3 -> größe", ['not(t1."2nd"=t2."2nd"&t1."3"=t2."3"&t1."größe"!=t2."größe")']),
        ("UNIQUE(a, b)", ["not(t1.a=t2.a&t1.b=t2.b)"]),
        ("key ( a )", ["not(t1.a=t2.a)"]),
        ("Primary Key(a,b);", ["not(t1.a=t2.a&t1.b=t2.b)"]),
        ("not(t1.a > t1.b)", ["not(t1.a>t1.b)"]),
        ("not(t.a > t.b)", ["not(t1.a>t1.b)"]),
        ("not(t2.a > t2.b)", ["not(t1.a>t1.b)"]),
        ("not(s.age < 0)", ["not(t1.age<0)"]),
        ("not(t1.age < 0)", ["not(t1.age<0)"]),
        ("not(0 > t1.age)", ["not(t1.age<0)"]),
        ("not(-1.5e3 <= t2.x and t1.x = t2.x)", ["not(t2.x>=-1.5E+3&t1.x=t2.x)"]),
        ("not(t1.x = .5)", ["not(t1.x=0.5)"]),
        ("not(t1.x = +5)", ["not(t1.x=5)"]),
        ("not(t1.a = 'it''s -- # &')", ["not(t1.a='it''s -- # &')"]),
        ("not(t1.d < 2020-01-31)", ["not(t1.d<'2020-01-31')"]),
        ("not(t1.d < DATE '2020-01-31')", ["not(t1.d<'2020-01-31')"]),
        ("not(t1.d<timestamp'2020-01-31 10:00:00')", ["not(t1.d<'2020-01-31 10:00:00')"]),
        ("not(t1.f = True & t1.g != FALSE)", ["not(t1.f=TRUE&t1.g!=FALSE)"]),
        (
            'not(t1."First ""x"" Name" = t2.and and t1.and = t2.t)',
            ['not(t1."First ""x"" Name"=t2."and"&t1."and"=t2.t)'],
        ),
        ('t1&EQ(t1.A,"x")', ["not(t1.A='x')"]),
        ("t1&EQ(t1.A,'x')&LTE(t1.B,3)", ["not(t1.A='x'&t1.B<=3)"]),
        ('t1&t2&LT(t1."A B",t2.C)&GT("x",t1.B)', ["not(t1.\"A B\"<t2.C&t1.B<'x')"]),
        ("t1&t2&GTE(t1.A,t2.A)", ["not(t1.A>=t2.A)"]),
        ("not(t1.a ≤ t2.a & t1.b ≥ t2.b)", ["not(t1.a<=t2.a&t1.b>=t2.b)"]),
        ("not(t.s=s.s&t.t=s.t)", ["not(t1.s=t2.s&t1.t=t2.t)"]),
        ("not(t1.a=t0.a)", ["not(t2.a=t1.a)"]),
        ("[a b] -> c", ["not(t1.a=t2.a&t1.b=t2.b&t1.c!=t2.c)"]),
        ("{a,b} -> {c d}", ["not(t1.a=t2.a&t1.b=t2.b&t1.c!=t2.c)", "not(t1.a=t2.a&t1.b=t2.b&t1.d!=t2.d)"]),
        ("(a, b) -> c", ["not(t1.a=t2.a&t1.b=t2.b&t1.c!=t2.c)"]),
        ("address.city -> zip", ['not(t1."address.city"=t2."address.city"&t1.zip!=t2.zip)']),
        ("UNIQUE(t.a, t.b)", ["not(t1.a=t2.a&t1.b=t2.b)"]),
        ("not(t1.a < TIME '10:00:00')", ["not(t1.a<'10:00:00')"]),
        ("not(t1.a < timestamptz'2020-01-31 10:00:00+00')", ["not(t1.a<'2020-01-31 10:00:00+00')"]),
        ("a <= b", ["not(t1.a>t1.b)"]),
        ("a <= b WHERE c = 1", ["not(t1.a>t1.b&t1.c=1)"]),
        ("c = 1: a <= b", ["not(t1.a>t1.b&t1.c=1)"]),
        ("a + 1 <= b AND c <> 2 OR d IS NULL", [str(*parse_constraint("CHECK (a + 1 <= b AND c <> 2 OR d IS NULL)"))]),
        ("origin IN ('A', 'B')", ["not(t1.origin NOT IN ('A', 'B'))"]),
        ("origin NOT IN ('A', 'B')", ["not(t1.origin IN ('A', 'B'))"]),
        ("origin LIKE 'A%'", ["not(NOT t1.origin LIKE 'A%')"]),
        ("x IS NOT NULL", ["not(t1.x IS NULL)"]),
        ("CONSTRAINT n CHECK (a <= b)", ["not(t1.a>t1.b)"]),
        ("constraint n UNIQUE (a, b)", ["not(t1.a=t2.a&t1.b=t2.b)"]),
        ("t1.a = t2.a WHERE c = 1", ["not(t1.a=t2.a&t1.c=1&t2.c=1)"]),
        ("(a + b) * 2 <= c", ["not((t1.a + t1.b) * 2 > t1.c)"]),
    ],
)
def test_meaning(text, expected):
    assert [str(dc) for dc in parse_constraint(text)] == expected


def test_a_name_after_constraint_is_the_name():
    (dc,) = parse_constraint("CONSTRAINT small CHECK (a <= 5)")
    assert (dc.name, dc.text) == ("small", "CHECK (a <= 5)")


def test_a_name_with_dots_is_the_column_that_has_it_and_else_a_tuple_and_its_column():
    columns = ["address.city", "city", "t1.zip", "zip", "x.1.y", "First.Last Name"]

    def read(text):
        return [str(dc) for dc in parse_constraint(text, columns)]

    city = 'not(t1."address.city"=t2."address.city"&t1.zip!=t2.zip)'
    assert read("address.city -> zip") == read("Address.City -> zip") == read("[address.city] -> zip") == [city]
    assert read("not(t1.address.city = t2.address.city & t1.zip != t2.zip)") == [city]
    assert read("address.city IS NOT NULL") == read("NOT NULL(address.city)") == ['not(t1."address.city" IS NULL)']
    assert read("t1.zip -> city") == ['not(t1."t1.zip"=t2."t1.zip"&t1.city!=t2.city)']
    assert read("t1.city -> zip") == ["not(t1.city=t2.city&t1.zip!=t2.zip)"]
    assert read("not(t1.zip = 5)") == ["not(t1.zip=5)"]
    assert read("x.1.y <= city") == ['not(t1."x.1.y">t1.city)']
    assert read("first.last name -> zip") == ['not(t1."First.Last Name"=t2."First.Last Name"&t1.zip!=t2.zip)']
    assert read("address.city IN cities.name") == ['"address.city" IN cities.name']
    for text, name in [
        ("address.zip -> city", "address.zip"),
        ("address.zip = 'x'", "address.zip"),
        ("city.x -> zip", "city.x"),
    ]:
        with pytest.raises(UnknownColumnError, match=f"no column '{name}'; nearest"):
            read(text)


def test_words_in_brackets_are_the_longest_names_that_columns_have():
    assert [str(dc) for dc in parse_constraint("[zip First Name state] -> City", COLUMNS)] == [
        'not(t1.zip=t2.zip&t1."First Name"=t2."First Name"&t1.state=t2.state&t1.City!=t2.City)'
    ]


COLUMNS = ["First Name", "Zip Code", "zip", "City", "CITY", "Date and Time", "Address 2", "state"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("First Name -> Zip Code", 'not(t1."First Name"=t2."First Name"&t1."Zip Code"!=t2."Zip Code")'),
        ("first  name -> ZIP", 'not(t1."First Name"=t2."First Name"&t1.zip!=t2.zip)'),
        ("Date and Time -> state", 'not(t1."Date and Time"=t2."Date and Time"&t1.state!=t2.state)'),
        ("UNIQUE(Address 2, State)", 'not(t1."Address 2"=t2."Address 2"&t1.state=t2.state)'),
        (
            "not(t1.zip code = t2.zip code and t1.zip != t2.ZIP)",
            'not(t1."Zip Code"=t2."Zip Code"&t1.zip!=t2.zip)',
        ),
        ("CITY -> City", "not(t1.CITY=t2.CITY&t1.City!=t2.City)"),
        ('not(t1."STATE" = 5)', "not(t1.state=5)"),
    ],
)
def test_names_are_resolved(text, expected):
    assert [str(dc) for dc in parse_constraint(text, COLUMNS)] == [expected]


names = st.one_of(
    st.sampled_from(
        [
            "a",
            "t",
            "t1",
            "s",
            "and",
            "not",
            "null",
            "a b",
            'q"q',
            "it's",
            "é",
            "表",
            "#x",
            "--",
            "a\nb",
            "&",
            "1",
            "-1",
        ]
    ),
    st.text(min_size=1, max_size=6),
)


def is_allowed(number):
    _, digits, exponent = number.as_tuple()
    return len(digits) <= 100 and abs(exponent) <= 400


constants = st.one_of(
    st.integers(min_value=-(10**30), max_value=10**30),
    st.booleans(),
    st.text(max_size=8),
    st.decimals(allow_nan=False, allow_infinity=False).filter(is_allowed),
).map(Constant)
refs = st.builds(ColumnRef, st.sampled_from([0, 1]), names)
predicates = st.builds(Predicate, refs, st.sampled_from(Operator), st.one_of(refs, constants))
constraints = st.builds(DenialConstraint, st.lists(predicates, min_size=1, max_size=5).map(tuple))


@pytest.mark.heavy(family="long")
@settings(deadline=None)
@given(constraints)
def test_round_trip(dc):
    assert parse_constraint(str(dc)) == (dc,)
    assert parse_constraint(str(dc), dc.columns) == (dc,)


@pytest.mark.heavy(family="long")
@settings(deadline=None)
@given(constraints)
def test_equal_values_hash_equal(dc):
    (again,) = parse_constraint(str(dc))
    assert hash(again) == hash(dc)
    assert dc.canonical() == again.swapped().canonical()
