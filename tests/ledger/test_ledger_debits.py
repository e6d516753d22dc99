"""Debits of one ledger: what is allowed, what is refused, what a run id gives back, what an epoch costs."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from box_workload import box_workload
from inside import state_of
from text_reader import parse_where

from dpdb.errors import BudgetExceededError, LedgerError, ParameterError, PredicateError
from dpdb.ledger import Ledger, SourceMark
from dpdb.predicates.region import Region, region_from_text, region_to_text
from dpdb.predicates.value_sets import NAN, ValueSet
from dpdb.privacy import GDP, PURE, ZCDP

SOURCE = SourceMark("table", "content")
CHANGED = SourceMark("table", "other content")
TENTH = 10**8


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.create(tmp_path / "t.ledger", 1) as made:
        yield made


def spend(ledger: Ledger, where: str, tenths: int, source: SourceMark = SOURCE, run_id: str | None = None) -> None:
    with_answer = ledger.reserve(
        parse_where(where), tenths * TENTH, source=source, request=f'{{"where": "{where}"}}', run_id=run_id
    )
    with_answer.close()


def test_disjoint_releases_are_charged_once(ledger: Ledger) -> None:
    for where in ("a = 1", "a = 2", "a > 5"):
        spend(ledger, where, 10)
    assert (ledger.summary().spent, ledger.summary().sequential, ledger.summary().remaining) == (1.0, 3.0, 0.0)


def test_a_refusal_says_what_is_left_and_spends_nothing(ledger: Ledger, tmp_path: Path) -> None:
    spend(ledger, "age >= 65", 4)
    spend(ledger, "state = 'CA'", 3)
    with pytest.raises(BudgetExceededError) as caught:
        spend(ledger, "age BETWEEN 60 AND 70", 4)
    error = caught.value
    assert (error.exit_code, error.requested, error.remaining) == (4, 0.4, 0.3)
    assert "requested epsilon 0.4, remaining 0.3" in str(error)
    assert "state = 'CA'" in str(error)
    assert "(covered by 2 earlier releases)" in str(error)
    assert error.overlap is not None
    assert ledger.summary().releases == 2
    spend(ledger, "age BETWEEN 60 AND 70", 3)
    with Ledger.open(tmp_path / "t.ledger") as again:
        assert again.summary().spent == 1.0


def test_a_total_is_kept_to_the_last_unit(ledger: Ledger) -> None:
    def take(where: str, units: int) -> None:
        ledger.reserve(parse_where(where), units, source=SOURCE, request="{}").close()

    take("a = 1", 10 * TENTH - 1)
    with pytest.raises(BudgetExceededError):
        take("a < 5", 2)
    take("a < 5", 1)
    with pytest.raises(BudgetExceededError):
        take("a = 1", 1)


@pytest.mark.heavy(family="long")
def test_the_remaining_of_a_refusal_is_never_too_much(tmp_path: Path) -> None:
    """What a refusal says is left can be spent at once."""
    predicates, weights = box_workload(150, 2, 1, 0.7, seed=3)
    lefts = []
    with Ledger.create(tmp_path / "t.ledger", "0.2") as ledger:
        for predicate, weight in zip(predicates, weights, strict=True):
            left = _left_after(ledger, predicate, int(weight) * 10**6)
            if left is None:
                continue
            lefts.append(left)
            assert left < int(weight) * 10**6
            if left:
                assert _left_after(ledger, predicate, left) is None
    assert len(lefts) > 20
    assert any(lefts)


def _left_after(ledger: Ledger, predicate: Region, charge: int) -> int | None:
    """Units that a refusal leaves; None if the debit was allowed."""
    try:
        ledger.reserve(predicate, charge, source=SOURCE, request="{}", deadline=5.0)
    except BudgetExceededError as refused:
        return round((refused.remaining or 0.0) * 10**9)
    return None


def test_a_run_id_gives_back_its_answer(ledger: Ledger) -> None:
    asked = {"source": SOURCE, "request": "{}", "run_id": "monday"}
    first = ledger.reserve(parse_where("a = 1"), TENTH, **asked)  # type: ignore[arg-type]
    assert first.answer is None
    ledger.record(first, "[1]")
    with pytest.raises(LedgerError, match="has an answer already"):
        ledger.record(first, "[2]")
    first.close()
    again = ledger.reserve(parse_where("a = 1"), TENTH, **asked)  # type: ignore[arg-type]
    assert (again.answer, again.number, ledger.summary().releases) == ("[1]", first.number, 1)
    with pytest.raises(LedgerError, match="used for another request"):
        ledger.reserve(parse_where("a = 1"), TENTH, **{**asked, "request": '{"b": 1}'})  # type: ignore[arg-type]
    assert ledger.reserve(parse_where("a = 1"), TENTH, **{**asked, "source": CHANGED}).answer == "[1]"  # type: ignore[arg-type]


@pytest.mark.parametrize(("where", "charge"), [("a = 2", TENTH), ("a = 1", 2 * TENTH)])
def test_a_version_that_charges_otherwise_gives_the_answer_back_and_draws_no_new_one(
    where: str, charge: int, ledger: Ledger
) -> None:
    asked = {"source": SOURCE, "request": "{}", "run_id": "monday"}
    first = ledger.reserve(parse_where("a = 1"), TENTH, **asked)  # type: ignore[arg-type]
    first.close()
    with pytest.raises(LedgerError, match="charged otherwise now"):
        ledger.reserve(parse_where(where), charge, **asked)  # type: ignore[arg-type]
    less = ledger.reserve(parse_where("a = 1"), TENTH - 1, **asked)  # type: ignore[arg-type]
    assert (less.answer, less.number) == (None, first.number)  # what was debited is enough
    less.close()
    ledger.record(first, "[1]")
    assert ledger.reserve(parse_where(where), charge, **asked).answer == "[1]"  # type: ignore[arg-type]
    assert ledger.summary().spent == pytest.approx(0.1)


def test_a_release_of_no_row_is_refused_and_not_written(ledger: Ledger) -> None:
    nothing = parse_where("a = 1 AND a = 2")
    assert nothing.is_contradiction
    for ask in (lambda: ledger.reserve(nothing, TENTH, source=SOURCE, request="{}"),
                lambda: ledger.check_together([(parse_where(""), TENTH), (nothing, TENTH)])):  # fmt: skip
        with pytest.raises(PredicateError, match="selects no row"):
            ask()
    assert ledger.summary().releases == 0


def test_a_run_that_is_being_answered_is_locked(ledger: Ledger, tmp_path: Path) -> None:
    asked = {"source": SOURCE, "request": "{}", "run_id": "monday"}
    first = ledger.reserve(parse_where(""), TENTH, **asked)  # type: ignore[arg-type]
    with Ledger.open(tmp_path / "t.ledger") as other:
        with pytest.raises(LedgerError, match="answered by another process"):
            other.reserve(parse_where(""), TENTH, wait=0.05, **asked)  # type: ignore[arg-type]
        first.close()
        second = other.reserve(parse_where(""), TENTH, wait=0.05, **asked)  # type: ignore[arg-type]
        assert (second.answer, second.number) == (None, first.number)
        other.record(second, "[]")
        second.close()
    assert ledger.summary().releases == 1
    assert not [path for path in tmp_path.iterdir() if "-run-" in path.name]


def test_a_changed_source_waits_for_the_owner_and_epochs_add_up(ledger: Ledger) -> None:
    spend(ledger, "a = 1", 4)
    spend(ledger, "a = 2", 3, run_id="unanswered")
    for ask in (ledger.check_rows, lambda source: spend(ledger, "a = 1", 1, source)):
        with pytest.raises(LedgerError, match="dpdb budget epoch"):
            ask(CHANGED)
    assert ledger.open_epoch() == 2
    assert ledger.open_epoch() == 2  # nothing was released in it yet
    for rows in (SOURCE, CHANGED):  # the debit is of an epoch that is closed
        with pytest.raises(LedgerError, match="under a new run id"):
            spend(ledger, "a = 2", 3, rows, run_id="unanswered")
    with pytest.raises(BudgetExceededError, match=r"remaining 0\.6 .*earlier epochs took 0\.4"):
        spend(ledger, "a = 3", 7, CHANGED)
    spend(ledger, "a = 3", 5, CHANGED)
    assert ledger.summary().spent == pytest.approx(0.9)
    assert ledger.summary().epoch == 2


def test_another_open_ledger_follows_an_epoch(ledger: Ledger, tmp_path: Path) -> None:
    spend(ledger, "", 4)
    with Ledger.open(tmp_path / "t.ledger") as other:
        other.open_epoch()
        spend(other, "", 2, CHANGED)
    with pytest.raises(LedgerError, match="has changed"):
        spend(ledger, "", 1)
    assert ledger.summary().spent == pytest.approx(0.6)


@pytest.mark.parametrize("read", [{"columns": "a b"}, {"reading": "rule 1"}])
def test_an_append_only_ledger_takes_no_rows_whose_cells_are_read_otherwise(
    read: dict[str, str], tmp_path: Path
) -> None:
    """Either of the two tells how cells are read; new rows alone change nothing."""
    with Ledger.create(tmp_path / "t.ledger", 1, append_only=True) as ledger:
        for content in ("one row", "two rows"):
            ledger.reserve(parse_where(""), 1, source=SourceMark("t", content, **read), request="{}").close()
        other = SourceMark("t", "two rows", **read, read_as="cut at ;")
        with pytest.raises(LedgerError, match="nothing was released"):
            ledger.reserve(parse_where(""), 1, source=other, request="{}")
        assert ledger.spent_units() == 2


def test_an_append_only_ledger_accepts_new_rows(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "t.ledger", 1, append_only=True) as ledger:
        spend(ledger, "a = 1", 4)
        spend(ledger, "a = 1", 4, CHANGED)
        with pytest.raises(BudgetExceededError):
            spend(ledger, "a = 1", 4, CHANGED)
        with pytest.raises(LedgerError, match="another table"):
            spend(ledger, "a = 1", 1, SourceMark("other table", "content"))


def test_a_ledger_of_another_unit_is_refused(ledger: Ledger) -> None:
    spend(ledger, "", 1)
    with pytest.raises(LedgerError, match="1 rows per person, not for 3"):
        spend(ledger, "", 1, SourceMark("table", "content", 3))


def test_notions_never_mix(tmp_path: Path) -> None:
    with Ledger.create(tmp_path / "t.ledger", "0.5", "zcdp", delta=1e-6) as ledger:
        with pytest.raises(LedgerError, match="takes no pure charges"):
            ledger.reserve(parse_where(""), 1, source=SOURCE, request="{}")
        ledger.reserve(parse_where(""), ZCDP.charge_pure("0.8"), source=SOURCE, request="{}", notion="zcdp")
        summary = ledger.summary()
    assert (summary.spent, summary.remaining, summary.parameter) == (0.32, 0.18, "rho")
    assert 0.8 < summary.epsilon < 5.0


@pytest.mark.parametrize("notion", [ZCDP, GDP])
def test_a_budget_in_epsilon_never_promises_more(notion: object, tmp_path: Path) -> None:
    name = notion.name  # type: ignore[attr-defined]
    with Ledger.create(tmp_path / "t.ledger", notion=name, epsilon=2, delta=1e-6) as ledger:
        budget = state_of(ledger).terms.budget
        assert notion.epsilon(budget, 1e-6) <= 2 < notion.epsilon(budget + 10**7, 1e-6)  # type: ignore[attr-defined]
        assert ledger.summary().remaining ** (2 if notion is GDP else 1) <= budget / 10**12


@pytest.mark.parametrize(
    "wrong",
    [
        {"budget": 0}, {"budget": -1}, {"budget": "much"}, {"budget": 10**9}, {}, {"budget": 1, "epsilon": 1},
        {"budget": 1, "notion": "renyi"}, {"budget": 1, "delta": 0.1}, {"epsilon": 1, "notion": "gdp"},
        {"budget": 1, "notion": "gdp", "delta": 1.0},
    ],
)  # fmt: skip
def test_unusable_terms_are_refused(wrong: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(ParameterError):
        Ledger.create(tmp_path / "t.ledger", **wrong)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"charge": -1},
        {"charge": 0.5},
        {"charge": True},
        {"run_id": ""},
        {"run_id": "x" * 201},
        {"run_id": "\ud800"},
        {"run_id": 5},
    ],
)
def test_unusable_requests_are_refused(wrong: dict[str, object], ledger: Ledger) -> None:
    asked = {"predicate": parse_where(""), "charge": 1, "source": SOURCE, "request": "{}", **wrong}
    with pytest.raises(ParameterError):
        ledger.reserve(**asked)  # type: ignore[arg-type]


def test_history_keeps_every_debit(ledger: Ledger) -> None:
    spend(ledger, "a = 1", 4, run_id="x")
    [line] = ledger.history()
    assert (line.number, line.epoch, line.charge, line.rows, line.run_id) == (1, 1, 0.4, "a = 1", "x")
    assert (line.request, line.answered) == ({"where": "a = 1"}, False)


def test_the_files_are_the_owners_only(ledger: Ledger, tmp_path: Path) -> None:
    spend(ledger, "", 1)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600}
    assert "t.ledger-wal" in modes


@pytest.mark.parametrize(
    "predicate",
    [
        parse_where(""),
        parse_where("a = 1 AND a = 2"),
        parse_where("a <> 0.1 OR b IN ('x', 'it''s') AND c IS NULL"),
        parse_where("NOT (a BETWEEN 1e-3 AND 12345678901234567890)"),
        Region.of({"a": ValueSet.points([NAN, float("inf"), Fraction(1, 3)]), "b": ValueSet.only_null()}),
        Region.of({"a": ValueSet.points([float("-inf"), Fraction(-7, 3), -2, Fraction(-1, 3), Fraction(1, 3), 2])}),
    ],
)
def test_predicates_come_back_the_same(predicate: Region) -> None:
    assert region_from_text(region_to_text(predicate)).boxes == predicate.boxes


def test_a_pure_charge_is_exact() -> None:
    assert PURE.charge_pure("0.1") == TENTH
