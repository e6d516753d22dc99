"""What is not noise is the same on neighbouring tables: charges, ledger entries, messages; and charges add up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from excess_loss import NUMBERS
from release_doors import NAMED, Door
from sampling import (
    COLUMNS,
    EPSILON,
    FEWER,
    ONE_ROW,
    RULE,
    TWO_RULES,
    UNIT,
    collected,
    fast_folder,
    in_duckdb,
    parquet,
    sharing_slices,
)  # fmt: skip

import dpdb
from dpdb.errors import DpdbError
from dpdb.ledger import Ledger
from dpdb.predicates.region import region_from_text
from dpdb.privacy.epsilon import NANO
from dpdb.release.ask import Ask
from dpdb.release.explain import explain

RANDOM = {*NUMBERS, "release_id", "raw", "estimate_lower", "estimate_upper", "handicaps", "draw_share", "theta_limits"}


@pytest.mark.heavy
@pytest.mark.parametrize("name", NAMED)
def test_neighbours_are_charged_and_told_the_same(name: str, tmp_path: Path) -> None:
    door: Door = NAMED[name]
    with fast_folder(tmp_path) as folder:
        samples = door.samples(folder, 2)
        more, fewer = next(samples)
        samples.close()
        entries = [ledger_entries(folder / side) for side in ("larger", "smaller")]
    assert more.charge == fewer.charge > 0
    assert entries[0] == entries[1]
    told = [[[words(release) for release in draw] for draw in sample.draws] for sample in (more, fewer)]
    assert told[0] == told[1]


def words(release: dict[str, Any]) -> dict[str, Any]:
    return {field: value for field, value in release.items() if field not in RANDOM}


def ledger_entries(folder: Path) -> list[tuple[Any, ...]]:
    found = []
    for path in sorted(folder.glob("*.ledger")):
        with Ledger.open(path) as ledger:
            lines = ledger.lines()
        found += [(line.number, line.predicate, line.charge, line.upper, line.rule_set) for line in lines]
    return found


REFUSED = [
    lambda s: s.dp_count(2, where="zip = '1'"),
    lambda s: s.dp_inconsistency("all", 2, by="zip", keys=["1"]),
    lambda s: s.dp_inconsistency("repair", 1, where="zip = '1' AND zip = '2'"),
    lambda s: s.dp_inconsistency("repair", 1, where="city > (SELECT 1)"),
    lambda s: s.dp_inconsistency("repair", 1, where="age = 'y'"),
    lambda s: s.dp_count(1, by="age", keys=["1", "01"]),
    lambda s: s.dp_inconsistency("drastic", 1, rate=True),
]


@pytest.mark.heavy
@pytest.mark.parametrize("write", [parquet, in_duckdb])
def test_neighbours_are_refused_in_the_same_words(write: Any, tmp_path: Path) -> None:
    said = []
    for rows in (FEWER, [*FEWER, *ONE_ROW], [*FEWER, *UNIT], []):
        place = tmp_path / str(len(rows))
        place.mkdir()
        with dpdb.open(write(place, rows), constraints=RULE, budget=1) as session:
            messages = []
            for ask in REFUSED:
                with pytest.raises(DpdbError) as refused:
                    ask(session)
                messages.append(str(refused.value))
            assert session.spent() == 0
            said.append([*messages, repr(session).replace(str(place), "")])
    assert all(messages == said[0] for messages in said)


def test_explain_is_the_same_for_neighbours(tmp_path: Path) -> None:
    said = []
    for rows in (FEWER, [*FEWER, *ONE_ROW], []):
        place = tmp_path / str(len(rows))
        place.mkdir()
        said.append(
            str(explain(parquet(place, rows), TWO_RULES, Ask("all", where="zip = '1'", epsilon=1))).replace(
                str(place), ""
            )
        )
    assert said[0] == said[1] == said[2]


def test_releases_whose_slices_share_a_row_add_up(tmp_path: Path) -> None:
    source, path = parquet(tmp_path, [*FEWER, *ONE_ROW]), tmp_path / "t.ledger"
    Ledger.create(path, 100).close()
    with dpdb.open(source, constraints=RULE, ledger=path) as session:
        sharing_slices(session)
        assert session.spent() == 2.5
        session.dp_inconsistency("repair", 2, where="zip = '2'")  # shares no row with the first, some with the second
        assert session.spent() == 3.25
        session.dp_inconsistency("repair", EPSILON, by="state", keys=["NY", "CA"])
    assert collected(path, ONE_ROW) == 5 * NANO
    assert collected(path, [FEWER[1]]) == 4.5 * NANO
    assert collected(path, [FEWER[2]]) == 0
    with Ledger.open(path) as ledger:
        covers = [region_from_text(line.predicate).covers(dict(zip(COLUMNS, ONE_ROW[0], strict=True)))
                  for line in ledger.lines()]  # fmt: skip
        assert covers == [True, True, False, True]
        assert ledger.spent_units() >= 5 * NANO
