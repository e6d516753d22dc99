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
from dpdb.ledger.suites.held import forget
from dpdb.names import check_name
from dpdb.privacy import Number
from dpdb.stopping import unbroken

__all__ = ["allow", "first_allowance", "raise_budget", "retire"]


@unbroken()
def raise_budget(
    books: Books, budget: Number | None, epsilon: Number | None, *, who: str | None, label: str | None
) -> None:
    """Make the total larger; see `Ledger.raise_budget`.

    Parameters
    ----------
    books
        The books of the ledger.
    budget, epsilon
        The new total; exactly one of the two is given (see `budget_units`).
    who, label
        Who does it and why, for the history; None for no word.
    """
    state, terms = books.state, books.state.terms
    units = budget_units(terms.notion, budget, epsilon, terms.delta)
    _check_names(who, label)
    with books.current():
        refuse_retired(state, books.file.shown)
        if units <= state.budget:
            raise ParameterError(
                f"{books.file.shown}: the budget is {terms.notion.parameter} {in_words(terms.notion, state.budget)} "
                f"and can only be raised, not set to {in_words(terms.notion, units)}; nothing was changed"
            )
        _write(books, Act(now(), books.state.last, RAISE, who, label, {"budget": units}))
    books.write_head()


@unbroken()
def retire(books: Books, *, who: str | None, label: str | None) -> None:
    """End the ledger; see `Ledger.retire`.

    Parameters
    ----------
    books
        The books of the ledger.
    who, label
        Who does it and why, for the history; None for no word.
    """
    _check_names(who, label)
    with books.current():
        refuse_retired(books.state, books.file.shown)
        _write(books, Act(now(), books.state.last, RETIRE, who, label, {}))
        forgotten = forget(books)  # no run of a suite goes on
    books.write_head()
    if forgotten:
        books.file.truncate_log()


@unbroken()
def allow(
    books: Books, text: str, budget: Number | None, epsilon: Number | None, *, who: str | None, label: str | None
) -> None:
    """Fix the allowance of a period, or end it; see `Ledger.allow`.

    Parameters
    ----------
    books
        The books of the ledger.
    text
        The period, as `parse_period` reads it.
    budget, epsilon
        The allowance, as one of the two; neither ends the allowance of the period.
    who, label
        Who does it and why, for the history; None for no word.
    """
    state, terms, period = books.state, books.state.terms, parse_period(text)
    ends = budget is None and epsilon is None
    units = None if ends else budget_units(terms.notion, budget, epsilon, terms.delta)
    _check_names(who, label)
    with books.current():
        refuse_retired(state, books.file.shown)
        if ends and period not in state.acts.allowances:
            known = ", ".join(found.text for found in state.acts.allowances) or "none"
            raise ParameterError(f"{books.file.shown}: no allowance for {period.text} (there are: {known})")
        _write(books, Act(now(), books.state.last, ALLOW, who, label, {"period": period.text, "units": units}))
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


def _check_names(who: str | None, label: str | None) -> None:
    for what, name in (("who", who), ("a label", label)):
        if name is not None:
            check_name(what, name)


def _write(books: Books, act: Act) -> None:
    """Write an act inside a transaction; the next read of the ledger, by `write_head`, takes it in."""
    acts = books.state.acts
    insert(books.file, "act", acts.row(books.state.terms.key, acts.line(act, books.state.next_place)))
