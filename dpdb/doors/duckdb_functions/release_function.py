"""`ReleaseFunction`: the Python functions behind the SQL macros; and `Tables`, the accounts and sessions that they use.

There is one account per table of the connection, and open sessions of the most recently used tables.
"""

from __future__ import annotations

import contextvars
import json
import re
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from dpdb.constraints import ConstraintsLike, WrittenLines, load_constraints, never_a_path, written_lines
from dpdb.doors.sql_parameters import CHECK, DIAGNOSE, FUNCTIONS, KINDS, SPENT, given_options
from dpdb.engine.owner_table import OwnerTable, owner_table, sibling
from dpdb.errors import ParameterError
from dpdb.names import check_name
from dpdb.release import Ask, Budget, Session
from dpdb.settings import TableSpec
from dpdb.suites import Suite, SuiteAsk, SuiteLike, SuiteOnTable, dated_suite, rules_of

if TYPE_CHECKING:
    from dpdb.diagnosis import DiagnosisAsk

LEFT_OUT = "default"
"""What stands for a cost that a call leaves out: NULL is what a driver sends for a None by mistake."""
_DECIMAL = re.compile(r"[0-9]+(\.[0-9]+)?")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_SHOWN = 40  # characters of a value that is refused


@dataclass(frozen=True)
class Call:
    """A request, its table and the constraints it names, hashable: equal calls of one transaction are one release."""

    table: str
    ask: Ask
    constraints: str | None = None


def read_call(
    function: str, table: str | None, options: Mapping[str, Any], *, one_row: bool, constraints: str | None = None
) -> Call:
    """Read the arguments of a call, as the macros pass them.

    Parameters
    ----------
    table
        Name of the table to measure; NULL is refused.
    options
        Every option of a release by name; those that the function does not have are NULL.
    one_row
        Whether the call is scalar, which allows one answer only.
    constraints
        Constraints that the call names; None for those of the registration.

    Raises
    ------
    ParameterError
        If table, measure or cost is NULL, a scalar call would have several answers, and as for `Ask`.
    """
    if table is None:
        raise ParameterError("table_name is NULL: name the table to measure")
    given = _given(function, {name: options[name] for name in FUNCTIONS[function].values()})
    if one_row and (given.get("measure") == "all" or "by" in given or given.get("each_constraint")):
        raise ParameterError(f"this call has several answers; ask for them as rows: SELECT * FROM {function}(...)")
    return Call(table, Ask.called(function, given), constraints)


