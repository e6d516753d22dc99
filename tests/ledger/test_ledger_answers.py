"""Recorded answers: sealed each on its own, given back as they were, and never drawn again when they are damaged."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from inside import state_of
from text_reader import parse_where

from dpdb.errors import LedgerError
from dpdb.ledger import Ledger, SourceMark

SOURCE = SourceMark("table", "content")
RUNS = ("a", "b", "c", "d")
REFUSED = r"damaged; nothing was released|lost its newest releases"


def ask(ledger: Ledger, run_id: str) -> str | None:
    """The recorded answer of a run; a new one is not drawn here."""
    found = ledger.reserve(parse_where("a = 1"), 1000, source=SOURCE, request="{}", run_id=run_id)
    found.close()
    return found.answer


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """Four answered runs, answered in another order than debited, and one that was not answered."""
    path = tmp_path / "t.ledger"
    with Ledger.create(path, 1) as ledger:
        found = {
            run: ledger.reserve(parse_where("a = 1"), 1000, source=SOURCE, request="{}", run_id=run)
            for run in (*RUNS, "unanswered")
        }
        for run in reversed(RUNS):
            ledger.record(found[run], f'[{{"release_id": "{run * 32}", "value": 1}}]')
        for reservation in found.values():
            reservation.close()
    return path


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


DAMAGE = {
    "blanked": ["UPDATE answer SET answer = '' WHERE number = 2"],
    "changed": ["UPDATE answer SET answer = replace(answer, '1', '2') WHERE number = 2"],
    "newest changed": ["UPDATE answer SET answer = '[]' WHERE number = 4"],
    "time changed": ["UPDATE answer SET answered = '2000-01-01' WHERE number = 2"],
    "removed": ["DELETE FROM answer WHERE number = 2"],
    "first removed": ["DELETE FROM answer WHERE number = 1"],
    "newest removed": ["DELETE FROM answer WHERE number = 4"],
    "all removed": ["DELETE FROM answer"],
    "numbered anew": ["DELETE FROM answer WHERE number = 1", "UPDATE answer SET number = number - 1"],
    "two swapped": [
        "UPDATE answer SET number = -2 WHERE number = 2",
        "UPDATE answer SET number = 2 WHERE number = 3",
        "UPDATE answer SET number = 3 WHERE number = -2",
    ],
    "two entries swapped": [
        "UPDATE answer SET entry = -1 WHERE number = 2",
        "UPDATE answer SET entry = 3 WHERE number = 3",
        "UPDATE answer SET entry = 2 WHERE number = 2",
    ],
    "moved to the unanswered": ["UPDATE answer SET entry = 5 WHERE number = 2"],
    "copied to the unanswered": [
        "INSERT INTO answer SELECT 5, 5, answered, answer, 8, seal FROM answer WHERE number = 4",
    ],
    "seal changed": ["UPDATE answer SET seal = zeroblob(32) WHERE number = 2"],
    "no table": ["DROP TABLE answer"],
}  # fmt: skip


@pytest.mark.heavy
@pytest.mark.parametrize("statements", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_answer_is_never_taken_for_none(statements: list[str], used: Path) -> None:
    change(used, *statements)
    with pytest.raises(LedgerError, match=rf"{REFUSED}|cannot be used"):
        Ledger.open(used)


def test_a_second_answer_is_damage_even_if_it_is_sealed(used: Path) -> None:
    """One draw per debit, also for what has the ledger's key and forgets that a table of answers has one per entry."""
    with Ledger.open(used) as ledger:
        *values, sealed = state_of(ledger).answer_row(1, "2026-11-22", "[2]")
    assert isinstance(sealed, bytes)
    row = ", ".join(map(repr, values))
    insert = f"INSERT INTO answer VALUES ({row}, x'{sealed.hex()}')"
    with pytest.raises(sqlite3.IntegrityError, match=r"UNIQUE constraint failed: answer\.entry"):
        change(used, insert)
    change(used, "CREATE TABLE loose AS SELECT * FROM answer", "DROP TABLE answer",
           "ALTER TABLE loose RENAME TO answer")  # fmt: skip
    Ledger.open(used).close()
    change(used, insert)
    with pytest.raises(LedgerError, match="damaged; nothing was released"):
        Ledger.open(used)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE answer SET answer = '' WHERE entry = 2",
        "DELETE FROM answer WHERE entry = 2",
        "UPDATE answer SET answer = (SELECT answer FROM answer WHERE entry = 3) WHERE entry = 2",
        "UPDATE entry SET request = '{ }' WHERE number = 2",
        "UPDATE entry SET run_id = 'z' WHERE number = 2",
        "DELETE FROM entry WHERE number = 2",
    ],
)
def test_a_run_whose_lines_are_damaged_while_the_ledger_is_open_draws_no_second_time(
    statement: str, used: Path
) -> None:
    with Ledger.open(used) as ledger:
        change(used, statement)
        with pytest.raises(LedgerError, match=REFUSED):
            ask(ledger, "b")
        with pytest.raises(LedgerError, match=REFUSED):
            ledger.answered("b", "{}")
        with pytest.raises(LedgerError, match=REFUSED):
            ledger.answers(run_id="b")


