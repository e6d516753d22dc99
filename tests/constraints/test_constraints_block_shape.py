"""Which constraints have blocks, and as what."""

import pytest

from dpdb.constraints import block_shape, parse_constraint


@pytest.mark.parametrize(
    ("text", "shape", "columns"),
    [
        ("UNIQUE(b, a)", "key", ("a", "b")),
        ("a -> b", "functional dependency", ("a", "b")),
        ("not(t1.a=t2.a&t1.b<t2.b)", "functional dependency", ("a", "b")),
        ("not(t1.a=t2.a&t1.b<=t2.b&t1.b!=t2.b)", "functional dependency", ("a", "b")),
        ("not(t1.a<=t2.a&t1.a>=t2.a&t1.b<=t2.b)", "key", ("a", "b")),
        ("not(t1.cc=44&t2.cc=44&t1.zip=t2.zip&t1.s!=t2.s)", "conditional functional dependency", ("zip", "s")),
        ("not(t1.cc=44&t1.zip=t2.zip&t1.s!=t2.s)", "conditional functional dependency", ("zip", "s")),
        ("not(t1.cc>4&t2.a<t2.b&t1.zip=t2.zip)", "conditional key", ("zip",)),
        ("not(t1.a=1&t2.b=1)", "conditional key", ()),
        ("not(t1.a=t2.a&t1.b!=t2.b&t1.c!=t2.c)", "unequal columns", ("a", "b", "c")),
        ("not(t1.a=t2.a&t1.b!=t2.b&t1.c>t2.c)", "unequal columns", ("a", "b", "c")),
        ("not(t1.a>=t2.a&t1.b<=t2.b)", "order constraint", ("a", "b")),
        ("not(t1.c=1&t2.c=1&t1.a>t2.a&t1.b<t2.b)", "conditional order constraint", ("a", "b")),
    ],
)
def test_shapes_with_blocks(text: str, shape: str, columns: tuple[str, ...]) -> None:
    (dc,) = parse_constraint(text)
    for found in (block_shape(dc), block_shape(dc.swapped())):
        assert found is not None
        assert (str(found), found.columns) == (shape, columns)


@pytest.mark.parametrize(
    "text",
    [
        "not(t1.a=1)",
        "not(t1.a=t2.b)",
        "not(t1.a=t2.a&t1.a!=t2.a)",
        "not(t1.a!=t2.a&t1.b!=t2.b&t1.c!=t2.c)",
        "not(t1.d=1&t1.a=t2.a&t1.b!=t2.b&t1.c!=t2.c)",
        "not(t1.a<t2.a&t1.b<t2.b&t1.c!=t2.c)",
        "not(t1.a<t2.a&t1.b<t2.b&t1.c<t2.c)",
        "not(t1.a<t2.a&t1.b=1)",
        "not(t1.a<t2.a&t1.b<t2.b&t1.c=1&t2.c=2)",
    ],
)
def test_shapes_without(text: str) -> None:
    (dc,) = parse_constraint(text)
    assert block_shape(dc) is None
    assert block_shape(dc.swapped()) is None


def test_an_order_says_where_equal_rows_count() -> None:
    (dc,) = parse_constraint("not(t2.b>=t1.b&t1.a>t2.a)")
    shape = block_shape(dc)
    assert shape is not None
    assert shape.order is not None
    assert (shape.order.first, shape.order.opposite) == ("a", True)
    assert (shape.order.first_ties, shape.order.second_ties) == (False, True)
