"""Decision bits in suites: one bit is one row, on the lattice of 10^-6; what is shown of them holds."""

from __future__ import annotations

import math
from fractions import Fraction

import pyarrow as pa
import pytest

import dpdb
from dpdb.errors import ConstraintSyntaxError, ParameterError
from dpdb.suites import check_words, load_suite
from dpdb.suites.counted import limits_without_table
from dpdb.suites.prepare import prepare_check

CERTAIN = 100_000  # the noise is below a thousandth of a bit except with probability below exp(-25)
ROWS = pa.table({"zip": [1, 1, 1, 2, 2, 3, 3, 4], "city": [1, 2, 3, 1, 2, 1, 1, None], "n": [0, 0, 0, 0, 0, 9, 9, 9]})
BITS = math.log2(3 * 2)  # three cities of zip 1, two of zip 2


def checked(suite: str, **options: object) -> dpdb.CheckResults:
    rules = load_suite(suite).rules
    with dpdb.open(ROWS, constraints=rules) as session:
        return session.check(suite, epsilon=CERTAIN, **options)  # type: ignore[arg-type]


def test_bits_are_told_as_bits() -> None:
    few, many = checked("zip -> city  warn above 1 bit, fail above 3 bits")
    assert (few.verdict, few.limit, few.unit, few.statistic) == ("fail", 1, "rows", "decision bits")
    assert few.lower is not None
    assert few.upper is not None
    assert few.lower <= BITS <= few.upper < few.lower + 1
    assert many.asked_within(1).verdict == "pass"
    assert many.upper is not None
    assert many.upper >= 3
    assert "bits (warn above 1 bits)" in check_words(few)


def test_a_key_has_a_decision_for_each_value_that_is_shared() -> None:
    [alone] = checked("UNIQUE(zip)  fail above 2 bits")
    assert alone.lower is not None
    assert alone.upper is not None
    assert alone.lower <= math.log2(3 * 2 * 2) <= alone.upper


def test_a_row_moves_a_test_by_at_most_a_million_steps() -> None:
    suite = load_suite("zip -> city  fail above 3 bits\nUNIQUE(n)  fail above 5 rows\nrow_count  fail below 2")
    bits, rows, count = (each.tested for each in limits_without_table(suite)[0])
    assert (bits.low, bits.high, bits.bits, bits.unit(10**6)) == (0, 1, True, 1)
    assert not rows.bits
    assert not count.bits
    with dpdb.open(ROWS, constraints=suite.rules) as session:
        plan = prepare_check(session, suite, epsilon=1).plan
        assert plan.lattice == 10**6
        assert plan.steps(0, Fraction(2_584_962, 10**6)) == 2_584_962
        limited = prepare_check(session, load_suite("zip -> city  fail above 3 bits"), epsilon=1).plan
        assert max(bank.high for bank in limited.banks) == 10**6
    with dpdb.open(ROWS, constraints=suite.rules, rows_per_person=4) as session:
        assert max(bank.high for bank in prepare_check(session, suite, epsilon=1).plan.banks) == 4 * 10**6


@pytest.mark.parametrize(
    ("suite", "says"),
    [
        ("not(t1.zip < t2.zip & t1.n > t2.n)  fail above 1 bits", "neither a dependency nor a key"),
        ("CHECK (n < 9)  fail above 1 bits", "leave nothing to decide"),
    ],
)
def test_rules_without_bits_are_refused_before_anything_is_spent(suite: str, says: str) -> None:
    with dpdb.open(ROWS, constraints=load_suite(suite).rules, budget=1) as session:
        with pytest.raises(ParameterError, match=says):
            session.check(suite)
        assert session.spent() == 0


@pytest.mark.parametrize(
    "limit", ["row_count  fail above 3 bits", "zip -> city  fail below 3 bits", "zip -> city  fail above 1.5 bits"]
)
def test_limits_in_bits_are_whole_ones_of_rules(limit: str) -> None:
    with pytest.raises(ConstraintSyntaxError):
        load_suite(limit)


def test_a_suite_writes_its_limit_as_it_is_read() -> None:
    [line] = load_suite("zip -> city  fail above 3 bits").lines
    assert line.limits[0].written(line.statistic) == "fail above 3 bits"
