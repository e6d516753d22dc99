"""Debits of suites: held while the suite is open, and nobody's but the suite's to answer and to settle."""

from __future__ import annotations

from collections.abc import Callable

from dpdb.errors import LedgerError
from dpdb.ledger.amounts import in_words
from dpdb.ledger.books import Books
from dpdb.ledger.store.state import LedgerState
from dpdb.predicates import Region, region_from_text

__all__ = ["forget", "held_for", "refuse_suite"]

_MOST_NAMED = 3


def held_for(analyst: str | None) -> Callable[[LedgerState, Region], str]:
    """Return a function that says, for a refusal, which open suites hold how much of these rows' budget.

    Parameters
    ----------
    analyst
        Who was refused: he is told of his own runs only; None for the owner, who is told of all.
    """

    def words(state: LedgerState, predicate: Region) -> str:
        notion, held = state.terms.notion, []
        for suite in state.suites.known:
            if state.is_answered(suite.line.entry):
                continue
            for entry in map(state.entry, suite.entries):
                if analyst in {None, entry.analyst} and region_from_text(entry.predicate).overlaps(predicate):
                    kept = suite.line.name
                    by = f"run {entry.run_id!r}" if kept is None else f"kept suite {kept!r}"
                    held.append(f"{notion.parameter} {in_words(notion, entry.charge)} is held by {by}")
        more = [f"more by {len(held) - _MOST_NAMED} others"] if len(held) > _MOST_NAMED else []
        return f"; {', '.join([*held[:_MOST_NAMED], *more])}" if held else ""

    return words


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
    entry
        Number of the debit.
    """
    if entry in books.state.suites.by_entry:
        raise LedgerError(
            f"{books.file.shown}: debit {entry} is of a suite of checks, which its own runs answer and settle; nothing "
            "was released"
        )
