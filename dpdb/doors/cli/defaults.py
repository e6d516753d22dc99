"""Options that are not given: from the environment (`DPDB_LEDGER`), else from `dpdb.toml` in the current folder.

The command line counts first, then the environment, then the command's own table of the file, then its top level. What
an option takes from elsewhere is put before the words that were given, and read as if it had been given.
"""

from __future__ import annotations

import os
from argparse import Action
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dpdb.doors.cli.intermixed import Parser, is_repeated
from dpdb.errors import ParameterError
from dpdb.names import nearest_words

__all__ = ["FILE", "with_defaults"]

FILE = Path("dpdb.toml")

# Said by whoever runs the command, each time: that exact values may be shown, that a file may be replaced.
_ONLY_GIVEN = {"--help", "--version", "--non-private", "--overwrite", "--yes"}
_TRUE, _FALSE = ("1", "true", "yes"), ("", "0", "false", "no")


def with_defaults(parser: Parser, given: Sequence[str], every: Callable[[], Parser]) -> list[str]:
    """Return the words of a command line with those that stand for its missing options.

    Parameters
    ----------
    parser
        Of the command that is given, at least.
    given
        The words.
    every
        Makes the parser of all commands, for the names that the file may have.

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
    shortened = tuple(stated - set(parser.options) - {"--"})  # argparse takes the beginning of a name for it
    added: list[str] = []
    for name, (place, value) in _stated_elsewhere(words, options, every).items():
        if name not in stated and not any(map(name.startswith, shortened)):
            added += _written(name, value, place, options[name])
    return [*words, *added, *rest]


def _stated_elsewhere(
    words: Sequence[str], options: Mapping[str, Any], every: Callable[[], Parser]
) -> dict[str, tuple[str, Any]]:
    found: dict[str, tuple[str, Any]] = {}
    file = _file()
    if any(isinstance(value, dict) or _option(key) not in options for key, value in file.items()):
        _refuse_unknown(file, every())
    table: Any = file
    for word in words:
        table = table.get(word, {}) if isinstance(table, dict) else {}
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


def _refuse_unknown(table: Mapping[str, Any], parser: Parser, path: tuple[str, ...] = ()) -> None:
    """Refuse a table that is of no command, and a key that no command has, below which it stands."""
    commands = [name for action in parser._actions if isinstance(action.choices, dict) for name in action.choices]
    known = list(dict.fromkeys(name.removeprefix("--") for name in _options_below(parser) if name not in _ONLY_GIVEN))
    place = f"{FILE}, [{'.'.join(path)}]" if path else f"{FILE}"
    for key, value in table.items():
        below = parser.command(key)
        if isinstance(value, dict) and below is None:
            raise ParameterError(f"{FILE}: [{'.'.join((*path, key))}] is no command{nearest_words(key, commands)}")
        if isinstance(value, dict) and below is not None:
            _refuse_unknown(value, below, (*path, key))
        elif _option(key).removeprefix("--") not in known:
            raise ParameterError(f"{place}: unknown key {key!r}{nearest_words(key, known)}")


def _options_below(parser: Parser) -> Iterator[str]:
    """The long names of a command's options, and of those of all commands below it."""
    yield from parser.options
    for action in parser._actions:
        for name in action.choices if isinstance(action.choices, dict) else ():
            below = parser.command(name)
            if below is not None:
                yield from _options_below(below)


def _values(table: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(table, dict):
        yield from ((key, value) for key, value in table.items() if not isinstance(value, dict))


def _option(key: str) -> str:
    return f"--{key.replace('_', '-')}"


def _file() -> dict[str, Any]:
    try:
        content = FILE.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ParameterError(f"{FILE}: {(error.strerror or 'cannot be read').lower()}") from None
    from dpdb.files.toml_file import toml_values  # where there is a file: every command begins here

    return toml_values(content, FILE)


def _written(name: str, value: Any, place: str, action: Action) -> list[str]:
    if action.nargs == 0:
        text = str(value).lower()
        if text not in (*_TRUE, *_FALSE):
            raise ParameterError(f"{place}: expected true or false")
        return [name] if text in _TRUE else []
    if isinstance(value, list) and not is_repeated(action):
        raise ParameterError(f"{place}: expected one value, as on the command line")
    values = value if isinstance(value, list) else [value]
    if any(isinstance(each, bool) or not isinstance(each, (str, int, float)) for each in values):
        raise ParameterError(f"{place}: expected a text or a number, or a list of them")
    if "" in values:  # such as a secret that is not there: without it something else would be done
        raise ParameterError(f"{place}: is empty; give it a value, or take it away")
    return [f"{name}={each}" for each in values]
