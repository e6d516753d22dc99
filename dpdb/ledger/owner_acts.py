"""The owner's acts, each a sealed line: a budget raised, allowances, retirement; checks re-armed, suites closed."""

from __future__ import annotations

import json

from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger.amounts import budget_units, in_words
from dpdb.ledger.books import Books
from dpdb.ledger.debit import DECISION_SECONDS, Asked, forget, write_debit
from dpdb.ledger.limits import RefusedError, refuse_retired
from dpdb.ledger.store.clock import now
from dpdb.ledger.store.file import RUN_WAIT, UNSETTLED, RunLock
from dpdb.ledger.store.periods import parse_period
from dpdb.ledger.store.rows import ALLOW, RAISE, RETIRE, Act, Terms, act_detail
from dpdb.ledger.store.seals import FIRST, seal
from dpdb.ledger.store.state import insert
from dpdb.ledger.store.suite_lines import REARM, KnownSuite
from dpdb.ledger.suite_runs import insert_act, write_end
from dpdb.names import check_name, listed_names
from dpdb.predicates import region_from_text
from dpdb.privacy import Number
from dpdb.stopping import reached, unbroken


class OwnerActs:
    """The acts of a ledger's owner; its `owner`."""

    def __init__(self, books: Books) -> None:
        self._books = books

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

        Raises
        ------
        LedgerError
            The ledger cannot be used or was retired.
        """
        books = self._books
        state, terms = books.state, books.state.terms
        units, notion = budget_units(terms.notion, budget, epsilon, terms.delta), terms.notion
        check_names(who, label)
        with books.act():
            if units <= state.budget:
                raise ParameterError(
                    f"{books.file.shown}: the budget is {notion.parameter} {in_words(notion, state.budget)} "
                    f"and can only be raised, not set to {in_words(notion, units)}; nothing was changed"
                )
            _write(books, Act(now(), books.state.last, RAISE, who, label, {"budget": units}))

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
        with books.act():
            _write(books, Act(now(), books.state.last, RETIRE, who, label, {}))
            forgotten = forget(books)  # no run of a suite goes on
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

        Raises
        ------
        LedgerError
            The ledger cannot be used or was retired.
        """
        books = self._books
        state, terms = books.state, books.state.terms
        parsed = parse_period(period)
        ends = budget is None and epsilon is None
        units = None if ends else budget_units(terms.notion, budget, epsilon, terms.delta)
        check_names(who, label)
        with books.act():
            if ends and parsed not in state.acts.allowances:
                known = ", ".join(found.text for found in state.acts.allowances) or "none"
                raise ParameterError(f"{books.file.shown}: no allowance for {parsed.text} (there are: {known})")
            _write(books, Act(now(), books.state.last, ALLOW, who, label, {"period": parsed.text, "units": units}))

    def rearm(
        self,
        name: str,
        check: str,
        charge: int | None = None,
        *,
        who: str | None = None,
        label: str | None = None,
        deadline: float = DECISION_SECONDS,
    ) -> None:
        """Let a failed check of a kept suite be tested again. Free by itself: only its next ring costs something.

        Parameters
        ----------
        check
            Name of the failed check. Each limit of a line with two has the line's name and its severity in brackets;
            the line's name alone stands for those that have failed, which are re-armed one after the other.
        charge
            Units of a new debit, in the present epoch and for the same rows, that further rings may cost. Default:
            none, they are paid from what the suite has left.

        Raises
        ------
        BudgetExceededError
            The new debit does not fit; nothing was spent.
        LedgerError
            There is no such suite, it was closed, or the check has not failed since it was armed; nothing was spent.
        """
        self._books.refresh()
        checks = _failed_limits(_found(self._books, name), check)
        if len(checks) > 1 and charge is not None:
            raise ParameterError(
                f"{self._books.file.shown}: {check!r} has failed with two limits, name the one that is paid for: "
                f"{listed_names(checks)}; nothing was spent"
            )
        for each in checks:
            self._rearm(name, each, charge, (who, label), deadline)

    @unbroken()
    def _rearm(
        self, name: str, check: str, charge: int | None, by: tuple[str | None, str | None], deadline: float
    ) -> None:
        books, state, shown = self._books, self._books.state, self._books.file.shown
        who, label = by
        if charge is not None and (isinstance(charge, bool) or not isinstance(charge, int) or charge <= 0):
            raise ParameterError(f"a charge is a positive whole number of units, got {charge!r}")
        check_names(who, label)
        reached("re-arming")
        _ = state.index
        stored = ""
        try:
            with books.current():
                suite = _to_act_on(books, name)
                if suite.line.name is None:
                    raise LedgerError(f"{shown}: {name!r} is a run, and only checks of kept suites are re-armed")
                if check not in suite.failed:
                    known = listed_names(list(suite.failed)) or "none"
                    raise LedgerError(
                        f"{shown}: check {check!r} of kept suite {name!r} has not failed since it was armed (failed: "
                        f"{known}); nothing was spent"
                    )
                place, entry = state.next_place, None
                if charge is not None:
                    stored = state.entry(suite.line.entry).predicate
                    request = json.dumps({"suite": name, "rearm": check})
                    asked = Asked(request, None, None, label, None)
                    made = write_debit(books, stored, charge, None, asked, deadline=deadline)
                    answer = json.dumps({"suite": name, "rearmed": check})
                    row = state.answer_row(made.line.number, made.line.reserved, answer, (made.sealed, place))
                    insert(books.file, "answer", row)
                    place, entry = place + 2, made.line.number
                insert_act(books, suite, (REARM, act_detail({"check": check}, who, label), entry), place)
                reached("re-arming written")
        except RefusedError as refused:
            raise refused.in_words(state, region_from_text(stored), charge or 0, None) from None
        books.write_head()
        reached("re-armed")

    def close_suite(
        self, name: str, *, who: str | None = None, label: str | None = None, wait: float = RUN_WAIT
    ) -> None:
        """Close a kept suite, for ever: settle it once at what its levels cost, and overwrite its secret.

        Also a suite that is not kept whose process was killed, by its run id, where that is not asked for again: it
        publishes nothing more. Asked again, only what a killed process has left undone is done.

        Parameters
        ----------
        name
            The name of the kept suite, or the run id.

        Raises
        ------
        LedgerError
            There is no such suite, another process runs it, or the ledger cannot be used or was retired.
        """
        check_names(who, label)
        books = self._books
        books.refresh()
        kept = name in books.state.suites.named
        with RunLock(books.file, name, wait, "suite" if kept else "run"):
            _close(books, name, who, label)


