"""`Session`: one table, its constraints, its budget; `dp_inconsistency`: one release in a session of its own."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, Self, TypeVar, Unpack, overload

from dpdb.constraints import ConstraintsLike
from dpdb.engine import SETTINGS, Progress, TableSettings, TableSpec, no_progress, with_settings
from dpdb.errors import EngineError, LittleBudgetWarning, ParameterError, SourceError, UnansweredError
from dpdb.names import nearest_words
from dpdb.opening import is_remote, open_table
from dpdb.release.account import Budget, as_budget
from dpdb.release.ask import OPTIONS, Ask, Epsilon, EveryCountOption, EveryMeasureOption, Key, Measure
from dpdb.release.costs import Charge
from dpdb.release.prepare import Prepared, PublicTable, prepare
from dpdb.release.privacy_unit import unit_of, unit_of_table
from dpdb.release.publish import publish, publish_answer, publish_suite
from dpdb.release.published.release import Release, Releases
from dpdb.release.statistics import PrivateSlices
from dpdb.release.verbs import Verbs, spelled
from dpdb.sources import SourceLike
from dpdb.stopping import Closing

if TYPE_CHECKING:
    from dpdb.engine import MachineLimits, Table
    from dpdb.ledger import RecordedLevel, RecordedRearm
    from dpdb.privacy import Notion
    from dpdb.release.account import Account, AnswerRun, SuiteRun
    from dpdb.release.other_tables import OtherTables
    from dpdb.release.pair import PairRun

_Given = ParamSpec("_Given")
_Read = TypeVar("_Read")
_Answer = TypeVar("_Answer")


class Session(Verbs, Closing):
    """One table, its constraints and its budget, for any number of releases.

    Use it as a context manager: leaving it drops the private database and its temporary files. Not thread-safe.

    Parameters
    ----------
    source : path, connection, relation, Arrow object or TableSpec
        Only read, never written. A `TableSpec` has the settings of the table, too.
    constraints : path, text, list of texts or of `DenialConstraint`, optional
        Public. None is for counts of rows only.
    table : str, optional
        Table or view of a DuckDB file or connection.
    budget : number or Budget, optional
        Total epsilon of the session; None means unlimited, and the repr says so. Sessions may share a `Budget`.
    ledger : path, optional
        Durable budget of the table, made with `dpdb budget create`; with `budget` too, the smaller of both holds.
    parent_ledgers : mapping of name to path, optional
        Durable budgets of other private tables that answers look into: parents, where a row is the unit
        (`max_children`), and tables that suites compare. Each is debited what such an answer costs, too.
    rows : bool
        False for a session that only prepares releases (see `prepare`): of files that are plain tables no row is read.
    progress : callable, optional
        Called with the name of each long step; never with a number.
    **settings
        By name; `dpdb.engine.TableSpec` says what each is. How the table is read: `csv_schema`, `delimiter`,
        `public_parents`, `private_parents`. What is protected: one row, or as `rows_per_person`, `unit` and `max_rows`,
        `max_children` say. Public sizes: `row_bound`, `max_group`, `gather_rows`. Limits of the private database:
        `memory_limit`, `temp_directory`, `threads`.

    Attributes
    ----------
    constraints : tuple of DenialConstraint
    public : PublicTable
        What releases are prepared from.

    Raises
    ------
    DpdbError
        `SourceError`, `ConstraintSyntaxError`, `UnknownColumnError`, `ConstraintTypeError` or `ParameterError`; nothing
        of the table's rows is in their messages.
    """

    @with_settings
    def __init__(
        self,
        source: SourceLike | TableSpec,
        *,
        constraints: ConstraintsLike | None = None,
        table: str | None = None,
        budget: Epsilon | Budget | None = None,
        ledger: str | Path | None = None,
        parent_ledgers: Mapping[str, str | Path] | None = None,
        rows: bool = True,
        progress: Progress = no_progress,
        **settings: Unpack[TableSettings],
    ) -> None:
        spec = TableSpec.of(source, settings, constraints=constraints, table=table)
        self._reads_rows, self._progress = rows, progress
        self._parent_ledgers = parent_ledgers or {}
        self._begin(open_table(spec, rows=rows, progress=progress), spec, as_budget(budget), ledger)
        if parent_ledgers:
            with ExitStack() as on_error:
                on_error.callback(self.close)
                _ = self._tables
                on_error.pop_all()

    def _begin(self, table: Table, spec: TableSpec, budget: Budget, ledger: str | Path | None) -> None:
        self._closed = self._has_warned = False
        self._table, self._spec, self._budget, self._ledger = table, spec, budget, ledger
        self._own_account: Account = budget
        self._payer: Account | None = None
        self._compares_rows = False
        self._origin: Session | None = None
        self._other_tables: OtherTables[Session] | None = None
        self._beside: list[Session] = []
        try:
            protected = unit_of_table(unit_of(spec.change), table)
            if spec.is_compared:
                protected = protected.in_other_table()
            table.admit(spec.sizes.row_bound)
            if ledger is not None:
                from dpdb.release.ledger_account import LedgerAccount  # loads ledger and solver

                account = LedgerAccount(
                    ledger,
                    budget=budget,
                    schema=table.schema,
                    read_as=table.read_as,
                    reading=table.reading,
                    opened=table.opened_content(),
                    unit=protected,
                )
                self._own_account, self._compares_rows = account, account.compares_rows
        except BaseException:
            table.close()
            raise
        self.public = PublicTable(table, protected, spec.sizes.max_group)
        self.constraints = self.public.constraints
        self._private = PrivateSlices(table)
        self._without_rows: PrivateSlices | None = None

    def with_constraints(self, constraints: ConstraintsLike | None) -> Self:
        """Return a session of the same rows and the same budget under other constraints.

        The source is not opened again. It ends with this session; it may be closed before.
        """
        self._refuse_closed()
        other = type(self).__new__(type(self))
        other._reads_rows, other._progress = self._reads_rows, self._progress
        other._parent_ledgers = self._parent_ledgers
        other._begin(self._table.with_constraints(constraints), self._spec, self._budget, self._ledger)
        other._origin = self
        self._beside.append(other)
        return other

    # -- releases ---------------------------------------------------------------------------------------------

    def release(self, ask: Ask, *, who: str | None = None) -> Releases:
        """Make the releases of an ask, as `dp_inconsistency` and `dp_count` do, with their errors.

        `who` asks, as the owner calls him: for the ledger's history, where a run id is one asker's.

        The release must read the table that was opened: this is checked before the debit and after the draw, on every
        account. An account that compares no rows learns only after a draw that the rows of another engine have changed;
        after a failed release they are compared before the next debit.
        """
        prepared = self.prepare(ask, who=who)
        return self._publish_compared(
            prepared.load,
            prepared.rehearse,
            lambda: prepared.draw(self._private, self._progress),
            lambda load, draw: publish(self._account, prepared.charge, load, draw),
        )

    def release_answer(self, run: AnswerRun) -> str:
        """Make an answer that is no release, under one debit; the table is compared as for `release`."""
        self._refuse_closed()
        self._refuse_run_id_without_ledger(run.charge.run_id)
        return self._publish_compared(
            run.load,
            run.rehearse,
            lambda: run.draw(self._private, self._progress),
            lambda load, draw: publish_answer(self._account, run.charge, load, draw),
        )

    def run_suite(self, run: SuiteRun) -> str:
        """Make one run of a suite of checks; its tables are compared as for `release`. Returns the answer as JSON."""
        self._refuse_closed()
        others = {name: self.other_table(name) for name in run.others}
        account = self._paid_with([other for name, other in others.items() if self.is_private(name)])

        def compare_rows() -> None:
            for session in (self, *others.values()):
                session._compare_rows()

        return self._publish_compared(
            run.load,
            run.rehearse,
            lambda held: run.read(self._private, held, self._progress, compare_rows),
            lambda load, read: publish_suite(account, run, load, read),
            beside=[(other, partial(run.rehearse_beside, name)) for name, other in others.items()],
        )

    # -- other tables -------------------------------------------------------------------------------------------

    def other_table(self, name: str) -> Session:
        """Return a session of another table that answers look into, opened when it is first asked for.

        Raises
        ------
        ParameterError
            If nobody has said whether its rows are private, or a table that has a ledger looks into a private one that
            has none.
        DpdbError
            As for `Session`.
        """

        def opened(spec: TableSpec, ledger: str | Path | None) -> Session:
            budget = None if ledger is not None else self._budget
            return Session(spec, ledger=ledger, budget=budget, rows=self._reads_rows, progress=self._progress)

        return self._tables.session(name, opened, has_ledger=self.has_ledger)

    def is_private(self, name: str) -> bool:
        """Return whether the rows of another table are protected."""
        return self._tables.is_private(name)

    def look_into(self, tables: Mapping[str, Session]) -> None:
        """Give sessions of other private tables, which end after this one: they pay for what looks into them."""
        self._tables.know(tables)

    def side(self) -> tuple[PublicTable, PrivateSlices]:
        """Return its table, as other tables' suites look into it. The second part is private."""
        return self.public, self._private

    def charge_of_others(self, charge: Charge) -> Charge:
        """Return what an answer with this charge costs the accounts of other private tables."""
        from dpdb.release.pair import AccountWithOthers  # few tables look into others

        return AccountWithOthers(self._own_account, []).of_others(charge)

    def check_others(self, run: SuiteRun) -> None:
        """Raise as `check_together` if the accounts of tables that a run compares cannot pay for it; spend nothing."""
        for name in run.others if self.opens_suite(run) else ():
            if self.is_private(name):
                self.other_table(name).check_together([self.charge_of_others(run.charge)])

    @property
    def _tables(self) -> OtherTables[Session]:
        """The tables that it looks into: one session of each, also under other constraints."""
        if self._origin is not None:
            return self._origin._tables
        if self._other_tables is None:
            from dpdb.release.other_tables import OtherTables  # few tables look into others

            self._other_tables = OtherTables(self._spec, self._parent_ledgers)
        return self._other_tables

    @property
    def _account(self) -> Account:
        """Its account, with those of private parents, which pay for every answer; known when it is first asked for."""
        if self._payer is None:
            self._payer = self._paid_with([])
        return self._payer

    @property
    def _paying(self) -> list[Session]:
        """The sessions of private parents whose ledgers pay for every answer.

        With a unit that has its rows in all tables there is one ledger, which is that of the unit.
        """
        children = self.public.unit.children
        if children is None or not self._tables.has_ledgers(self._ledger):
            return []
        return [self.other_table(name) for name in children.parents]

    def _paid_with(self, others: Sequence[Session]) -> Account:
        """Return its account, or one in which those of other tables pay, too; each once."""
        accounts = {id(other._own_account): other._own_account for other in (*self._paying, *others)}
        accounts.pop(id(self._own_account), None)
        if not accounts:
            return self._own_account
        from dpdb.release.pair import AccountWithOthers

        return AccountWithOthers(self._own_account, [*accounts.values()])

    def release_with(self, other: Session, run: PairRun) -> str:
        """Make an answer about this table, the left one, and another session's, under one debit of each.

        Both accounts are debited before a row of either table is read; both tables are compared as for `release`.
        """
        from dpdb.release.pair import AccountsTogether  # most answers are about one table

        for session, charge in zip((self, other), run.charges, strict=True):
            session._refuse_closed()
            session._refuse_run_id_without_ledger(charge.run_id)
        payer = AccountsTogether([(self._account, run.charges[0]), (other._account, run.charges[1])])
        return self._publish_compared(
            run.load,
            lambda slices: run.rehearse("left", slices),
            lambda: run.draw(self._private, other._private, self._progress),
            lambda load, draw: other._publish_compared(
                load,
                lambda slices: run.rehearse("right", slices),
                draw,
                lambda load, draw: publish_answer(payer, run.charges[0], load, draw),
            ),
        )

    def prepare(self, ask: Ask, *, who: str | None = None) -> Prepared:
        """Check everything public about a release; the result has its `charge`.

        Reads no row, draws nothing, spends nothing. Errors as the release, except that the budget is not asked.
        """
        self._refuse_closed()
        _ = self._account  # refused as long as one of several ledgers is not known
        prepared = prepare(self.public, ask, who=who)
        if any(part.brings_rows(self._table) for part in prepared.parts):
            self._table.admit_graph()
        self._refuse_run_id_without_ledger(ask.run_id)
        return prepared

    def _publish_compared(
        self,
        load: Callable[[], object],
        rehearse: Callable[[PrivateSlices], object],
        read: Callable[_Given, _Read],
        publish: Callable[[Callable[[], object], Callable[_Given, _Read]], _Answer],
        beside: Sequence[tuple[Session, Callable[[PrivateSlices], object]]] = (),
    ) -> _Answer:
        """Publish what `load` and `read` make, with the table compared before the debit and when it was read.

        What `read` will ask another engine is asked of no rows before the debit, too, by `rehearse`. So it is of the
        tables `beside`, each with what will be asked of it.
        """
        tables = [(self, rehearse), *beside]
        if not all(table._reads_rows for table, _ in tables):
            raise ParameterError("this session was opened without rows (rows=False): it rehearses releases only")
        with ExitStack() as since_read:

            def load_compared() -> None:
                for table, _ in tables:
                    table._compare_rows()
                load()
                for table, asked in tables:
                    table._ask_of_no_rows(asked)

            def read_compared(*args: _Given.args, **named: _Given.kwargs) -> _Read:
                for table, _ in tables:
                    since_read.enter_context(table._private.forgotten_if_unpublished())
                made = read(*args, **named)
                for table, _ in tables:
                    table._compare_rows()
                return made

            answer = publish(load_compared, read_compared)
        self._warn_of_little()
        return answer

    def _ask_of_no_rows(self, rehearse: Callable[[PrivateSlices], object]) -> None:
        """Ask another engine of no rows what a draw will ask of the rows.

        Raises
        ------
        UnansweredError
            If it does not answer. Its reason may be said to the owner alone, whose engine it is.
        """
        if self._without_rows is None:
            empty = self._table.without_rows()
            if empty is None:
                return
            self._without_rows = PrivateSlices(empty)  # with what was asked before: that is not asked again
        try:
            rehearse(self._without_rows)
        except (EngineError, SourceError) as error:
            raise UnansweredError(
                f"{self._table.description}: its engine does not answer all that this asks, as asking it of no rows "
                f"has shown, and nothing was spent ({error})"
            ) from None

    @property
    def notion(self) -> Notion:
        """The notion in which its account counts."""
        return self._account.notion

    def _compare_rows(self) -> None:
        self._table.refuse_change(all_rows=self._compares_rows)

    def has_changed(self) -> bool:
        """Return whether a session that is opened now finds other rows, or this one can read nothing any more.

        The rows of another engine are compared only if they were read since, as before a debit.
        """
        self._refuse_closed()
        try:
            self._table.refuse_change(all_rows=not is_remote(self._spec.source))
        except SourceError:
            return True
        return False

    def has_old_parents(self) -> bool:
        """Return whether a session that is opened now reads other rows of public parents, or cannot open them."""
        self._refuse_closed()
        try:
            return self._table.has_old_parents()
        except SourceError:
            return True

    def _warn_of_little(self) -> None:
        """Warn, once a session, that a ledger has little left."""
        words = None if self._has_warned else self._account.little_left()
        if words is not None:
            self._has_warned = True
            with suppress(LittleBudgetWarning):  # where warnings are errors: a paid answer must not be lost
                warnings.warn(words, LittleBudgetWarning, stacklevel=2)

    def _refuse_run_id_without_ledger(self, run_id: str | None) -> None:
        if run_id is not None and not self.has_ledger:
            raise ParameterError("run_id needs a ledger: only a ledger remembers what a run has answered")

    def _refuse_closed(self) -> None:
        if self._closed:
            raise ParameterError("this session is closed; open a new one")

    # -- budget and life --------------------------------------------------------------------------------------

    def check_together(self, charges: Sequence[Charge], *, new_epoch: bool = False) -> None:
        """Raise `BudgetExceededError` if releases with these charges do not all fit the budget; spend nothing.

        A charge that the account cannot count (rho) is a `ParameterError`, as for the release itself. With `new_epoch`
        `confirm_rows` will be called before the first of them, and changed rows are no reason to refuse.
        """
        self._refuse_closed()
        self._account.check_together(charges, new_epoch=new_epoch)

    @property
    def has_debited(self) -> bool:
        """Whether the newest answer was paid for now, and not when its run was first asked."""
        return self._account.has_debited

    @property
    def account_name(self) -> str | None:
        """The name of its ledger, which every copy of it has; None without one. Public."""
        return self._account.place

    @property
    def machine_limits(self) -> MachineLimits:
        """The limits of its private database."""
        return self._spec.limits

    @property
    def has_ledger(self) -> bool:
        """Whether a ledger remembers what the runs of this session have answered."""
        return self._ledger is not None

    def kept_suite(self, name: str) -> str | None:
        """Return with what a kept suite of checks was opened, as JSON: public; None if the account keeps none."""
        self._refuse_closed()
        return self._account.kept_suite(name)

    def suite_history(self, name: str) -> list[RecordedLevel | RecordedRearm] | None:
        """Return what an open kept suite has recorded, in order: public; None if there is none."""
        self._refuse_closed()
        return self._account.suite_history(name)

    def spec_of_run(self, run_id: str) -> str | None:
        """Return with what the suite of a run that is not kept was opened, as JSON: public; None if there is none."""
        self._refuse_closed()
        return self._account.spec_of_run(run_id)

    def opens_suite(self, run: SuiteRun) -> bool:
        """Return whether a run of a suite is charged: later runs of a kept one cost nothing."""
        self._refuse_closed()
        return self._account.opens_suite(run)

    def will_test(self, run: SuiteRun) -> bool:
        """Return whether a run of a suite will test, which it does not where its verdicts are recorded."""
        self._refuse_closed()
        return self._account.will_test(run)

    def confirm_rows(self, charges: Sequence[Charge]) -> int | None:
        """Confirm, as the owner, that changed rows are of the same table, if a draw for one of the charges follows.

        Returns
        -------
        int or None
            Number of the epoch that the ledger has opened for them; None if they are those of its epoch.
        """
        self._refuse_closed()
        return self._account.confirm_rows(charges)

    def cost_together(self, charges: Sequence[Charge]) -> float:
        """Bound the joint cost of releases with these charges: in epsilon, or in the parameter of the ledger."""
        self._refuse_closed()
        return self._account.cost_together(charges)

    def spent(self) -> float:
        """Epsilon spent by the releases of this session; with a ledger, by all of its releases, in its parameter."""
        return self._account.spent()

    def remaining(self) -> float | None:
        """Return the budget left for a release of the whole table; None if it is unlimited."""
        return self._account.remaining()

    def close(self) -> None:
        """Drop the private database and its temporary files. May be called twice."""
        self._closed = True
        while self._beside:
            self._beside.pop().close()
        if self._origin is not None:
            self._private.forget()  # the database that has them stays
            if self._without_rows is not None:
                self._without_rows.forget()
            with suppress(ValueError):
                self._origin._beside.remove(self)
        if self._other_tables is not None:
            self._other_tables.close()
        self._own_account.close()
        self._table.close()

    def __repr__(self) -> str:
        return f"<dpdb.Session {self._table.description}: {len(self.constraints)} constraints, {self._account!r}>"


