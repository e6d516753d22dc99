"""Missing options: from the environment (`DPDB_LEDGER`), else from `dpdb.toml` or the file that the caller names.

The command line counts first, then the environment, then the command's own table of the file, then its top level. What
an option takes from elsewhere is put before the words that were given, and read as if it had been given.
"""

from __future__ import annotations

import os
from argparse import Action
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from dpdb.doors.cli.intermixed import CONFIG, Parser, is_harmless, is_repeated
from dpdb.doors.cli.streams import say
from dpdb.errors import ParameterError
from dpdb.names import nearest_words

if TYPE_CHECKING:
    from dpdb.doors.cli.settings_file import SettingsFile

__all__ = ["with_defaults"]

_FOUND = "dpdb.toml"

# Given by the caller each time: permission to show exact values or to replace a file.
_ONLY_GIVEN = {"--help", "--version", "--non-private", "--overwrite", "--yes", CONFIG}
_TRUE, _FALSE = ("1", "true", "yes"), ("", "0", "false", "no")


def with_defaults(parser: Parser, given: Sequence[str], every: Callable[[], Parser]) -> list[str]:
    """Return the words of a command line with those that stand for its missing options.

    Parameters
    ----------
    parser
        Knows at least the given command.
    given
        The words of the command line.
    every
        Makes the parser of all commands, for the names that the file may use.

    Raises
    ------
    ParameterError
        If the file cannot be read or names an unknown option or command, or a value is of another type.
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
    if not options or not parser.takes_defaults:  # the parser prints help or names what is missing
        return list(given)
    file = _settings(_named(rest, parser))
    if file and any(isinstance(value, dict) or _option(key) not in options for key, value in file.values.items()):
        _refuse_unknown(file.name, file.values, every())
    stated = {word.partition("=")[0] for word in rest if word.startswith("--")}
    shortened = tuple(stated - set(parser.options) - {"--"})  # argparse takes the beginning of a name for it
    taken = {
        name: value
        for name, value in _stated_elsewhere(words, options, file).items()
        if name not in stated and not any(map(name.startswith, shortened))
    }
    added = [word for name, value in taken.items() for word in _written(name, value, options[name])]
    if file and file.found:
        _tell_or_refuse(file, {name: options[name] for name, value in taken.items() if value.is_of_file}, rest)
    return [*words, *added, *rest]


class _Value(NamedTuple):
    """A value that the command line does not give, and its place."""

    place: str
    value: Any
    is_of_file: bool


def _settings(named: str | None) -> SettingsFile | None:
    """Read the file that the caller names, else the one that is found, if there is one."""
    if named is None and not os.path.lexists(_FOUND):
        return None
    from dpdb.doors.cli.settings_file import settings_file  # where there is a file: every command begins here

    return settings_file(_FOUND if named is None else named, found=named is None)


def _named(words: Sequence[str], parser: Parser) -> str | None:
    """Return the file that the command line or the environment names."""
    found = _of_variable(CONFIG)
    place, name = ("", None) if found is None else found[:2]
    for word, behind in zip_longest(words, words[1:]):
        if word == "--":
            break
        option, sign, value = word.partition("=")
        # argparse takes the beginning of a name for it
        meant = [known for known in parser.options if known.startswith(option)] if word.startswith("--") else []
        if option == CONFIG or meant == [CONFIG]:
            place, name = CONFIG, value if sign else os.devnull if behind is None else behind
    if name == "":
        raise ParameterError(f"{place}: is empty; give it a value, or take it away")
    return name


def _of_variable(name: str) -> _Value | None:
    variable = f"DPDB_{name.removeprefix('--').replace('-', '_').upper()}"
    value = os.environ.get(variable)
    return None if value is None else _Value(f"environment variable {variable}", value, is_of_file=False)


def _stated_elsewhere(words: Sequence[str], options: Mapping[str, Any], file: SettingsFile | None) -> dict[str, _Value]:
    found: dict[str, _Value] = {}
    if file:
        table: Any = file.values
        for word in words:
            table = table.get(word, {}) if isinstance(table, dict) else {}
        for key, value in (*_values(table), *_values(file.values)):
            name = _option(key)
            found.setdefault(name, _Value(f"{file.name}, key {name.removeprefix('--')!r}", value, is_of_file=True))
    return {name: value for name in options if (value := _of_variable(name) or found.get(name)) is not None}


def _tell_or_refuse(file: SettingsFile, taken: Mapping[str, Action], words: Sequence[str]) -> None:
    """List the options that a merely found file sets, unless the caller wants silence; refuse those it may not set."""
    refused = [name.removeprefix("--") for name, action in taken.items() if not is_harmless(action)]
    if refused:
        from dpdb.doors.cli.settings_file import how_to_name

        raise ParameterError(
            f"{file.name}: was only found here, so it may not set {', '.join(refused)}: if you trust it, name it "
            f"({how_to_name(file.name)}), or give the option"
        )
    quiet = _of_variable("--quiet")
    if taken and "--quiet" not in words and (quiet is None or quiet.value.lower() in _FALSE):
        say(f"{file.name} sets {', '.join(name.removeprefix('--') for name in taken)}")


def _refuse_unknown(file: str, table: Mapping[str, Any], parser: Parser, path: tuple[str, ...] = ()) -> None:
    """Refuse a table that names no command, and a key that no command below that table has as an option."""
    commands = [name for action in parser._actions if isinstance(action.choices, dict) for name in action.choices]
    known = list(dict.fromkeys(name.removeprefix("--") for name in _options_below(parser) if name not in _ONLY_GIVEN))
    place = f"{file}, [{'.'.join(path)}]" if path else file
    for key, value in table.items():
        below = parser.command(key)
        if isinstance(value, dict) and below is None:
            raise ParameterError(f"{file}: [{'.'.join((*path, key))}] is no command{nearest_words(key, commands)}")
        if isinstance(value, dict) and below is not None:
            _refuse_unknown(file, value, below, (*path, key))
        elif _option(key).removeprefix("--") not in known:
            raise ParameterError(f"{place}: unknown key {key!r}{nearest_words(key, known)}")


def _options_below(parser: Parser) -> Iterator[str]:
    """Give the long names of a command's options, and of the options of all commands below it."""
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


def _written(name: str, found: _Value, action: Action) -> list[str]:
    place, value = found.place, found.value
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
    if "" in values:  # such as a missing secret: without the option the command would do something else
        raise ParameterError(f"{place}: is empty; give it a value, or take it away")
    return [f"{name}={each}" for each in values]
