"""Files of machine code: where they are, what makes one valid, how one is written.

A file's name has the kernel, its types and the processor; its first line has the name again, what the code was made
from (the platform, too), and a checksum of all that. Code of another kernel, or from another version of a source file,
of numba or of llvmlite is compiled again and replaced; so is a damaged file. `code_file` says whose files
are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dpdb.files.owned_file import check_folder, check_unchanged, open_owned

__all__ = [
    "ObjectCode",
    "check_code_folder",
    "folders",
    "read_code",
    "read_object",
    "write_object",
]


_PACKAGE = Path(__file__).resolve().parents[1]


def read_code(path: Path) -> bytes:
    """Read a file by the rule.

    Raises
    ------
    OSError
        The file does not exist or must not be trusted; `strerror` says why.
    """
    check_code_folder(path.parent)
    with os.fdopen(open_owned(path, os.O_RDONLY, _package_owner(), check_unchanged), "rb") as file:
        return file.read()


def check_code_folder(folder: Path) -> None:
    """Raise `OSError` unless a folder exists and the rule allows code files in it."""
    check_folder(folder, _package_owner())


@cache
def _package_owner() -> int:
    return _PACKAGE.stat().st_uid


@dataclass(frozen=True)
class ObjectCode:
    """Code of one function.

    Attributes
    ----------
    symbol : str
        The function's name in it.
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
    name
        Name of the file.
    made_from
        What the code must have been made from.
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
    name
        Name of the file.
    made_from
        What the code was made from.
    made
        The code.
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
