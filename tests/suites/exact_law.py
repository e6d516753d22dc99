"""The exact law of a suite's transcripts, by running the real code on noises that are decided only when compared.

A noise source hands out `Undecided` numbers. Where the code compares one, the run forks, with the exact probability of
each side; a ring also forks on its gap: 0, 1, ..., `CAP` or more. So all transcripts of a run are listed with their
rational probabilities, given the threshold noises, which are whole numbers that are written and read back.

Rates are multiples of one nano-amount TAU per step, and Z stands for exp(-TAU): a noise of rate k TAU has q = Z^k. For
threshold noises r >= `high` a transcript's probability is a polynomial in Z^r, so the infinite sum over r is one over
finitely many r with exact weights (`quadrature`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product

from suite_runs import next_run

from dpdb.privacy import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.suites import LevelVerdicts, SuitePlan, SuiteState, spent
from dpdb.suites.mechanism import levels
from dpdb.suites.mechanism.plan import banks_of

TAU = 10**6
Z = Fraction(2, 3)
CAP = 1

Transcript = tuple[tuple[str, ...], ...]  # by key, the records of its levels


def multiple(scale: float) -> int:
    """Return k of a noise of rate k TAU per step."""
    k = NANO / TAU / scale
    assert abs(k - round(k)) < 1e-9 * k, "a rate that is no multiple of TAU"
    return round(k)


@cache
def power(q: Fraction, exponent: int) -> Fraction:
    return q**exponent


class Tape:
    """The forks of one run: the sides taken so far, and the probability of having taken them."""

    def __init__(self, sides: Sequence[int]) -> None:
        self.sides = list(sides)
        self.chances: list[list[int]] = []
        self.probability = Fraction(1)

    def fork(self, chances: Sequence[Fraction]) -> int:
        possible = [side for side, chance in enumerate(chances) if chance]
        if len(self.chances) == len(self.sides):
            self.sides.append(possible[0])
        side = self.sides[len(self.chances)]
        self.chances.append(possible)
        self.probability *= chances[side]
        return side

    def following(self) -> list[int] | None:
        """Return the sides of the next run, None after the last."""
        sides = self.sides[: len(self.chances)]
        while sides:
            later = [side for side in self.chances[len(sides) - 1] if side > sides[-1]]
            if later:
                return [*sides[:-1], later[0]]
            sides.pop()
        return None


@dataclass(eq=False)
class Atom:
    """A geometric noise of which so much is known: low <= X < high."""

    tape: Tape
    q: Fraction
    low: int = 0
    high: int | None = None

    def is_at_least(self, c: int) -> bool:
        """Decide whether X >= c."""
        if c <= self.low:
            return True
        if self.high is not None and c >= self.high:
            return False
        beyond = Fraction(0) if self.high is None else power(self.q, self.high)
        chance = (power(self.q, c) - beyond) / (power(self.q, self.low) - beyond)
        if self.tape.fork([chance, 1 - chance]) == 0:
            self.low = c
            return True
        self.high = c
        return False


@dataclass(eq=False)
class Undecided:
    """times X + plus, for an X that is decided when this is compared."""

    atom: Atom
    times: int = 1
    plus: int = 0

    def __add__(self, other: int) -> Undecided:
        return Undecided(self.atom, self.times, self.plus + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> Undecided:
        return self + -other

    def __mul__(self, other: int) -> Undecided:
        return Undecided(self.atom, self.times * other, self.plus * other)

    def __lt__(self, other: int) -> bool:
        assert (other, self.plus) == (0, 0), "only the draw itself is asked whether it is negative"
        return False  # the law of the draws that are kept

    def __ge__(self, other: int) -> bool:
        return self.atom.is_at_least(-((self.plus - other) // self.times))

    def gap(self) -> int:
        """Return the gap of a ring, CAP for more."""
        for gap in range(CAP):
            if not self >= gap + 1:
                return gap
        return CAP


class Source:
    """Hands out `Undecided` noises."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def laplace(self, value: int, scale: float) -> Undecided:
        return Undecided(Atom(self.tape, Z ** multiple(scale)), 1, value)


class Given:
    """Hands out given threshold noises, 0 at first, and remembers their rates."""

    def __init__(self, values: Sequence[int] = ()) -> None:
        self.values, self.rates = list(values), []

    def laplace(self, value: int, scale: float) -> int:
        self.rates.append(multiple(scale))
        return value + (self.values[len(self.rates) - 1] if self.values else 0)


