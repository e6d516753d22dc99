"""SQLite on the simulated disk: a VFS of `apsw`, and connections with the few methods that the ledger's store uses.

The VFS inherits `unix` for the shared memory and the locks of the write-ahead log, and for what programs see; what was
synced is kept by the disk. `sqlite3` knows no VFS of Python, so the same lives also run without one, for comparison.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw
from simulated_disk import Inode, SimulatedDisk, folder_of

_OPEN = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
_SYNCED_WITH_FOLDER = apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_SUPER_JOURNAL
_NAME = "simulated"


def _error(code: int, text: str) -> Exception:
    error = apsw.exception_for(code)
    error.args = (text,)
    return error


class SimulatedVFS(apsw.VFS):
    """Its `disk` is that of the life which runs now."""

    def __init__(self) -> None:
        super().__init__(_NAME, base="unix")
        self.disk: SimulatedDisk | None = None
        self.yields = True

    def call(self, kind: str, name: str, faults: tuple[int, ...] = ()) -> None:
        assert self.disk is not None
        world = self.disk.world
        if world.current is not None and world.current.dead:
            raise _error(apsw.SQLITE_IOERR, "dead")
        if self.yields:
            world.step(f"sqlite {kind}", self.disk.name(name))
        if faults and world.strikes():
            code = world.chance.choice(faults)
            world.fault(apsw.mapping_extended_result_codes.get(code) or apsw.mapping_result_codes[code], name_of(name))
            raise _error(code, "simulated")

    def xOpen(self, name: Any, flags: list[int]) -> Any:  # noqa: N802
        if name is None:
            return apsw.VFSFile("unix", name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        self.call("open", path, (apsw.SQLITE_CANTOPEN,))
        return SimulatedFile(self, name, path, flags)

    def xDelete(self, path: str, sync_folder: bool) -> None:  # noqa: N802
        self.call("delete", path, (apsw.SQLITE_IOERR_DELETE,))
        assert self.disk is not None
        if not os.path.lexists(path):
            raise _error(apsw.SQLITE_IOERR_DELETE_NOENT, "no such file")
        self.disk.bury(Path(path))
        name = self.disk.name(path)
        if name in self.disk.names:
            self.disk.change(folder_of(name), {name: None})
        if sync_folder:
            self.disk.sync_folder(folder_of(name))

    def xSleep(self, microseconds: int) -> int:  # noqa: N802
        assert self.disk is not None
        if self.yields and not (self.disk.world.current and self.disk.world.current.dead):
            self.disk.world.wait("sqlite sleeps", microseconds / 1e6)
        return microseconds


def name_of(path: str) -> str:
    return Path(path).name


class SimulatedFile(apsw.VFSFile):
    def __init__(self, vfs: SimulatedVFS, name: Any, path: str, flags: list[int]) -> None:
        assert vfs.disk is not None
        self.vfs, self.path, self.disk = vfs, path, vfs.disk
        makes = bool(flags[0] & apsw.SQLITE_OPEN_CREATE)
        is_new = makes and not os.path.lexists(path)
        super().__init__("unix", name, flags)
        known = self.disk.names.get(self.disk.name(path))
        self.inode: Inode = self.disk.made(self.disk.name(path)) if is_new or known is None else known
        if path.endswith("-wal") and self.disk.world.current is not None:
            self.disk.world.current.log = self.inode
        self.syncs_folder = makes and bool(flags[0] & _SYNCED_WITH_FOLDER)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self.vfs.call("read", self.path, (apsw.SQLITE_IOERR_READ,))
        data = super().xRead(amount, offset)
        if self.path.endswith("-wal") and len(data) > 1 and self.disk.world.strikes():
            self.disk.world.fault("short read", name_of(self.path))
            return data[: self.disk.world.chance.randrange(len(data))]
        return data

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self.vfs.call("write", self.path, (apsw.SQLITE_FULL, apsw.SQLITE_IOERR_WRITE))
        super().xWrite(data, offset)
        self.inode.write(offset, data)

    def xTruncate(self, size: int) -> None:  # noqa: N802
        self.vfs.call("truncate", self.path, (apsw.SQLITE_IOERR_TRUNCATE,))
        super().xTruncate(size)
        self.inode.truncate(size)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self.vfs.call("sync", self.path, (apsw.SQLITE_IOERR_FSYNC,))
        self.inode.sync()
        if self.syncs_folder:  # as `unix` does at the first sync of a log or journal
            self.syncs_folder = False
            self.disk.sync_folder(folder_of(self.disk.name(self.path)))

    def xLock(self, level: int) -> None:  # noqa: N802
        self.vfs.call("lock", self.path)
        super().xLock(level)


VFS = SimulatedVFS()


class _Cursor:
    def __init__(self, cursor: Any, changed: int) -> None:
        self._cursor, self.rowcount = cursor, changed

    def fetchall(self) -> list[Any]:
        return _translated(lambda: list(self._cursor))

    def fetchmany(self, most: int) -> list[Any]:
        return _translated(lambda: list(islice(self._cursor, most)))


def _translated(work: Any) -> Any:
    try:
        return work()
    except apsw.Error as error:
        code = getattr(error, "extendedresult", 0) or getattr(error, "result", 0)
        damaged = code & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
        kind = sqlite3.DatabaseError if damaged else sqlite3.OperationalError
        if code & 0xFF == sqlite3.SQLITE_CONSTRAINT:
            kind = sqlite3.IntegrityError
        found = kind(str(error))
        found.sqlite_errorcode = code
        raise found from None


class SimulatedConnection:
    """What `dpdb.ledger.store.file.connect` returns in a simulation; nobody waits but for his turn."""

    def __init__(self, disk: SimulatedDisk, path: Path, mode: str) -> None:
        self._world = disk.world
        self._apsw = _translated(
            lambda: apsw.Connection(f"file:{quote(os.fsencode(path))}?mode={mode}", flags=_OPEN, vfs=_NAME)
        )

    @property
    def in_transaction(self) -> bool:
        return bool(self._apsw.in_transaction)

    def execute(self, sql: str, values: tuple[object, ...] = ()) -> Any:
        try:
            before = self._apsw.total_changes()
            cursor = _translated(lambda: self._apsw.execute(sql, values))
            return _Cursor(cursor, self._apsw.total_changes() - before)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                self._world.wait("busy", 0.1)
            raise

    def executescript(self, sql: str) -> None:
        _translated(lambda: list(self._apsw.execute(sql)))

    def close(self) -> None:
        with suppress(apsw.Error):  # as `sqlite3`, which tells nobody that the last checkpoint failed
            self._apsw.close(True)


class PlainConnection:
    """The same with `sqlite3`, for lives without faults."""

    def __init__(self, disk: SimulatedDisk, path: Path, mode: str) -> None:
        self._world = disk.world
        self._plain = sqlite3.connect(
            f"file:{quote(os.fsencode(path))}?mode={mode}", uri=True, timeout=0.0, isolation_level=None
        )

    def execute(self, sql: str, values: tuple[object, ...] = ()) -> Any:
        try:
            return self._plain.execute(sql, values)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
                self._world.wait("busy", 0.1)
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)
