"""The owner's acts on a ledger: raising its budget, retiring it, fixing allowances; each is one sealed line."""

from __future__ import annotations

from dpdb.errors import ParameterError
from dpdb.ledger.allowances import refuse_retired
from dpdb.ledger.amounts import budget_units, in_words
from dpdb.ledger.books import Books
from dpdb.ledger.store.acts import ALLOW, RAISE, RETIRE, Act, Acts
from dpdb.ledger.store.clock import now
from dpdb.ledger.store.periods import parse_period
from dpdb.ledger.store.state import insert
from dpdb.ledger.store.terms import Terms
from dpdb.ledger.suites.acts import SuiteActs, check_names
from dpdb.ledger.suites.held import forget
from dpdb.privacy import Number
from dpdb.stopping import unbroken

__all__ = ["OwnerActs", "first_allowance"]


class OwnerActs(SuiteActs):
    """A ledger with all acts of its owner; `Ledger` adds releases."""

    @unbroken()
    def raise_budget(
        self,
        budget: Number | None = None,
        *,
        epsilon: Number | None = None,
        who: str | None = None,
        label: str | None = None,
    ) -> None:
        """Make the total larger, for ever: the owner's word that more may be lost. It is recorded and never lowered.

        Parameters
        ----------
        budget, epsilon
            The new total, as for `create`; an epsilon is meant at the ledger's own delta.
        who, label
            Who does it and why, for the history.

        Raises
        ------
        ParameterError
            It is not more than the present total, or a number or name is not usable.
        LedgerError
            The ledger cannot be used or was retired.
        """
        books, state, terms = self._books, self._state, self._state.terms
        units, notion = budget_units(terms.notion, budget, epsilon, terms.delta), terms.notion
        check_names(who, label)
        with books.current():
            refuse_retired(state, books.file.shown)
            if units <= state.budget:
                raise ParameterError(
                    f"{books.file.shown}: the budget is {notion.parameter} {in_words(notion, state.budget)} "
                    f"and can only be raised, not set to {in_words(notion, units)}; nothing was changed"
                )
            _write(books, Act(now(), books.state.last, RAISE, who, label, {"budget": units}))
        books.write_head()

    @unbroken()
    def retire(self, *, who: str | None = None, label: str | None = None) -> None:
        """End the ledger, for ever: nothing is debited or answered any more; its records can still be read.

        A release that is under way in another process is not published.

        Raises
        ------
        ParameterError
            A name is not usable.
        LedgerError
            The ledger cannot be used or was retired before.
        """
        books = self._books
        check_names(who, label)
        with books.current():
            refuse_retired(books.state, books.file.shown)
            _write(books, Act(now(), books.state.last, RETIRE, who, label, {}))
            forgotten = forget(books)  # no run of a suite goes on
        books.write_head()
        if forgotten:
            books.file.truncate_log()

    @unbroken()
    def allow(
        self,
        period: str,
        budget: Number | None = None,
        *,
        epsilon: Number | None = None,
        who: str | None = None,
        label: str | None = None,
    ) -> None:
        """Let debits within a period cost at most so much together, from now on; the total holds beside it.

        An allowance paces the debits and gives nothing back: old releases never expire. Debits that were made before
        it count, too. Time is the machine's clock, and never goes back: a clock that is behind the newest debit counts
        as the time of that debit, so setting it back gives nothing.

        Parameters
        ----------
        period
            ``30d`` (any 30 days; also ``12h``, ``4w``), ``month`` or ``year`` (of the calendar, UTC), or the days of
            ``2026-12-01..2026-12-31``. The allowance of the same period that was there before ends; others hold, too.
        budget, epsilon
            How much, as for `create`; neither ends the allowance of this period.
        who, label
            Who does it and why, for the history.

        Raises
        ------
        ParameterError
            A period, number or name is not usable, or there is no such allowance to end.
        LedgerError
            The ledger cannot be used or was retired.
        """
        books, state, terms = self._books, self._state, self._state.terms
        parsed = parse_period(period)
        ends = budget is None and epsilon is None
        units = None if ends else budget_units(terms.notion, budget, epsilon, terms.delta)
        check_names(who, label)
        with books.current():
            refuse_retired(state, books.file.shown)
            if ends and parsed not in state.acts.allowances:
                known = ", ".join(found.text for found in state.acts.allowances) or "none"
                raise ParameterError(f"{books.file.shown}: no allowance for {parsed.text} (there are: {known})")
            _write(books, Act(now(), books.state.last, ALLOW, who, label, {"period": parsed.text, "units": units}))
        books.write_head()


def first_allowance(terms: Terms, text: str, epsilon: Number) -> tuple[object, ...]:
    """Return the row of the act that gives a new ledger its first allowance.

    Parameters
    ----------
    terms
        The terms of the new ledger.
    text
        The period, as `parse_period` reads it.
    epsilon
        The allowance, as an epsilon at the ledger's delta.
    """
    units = budget_units(terms.notion, None, epsilon, terms.delta)
    detail = {"period": parse_period(text).text, "units": units}
    acts = Acts()
    return acts.row(terms.key, acts.line(Act(terms.created, 0, ALLOW, None, None, detail), 1))


def _write(books: Books, act: Act) -> None:
    """Write an act inside a transaction; the next read of the ledger, by `write_head`, takes it in."""
    acts = books.state.acts
    insert(books.file, "act", acts.row(books.state.terms.key, acts.line(act, books.state.next_place)))
