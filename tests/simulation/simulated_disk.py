"""A disk that forgets: what was written since the last sync may be lost when the machine stops, whole or in part.

What programs see is a folder of the system in which the simulation works: so the ledger's own looks at files (`lstat`,
links, owners) stay as they are. What would survive is kept apart: of every file the bytes of its last sync and the
writes since, of every folder the names of its last sync and the changes since.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from simulated_world import World

SECTOR = 512


def folder_of(name: str) -> str:
    return name.rpartition("/")[0]


class Inode:
    """A file: what is on the disk, and the writes (or sizes) that are not there yet, in order."""

    def __init__(self, durable: bytes = b"") -> None:
        self.durable = bytearray(durable)
        self.pending: list[tuple[int, bytes | None]] = []

    def write(self, offset: int, data: bytes) -> None:
        self.pending.append((offset, bytes(data)))

    def truncate(self, size: int) -> None:
        self.pending.append((size, None))

    def sync(self) -> None:
        self.durable, self.pending = self.live(), []

    def live(self) -> bytearray:
        """What programs see."""
        content = bytearray(self.durable)
        for offset, data in self.pending:
            _apply(content, offset, data)
        return content

    def survives(self, world: World, keep: str) -> bytes:
        """What is found after the machine has stopped: none, all or some of the sectors since, one of them torn."""
        if keep == "all":
            return bytes(self.live())
        content = bytearray(self.durable)
        if keep == "none" or not self.pending:
            return bytes(content)
        pieces = [piece for offset, data in self.pending for piece in _sectors(offset, data)]
        torn = world.chance.randrange(len(pieces))
        for number, (offset, data) in enumerate(pieces):
            if world.chance.random() < 0.5:
                kept = data
                if number == torn and data is not None:
                    kept = data[: world.chance.randrange(len(data) + 1)]
                    world.faults["torn sector"] += 1
                _apply(content, offset, kept)
        return bytes(content)


def _apply(content: bytearray, offset: int, data: bytes | None) -> None:
    if data is None:
        del content[offset:]
        content.extend(bytes(max(0, offset - len(content))))
        return
    content.extend(bytes(max(0, offset - len(content))))
    content[offset : offset + len(data)] = data


def _sectors(offset: int, data: bytes | None) -> Iterator[tuple[int, bytes | None]]:
    if data is None:
        yield offset, None
        return
    begin = 0
    while begin < len(data):
        end = min(len(data), begin + SECTOR - (offset + begin) % SECTOR)
        yield offset + begin, data[begin:end]
        begin = end


class SimulatedDisk:
    """Stands for `dpdb.files.disk`, and keeps what the VFS writes; names are relative to its folder."""

    def __init__(self, world: World, root: Path) -> None:
        self.world, self.root, self._root = world, root, str(root)
        self.names: dict[str, Inode] = {}
        self.durable: dict[str, Inode] = {}
        self.pending: list[tuple[str, dict[str, Inode | None]]] = []  # folder, names that change together
        self.opened: dict[int, tuple[str | Inode, int, object]] = {}  # by descriptor: what, which file, by whom
        self.folders = 0  # and files out of the way, made so far
        root.mkdir()

    # -- names ---------------------------------------------------------------------------------------------------

    def name(self, path: str | Path) -> str:
        text = os.fspath(path)
        if text == self._root:
            return "."
        assert text.startswith(f"{self._root}/"), text
        return text[len(self._root) + 1 :]

    def change(self, folder: str, names: dict[str, Inode | None]) -> None:
        self.pending.append((folder, names))
        self._take(self.names, names)

    def sync_folder(self, folder: str) -> None:
        for place, names in self.pending:
            if place == folder:
                self._take(self.durable, names)
        self.pending = [each for each in self.pending if each[0] != folder]

    def made(self, name: str) -> Inode:
        self.change(folder_of(name), {name: Inode()})
        return self.names[name]

    def bury(self, path: Path) -> None:
        """Take a name out of the folder; the file stays, so that the system never gives its number to another one."""
        self.folders += 1
        path.rename(f"{self.root}-away-{self.folders}")

    @staticmethod
    def _take(names: dict[str, Inode], changed: dict[str, Inode | None]) -> None:
        for name, inode in changed.items():
            names.pop(name, None)
            if inode is not None:
                names[name] = inode

    # -- faults --------------------------------------------------------------------------------------------------

    def call(self, kind: str, path: str | Path, fault: tuple[int, ...] = ()) -> str:
        """One call of an actor: whoever is dead reaches nothing; others go on when it is their turn, or it fails."""
        name = self.name(path)
        actor = self.world.current
        if actor is not None and actor.dead:
            raise OSError(errno.EIO, "dead")
        self.world.step(kind, name)
        if fault and self.world.strikes():
            code = self.world.chance.choice(fault)
            self.world.fault(errno.errorcode[code], f"{kind} {name}")
            raise OSError(code, os.strerror(code))
        return name

    # -- what `dpdb.files.disk` has --------------------------------------------------------------------------------

    def open_file(self, path: Path, flags: int, mode: int = 0o600) -> int:
        name = self.call("open", path, (errno.EIO, errno.ENOSPC) if flags & os.O_CREAT else (errno.EIO,))
        is_new = bool(flags & os.O_CREAT) and not os.path.lexists(path)
        descriptor = os.open(path, flags, mode)
        if is_new:
            self.made(name)
        self.opened[descriptor] = (
            self.names.get(name) or ("" if name == "." else name),
            os.fstat(descriptor).st_ino,
            self.world.current,
        )
        return descriptor

    def write(self, stream: TextIO, text: str) -> None:
        inode = self.opened[stream.fileno()][0]
        assert isinstance(inode, Inode)
        self.call("write", self._path_of(inode), (errno.EIO, errno.ENOSPC))
        stream.write(text)
        stream.flush()
        inode.write(0, text.encode())

    def fsync(self, descriptor: int) -> None:
        what = self.opened[descriptor][0]
        if isinstance(what, Inode):
            self.call("sync", self._path_of(what), (errno.EIO,))
            what.sync()
        else:
            self.call("sync folder", self.root / what, (errno.EIO,))
            self.sync_folder(what)

    def rename(self, path: Path, new: Path) -> None:
        name, to = self.call("rename", path, (errno.EIO, errno.ENOSPC)), self.name(new)
        if os.path.lexists(new):
            self.bury(new)
        path.rename(new)
        self.change(folder_of(to), {name: None, to: self.names[name]})

    def unlink(self, path: Path, *, missing_ok: bool = False) -> None:
        name = self.call("unlink", path, (errno.EIO,))
        if not missing_ok or os.path.lexists(path):
            self.bury(path)
        if name in self.names:
            self.change(folder_of(name), {name: None})

    def lock(self, descriptor: int) -> None:
        import fcntl

        what = self.opened[descriptor][0]
        self.call("lock", self._path_of(what) if isinstance(what, Inode) else self.root / what)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def make_folder(self, prefix: str, suffix: str, parent: Path) -> Path:
        self.folders += 1
        folder = parent / f"{prefix}{self.folders}{suffix}"
        self.call("make folder", folder, (errno.ENOSPC,))
        folder.mkdir(mode=0o700)
        return folder

    def remove_folder(self, folder: Path) -> None:
        try:
            name = self.call("remove folder", folder)
        except OSError:
            return
        shutil.rmtree(folder, ignore_errors=True)
        for each in [each for each in self.names if each.startswith(f"{name}/")]:
            self.change(name, {each: None})

    def _path_of(self, inode: Inode) -> Path:
        return self.root / next((name for name, found in self.names.items() if found is inode), "(no name)")

    # -- what happens to the machine --------------------------------------------------------------------------------

    def let_go(self, actor: object) -> None:
        """Close what a process that has ended had open."""
        for descriptor, (_, number, by) in list(self.opened.items()):
            if by is actor:
                try:
                    if os.fstat(descriptor).st_ino == number:
                        os.close(descriptor)
                except OSError:
                    pass
                del self.opened[descriptor]

    def stop(self) -> str:
        """The machine stops and starts again, when nobody is alive; says what was kept."""
        keep = self.world.chance.choice(["none", "all", "some"])
        names = dict(self.durable)
        for _, changed in self.pending:
            if keep == "all" or (keep == "some" and self.world.chance.random() < 0.5):
                self._take(names, changed)
        content = {name: names[name].survives(self.world, keep) for name in sorted(names)}
        for each in list(self.root.iterdir()):
            shutil.rmtree(each) if each.is_dir() else self.bury(each)
        self.names, self.durable, self.pending = {}, {}, []
        self.put(content)
        return keep

    def put(self, content: dict[str, bytes]) -> None:
        """Make files that last."""
        for name, data in content.items():
            path = self.root / name
            path.parent.mkdir(exist_ok=True)
            if os.path.lexists(path):
                self.bury(path)
            path.touch(0o600, exist_ok=False)
            path.write_bytes(data)
            self.names[name] = self.durable[name] = Inode(data)

    def move_away(self, names: list[str]) -> None:
        """Take files out of the folder, for good: who has them open keeps them."""
        for name in names:
            if (self.root / name).exists():
                self.bury(self.root / name)
            self.names.pop(name, None)
            self.durable.pop(name, None)
            self.pending = [(place, {n: i for n, i in changed.items() if n != name}) for place, changed in self.pending]

    def copy(self, names: list[str]) -> dict[str, bytes]:
        return {name: bytes(self.names[name].live()) for name in names if name in self.names}
