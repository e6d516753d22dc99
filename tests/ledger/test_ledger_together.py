"""Releases that are checked together: allowed exactly if their debits are, one after another."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from box_workload import box_workload
from text_reader import parse_where

from dpdb.errors import BudgetExceededError, LedgerError
from dpdb.ledger import Ledger, SourceMark
from dpdb.overlap import MOST_WEIGHT

SOURCE = SourceMark("table", "content")
TENTH = 10**8


@pytest.mark.heavy(family="spending")
def test_a_joint_check_says_what_the_debits_will(tmp_path: Path) -> None:
    predicates, weights = box_workload(90, 2, 1, 0.7, seed=4)
    releases = [(p, int(w) * 10**6) for p, w in zip(predicates, weights, strict=True)]
    verdicts = []
    with Ledger.create(tmp_path / "t.ledger", "0.15") as ledger:
        for first in range(0, len(releases), 3):
            together = releases[first : first + 3]
            before = ledger.summary()
            try:
                ledger.check_together(together, deadline=5.0)
            except BudgetExceededError:
                verdicts.append(False)
            else:
                verdicts.append(True)
            assert ledger.summary() == before  # nothing was spent
            allowed = True
            for predicate, charge in together:
                try:
                    ledger.reserve(predicate, charge, source=SOURCE, request="{}", deadline=5.0).close()
                except BudgetExceededError:
                    allowed = False
                    break
            assert verdicts[-1] == allowed
    assert 5 < sum(verdicts) < len(verdicts) - 5


def test_a_refusal_says_which_release_does_not_fit(tmp_path: Path) -> None:
    old, young = parse_where("age >= 65"), parse_where("age < 65")
    with Ledger.create(tmp_path / "t.ledger", 1) as ledger:
        ledger.check_together([(old, 10 * TENTH), (young, 10 * TENTH)])
        with pytest.raises(BudgetExceededError, match=r"release 3 of 3 requests epsilon 0\.1, .*nothing was spent"):
            ledger.check_together([(old, 10 * TENTH), (young, 5 * TENTH), (old, TENTH)])
        with pytest.raises(BudgetExceededError, match=r"requested epsilon 1\.1, remaining 1 "):
            ledger.check_together([(old, 11 * TENTH), (young, TENTH)])
        ledger.check_together([])
        assert ledger.summary().releases == 0


def test_a_full_ledger_takes_nothing_more_of_any_rows(tmp_path: Path) -> None:
    """The sum of all charges is a number of the file, however far the rows lie apart."""
    old, young, charge = parse_where("age >= 65"), parse_where("age < 65"), MOST_WEIGHT // 5 * 3
    with Ledger.create(tmp_path / "t.ledger", Decimal(MOST_WEIGHT).scaleb(-9)) as ledger:
        with pytest.raises(LedgerError, match="the ledger is full"):
            ledger.check_together([(old, charge), (young, charge)])
        ledger.reserve(old, charge, source=SOURCE, request="{}").close()
        with pytest.raises(LedgerError, match="the ledger is full"):
            ledger.reserve(young, charge, source=SOURCE, request="{}")
        with pytest.raises(BudgetExceededError, match="remaining"):  # not the file's number, but the budget of its rows
            ledger.reserve(old, charge, source=SOURCE, request="{}")
        assert ledger.summary().releases == 1
