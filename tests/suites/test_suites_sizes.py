"""Numbers of all checks from the start: sensitivity through the real scan, exact loss, bounds."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pyarrow as pa
import pytest
from number_law import log_chance
from simulated import most_allowed
from suite_cases import count, share
from verdict_cases import NumpyNoise

import dpdb
from dpdb.errors import ParameterError
from dpdb.privacy import NANO
from dpdb.privacy.noise import replaced_noise
from dpdb.release import PrivateSlices
from dpdb.suites.mechanism.capped import STEPS, Beside, CappedPlan, CappedSums, Paid, draw_numbers
from dpdb.suites.mechanism.sizes import SizesPlan, plan_sizes, sizes_verdicts
from dpdb.suites.prepare import prepare_check
from dpdb.suites.suite import load_suite

PICO = 10**12

# -- sensitivity, through the real code ------------------------------------------------------------------------------

SUITE = """\
one: not(t1.x > 0)  warn above 0, fail above 50%
two: not(t1.y > 0)  fail above 10% of non-null
fd: x -> y  fail above 0
key: UNIQUE(y)  fail above 0 rows in duplicates
count: row_count  fail below 2
order: not(t1.x < t2.x & t1.y > t2.y)  fail above 20%
"""


Given = tuple[CappedSums, list[int], list[int]]


def given(tables) -> tuple[SizesPlan, list[Given]]:
    """Return what the real run reads of some tables, each of which is a slice."""
    rows = [(key, *row) for key, table in enumerate(tables) for row in table]
    columns = {name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate("kxy")}
    rules = [line.rule for line in load_suite(SUITE).lines if line.rule is not None]
    keys = [*range(len(tables))]
    with dpdb.open(pa.table(columns), constraints=rules) as session:
        run = prepare_check(session, SUITE, sizes=True, by="k", keys=keys)
        slices = PrivateSlices(session.public.opened)
        try:
            return run.sizes, [run._exact(slices, [key]) for key in keys]
        finally:
            slices.forget()


KINDS = [*product((0, 1, None), repeat=2)]


@pytest.mark.heavy(of=10)
@pytest.mark.parametrize("more", KINDS)
def test_the_sensitivity_over_small_tables(more: tuple) -> None:
    """All tables of up to two rows of nine kinds, and a row more: l1, l2, J_k and the rows of shares, for each k."""
    bases = [base for size in (0, 1, 2) for base in combinations_with_replacement(KINDS, size)]
    plan, found = given([*bases, *((*base, more) for base in bases)])
    assert (plan.local, len(plan.others), len(plan.rows)) == ((0, 1), 4, 2)
    assert plan.moved == (1, 2, 1, 1)
    attained = {"rows": 0, "all": 0.0}
    for (a, f, n), (b, g, m) in zip(found[: len(bases)], found[len(bases) :], strict=True):
        moved = [abs(y - x) for x, y in zip(f, g, strict=True)]
        assert all(each <= most for each, most in zip(moved, plan.drawn.others.moved, strict=True))
        assert sum(abs(y - x) for x, y in zip(n, m, strict=True)) <= plan.drawn.rows.sensitivity("epsilon") == 2
        for k in (1, 2):
            own = [b.capped(i, k) - a.capped(i, k) for i in range(2)]
            assert sum(map(abs, own)) + sum(moved) <= plan.drawn.sensitivity(k) == STEPS * (k + 5)
            rho = CappedPlan(2, 1, PICO, 0.01, "rho", plan.drawn.others, plan.drawn.rows)
            assert sum(each**2 for each in [*own, *moved]) <= rho.sensitivity(k) ** 2
            assert 0 <= b.lost(k) - a.lost(k) <= STEPS
            attained["all"] = max(attained["all"], (sum(own) + sum(moved)) / STEPS)
        attained["rows"] = max(attained["rows"], sum(m) - sum(n))
    if more == (1, 1):
        assert attained["rows"] == 2
        assert attained["all"] == 6  # two capped, a pair of the dependency, two of the key, a row; no row has all


def test_a_table_reads_as_counted_apart() -> None:
    rows = [(1, 0), (1, 1), (0, 1), (None, 1), (0, None)]
    plan, [(sums, others, counted)] = given([rows])
    local = [sums.capped(i, 2) / STEPS for i in range(2)]
    assert local == [2, 3]
    assert [each / STEPS for each in others] == [1, 3, 5, 1]  # x=1 has two y; y=1 three times; five rows; one pair
    assert counted == [5, 4]  # all rows; those whose y is known
    assert plan.of_rows == (None, 0, 1, None, None, None, 0)


# -- the exact loss ---------------------------------------------------------------------------------------------------


def beside(others: int, rows: int) -> dict:
    return {
        "others": Beside((STEPS,) * others, others, others),
        "rows": Beside((1,) * rows, rows, rows),
    }


@pytest.mark.parametrize(
    ("many", "others", "rows"),
    [(0, 1, 0), (0, 2, 1), (1, 1, 0), (1, 0, 1), (2, 1, 0), pytest.param(2, 1, 1, marks=pytest.mark.slow)],
)
def test_the_exact_loss_is_at_most_what_is_paid(many: int, others: int, rows: int) -> None:
    """Every k, J, numbers and rows of a grid, of neighbours that a unit moves in all ways; attained."""
    plan = CappedPlan(many, 1, NANO // 2, 0.01, **beside(others, rows))
    far, worst, ratios = STEPS * 60, -math.inf, 0
    for told in product((0, 1), repeat=many):
        for moved in product((-1, 1), repeat=others):
            for counted in product((0, 1), repeat=rows):
                for outcome in grid(plan, (-far, 0, 40, far), (-60, 1, 60)):
                    choice, lost, values, row_values = outcome
                    one, other = (
                        log_chance(plan, units, choice, lost, values, others=f, rows=n, row_values=row_values)
                        for units, f, n in (
                            ([(0,) * many], (STEPS,) * others, (1,) * rows),
                            (
                                [(0,) * many, told],
                                tuple(STEPS + STEPS * m for m in moved),
                                tuple(1 + c for c in counted),
                            ),
                        )
                    )
                    worst, ratios = max(worst, abs(one - other) / (plan.amount / NANO)), ratios + 1
    assert ratios >= 8
    assert 0.9 < worst <= 1 + 1e-9, (worst, ratios)


def grid(plan: CappedPlan, steps, rows):
    for choice, most in enumerate(plan.candidates):
        for lost in steps if not plan.caps_nothing(most) else (0,):
            for values in product(steps, repeat=plan.count + plan.others.numbers):
                for row_values in product(rows, repeat=plan.rows.numbers):
                    yield choice, lost, values, row_values


@pytest.mark.parametrize(("many", "reach", "others"), [(0, 1, 2), (2, 1, 1), (2, 2, 2), (3, 1, 3)])
def test_rho_is_that_of_the_shift_in_l2(many: int, reach: int, others: int) -> None:
    """A discrete Gaussian vector that moves by d has rho = |d|^2 / 2 sigma^2 at most: for every unit and k, with J."""
    plan = CappedPlan(many, reach, PICO // 2, 0.01, "rho", Beside((STEPS, 2 * STEPS, 96)[:others], others, others))
    assert sum(plan.shares) == plan.amount
    worst = 0.0
    for told in product(range(reach + 1), repeat=many):
        a = sum(told)
        for k in plan.candidates:
            w = 0 if a == 0 else min(STEPS, STEPS * k // a)
            squared = sum((w * v) ** 2 for v in told) + sum(m**2 for m in plan.others.moved)
            rho = squared / (2 * plan.scale(k) ** 2)
            worst = max(worst, rho / (plan.of_numbers(k) / PICO))
    assert 0.98 < worst <= 1 + 1e-9


# -- verdicts and bounds ----------------------------------------------------------------------------------------------


def small(tests, lines, *, of_rows=None, local=(), others=(), rows=(), **fields) -> SizesPlan:
    shares = of_rows or (None,) * len(tests)
    moved = tuple(Fraction(1) for _ in others)
    own = {"reach": 1, "owned": False, "keys": 1, "amount": NANO, "confidence": Fraction(4, 5)} | fields
    return plan_sizes(
        SizesPlan(tuple(tests), tuple(lines), shares, tuple(local), tuple(others), moved, tuple(rows), **own)
    )


@pytest.mark.heavy
@pytest.mark.parametrize("paid", ["epsilon", "rho"])
@pytest.mark.parametrize("certain", ["fail", "pass"])
def test_fails_and_bounds_hold_as_often_as_they_say(paid: str, certain: str) -> None:
    """2,000 runs at beta .2, of limits in both directions, shares, a capped line and other lines, all near limits.

    A wrong verdict at .2 and a broken bound at .4 at most; `most_allowed` more has a chance below 1e-6.
    """
    tests = [
        count(limit=Fraction(60)), share(Fraction(1, 4)), count(limit=Fraction(40)),
        count(limit=Fraction(500), direction="below"), count(limit=Fraction(500)), share(Fraction(1, 2)),
    ]  # fmt: skip
    plan = small(
        tests, (0, 1, 2, 3, 3, 4), of_rows=(None, 0, None, None, None, 1), local=(0, 1), others=(2, 3, 4), rows=(1, 1),
        certain=certain, paid=paid, amount=NANO if paid == "epsilon" else PICO // 2,
    )  # fmt: skip
    rng = np.random.default_rng(3)
    units = [tuple(int(x) for x in rng.random(2) < p) for p in [0.1] * 300 + [0.5] * 60]
    sums = sums_of_units(units)
    local = [sum(unit[i] for unit in units) for i in range(2)]
    wrong = broken = both = 0
    with replaced_noise(NumpyNoise(4)):
        for run in range(2000):
            f = {0: local[0], 1: local[1], 2: 40 + run % 2, 3: 500 - run % 2 + (run // 2) % 2, 4: 100}
            n = [4 * local[1] - run % 2, 200 - run % 2]
            drawn = draw_numbers(
                plan.drawn, sums, plan.cells([0]), 1, others=[STEPS * f[line] for line in plan.others], rows=n
            )
            is_wrong = is_broken = False
            for test, verdict in zip(range(6), sizes_verdicts(plan, [drawn], 0), strict=True):
                tested, of = tests[test], plan.of_rows[test]
                truth = f[plan.lines[test]] - (0 if of is None else tested.rate * n[of])
                beyond = truth > tested.limit if tested.sign > 0 else truth < tested.limit
                sure = "pass" if tested.is_shown else certain
                is_wrong |= verdict.verdict == sure and (beyond != (sure == "fail"))
                is_broken |= not verdict.lower <= truth <= verdict.upper
                if verdict.verdict == "pass" and beyond:
                    by = truth - tested.limit if tested.sign > 0 else tested.limit - truth
                    is_broken |= by > verdict.within
            wrong, broken, both = wrong + is_wrong, broken + is_broken, both + (is_wrong or is_broken)
    assert wrong <= most_allowed(2000, 0.2), (wrong, broken)
    assert both <= most_allowed(2000, 0.4), (wrong, broken)
    assert broken > 0  # the margins are not idle


def sums_of_units(units) -> CappedSums:
    from number_law import sums_of

    return sums_of(units)


def test_what_is_far_is_decided_and_sized() -> None:
    plan = small(
        [count(), count(), share(Fraction(1, 10)), count(direction="below", limit=Fraction(900))], (0, 1, 2, 3),
        of_rows=(None, None, 0, None), local=(0,), others=(1, 2, 3), rows=(1,), confidence=Fraction(99, 100),
    )  # fmt: skip
    sums = CappedSums({1: 500}, [{1: 500}])
    drawn = draw_numbers(plan.drawn, sums, plan.cells([0]), 1, others=[0, 400 * STEPS, 0], rows=[1000])
    found = sizes_verdicts(plan, [drawn], 0)
    assert [each.verdict for each in found] == ["fail", "pass", "fail", "fail"]
    for each, f in zip(
        found, (500, 0, 300, 0), strict=True
    ):  # 400 - 10% of 1,000; each bound misses with a chance of 2%
        assert each.lower - 100 <= f <= each.upper + 100
        assert abs(each.number - f) < 200
        assert each.aim > 0


def test_a_certain_pass_that_hardly_could_is_refused() -> None:
    with pytest.raises(ParameterError, match="it could hardly pass"):
        small([count()], (0,), local=(0,), certain="pass")
    small([count(limit=Fraction(100))], (0,), local=(0,), certain="pass")


def test_a_draw_has_a_number_for_each_statistic() -> None:
    plan = CappedPlan(1, 1, NANO, 0.01, **beside(1, 1))
    sums = CappedSums({}, [{}])
    for cells, others, rows in ([(0, 0)], [0], [1]), ([(0, 0), (0, 1)], [], [1]), ([(0, 0), (0, 1)], [0], []):
        with pytest.raises(ValueError, match="number"):
            draw_numbers(plan, sums, cells, 1, others=others, rows=rows)


@pytest.mark.parametrize(("paid", "amount"), [("epsilon", 10), ("rho", 10), ("rho", 1)])
def test_amounts_that_cannot_be_split_are_named_in_their_unit(paid: Paid, amount: int) -> None:
    plan = SizesPlan(
        (count(5), count(5)), (0, 1), (None, None), (0, 1), (), (), (), 1, False, 1, amount, Fraction(9, 10), paid=paid
    )
    with pytest.raises(ParameterError, match=rf"^{paid} 0\.0+1 is too small for numbers of 2 statistics$"):
        plan_sizes(plan)
