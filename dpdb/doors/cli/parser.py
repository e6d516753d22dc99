"""The parser of the command line, and the values of options that are missing on it.

Errors are one line. A missing option takes its value from the environment (`DPDB_LEDGER`), else from the command's own
table of a file of settings, then from that file's top level. What an option takes from elsewhere is put before the
words that were given, and read as if it had been given.

A file of settings that is named (`--config FILE`, `DPDB_CONFIG`) is the caller's word. A `dpdb.toml` that was merely
found in the current folder is a stranger's, also under the caller's own name: he may have cloned the folder. So it must
be a plain file of his that nobody else can write, and sets only options that are `harmless`. No option is, until its
definition says so: it changes neither what is protected, nor what is spent and from what, nor what counts as public,
nor where anything is written.
"""

from __future__ import annotations

import argparse
import math
import os
import re
from argparse import Action
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from dpdb.doors.cli.streams import describe_failure, say
from dpdb.errors import ParameterError
from dpdb.names import close_name, nearest_words

CONFIG = "--config"
"""Names the file with values for options that are not given."""


def is_harmless(option: argparse.Action) -> bool:
    """Return whether an option's definition marks it as harmless."""
    return bool(getattr(option, "harmless", False))


def replaced_option(parser: argparse.ArgumentParser, name: str, by: str) -> None:
    """Refuse an option of earlier versions, wherever it is set, with the name of the one that does the same now."""
    parser.add_argument(name, action=_Replaced, nargs=0, const=by, default=argparse.SUPPRESS, help=argparse.SUPPRESS)


