"""`run_level`: one level of a suite. The mechanism, with its proof.

Check i has a statistic f_i, a public threshold T_i, and a_i <= f_i(D + unit) - f_i(D) <= b_i; a <= 0 and b >= 0 bound
all of a bank. rho ~ Geo(e1) is drawn once and stays secret. A test of check i at level l draws a fresh nu ~ Geo(e_l)
and **rings** if f_i + nu >= T_i + o_l + rho, which publishes the gap f_i + nu - T_i - o_l - rho. Geo(e): Pr[X >= x] =
exp(-e x) for x on the lattice, x >= 0. All statistics, thresholds, offsets and noises are on one lattice, in rows.

**Theorem 5.** A transcript loses at most max(b, -a) e1 and, for every ring of check i at level l,
max(b - a_i, b_i - a) e_l. Quiet tests, their number and their order cost nothing. Order, later checks, limits and
levels may depend on earlier verdicts.

Proof. A fixed transcript fixes the sequence of tests. Its probability is the sum over r of Pr[rho = r] times the
product of the factors of its tests, given rho = r. Let D' = D + unit, f' the statistics of D'.

D to D': compare the term of r with that of r + b.
- Quiet: T + o + r + b - f' >= T + o + r - f, so Pr[nu < ...] only grows.
- A ring (at a gap u, or at any): its argument T + o + r + b + u - f' is at most b - a_i above T + o + r + u - f, so
  the factor falls by at most exp((b - a_i) e_l).
- Pr[rho = r] is exp(b e1) Pr[rho = r + b].
D' to D: compare the term of r with that of r - a. Quiet: T + o + r - a - f >= T + o + r - f'. A ring's argument rises
by f' - f - a <= b_i - a, and rho costs -a e1. QED

All shifts are upwards, so one-sided noise has nothing to lose at its end: an argument that was on the lattice's
non-negative part stays there. A statistic that one unit moves by k is not hidden by k times a noise: the gap would show
f modulo k. It gets Geo(e / k) on the same lattice.

Several banks have independent rho, so a transcript's probability is a product over banks, each with its own shift: the
first shares add up to max(sum of b, sum of -a) e1. Slices (keys) have a rho each as well, and a unit is in one slice,
so every slice may lose as much as one suite.

Here `first_share` is max(sum of b, sum of -a) e1 and `levels[l]` is R e_l with R = b - a of the bank, in nano-epsilon.
Sensitivities: a threshold noise, `first_reach` steps; a noise of a level, `Bank.reach` steps.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from dpdb.errors import ParameterError
from dpdb.privacy import one_sided_noises
from dpdb.suites.mechanism.plan import SuitePlan
from dpdb.suites.mechanism.state import LevelVerdicts, SuiteState, order_of


def draw_secret(plan: SuitePlan) -> str:
    """Draw the threshold noise of each bank and key; the debit's transaction records it, nothing else shows it."""
    banks = len(plan.banks)
    noises = one_sided_noises(plan.keys * banks, plan.first_reach, plan.first_share)
    return json.dumps({"rho": [noises[banks * key : banks * (key + 1)] for key in range(plan.keys)]})


def run_level(
    plan: SuitePlan, secret: str, record: int, statistics: Sequence[int | None], state: SuiteState, *, key: int = 0
) -> LevelVerdicts:
    """Test every check that is due at a level (`SuiteState.is_due`), in public order, each with fresh noise.

    As many noises are drawn as the suite has tests, whatever rings or is not run. A run goes through all levels, also
    when no test is due any more, so that how long it takes says nothing either.

    Parameters
    ----------
    secret : str
        What `draw_secret` drew when the suite was opened.
    record : int
        From 1; the one after the last recorded. After the levels and the numbers it is of a second sweep, at the level
        `plan.level_of(record)`.
    statistics : sequence of int or None
        By test, in steps (`SuitePlan.steps`), not negated; None for a test that has failed already.
    state : SuiteState
        What the levels recorded so far say (of this key).

    Returns
    -------
    LevelVerdicts
        Public; to be recorded before anything of it leaves the process.

    Raises
    ------
    ParameterError
        If the secret is damaged.
    """
    if not state.may_follow(plan, record):
        raise ValueError(f"level {record} does not follow level {state.level}")
    level = plan.level_of(record)
    thresholds = _thresholds(plan, _threshold_noises(plan, secret)[key], level)
    noises = _noises(plan, level)
    left, rings, untested = state.left, {}, []
    for test in order_of(plan):
        if not state.is_due(plan, test, level, left):
            untested.append(test)
            continue
        statistic = statistics[test]
        if statistic is None:
            raise ValueError("a check that is tested needs its statistic")
        gap = statistic * plan.tests[test].sign + noises[test] - thresholds[test]
        if gap >= 0:
            rings[test] = gap
            left += state.own[test] - plan.ring_cost(test, level)
    return LevelVerdicts(record, dict(sorted(rings.items())), tuple(sorted(untested)))


def _threshold_noises(plan: SuitePlan, secret: str) -> list[list[int]]:
    """Return rho by key and bank; a message about a damaged secret never quotes it."""
    try:
        noises = [[int(noise) for noise in of_key] for of_key in json.loads(secret)["rho"]]
    except (KeyError, TypeError, ValueError):
        noises = []
    if [len(of_key) for of_key in noises] != [len(plan.banks)] * plan.keys or min(map(min, noises)) < 0:
        raise ParameterError("the suite's secret is damaged") from None
    return noises


def _thresholds(plan: SuitePlan, rho: Sequence[int], level: int) -> list[int]:
    """Return T + o + rho by test; secret."""
    thresholds = list(plan.thresholds)
    for bank, offsets, noise in zip(plan.banks, plan.offsets, rho, strict=True):
        for test in bank.tests:
            thresholds[test] += offsets[level - 1] + noise
    return thresholds


def _noises(plan: SuitePlan, level: int) -> list[int]:
    """Draw the noise of every test at a level."""
    noises = [0] * len(plan.tests)
    for bank in plan.banks:
        drawn = one_sided_noises(len(bank.tests), bank.reach, plan.levels[level - 1])
        for test, noise in zip(bank.tests, drawn, strict=True):
            noises[test] = noise
    return noises
