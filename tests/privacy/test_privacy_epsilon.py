"""Epsilon: parsing rounds down, splitting is exact."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from dpdb.errors import ParameterError
from dpdb.privacy.epsilon import NANO, as_float, as_fraction, format_epsilon, parse_epsilon, split

exactly = settings(derandomize=True, deadline=None, max_examples=300)
nanos = st.integers(1, 10**6 * NANO)


@pytest.mark.parametrize(
    ("value", "nano"),
    [
        (1, NANO),
        (1.0, NANO),
        ("1", NANO),
        (" 0.1 ", NANO // 10),
        (0.1, NANO // 10),
        (Decimal("0.1"), NANO // 10),
        ("1e-9", 1),
        (1e-9, 1),
        (0.3, 300_000_000),
        ("1.9999999999", 1_999_999_999),
        (np.float64(0.7), 700_000_000),
        (np.int64(3), 3 * NANO),
        (10**6, 10**15),
        ("1000000.000000000", 10**15),
    ],
)
def test_parsed(value, nano):
    assert parse_epsilon(value) == nano


@pytest.mark.parametrize(
    "value",
    [
        0, 0.0, -0.0, -1, "-1", "0", float("nan"), float("inf"), -float("inf"), "nan", "sNaN", "-inf", "Infinity", "",
        " ", "one", "1,5", "1/2", "0x1", True, False, np.True_, None, [], [1], b"1", 1j, "1e-10", 9.99e-10,
        "1e-999999", "1e-999999999", 1_000_001, "1000000.0000000000000000000000000000000000001", "1e999999999",
        Decimal("NaN"), Decimal("-Infinity"), Decimal(0),
    ],
)  # fmt: skip
def test_refused(value):
    with pytest.raises(ParameterError, match="epsilon"):
        parse_epsilon(value)


def test_errors_name_the_parameter():
    with pytest.raises(ParameterError, match=r"^budget must be"):
        parse_epsilon(-1, name="budget")


@exactly
@given(st.decimals(Decimal("1e-9"), 10**6, allow_nan=False), st.integers(1, 60))
def test_never_more_than_asked_for(value, digits):
    """Also with more digits than the decimal context keeps, and in a caller's narrow context."""
    with localcontext(prec=digits):
        nano = parse_epsilon(value)
    assert nano <= Fraction(value) * NANO < nano + 1


@pytest.mark.parametrize("value", ["0." + "9" * 40, "1." + "9" * 40, "0.9999999994" + "9" * 30])
def test_many_nines_are_not_rounded_up(value):
    assert as_fraction(parse_epsilon(value)) <= Fraction(value)


@exactly
@given(nanos)
def test_texts_and_floats_come_back(nano):
    assert parse_epsilon(format_epsilon(nano)) == nano
    assert parse_epsilon(as_float(nano)) == nano
    assert as_fraction(nano) == Fraction(format_epsilon(nano))


@exactly
@given(nanos, st.lists(st.integers(1, 10**12), min_size=1, max_size=8))
def test_shares_sum_exactly(epsilon, weights):
    try:
        shares = split(epsilon, weights)
    except ParameterError:
        # Refused only when a share rounds to nothing.
        assert any(epsilon * weight < sum(weights) for weight in weights[:-1])
        return
    assert sum(shares) == epsilon
    assert min(shares) > 0
    total = sum(weights)
    for share, weight in zip(shares[:-1], weights[:-1], strict=True):
        assert 0 <= Fraction(epsilon * weight, total) - share < 1
    assert 0 <= shares[-1] - Fraction(epsilon * weights[-1], total) < len(weights)


def test_a_share_of_nothing_is_refused():
    with pytest.raises(ParameterError, match="too small to be split into 2 steps"):
        split(5, (1, 9))
    assert split(10, (1, 9)) == (1, 9)
