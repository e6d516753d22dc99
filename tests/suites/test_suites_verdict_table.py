"""Right verdicts, worst bounds and charges of simulated suites; false fails and broken bounds over 2,000 runs."""

from __future__ import annotations

import numpy as np
import pytest
from simulated import most_allowed
from verdict_cases import KINDS, NumpyNoise, run_in_rho, run_pure, suite_of

RUNS = {25: 30, 400: 8, 599: 8, 4000: 2}


WAYS = {"epsilon": (run_pure, (1, 0.3)), "rho": (run_in_rho, (0.5, 0.045))}


@pytest.mark.heavy
@pytest.mark.parametrize("paid", WAYS)
@pytest.mark.parametrize("kind", ["pass", "dozen", "close"])
def test_false_fails_and_bounds_of_some_runs(kind: str, paid: str) -> None:
    """100 runs of 25 checks at 99% and 98%: `most_allowed` more have a chance below 1e-6."""
    wrong(kind, paid, 100)


@pytest.mark.slow
@pytest.mark.parametrize("paid", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_false_fails_and_bounds_of_two_thousand_runs(kind: str, paid: str) -> None:
    wrong(kind, paid, 2000)


def wrong(kind: str, paid: str, runs: int) -> None:
    noise = NumpyNoise(7)
    rng = np.random.default_rng(8)
    run, amounts = WAYS[paid]
    found = [run(suite_of(kind, 25, rng), amounts[number % 2], noise) for number in range(runs)]
    false = sum(each.false_fails > 0 for each in found)
    broken = sum(each.broken_bounds > 0 for each in found)
    print(f"{kind} {paid}: {false} of {runs} runs with a false fail, {broken} with a broken bound")
    assert false <= most_allowed(runs, 0.01)
    assert broken <= most_allowed(runs, 0.02)
    assert all(each.undecided == 0 for each in found)


@pytest.mark.benchmark
@pytest.mark.parametrize("checks", RUNS)
def test_the_table_of_verdicts(checks: int) -> None:
    """Prints right verdicts, the worst bound beyond a limit and the charge."""
    noise, rng = NumpyNoise(1), np.random.default_rng(2)
    for kind in KINDS:
        for epsilon, run in ((1.0, run_pure), (0.3, run_pure), (1.0, run_in_rho), (0.3, run_in_rho)):
            amount = epsilon if run is run_pure else epsilon**2 / 2
            found = [run(suite_of(kind, checks, rng), amount, noise) for _ in range(RUNS[checks])]
            mean = {name: float(np.mean([getattr(each, name) for each in found])) for name in vars(found[0])}
            paid = "epsilon" if run is run_pure else "rho"
            print(
                f"{checks} {kind} {paid} {amount:g}: right {100 * mean['right']:.1f}% "
                f"undecided {mean['undecided']:.0f} false fails {mean['false_fails']:.2f} "
                f"worst bound {mean['worst']:.0f} cost {mean['cost']:.3f}"
            )
            assert mean["undecided"] == 0
