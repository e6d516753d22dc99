"""The settlement of a debit: its real cost if that is less than the debit; once, and never more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dpdb.errors import LedgerError
from dpdb.ledger.allowances import refuse_retired
from dpdb.ledger.amounts import check_units
from dpdb.ledger.books import Books
from dpdb.ledger.store.clock import now
from dpdb.ledger.store.entry_lines import EntryLine
from dpdb.ledger.store.file import UNSETTLED
from dpdb.ledger.store.settlements import SettlementLine
from dpdb.ledger.store.state import LedgerState, insert
from dpdb.ledger.suites.held import refuse_suite
from dpdb.privacy import PURE
from dpdb.steps import reached
from dpdb.stopping import unbroken

__all__ = ["settle", "settlement_rows"]

_SECONDS = 1.0  # for a bound on the cost of a closed epoch, which may be loose but never too low


@unbroken()
def settle(books: Books, run: int | str, charge: int) -> None:
    """Lower the charge of a debit, by its number or run id; see `Ledger.settle`.

    Parameters
    ----------
    books
        The books of the ledger.
    run
        Number of the debit, or its run id.
    charge
        In units of epsilon, at least 0; at most what was debited.
    """
    check_units(charge)
    state, shown = books.state, books.file.shown
    reached("settling")
    with books.file.debited(UNSETTLED):
        with books.current():
            refuse_retired(state, shown)
            line = _debit(state, shown, run)
            refuse_suite(books, line.number)
            earlier = state.settlements.of(line.number)
            if earlier is None:
                _check(state, shown, line, charge)
                for row in settlement_rows(state, [(line, charge)], state.next_place):
                    insert(books.file, "settlement", row)
                reached("settlement written")
            elif earlier.charge != charge:
                raise LedgerError(f"{shown}: debit {line.number} was settled before, at another charge; that one stays")
        books.write_head()
    reached("settled")


def _debit(state: LedgerState, shown: str, run: int | str) -> EntryLine:
    number = state.runs.get(run) if isinstance(run, str) else run if 0 < run <= state.last else None
    if number is None:
        raise LedgerError(f"{shown}: no debit {run!r}, so nothing can be settled")
    return state.entry(number)


def _check(state: LedgerState, shown: str, line: EntryLine, charge: int) -> None:
    if state.terms.notion is not PURE:
        raise LedgerError(f"{shown}: a {state.terms.notion.name} ledger settles nothing; only a pure one does")
    if not state.is_answered(line.number):
        raise LedgerError(f"{shown}: debit {line.number} has no answer yet; it is settled once that is recorded")
    if charge > line.charge:
        raise LedgerError(f"{shown}: a settlement only lowers a debit; {UNSETTLED}")


def settlement_rows(state: LedgerState, charges: Sequence[tuple[EntryLine, int]], place: int) -> list[tuple[Any, ...]]:
    """Return rows that settle debits, one after another.

    Each has the new cost of its debit's epoch, if that is closed, and its seal last.

    Parameters
    ----------
    state
        The ledger.
    charges
        Debits, each with its settled charge.
    place
        The place of the first row among all lines of the ledger.
    """
    rows: list[tuple[Any, ...]] = []
    lowered: dict[int, int] = {}
    costs: dict[int, int] = {}
    before = state.settlements.before
    for nth, (line, charge) in enumerate(charges):
        lowered[line.number] = charge
        if line.epoch != state.epoch.number:
            index = state.epoch_lines(line.epoch, lowered).index
            earlier = costs.get(line.epoch, state.closed_cost(line.epoch))
            costs[line.epoch] = min(earlier, index.bound(_SECONDS).upper)
        number = state.settlements.last + 1 + nth
        made = SettlementLine(number, line.number, charge, now(), costs.get(line.epoch), None, place + nth)
        rows.append(state.settlements.row(state.terms.key, made, state.debits.seal_of(line.number), before=before))
        before = rows[-1][-1]
    return rows
