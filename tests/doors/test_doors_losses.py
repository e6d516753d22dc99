"""Answers and charges together: on neighbouring tables nothing tells more than what the moved rows paid.

Nothing is replaced in these tests but by mutants: answers of public calls, noise of OpenDP, charges as the account
keeps them. Draws are made in pairs until two games are decided (`guessing`): one against what is charged, which must be
lost, and its control against half of that, which must be won with the same alarm. So in every run each door shows on
its own answers that a charge of half their loss would have been reported. That takes 120 to 300 pairs at most doors,
700 to 1,300 where a release chooses a theta or several measures share its epsilon.

- By default a twentieth of the doors and mutants is taken, by the commit (`case_share`).
- There a doubled loss, by half the charge or by half the noise, is reported at every door (`Door.quick`) but "all,
  theta chosen" (all three measures at once on pairs of rows, 3,000 pairs), which is drawn from under `slow`. Of a loss
  that the attacker sees in part (`Door.seen`), that part must be doubled.
- The events of `excess_loss`, about 200 and the same for all doors, are compared on the same draws: with so few they
  show a loss of 3 to 16 times. Under `slow` they must refute half the charge too (or what `Door.part` says).
- Under `slow` both doublings are put into the real code and must be reported at every door.

Correct code is reported by one run of this room, `slow` included, with probability at most 5e-7 (`excess_loss`); a game
misses a doubled loss with probability at most 1e-6 (`guessing`). No game may end undecided: 8,000 pairs are allowed,
twice what the longest one needs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from case_share import twentieth
from excess_loss import GRID, SAMPLINGS, most_allowed
from guessing import rightly_said
from loss_mutants import QUICK, SLOW, Mutant
from release_doors import DOORS, NAMED
from trial import trials, tried

from dpdb.privacy import GDP, PURE, ZCDP, Notion


@pytest.mark.heavy
@pytest.mark.parametrize("name", twentieth([door.name for door in DOORS if door.quick]))
def test_nothing_tells_neighbours_apart_by_more_than_its_charge(name: str, tmp_path: Path) -> None:
    trial = tried(NAMED[name], tmp_path)
    assert not trial.refuted, str(trial)
    assert trial.control.refuted, f"too few draws to see a loss that is not paid for: {trial}"
    assert trial.decided, str(trial)
    assert trial.excess(trial.charge) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_no_event_does_with_all_draws(name: str, tmp_path: Path) -> None:
    door = NAMED[name]
    for trial in trials(door, tmp_path):
        assert not trial.refuted, str(trial)
        if len(trial.larger) >= door.draws and trial.decided and trial.excess(door.part_of(trial.charge)):
            break
    else:
        pytest.fail(f"too few draws to see a loss that is not paid for: {trial}")
    print(trial)
    assert trial.excess(trial.charge) == []


# -- mutants --------------------------------------------------------------------------------------------------


def caught(mutant: Mutant, name: str, folder: Path, patch: pytest.MonkeyPatch) -> None:
    mutant(patch)
    trial = tried(NAMED[name], folder)
    print(trial)
    assert trial.refuted, str(trial)


def identified(cases: list[tuple[Mutant, str]]) -> list[str]:
    return [f"{mutant.__name__}-{name}" for mutant, name in cases]


SOME = twentieth(QUICK)


@pytest.mark.heavy(family="privacy")
@pytest.mark.parametrize(("mutant", "name"), SOME, ids=identified(SOME))
def test_a_loss_that_is_not_paid_for_is_caught(
    mutant: Mutant, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught(mutant, name, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "name"), SLOW, ids=identified(SLOW))
def test_it_is_caught_at_every_door(mutant: Mutant, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    caught(mutant, name, tmp_path, monkeypatch)


# -- the rate of false alarms ---------------------------------------------------------------------------------


def test_no_more_is_compared_than_the_rate_of_false_alarms_allows_for() -> None:
    assert 2 * sum(len(door.attackers) for door in DOORS) <= SAMPLINGS


CHARGES = [(PURE, 125 * 10**7), (PURE, 4 * 10**9), (ZCDP, 10**12), (ZCDP, 3 * 10**12), (GDP, 10**12), (GDP, 8 * 10**12)]


@pytest.mark.parametrize(("notion", "charge"), CHARGES)
def test_no_attacker_gains_from_what_a_charge_allows(notion: Notion, charge: int) -> None:
    """Between two points of the grid it is right at most as often as the greater p and the smaller q say."""
    allowed, most = rightly_said(notion, charge), most_allowed(notion, charge)
    for expected in (allowed + (1 - allowed) * share for share in (0.1, 0.5, 0.9)):
        won, lost = expected / allowed, (1 - expected) / (1 - allowed)
        mean = (most * won + (1 - most) * lost) * ((1 - GRID) * won + GRID * lost)
        assert np.max(mean) <= 1 + 1e-9
