"""`Tables`: one account per table of the connection, and open sessions of the most recently used tables."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

from dpdb.constraints import ConstraintsLike, load_constraints, never_a_path
from dpdb.engine import TableSpec
from dpdb.engine.owner_table import OwnerTable
from dpdb.errors import ParameterError
from dpdb.names import check_name
from dpdb.release import Budget, Session

__all__ = ["CLOSED", "Settings", "Tables"]

Epsilon: TypeAlias = float | int | str | Decimal

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


@dataclass
class Tables:
    """The tables of one registration. To be used in one thread.

    A session reads a table's rows once. It is opened again when its rows or those of a parent have changed, with the
    same budget: the costs of a table's releases add up over all states of its rows.
    """

    settings: Settings
    _budgets: dict[str, Budget] = field(default_factory=dict)
    _units: dict[str, dict[str, str]] = field(default_factory=dict)
    _sessions: OrderedDict[tuple[str, str | None], tuple[object, Session]] = field(default_factory=OrderedDict)
    _closed: bool = False

    def session(self, table: OwnerTable, constraints: str | None = None) -> Session:
        """Return the session of the table's rows as they are now, with its own or with the given constraints.

        Raises
        ------
        DpdbError
            As `Session`; with a ledger also `LedgerError`, if the rows differ from those that the ledger knows.
        """
        if self._closed:  # while the call waited for its turn
            raise ParameterError(CLOSED)
        key = table.spellings[0], constraints
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

    def _open(self, table: OwnerTable, constraints: str | None) -> Session:
        settings = self.settings
        _, name, _ = table.spellings
        own = _of("constraints", settings.constraints, table) if constraints is None else never_a_path(constraints)
        return Session(
            replace(settings.of_table, source=table.cursor, table=name, constraints=own),
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
