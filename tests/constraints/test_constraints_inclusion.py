"""Rules across tables as text: every spelling is one value, written so that it is read again."""

from __future__ import annotations

import pytest

from dpdb.constraints import DenialConstraint, Inclusion, describe, distinct, load_constraints, parse_constraint
from dpdb.errors import ConstraintSyntaxError, UnknownColumnError

COLUMNS = ["customer_id", "region", "status", "order date", "in"]


def only(text: str, columns: list[str] | None = None) -> DenialConstraint:
    (dc,) = parse_constraint(text, columns)
    return dc


@pytest.mark.parametrize(
    "text",
    [
        "customer_id IN customers.id",
        "orders.customer_id in customers(id)",
        "shop.orders.Customer_ID IN customers.id;",
        "t1.customer_id IN customers.id",
        '(orders."customer_id") IN "customers"("id")',
        "FOREIGN KEY (customer_id) REFERENCES customers (id)",
    ],
)
def test_spellings_are_one_value(text: str) -> None:
    dc = only(text, COLUMNS)
    assert dc == only("customer_id IN customers.id")
    assert dc.inclusion == Inclusion(("customer_id",), "customers", ("id",))
    assert (str(dc), dc.is_single_tuple, dc.table_columns) == ("customer_id IN customers.id", True, ("customer_id",))


@pytest.mark.parametrize(
    ("text", "written", "words"),
    [
        (
            "(customer_id, region) IN sales.customers(id, region)",
            "(customer_id, region) IN sales.customers(id, region)",
            "every (customer_id, region) must be found in sales.customers(id, region)",
        ),
        (
            "status = 'open': customer_id IN customers.id WHERE region IS NOT NULL",
            "customer_id IN customers.id WHERE t1.status='open' & t1.region IS NOT NULL",
            "every customer_id must be found in customers.id where status = 'open' and region IS NOT NULL",
        ),
        ('order date IN days."a ""day"""', '"order date" IN days."a ""day"""', None),
        ('in IN "in"."in"', '"in" IN "in"."in"', 'every "in" must be found in "in"."in"'),
    ],
)
def test_what_is_written_is_read_again(text: str, written: str, words: str | None) -> None:
    dc = only(text, COLUMNS)
    assert str(dc) == written
    assert only(written, COLUMNS).canonical() == dc.canonical()
    assert words is None or describe(dc) == words


def test_names_and_duplicates() -> None:
    rules = load_constraints("known: orders.customer_id IN customers.id\ncustomer_id IN customers.id", COLUMNS)
    assert rules[0].label == "known: orders.customer_id IN customers.id"
    assert len(distinct(rules)) == 1


def test_dependencies_with_such_names_stay_what_they_are() -> None:
    assert only("in, a -> b").inclusion is None
    assert only("zip -> city WHERE status IN ('a', 'b')").inclusion is None
    assert only("CHECK (status IN ('a', 'b'))").inclusion is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("customer_id IN customers", "expected a table and its column"),
        ("customer_id IN (SELECT id customers)", "expected FROM, as in"),
        ("customer_id IN (SELECT id FROM customers", "WHERE or '\\)'"),
        ("FOREIGN KEY (customer_id) REFERENCES customers", "expected a table and its column"),
        ("FOREIGN KEY (customer_id) customers(id)", "expected REFERENCES"),
        ("(customer_id, region) IN customers(id)", "as many columns of customers as on the left"),
        ("(region, region) IN customers(a, b)", "each column once on the left"),
        ("customer_id IN customers.id ON DELETE CASCADE", "expected the end of the constraint"),
        ('customer_id IN customers.""', "a name that is not empty"),
        ('customer_id IN "a\ud800".id', "a name of valid Unicode"),
    ],
)
def test_what_is_no_rule_is_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(ConstraintSyntaxError, match=message):
        only(text, COLUMNS)


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(UnknownColumnError, match="'customer'; nearest is 'customer_id'"):
        only("customer IN customers.id", COLUMNS)
