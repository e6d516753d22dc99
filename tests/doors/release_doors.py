"""Every form of release as a door, and what attackers guess by."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from guessing import LARGER, NOTHING, SMALLER
from numpy.typing import NDArray
from sampling import (
    EPSILON,
    FEWER,
    LEAVES,
    ONE_ROW,
    ONE_ROW_RULE,
    TWO_ROWS,
    TWO_RULES,
    UNIT,
    Draws,
    Row,
    Sample,
    Sampler,
    both_rates,
    front_end,
    in_duckdb,
    in_memory,
    job,
    private_parent,
    registered,
    repair_rate,
    same_run_twice,
    sharing_slices,
    with_ledger,
)  # fmt: skip
from scipy.special import expit, logit
from scipy.stats import norm

from dpdb.privacy import NOTIONS, ZCDP
from dpdb.privacy.epsilon import NANO

Attacker = Mapping[int, tuple[float, float]]  # by the release's position: its statistic on the larger and smaller table


@dataclass(frozen=True)
class Door:
    """A form of release.

    Attributes
    ----------
    name
    sampler
        From a folder, the table's rows, the rows by which the neighbour differs and a number: samples of so many draws.
    larger, smaller
        Per release of a draw the exact statistic on each table (of a release that combines several, something near).
    told_by
        Attackers: the releases from whose numbers each guesses. All must be at least `larger` for it to say "larger",
        or at most `smaller` (see `guesses`). The first one is to see a doubled loss wherever it is.
    unbounded
        What the first release's statistic would be on the larger table if all moved rows were used: an attacker of its
        own guesses by it.
    seen
        What part of the charge the first attacker sees; less where something is paid for that it does not read.
    draws
        On each table for the events of `excess_loss` under `slow`, or as many more as they need.
    part
        Of the charge, that their probabilities refute; more than 2 where a loss is spread over many events.
    quick
        Whether it is drawn from in the default run.
    rows
        The smaller table.
    moved
        The rows by which the tables differ: one, or those of one person or unit.
    notion
        Of the account.
    in_rho
        Whether the release is paid in rho.
    hub
        How many rows the moved one is in conflict with, where a release chooses how many of them count.
    """

    name: str
    sampler: Sampler
    larger: tuple[float, ...]
    smaller: tuple[float, ...]
    told_by: tuple[tuple[int, ...], ...] = ((0,),)
    unbounded: float | None = None
    seen: float = 1
    draws: int = 700
    part: int = 2
    quick: bool = True
    rows: Sequence[Row] = field(default_factory=lambda: FEWER)
    moved: Sequence[Row] = field(default_factory=lambda: ONE_ROW)
    notion: str = "pure"
    in_rho: bool = False
    hub: int | None = None

    @property
    def passes(self) -> bool:
        """Whether an attacker may say nothing: where the charge bounds its guesses one by one."""
        return self.notion == "pure"

    def half(self, charge: int) -> int:
        """What a release of half the loss is charged: rho and mu squared of a pure release are like epsilon squared."""
        return self._divided(charge, 2)

    def part_of(self, charge: int) -> int:
        return self._divided(charge, self.part)

    def _divided(self, charge: int, part: int) -> int:
        return charge // (part if self.notion == "pure" or self.in_rho else part**2)

    def reached(self, charge: int) -> float:
        """How often the first attacker is right where the loss is twice the charge; by the noise's exact law."""
        if self.notion == "pure":
            return float(expit(max(1.0, 2 * self.seen * charge / NANO)))
        notion = NOTIONS[self.notion]
        if self.in_rho:
            weights = np.exp(-(np.arange(-200, 201) ** 2) * 2 * notion.value(charge))  # scale^2 = 1 / (2 (2 rho))
            return (1 + 1 / float(weights.sum())) / 2
        paid = notion.value(charge)
        epsilon = math.sqrt(2 * paid) if notion is ZCDP else float(logit(norm.cdf(paid / 2)))
        return float(expit(2 * epsilon))

    @property
    def attackers(self) -> list[Attacker]:
        found = [{k: (self.larger[k], self.smaller[k]) for k in told_by} for told_by in self.told_by]
        return found if self.unbounded is None else [*found, {0: (self.unbounded, self.smaller[0])}]

    def guesses(self, draws: Draws, attacker: Attacker) -> NDArray[np.int_]:
        """What an attacker says of each draw."""
        high, low = np.ones(len(draws), bool), np.ones(len(draws), bool)
        for position, (larger, smaller) in attacker.items():
            value = np.array([draw[position]["value"] for draw in draws])
            missing: Any = 0
            if self.hub is not None and draws[0][position]["theta"] is not None:
                theta = np.array([draw[position]["theta"] for draw in draws])
                missing = np.maximum(0, self.hub - theta)  # at most theta of the hub's conflicts count
                high &= theta <= 5  # what is as likely on both tables is no evidence
                low &= theta <= 2
            high &= value >= larger - missing
            low &= value <= smaller
        return np.where(high, LARGER, np.where(low, SMALLER, NOTHING) if self.passes else SMALLER)

    def samples(self, folder: Path, draws: int) -> Generator[tuple[Sample, Sample]]:
        """Sample the larger and the smaller table, again and again."""
        with ExitStack() as stack:
            sides = []
            for name, rows in (("larger", [*self.rows, *self.moved]), ("smaller", self.rows)):
                (folder / name).mkdir()
                sides.append(stack.enter_context(closing(self.sampler(folder / name, rows, self.moved, draws))))
            while True:
                yield next(sides[0]), next(sides[1])


_REPAIR = "dp_inconsistency('t', measure := 'repair', epsilon := 2.5, confidence := {confidence}"

