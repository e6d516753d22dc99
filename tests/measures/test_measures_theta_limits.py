"""`theta_limits`: what it says of released numbers, and that it sees no others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, get_type_hints

import pytest

from dpdb.measures import all_measures, estimate as module, measure_named
from dpdb.measures.answer import STATISTICS, Answer, DegreeCap
from dpdb.measures.count import rate_answer
from dpdb.measures.estimate import theta_limits, with_theta_limits
from dpdb.measures.mechanism import Mechanism
from dpdb.measures.mechanisms.at_one_theta import at_theta, declared

LADDER = measure_named("problematic").mechanism("ladder")
FEW = Answer(value=40, lower=30, theta=5, noise_scale=8.0, estimand="e")
HIGH, LOW = DegreeCap(1_000, 14.0), DegreeCap(5, 0.5)


@pytest.mark.parametrize(
    ("theta", "value", "scale", "cap", "said"),
    [
        (5, 40, 8.0, HIGH, True),
        (5, 199, 8.0, HIGH, True),
        (5, 200, 8.0, HIGH, False),  # 25 scales: more rows than stay unseen
        (499, 0, 800.0, HIGH, True),
        (500, 0, 800.0, HIGH, None),
        (550, 0, 800.0, HIGH, False),
        (5, 0, 8.0, HIGH, True),
        (1, 9_999, 1.0, DegreeCap(1, 14.0), None),  # nothing was chosen, and the bound is its own noise
        (1, 0, 1.0, DegreeCap(1, 0.0), False),  # no two rows can be in conflict
        (2, 3, 3.0, DegreeCap(1, 14.0), None),
        (2, 80, 3.0, DegreeCap(1, 14.0), False),
        (2, 3, 3.0, DegreeCap(5, 14.0), True),
        (5, 40, 8.0, LOW, False),
        (5, 40, 8.0, DegreeCap(5, 1.0), False),
        (5, 40, 8.0, DegreeCap(5, 3.0), None),  # 5 + 3 ln(10) and some is above twice theta
        (5, 40, 8.0, None, None),
    ],
)
def test_what_is_said(theta: int, value: float, scale: float, cap: DegreeCap | None, said: bool | None) -> None:
    assert theta_limits(theta=theta, value=value, noise_scale=scale, cap=cap) is said


def test_only_published_numbers_go_in() -> None:
    """No statistics of a table, no exact number: the released answer, the released or public bound, the mechanism."""
    into = get_type_hints(theta_limits)
    assert into == {
        "theta": int, "value": float, "noise_scale": float, "cap": DegreeCap | None, "return": bool | None
    }  # fmt: skip
    assert get_type_hints(with_theta_limits) == {
        "answer": Answer, "mechanism": Mechanism, "cap": DegreeCap | None, "max_degree": int | None, "return": Answer
    }  # fmt: skip
    assert not {"GraphStatistics", "Run"} & vars(module).keys()


def test_what_was_not_published_changes_nothing() -> None:
    """The value before it was clamped and bounds of the interval are not even asked for."""
    for other in (replace(FEW, raw=-7.0), replace(FEW, lower=0), replace(FEW, estimate_lower=1, estimate_upper=9)):
        assert with_theta_limits(other, LADDER, HIGH, None).theta_limits is True


def said(
    mechanism: Mechanism, answer: Answer = FEW, cap: DegreeCap | None = HIGH, max_degree: int | None = None
) -> Any:
    return with_theta_limits(answer, mechanism, cap, max_degree).theta_limits


def test_the_bound_is_the_one_that_the_mechanism_released_or_was_given() -> None:
    em = measure_named("problematic").mechanism("em")
    assert said(LADDER) is True
    assert said(em, cap=LOW, max_degree=1_000) is True  # the cap of another measure of the call is not its bound
    assert said(em, cap=HIGH, max_degree=5) is False
    assert said(at_theta(LADDER, 5), max_degree=1_000) is None
    assert said(at_theta(em, 5), max_degree=1_000) is None


def test_an_upper_end_or_no_theta_needs_no_announcement() -> None:
    two_sided = measure_named("problematic").mechanism("two_sided")
    with_upper = replace(FEW, upper=900)
    assert said(two_sided, with_upper) is False
    assert said(declared(two_sided, "problematic", 5), with_upper, cap=None) is False
    repair = measure_named("repair").mechanism()
    assert said(repair, replace(FEW, theta=None, upper=900)) is None


def test_a_rate_keeps_what_its_measure_said() -> None:
    rows = Answer(value=100, lower=90, upper=110, noise_scale=1.0, estimand="rows")
    for limits in (True, False, None):
        assert rate_answer(replace(FEW, theta_limits=limits), rows).theta_limits is limits


def test_every_mechanism_with_a_theta_of_its_own_has_a_bound() -> None:
    """So that None means noise, and not that a bound was forgotten."""
    sure = DegreeCap(10**6, 0.0)
    for measure in all_measures():
        for mechanism in measure.mechanisms:
            of_theta = mechanism.reads in STATISTICS or mechanism.needs_max_degree
            if of_theta and mechanism.name != "two_sided":
                assert said(mechanism, cap=sure, max_degree=10**6) is True, mechanism.name


def test_no_number_makes_it_fail() -> None:
    for value in (0, 0.5, 1e300, math.inf):
        for cap in (DegreeCap(2**63, 1e12), DegreeCap(1, 5e9), None):
            assert theta_limits(theta=1, value=value, noise_scale=1e-9, cap=cap) in (True, False, None)
