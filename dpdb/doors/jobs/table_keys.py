"""The keys of a private table in a TOML file: its source and its settings, as jobs and servers name them."""

from __future__ import annotations

import glob
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dpdb.doors.jobs.toml_keys import TomlKeys, explained
from dpdb.engine import SETTINGS, SettingKind, TableSpec
from dpdb.errors import ParameterError, SourceError
from dpdb.opening import is_remote
from dpdb.sources import is_address, refuse_url

__all__ = ["TABLE_KEYS", "existing_file", "read_table"]

TABLE_KEYS = ("source", *(setting.key for setting in SETTINGS.values()))
"""The keys of a table, in the order of messages."""


def read_table(keys: TomlKeys, folder: Path, place: object, *, needs_rules: bool) -> TableSpec:
    """Read the source and its settings, each by its kind. A job of checks alone has its rules in their suites.

    Parameters
    ----------
    keys
        The keys of the table in the file; those in `TABLE_KEYS` are read.
    folder
        The folder of the file, to which paths are relative.
    place
        For messages: the file, and the table in it.
    needs_rules
        Whether constraints must be there.
    """
    read: Mapping[SettingKind, Callable[[str], Any]] = {
        "text": keys.text,
        "character": keys.character,
        "whole": keys.whole,
        "folder": lambda key: None if (text := keys.text(key)) is None else folder / text,
        "types": lambda key: _types(keys, key),
        "parents": lambda key: _parents(keys, folder, key),
        "constraints": lambda key: _constraints(keys, folder, key) if needs_rules or keys.has(key) else None,
    }
    source = _source(keys, folder)
    found = {name: read[setting.kind](setting.key) for name, setting in SETTINGS.items()}
    with explained(f"{place}: ", of=ParameterError):
        return TableSpec.of(source, {name: value for name, value in found.items() if value is not None})


def _types(keys: TomlKeys, key: str) -> Mapping[str, str] | None:
    types = keys.table(key)
    for column, kind in types.items():
        if not isinstance(kind, str):
            raise keys.error(key, f"column {column!r}: expected a SQL type as text, got {kind!r}")
    return types or None


def _source(keys: TomlKeys, folder: Path) -> str:
    text = keys.required_text("source")
    if is_address(text) or is_remote(text):
        return text
    try:
        refuse_url(text)
    except SourceError as error:
        raise keys.error("source", str(error)) from None
    source = str(folder / text)
    if not glob.has_magic(source):
        existing_file(keys, Path(source), "source")
    return source


def _parents(keys: TomlKeys, folder: Path, key: str) -> Mapping[str, str | None]:
    """A list of tables beside the source's, or a table of names and files; its name alone is such a table, too."""
    if keys.is_list(key):
        return dict.fromkeys(keys.texts(key) or ())
    found = {}
    for name, path in keys.table(key).items():
        if not isinstance(path, str) or not path:
            raise keys.error(key, f"parent {name!r}: expected a file, got {path!r}")
        found[name] = str(folder / path)
    return found


def _constraints(keys: TomlKeys, folder: Path, key: str) -> str | Path:
    if keys.is_list(key):
        # The comment makes it a text for certain: a single short line could be the name of a file.
        return "\n".join([*(keys.texts(key) or ()), "# the constraints of the file"])
    return existing_file(keys, folder / keys.required_text(key, "a file, or a list of texts"), key)


def existing_file(keys: TomlKeys, path: Path, key: str, advice: Callable[[Path], str] = lambda _: "") -> Path:
    """Return a path if there is something; `advice` ends the message about a missing one."""
    if not path.exists():
        raise keys.error(key, f"no such file: {path}{advice(path)}")
    return path
