"""Files of machine code: where they are, what makes one valid, how one is written; and the count of what was compiled.

A file's name has the kernel, its types and the processor; its first line has the name again, what the code was made
from (the platform, too), and a checksum of all that. Code of another kernel, or from another version of a source file,
of numba or of llvmlite is compiled again and replaced; so is a damaged file. `read_code` says whose files are read.

A caller can be told that compiling takes long, or have it refused. All of it is public: which kernels a call needs
follows from the shapes of constraints and the mechanisms.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dpdb.errors import DpdbError
from dpdb.files.owned_file import check_folder, check_unchanged, open_owned

_PACKAGE = Path(__file__).resolve().parents[1]


def read_code(path: Path) -> bytes:
    """Read a file that nobody may change but this user, root and the owner of the package.

    Raises
    ------
    OSError
        The file does not exist or must not be trusted; `strerror` says why.
    """
    check_code_folder(path.parent)
    with os.fdopen(open_owned(path, os.O_RDONLY, _package_owner(), check_unchanged), "rb") as file:
        return file.read()


def check_code_folder(folder: Path) -> None:
    """Raise `OSError` unless a folder exists in which nobody else may put files."""
    check_folder(folder, _package_owner())


@cache
def _package_owner() -> int:
    return _PACKAGE.stat().st_uid


@dataclass(frozen=True)
class ObjectCode:
    """Code of one function.

    Attributes
    ----------
    returns : str
        "none", "truth", "integer", or the number of integers.
    code : bytes
        An object file of this platform; in the files of `portable_code` LLVM's intermediate code, compressed.
    """

    symbol: str
    returns: str
    code: bytes


def folders() -> Iterator[Path]:
    """Return where machine code may be: in the package, else in the user's cache; or where NUMBA_CACHE_DIR says."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    if named:
        yield Path(named) / "dpdb"
        return
    yield _PACKAGE / "__pycache__" / "kernels"
    caches = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    with suppress(RuntimeError):  # no home
        yield (Path(caches) if caches else Path.home() / ".cache") / "dpdb" / "kernels"


def read_object(name: str, made_from: str, places: Iterable[Path] | None = None) -> ObjectCode | None:
    """Find a kernel's code; None if no folder has a file of it that is whole and was made from this.

    Parameters
    ----------
    places
        The folders to search, in order; None: `folders()`.
    """
    for folder in folders() if places is None else places:
        with suppress(OSError, ValueError, KeyError, TypeError):
            first, _, code = read_code(folder / name).partition(b"\n")
            head = json.loads(first)
            made = ObjectCode(str(head["symbol"]), str(head["returns"]), code)
            if head == _head(name, made_from, made):
                return made
    return None


def write_object(name: str, made_from: str, made: ObjectCode, places: Iterable[Path] | None = None) -> Path:
    """Keep code in the first folder that can be written and from which it can be read; return that folder.

    Parameters
    ----------
    places
        The folders to try, in order; None: `folders()`.

    Raises
    ------
    OSError
        There is no such folder.
    """
    content = json.dumps(_head(name, made_from, made)).encode() + b"\n" + made.code
    failed: OSError = FileNotFoundError("no folder for it")
    for folder in folders() if places is None else places:
        try:
            _make(folder)
            check_code_folder(folder)
            _replace(folder / name, content)
        except OSError as error:
            failed = error
        else:
            return folder
    raise failed


def _head(name: str, made_from: str, made: ObjectCode) -> dict[str, str]:
    """The first line of a file: the facts about its code, and a digest of them and of the code."""
    head = {"name": name, "made from": made_from, "symbol": made.symbol, "returns": made.returns}
    return {**head, "sha256": hashlib.sha256(json.dumps(head).encode() + b"\n" + made.code).hexdigest()}


def _make(folder: Path) -> None:
    """Make a folder and those above it, readable for others whatever the mask for new files is."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(0o755, exist_ok=True)


def _replace(path: Path, content: bytes) -> None:
    number, partial = tempfile.mkstemp(prefix=".", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(content)
        Path(partial).chmod(0o644)
        Path(partial).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(partial).unlink()
        raise


_LONG = 1.0  # seconds of compiling before `tell` is called
_LOG = logging.getLogger("dpdb")


@dataclass
class Compiled:
    """Kernels that this process has loaded so far: found on disk, compiled, and the folder of the compiled ones."""

    found: int = 0
    made: int = 0
    seconds: float = 0.0
    folder: Path | None = None
    why_not_kept: str | None = None


class NotCompiledError(DpdbError):
    """A kernel is not on disk, within `nothing_compiled`."""


compiled_so_far = Compiled()
_tellers: list[Callable[[], None]] = []
_told: list[bool] = []
_forbidden: list[bool] = []


def tell_when_long(tell: Callable[[], None]) -> None:
    """Have `tell` called, once in this process and from another thread, when compiling has taken a second."""
    _tellers[:] = [tell]


@contextmanager
def nothing_compiled() -> Iterator[None]:
    """Raise `NotCompiledError` in the block instead of compiling."""
    _forbidden.append(True)
    try:
        yield
    finally:
        _forbidden.pop()


def found_on_disk() -> None:
    """Count a kernel that was found on disk."""
    compiled_so_far.found += 1


@contextmanager
def compiling(name: str) -> Iterator[None]:
    """Count a kernel that is compiled in the block, and call `tell` if that takes long."""
    if _forbidden:
        raise NotCompiledError(f"{name} is not compiled")
    timer = threading.Timer(max(0.0, _LONG - compiled_so_far.seconds), _tell)
    timer.daemon = True
    start = time.perf_counter()
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        compiled_so_far.made += 1
        compiled_so_far.seconds += time.perf_counter() - start


def kept_in(folder: Path) -> None:
    """Note where the machine code of a kernel was written."""
    compiled_so_far.folder = folder


def cannot_be_kept(reason: str) -> None:
    """Say once per process that compiling will be repeated; public, because it knows no table."""
    if compiled_so_far.why_not_kept is not None:
        return
    compiled_so_far.why_not_kept = reason.splitlines()[0] if reason else "no reason given"
    _LOG.warning(
        "dpdb: compiled code cannot be kept on disk, so every start compiles again, for some seconds "
        "(%s); NUMBA_CACHE_DIR may name a folder that can be written",
        compiled_so_far.why_not_kept,
    )


def _tell() -> None:
    if not _told:
        _told.append(True)
        for tell in _tellers:
            tell()