def small_plan(
    tests: Sequence[object], first: int, amounts: Sequence[int], offsets: Sequence[int], *,
    lattice: int = 1, keys: int = 1, runs: int = 1, rings: int = 9, purse: int | None = None,
) -> SuitePlan:  # fmt: skip
    """Return a plan with thresholds at the limits, rates in TAU per step, and so many rings at the last level.

    Or with a purse of so many TAU for a unit that moves every statistic by one step.

    `first` and `amounts` are rates; those of a bank with a smaller R than others are as many times larger.
    """
    banks = banks_of(tests, lattice)
    reach = math.lcm(*(bank.reach for bank in banks))
    first_reach = max(sum(bank.high for bank in banks), sum(-bank.low for bank in banks))
    costs = tuple(amount * TAU * reach for amount in amounts)
    return SuitePlan(
        tests=tuple(tests),
        epsilon=first * TAU * first_reach + (rings * costs[-1] if purse is None else purse * TAU * reach),
        confidence=Fraction(99, 100),
        certain="fail",
        runs=runs,
        keys=keys,
        lattice=lattice,
        banks=banks,
        first_share=first * TAU * first_reach,
        first_reach=first_reach,
        levels=costs,
        offsets=(tuple(offsets),) * len(banks),
        margins=(0,) * len(banks),
        known=0,
        thresholds=tuple(int(test.limit * lattice) * test.sign for test in tests),
    )


@dataclass
class Code:
    """What is run: the product's functions, or a mutant of one."""

    draw_secret: Callable = levels.draw_secret
    run_level: Callable = levels.run_level
    spent: Callable = spent
    own: int = 0  # not the code's: nano-epsilon that each check is armed again with
    fresh_secret: bool = False  # mutant: rho drawn again for each level
    faster: int = 1  # mutant: its noises are at most so many times as fast as they should be
    period: int = 1  # mutant: its law depends on r modulo this


def transcript_law(plan: SuitePlan, tables: Sequence[Sequence[int]], code: Code) -> dict[Transcript, Fraction]:
    """Return the probability of each transcript: by key, the records of its levels.

    `tables` are the statistics by key; by test, run after run.
    """
    counted = Given()
    with replaced_noise(counted):
        for _ in range(plan.runs * len(plan.levels) if code.fresh_secret else 1):
            code.draw_secret(plan)
    high = high_of(plan, tables)
    weights = [
        quadrature(rate, degree * code.faster, high, code.period) for rate, degree in _degrees(plan, counted.rates)
    ]
    law: dict[Transcript, Fraction] = defaultdict(Fraction)
    for point in product(*(range(len(weight)) for weight in weights)):
        mass = Fraction(1)
        for weight, r in zip(weights, point, strict=True):
            mass *= weight[r]
        for transcript, probability in _runs(plan, tables, code, point):
            law[transcript] += mass * probability
    return law


