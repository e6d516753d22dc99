"""Files of machine code: where they are, what makes one valid, how one is written.

A file's name tells the kernel, its types and the processor; its first line what it was made from, and a checksum of the
rest. Code from another version of a source file, of numba or of llvmlite is compiled again and replaced; so is what is
damaged. Only files of the user who runs, of the administrator and of the package's owner are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ObjectCode", "folders", "read_object", "write_object"]

_PACKAGE = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class ObjectCode:
    """Machine code of one function.

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
    """Find the code `name` in `folders()` or `places`; None if there is none that is whole and was made from this."""
    for folder in folders() if places is None else places:
        with suppress(OSError, ValueError, KeyError, TypeError):
            path = folder / name
            with path.open("rb") as file:
                if os.fstat(file.fileno()).st_uid not in _trusted():
                    continue
                head, code = json.loads(file.readline()), file.read()
            if head["made from"] == made_from and head["sha256"] == hashlib.sha256(code).hexdigest():
                return ObjectCode(str(head["symbol"]), str(head["returns"]), code)
    return None


def write_object(name: str, made_from: str, made: ObjectCode, places: Iterable[Path] | None = None) -> Path:
    """Keep code in the first of `folders()` or `places` that can be written, and return the folder.

    Raises
    ------
    OSError
        There is none.
    """
    checksum = hashlib.sha256(made.code).hexdigest()
    head = {"made from": made_from, "symbol": made.symbol, "returns": made.returns, "sha256": checksum}
    failed: OSError = FileNotFoundError("no folder for it")
    for folder in folders() if places is None else places:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _replace(folder / name, json.dumps(head).encode() + b"\n" + made.code)
        except OSError as error:
            failed = error
        else:
            return folder
    raise failed


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


def _trusted() -> set[int]:
    user = os.geteuid() if hasattr(os, "geteuid") else 0
    return {0, user, _PACKAGE.stat().st_uid}
