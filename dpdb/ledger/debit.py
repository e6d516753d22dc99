"""One release in a ledger: its debit, in one transaction before any noise is drawn, and the record of its answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dpdb.errors import LedgerError
from dpdb.ledger.allowances import refuse_retired
from dpdb.ledger.books import Books
from dpdb.ledger.limits import Limits, RefusedError
from dpdb.ledger.reservation import Reservation
from dpdb.ledger.runs import earlier_try
from dpdb.ledger.store.clock import now, present, written
from dpdb.ledger.store.entry_lines import EntryLine
from dpdb.ledger.store.marks import SourceMark
from dpdb.ledger.store.state import insert
from dpdb.ledger.suites.held import held_for, refuse_suite
from dpdb.names import check_name
from dpdb.predicates import Region, region_from_text, region_to_text
from dpdb.steps import reached
from dpdb.stopping import unbroken

__all__ = ["DECISION_SECONDS", "Asked", "Written", "debit", "record", "write_debit"]

DECISION_SECONDS = 0.1
"""For the decision on a debit."""


class Asked(NamedTuple):
    """The fields of an entry that describe its release, besides the charge."""

    request: str
    run_id: str | None
    analyst: str | None
    label: str | None
    rule_set: str | None

    def check_names(self) -> None:
        """Raise `ParameterError` if one of the names is none that a ledger keeps."""
        names = self.run_id, self.analyst, self.label, self.rule_set
        for what, name in zip(("a run id", "an analyst", "a label", "a rule set"), names, strict=True):
            if name is not None:
                check_name(what, name)


class Written(NamedTuple):
    """A debit as it was inserted, before the commit: its line, its seal, and whether little is left."""

    line: EntryLine
    sealed: bytes
    is_low: bool


@unbroken()  # a signal waits for the commit, but not while another process holds the ledger
def debit(
    books: Books,
    predicate: Region,
    charge: int,
    source: SourceMark,
    asked: Asked,
    *,
    deadline: float,
    together_with: Callable[[Written], None] | None = None,
) -> Reservation:
    """Write the debit if no row collects more than the budget, or return an earlier try's reservation; see `reserve`.

    Parameters
    ----------
    books
        The books of the ledger.
    predicate
        The rows that the release covers.
    charge
        In units of the ledger's notion.
    source
        The marks of the table and its rows.
    asked
        Request, names and label of the release.
    deadline
        Seconds for the decision.
    together_with
        Writes further lines in the transaction of a new debit.
    """
    stored = region_to_text(predicate)
    state, binding = books.state, books.binding
    reached("asked")
    _ = state.index  # built before the transaction makes others wait
    try:
        with books.file.transaction():
            reached("begun")
            books.read()
            binding.check_table(source)
            known = None
            if asked.run_id is not None:
                known = earlier_try(
                    state, asked.run_id, (asked.request, asked.analyst), (stored, charge), binding.rows_mark(source)
                )
                if known is not None and together_with is None:
                    refuse_suite(books, known.number)
                if known is not None and known.answer is not None:
                    return known
            refuse_retired(state, books.file.shown)
            if known is not None:
                return known
            binding.check_rows(source)
            made = write_debit(books, stored, charge, source, asked, deadline=deadline)
            if together_with is not None:
                together_with(made)
            reached("inserted")
    except RefusedError as refused:  # the message is made after the transaction, while others may spend
        raise refused.in_words(state, region_from_text(stored), charge, held_for(asked.analyst)) from None
    reached("reserved")
    state.add([made.line])
    state.debits.append(made.sealed)
    return Reservation(state.last, is_low=made.is_low, is_new=True)


def write_debit(
    books: Books, stored: str, charge: int, source: SourceMark | None, asked: Asked, *, deadline: float
) -> Written:
    """Insert a debit in a transaction, after the ledger was read.

    Parameters
    ----------
    books
        The books of the ledger.
    stored
        The text of the rows that are charged.
    charge
        In units of the ledger's notion.
    source
        The marks of the table and its rows, to which the ledger is bound; None of a debit that reads no rows itself.
    asked
        Request, names and label.
    deadline
        Seconds for the decision.

    Raises
    ------
    RefusedError
        Some row may collect more than the total or an allowance.
    BudgetExceededError, RightsError
        The quota, the cap or the rights of the analyst do not suffice.
    """
    state, clock = books.state, present()
    limits = Limits(state, books.file.shown, clock, state.index, asked.analyst)
    fits = limits.decide(region_from_text(stored), charge, deadline)
    if source is not None:
        books.binding.bind(source)
    line = EntryLine(
        number=state.last + 1,
        epoch=state.epoch.number,
        predicate=stored,
        charge=charge,
        upper=fits.upper,
        source_mark=(state.epoch.source_mark or b"") if source is None else books.binding.rows_mark(source),
        reserved=written(clock),
        **asked._asdict(),
        place=state.next_place,
    )
    row: tuple[Any, ...] = state.debits.row(state.terms.key, line)
    insert(books.file, "entry", row)
    return Written(line, row[-1], fits.is_low)


@unbroken()
def record(books: Books, reservation: Reservation, answer: str) -> None:
    """Write the answer of a reservation, once; see `Ledger.record`.

    Parameters
    ----------
    books
        The books of the ledger.
    reservation
        The debit that is answered.
    answer
        The text of the answer.
    """
    reached("drawn")
    with books.file.debited():
        with books.current():
            refuse_retired(books.state, books.file.shown)
            refuse_suite(books, reservation.number)
            if books.state.is_answered(reservation.number):
                raise LedgerError(f"{books.file.shown}: this run has an answer already; the new one is not published")
            insert(books.file, "answer", books.state.answer_row(reservation.number, now(), answer))
            reached("written")
        books.write_head()
    reached("recorded")
