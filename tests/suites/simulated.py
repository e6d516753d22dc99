"""Many runs of a suite at once, with money without end: every verdict is then at least as often wrong.

The law is that of `run_level`, to which `test_suites_margins.py` ties it noise by noise.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.stats import binom

from dpdb.privacy import NANO
from dpdb.suites import SuitePlan

__all__ = ["first_rings", "missed_reach", "most_allowed", "quiet_years", "rates", "simulate", "wrong_years"]


def most_allowed(trials: int, probability: float) -> int:
    """Return the most hits that a true probability of at most this exceeds with a chance below 1e-6."""
    return int(binom.isf(1e-6, trials, probability))


def rates(plan: SuitePlan, bank: int = 0) -> tuple[float, list[float]]:
    """Return the rates of rho and of each level's nu per step."""
    reach = plan.banks[bank].reach
    return plan.first_share / NANO / plan.first_reach, [amount / NANO / reach for amount in plan.levels]


def geometric(rng: np.random.Generator, rate: float, size: int | tuple[int, ...]) -> np.ndarray:
    return rng.geometric(-math.expm1(-rate), size) - 1


def first_rings(offsets: tuple[int, ...], rho: np.ndarray, noises: list[np.ndarray], excess: int) -> tuple:
    """Return, by run and test, the first level that rings (from 1; 0 if none) and its gap.

    `excess` is f - T; `rho` by run, `noises` by level, run and test.
    """
    levels = np.zeros(noises[0].shape, dtype=int)
    gaps = np.zeros(noises[0].shape, dtype=int)
    for level, (offset, noise) in enumerate(zip(offsets, noises, strict=True), start=1):
        gap = excess + noise - offset - rho[:, None]
        rings = (gap >= 0) & (levels == 0)
        levels[rings], gaps[rings] = level, gap[rings]
    return levels, gaps


def simulate(plan: SuitePlan, excess: int, runs: int, rng: np.random.Generator) -> tuple:
    """Return `first_rings` of so many runs of a suite of one bank, and rho, with f - T = `excess` everywhere."""
    first, levels = rates(plan)
    rho = geometric(rng, first, runs)
    noises = [geometric(rng, rate, (runs, len(plan.tests))) for rate in levels]
    return *first_rings(plan.offsets[0], rho, noises, excess), rho


def wrong_years(plan: SuitePlan, excess: int, years: int, rng: np.random.Generator) -> int:
    """Return in how many kept years of one check that always is `excess` above T some day rings.

    The largest of n noises is below y with probability (1 - q^y)^n.
    """
    first, levels = rates(plan)
    rho = geometric(rng, first, years)
    wrong = np.zeros(years, dtype=bool)
    for rate, offset in zip(levels, plan.offsets[0], strict=True):
        below = -np.expm1(np.log(rng.random(years)) / plan.runs)  # 1 - u^(1/n), of which q^(largest) is just above
        wrong |= np.floor(np.log(below) / -rate) >= offset + rho - excess
    return int(wrong.sum())


def quiet_years(plan: SuitePlan, excess: int, years: int, rng: np.random.Generator) -> int:
    """Return in how many kept years of one check that always is `excess` above T some day is quiet at every level."""
    first, levels = rates(plan)
    rho = geometric(rng, first, years)
    quiet = np.ones(years)
    for rate, offset in zip(levels, plan.offsets[0], strict=True):
        quiet *= -np.expm1(-rate * np.maximum(0, offset + rho - excess))
    return int((rng.random(years) < -np.expm1(plan.runs * np.log1p(-quiet))).sum())


def missed_reach(first: float, level: float, log_chance: float) -> int:
    """Return the least x >= 0 such that one test with f = T + x is quiet with probability at most exp(-log_chance).

    Quiet means nu < rho - x, of probability

        sum over r > x of (1 - q1) q1^r (1 - q^(r - x)) = q1^(x + 1) (1 - q) / (1 - q1 q).
    """
    log_ratio = math.log(-math.expm1(-level)) - math.log(-math.expm1(-first - level))
    return max(0, math.ceil((log_chance + log_ratio) / first - 1 + 1e-9))