BY_KEYS = {"by": "zip", "keys": ["2", "1"]}
_CALLED_BY_KEYS = f"{_REPAIR}, by := 'zip', keys := ['2', '1'])"
_REGISTERED_BY_KEYS = f"{_REPAIR}, by_column := 'zip', group_keys := ['2', '1'])"

DOORS = [
    Door("repair", in_memory(lambda s: s.dp_inconsistency("repair", EPSILON)), (1,), (0,)),
    Door("problematic, theta given", in_memory(lambda s: s.dp_inconsistency("problematic", "3", theta=1)), (2,), (0,)),
    Door(
        "minimal_inconsistency, theta given",
        in_memory(lambda s: s.dp_inconsistency("minimal_inconsistency", EPSILON, theta=1)), (1,), (0,),
    ),
    Door(
        "problematic", in_memory(lambda s: s.dp_inconsistency("problematic", "4")), (5,), (0,), rows=LEAVES, hub=4,
        seen=0.63, draws=4000,
    ),
    Door(
        "minimal_inconsistency", in_memory(lambda s: s.dp_inconsistency("minimal_inconsistency", "4")), (4,), (0,),
        rows=LEAVES, hub=4, seen=0.66, draws=4000,
    ),
    Door(
        "all", in_memory(lambda s: s.dp_inconsistency("all", EPSILON), rules=ONE_ROW_RULE), (1, 1, 1), (0, 0, 0),
        ((0, 1, 2),),
    ),
    Door(
        "all, theta chosen", in_memory(lambda s: s.dp_inconsistency("all", "4")), (4, 5, 1), (0, 0, 0), ((0, 1, 2),),
        rows=LEAVES, hub=4, seen=0.67, draws=5000, part=3, quick=False,
    ),
    Door("count", in_memory(lambda s: s.dp_count(EPSILON)), (4,), (3,)),
    Door(
        "repair by keys", in_memory(lambda s: s.dp_inconsistency("repair", EPSILON, **BY_KEYS)), (0, 1), (0, 0),
        ((1,),),
    ),
    Door("count by keys", in_memory(lambda s: s.dp_count(EPSILON, **BY_KEYS)), (1, 2), (1, 1), ((1,),)),
    Door(
        "repair by keys, ledger", with_ledger(lambda s: s.dp_inconsistency("repair", EPSILON, **BY_KEYS)), (0, 1),
        (0, 0), ((1,),),
    ),
    Door(
        "repair where",
        in_memory(lambda s: s.dp_inconsistency("repair", EPSILON, where="zip = '1'"), write=in_duckdb), (1,), (0,),
    ),
    Door("count where", in_memory(lambda s: s.dp_count(EPSILON, where="zip = '1'"), write=in_duckdb), (2,), (1,)),
    # The attackers read the rows to delete; these and the number of rows.
    Door(
        "rate", in_memory(repair_rate, filler=60), (0, 1, 4), (0, 0, 3), ((1,), (1, 2)), seen=0.95,
    ),
    Door(
        "rates", in_memory(both_rates, filler=60), (0, 0, 5, 1), (0, 0, 0, 0), ((2, 3),), rows=LEAVES, hub=4, seen=0.7,
        draws=3000, part=3,
    ),
    Door(
        "each constraint",
        in_memory(lambda s: s.dp_inconsistency("repair", "3", each_constraint=True), rules=TWO_RULES), (1, 1), (0, 0),
        ((0, 1),), draws=1500,
    ),
    Door(
        "rows per person",
        in_memory(lambda s: s.dp_inconsistency("repair", "3"), rows_per_person=2), (2,), (0,), moved=TWO_ROWS,
        draws=1000,
    ),
    Door(
        "unit", in_memory(lambda s: s.dp_count(EPSILON), unit="person", max_rows=2), (5,), (3,), unbounded=7,
        moved=UNIT,
    ),
    Door(
        "private parent", private_parent(lambda s: s.dp_inconsistency("repair", EPSILON), max_children=3), (3,), (0,),
        unbounded=5,
    ),
    Door(
        "unit, zcdp ledger", with_ledger(lambda s: s.dp_count("1.75"), "zcdp", unit="person", max_rows=1), (4,), (3,),
        moved=UNIT, notion="zcdp", draws=1000,
    ),
    Door(
        "sharing slices, ledger", with_ledger(lambda s: sharing_slices(s, "1.5")), (1, 1), (0, 0), ((0, 1),),
        draws=1400,
    ),
    Door("run id, ledger", with_ledger(same_run_twice), (1, 1), (0, 0), ((0, 1),)),
    Door(
        "count, zcdp ledger", with_ledger(lambda s: s.dp_count("1.75"), "zcdp"), (4,), (3,), notion="zcdp", draws=1000,
    ),
    Door(
        "count in rho, zcdp ledger", with_ledger(lambda s: s.dp_count(rho=3), "zcdp"), (4,), (3,), notion="zcdp",
        in_rho=True, draws=1400,
    ),
    Door("count, gdp ledger", with_ledger(lambda s: s.dp_count(EPSILON), "gdp"), (4,), (3,), notion="gdp"),
    Door("front end", front_end(f"{_REPAIR})"), (1,), (0,)),
    Door("front end, keys", front_end(_CALLED_BY_KEYS, 2), (0, 1), (0, 0), ((1,),)),
    Door("registered functions", registered(f"{_REPAIR})"), (1,), (0,)),
    Door("registered functions, keys", registered(_REGISTERED_BY_KEYS, 2), (0, 1), (0, 0), ((1,),)),
    Door("job", job, (1, 1), (0, 0), ((0, 1),)),
]  # fmt: skip

NAMED = {door.name: door for door in DOORS}
