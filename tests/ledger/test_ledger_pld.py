"""The tight report against curves known in closed form; without the extra `pld` only what it must refuse."""

from __future__ import annotations

import importlib.util
import json
import math
from pathlib import Path

import pytest
from text_reader import parse_where

from dpdb.doors.cli import main
from dpdb.errors import ParameterError
from dpdb.ledger import Ledger, SourceMark
from dpdb.ledger.report import reported_epsilon, tight_epsilon

with_extra = importlib.util.find_spec("dp_accounting") is not None
with_pld = pytest.mark.skipif(not with_extra, reason="dp-accounting is not installed (extra `pld`)")

DELTAS = (1e-9, 1e-6, 1e-3, 0.05)


def exact_delta(epsilon: float, times: int, level: float) -> float:
    """Smallest delta at `level` of randomized response done several times: a sum over the number of true answers."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return math.fsum(
        math.comb(times, k) * truth**k * (1 - truth) ** (times - k) * -math.expm1(level - (2 * k - times) * epsilon)
        for k in range(times + 1)
        if (2 * k - times) * epsilon > level
    )


@pytest.mark.heavy
@with_pld
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize("epsilon", [0.1, 0.73421, 1.0, 3.0])
def test_one_release_has_the_curve_of_randomized_response(epsilon: float, delta: float) -> None:
    exact = max(0.0, math.log(math.exp(epsilon) - delta * (1 + math.exp(epsilon))))
    assert exact - 1e-9 <= tight_epsilon([epsilon], delta) <= exact + 2e-4


@with_pld
@pytest.mark.parametrize("delta", DELTAS)
def test_one_laplace_release_is_covered(delta: float) -> None:
    """Laplace noise of scale 1 / epsilon has delta = 1 - exp((level - epsilon) / 2)."""
    assert tight_epsilon([1.0], delta) >= 1 + 2 * math.log1p(-delta)


@with_pld
@pytest.mark.parametrize("delta", DELTAS)
@pytest.mark.parametrize(("epsilon", "times"), [(0.1, 10), (0.05, 100), (0.123456, 40), (1.0, 3)])
def test_composition_is_never_below_the_truth_and_close_to_it(epsilon: float, times: int, delta: float) -> None:
    level = tight_epsilon([epsilon] * times, delta)
    assert exact_delta(epsilon, times, level) <= delta * (1 + 1e-6) + 1e-12
    below = level - times * 1e-4 - 1e-3  # every loss is rounded up by at most 1e-4
    assert below <= 0 or exact_delta(epsilon, times, below) > delta


@with_pld
def test_composition_stays_below_the_sum_and_the_advanced_bound() -> None:
    epsilon, times, delta = 0.1, 50, 1e-6
    advanced = epsilon * math.sqrt(2 * times * math.log(1 / delta)) + times * epsilon * math.expm1(epsilon)
    assert tight_epsilon([epsilon] * times, delta) < min(advanced, times * epsilon)


@with_pld
def test_releases_of_different_epsilon_compose_in_any_order() -> None:
    epsilons = [0.2, 0.5, 0.1, 0.5, 0.0]
    level = tight_epsilon(epsilons, 1e-3)
    assert level == pytest.approx(tight_epsilon(epsilons[::-1], 1e-3), abs=1e-12)
    # All of them at once are the worst case: its losses are the signed sums.
    signs = [[]]
    for epsilon in epsilons:
        signs = [[*sign, s * epsilon] for sign in signs for s in (1, -1)]
    delta = math.fsum(
        math.prod(math.exp(max(part, 0)) / (1 + math.exp(abs(part))) for part in sign) * -math.expm1(level - sum(sign))
        for sign in signs
        if sum(sign) > level
    )
    assert delta <= 1e-3 * (1 + 1e-6)


@with_pld
def test_large_sums_stay_small_in_memory() -> None:
    assert 0 < reported_epsilon([200.0] * 20 + [0.3], 1e-6) <= 4000.3


@with_pld
def test_the_report_is_the_smaller_one() -> None:
    assert reported_epsilon([0.1] * 50, 1e-6) == tight_epsilon([0.1] * 50, 1e-6) < 5
    assert reported_epsilon([0.1] * 50, 0.0) == pytest.approx(5)
    assert reported_epsilon([], 1e-6) == 0


@pytest.mark.parametrize(("epsilons", "delta"), [([-1.0], 0.1), ([math.inf], 0.1), ([math.nan], 0.1), ([1.0], 1.0)])
def test_a_report_out_of_range_is_refused(epsilons: list[float], delta: float) -> None:
    with pytest.raises(ParameterError, match="must be"):
        reported_epsilon(epsilons, delta)


def test_a_pure_ledger_reports_at_a_delta(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """40 releases of the same rows at epsilon .05: 2 in sum, less at a delta; disjoint slices count once in the sum."""
    path = tmp_path / "t.ledger"
    main(["budget", "create", str(path), "--epsilon", "3"])
    source = SourceMark("a BIGINT", "1")
    with Ledger.open(path) as ledger:
        for _ in range(40):
            ledger.reserve(parse_where("a > 1"), 50_000_000, source=source, request="{}").close()
    capsys.readouterr()
    assert main(["budget", "show", str(path), "--at-delta", "1e-6", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    expected = min(2.0, tight_epsilon([0.05] * 40, 1e-6)) if with_extra else 2.0
    assert shown["at_delta"] == {"epsilon": expected, "delta": 1e-6}
    assert main(["budget", "show", str(path), "--at-delta", "1"]) == 2
    assert "delta must be" in capsys.readouterr().err
    assert main(["budget", "show", str(path), "--at-delta", "1e-6"]) == 0
    assert "if no release was chosen by earlier answers" in capsys.readouterr().out


def test_other_ledgers_report_at_their_own_delta(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.ledger"
    assert main(["budget", "create", str(path), "--epsilon", "3", "--notion", "zcdp", "--delta", "1e-6"]) == 0
    assert main(["budget", "show", str(path), "--at-delta", "1e-5"]) == 2
    assert "a zcdp ledger reports at its own delta" in capsys.readouterr().err
