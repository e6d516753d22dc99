"""What an owner does to a ledger: raised, retired; recorded for ever, and noticed when it is taken away."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from inside import file_of, state_of
from test_ledger_head import change
from text_reader import parse_where

from dpdb.errors import BudgetExceededError, LedgerError, ParameterError
from dpdb.ledger import Ledger, SourceMark
from dpdb.ledger.store.seals import FIRST, seal

SOURCE = SourceMark("table", "content")
TENTH = 10**8


def reserve(ledger: Ledger, tenths: int = 1, run_id: str | None = None) -> str | None:
    found = ledger.reserve(parse_where(""), tenths * TENTH, source=SOURCE, request="{}", run_id=run_id)
    found.close()
    return found.answer


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Ledger.create(tmp_path / "t.ledger", 1).close()
    return tmp_path / "t.ledger"


def test_a_raised_budget_grows_is_recorded_and_is_never_lowered(path: Path) -> None:
    with Ledger.open(path) as ledger, Ledger.open(path) as other:
        reserve(ledger, 10)
        with pytest.raises(BudgetExceededError):
            reserve(other)
        ledger.owner.raise_budget(2, who="ann", label="second year")
        reserve(other)  # which was open before
        assert (other.summary().budget, other.summary().spent) == (2.0, 1.1)
        for lower in (2, 1, "0.5"):
            with pytest.raises(ParameterError, match="can only be raised"):
                ledger.owner.raise_budget(lower)
    with Ledger.open(path) as again:
        assert again.summary().budget == 2.0
        [act] = again.acts()
        assert (act.after, act.kind, act.who, act.label, act.budget) == (1, "raise", "ann", "second year", 2.0)
        assert act.words == "budget raised from epsilon 1 to 2"


def test_the_epsilon_of_a_raise_is_at_the_ledgers_own_delta(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "z.ledger", notion="zcdp", epsilon=1, delta=1e-6) as ledger:
        ledger.owner.raise_budget(epsilon=2)
        with Ledger.create(tmp_path / "y.ledger", notion="zcdp", epsilon=2, delta=1e-6) as same:
            assert ledger.summary().budget == same.summary().budget


def test_nothing_is_released_from_a_retired_ledger(path: Path) -> None:
    with Ledger.open(path) as ledger, Ledger.open(path) as other:
        answered = ledger.reserve(parse_where(""), TENTH, source=SOURCE, request="{}", run_id="answered")
        ledger.record(answered, '"here"')
        answered.close()
        reserve(ledger, run_id="unanswered")
        under_way = other.reserve(parse_where(""), TENTH, source=SOURCE, request="{}")
        ledger.owner.retire(who="ann", label="study closed")
        words = r"was retired on 20\d\d-\d\d-\d\d by ann \(study closed\); no further release"
        for refused in (
            lambda: reserve(other),
            lambda: reserve(other, run_id="unanswered"),
            lambda: other.record(under_way, '"late"'),
            ledger.open_epoch,
            lambda: ledger.owner.raise_budget(5),
            lambda: ledger.owner.allow("30d", 1),
            ledger.owner.retire,
        ):
            with pytest.raises(LedgerError, match=words):
                refused()
        assert reserve(other, run_id="answered") == '"here"'
        found = other.summary()
        assert (found.releases, found.unanswered, found.may_cost) == (3, 2, 0.0)
        assert [line.answer for line in other.answers()] == ['"here"']


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE act SET detail = replace(detail, '2000000000', '9000000000')",
        "UPDATE act SET kind = 'retire'",
        "DELETE FROM act WHERE number = 1",
        "UPDATE act SET number = 7 WHERE number = 2",
    ],
)
def test_an_act_that_was_changed_or_removed_is_damage(damage: str, path: Path) -> None:
    with Ledger.open(path) as ledger:
        ledger.owner.raise_budget(2)
        ledger.owner.retire()
    change(path, damage)
    with pytest.raises(LedgerError, match="damaged"):
        Ledger.open(path)


def test_a_ledger_that_forgot_its_newest_act_is_lost(path: Path, tmp_path: Path) -> None:
    shutil.copy(path, tmp_path / "before")
    with Ledger.open(path) as ledger:
        ledger.owner.retire()
        change(path, "DELETE FROM act")
        with pytest.raises(LedgerError, match="lost its newest releases"):
            ledger.summary()
    with pytest.raises(LedgerError, match="lost its newest releases"):
        Ledger.open(path)
    path.write_bytes((tmp_path / "before").read_bytes())
    with pytest.raises(LedgerError, match="lost its newest releases"):
        Ledger.open(path)


ACTS: list[Callable[[Ledger], None]] = [
    lambda ledger: ledger.owner.raise_budget(2),
    lambda ledger: ledger.owner.allow("30d", 1),
    lambda ledger: ledger.owner.retire(),
]


@pytest.mark.parametrize("act", ACTS, ids=["raise", "allow", "retire"])
def test_the_head_counts_every_act_as_soon_as_it_is_done(act: Callable[[Ledger], None], path: Path) -> None:
    with Ledger.open(path) as ledger:
        act(ledger)
    change(path, "DELETE FROM act")
    with pytest.raises(LedgerError, match="lost its newest releases"):
        Ledger.open(path)


@pytest.mark.parametrize(
    ("kind", "detail"),
    [
        ("pause", '{"after": 0}'),
        ("retire", '{"after": 0, "until": "2030"}'),
        ("allow", '{"after": 0, "period": "fortnight", "units": 5}'),
    ],
)
def test_an_act_of_a_newer_version_is_not_ignored(kind: str, detail: str, path: Path) -> None:
    with Ledger.open(path) as ledger:
        line = (1, "2026-11-22T12:00:00.000+00:00", kind, detail, 1)
        sealed = seal(state_of(ledger).terms.key, "act", FIRST, line)
        file_of(ledger).change("INSERT INTO act VALUES (?, ?, ?, ?, ?, ?)", (*line, sealed))
        with pytest.raises(LedgerError, match="only a newer version of dpdb understands"):
            ledger.summary()


@pytest.mark.parametrize("name", ["a\nb", "", "x" * 201, "\x1b[31m", "a\u202eb"])
def test_who_and_label_are_short_printable_texts(name: str, path: Path) -> None:
    with Ledger.open(path) as ledger:
        for given in ({"who": name}, {"label": name}):
            with pytest.raises(ParameterError, match="1 to 200 printable characters"):
                ledger.owner.retire(**given)
        assert ledger.acts() == []
