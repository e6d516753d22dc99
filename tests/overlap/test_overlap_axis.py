"""Attributes kept as intervals, against the value sets themselves: who meets whom, who covers what, what matters."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dpdb.overlap.axis import NULL, Axis, holds
from dpdb.overlap.instance import IntervalTable
from dpdb.predicates.value_sets import NAN, ValueSet


def value_set(rng: random.Random) -> ValueSet:
    """Intervals, points, lists, complements, NULL, over few values, so that many share their ends."""
    made = rng.choice(
        [
            lambda: ValueSet.interval(rng.randint(0, 8), rng.randint(0, 9), closed_low=rng.random() < 0.5),
            lambda: ValueSet.points(rng.sample(range(9), rng.randint(1, 4))),
            lambda: ValueSet.below(rng.randint(0, 8), closed=rng.random() < 0.5),
            lambda: ValueSet.above(rng.choice([3, float("inf"), NAN]), closed=True),
            ValueSet.only_null,
            ValueSet.present,
        ]
    )()
    made = ~made if rng.random() < 0.3 else made
    made = made | ValueSet.only_null() if rng.random() < 0.2 else made
    return made if not made.is_empty else ValueSet.points([0])


def filled(rng: random.Random) -> tuple[Axis, list[ValueSet | None]]:
    """An axis made partly at once and partly row by row; some rows are not restricted."""
    sets = [value_set(rng) if rng.random() < 0.8 else None for _ in range(rng.randint(1, 14))]
    first = rng.randint(0, len(sets))
    some = [(row, values) for row, values in enumerate(sets[:first]) if values is not None]
    axis = Axis([row for row, _ in some], [values for _, values in some])
    for row, values in enumerate(sets[first:], first):
        if values is not None:
            axis.add(row, values)
    return axis.copy() if rng.random() < 0.3 else axis, sets


def places(axis: Axis, asked: ValueSet) -> list:
    """A place in every piece between cuts, those of `asked` included, and NULL."""
    cuts = sorted({*axis.cuts, *asked.cuts})
    return [None, "low", *cuts]


@pytest.mark.heavy
@pytest.mark.parametrize("block", range(4))
def test_rows_meet_and_cover_what_their_sets_say(block: int) -> None:
    for seed in range(block * 150, block * 150 + 150):
        rng = random.Random(seed)
        axis, sets = filled(rng)
        asked = value_set(rng)
        meets = [values is None or not (values & asked).is_empty for values in sets]
        assert axis.meeting(asked, len(sets)).tolist() == meets, seed
        for place in places(axis, asked):
            covers = [values is None or holds(values, place) for values in sets]
            assert axis.covering(place, len(sets)).tolist() == covers, (seed, place)


@pytest.mark.parametrize("block", range(4))
def test_the_kept_atoms_dominate_all_others_and_are_what_they_say(block: int) -> None:
    for seed in range(block * 150, block * 150 + 150):
        rng = random.Random(seed)
        axis, sets = filled(rng)
        asked = rng.choice([None, value_set(rng)])
        rows = np.array(sorted(rng.sample(range(len(sets)), rng.randint(1, len(sets)))))
        found = axis.atoms(asked, rows)
        restricted = [k for k, row in enumerate(rows) if sets[row] is not None]
        assert (found is None) == (not restricted), seed
        if found is None:
            continue
        assert found.users.tolist() == restricted
        member = found.table.dense()
        for atom, place in enumerate(found.places.tolist()):
            said = [holds(sets[rows[k]], axis.place(place)) for k in restricted]
            assert member[atom].tolist() == said == found.table.covers(atom).tolist(), (seed, place)
            assert place != NULL or asked is None or asked.null
        inside = [place for place in places(axis, asked or ValueSet()) if asked is None or holds(asked, place)]
        for place in inside:
            here = np.array([holds(sets[rows[k]], place) for k in restricted])
            assert any((atom >= here).all() for atom in member), (seed, place)


@pytest.mark.parametrize("seed", range(40))
def test_an_interval_table_is_the_table_of_its_intervals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    axis, sets = filled(random.Random(seed))
    found = axis.atoms(None, np.arange(len(sets)))
    if found is None:
        return
    table: IntervalTable = found.table
    member = table.dense()
    assert member.shape == (table.atoms, len(table.codes))
    rows, atoms = rng.integers(0, 2**40, member.shape[1]), rng.integers(0, 2**40, table.atoms)
    assert (table @ rows.astype(float)).tolist() == (member @ rows).tolist()
    assert (atoms.astype(float) @ table).tolist() == (atoms @ member).tolist()
    highest = table.highest(atoms.astype(float))
    for row in range(member.shape[1]):
        assert highest[row] == max([atoms[atom] for atom in np.flatnonzero(member[:, row])], default=-np.inf)
