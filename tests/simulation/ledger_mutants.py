"""Ledgers with one thing left out or done in the wrong order; the simulation must catch every one.

Each is put in the place of the real thing while its block lasts; nothing of it is in the product.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import ledger_actors
from simulated_sqlite import SimulatedFile

from dpdb.files import disk, owned_file
from dpdb.files.file_lock import FileLock
from dpdb.files.owned_file import open_owned
from dpdb.ledger import debit
from dpdb.ledger.books import Books
from dpdb.ledger.store import creation
from dpdb.ledger.store import head as store_head
from dpdb.ledger.store.file import LedgerFile
from dpdb.ledger.store.settlements import Settlements
from dpdb.ledger.store.state import LedgerState


def publish_before_record() -> AbstractContextManager[object]:
    def publish(life: Any, actor: Any, ledger: Any, found: Any, run_id: str, answer: str, generation: int) -> None:
        ledger_actors.show(life, run_id, answer, generation)
        ledger_actors.record(life, ledger, found, answer)

    return patch.object(ledger_actors, "publish", publish)


def lock_skipped() -> AbstractContextManager[object]:
    return patch.object(FileLock, "_try", lambda lock: open_owned(lock._path, os.O_CREAT | os.O_RDWR, lock._owner))


def sync_dropped() -> AbstractContextManager[object]:
    rows = LedgerFile.rows

    def unsynced(file: LedgerFile, sql: str, values: tuple[object, ...] = ()) -> Any:
        return rows(file, sql.replace("synchronous = FULL", "synchronous = OFF"), values)

    return patch.object(LedgerFile, "rows", unsynced)


def normal_instead_of_full() -> AbstractContextManager[object]:
    rows = LedgerFile.rows

    def unsynced(file: LedgerFile, sql: str, values: tuple[object, ...] = ()) -> Any:
        return rows(file, sql.replace("synchronous = FULL", "synchronous = NORMAL"), values)

    return patch.object(LedgerFile, "rows", unsynced)


@contextmanager
def folder_not_synced() -> Iterator[None]:
    with ExitStack() as stack:
        for module in (creation, owned_file):
            stack.enter_context(patch.object(module, "sync", lambda path: None))
        yield


def head_not_moved() -> AbstractContextManager[object]:
    return patch.object(Books, "write_head", lambda books: None)


def rename_before_sync() -> AbstractContextManager[object]:
    def replace_owned(path: Path, text: str, owner: int | None = None) -> None:
        partial = path.with_name(f"{path.name}.partial")
        disk.unlink(partial, missing_ok=True)
        descriptor = open_owned(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, owner)
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            disk.write(stream, text)
            disk.rename(partial, path)
            disk.sync(path.parent)
            disk.fsync(descriptor)

    return patch.object(store_head, "replace_owned", replace_owned)


@contextmanager
def run_id_outside_the_transaction() -> Iterator[None]:
    """What a run has left is looked up in what was read before the transaction, when the debit was asked for."""
    seen: dict[int, set[str]] = {}
    index, earlier_try = LedgerState.index, debit.earlier_try

    def before(state: LedgerState) -> Any:
        seen[id(state)] = set(state.runs)
        return index.fget(state)  # type: ignore[attr-defined]

    def known(state: LedgerState, run_id: str, *rest: Any) -> Any:
        return earlier_try(state, run_id, *rest) if run_id in seen[id(state)] else None

    with patch.object(LedgerState, "index", property(before)), patch.object(debit, "earlier_try", known):
        yield


def log_without_its_file() -> AbstractContextManager[object]:
    """A write-ahead log that was copied beside a file which it does not belong to is taken for the one that is open."""
    return patch.object(LedgerFile, "_log_identity", lambda file: None)


def settlement_not_counted() -> AbstractContextManager[object]:
    return patch.object(Settlements, "applied", lambda settlements, line: line)


def sqlite_syncs_nothing() -> AbstractContextManager[object]:
    """Not of the ledger: a disk that lies, to show that what SQLite syncs is needed."""
    return patch.object(SimulatedFile, "xSync", lambda file, flags: None)


# By name: what is put in place, and the first seed that catches it.
MUTANTS: dict[str, tuple[Callable[[], AbstractContextManager[object]], int]] = {
    "publish before record": (publish_before_record, 5),
    "lock skipped": (lock_skipped, 40),
    "sync dropped": (sync_dropped, 5),
    "sync of the log dropped at commits": (normal_instead_of_full, 8),
    "folder not synced": (folder_not_synced, 8),
    "head not moved": (head_not_moved, 21),
    "rename before sync": (rename_before_sync, 42),
    "run id looked up outside the transaction": (run_id_outside_the_transaction, 12),
    "log copied without its file": (log_without_its_file, 25),
    "settlement not counted": (settlement_not_counted, 2),
    "a disk that syncs nothing": (sqlite_syncs_nothing, 2),
}
