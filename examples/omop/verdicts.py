"""Verdicts of `dpdb check` on a synthetic OMOP table set, beside those of noisy numbers at the same epsilon.

    python examples/omop/verdicts.py suites --persons 100000 --epsilon 1

Ways to judge m checks, of which each counts persons: (i) the suite, as `dpdb check` runs it: levels, then numbers of
what these leave open; (ii) the suite on a zcdp ledger, the worst check first; (iii) one number for each check, with
discrete Laplace noise for epsilon / m; (iv) the same with discrete Gaussian noise under zCDP, where squares add up: rho
/ m each, rho being what epsilon and delta allow. A number is what its check compares with 0 or with its limit
(violations, or these less the limit's share of the persons counted), so that its noise is as small as can be. It fails
its check if it is beyond the limit (plain), or beyond it by the reach of the noises of all m numbers together (sure, at
the confidence of the suite), as a suite's failures are.

The tables are read once, by the code of `dpdb check`; each run draws anew.

Everything printed is made from exact values: it is for evaluation on nobody's data, and not private.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from make_tables import make, write

from dpdb.privacy import (
    NANO,
    discrete_gaussian,
    discrete_laplaces,
    gaussian_tail,
    laplace_scale,
    laplace_tail,
    parse_epsilon,
)
from dpdb.privacy.epsilon import zcdp_epsilon
from dpdb.privacy.noise import gaussian_scale
from dpdb.suites import CheckRun, SuitePlan, TableSet, draw_secret, run_level, spent, verdicts
from dpdb.suites.check import next_record
from dpdb.suites.mechanism.bounds import Verdict
from dpdb.suites.mechanism.capped import CappedSums, Cell
from dpdb.suites.mechanism.state import SuiteState
from dpdb.suites.mechanism.worst_first import WorstPlan, WorstState, draw_step, plan_worst_first, worst_verdicts
from dpdb.suites.numbers import Counts, RowLocal, drawn_numbers

PICO = 10**12


class Scanned:
    """Who breaks what, read once from the tables (implements `dpdb.suites.numbers.Capped`)."""

    def __init__(self, run: CheckRun) -> None:
        counted = cast(Any, run.counted)
        self.row_local: RowLocal = counted.row_local
        self._owners, self._places = counted.owners(self.row_local.lines)

    def broken(self, slices: object, predicates: object, cells: Sequence[Cell]) -> CappedSums:
        """Return what a scan of the tables for some lines would give."""
        del slices, predicates
        found = self._owners.counts([self._places[line] for _, line in cells])
        return CappedSums(found.tops, found.counts)


@dataclass(frozen=True)
class Checks:
    """The tests of a suite with their exact values, oriented: a check fails above its limit. In steps of the plan."""

    plan: SuitePlan
    worst: WorstPlan
    values: list[int]  # not oriented
    counts: Counts
    scanned: Scanned

    def beyond(self, test: int) -> int:
        """By how much a value is beyond its limit."""
        tested = self.plan.tests[test]
        return tested.sign * (self.values[test] - int(tested.limit * self.plan.lattice))

    @property
    def true(self) -> list[str]:
        """What each verdict should be."""
        return ["fail" if self.beyond(test) > 0 else "pass" for test in range(len(self.values))]


@dataclass(frozen=True)
class Judged:
    """One run of one way: its verdicts, what it cost, and its bounds: how far beyond their limits passes may be."""

    verdicts: list[str]
    cost: float
    within: list[float]
    not_shown: int = 0
    broken: int = 0  # bounds that do not hold


def judged_by_suite(checks: Checks) -> Judged:
    """Run the levels of a suite, and the numbers that follow, as `CheckRun.read` does."""
    plan, state = checks.plan, SuiteState.start(checks.plan)
    secret, values = draw_secret(plan), cast(list[int | None], checks.values)
    while (record := next_record(plan, [state])) is not None:
        if record == len(plan.levels) + 1:
            drawn = drawn_numbers(plan, checks.scanned, [state], cast(Any, None), [None], counts=[checks.counts])
            state = state.with_numbers(plan, drawn, 0)
        else:
            state = state.after(plan, run_level(plan, secret, record, values, state))
    return _judged(checks, verdicts(plan, state), spent(plan, state) / NANO)


def judged_worst_first(checks: Checks) -> Judged:
    """Choose, measure and stop, as `WorstRun` does."""
    state = WorstState()
    while not state.is_over(checks.worst):
        state = state.after(checks.worst, draw_step(checks.worst, checks.values, state, 0))
    return _judged(checks, worst_verdicts(checks.worst, state), state.spent / PICO)


def _judged(checks: Checks, found: Sequence[Verdict], cost: float) -> Judged:
    passed = [each for each in found if each.verdict == "pass"]
    exact = [Fraction(value, checks.plan.lattice) for value in checks.values]
    return Judged(
        [each.verdict for each in found],
        cost,
        [float(each.within) for each in passed if each.within is not None],
        sum(each.within is None or each.within > each.aim for each in passed),
        sum(
            (each.lower is not None and each.lower > f) or (each.upper is not None and each.upper < f)
            for each, f in zip(found, exact, strict=True)
        ),
    )


def steps_and_sensitivity(checks: Checks, test: int) -> tuple[int, int]:
    """Return how many steps of the plan one unit of a number is, and by how many of these one person changes it."""
    plan = checks.plan
    tested = plan.tests[test]
    unit = tested.unit(plan.lattice)
    return unit, int(max(-tested.low, tested.high) * plan.lattice) // unit


def judged_by_numbers(checks: Checks, epsilon: int, delta: float, confidence: float) -> Iterator[tuple[str, Judged]]:
    """Draw one number for each check, pure and under zCDP, and compare it plainly and surely."""
    count = len(checks.values)
    beta = (1 - confidence) / count
    share, rho = epsilon // count, int(rho_of(epsilon / NANO, delta) / count * PICO)
    for name in ("pure", "zCDP"):
        beyond, margins = [], []
        for test in range(count):
            unit, sensitivity = steps_and_sensitivity(checks, test)
            if name == "pure":
                [noise] = discrete_laplaces(1, sensitivity, share)
                reach = laplace_tail(laplace_scale(sensitivity, share), beta)
            else:
                noise, _ = discrete_gaussian(0, sensitivity, rho)
                reach = gaussian_tail(gaussian_scale(sensitivity, rho), beta)
            beyond.append(checks.beyond(test) + checks.plan.tests[test].sign * noise * unit)
            margins.append(reach * unit)
        for how, factor in (("plain", 0), ("sure", 1)):
            found = [
                "fail" if value > factor * margin else "pass" for value, margin in zip(beyond, margins, strict=True)
            ]
            sure = [(1 + factor) * margin / checks.plan.lattice for margin in margins]  # so far above it surely fails
            yield f"{name}, {how}", Judged(found, epsilon / NANO, sure)


def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest rho found that is (epsilon, delta)-DP."""
    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_epsilon(middle, delta) <= epsilon else (low, middle)
    return low


