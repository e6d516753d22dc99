"""`ServedTables`: the open tables of a server, private and public, opened again when their files have changed.

An append-only ledger counts for whatever rows are there, so its table is opened again by itself. Any other ledger is of
one state of the rows: its owner gets a line, opens an epoch and sends SIGHUP. Until a table is open again, its releases
are refused in the words for a table that cannot be read, whether it is being opened, cannot be opened or waits for its
owner; so no analyst learns which. When files change, and how long opening them takes, nobody protects: the guarantee
says so. Public tables are copied again by themselves; until they are, and where they cannot be, statements read the
copy from before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager

from dpdb.doors.server.configuration import Configuration, ServedTable
from dpdb.doors.server.tables import OpenTable
from dpdb.doors.sql import PublicTables
from dpdb.errors import OWNER_LOG, DpdbError, ParameterError
from dpdb.ledger import Ledger
from dpdb.stopping import Closing

_FIRST_SECONDS, _MOST_SECONDS = 2.0, 300.0  # between tries to open a table again
_SHARE = 10  # times as long as opening took, until it is opened again
_CHANGED = "its rows have changed, and"
_CLOSED = f"{_CHANGED} it cannot be opened again: analysts get 503 until it can"
_OLD_COPY = "their rows have changed, and they cannot be read again: statements read those from before until they can"
_OLD_PARENTS = (
    "its public parents have changed, and cannot be read again: releases use those from before until they can"
)
_NOT_APPEND_ONLY = (
    "its ledger is of the rows before: analysts get 503; open an epoch (`dpdb budget epoch`) and send SIGHUP"
)


class ServedTables(Mapping[str, OpenTable], Closing):
    """Open tables by name. `look` is called by one thread at a time; others may ask meanwhile.

    Raises
    ------
    DpdbError
        A table, a suite, a ledger or a public table cannot be used.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration
        self._open: dict[str, OpenTable] = {}
        self._waits: dict[str, _Wait] = {}
        self._public_wait = _Wait()
        self._exchanging = threading.Lock()
        self._public = PublicTables(configuration.public)
        try:
            for table in configuration.tables:
                self._open[table.name] = self._opened(table)
        except BaseException:
            self.close()
            raise

    def __getitem__(self, name: str) -> OpenTable:
        return self._open[name]

    @contextmanager
    def in_use(self, name: str) -> Iterator[OpenTable]:
        """Give an open table, which stays open while the block lasts: none is closed between its choice and its use."""
        with ExitStack() as used:
            with self._exchanging:
                table = self._open[name]
                used.enter_context(table.in_use())
            yield table

    def __iter__(self) -> Iterator[str]:
        return iter(self._open)

    def __len__(self) -> int:
        return len(self._open)

    def _opened(self, table: ServedTable) -> OpenTable:
        return OpenTable(table, self._public, self._configuration.limits.statement_seconds)

    def look(self, say: Callable[[str], None], *, all_changed: bool = False) -> None:
        """Open tables again whose rows have changed; a table that is busy is looked at next time.

        What is wrong with one of them keeps none of the others from being looked at.

        Parameters
        ----------
        say
            Tells the owner, in one line for each change.
        all_changed
            Whether the owner says that they are to be opened, whatever their ledgers.
        """
        with self._public_wait.told(say, "public tables", _OLD_COPY):
            self._look_at_public(say, all_changed)
        for table in self._configuration.tables:
            with self._waits.setdefault(table.name, _Wait()).told(say, table.name, _CLOSED):
                self._look_at(table, say, all_changed)

    def _look_at(self, table: ServedTable, say: Callable[[str], None], all_changed: bool) -> None:
        wait = self._waits[table.name]
        if not self._open[table.name].has_changed():
            self._look_at_parents(table, say, all_changed)
        elif not (wait.is_over() or all_changed):
            return
        elif all_changed or _is_append_only(table):
            self._open_again(table, say, _CHANGED)
        else:
            wait.tell(say, f"{table.name}: {_CHANGED} {_NOT_APPEND_ONLY}")

    def _look_at_parents(self, table: ServedTable, say: Callable[[str], None], all_changed: bool) -> None:
        """Open a table again whose public parents have changed, whatever its ledger: its own rows are the same."""
        wait = self._waits[table.name]
        if not self._open[table.name].has_old_parents():
            wait.rest()
        elif wait.is_over() or all_changed:
            with wait.told(say, table.name, _OLD_PARENTS):
                self._open_again(table, say, "its public parents have changed, and")

    def _open_again(self, table: ServedTable, say: Callable[[str], None], why: str) -> None:
        old, began = self._open[table.name], time.monotonic()
        new = self._opened(table)
        if new.columns != old.columns:
            new.close()
            raise ParameterError("its columns are others: start the server again")
        with self._exchanging:
            self._open[table.name] = new
        old.retire()
        self._waits[table.name] = _Wait(_SHARE * (time.monotonic() - began))
        say(f"{table.name}: {why} it was opened again")

    def _look_at_public(self, say: Callable[[str], None], all_changed: bool) -> None:
        if not self._public.has_changed():
            self._public_wait.rest()
        elif all_changed or self._public_wait.is_over():
            began = time.monotonic()
            self._public.open_again()
            self._public_wait = _Wait(_SHARE * (time.monotonic() - began))
            say("public tables: their rows have changed, and they were read again")

    def close(self) -> None:
        """Close all tables."""
        for table in self._open.values():
            table.close()
        self._public.close()


class _Wait:
    """When a table may be opened again, and what its owner knows.

    Parameters
    ----------
    seconds : float
        Until it may be: a table that grows without a pause takes a part of the time, not all of it.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._next, self._until, self._told = _FIRST_SECONDS, time.monotonic() + seconds, ""

    def is_over(self) -> bool:
        """Whether it may be opened again now."""
        return time.monotonic() >= self._until

    def longer(self) -> None:
        """Wait, and next time twice as long."""
        self._until = time.monotonic() + self._next
        self._next = min(2 * self._next, _MOST_SECONDS)

    def rest(self) -> None:
        """Begin anew: its rows are those that were opened."""
        self._next, self._told = _FIRST_SECONDS, ""

    @contextmanager
    def told(self, say: Callable[[str], None], name: str, cannot: str) -> Iterator[None]:
        """Tell the owner why what the block opens again cannot be, and wait before the next try."""
        try:
            yield
        except Exception as error:
            self.longer()
            line = f"{name}: {cannot}{f': {error}' if isinstance(error, DpdbError) else ''}"
            if line != self._told and not isinstance(error, DpdbError):
                OWNER_LOG.exception("%s: cannot be opened again", name)
            self.tell(say, line)

    def tell(self, say: Callable[[str], None], line: str) -> None:
        """Tell the owner a line, once."""
        if line != self._told:
            self._told = line
            say(line)


def _is_append_only(table: ServedTable) -> bool:
    """Ask the ledger; one that cannot be read has no answer, and its `LedgerError` says why."""
    with Ledger.open(table.ledger) as ledger:
        return ledger.append_only