def test_an_answer_is_recorded_once_whoever_comes_second(used: Path) -> None:
    with Ledger.open(used) as one, Ledger.open(used) as two:
        first = one.reserve(parse_where("a = 1"), 1000, source=SOURCE, request="{}", run_id="unanswered")
        assert (first.number, first.answer) == (5, None)
        one.record(first, "[1]")
        with pytest.raises(LedgerError, match="has an answer already; the new one is not published"):
            two.record(first, "[2]")
        first.close()
        assert two.answered("unanswered", "{}") == "[1]"


def test_answers_are_shown_again_in_the_order_of_their_debits(used: Path) -> None:
    with Ledger.open(used) as ledger:
        before = ledger.summary()
        assert [(found.number, found.run_id) for found in ledger.answers()] == [(n, r) for n, r in enumerate(RUNS, 1)]
        [found] = ledger.answers(run_id="c")
        assert (found.number, found.request, found.answer) == (3, "{}", f'[{{"release_id": "{"c" * 32}", "value": 1}}]')
        assert ledger.answers(release_id="b" * 32) == ledger.answers(run_id="b")
        for nothing in ({"run_id": "unanswered"}, {"run_id": "e"}, {"release_id": "value"}, {"release_id": "b" * 31}):
            assert ledger.answers(**nothing) == []
        assert ledger.answers(run_id="b", release_id="c" * 32) == []
        assert ledger.summary() == before


def test_runs_are_found_by_name_also_those_of_other_processes(used: Path) -> None:
    with Ledger.open(used) as ledger, Ledger.open(used) as other:
        assert ledger.run_ids() == [*RUNS, "unanswered"]
        other.reserve(parse_where("a = 1"), 1000, source=SOURCE, request='{"later": 1}', run_id="later").close()
        assert ledger.run_ids()[-1] == "later"
        assert (ledger.request_of("later"), ledger.request_of("never")) == ('{"later": 1}', None)
        assert [ledger.is_debited(run) for run in ("a", "unanswered", "later", "never", None)] == [True] * 3 + [
            False
        ] * 2


def test_what_a_release_is_for_is_sealed_and_shown(tmp_path: Path) -> None:
    path = tmp_path / "t.ledger"
    with Ledger.create(path, 1) as ledger:
        words = {"analyst": "ann", "label": "für den Bericht", "rule_set": "ab" * 32}
        ledger.record(ledger.reserve(parse_where(""), 10, source=SOURCE, request="{}", **words), "[]")
        [line], [answer] = ledger.history(), ledger.answers()
        assert {name: getattr(line, name) for name in words} == words
        assert (answer.analyst, answer.label) == ("ann", "für den Bericht")
    for name in words:
        other = tmp_path / name
        other.write_bytes(path.read_bytes())
        other.chmod(0o600)
        change(other, f"UPDATE entry SET {name} = NULL")
        with pytest.raises(LedgerError, match="damaged"):
            Ledger.open(other)
