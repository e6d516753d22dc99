"""Bits and rows that share a key beside another table: refused where one of its rows would take many of this one.

Rows without a partner in the parent violate alone, and are taken out first. So one parent row decides about all its
children: it may move the bits by any number (here by 2). With the key as the unit, in both tables, it moves its own.
"""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from stub_noise import StubNoise

import dpdb
from dpdb.errors import ParameterError
from dpdb.owner import exact_measures
from dpdb.privacy.noise import replaced_noise

KNOWN, PLACES, CARDS = "customer IN customers.id", "zip -> city", "UNIQUE(card)"
CUSTOMERS = pa.table({"id": [1, 2, 3]})
ORDERS = pa.table(
    {
        "customer": [1, 1, 2, 3, 3, 9],
        "zip": [1, 2, 1, 2, 2, 1],
        "city": ["a", "a", "b", "b", "c", "z"],
        "card": [1, 2, 1, 2, 3, 3],
    }
)
BITS = math.log2(2 * 3)  # zip 1 has the cities a and b, zip 2 has a, b and c; the order of customer 9 is not used
SHARING = 4 + 1  # rows of the cards 1 and 2, and the order of customer 9, which violates alone


def released(rules: list[str], measure: str, **options: Any) -> Any:
    with dpdb.open(ORDERS, constraints=rules, budget=10, **options) as session, replaced_noise(StubNoise()):
        return session.dp_inconsistency(measure, 1)


PRIVATE = {"private_parents": {"customers": CUSTOMERS}}


@pytest.mark.heavy(family="privacy")
def test_one_parent_row_moves_more_than_a_bit() -> None:
    """Without customer 3 zip 2 has one city; without 1 as well nothing is left to decide."""

    def bits(*ids: int) -> float:
        parents = {"customers": pa.table({"id": pa.array(ids, pa.int64())})}
        found = exact_measures(ORDERS, [KNOWN, PLACES], non_private=True, public_parents=parents)
        return float(found.consistency_bits or 0)

    assert bits(1, 2, 3) == pytest.approx(BITS, abs=1e-6)
    assert bits(1, 2, 3) - bits(2, 3) == pytest.approx(math.log2(6) - math.log2(2), abs=1e-6)  # one row: 1.58 bits
    assert bits(1, 2, 3) - bits(1, 2) == pytest.approx(math.log2(3), abs=1e-6)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("rules", "measure", "mechanism"),
    [
        ([KNOWN, PLACES], "maximal_consistency", None),
        ([KNOWN, PLACES], "maximal_consistency", "decision_bits"),
        ([KNOWN, CARDS], "maximal_consistency", None),
        ([KNOWN, CARDS], "problematic", "sharing_rows"),
    ],
)
def test_single_rows_beside_a_private_parent_are_refused_before_anything_is_spent(
    rules: list[str], measure: str, mechanism: str | None
) -> None:
    with dpdb.open(ORDERS, constraints=rules, budget=10, max_children=2, **PRIVATE) as session:
        with pytest.raises(ParameterError, match="does not go with single rows as units beside a private parent"):
            session.dp_inconsistency(measure, 1, mechanism=mechanism)
        assert session.spent() == 0


def test_a_check_in_bits_is_refused_there_too() -> None:
    with dpdb.open(ORDERS, constraints=[KNOWN, PLACES], budget=10, max_children=2, **PRIVATE) as session:
        with pytest.raises(ParameterError, match="bits do not go with single rows as units beside a private parent"):
            session.check(f"{KNOWN}  fail above 5 rows\n{PLACES}  fail above 2 bits", 1)
        assert session.spent() == 0


def test_the_default_for_keys_beside_a_private_parent_is_the_one_of_other_rules() -> None:
    assert released([KNOWN, CARDS], "problematic", max_children=2, **PRIVATE).mechanism == "ladder"


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(
    "options", [{"public_parents": {"customers": CUSTOMERS}}, {"unit": "customer", "max_rows": 2, **PRIVATE}]
)
def test_a_public_parent_or_the_key_as_unit_has_them(options: dict[str, Any]) -> None:
    bits = released([KNOWN, PLACES], "maximal_consistency", **options)
    assert bits.value == pytest.approx(BITS, abs=2e-6)
    assert (bits.mechanism, bits.quantity) == ("decision_bits", "bits")
    sharing = released([KNOWN, CARDS], "problematic", **options)
    assert (sharing.value, sharing.mechanism) == (SHARING, "sharing_rows")
    rows = 2 if "unit" in options else 1
    assert bits.noise_scale == pytest.approx(rows)
    assert sharing.noise_scale == pytest.approx(2 * rows)
