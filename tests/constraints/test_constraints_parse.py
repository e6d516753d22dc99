"""Every notation that is accepted, and what it means."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpdb.constraints import (
    ColumnRef,
    Constant,
    DenialConstraint,
    Operator,
    Predicate,
    parse_constraint,
)

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
            ["not(t1.key=t2.key&t1.not=t2.not&t1.unique=t2.unique&t1.forall!=t2.forall)"],
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
            ['not(t1."First ""x"" Name"=t2.and&t1.and=t2.t)'],
        ),
        ('t1&EQ(t1.A,"x")', ["not(t1.A='x')"]),
        ("t1&EQ(t1.A,'x')&LTE(t1.B,3)", ["not(t1.A='x'&t1.B<=3)"]),
        ('t1&t2&LT(t1."A B",t2.C)&GT("x",t1.B)', ["not(t1.\"A B\"<t2.C&t1.B<'x')"]),
        ("t1&t2&GTE(t1.A,t2.A)", ["not(t1.A>=t2.A)"]),
        ("not(t1.a ≤ t2.a & t1.b ≥ t2.b)", ["not(t1.a<=t2.a&t1.b>=t2.b)"]),
        ("not(t.s=s.s&t.t=s.t)", ["not(t1.s=t2.s&t1.t=t2.t)"]),
        ("not(t1.a=t0.a)", ["not(t2.a=t1.a)"]),
    ],
)
def test_meaning(text, expected):
    assert [str(dc) for dc in parse_constraint(text)] == expected


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


@settings(deadline=None)
@given(constraints)
def test_round_trip(dc):
    assert parse_constraint(str(dc)) == (dc,)
    assert parse_constraint(str(dc), dc.columns) == (dc,)


@settings(deadline=None)
@given(constraints)
def test_equal_values_hash_equal(dc):
    (again,) = parse_constraint(str(dc))
    assert hash(again) == hash(dc)
    assert dc.canonical() == again.swapped().canonical()
