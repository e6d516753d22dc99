"""Options that are not given: from the environment (`DPDB_LEDGER`), else from `dpdb.toml` in the current folder.

The command line counts first, then the environment, then the command's own table of the file, then its top level. What
an option takes from elsewhere is put before the words that were given, and read as if it had been given.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpdb.doors.cli.intermixed import Parser
from dpdb.errors import ParameterError
from dpdb.names import nearest_words

__all__ = ["FILE", "with_defaults"]

FILE = Path("dpdb.toml")

# Said by whoever runs the command, each time: that exact values may be shown, that a file may be replaced.
_ONLY_GIVEN = {"--help", "--version", "--non-private", "--overwrite", "--yes"}
_TRUE, _FALSE = ("1", "true", "yes"), ("", "0", "false", "no")


def with_defaults(parser: Parser, given: Sequence[str]) -> list[str]:
    """Return the words of a command line with those that stand for its missing options.

    Raises
    ------
    ParameterError
        If the file cannot be read or names what the command does not have, or a value is of another type.
    """
    words: list[str] = []
    for word in given:
        below = parser.command(word)
        if below is None:
            break
        words.append(word)
        parser = below
    rest = list(given[len(words) :])
    options = {name: action for name, action in parser.options.items() if name not in _ONLY_GIVEN}
    stated = {word.partition("=")[0] for word in rest if word.startswith("--")}
    added: list[str] = []
    for name, (place, value) in _stated_elsewhere(words, options).items():
        if name not in stated:
            added += _written(name, value, place, is_flag=options[name].nargs == 0)
    return [*words, *added, *rest]


def _stated_elsewhere(words: Sequence[str], options: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    found: dict[str, tuple[str, Any]] = {}
    file = _file()
    table: Any = file
    for word in words:
        table = table.get(word, {}) if isinstance(table, dict) else {}
    if isinstance(table, dict) and table is not file:
        for key in (key for key, value in table.items() if not isinstance(value, dict)):
            if _option(key) not in options:
                known = [name.removeprefix("--") for name in options]
                raise ParameterError(f"{FILE}, [{'.'.join(words)}]: unknown key {key!r}{nearest_words(key, known)}")
    for name in options:
        variable = f"DPDB_{name.removeprefix('--').replace('-', '_').upper()}"
        if variable in os.environ:
            found[name] = f"environment variable {variable}", os.environ[variable]
            continue
        for place in (table, file):
            value = next((value for key, value in _values(place) if _option(key) == name), None)
            if value is not None:
                found[name] = f"{FILE}, key {name.removeprefix('--')!r}", value
                break
    return found


def _values(table: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(table, dict):
        yield from ((key, value) for key, value in table.items() if not isinstance(value, dict))


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _file() -> dict[str, Any]:
    try:
        text = FILE.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ParameterError(f"{FILE}: {(error.strerror or 'cannot be read').lower()}") from None
    import tomllib  # where there is a file: every command begins here

    try:
        return tomllib.loads(text.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        raise ParameterError(f"{FILE}: not TOML") from None


def _written(name: str, value: Any, place: str, *, is_flag: bool) -> list[str]:
    if is_flag:
        text = str(value).lower()
        if text not in (*_TRUE, *_FALSE):
            raise ParameterError(f"{place}: expected true or false")
        return [name] if text in _TRUE else []
    values = value if isinstance(value, list) else [value]
    if any(isinstance(each, bool) or not isinstance(each, (str, int, float)) for each in values):
        raise ParameterError(f"{place}: expected a text or a number, or a list of them")
    return [f"{name}={each}" for each in values]
