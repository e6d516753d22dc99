"""Recognition of dependencies and keys, and constraints in words."""

from dataclasses import replace

import pytest

from dpdb.constraints import (
    FunctionalDependency,
    OrderDependency,
    describe,
    distinct,
    equality_columns,
    functional_dependency,
    is_symmetric,
    key_columns,
    order_dependency,
    parse_constraint,
)


def one(text):
    (dc,) = parse_constraint(text)
    return dc


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("b, a -> c", FunctionalDependency(("a", "b"), "c")),
        ("not(t1.c!=t2.c&t2.a=t1.a&t1.a=t2.a)", FunctionalDependency(("a",), "c")),
        ("not(t1.c!=t2.c)", FunctionalDependency((), "c")),
        ("not(t1.a=t2.a)", None),
        ("not(t1.a=t2.a&t1.a!=t2.a)", None),
        ("not(t1.a=t2.a&t1.b!=t2.b&t1.c!=t2.c)", None),
        ("not(t1.a=t2.b&t1.c!=t2.c)", None),
        ("not(t1.a=t2.a&t1.c!=t2.c&t1.a>5)", None),
        ("not(t1.a=t2.a&t1.c<t2.c)", None),
        ("not(t1.a=t1.a&t1.c!=t2.c)", None),
    ],
)
def test_functional_dependency(text, expected):
    assert functional_dependency(one(text)) == expected


def test_functional_dependency_reads_back():
    for fd in (FunctionalDependency(("a b", "c"), "d"), FunctionalDependency((), "d")):
        assert functional_dependency(one(str(fd))) == fd


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("UNIQUE(b, a)", ("a", "b")),
        ("not(t2.a=t1.a)", ("a",)),
        ("a -> b", None),
        ("not(t1.a=t2.b)", None),
        ("not(t1.a=1)", None),
    ],
)
def test_key_columns(text, expected):
    assert key_columns(one(text)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("not(t1.g=t2.g&t1.b>t2.b&t1.a<t2.a)", OrderDependency(("g",), "a", "b", opposite=True, t1_above=False)),
        ("not(t1.b>t2.b&t2.a>t1.a)", OrderDependency((), "a", "b", opposite=True, t1_above=False)),
        ("not(t1.b<t2.b&t2.a<t1.a)", OrderDependency((), "a", "b", opposite=True, t1_above=True)),
        ("not(t1.a<t2.a&t1.b<t2.b)", OrderDependency((), "a", "b", opposite=False, t1_above=False)),
        ("not(t1.b>t2.b&t1.a>t2.a)", OrderDependency((), "a", "b", opposite=False, t1_above=True)),
        ("not(t1.a>t2.a&t2.b<t1.b)", OrderDependency((), "a", "b", opposite=False, t1_above=True)),
        ("not(t1.a<t2.a&t1.a>t2.a)", None),
        ("not(t1.a=t2.a&t1.a>t2.a&t1.b>t2.b)", None),
        ("not(t1.a<=t2.a&t1.b>t2.b)", None),
        ("not(t1.a<t2.a)", None),
        ("not(t1.a<t2.b&t1.b>t2.a)", None),
        ("not(t1.a<t2.a&t1.b!=t2.b)", None),
        ("not(t1.a<t2.a&t1.b<t2.b&t1.c<t2.c)", None),
    ],
)
def test_order_dependency(text, expected):
    assert order_dependency(one(text)) == expected
    swapped = expected and replace(expected, t1_above=not expected.t1_above)  # t1 is the other row
    assert order_dependency(one(text).swapped()) == swapped


def test_equalities():
    dc = one("not(t1.a=t2.a&t1.d=t2.c&t1.c=t2.d&t1.x=t1.y&t1.z=5&t1.b<t2.b&t2.p=t1.b)")
    assert equality_columns(dc) == {"a"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a -> b", True),
        ("UNIQUE(a, b)", True),
        ("not(t1.a=t2.b&t1.b=t2.a)", True),
        ("not(t1.a<5)", True),
        ("not(t1.a<5&t2.a<5)", True),
        ("not(t1.a<t2.a)", False),
        ("not(t1.a=t2.b)", False),
        ("not(t1.a=t2.a&t1.b=5)", False),
    ],
)
def test_is_symmetric(text, expected):
    assert is_symmetric(one(text)) is expected


def test_distinct_after_swapping():
    texts = [
        "not(t1.s=t2.s&t1.salary>t2.salary&t1.rate<t2.rate)",
        "not(t1.s=t2.s&t1.salary<t2.salary&t1.rate>t2.rate)",
        "not(t2.rate<t1.rate&t2.s=t1.s&t1.salary<t2.salary)",
        "not(t1.s=t2.s&t1.salary<t2.salary&t1.rate<t2.rate)",
    ]
    dcs = [one(text) for text in texts]
    assert distinct(dcs) == (dcs[0], dcs[3])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("zip_code -> city", "rows with the same zip_code must have the same city"),
        ("b, a -> c", "rows with the same a and b must have the same c"),
        ("a, b, c -> d", "rows with the same a, b and c must have the same d"),
        ("not(t1.a!=t2.a)", "all rows must have the same a"),
        ("UNIQUE(ticker, date)", "no two rows may share (date, ticker)"),
        ('UNIQUE("First Name")', 'no two rows may share "First Name"'),
        (
            "not(t1.state=t2.state&t1.salary>t2.salary&t1.rate<t2.rate)",
            "among rows with the same state, a higher salary must not come with a lower rate",
        ),
        (
            "not(t1.state=t2.state&t1.salary<t2.salary&t1.rate>t2.rate)",
            "among rows with the same state, a higher salary must not come with a lower rate",
        ),
        ("not(t1.gain<t2.gain&t1.loss<t2.loss)", "a higher gain must not come with a higher loss"),
        ("not(t1.age<0)", "no row may have age < 0"),
        ("not(t2.start>t2.end&t2.open=TRUE)", "no row may have start > end and open = TRUE"),
        ("not(t1.a=t2.b&t1.c<=t2.c)", "no two rows t1, t2 may have t1.a = t2.b and t1.c <= t2.c"),
    ],
)
def test_describe(text, words):
    assert describe(one(text)) == words
