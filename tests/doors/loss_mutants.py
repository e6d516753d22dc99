"""Ways to answer for less than is lost, put into the real code one at a time, and the doors through which they show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from release_doors import DOORS
from text_reader import parse_where

from dpdb.engine import unit_rows, unit_rows as children
from dpdb.predicates import Region
from dpdb.privacy import noise as randomness
from dpdb.release import (
    account as budget,
    ledger_account,
    measure_part,
    measure_part as shares,
    parts as slices,
    prepare,
    session,
)
from dpdb.release.costs import Charge

Parts = tuple[int, ...]
Mutant = Callable[[pytest.MonkeyPatch], None]


def half_the_charge(patch: pytest.MonkeyPatch) -> None:
    """Every door pays half."""

    def halved(parts: Parts, rows: int, where: Region, asked: Any, run: Any, rho: int | None, *more: Any) -> Charge:
        halves = tuple(part // 2 for part in parts)
        return Charge(halves, rows, where, asked, run, None if rho is None else rho // 2, *more)

    patch.setattr(prepare, "Charge", halved)


def _fresh_scales(patch: pytest.MonkeyPatch) -> None:
    for name in ("laplace_scale", "gaussian_scale", "_extreme_scale"):
        patch.setattr(randomness, name, getattr(randomness, name).__wrapped__)


def twice_the_epsilon(patch: pytest.MonkeyPatch) -> None:
    """All noise is for twice what was asked."""
    epsilon, rho = randomness.as_fraction, randomness.rho_as_fraction
    patch.setattr(randomness, "as_fraction", lambda asked: 2 * epsilon(asked))
    patch.setattr(randomness, "rho_as_fraction", lambda asked: 2 * rho(asked))
    _fresh_scales(patch)


def every_constraint_gets_all(patch: pytest.MonkeyPatch) -> None:
    """Of two constraints each is answered with what both are charged."""
    real = shares.measure_shares
    patch.setattr(measure_part, "measure_shares", lambda asked, epsilon, rate: real(asked, 2 * epsilon, rate=rate))


def every_measure_gets_all(patch: pytest.MonkeyPatch) -> None:
    real = shares.measure_shares

    def generous(asked: Any, epsilon: int, *, rate: bool) -> tuple[shares.Share, ...]:
        return tuple(replace(share, rest=epsilon) for share in real(asked, epsilon, rate=rate))

    patch.setattr(measure_part, "measure_shares", generous)


def the_count_of_a_rate_is_free(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(shares, "rate_shares", lambda epsilon: (epsilon, epsilon))


def rows_of_a_person_get_all(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(prepare, "parse_share", lambda charged, rows: charged)


def rows_of_a_unit_are_not_bounded(patch: pytest.MonkeyPatch) -> None:
    real = unit_rows.UnitRows
    patch.setattr(unit_rows, "UnitRows", lambda database, opened, column, rows: real(database, opened, column, 10**6))


def children_of_a_key_are_not_bounded(patch: pytest.MonkeyPatch) -> None:
    real = children.ChildRows
    patch.setattr(children, "ChildRows", lambda database, opened, keys, most: real(database, opened, keys, 10**6))


def the_first_key_pays_for_all(patch: pytest.MonkeyPatch) -> None:
    real = slices.covered_groups
    patch.setattr(slices, "covered_groups", lambda tree, column, keys: real(tree, column, keys[:1]))


def a_slice_pays_for_other_rows(patch: pytest.MonkeyPatch) -> None:
    """The ledger takes for the rows of a slice some that are not in it."""
    patch.setattr(slices, "covered", lambda tree: parse_where("age = 99", {"age": "INTEGER"}))


def every_second_debit_is_free(patch: pytest.MonkeyPatch) -> None:
    """Of two releases one is not charged: each account counts its own, for a ledger's asks its session's too."""
    turns, in_ledgers = count(), count()
    debit, units = budget.Budget.debit, ledger_account.LedgerAccount._units
    patch.setattr(
        budget.Budget,
        "debit",
        lambda self, charge: debit(self, charge if next(turns) % 2 == 0 else replace(charge, parts=())),
    )
    patch.setattr(
        ledger_account.LedgerAccount,
        "_units",
        lambda self, charge: units(self, charge) if next(in_ledgers) % 2 == 0 else 0,
    )


def a_repeated_run_draws_again(patch: pytest.MonkeyPatch) -> None:
    real, drawn = session.publish, {}

    def published(account: Any, charge: Any, load: Any, draws: Any) -> Any:
        found, run = real(account, charge, load, draws), charge.run_id
        again = run is not None and drawn.setdefault((id(account), run), found) is not found
        return draws[0]() if again else found

    patch.setattr(session, "publish", published)


QUICK: list[tuple[Mutant, str]] = [
    (half_the_charge, "repair"),
    (twice_the_epsilon, "repair"),
    (every_constraint_gets_all, "each constraint"),
    (the_count_of_a_rate_is_free, "rate"),
    (rows_of_a_person_get_all, "rows per person"),
    (rows_of_a_unit_are_not_bounded, "unit"),
    (children_of_a_key_are_not_bounded, "private parent"),
    (the_first_key_pays_for_all, "repair by keys, ledger"),
    (a_slice_pays_for_other_rows, "sharing slices, ledger"),
]

SLOW: list[tuple[Mutant, str]] = [
    *((half_the_charge, door.name) for door in DOORS),
    *((twice_the_epsilon, door.name) for door in DOORS),
    (rows_of_a_person_get_all, "private parent"),
    (every_measure_gets_all, "all, theta chosen"),
    (every_second_debit_is_free, "sharing slices, ledger"),
    (every_second_debit_is_free, "registered functions"),
    (every_second_debit_is_free, "job"),
    (a_repeated_run_draws_again, "run id, ledger"),
    (every_second_debit_is_free, "front end"),
    (every_measure_gets_all, "all"),
]
