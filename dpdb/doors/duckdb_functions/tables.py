"""`Tables`: one account per table of the connection, and open sessions of the most recently used tables."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from dpdb.constraints import ConstraintsLike, WrittenLines, load_constraints, never_a_path, written_lines
from dpdb.engine import TableSpec
from dpdb.engine.owner_table import OwnerTable
from dpdb.errors import ParameterError
from dpdb.names import check_name
from dpdb.release import Budget, Session
from dpdb.suites import Suite, SuiteLike, SuiteOnTable, dated_suite, rules_of

__all__ = ["CLOSED", "Settings", "Tables"]

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
        )


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