@overload
def dp_inconsistency(
    source: SourceLike, constraints: ConstraintsLike, measure: Measure = ..., epsilon: Epsilon = ..., *,
    by: None = ..., keys: None = ..., each_constraint: Literal[False] = ..., **settings: Any,
) -> Release: ...  # fmt: skip
@overload
def dp_inconsistency(
    source: SourceLike, constraints: ConstraintsLike, measure: Literal["all"], epsilon: Epsilon = ..., *,
    by: str | None = ..., keys: Sequence[Key] | None = ..., each_constraint: bool = ..., **settings: Any,
) -> Releases: ...  # fmt: skip
@overload
def dp_inconsistency(
    source: SourceLike, constraints: ConstraintsLike, measure: str = ..., epsilon: Epsilon = ..., *,
    by: str, keys: Sequence[Key], each_constraint: bool = ..., **settings: Any,
) -> Releases: ...  # fmt: skip
@overload
def dp_inconsistency(
    source: SourceLike, constraints: ConstraintsLike, measure: str = ..., epsilon: Epsilon = ..., *,
    by: str | None = ..., keys: Sequence[Key] | None = ..., each_constraint: Literal[True], **settings: Any,
) -> Releases: ...  # fmt: skip
@overload
def dp_inconsistency(
    source: SourceLike, constraints: ConstraintsLike, measure: str, epsilon: Epsilon = ..., *,
    by: str | None = ..., keys: Sequence[Key] | None = ..., each_constraint: bool = ..., **settings: Any,
) -> Release | Releases: ...  # fmt: skip
@spelled(EveryMeasureOption)
def dp_inconsistency(
    source: SourceLike,
    constraints: ConstraintsLike,
    measure: str = Ask.measure,
    epsilon: Epsilon | None = None,
    **settings: Any,
) -> Release | Releases:
    """Make one release of a table: open a `Session`, release, close.

    Cost and errors as `Session.dp_inconsistency`.

    Parameters
    ----------
    source, constraints
        The table and its rules, as for `Session`.
    measure, epsilon
        As for `Session.dp_inconsistency`.
    **settings
        Options of the release as for `Session.dp_inconsistency`; other settings as for `Session`.

    Examples
    --------
    >>> import dpdb
    >>> rules = "examples/data/hospital.dcs.txt"
    >>> r = dpdb.dp_inconsistency("examples/data/hospital.parquet", constraints=rules, epsilon=1)
    >>> r.measure, r.epsilon
    ('repair', 1.0)
    """
    asked = {name: settings.pop(name) for name in (*OPTIONS, "who") if name in settings}
    refuse_other_settings(settings, EveryMeasureOption.__annotations__)
    with Session(source, constraints=constraints, **settings) as session:
        released: Release | Releases = session.dp_inconsistency(measure, epsilon, **asked)
        return released


