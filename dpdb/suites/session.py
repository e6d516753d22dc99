"""`Session`: a session that runs suites of checks, tells where dirt is and discovers rules, too."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dpdb import release
from dpdb.constraints import DISTINCT_VALUES
from dpdb.errors import ParameterError
from dpdb.suites.check import check_columns, run_check
from dpdb.suites.counted import RulePlaces
from dpdb.suites.prepare import prepare_check
from dpdb.suites.results import CheckResults
from dpdb.suites.suite import Suite, SuiteLike, load_suite

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis
    from dpdb.rules import DiscoveredRules
    from dpdb.suites.truth import ExactCheck


class Session(release.Session):
    """A session as `dpdb.release.Session`, with `check`, `diagnose` and `discover`."""

    def check(
        self, suite: Suite | str | os.PathLike[str], epsilon: release.Epsilon = 1, **options: Any
    ) -> CheckResults:
        """Run a suite of checks: each rule passes or fails, and epsilon is spent on those that fail.

        All of `epsilon` is debited first; what was not needed is given back at the end (a ledger settles the debit).

        Parameters
        ----------
        suite : path, text or Suite
            Rules with limits; the session's constraints must have all its rules.
        epsilon : number
            To reserve.
        **options
            `confidence` (.99) of all verdicts together; `certain`, ``"fail"`` or ``"pass"``: the verdict that is not
            due to noise; `within`, by how many rows a pass may be beyond its limit, and else is `not shown`; `sizes`
            (False): every check gets a number from the start, for all of epsilon; `rho`, in place of epsilon on a zcdp
            ledger; `where`, or `by` and `keys`, as for releases; `keep`, a name under which later runs are free, and
            `runs`, how many there will be (365); `numbers`, epsilon or ``"left"``, to buy numbers for what a kept suite
            has left open; `run_id`, `label`, `who`; `day`, which `{date}` stands for; `now`,
            by which rows are fresh (the clock's).

        Raises
        ------
        DpdbError
            `BudgetExceededError`, `LedgerError`, `ParameterError` or `ConstraintSyntaxError`: nothing is spent.
            `EngineError`: after the debit; the same run id finishes the run.
        """
        loaded = suite
        if not isinstance(loaded, Suite):
            loaded = load_suite(loaded, self.public.opened.schema.names, date=options.get("day"))
        if not loaded.lines:
            return check_columns(self, loaded)
        with self._with_keys_of(loaded) as session:
            return run_check(session, prepare_check(session, loaded, epsilon=epsilon, **options))

    @contextmanager
    def _with_keys_of(self, suite: Suite) -> Iterator[Session]:
        """Lend a session that has the keys, too, whose values a suite counts: these are no rules of any session."""
        places = RulePlaces(self.public.constraints)
        counted = [line for line in suite.lines if line.statistic == DISTINCT_VALUES]
        keys = [line.rule for line in counted if line.rule is not None and places.find(line) is None]
        if not keys:
            yield self
            return
        own = self._spec.constraints
        rules = [] if own is None else [*own] if isinstance(own, (list, tuple)) else [own]
        with self.with_constraints([*rules, *keys]) as session:
            yield session

    def exact_checks(self, suite: Suite | SuiteLike, *, non_private: bool = False, **options: Any) -> list[ExactCheck]:
        """Return the true statistic and verdict of each limit of a suite. For the owner only: it is not private.

        Parameters
        ----------
        suite : path, text or Suite
            As of `check`.
        non_private : bool
            Must be True: the owner states that exact values may be shown.
        **options
            `where`, or `by` and `keys`, `day` and `now`, as of `check`.

        Raises
        ------
        ParameterError
            Without `non_private`; else as `check`.
        """
        from dpdb.suites.truth import exact_checks  # few sessions tell the truth

        if non_private is not True:
            raise ParameterError(
                "exact values are not private; only the owner of the data may ask, with --non-private "
                "(non_private=True)"
            )
        loaded = suite
        if not isinstance(loaded, Suite):
            loaded = load_suite(loaded, self.public.opened.schema.names, date=options.get("day"))
        with self._with_keys_of(loaded) as session:
            return list(exact_checks(prepare_check(session, loaded, **options), session._private))

    def diagnose(
        self,
        by: str | Sequence[str] | None = None,
        keys: Sequence[Any] | None = None,
        epsilon: release.Epsilon | None = None,
        *,
        who: str | None = None,
        **options: Any,
    ) -> Diagnosis:
        """Name the dirtiest slices of public keys, and the worst rule.

        Parameters
        ----------
        by, keys : str and list
            A column and the public list of its keys; several columns with a list of keys each: then the worst (column,
            key) is named with half of epsilon, and that column's slices with the rest.
        epsilon : number
            Privacy cost of the whole answer, however many slices there are; it has no default.
        who : str, optional
            Who asks, for a ledger's history.
        **options
            `top` (3): how many slices to name; `expected` ("1%"): compare by rows to delete beyond this share of the
            slice's rows; `rules`: name the worst rule, too; `measure`, ``"maximal_consistency"`` to compare decisions
            to clean, in bits, and not rows to delete; `where`, `confidence` (.95) of all bounds together,
            `run_id`, `label`, as for releases.

        Returns
        -------
        Diagnosis
            Names, bounds and cost.

        Raises
        ------
        DpdbError
            `BudgetExceededError`, `LedgerError`, `ParameterError`, `PredicateError` or `UnknownColumnError`: nothing is
            spent. `EngineError`: after the debit; the same run id finishes the run.
        """
        from dpdb.diagnosis import DiagnosisAsk, prepare_diagnosis, run_diagnosis  # few sessions diagnose

        ask = DiagnosisAsk.of({"by": by, "keys": keys, "epsilon": epsilon, **options})
        return run_diagnosis(self, prepare_diagnosis(self, ask, who=who))

    def receipts(
        self,
        *answers: release.Release | Sequence[release.Release] | CheckResults | Diagnosis | DiscoveredRules | str,
        key: str | os.PathLike[str],
    ) -> str:
        """Sign receipts of answers that the session's ledger has recorded. Spends nothing.

        Parameters
        ----------
        *answers : Release, several releases, CheckResults, Diagnosis, DiscoveredRules or str
            As the session has returned them, or the name of a run.
        key : path
            The private key, in another folder than the ledger; `dpdb receipts key` makes it.

        Returns
        -------
        str
            One line for each debit, for a file that `dpdb verify` reads.

        Raises
        ------
        ParameterError
            The session has no ledger, or the key cannot be used.
        LedgerError
            The ledger has no such debit; `RollbackError` if it has not what the key has signed.
        """
        from dpdb.receipts import Issuer, load_key  # few sessions sign

        if self._ledger is None:
            raise ParameterError("a receipt is of a ledger's debit: open the session with ledger=")
        with Issuer(self._ledger, load_key(os.fspath(key))) as issuer:
            found = dict.fromkeys(issuer.found(**one) for answer in answers for one in _recorded(answer))
            return "".join(issuer.issue(*one).decode() for one in found)

    def discover(
        self,
        top: int = 10,
        epsilon: release.Epsilon = 1,
        *,
        columns: Sequence[str] | None = None,
        run_id: str | None = None,
        label: str | None = None,
    ) -> DiscoveredRules:
        """Name dependencies and keys of the table that may hold; for its owner. The session's constraints do not count.

        Parameters
        ----------
        top : int
            How many dependencies are named, and a tenth as many keys, rounded up.
        epsilon : number
            What all names cost together; a zcdp ledger counts each name by itself.
        columns : sequence of str, optional
            The columns that are paired, chosen without looking at the data; by default all.
        run_id, label : str, optional
            As of releases.

        Returns
        -------
        DiscoveredRules
            Names without scores; `text` has them as a suite to edit.

        Raises
        ------
        DpdbError
            `BudgetExceededError`, `LedgerError` or `ParameterError`: nothing is spent. `EngineError`: after the debit;
            the same run id finishes the run.
        """
        from dpdb.owner import discover, prepare_discovery  # few sessions discover

        return discover(
            self, prepare_discovery(self, top=top, epsilon=epsilon, columns=columns, run_id=run_id, label=label)
        )


def _recorded(answer: object) -> list[dict[str, str | None]]:
    """Return the names under which a ledger has an answer: those of its releases, or that of its run."""
    if isinstance(answer, str):
        return [{"run_id": answer}]
    if isinstance(answer, CheckResults):
        return [{"run_id": answer.run_id, "suite": answer.name}]
    if isinstance(answer, release.Release):
        return [{"release_id": answer.release_id}]
    if isinstance(answer, Sequence):
        return [one for each in answer for one in _recorded(each)]
    run_id = getattr(answer, "run_id", None)
    if run_id is None:
        raise ParameterError(f"{type(answer).__name__}: no answer of a session; give releases, verdicts, or a run id")
    return [{"run_id": run_id}]


open = Session  # noqa: A001 - the public name is dpdb.open
