"""One release in a ledger: its debit, in one transaction before any noise is drawn, and the record of its answer.

A retry of a run spends nothing. A settlement lowers a debit to its real cost, once. Debits of suites are held while the
suite is open; only its own runs answer and settle them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dpdb.errors import LedgerError, RunIdError
from dpdb.ledger.amounts import check_units
from dpdb.ledger.books import Books
from dpdb.ledger.limits import Limits, RefusedError, refuse_retired
from dpdb.ledger.reservation import Reservation
from dpdb.ledger.store.clock import now, present, written
from dpdb.ledger.store.file import UNSETTLED
from dpdb.ledger.store.rows import EntryLine, SettlementLine
from dpdb.ledger.store.seals import SourceMark
from dpdb.ledger.store.state import LedgerState, insert
from dpdb.names import check_name
from dpdb.predicates import Region, region_from_text, region_to_text
from dpdb.privacy import PURE
from dpdb.stopping import reached, unbroken

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
                known = earlier_try(books, asked.run_id, (asked.request, asked.analyst), (stored, charge), source)
                if known is not None and together_with is None:
                    refuse_suite(books, known.number)
                if known is not None and known.answer is not None:
                    return known
            refuse_retired(state)
            if known is not None:
                return known
            binding.check_rows(source)
            made = write_debit(books, stored, charge, source, asked, deadline=deadline)
            if together_with is not None:
                together_with(made)
            reached("inserted")
    except RefusedError as refused:  # the message is made after the transaction, while others may spend
        raise refused.in_words(state, region_from_text(stored), charge, asked.analyst) from None
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
    limits = Limits(state, clock, state.index, asked.analyst)
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
    row: tuple[Any, ...] = state.debits.row(line)
    insert(books.file, "entry", row)
    return Written(line, row[-1], fits.is_low)


@unbroken()
def record(books: Books, reservation: Reservation, answer: str) -> None:
    """Write the answer of a reservation, once; see `Ledger.record`.

    Parameters
    ----------
    reservation
        The debit that is answered.
    """
    reached("drawn")
    with books.file.debited(), books.act():
        refuse_suite(books, reservation.number)
        if books.state.is_answered(reservation.number):
            raise LedgerError(f"{books.file.shown}: this run has an answer already; the new one is not published")
        insert(books.file, "answer", books.state.answer_row(reservation.number, now(), answer))
        reached("written")
    reached("recorded")


def earlier_try(
    books: Books, run_id: str, asked: tuple[str, str | None], charged: tuple[str, int], source: SourceMark
) -> Reservation | None:
    """The reservation of an earlier try of the same run, None if this is the first.

    The request decides whether the run is the same: an answer that an earlier version recorded is returned even if this
    version would charge other rows or another amount. Without an answer it would have to be drawn now, and then the
    debit must be enough: the same rows, at least the same amount.

    Parameters
    ----------
    books
        The books of the ledger.
    asked
        Its request and analyst; with a recorded, hence paid, answer nothing else is compared.
    charged
        The stored predicate and the charge of a draw now.
    source
        The marks of the table and its rows, as they are now.

    Raises
    ------
    RunIdError
        If it was another request, or has no answer and cannot get one: the rows changed, or the charge would differ.
    """
    state = books.state
    number = state.runs.get(run_id)
    if number is None:
        return None
    line = state.entry(number)
    if line.analyst != asked[1]:
        raise used_by_another(run_id)
    if line.request != asked[0]:
        raise RunIdError(f"run id {run_id!r} was used for another request; give every request its own run id")
    answer = state.answer(number)
    if answer is not None:
        return Reservation(number, answer)
    if line.predicate != charged[0] or line.charge < charged[1]:
        raise RunIdError(
            f"run id {run_id!r} ended without an answer, and the same request is charged otherwise now; ask again "
            "under a new run id"
        )
    if not books.binding.is_row_of(line, source):
        raise RunIdError(
            f"run id {run_id!r} ended without an answer before the source changed; ask again under a new run id"
        )
    return Reservation(number)


def used_by_another(run_id: str) -> RunIdError:
    """Return the refusal of a run id that is another asker's; it does not say whose."""
    return RunIdError(f"run id {run_id!r} was used under another name (--who, who=); run ids are one asker's")


_SECONDS = 1.0  # for a bound on the cost of a closed epoch, which may be loose but never too low


@unbroken()
def settle(books: Books, run: int | str, charge: int) -> None:
    """Lower the charge of a debit, by its number or run id; see `Ledger.settle`.

    Parameters
    ----------
    charge
        In units of epsilon, at least 0; at most what was debited.
    """
    check_units(charge)
    state, shown = books.state, books.file.shown
    reached("settling")
    with books.file.debited(UNSETTLED), books.act():
        line = _debit(state, run)
        refuse_suite(books, line.number)
        earlier = state.settlements.of(line.number)
        if earlier is None:
            _check(state, line, charge)
            for row in settlement_rows(state, [(line, charge)], state.next_place):
                insert(books.file, "settlement", row)
            reached("settlement written")
        elif earlier.charge != charge:
            raise LedgerError(f"{shown}: debit {line.number} was settled before, at another charge; that one stays")
    reached("settled")


def _debit(state: LedgerState, run: int | str) -> EntryLine:
    number = state.runs.get(run) if isinstance(run, str) else run if 0 < run <= state.last else None
    if number is None:
        raise LedgerError(f"{state.file.shown}: no debit {run!r}, so nothing can be settled")
    return state.entry(number)


def _check(state: LedgerState, line: EntryLine, charge: int) -> None:
    shown = state.file.shown
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
        rows.append(state.settlements.row(made, before=before))
        before = rows[-1][-1]
    return rows


def forget(books: Books, suite: int | None = None) -> bool:
    """Overwrite salt and secret of a suite, or of all; the caller truncates the log after the commit.

    Parameters
    ----------
    books
        The books of the ledger, inside a transaction.
    suite
        Number of the suite; None for all.

    Returns
    -------
    bool
        Whether there was a secret.
    """
    of = "secret IS NOT NULL" if suite is None else f"suite = {suite}"
    return books.file.change(f"UPDATE suite_secret SET salt = NULL, secret = NULL WHERE {of}") > 0


def refuse_suite(books: Books, entry: int) -> None:
    """Raise `LedgerError` if a debit is of a suite: only the suite's own runs and acts answer and settle it.

    Parameters
    ----------
    books
        The books of the ledger, inside a transaction.
    """
    if entry in books.state.suites.by_entry:
        raise LedgerError(
            f"{books.file.shown}: debit {entry} is of a suite of checks, which its own runs answer and settle; nothing "
            "was released"
        )
