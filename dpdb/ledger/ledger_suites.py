"""`LedgerSuites`: what a ledger does for suites of checks: verdicts under one debit, with hidden thresholds.

Soundness of what is settled (of a pure ledger): for a full transcript each mechanism's factor is at most
its realised loss, and a suite's is its first share and its rings. It holds only if the hidden thresholds are drawn once
and never shown, if what a level found is recorded before anything of it leaves the process, and if a suite that stays
open while rows change is charged for every row at its whole epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dpdb.ledger.amounts import check_units
from dpdb.ledger.books import Books
from dpdb.ledger.debit import DECISION_SECONDS, Asked
from dpdb.ledger.reservation import SuiteReservation
from dpdb.ledger.store.file import RUN_WAIT
from dpdb.ledger.store.seals import SourceMark
from dpdb.ledger.suite_runs import Level, Opened, end_and_close, end_suite, open_suite, record_level
from dpdb.names import check_name
from dpdb.predicates import Region


class LedgerSuites:
    """The runs of suites that a ledger pays for; its `checks`."""

    def __init__(self, books: Books) -> None:
        self._books = books

    def open_suite(
        self,
        predicate: Region,
        charge: int,
        *,
        source: SourceMark,
        request: str,
        spec: str,
        make_secret: Callable[[], str],
        run_id: str,
        name: str | None = None,
        analyst: str | None = None,
        label: str | None = None,
        rule_set: str | None = None,
        deadline: float = DECISION_SECONDS,
        wait: float = RUN_WAIT,
    ) -> SuiteReservation:
        """Open a suite of checks: its debit, its public spec and its secret in one transaction; or go on with a run.

        The same run id gets the same suite, its secret and the levels that it has recorded, or its answer. With a
        `name` the suite is kept: the first run opens it, later ones (each with a run id of its own) pay nothing and
        test with the same secret; its whole charge stays until `close_suite`. Its runs come one after another.

        Parameters
        ----------
        predicate
            All rows that any check of the suite reads: of a kept suite every row, unless the ledger is append-only.
        charge
            In units of epsilon: all that the suite may cost, first share and rings; the ledger must be pure.
        source
            The marks of the table and its rows. A later run of a kept suite needs the table only, not the same rows.
        request
            JSON object of the public options.
        spec
            JSON object, public: rules, limits, levels, shares. Other runs of the suite must have the same.
        make_secret
            Draws the hidden thresholds, as text. Called once in the life of a suite.
        name
            To keep the suite under; None for one run.
        analyst, label, rule_set
            As of `Ledger.reserve`; only the owner, who is no analyst, opens a kept suite.

        Raises
        ------
        BudgetExceededError
            Some row may collect more than the budget; nothing was spent.
        LedgerError
            The ledger cannot be used or is not pure, is of another table or state of the rows; the run id was used for
            another request; the kept suite has another spec, charge or rows, was closed or has lost its secret; the
            clock is behind its newest run. Nothing was spent.
        PredicateError
            The predicate covers no row.
        """
        predicate.refuse_no_row()
        check_units(charge)
        asked = Asked(request, run_id, analyst, label, rule_set)
        asked.check_names()
        if name is not None:
            check_name("a suite's name", name)
        opened = Opened(predicate, charge, spec, make_secret, name)
        return open_suite(self._books, opened, source, asked, deadline=deadline, wait=wait)

    def record_level(
        self, run: SuiteReservation, level: int, answer: str, *, spent: int, failed: Iterable[str] = ()
    ) -> None:
        """Record the results of one level of a run, once; only afterwards may anything of them leave the process.

        Parameters
        ----------
        run
            The run, held.
        level
            From 1 on; of one run each once.
        answer
            The public text of what was found; given back as it is.
        spent
            Units that the whole suite has cost with this level: the first share and every ring so far.
        failed
            Names of the checks that failed at this level. They are not tested again until they are re-armed.

        Raises
        ------
        LedgerError
            It cannot be written, was recorded before, costs less than the levels before or more than was debited, or
            the suite has ended; what was found must not be published.
        """
        record_level(self._books, run, Level(level, answer, spent, tuple(failed)))

    def end_suite(self, run: SuiteReservation, answer: str, charge: int | None = None) -> None:
        """Record the answer of a run; a suite that is not kept is settled and its secret overwritten with it.

        One transaction, so a killed process has done all of it or nothing; its run id, asked again, does the rest. A
        kept suite stays open at its whole charge.

        Parameters
        ----------
        run
            The run, held, with its levels recorded.
        answer
            JSON object of what is published; only afterwards may it be.
        charge
            Units that the suite finally costs: at least what its levels do, at most the debit. Default: what its
            levels do. None of a kept suite.

        Raises
        ------
        LedgerError
            It cannot be written, there is an answer already, no level is recorded, or the charge is below the rings.
        ParameterError
            A charge is given for a run of a kept suite.
        """
        end_suite(self._books, run, answer, charge)

    def end_and_close(
        self, run: SuiteReservation, level: int, text: str, answer: str, *, spent: int, failed: Iterable[str] = ()
    ) -> None:
        """Record what all that a kept suite has left has bought, with the run's answer, and close the suite.

        One transaction: before it nothing was bought, after it the suite is settled and its secret overwritten.

        Parameters
        ----------
        run
            The run, held, with its levels recorded.
        level, text, spent, failed
            As of `record_level`; `spent` is what the suite finally costs.
        answer
            JSON object of what is published; only afterwards may it be.
        """
        end_and_close(self._books, run, Level(level, text, spent, tuple(failed)), answer)
