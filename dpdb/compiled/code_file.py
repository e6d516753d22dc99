"""The one rule for every file that is loaded as code: machine code, intermediate code, numba's pickles.

A file of code is a plain one, no link, which only its owner may write: this user, the administrator, or the owner of
this package, whose code runs already. It lies in a folder that is one of theirs, too, and so are all on the way to it:
see `check_folder`. The folder is checked first: if nobody else can write to it, nobody can exchange a file afterwards.

The file itself says what it is for, under a digest: see `object_file`.
"""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from dpdb.files.owned_file import check_folder, check_unchanged, open_owned

__all__ = ["check_code_folder", "read_code"]

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
