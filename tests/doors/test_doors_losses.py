"""Answers and charges together: on neighbouring tables no event is likelier by more than what the moved rows paid.

Nothing is replaced in these tests: answers of public calls, noise of OpenDP, charges as the account keeps them. A door
whose draws are all made must also refute half the charge (`Door.part`), so a release that loses twice its charge is
caught: with 950 draws of one discrete Laplace answer whose statistic changes by 1 or 2 it is missed with a probability
below 1e-6 (exact binomial laws, for half of 2.5; counts of rows need 550). Doors that draw less by
default (`Door.quick`) only have to refute a sixteenth. `excess_loss` derives the rate of false alarms of the whole
room, below 1e-6.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from excess_loss import Answers, excess_events
from loss_mutants import QUICK, SLOW, Mutant
from release_doors import DOORS, NAMED, Door, fast_folder

from dpdb.privacy import NOTIONS


def refuted(door: Door, folder: Path, draws: int, part: int) -> None:
    with fast_folder(folder) as place:
        more, fewer = door.both(place, draws)
    assert more.charge == fewer.charge
    samples = Answers.of(more.draws), Answers.of(fewer.draws)
    notion = NOTIONS[door.notion]
    assert excess_events(*samples, door.edges, notion, more.charge) == []
    less = door.less(more.charge) if draws >= door.draws else more.charge // part
    assert excess_events(*samples, door.edges, notion, less), "too few draws to see a loss that is not paid for"


@pytest.mark.parametrize("name", [door.name for door in DOORS if door.quick != 0])
def test_no_event_tells_neighbours_apart_by_more_than_its_charge(name: str, tmp_path: Path) -> None:
    door = NAMED[name]
    refuted(door, tmp_path, door.draws if door.quick is None else door.quick, 16)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMED)
def test_no_event_does_with_three_times_the_draws(name: str, tmp_path: Path) -> None:
    refuted(NAMED[name], tmp_path, 3 * NAMED[name].draws, 2)


# -- mutants --------------------------------------------------------------------------------------------------


def caught(mutant: Mutant, name: str, draws: int, folder: Path, patch: pytest.MonkeyPatch) -> None:
    door = NAMED[name]
    mutant(patch)
    with fast_folder(folder) as place:
        more, fewer = door.both(place, draws)
    samples = Answers.of(more.draws), Answers.of(fewer.draws)
    assert excess_events(*samples, door.edges, NOTIONS[door.notion], more.charge)


def identified(cases: list[tuple[Mutant, str, int]]) -> list[str]:
    return [f"{mutant.__name__}-{name}" for mutant, name, _ in cases]


@pytest.mark.parametrize(("mutant", "name", "draws"), QUICK, ids=identified(QUICK))
def test_a_loss_that_is_not_paid_for_is_caught(
    mutant: Mutant, name: str, draws: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught(mutant, name, draws, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(("mutant", "name", "draws"), SLOW, ids=identified(SLOW))
def test_it_is_caught_at_every_door(
    mutant: Mutant, name: str, draws: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caught(mutant, name, draws, tmp_path, monkeypatch)
