"""Ledgers with one thing left out or done in the wrong order; the simulation must catch every one.

Each is put in the place of the real thing while its block lasts; nothing of it is in the product.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import ledger_actors
import suite_actors
from simulated_sqlite import SimulatedFile

from dpdb.files import disk, owned_file
from dpdb.files.owned_file import FileLock, open_owned
from dpdb.ledger import debit, owner_acts as acts, reading, suite_runs as runs
from dpdb.ledger.books import Books
from dpdb.ledger.store import head as creation, head as store_head
from dpdb.ledger.store.file import LedgerFile
from dpdb.ledger.store.rows import Settlements
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


def verdict_before_record() -> AbstractContextManager[object]:
    def publish(life: Any, ledger: Any, found: Any, level: int, text: str, generation: int, **record: Any) -> None:
        key = life.model.runs[found.run_id].key(found.run_id)
        suite_actors.show_level(life, key, found.run_id, level, text, generation)
        suite_actors.record_level(life, ledger, found, level, text, **record)

    return patch.object(suite_actors, "publish_level", publish)


@contextmanager
def settled_otherwise(change: Callable[[list[Any]], list[Any]]) -> Iterator[None]:
    """Both where a run ends and where a suite is closed."""
    rows = runs.settlement_rows

    def changed(state: Any, charges: Any, place: int) -> Any:
        return rows(state, change(list(charges)), place)

    with patch.object(runs, "settlement_rows", changed):
        yield


def settled_twice() -> AbstractContextManager[object]:
    return settled_otherwise(lambda charges: [*charges, charges[-1]])


def settled_below_the_rings() -> AbstractContextManager[object]:
    return settled_otherwise(lambda charges: [(entry, charge // 2) for entry, charge in charges])


def secret_drawn_again() -> AbstractContextManager[object]:
    receipt, drawn = runs._receipt, count()

    def drawn_again(books: Any, suite: Any, run_id: str, answer: str | None) -> Any:
        found = receipt(books, suite, run_id, answer)
        return replace(found, secret=f"<secret again {next(drawn)}>") if found.levels else found

    return patch.object(runs, "_receipt", drawn_again)


def secret_in_a_reading() -> AbstractContextManager[object]:
    found = reading.suites

    def shown(books: Any) -> Any:
        secrets = dict(books.file.rows("SELECT suite, secret FROM suite_secret"))
        return [replace(suite, spec=f"{suite.spec} {secrets[suite.number]}") for suite in found(books)]

    return patch.object(reading, "suites", shown)


@contextmanager
def secret_not_overwritten() -> Iterator[None]:
    with patch.object(runs, "forget", lambda *suite: None), patch.object(acts, "forget", lambda *suite: None):
        yield


def log_not_truncated() -> AbstractContextManager[object]:
    return patch.object(LedgerFile, "truncate_log", lambda file: None)


def runs_of_a_kept_suite_side_by_side() -> AbstractContextManager[object]:
    """Each holds its own run id, as a suite that is not kept does, and not the suite."""
    lock = runs.RunLock

    def by_run(file: Any, name: str, wait: float, kind: str = "run") -> Any:
        return lock(file, f"{name} {next(counted)}" if kind == "suite" else name, wait)

    counted = count()
    return patch.object(runs, "RunLock", by_run)


def sqlite_syncs_nothing() -> AbstractContextManager[object]:
    """Not of the ledger: a disk that lies, to show that what SQLite syncs is needed."""
    return patch.object(SimulatedFile, "xSync", lambda file, flags: None)


# By name: what is put in place, and the first seed that catches it.
MUTANTS: dict[str, tuple[Callable[[], AbstractContextManager[object]], int]] = {
    "publish before record": (publish_before_record, 1),
    "lock skipped": (lock_skipped, 4),
    "sync dropped": (sync_dropped, 1),
    "sync of the log dropped at commits": (normal_instead_of_full, 1),
    "folder not synced": (folder_not_synced, 8),
    "head not moved": (head_not_moved, 18),
    "rename before sync": (rename_before_sync, 10),
    "run id looked up outside the transaction": (run_id_outside_the_transaction, 35),
    "log copied without its file": (log_without_its_file, 57),
    "settlement not counted": (settlement_not_counted, 2),
    "verdict before record": (verdict_before_record, 5),
    "suite settled twice": (settled_twice, 2),
    "suite settled below the rings": (settled_below_the_rings, 2),
    "secret drawn again": (secret_drawn_again, 8),
    "secret in a reading": (secret_in_a_reading, 2),
    "secret not overwritten": (secret_not_overwritten, 2),
    "log not truncated": (log_not_truncated, 2),
    "runs of a kept suite side by side": (runs_of_a_kept_suite_side_by_side, 8),
    "a disk that syncs nothing": (sqlite_syncs_nothing, 1),
}
