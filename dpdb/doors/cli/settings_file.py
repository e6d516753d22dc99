"""The file with values for options that are not given: the one that is named, else `dpdb.toml` in the current folder.

A file that is named (`--config FILE`, `DPDB_CONFIG`) is the caller's word. One that was merely found is a stranger's,
also under the caller's own name: he may have cloned the folder. So it must be a plain file of his that nobody else can
write, and sets only options that are `harmless`. No option is, until its definition says so: it changes neither what is
protected, nor what is spent and from what, nor what counts as public, nor where anything is written.
"""

from __future__ import annotations

import os
from argparse import Action
from pathlib import Path
from typing import Any, NamedTuple

from dpdb.doors.cli.streams import describe_failure
from dpdb.errors import ParameterError

__all__ = ["CONFIG", "FOUND", "HOW_TO_NAME", "SettingsFile", "harmless", "is_harmless", "settings_file"]

CONFIG = "--config"
FOUND = "dpdb.toml"
HOW_TO_NAME = f"{CONFIG} {FOUND}, or DPDB_CONFIG={FOUND}"
_MOST = 1_000_000  # bytes


class SettingsFile(NamedTuple):
    """Values for options.

    Attributes
    ----------
    name : str
        As it was named, or found.
    values : dict
        Its content; nothing, where there is no file.
    found : bool
        Whether nobody has named it.
    """

    name: str
    values: dict[str, Any]
    found: bool


def harmless(option: Action) -> Action:
    """Let a file that was merely found set this option, too."""
    option.harmless = True  # type: ignore[attr-defined]
    return option


def is_harmless(option: Action) -> bool:
    """Return whether an option's definition says that it is."""
    return bool(getattr(option, "harmless", False))


def settings_file(named: str | None) -> SettingsFile:
    """Read the file that is named, else the one in the current folder, if there is one.

    Raises
    ------
    ParameterError
        It cannot be read, is too long, or was only found and may be somebody else's.
    """
    name = FOUND if named is None else named
    try:
        content = _found() if named is None else _named(named)
    except FileNotFoundError:
        if named is None:
            return SettingsFile(name, {}, found=True)
        raise ParameterError(f"{name}: no such file") from None
    except ParameterError:
        raise
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        raise ParameterError(f"{name}: {describe_failure(error)}") from None
    if len(content) > _MOST:
        raise ParameterError(f"{name}: longer than {_MOST:,} bytes")
    from dpdb.files.toml_file import toml_values  # where there is a file: every command begins here

    return SettingsFile(name, toml_values(content, name), found=named is None)


def _found() -> bytes:
    if not os.path.lexists(FOUND):
        raise FileNotFoundError  # what follows imports more
    from dpdb.files.owned_file import check_unchanged, open_owned

    try:
        descriptor = open_owned(Path(FOUND), os.O_RDONLY, check=check_unchanged)
    except PermissionError as error:
        raise ParameterError(
            f"{FOUND}: {error.strerror}; it was only found here: if you trust it, name it ({HOW_TO_NAME}); "
            f"{CONFIG} {os.devnull} goes on without it"
        ) from None
    return _content(descriptor)


def _named(name: str) -> bytes:
    return _content(os.open(name, os.O_RDONLY | os.O_CLOEXEC))


def _content(descriptor: int) -> bytes:
    """Read one byte more than is allowed, at most: there are files without an end."""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_MOST + 1)
