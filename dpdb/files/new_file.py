"""Work folders, and files that appear complete; both leave nothing behind, even if the process is killed.

A work folder has a lock file, locked as long as its process lives; the system releases the lock however the process
ends. So a process that can take the lock knows that no process uses the folder, in any container, and may remove it.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from dpdb.errors import DpdbError, ParameterError
from dpdb.files.disk import sync
from dpdb.stopping import Closing, at_forced_end

try:
    import fcntl
except ImportError:  # Windows: no locks, so nothing of other processes is ever removed
    fcntl = None  # type: ignore[assignment]

_PREFIX = "dpdb-work-"
_LOCK = ".dpdb-lock"
_RANDOM = r"[a-z0-9_]{8}"  # what `tempfile.mkdtemp` puts between prefix and suffix
_TRIES = 100

_open_folders: weakref.WeakSet[WorkFolder] = weakref.WeakSet()
_swept: set[tuple[int, str]] = set()


class WorkFolder(Closing):
    """A private folder (mode 0700), gone after `close`, when it is collected and when the process ends.

    Parameters
    ----------
    parent : path, optional
        Existing folder in which it is made. Default: the system's for temporary files.
    prefix, suffix
        Of its name. Folders of the same form that dead processes of the same user left in `parent` are removed.
    """

    def __init__(self, parent: str | os.PathLike[str] | None = None, prefix: str = _PREFIX, suffix: str = "") -> None:
        place = Path(tempfile.gettempdir() if parent is None else parent)
        _sweep(place, prefix, suffix)
        for _ in range(_TRIES):
            self.path = Path(tempfile.mkdtemp(prefix=prefix, suffix=suffix, dir=place))
            lock = _lock(self.path)
            if lock is not None:
                break
        else:
            raise OSError(None, "no folder of its own can be made")
        self._finalizer = weakref.finalize(self, _remove, self.path, lock, os.getpid())
        _open_folders.add(self)

    def close(self) -> None:
        """Remove the folder and its content. May be called twice."""
        self._finalizer()


class NewFile:
    """A file being written: as `partial` first; `keep` gives it the name `path`, complete or not at all.

    Parameters
    ----------
    replace
        Whether a file that exists may be replaced.
    private
        Whether only its owner may read it.

    Raises
    ------
    ParameterError
        If it exists and must not be replaced, or nothing can be written in its folder.
    """

    def __init__(self, path: Path, *, replace: bool = False, private: bool = False) -> None:
        self.path, self._replace, self._private = path, replace, private
        with self._errors():
            if not replace and os.path.lexists(path):
                raise FileExistsError
            self._folder = WorkFolder(path.parent, f".{path.name}.", ".partial")
        self.partial = self._folder.path / path.name

    def keep(self) -> None:
        """Give the file its name.

        Raises
        ------
        ParameterError
            If that fails, or another file has the name by now.
        """
        with self._errors():
            if self._private:
                self.partial.chmod(0o600)
            sync(self.partial)
            if self._replace:
                self.partial.replace(self.path)
            else:
                _move(self.partial, self.path)
            sync(self.path.parent)

    def close(self) -> None:
        """Remove the partial file unless it was kept. May be called twice."""
        self._folder.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except FileExistsError:
            raise ParameterError(f"{self.path}: exists already; it is not overwritten") from None
        except DpdbError:
            raise
        except (OSError, ValueError) as error:  # an impossible file name is a ValueError
            why = error.strerror if isinstance(error, OSError) else None
            raise ParameterError(f"{self.path}: cannot be written: {why or error}") from None


@contextmanager
def new_file(path: Path, *, replace: bool = False, private: bool = False) -> Iterator[Path]:
    """Yield a partial file's path for writing; it becomes `path` when the block ends without an error. See `NewFile`.

    Parameters
    ----------
    path
        The file to write.
    replace, private
        As for `NewFile`.
    """
    file = NewFile(path, replace=replace, private=private)
    try:
        with file._errors():
            yield file.partial
        file.keep()
    finally:
        file.close()


def _move(partial: Path, path: Path) -> None:
    """Rename the file to its target, unless another file has that name by now."""
    try:
        os.link(partial, path)  # unlike a rename, it refuses to replace a file
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        if os.path.lexists(path):
            raise FileExistsError from None
        partial.rename(path)


# -- whose folder it is ---------------------------------------------------------------------------------------


def _lock(folder: Path) -> int | None:
    """Take a new folder for this process; -1 where there are no locks, None if another process's sweep was faster."""
    if fcntl is None:
        return -1
    try:
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except (FileExistsError, FileNotFoundError):
        return None
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if _same(descriptor, folder / _LOCK):
            return descriptor
    os.close(descriptor)
    return None


def _remove(folder: Path, lock: int, process: int) -> None:
    if os.getpid() != process:  # a fork has no part in it
        return
    shutil.rmtree(folder, ignore_errors=True)
    if lock >= 0:
        os.close(lock)


def _sweep(parent: Path, prefix: str, suffix: str) -> None:
    """Remove work folders that dead processes have left in a parent folder; each parent is swept once."""
    if fcntl is None or (prefix == _PREFIX and (os.getpid(), str(parent)) in _swept):
        return
    _swept.add((os.getpid(), str(parent)))
    form = re.compile(re.escape(prefix) + _RANDOM + re.escape(suffix))
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if form.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_if_dead(Path(entry.path))


def _remove_if_dead(folder: Path) -> None:
    """Remove a folder of this user that has the lock file or is empty, and belongs to no living process."""
    place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.fstat(place).st_uid != os.geteuid():
            return
        inside = [entry.name for entry in os.scandir(place)]
        if inside and _LOCK not in inside:
            return
        # Empty: its process was killed before it made the lock file, or is about to; who makes the file has the folder.
        made = 0 if inside else os.O_CREAT | os.O_EXCL
        lock = os.open(_LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | made, 0o600, dir_fd=place)
        try:
            if not stat.S_ISREG(os.fstat(lock).st_mode):
                return
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _same(place, folder) and _same(lock, folder / _LOCK):
                shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(lock)
    finally:
        os.close(place)


def _same(descriptor: int, path: Path) -> bool:
    found, named = os.fstat(descriptor), path.stat(follow_symlinks=False)
    return (found.st_dev, found.st_ino) == (named.st_dev, named.st_ino)


@at_forced_end
def _remove_all() -> None:
    for folder in list(_open_folders):
        folder.close()