@unbroken()
def _close(books: Books, name: str, who: str | None, label: str | None) -> None:
    state = books.state
    reached("closing")
    with books.file.debited(UNSETTLED):
        with books.current():
            suite = _found(books, name)
            if not state.is_answered(suite.line.entry):
                refuse_retired(state)
                write_end(books, suite, suite.spent, state.next_place, (who, label))
                reached("closing written")
        books.write_head()
        reached("secret overwritten")
        books.file.truncate_log()
    reached("closed")


def _found(books: Books, name: str) -> KnownSuite:
    state = books.state
    suite = state.suites.named.get(name) or state.suites.by_entry.get(state.runs.get(name, 0))
    if suite is None:
        known = listed_names(list(state.suites.named)) or "none"
        raise LedgerError(f"{books.file.shown}: no kept suite {name!r} (there are: {known}), and no run of a suite")
    return suite


def _failed_limits(suite: KnownSuite, check: str) -> list[str]:
    """Return the limits of a line of this name that have failed, if it is the name of no check itself."""
    limits = [f"{check} ({severity})" for severity in ("warn", "fail")]
    return [limit for limit in limits if limit in suite.failed and check not in suite.failed] or [check]


def _to_act_on(books: Books, name: str) -> KnownSuite:
    """An open suite, by its name or run id."""
    suite = _found(books, name)
    refuse_retired(books.state)
    if books.state.is_answered(suite.line.entry):
        at = suite.acts[-1].at if suite.acts else suite.at
        raise LedgerError(f"{books.file.shown}: {name!r} was closed on {at[:10]}; nothing was spent")
    return suite


def check_names(who: str | None, label: str | None) -> None:
    """Raise `ParameterError` if who acts or why is no name that a ledger keeps."""
    for what, name in (("who", who), ("a label", label)):
        if name is not None:
            check_name(what, name)


def first_allowance(terms: Terms, text: str, epsilon: Number) -> tuple[object, ...]:
    """Return the row of the act that gives a new ledger its first allowance.

    Parameters
    ----------
    text
        The period, as `parse_period` reads it.
    epsilon
        The allowance, as an epsilon at the ledger's delta.
    """
    units = budget_units(terms.notion, None, epsilon, terms.delta)
    detail = {"period": parse_period(text).text, "units": units}
    line = Act(terms.created, 0, ALLOW, None, None, detail).line(1, 1)
    return *line, seal(terms.key, "act", FIRST, line)


def _write(books: Books, act: Act) -> None:
    """Write an act inside a transaction; the next read of the ledger, by `write_head`, takes it in."""
    acts = books.state.acts
    insert(books.file, "act", acts.row(act.line(acts.last + 1, books.state.next_place)))