def _given(function: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that a call gives, read by their kinds.

    Raises
    ------
    ParameterError
        A cost is NULL, a flag is neither true nor false, or a whole number is none.
    """
    kinds, given = KINDS[function], given_options(_left_in(options))
    for name, value in given.items():
        if kinds[name] == "flag" and isinstance(value, str):
            given[name] = _flag(name, value)
        elif kinds[name] == "whole" and isinstance(value, str):
            given[name] = _whole(name, value)
    return given


def _flag(name: str, written: str) -> bool:
    if written not in ("true", "false"):
        raise ParameterError(f"{name} is true or false, got {written[:_SHOWN]!r}")
    return written == "true"


def _whole(name: str, written: str) -> int:
    if not _WHOLE.fullmatch(written):
        raise ParameterError(f"{name} must be a whole number, got {written[:_SHOWN]!r}")
    return int(written)


def _left_in(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those whose place says that they were left out; a cost that came as text as a number."""
    found = {name: value for name, value in options.items() if value != LEFT_OUT or name not in SPENT}
    for name in SPENT:
        text = found.get(name)
        if isinstance(text, str) and _DECIMAL.fullmatch(text):  # so that 0.5 and 0.50 ask for the same
            found[name] = Decimal(text)
    return found


def _texts(written: str | None) -> Any:
    """Return JSON as texts and tuples of them, as the other functions take keys; hashable."""

    def plain(found: Any) -> Any:
        if isinstance(found, bool):
            return str(found).lower()
        return tuple(map(plain, found)) if isinstance(found, list) else found

    return None if written is None else plain(json.loads(written, parse_int=str, parse_float=str))


Rows = list[dict[str, Any]]


class Memo:
    """Answers by transaction and call. A failed call has none: in DuckDB it ends its transaction.

    Parameters
    ----------
    capacity : int
        Largest number of answers held. Whole transactions are forgotten, the one with the oldest call first, but never
        the one of the current call. So a repeated call is drawn again only in a transaction that stood idle while
        others made this many releases.
    """

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._answers: OrderedDict[int, dict[Hashable, Rows]] = OrderedDict()
        self._held = 0

    def find(self, transaction: int, call: Hashable) -> Rows | None:
        """Return the answer that the transaction already has for the call; None without one."""
        return self._answers.get(transaction, {}).get(call)

    def reserve(self, transaction: int) -> None:
        """Make room for one more answer of the transaction, before anything is spent."""
        if len(self._answers.get(transaction, ())) >= self._capacity:
            raise ParameterError(f"one transaction may make at most {self._capacity:,} releases; split it")
        if transaction in self._answers:
            self._answers.move_to_end(transaction)
        while self._held >= self._capacity:
            self._held -= len(self._answers.popitem(last=False)[1])

    def keep(self, transaction: int, call: Hashable, rows: Rows) -> None:
        """Remember an answer, after `reserve`.

        Parameters
        ----------
        rows
            The answer, one row for each release.
        """
        self._answers.setdefault(transaction, {})[call] = rows
        self._held += 1


T = TypeVar("T")


class ReleaseFunction:
    """Answers the calls of one registration, one at a time, each once per transaction.

    DuckDB calls it from any of its threads, but sessions belong to one thread: all their work is done in `worker`.
    DuckDB keeps only the text of an exception: `errors` keeps the last few exceptions. The connection is held weakly,
    because it holds the function.
    """

    def __init__(self, connection: Any, tables: Tables) -> None:
        self._connection = weakref.ref(connection)
        self._tables = tables
        self._memo = Memo()
        self.worker = ThreadPoolExecutor(1, thread_name_prefix="dpdb")
        # Other threads have contexts of their own: releases run in that of the thread that registered.
        self._context = contextvars.copy_context()
        self.errors: deque[BaseException] = deque(maxlen=16)

    def __call__(  # noqa: PLR0917 - SQL functions have no named arguments
        self, one_row: bool, function: str, table: str | None, constraints: str | None, options: dict[str, Any],
        database: str, schema: str, transaction: int,
    ) -> Rows:  # fmt: skip
        """Return the rows of a call, as the macros pass it."""
        with self._keeping_errors():
            call = read_call(function, table, options, one_row=one_row, constraints=constraints)
            place = (call.table, database, schema)
            return self._once(transaction, call, place, lambda found: self._released(found, call))

    def check(self, options: dict[str, Any], table: str | None, database: str, schema: str, transaction: int) -> Rows:
        """Return the verdicts of a suite, as the macro passes the call."""
        with self._keeping_errors():
            if options["suite"] is None:
                raise ParameterError("suite is NULL: name a suite that was registered")
            ask = SuiteAsk(**_given(CHECK, options))
            place = (self._tables.settings.table_of(ask.suite), database, schema)
            return self._once(transaction, (ask, table), place, lambda found: self._checked(found, ask, table))

    def diagnose(
        self, options: dict[str, Any], table: str | None, database: str, schema: str, transaction: int
    ) -> Rows:
        """Return what is named, as the macro passes the call; `by` and `keys` come as JSON."""
        from dpdb.diagnosis import DiagnosisAsk  # few connections diagnose

        with self._keeping_errors():
            given = _given(DIAGNOSE, options | {name: _texts(options[name]) for name in ("by", "keys")})
            if table is None:
                raise ParameterError("table_name is NULL: name the table to diagnose")
            ask = DiagnosisAsk(**given)
            place = (table, database, schema)
            return self._once(transaction, (ask, table), place, lambda found: self._diagnosed(found, ask))

    @contextmanager
    def _keeping_errors(self) -> Iterator[None]:
        try:
            yield
        except BaseException as error:
            self.errors.append(error)
            raise

    def with_session(self, table: str, use: Callable[[Session], T]) -> T:
        """Return the result of `use` for the session of a table."""
        return self._work(lambda: self._used(table, None, None, lambda found: use(self._tables.session(found))))

    def _once(
        self, transaction: int, call: Hashable, place: tuple[str, str, str], answer: Callable[[OwnerTable], Rows]
    ) -> Rows:
        def first() -> Rows:
            rows = self._memo.find(transaction, call)
            if rows is None:
                self._memo.reserve(transaction)
                rows = self._used(*place, answer)
                self._memo.keep(transaction, call, rows)
            return rows

        rows = self._memo.find(transaction, call)  # DuckDB repeats a scalar call for every row
        return self._work(first) if rows is None else rows

    def _released(self, found: OwnerTable, call: Call) -> Rows:
        session = self._tables.session(found, call.constraints)
        return [release.to_dict() for release in session.release(call.ask, who=self._tables.settings.who)]

    def _diagnosed(self, found: OwnerTable, ask: DiagnosisAsk) -> Rows:
        from dpdb.diagnosis import prepare_diagnosis, run_diagnosis

        session = self._tables.session(found)
        named = run_diagnosis(session, prepare_diagnosis(session, ask, who=self._tables.settings.who))
        rows: Rows = named.to_arrow().to_pylist()
        return rows

    def _checked(self, found: OwnerTable, ask: SuiteAsk, expected: str | None) -> Rows:
        if expected is not None and found.beside(expected).spellings != found.spellings:
            raise ParameterError(f"suite {ask.suite!r} is of table {found.name!r}, not of {expected}")
        suite = self._tables.suite(found, ask.suite, ask.date)
        rows: Rows = suite.run(suite.prepare(ask, who=self._tables.settings.who)).to_arrow().to_pylist()
        return rows

    def _used(self, table: str, database: str | None, schema: str | None, use: Callable[[OwnerTable], T]) -> T:
        with owner_table(sibling(self._connection()), table, database, schema) as found:
            return use(found)

    def _work(self, work: Callable[[], T]) -> T:
        try:
            future = self.worker.submit(self._context.run, work)
        except RuntimeError:  # shut down
            raise ParameterError(CLOSED) from None
        return future.result()


Epsilon: TypeAlias = float | int | str | Decimal
Suites: TypeAlias = Mapping[str, Mapping[str, Suite | SuiteLike]]

CLOSED = "this registration is closed; register the connection again"

# Each holds a copy of its table's rows.
_KEPT_SESSIONS = 4


@dataclass(frozen=True)
class Settings:
    """The settings that `register` was given; a mapping gives each table, by name, its own value.

    One `TableSpec` without source, table and constraints has the unit of protection and reading options of all tables.
    """

    of_table: TableSpec
    constraints: ConstraintsLike | Mapping[str, ConstraintsLike] | None = None
    budget: Epsilon | Mapping[str, Epsilon | None] | None = None
    ledger: str | Path | Mapping[str, str | Path] | None = None
    who: str | None = None
    suites: Suites | None = None

    @property
    def parents(self) -> tuple[str, ...]:
        """The names of the tables that constraints look into."""
        return tuple(parent.name for parent in self.of_table.parents)

    def check(self) -> None:
        """Raise now the errors of every first release: unreadable constraints, invalid budgets."""
        if self.constraints == {}:
            raise ParameterError("no constraints given: the mapping names no table")
        for constraints in _values(self.constraints):
            if constraints is not None:
                load_constraints(constraints)
        for budget in _values(self.budget):
            Budget(budget)
        if self.who is not None:
            check_name("who", self.who)
        for _, written in self.written_suites.values():
            rules_of(written)

    @cached_property
    def written_suites(self) -> Mapping[str, tuple[str, Suite | WrittenLines]]:
        """The table and the text of each suite, by its name; files are read once, when they are registered."""
        if self.suites is None:
            return {}
        if not isinstance(self.suites, Mapping) or not all(isinstance(own, Mapping) for own in self.suites.values()):
            raise ParameterError("suites is a mapping from table name to {suite name: file}")
        names = [name for own in self.suites.values() for name in own]
        for name in names:
            check_name("a suite's name", name)
            if names.count(name) > 1:
                raise ParameterError(f"two tables have a suite {name!r}: give each a name of its own")
        return {
            name: (table, source if isinstance(source, (Suite, WrittenLines)) else written_lines(source))
            for table, own in self.suites.items()
            for name, source in own.items()
        }

    def table_of(self, suite: str) -> str:
        """Return the name of the table that a suite is registered for.

        Raises
        ------
        ParameterError
            If there is no suite of this name; a path is none.
        """
        known = self.written_suites
        if suite not in known:
            there = f"registered: {', '.join(known)}" if known else "none is: give register() suites="
            raise ParameterError(f"no suite {suite!r} is registered ({there})")
        return known[suite][0]


@dataclass
class Tables:
    """The tables of one registration. To be used in one thread.

    A session reads a table's rows once. It is opened again when its rows or those of a parent have changed, with the
    same budget: the costs of a table's releases add up over all states of its rows.
    """

    settings: Settings
    _budgets: dict[str, Budget] = field(default_factory=dict)
    _units: dict[str, dict[str, str]] = field(default_factory=dict)
    _sessions: OrderedDict[tuple[str, object], tuple[object, Session]] = field(default_factory=OrderedDict)
    _closed: bool = False

    def session(self, table: OwnerTable, constraints: str | None = None) -> Session:
        """Return the session of the table's rows as they are now, with its own or with the given constraints.

        Raises
        ------
        DpdbError
            As `Session`; with a ledger also `LedgerError`, if the rows differ from those that the ledger knows.
        """
        if constraints is None:
            return self._session(table, None, _of("constraints", self.settings.constraints, table))
        return self._session(table, constraints, never_a_path(constraints))

    def suite(self, table: OwnerTable, name: str, date: str | None) -> SuiteOnTable:
        """Return a suite of the table, as of a date if it is about one, with a session of its rules.

        Errors as `session` and `dated_suite`.
        """
        _, written = self.settings.written_suites[name]
        rules = dated_suite(name, written, date).rules
        session = self._session(table, (name, rules), rules)
        return SuiteOnTable(name, dated_suite(name, written, date, session.public.opened.schema.names), session)

    def _session(self, table: OwnerTable, of: object, constraints: Any) -> Session:
        if self._closed:  # while the call waited for its turn
            raise ParameterError(CLOSED)
        key = table.spellings[0], of
        state = table.state(), *(table.beside(name).state() for name in self.settings.parents)
        known, session = self._sessions.pop(key, (None, None))
        if session is not None and known != state:
            session.close()
            session = None
        if session is None:
            session = self._open(table, constraints)
            try:
                self._bind(table, session)
            except ParameterError:
                session.close()
                raise
        self._sessions[key] = state, session
        while len(self._sessions) > _KEPT_SESSIONS:
            self._sessions.popitem(last=False)[1][1].close()
        return session

    def close(self) -> None:
        """Close all sessions, for good. May be called twice."""
        self._closed = True
        while self._sessions:
            self._sessions.popitem()[1][1].close()

    def _bind(self, table: OwnerTable, session: Session) -> None:
        """Keep which rows of private parents leave with a unit, as a ledger does: a budget adds up one choice only.

        Constraints of a call may compare the unit with any column.
        """
        known = self._units.setdefault(table.spellings[0], {})
        for parent, column in session.public.unit.parents:
            if known.setdefault(parent, column) != column:
                raise ParameterError(
                    f"the budget of {table.name!r} counts for rows of {parent} by {known[parent]!r}, and this rule "
                    f"compares the unit with {column!r}; measure it in a registration of its own"
                )

    def _open(self, table: OwnerTable, constraints: Any) -> Session:
        settings = self.settings
        _, name, _ = table.spellings
        return Session(
            replace(settings.of_table, source=table.cursor, table=name, constraints=constraints),
            budget=self._budgets.setdefault(table.spellings[0], Budget(_of("budget", settings.budget, table))),
            ledger=_of("ledger", settings.ledger, table),
            parent_ledgers=self._parent_ledgers(),
        )

    def _parent_ledgers(self) -> dict[str, str | Path]:
        """Return the ledgers of private parents, which stand by their names beside those of the tables."""
        ledgers = self.settings.ledger if isinstance(self.settings.ledger, Mapping) else {}
        private = {one.name.casefold() for one in self.settings.of_table.parents if not one.is_public}
        return {str(name): path for name, path in ledgers.items() if str(name).casefold() in private}


def _values(setting: Any) -> list[Any]:
    return list(setting.values()) if isinstance(setting, Mapping) else [setting]


def _of(what: str, setting: Any, table: OwnerTable) -> Any:
    """Return the table's own value, under any spelling of its name."""
    if not isinstance(setting, Mapping):
        return setting
    own = {str(name).casefold(): value for name, value in setting.items()}
    for spelling in table.spellings:
        if spelling.casefold() in own:
            return own[spelling.casefold()]
    raise ParameterError(f"no {what} registered for table {table.name!r} (registered: {', '.join(map(str, setting))})")
