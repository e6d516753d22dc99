"""`OtherTables`: the tables beside a session's that its answers look into, with the ledgers that pay for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from dpdb.engine import MeasuredSource, TableSpec, table_beside
from dpdb.errors import ParameterError
from dpdb.names import nearest_words
from dpdb.opening import has_tables, is_remote

if TYPE_CHECKING:
    from dpdb.engine import DeclaredParent


class _Session(Protocol):
    """A session, as far as it is known here."""

    @property
    def has_ledger(self) -> bool:
        """Whether a ledger pays for its answers."""

    def close(self) -> None:
        """Close it."""


Session = TypeVar("Session", bound=_Session)


class OtherTables(Generic[Session]):
    """Opens other tables when they are first asked for, and keeps them.

    Parameters
    ----------
    spec
        Of the table that looks into them: they are those that it declares.
    ledgers
        Durable budgets of private ones, by name.

    Raises
    ------
    ParameterError
        If a ledger is named for a table that is not declared, for a public one, or beside a unit that has its rows in
        all tables, whose own ledger pays for all of them.
    """

    def __init__(self, spec: TableSpec, ledgers: Mapping[str, str | Path]) -> None:
        self._spec = spec
        self._declared = {parent.name.casefold(): parent for parent in spec.parents}
        self._ledgers = {name.casefold(): path for name, path in ledgers.items()}
        self._known: dict[str, Session] = {}
        self._opened = ExitStack()
        for name in ledgers:
            parent = self._declared.get(name.casefold())
            if parent is None or parent.is_public:
                why = "a public table has none" if parent is not None else "there is no such private parent"
                known = [each.name for each in self._declared.values() if not each.is_public]
                raise ParameterError(
                    f"a ledger is named for {name!r}, and {why}{nearest_words(name, known)} "
                    "(--parent-ledger NAME=FILE, with --private-parent NAME)"
                )

    def know(self, tables: Mapping[str, Session]) -> None:
        """Take sessions of private tables that others have opened, and will close."""
        self._known |= {name.casefold(): session for name, session in tables.items()}

    def is_private(self, name: str) -> bool:
        """Return whether the rows of a table are protected; all are that nobody has declared public."""
        parent = self._declared.get(name.casefold())
        return parent is None or not parent.is_public

    def has_ledgers(self, own: str | Path | None) -> bool:
        """Return whether a ledger pays for what looks into private tables."""
        return own is not None or bool(self._ledgers) or any(each.has_ledger for each in self._known.values())

    def session(
        self, name: str, opens: Callable[[TableSpec, str | Path | None], Session], *, has_ledger: bool
    ) -> Session:
        """Return the session of a table; see `Session.other_table`."""
        key = name.casefold()
        if key not in self._known:
            parent = self._declared.get(key)
            if parent is None:
                raise ParameterError(
                    f"nobody has said whether the rows of {name!r} are private: declare it (--private-parent {name}, "
                    f"private_parents=), or, if everybody may know them, --public-parent {name}"
                )
            ledger = self._ledgers.get(key)
            if has_ledger and ledger is None and not parent.is_public:
                raise ParameterError(
                    f"the rows of {name} are private, too, and its own ledger pays for what looks into them: name it "
                    f"(--parent-ledger {name}=FILE, parent_ledgers=)"
                )
            opened = opens(self._spec_of(parent), ledger)
            self._opened.callback(opened.close)
            self._known[key] = opened
        return self._known[key]

    def _spec_of(self, parent: DeclaredParent) -> TableSpec:
        measured, place = self._spec.source, parent.source
        if place is None and is_remote(measured):
            address = measured if isinstance(measured, str) else ""
            if address and has_tables(address):
                return self._spec.of_other(measured, parent.name, parent.name)
            kind, colon, own_table = address.partition(":")
            if not colon or "`" in own_table:
                raise ParameterError(
                    f"where {parent.name!r} is beside {measured} is not known, and its ledger pays for what looks into "
                    "it; protect the key with all its rows, whose ledger is one: --unit and --max-rows"
                )
            folder = own_table.rpartition(".")[0]
            own = parent.name if "." in parent.name or not folder else f"{folder}.{parent.name}"
            return self._spec.of_other(f"{kind}:{own}", None, parent.name)
        if is_remote(place):
            return self._spec.of_other(place, parent.name if has_tables(str(place)) else None, parent.name)
        source, table = table_beside(MeasuredSource(measured, self._spec.table, self._spec.delimiter), parent)
        return self._spec.of_other(source, table, parent.name)

    def close(self) -> None:
        """Close those that were opened here."""
        self._opened.close()
