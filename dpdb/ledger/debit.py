"""One release in a ledger: its debit, in one transaction before any noise is drawn, and the record of its answer."""

from __future__ import annotations

from typing import NamedTuple

from dpdb.errors import LedgerError
from dpdb.ledger.allowances import refuse_retired
from dpdb.ledger.books import Books
from dpdb.ledger.limits import Limits, RefusedError
from dpdb.ledger.reservation import Reservation
from dpdb.ledger.runs import earlier_try
from dpdb.ledger.store.clock import now, present, written
from dpdb.ledger.store.entry_line import EntryLine
from dpdb.ledger.store.marks import SourceMark
from dpdb.ledger.store.seals import seal
from dpdb.ledger.store.state import insert
from dpdb.predicates import Region, region_from_text, region_to_text
from dpdb.steps import reached
from dpdb.stopping import unbroken

__all__ = ["Asked", "debit", "record"]


class Asked(NamedTuple):
    """The fields of an entry that describe its release, besides the charge."""

    request: str
    run_id: str | None
    analyst: str | None
    label: str | None
    rule_set: str | None


@unbroken()  # a signal waits for the commit, but not while another process holds the ledger
def debit(
    books: Books, predicate: Region, charge: int, source: SourceMark, asked: Asked, *, deadline: float
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
    """
    stored = region_to_text(predicate)
    predicate = region_from_text(stored)
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
                if known is not None and known.answer is not None:
                    return known
            refuse_retired(state, books.file.shown)
            if known is not None:
                return known
            binding.check_rows(source)
            clock = present()
            fits = Limits(state, books.file.shown, clock, state.index).decide(predicate, charge, deadline)
            binding.bind(source)
            line = EntryLine(
                number=state.last + 1,
                epoch=state.epoch.number,
                predicate=stored,
                charge=charge,
                upper=fits.upper,
                source_mark=binding.rows_mark(source),
                reserved=written(clock),
                **asked._asdict(),
                place=state.next_place,
            )
            sealed = seal(state.terms.key, "entry", state.before, line)
            insert(books.file, "entry", (*line, sealed))
            reached("inserted")
    except RefusedError as refused:  # the message is made after the transaction, while others may spend
        raise refused.in_words(state, predicate, charge) from None
    reached("reserved")
    state.add([line], [sealed])
    return Reservation(state.last, is_low=fits.is_low)


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
            if books.state.is_answered(reservation.number):
                raise LedgerError(f"{books.file.shown}: this run has an answer already; the new one is not published")
            insert(books.file, "answer", books.state.answer_row(reservation.number, now(), answer))
            reached("written")
        books.write_head()
    reached("recorded")
