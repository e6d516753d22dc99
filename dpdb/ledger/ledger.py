"""`Ledger`: the durable record of the debits on one table, for any number of processes at once.

A release goes: one exclusive transaction checks that no row collects more than the budget and writes the debit; then
noise is drawn; then the answer is written; only then is it published. A crash in between wastes budget and never gives
it back. Within an epoch the rows stay as they are (or are only added to), so the cost is the overlap of the releases;
where rows may change, the owner opens a new epoch, and the total is the sum over epochs of their overlaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger.amounts import budget_units, check_units
from dpdb.ledger.books import other_ledgers
from dpdb.ledger.debit import DECISION_SECONDS, Asked, debit, record, settle
from dpdb.ledger.ledger_analysts import AnalystRights
from dpdb.ledger.ledger_suites import LedgerSuites
from dpdb.ledger.limits import check_together, refuse_retired
from dpdb.ledger.owner_acts import OwnerActs, first_allowance
from dpdb.ledger.reading import LedgerReading
from dpdb.ledger.reservation import Reservation
from dpdb.ledger.store.clock import now
from dpdb.ledger.store.file import RUN_WAIT, RunLock
from dpdb.ledger.store.head import create_file
from dpdb.ledger.store.rows import Epoch, Terms, epoch_row, terms_row
from dpdb.ledger.store.seals import SourceMark, new_key
from dpdb.predicates import Region
from dpdb.privacy import NOTIONS, Number
from dpdb.stopping import unbroken


class Ledger(LedgerReading):
    """An open ledger. Several may be open on one file, in one process or many; one object is not thread-safe.

    Use `Ledger.create` once, then `Ledger.open`.

    Attributes
    ----------
    owner : OwnerActs
        The owner's acts: a budget raised, allowances, retirement; checks re-armed, suites closed.
    rights : AnalystRights
        Whom the owner lets ask, and how much.
    checks : LedgerSuites
        The runs of suites of checks.
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.owner = OwnerActs(self._books)
        self.rights = AnalystRights(self._books)
        self.checks = LedgerSuites(self._books)

    @classmethod
    def create(
        cls,
        path: str | Path,
        budget: Number | None = None,
        notion: str = "pure",
        *,
        epsilon: Number | None = None,
        delta: float = 0.0,
        append_only: bool = False,
        at_most: Number | None = None,
        per: str | None = None,
    ) -> Ledger:
        """Make a ledger and open it. Its first release binds it to a table.

        Parameters
        ----------
        budget
            Total in the notion's parameter (epsilon, rho or mu), or:
        epsilon
            the epsilon that the total promises together with delta.
        notion
            `pure`, `zcdp` or `gdp`; fixed for ever.
        delta
            For reports of a zcdp or gdp ledger.
        append_only
            The owner declares that rows never change once written; then new rows need no new epoch.
        at_most, per
            An allowance from the beginning: an epsilon and its period; see `OwnerActs.allow`.

        Raises
        ------
        LedgerError
            The file exists or cannot be made.
        """
        if notion not in NOTIONS:
            raise ParameterError(f"unknown notion {notion!r}; known are {', '.join(NOTIONS)}")
        units = budget_units(NOTIONS[notion], budget, epsilon, delta)
        terms = Terms(NOTIONS[notion], units, float(delta), bool(append_only), now(), new_key())
        if (at_most is None) != (per is None):
            raise ParameterError(
                "--at-most and --per (at_most=, per=) go together: at most so much within every such period"
            )
        acts = [] if at_most is None or per is None else [first_allowance(terms, per, at_most)]
        create_file(Path(path), terms_row(terms), epoch_row(Epoch(1, terms.created), terms.key), acts)
        made = cls(path)
        if acts:
            try:
                made._books.write_head()
            except BaseException:
                made.close()
                raise
        return made

    def check_table(self, source: SourceMark) -> None:
        """Check that the ledger is of this table; an answered run may be asked for again whatever its rows are now.

        Raises
        ------
        LedgerError
            It is not; nothing was released.
        """
        with self._books.current():
            self._books.binding.check_table(source)

    def is_of_rows(self, source: SourceMark) -> bool:
        """Return whether the rows are those of the current epoch; in an append-only ledger they always are."""
        with self._books.current():
            return self._books.binding.is_of_rows(source)

    def check_rows(self, source: SourceMark) -> None:
        """Check that the ledger is of these rows, unless it is append-only, as a debit does.

        Raises
        ------
        LedgerError
            They have changed; nothing was released.
        """
        with self._books.current():
            self._books.binding.check_rows(source)

    def others(self, source: SourceMark) -> list[Path]:
        """Return ledgers beside this one for the same rows, as long as it is bound to none; see `other_ledgers`."""
        return other_ledgers(self._file.path, source) if self._state.terms.table_mark is None else []

    def reserve(
        self,
        predicate: Region,
        charge: int,
        *,
        source: SourceMark,
        request: str,
        notion: str = "pure",
        run_id: str | None = None,
        analyst: str | None = None,
        label: str | None = None,
        rule_set: str | None = None,
        deadline: float = DECISION_SECONDS,
        wait: float = RUN_WAIT,
    ) -> Reservation:
        """Debit a release, durably, before its noise is drawn; or return the recorded answer of its run.

        Parameters
        ----------
        predicate
            The rows that can change the answer; at least one that is possible.
        charge
            In units of `notion`, which must be the ledger's; see `Notion.charge` and `Notion.charge_pure`.
        request
            JSON object of the public options of the release.
        run_id
            A name for this run. Asked again, the same run gets the recorded answer and spends nothing; if it ended
            before it had one, it may draw now, under an exclusive lock.
        analyst
            Who asks, if the owner lets others ask; a run id is one analyst's.
        label
            The owner's word for this release, for the history.
        rule_set
            Digest or name of the constraints, for the history.

        Raises
        ------
        BudgetExceededError
            Some row may collect more than the budget; nothing was spent.
        LedgerError
            The ledger cannot be used, is of another table, notion or state of the rows, or the run id was used for
            another request.
        PredicateError
            The predicate covers no row: the charge would be for nothing.
        """
        predicate.refuse_no_row()
        if notion != self.notion.name:
            raise LedgerError(f"{self._file.shown}: a {self.notion.name} ledger takes no {notion} charges")
        check_units(charge)
        asked = Asked(request, run_id, analyst, label, rule_set)
        asked.check_names()
        if run_id is None:
            return debit(self._books, predicate, charge, source, asked, deadline=deadline)
        with ExitStack() as held:
            lock = held.enter_context(RunLock(self._file, run_id, wait))
            reservation = debit(self._books, predicate, charge, source, asked, deadline=deadline)
            if reservation.answer is None:
                held.pop_all()  # the caller releases it
                return replace(reservation, lock=lock)
        return reservation

    def check_together(
        self,
        releases: Sequence[tuple[Region, int]],
        deadline: float = DECISION_SECONDS,
        *,
        new_epoch: bool = False,
        analyst: str | None = None,
    ) -> None:
        """Check that releases could be debited one after another now, or in a new epoch; spend nothing.

        Another process may spend in between, so each of them is still decided by `reserve`.

        Parameters
        ----------
        releases
            Predicate and charge of each release, in the order of their debits.
        deadline
            Seconds for each decision.
        new_epoch
            Whether they would be debited in a new epoch.
        analyst
            Who asks, if the owner lets others ask.

        Raises
        ------
        BudgetExceededError
            One of them is refused, alone or with those before it.
        LedgerError
            The ledger is full or was retired.
        PredicateError
            One of them covers no row.
        """
        for predicate, _ in releases:
            predicate.refuse_no_row()
        self._books.refresh()
        check_together(self._state, releases, deadline, new_epoch=new_epoch, analyst=analyst)

    def record(self, reservation: Reservation, answer: str) -> None:
        """Write the answer of a reservation, once; publish it only afterwards.

        Raises
        ------
        LedgerError
            It cannot be written or there is one already; the new answer must not be published.
        """
        record(self._books, reservation, answer)

    def settle(self, run: Reservation | str, charge: int) -> None:
        """Lower the charge of an answered debit of a pure ledger to the real cost of its release, once.

        The debit itself stays as it is; the budget, allowances and the history count the settled charge from now on.
        Asked again with the same charge, nothing is changed, so a process that was killed may ask again.

        Parameters
        ----------
        run
            The reservation or the run id of the debit.
        charge
            In units of epsilon: the greatest cost of the published answer; at most the debit.

        Raises
        ------
        LedgerError
            There is no such debit, it has no answer yet, it was settled at another charge, the charge would be raised,
            or the ledger is of another notion, was retired or cannot be used; the whole debit stays charged.
        """
        settle(self._books, run.number if isinstance(run, Reservation) else run, charge)

    @unbroken()
    def open_epoch(self) -> int:
        """Close the current epoch and open the next: the owner's word that a changed source is the same table.

        Returns
        -------
        int
            Number of the new epoch. The cost of the closed epoch stays spent, for every row.

        Raises
        ------
        LedgerError
            The ledger cannot be used or was retired.
        """
        with self._books.act():
            return self._books.binding.open_epoch()

    @unbroken()
    def confirm_rows(self, source: SourceMark) -> int | None:
        """Open a new epoch if the rows have changed: the owner's word, given beforehand, that it is the same table.

        Returns
        -------
        int or None
            Number of the new epoch; None if the rows are those of the current one. Decided in one transaction, so two
            processes that give this word for the same rows open one epoch.

        Raises
        ------
        LedgerError
            The ledger cannot be used, is of another table or was retired.
        """
        with self._books.current():
            refuse_retired(self._state)
            self._books.binding.check_table(source)
            if self._books.binding.is_of_rows(source):
                return None
            number = self._books.binding.open_epoch()
        self._books.write_head()
        return number
