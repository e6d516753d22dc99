"""Gates compare strictly and say whether the threshold lies inside the noise."""

from __future__ import annotations

import pytest

from dpdb.errors import ParameterError
from dpdb.release import Release
from dpdb.release.published.comparisons import Gate, GateResult, check_gates, parse_gate


def release(value: float, lower: float, upper: float | None, measure: str = "repair") -> Release:
    return Release(
        measure=measure, estimand="e", value=value, lower=lower, upper=upper, confidence=0.95, epsilon=1.0,
        mechanism="m", theta=None, noise_scale=1.0, where="a = 1", constraints_sha256="0", guarantee="g",
        release_id="r", version="0", quantity="rows",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "lower", "upper", "outcome", "beyond", "says"),
    [
        (
            50,
            40,
            60,
            "failed",
            False,
            "repair where a = 1 = 50 > 45; the threshold lies inside the noise (lower bound 40)",
        ),
        (50, 46, 60, "failed", True, "50 > 45; even the lower bound 46 is above it"),
        (50, 45, 60, "failed", False, "lies inside the noise (lower bound 45)"),
        (45, 40, 60, "not shown", False, "45 <= 45; the threshold lies inside the noise (upper bound 60)"),
        (20, 10, 30, "passed", True, "20 <= 45; even the upper bound 30 is not above it"),
        (20, 10, 45, "passed", True, "even the upper bound 45 is not above it"),
        (20, 10, None, "not shown", False, "there is no upper bound, so this is not certain"),
    ],
)
def test_a_gate_says_how_sure_it_is(
    value: float, lower: float, upper: float | None, outcome: str, beyond: bool, says: str
) -> None:
    [result] = check_gates([release(value, lower, upper)], [Gate("repair", 45.0), Gate("problematic", 0.0)])
    assert (result.outcome, result.passed, result.beyond_noise) == (outcome, outcome == "passed", beyond)
    begins = {"passed": "gate passed: ", "failed": "gate failed: ", "not shown": "gate not shown to be within: "}
    assert str(result).startswith(begins[outcome])
    assert says in str(result)


def test_every_slice_must_pass() -> None:
    results = check_gates([release(1, 0, 2), release(9, 8, 10)], [Gate("repair", 5.0)])
    assert [result.passed for result in results] == [True, False]
    assert all(isinstance(result, GateResult) for result in results)


@pytest.mark.parametrize("number", [-1, float("nan"), float("inf"), "1", True, None])
def test_thresholds_are_finite_and_not_negative(number: object) -> None:
    with pytest.raises(ParameterError, match="here: the number must be finite and not negative"):
        parse_gate("repair", number, ("repair",), "here")