class _Replaced(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        parser.error(f"{self.option_strings[0]} is {self.const} now; nothing was spent")


class Parser(argparse.ArgumentParser):
    """As argparse's; where `intermixed` is true, an optional positional is set aside until all options are read.

    For `dpdb sql SOURCE --constraints C STATEMENT`.
    """

    instead: Mapping[str, str] = {}
    """What stands for options that other commands have."""
    intermixed = False
    takes_defaults = True
    """Whether `--config`, `dpdb.toml` and the environment give it values for missing options."""

    @property
    def options(self) -> dict[str, argparse.Action]:
        """The options by their long names."""
        return {name: action for action in self._actions for name in action.option_strings if name.startswith("--")}

    def add_argument(self, *names: str, harmless: bool = False, **how: Any) -> argparse.Action:
        """Add an option; one that is harmless may be set by a file that was merely found, too."""
        option = super().add_argument(*names, **how)
        option.harmless = harmless  # type: ignore[attr-defined]
        return option

    def add_repeated(self, name: str, **how: Any) -> argparse.Action:
        """Add an option that may be given several times; its values are a list, empty without any."""
        return self.add_argument(name, action="append", default=[], **how)

    @property
    def below(self) -> dict[str, Parser]:
        """The parsers of the commands below this one, by name."""
        choices = (action.choices for action in self._actions if isinstance(action.choices, dict))
        return {name: found for own in choices for name, found in own.items()}

    def error(self, message: str) -> NoReturn:
        """Print the error in one line, with the nearest name for one that there is not, and exit with code 2."""
        say(f"{message}{self._nearest(message)}; see `{self.prog} --help`")
        raise SystemExit(2)

    def _nearest(self, message: str) -> str:
        said = _NO_CHOICE.match(message)
        if said is None:
            return ""
        near = close_name(said[1], [name.strip("' ") for name in said[2].split(",")])
        return "" if near is None else f"; did you mean {near}?"

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the known arguments and return the rest."""
        if not self.intermixed:
            known, others = super().parse_known_args(args, namespace)
            self._refuse_misspelt(others)
            return known, others
        self.intermixed = False  # the intermixed parser calls this method
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self.intermixed = True

    def _refuse_misspelt(self, others: Sequence[str]) -> None:
        """Name the option that is meant by one that there is not."""
        strange = next((name.partition("=")[0] for name in others if name.startswith("--")), None)
        if strange is not None and strange in self.instead:
            self.error(f"there is no {strange} here: {self.instead[strange]}")
        near = None if strange is None else close_name(strange, self.options)
        if near is not None:
            self.error(f"unrecognized arguments: {' '.join(others)}; did you mean {near}?")


_SHOWN = 40
_NO_CHOICE = re.compile(r"argument \w+: invalid choice: '([^']*)' \(choose from (.*)\)")
# `int` reads no more digits than these; it would take other scripts' digits, underscores and blanks, too.
_WHOLE = re.compile(r"[+-]?[0-9]{1,4000}")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def whole(text: str) -> int:
    """Read a whole number."""
    if not _WHOLE.fullmatch(text):
        raise argparse.ArgumentTypeError(f"expected a whole number, got {_shortened(text)}")
    return int(text)


def real(text: str) -> float:
    """Read a finite number, such as 0.05 or 1e-6."""
    if not _REAL.fullmatch(text) or not math.isfinite(float(text)):
        raise argparse.ArgumentTypeError(f"expected a number, got {_shortened(text)}")
    return float(text)


def positive(text: str) -> float:
    """Read a positive finite number."""
    value = real(text)
    if value <= 0:
        raise argparse.ArgumentTypeError("must be positive")
    return value


def _shortened(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}...")


_FOUND = "dpdb.toml"

# Given by the caller each time: permission to show exact values or to replace a file.
ONLY_GIVEN = {"--help", "--version", "--non-private", "--overwrite", "--yes", CONFIG}
_TRUE, _FALSE = ("1", "true", "yes"), ("", "0", "false", "no")


def with_defaults(parser: Parser, given: Sequence[str], every: Callable[[], Parser]) -> list[str]:
    """Return the words of a command line with those that stand for its missing options.

    Parameters
    ----------
    parser
        Knows at least the given command.
    every
        Makes the parser of all commands, for the names that the file may use.

    Raises
    ------
    ParameterError
        If the file cannot be read or names an unknown option or command, or a value is of another type.
    """
    words: list[str] = []
    for word in given:
        below = parser.below.get(word)
        if below is None:
            break
        words.append(word)
        parser = below
    rest = list(given[len(words) :])
    options = {name: action for name, action in parser.options.items() if name not in ONLY_GIVEN}
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
        raise ParameterError(
            f"{file.name}: was only found here, so it may not set {', '.join(refused)}: if you trust it, name it "
            f"({how_to_name(file.name)}), or give the option"
        )
    quiet = _of_variable("--quiet")
    if taken and "--quiet" not in words and (quiet is None or quiet.value.lower() in _FALSE):
        say(f"{file.name} sets {', '.join(name.removeprefix('--') for name in taken)}")


def _refuse_unknown(file: str, table: Mapping[str, Any], parser: Parser, path: tuple[str, ...] = ()) -> None:
    """Refuse a table that names no command, and a key that no command below that table has as an option."""
    known = list(dict.fromkeys(name.removeprefix("--") for name in _options_below(parser) if name not in ONLY_GIVEN))
    place = f"{file}, [{'.'.join(path)}]" if path else file
    for key, value in table.items():
        below = parser.below.get(key)
        if isinstance(value, dict) and below is None:
            raise ParameterError(f"{file}: [{'.'.join((*path, key))}] is no command{nearest_words(key, parser.below)}")
        if isinstance(value, dict) and below is not None:
            _refuse_unknown(file, value, below, (*path, key))
        elif _option(key).removeprefix("--") not in known:
            raise ParameterError(f"{place}: unknown key {key!r}{nearest_words(key, known)}")


def _options_below(parser: Parser) -> Iterator[str]:
    """Give the long names of a command's options, and of the options of all commands below it."""
    yield from parser.options
    for below in parser.below.values():
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
    if isinstance(value, list) and not isinstance(action, argparse._AppendAction):
        raise ParameterError(f"{place}: expected one value, as on the command line")
    values = value if isinstance(value, list) else [value]
    if any(isinstance(each, bool) or not isinstance(each, (str, int, float)) for each in values):
        raise ParameterError(f"{place}: expected a text or a number, or a list of them")
    if "" in values:  # such as a missing secret: without the option the command would do something else
        raise ParameterError(f"{place}: is empty; give it a value, or take it away")
    return [f"{name}={each}" for each in values]


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
    """Read the file that the caller named, or that was found."""
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
    from dpdb.settings import column_definition

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
