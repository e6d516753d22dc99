"""Names of constraints: one word and a colon, for readers only."""

import pytest

from dpdb.constraints import distinct, load_constraints, parse_constraint
from dpdb.errors import ConstraintSyntaxError


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("city_by_zip: zip->city  # as they say", "city_by_zip: zip->city"),
        ("late : not( t1.a > t2.b+60 ) ;", "late: not( t1.a > t2.b+60 )"),
        ("us: country = 'US': zip -> city", "us: country = 'US': zip -> city"),
        ("active: zip -> city", "active: zip -> city"),
        ("n: CHECK (a > 0) WHERE b = 1", "n: CHECK (a > 0) WHERE b = 1"),
        ("q: forall t1, t2: not(t1.a=t2.a)", "q: forall t1, t2: not(t1.a=t2.a)"),
        ("zip -> city", "zip -> city"),
        ("active = true: zip -> city", "active = true: zip -> city"),
        ("not(t1.a = t2.a -- the same\n  & t1.b\t!= t2.b)", "not(t1.a = t2.a & t1.b != t2.b)"),
        ("t1&t2&EQ(t1.a,t2.a)", "t1&t2&EQ(t1.a,t2.a)"),
    ],
)
def test_label(text, label):
    (dc,) = parse_constraint(text)
    assert dc.label == label
    (again,) = parse_constraint(dc.label)
    assert (again, again.name, again.label) == (dc, dc.name, label)


def test_constraints_of_one_text_are_told_apart():
    text = 'k: c = 1: zip, "a b" -> city, "in  state" WHERE d = 2'
    assert [dc.label for dc in parse_constraint(text)] == [
        'k: c = 1: zip, "a b" -> city WHERE d = 2',
        'k: c = 1: zip, "a b" -> "in  state" WHERE d = 2',
    ]
    assert [dc.label for dc in parse_constraint("NOT NULL (a, b)")] == ["NOT NULL(a)", "NOT NULL(b)"]


def test_what_a_terminal_would_obey_is_shown_as_it_is_meant():
    (dc,) = parse_constraint("not(t1.\"a\x1b[31m\" = 'x\u202e\ny')")
    assert dc.label == "not(t1.\"a\\x1b[31m\" = 'x\\u202e\\ny')"


def test_a_long_text_is_cut_where_it_is_shown_in_a_line():
    (dc,) = parse_constraint(f"k: CHECK (a IN ({', '.join(map(str, range(100)))}))")
    assert (len(dc.label), dc.label[:20], dc.label[-3:]) == (200, "k: CHECK (a IN (0, 1", "...")
    assert dc.written.endswith("98, 99))")


def test_what_is_compared_is_canonical():
    one, other = load_constraints(["k: zip->city"]) + load_constraints(["k: not(t1.zip = t2.zip & t1.city != t2.city)"])
    assert one.label != other.label
    assert one.identity == other.identity == "k: not(t1.zip=t2.zip&t1.city!=t2.city)"


def test_a_name_is_no_part_of_what_a_constraint_is():
    named, plain = parse_constraint("k: a -> b")[0], parse_constraint("a -> b")[0]
    assert (named, str(named), repr(named)) == (plain, str(plain), repr(plain))
    assert distinct([named, plain])[0].label == "k: a -> b"
    assert load_constraints(named, ["A", "B"])[0].label == "k: a -> b"


def test_a_name_is_given_once(tmp_path):
    rules = tmp_path / "rules.txt"
    rules.write_text("k: a -> b, c\nl: a -> d\nK: UNIQUE(a)\n")
    with pytest.raises(ConstraintSyntaxError, match=r"line 3, column 1: expected a name that no other .*, found 'K'"):
        load_constraints(rules)
    with pytest.raises(ConstraintSyntaxError, match="a name that no other constraint has, found 'k'"):
        load_constraints(["k: a -> b", "k: a -> b"])