def _degrees(plan: SuitePlan, rates: Sequence[int]) -> list[tuple[int, int]]:
    """Return each threshold noise's rate and the degree in Z^r of a transcript's probability."""
    by_bank = [
        plan.runs * len(bank.tests) * sum(cost // TAU // bank.reach for cost in plan.levels) for bank in plan.banks
    ]
    if len(rates) == len(by_bank) * plan.keys:
        return list(zip(rates, by_bank * plan.keys, strict=True))
    return [(rate, sum(by_bank) * plan.keys) for rate in rates]


def high_of(plan: SuitePlan, tables: Sequence[Sequence[int]]) -> int:
    """Return an r from which every argument T + o + r - f is at least 0."""
    excess = [
        statistic * test.sign - threshold
        for table in tables
        for statistic, test, threshold in zip(table, plan.tests * plan.runs, plan.thresholds * plan.runs, strict=True)
    ]
    return max(0, *excess) - min(0, *(offset for offsets in plan.offsets for offset in offsets))


@cache
def quadrature(rate: int, degree: int, high: int, period: int = 1) -> list[Fraction]:
    """Return weights w of r = 0, 1, ... with sum of w F(r) = sum over all r of Pr[rho = r] F(r), exactly.

    For every F that is a polynomial of that degree in Z^r from `high` on (one for each r modulo the period): Lagrange's
    polynomials at the first r of each, summed in closed form.
    """
    q, step = Z**rate, Z**period
    nodes = [step**j for j in range(degree + 1)]
    weights = [(1 - q) * q**r for r in range(high)] + [Fraction(0)] * (period * len(nodes))
    for j, node in enumerate(nodes):
        basis = [Fraction(1)]
        for other in nodes[:j] + nodes[j + 1 :]:
            basis = [
                (low - other * here) / (node - other)
                for low, here in zip([Fraction(0), *basis], [*basis, Fraction(0)], strict=True)
            ]
        summed = sum(c / (1 - q**period * step**n) for n, c in enumerate(basis))
        for r in range(high, high + period):
            weights[r + period * j] = (1 - q) * q**r * summed
    return weights


def _runs(
    plan: SuitePlan, tables: Sequence[Sequence[int]], code: Code, point: Sequence[int]
) -> Iterator[tuple[Transcript, Fraction]]:
    """Yield each way a run may go, given the threshold noises."""
    with replaced_noise(Given(point)):
        secrets = [code.draw_secret(plan) for _ in range(plan.runs * len(plan.levels) if code.fresh_secret else 1)]
    sides: list[int] | None = []
    while sides is not None:
        tape = Tape(sides)
        with replaced_noise(Source(tape)):
            transcript = tuple(_one_key(plan, table, code, secrets, key) for key, table in enumerate(tables))
        yield transcript, tape.probability
        sides = tape.following()


def _one_key(plan: SuitePlan, table: Sequence[int], code: Code, secrets: Sequence[str], key: int) -> tuple[str, ...]:
    state, records = SuiteState.start(plan), []
    for number in range(plan.runs * len(plan.levels)):
        state = _next(plan, state, code.own)
        today = table[(state.run - 1) * len(plan.tests) : state.run * len(plan.tests)]
        answer = code.run_level(plan, secrets[number % len(secrets)], state.level + 1, today, state, key=key)
        gaps = {test: gap.gap() for test, gap in answer.rings.items()}
        records.append(LevelVerdicts(answer.level, gaps, answer.untested).to_json())
        state = state.after(plan, LevelVerdicts.from_json(records[-1]))
    return tuple(records)


def _next(plan: SuitePlan, state: SuiteState, own: int) -> SuiteState:
    """Return the state before the next level; between runs every check that failed is armed again."""
    if state.level == len(plan.levels):
        state = next_run(state)
        for test, ring in enumerate(state.rings):
            state = state if ring is None else state.rearmed(plan, test, own)
    return state


def charge(plan: SuitePlan, records: Sequence[str], code: Code) -> int:
    """Return what a transcript of one key is finally charged, in TAU."""
    state = SuiteState.start(plan)
    for record in records:
        state = _next(plan, state, code.own).after(plan, LevelVerdicts.from_json(record))
    amount = code.spent(plan, state)
    assert amount % TAU == 0
    assert amount <= plan.epsilon or code.own
    return amount // TAU


@dataclass
class Losses:
    """The largest ratio of probabilities over what was charged for, by number of rings: 1 is tight, more is a leak."""

    worst: dict[int, Fraction]
    is_infinite: bool
    ratios: int = 0

    @property
    def holds(self) -> bool:
        return not self.is_infinite and max(self.worst.values()) <= 1


def losses(
    plan: SuitePlan,
    pairs: Sequence[tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]],
    code: Code | None = None,
    *,
    keys: int = 1,
) -> Losses:
    """Return the losses between the two tables of each pair, in both directions.

    Against the final charge of key 0, or the largest of the first `keys` ones.
    """
    code = code or Code()
    laws: dict[object, dict[Transcript, Fraction]] = {}

    def law(tables: Sequence[Sequence[int]]) -> dict[Transcript, Fraction]:
        name = tuple(map(tuple, tables))
        if name not in laws:
            laws[name] = transcript_law(plan, tables, code)
            assert sum(laws[name].values()) == 1
            assert min(laws[name].values()) >= 0
        return laws[name]

    worst: dict[int, Fraction] = defaultdict(Fraction)
    infinite, ratios = False, 0
    for one, other in pairs:
        first, second = law(one), law(other)
        for transcript in first.keys() | second.keys():
            p, q = first.get(transcript, Fraction(0)), second.get(transcript, Fraction(0))
            if p == 0 or q == 0:
                infinite |= p != q
                continue
            ratios += 2
            allowed = Z ** -max(charge(plan, records, code) for records in transcript[:keys])
            rings = sum(len(LevelVerdicts.from_json(record).rings) for record in transcript[0])
            worst[rings] = max(worst[rings], max(p / q, q / p) / allowed)
    return Losses(dict(worst), infinite, ratios)