def exact(folder: Path, suites: Path, epsilon: str, confidence: float, delta: float) -> Checks:
    """Count the persons of every check."""
    parents = {"concept": None, "concept_ancestor": None}
    with TableSet(folder, suites, unit="person_id", public_parents=parents) as tables:
        run = tables.prepare(epsilon=epsilon, confidence=confidence)
        counts = run.counted.counts(None, None)  # type: ignore[arg-type]  # a set has its own tables
        scanned = Scanned(run)
    values = [run.plan.steps(test, count, of) for test, (count, of) in enumerate(counts)]
    rho = int(rho_of(parse_epsilon(epsilon) / NANO, delta) * PICO)
    worst = plan_worst_first(run.plan.tests, rho, run.plan.confidence)
    if worst.lattice != run.plan.lattice:
        raise ValueError("both ways count in the same steps")
    return Checks(run.plan, worst, values, counts, scanned)


def shares(checks: Checks, judged: Judged) -> dict[str, float]:
    """Return the share of right verdicts, the errors, and the bounds."""
    pairs = list(zip(judged.verdicts, checks.true, strict=True))
    return {
        "right": sum(said == true for said, true in pairs) / len(pairs),
        "false fails": sum((said, true) == ("fail", "pass") for said, true in pairs),
        "missed": sum((said, true) == ("pass", "fail") for said, true in pairs),
        "undecided": sum(said == "undecided" for said, _ in pairs),
        "not shown": judged.not_shown,
        "broken": judged.broken,
        "cost": judged.cost,
        "median": statistics.median(judged.within),
        "worst": max(judged.within),
    }


def middle(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the mean, and the ends of the middle 95% of the runs."""
    ordered = sorted(values)
    out = int(len(ordered) * Fraction(1, 40))
    return statistics.fmean(ordered), ordered[out], ordered[-1 - out]


def compare(options: argparse.Namespace) -> list[str]:
    """Return the table, line by line."""
    found: dict[str, list[dict[str, float]]] = {}
    epsilon = parse_epsilon(options.epsilon)
    for seed in range(options.seed, options.seed + options.seeds):
        with tempfile.TemporaryDirectory() as folder:
            write(make(options.persons, seed, options.small), Path(folder))
            checks = exact(Path(folder), options.suites, options.epsilon, options.confidence, options.delta)
        for _ in range(options.runs):
            found.setdefault("dpdb check", []).append(shares(checks, judged_by_suite(checks)))
            found.setdefault("dpdb check, zCDP", []).append(shares(checks, judged_worst_first(checks)))
            for name, judged in judged_by_numbers(checks, epsilon, options.delta, options.confidence):
                found.setdefault(name, []).append(shares(checks, judged))
    lines = [
        f"{len(checks.values)} checks ({checks.true.count('fail')} truly fail) of {options.persons:,} persons, epsilon "
        f"{options.epsilon}, delta {options.delta:g} for zCDP alone, {options.seeds} sets, {options.runs} runs of each",
        "",
        "| way | right verdicts (middle 95% of runs) | false fails | missed | undecided | cost | median bound | worst "
        "bound | not shown by default | broken bounds |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, runs in found.items():
        mean, low, high = middle([run["right"] for run in runs])
        of = {key: statistics.fmean(run[key] for run in runs) for key in runs[0]}
        lines.append(
            f"| {name} | {mean:.1%} ({low:.1%} to {high:.1%}) | {of['false fails']:.1f} | {of['missed']:.1f} | "
            f"{of['undecided']:.1f} | {of['cost']:.3f} | {of['median']:,.0f} | {of['worst']:,.0f} | "
            f"{of['not shown']:.1f} | {of['broken']:.2f} |"
        )
    return lines


def main() -> None:
    """Read the command line, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("suites", type=Path, help="a folder of suites, as dpdb rules import --out writes it")
    parser.add_argument("--persons", type=int, default=100_000)
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--delta", type=float, default=1e-6)
    parser.add_argument("--confidence", type=float, default=0.99, help="of all verdicts together")
    parser.add_argument("--small", type=int, default=20, help="rows of each small error (default: 20)")
    parser.add_argument("--seed", type=int, default=7, help="of the first set (default: 7)")
    parser.add_argument("--seeds", type=int, default=3, help="how many sets are made (default: 3)")
    parser.add_argument("--runs", type=int, default=40, help="of each set (default: 40)")
    print("\n".join(compare(parser.parse_args())))


if __name__ == "__main__":
    main()