def dp_count(source: SourceLike, epsilon: Epsilon | None = None, **settings: Any) -> Release | Releases:
    """Release a number of rows: open a `Session`, release, close.

    Cost and errors as `Session.dp_count`.

    Parameters
    ----------
    source
        The table, as for `Session`.
    epsilon
        As for `Session.dp_count`.
    **settings
        Options of the release as for `Session.dp_count`; other settings as for `Session`.

    Examples
    --------
    >>> import dpdb
    >>> dpdb.dp_count("examples/data/hospital.parquet", 0.5, where="state = 'AL'").measure
    'count'
    """
    asked = {name: settings.pop(name) for name in EveryCountOption.__annotations__ if name in settings}
    refuse_other_settings(settings, EveryCountOption.__annotations__)
    with Session(source, **settings) as session:
        released: Release | Releases = session.dp_count(epsilon, **asked)
        return released


def refuse_other_settings(settings: Iterable[str], options: Iterable[str]) -> None:
    """Refuse what is no setting of a `Session`.

    Parameters
    ----------
    settings
        The names that are left once the options of a call are taken out.
    """
    of_session = (*SETTINGS, "budget", "ledger", "parent_ledgers", "rows", "progress")
    for name in settings:
        if name not in of_session:
            raise ParameterError(
                f"there is no option or setting {name!r}{nearest_words(name, [*options, *of_session])}"
            )
