"""Small suites whose exact losses are computed: what is tested, and by how much one unit moves each statistic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from exact_law import TAU, small_plan

from dpdb.suites import SuitePlan, Tested

Tables = Sequence[Sequence[int]]


@dataclass(frozen=True)
class Case:
    """A suite, statistics of a table near the limits (in steps), and what a unit may add to each of them.

    By test; of a kept suite run after run, because a unit may come and go.

    `spread`: a unit of several rows changes every key so, and the dearest key's charge is paid.

    `attained`: with how many rings these statistics show that the bound is tight; `own`: nano-epsilon that each check
    is armed again with.
    """

    plan: SuitePlan
    bases: Sequence[Sequence[int]]
    changes: Sequence[Sequence[int]]
    attained: tuple[int, ...] = (0, 1)
    own: int = 0
    spread: bool = False

    def pairs(self) -> list[tuple[Tables, Tables]]:
        """Return pairs of neighbours; of several keys only the first one's statistics change, unless all do."""
        others = [(0,) * len(self.plan.tests)] * (self.plan.keys - 1)

        def both(base: Sequence[int], change: Sequence[int]) -> tuple[Tables, Tables]:
            changed = tuple(map(sum, zip(base, change, strict=True)))
            if self.spread:
                return [base] * self.plan.keys, [changed] * self.plan.keys
            return [base, *others], [changed, *others]

        return [both(base, change) for base in product(*self.bases) for change in product(*self.changes) if any(change)]


def count(k: int = 1, **fields: object) -> Tested:
    """Return a count that a unit of at most k rows moves, or that fails below."""
    return Tested(Fraction(0), Fraction(k), **{"direction": "above", "limit": Fraction(0), **fields})


def share(p: Fraction, k: int = 1) -> Tested:
    return Tested(-p * k, (1 - p) * k, "above", Fraction(0), rate=p)


HALF = Fraction(1, 2)
QUARTER = Fraction(1, 4)
BELOW = count(direction="below")
ORPHANS = Tested(Fraction(-1), Fraction(0), "above", Fraction(0))

FAR = -40  # quiet but for Z^40

CASES = {
    "two counts": lambda: Case(small_plan([count()] * 2, 2, (1, 2), (1, 0)), [(-1, 0), (0,)], [(0, 1)] * 2),
    "a unit of two rows": lambda: Case(small_plan([count(2)] * 2, 1, (1, 2), (1, 0)), [(0,), (-1, 0)], [(0, 2)] * 2),
    "units of one and two rows": lambda: Case(
        small_plan([count(), count(2)], 2, (1, 2), (2, 0)), [(FAR, 0), (0,)], [(0, 1), (0, 1, 2)]
    ),
    "a share and a count": lambda: Case(
        small_plan([share(HALF), count()], 1, (1, 2), (1, 0), lattice=2), [(FAR, 0), (0,)], [(-1, 1), (0, 2)]
    ),
    "two shares": lambda: Case(
        small_plan([share(HALF)] * 2, 2, (1,), (0,), lattice=2), [(-1, 0, 1), (-1, 0, 1)], [(-1, 0, 1)] * 2
    ),
    "orphans and look-ups in two banks": lambda: Case(
        small_plan([ORPHANS, count()], 1, (1, 2), (1, 0)), [(0,), (0,)], [(-1, 0), (0, 1)]
    ),
    "above and below in two banks": lambda: Case(
        small_plan([count(), BELOW], 2, (1,), (0,)), [(-1, 0), (0, 1)], [(0, 1)] * 2
    ),
    "a count and twice as much below": lambda: Case(
        small_plan([count(), count(2, direction="below")], 1, (1,), (0,)), [(FAR, 0), (-2,)], [(0, 1), (0, 2)]
    ),
    "no reserve: what is left pays a ring at the first level alone": lambda: Case(
        small_plan([count()] * 2, 1, (1, 4), (2, 0), purse=5), [(-3, 0), (-1, 0, 1)], [(0, 1)] * 2
    ),
    "no reserve: the last level can never be paid": lambda: Case(
        small_plan([count(), count(2)], 1, (1, 3), (3, 0), purse=2), [(-3, 0), (0,)], [(0, 1), (0, 2)], attained=()
    ),
    "one ring only": lambda: Case(
        small_plan([count(severity="warn"), count()], 1, (1, 2), (1, 0), rings=1), [(-1, 0), (-1, 0)], [(0, 1)] * 2
    ),
    "kept for three runs, armed again after each": lambda: Case(
        small_plan([count()], 1, (1,), (0,), runs=3), [(-1, 0), (0,), (0,)], [(0, 1)] * 3, attained=(0, 1, 2)
    ),
    "kept, armed again with money of its own": lambda: Case(
        small_plan([count(2)], 1, (1,), (0,), runs=3, rings=1), [(-1, 0), (0,), (0,)], [(0, 2)] * 3, (0, 1, 2), 2 * TAU
    ),
    "a unit of two rows in two slices": lambda: Case(
        small_plan([count(2)], 1, (1,), (0,), keys=2), [(-1, 0)], [(1,)], attained=(0,), spread=True
    ),
    "two slices": lambda: Case(small_plan([count()], 2, (1, 2), (1, 0), keys=2), [(-1, 0)], [(1,)], attained=(0,)),
}

SLOW_CASES = {
    "no reserve: two checks, every table": lambda: Case(
        small_plan([count()] * 2, 1, (1, 4), (2, 0), purse=5), [range(-4, 2)] * 2, [(0, 1)] * 2
    ),
    "no reserve: three checks, every table": lambda: Case(
        small_plan([count()] * 3, 1, (1, 3), (3, 0), purse=4), [(-3, -1, 0)] * 3, [(0, 1)] * 3
    ),
    "no reserve: three levels, every table": lambda: Case(
        small_plan([count()] * 2, 1, (1, 2, 6), (4, 2, 0), purse=7), [range(-4, 2)] * 2, [(0, 1)] * 2
    ),
    "three counts, three levels": lambda: Case(
        small_plan([count()] * 3, 1, (1, 1, 2), (2, 1, 0)),
        [(0,), (0,), (FAR,)],
        [(1,), (0, 1), (0, 1)],
        attained=(0, 1, 2),
    ),
    "three levels and two rings at most": lambda: Case(
        small_plan([count(), count(severity="warn"), count()], 2, (1, 1, 2), (2, 1, 0), rings=2),
        [(0,), (0,), (-1,)],
        [(0, 1), (1,), (0,)],
        attained=(1, 2),
    ),
    "a quarter of a share, a unit of two rows": lambda: Case(
        small_plan([share(QUARTER, 2), count(2), share(QUARTER, 2)], 1, (1, 2), (2, 0), lattice=4),
        [(FAR,), (0,), (FAR, 0)],
        [(6,), (8,), (-2, 6)],
    ),
    "two counts and one below": lambda: Case(
        small_plan([count(), BELOW, count()], 1, (1, 2), (1, 0)), [(0,), (0,), (0,)], [(1,), (0, 1), (0, 1)]
    ),
    "two slices of two checks": lambda: Case(
        small_plan([count()] * 2, 2, (1,), (0,), keys=2), [(0,), (0,)], [(1,), (0, 1)]
    ),
}
