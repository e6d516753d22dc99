"""The file with values for missing options: the file that the caller names, else `dpdb.toml` in the current folder.

A file that is named (`--config FILE`, `DPDB_CONFIG`) is the caller's word. One that was merely found is a stranger's,
also under the caller's own name: he may have cloned the folder. So it must be a plain file of his that nobody else can
write, and sets only options that are `harmless`. No option is, until its definition says so: it changes neither what is
protected, nor what is spent and from what, nor what counts as public, nor where anything is written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from dpdb.doors.cli.intermixed import CONFIG
from dpdb.doors.cli.streams import describe_failure
from dpdb.errors import ParameterError

__all__ = ["SettingsFile", "how_to_name", "settings_file"]

_MOST = 1_000_000  # bytes


class SettingsFile(NamedTuple):
    """Values for options.

    Attributes
    ----------
    name : str
        Its path, as the caller names it or as it was found.
    values : dict
        Its content; empty without a file.
    found : bool
        Whether it was merely found: the caller has not named it.
    """

    name: str
    values: dict[str, Any]
    found: bool


def settings_file(name: str, *, found: bool) -> SettingsFile:
    """Read the file that the caller named, or that was found.

    Raises
    ------
    ParameterError
        It cannot be read, is too long, or was only found and may be somebody else's.
    """
    from dpdb.files.bounded_file import toml_values

    try:
        content = _content(_opened(name) if found else os.open(name, os.O_RDONLY | os.O_CLOEXEC))
    except ParameterError:
        raise
    except (OSError, ValueError) as error:  # a name that no file can have is a ValueError
        raise ParameterError(f"{name}: {describe_failure(error).lower()}") from None
    if len(content) > _MOST:
        raise ParameterError(f"{name}: longer than {_MOST:,} bytes")
    return SettingsFile(name, _with_schema(toml_values(content, name), name), found)


def _with_schema(values: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the values, with each `[schema]` (columns and types, as `dpdb schema` prints them) as the option."""
    return {
        key: value
        if not isinstance(value, dict)
        else _schema(value, name)
        if key == "schema"
        else _with_schema(value, name)
        for key, value in values.items()
    }


def _schema(types: dict[str, Any], name: str) -> str:
    from dpdb.sources import column_definition

    for column, kind in types.items():
        if not isinstance(kind, str):
            raise ParameterError(f"{name}, [schema]: column {column!r}: expected a SQL type as text, got {kind!r}")
    return ", ".join(column_definition(column, kind) for column, kind in types.items())


def how_to_name(name: str) -> str:
    """Return the words by which a caller names a file that was found."""
    return f"{CONFIG} {name}, or DPDB_CONFIG={name}"


def _opened(name: str) -> int:
    from dpdb.files.owned_file import check_unchanged, open_owned

    try:
        return open_owned(Path(name), os.O_RDONLY, check=check_unchanged)
    except PermissionError as error:
        raise ParameterError(
            f"{name}: {error.strerror}; it was only found here: if you trust it, name it ({how_to_name(name)}); "
            f"{CONFIG} {os.devnull} goes on without it"
        ) from None


def _content(descriptor: int) -> bytes:
    """Read one byte more than is allowed, at most: there are files without an end."""
    with os.fdopen(descriptor, "rb") as file:
        return file.read(_MOST + 1)
