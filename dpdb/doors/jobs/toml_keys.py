"""Keys of a TOML table, each of one type; and those of a private table, as jobs and servers name them.

Errors name their place and the nearest known key.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from dpdb.errors import DpdbError, ParameterError, SourceError
from dpdb.names import close_name
from dpdb.options import Kind, Option
from dpdb.settings import SETTINGS, TableSpec, is_address, is_remote, refuse_url

T = TypeVar("T")

_LONGEST_NAME = 60
_SCALARS = (str, int, float, date)


@contextmanager
def explained(before: str, after: str = "", *, of: type[DpdbError] = DpdbError) -> Iterator[None]:
    """Add words to the message of an error of the block, and raise the same error again.

    Parameters
    ----------
    before, after
        The words before and behind the message.
    """
    try:
        yield
    except of as error:
        error.args = (f"{before}{error}{after}", *error.args[1:])
        raise


class TomlKeys:
    """One table of a job file.

    Parameters
    ----------
    values
        As `tomllib` reads them.
    place
        Where the table is, for messages: the file, and the table in it.
    known
        Every key that the table may have.

    Raises
    ------
    ParameterError
        A key is unknown; the methods raise it too, for a missing key or a value of another type.
    """

    def __init__(self, values: Mapping[str, Any], place: str, known: tuple[str, ...]) -> None:
        self._values = values
        self._place = place
        for key in values:
            if key not in known:
                near = close_name(key, known)
                hint = f"did you mean {near!r}? " if near is not None else ""
                raise ParameterError(f"{place}: unknown key {key!r}; {hint}(known: {', '.join(known)})")

    def text(self, key: str) -> str | None:
        """Read a text of at least one character."""
        return self._typed(key, "a text", _is_text)

    def character(self, key: str) -> str | None:
        """Read a text that may be a blank."""
        return self._typed(key, "a text", _is_character)

    def required_text(self, key: str, why: str = "") -> str:
        """Read a text that must be present."""
        found = self.text(key)
        if found is None:
            raise ParameterError(f"{self._place}: the key {key!r} is missing{why and f': {why}'}")
        return found

    def name_of_part(self, default: str | None = None) -> str:
        """Read the key `name`, which can be one part of `job/run/part`."""
        name = (self.text("name") or default) if default is not None else self.required_text("name")
        if len(name) > _LONGEST_NAME or not name.isprintable() or "/" in name:
            raise self.error("name", f"at most {_LONGEST_NAME} printable characters other than '/'")
        return name

    def whole(self, key: str) -> int | None:
        """Read a whole number."""
        return self._typed(key, "a whole number", _is_whole)

    def whole_or(self, key: str, word: str) -> int | str | None:
        """Read a whole number, or one given word."""
        if self._values.get(key) == word:
            return word
        return self._typed(key, f"a whole number or {word!r}", _is_whole)

    def flag(self, key: str) -> bool:
        """Read true or false; false if it is missing."""
        return bool(self._typed(key, "true or false", _is_flag))

    def number(self, key: str) -> float | None:
        """Read a number."""
        return self._typed(key, "a number", _is_number)

    def amount(self, key: str) -> float | str:
        """Read a number, or its exact decimal digits as text; it must be present."""
        found = self._typed(key, "a number such as 0.5 or '0.5'", _is_text_or_number)
        if found is None:
            raise ParameterError(f"{self._place}: the key {key!r} is missing: what the release may cost")
        return found

    def text_or_number(self, key: str) -> str | float | None:
        """Read a text or a number."""
        return self._typed(key, "a text or a number", _is_text_or_number)

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Read a list of texts."""
        found = self._typed(key, "a list of texts", _is_list_of(str))
        return None if found is None else tuple(found)

    def scalars(self, key: str) -> tuple[str | int | float, ...] | None:
        """Read a list of texts, numbers, truth values or dates; dates become texts."""
        found = self._typed(key, "a list of texts, numbers or dates", _is_list_of(*_SCALARS))
        return None if found is None else _without_dates(found)

    def lists(self, key: str) -> tuple[tuple[str | int | float, ...], ...] | None:
        """Read a list of such lists."""
        found = self._typed(key, "a list of lists of texts, numbers or dates", _is_list_of_scalars)
        return None if found is None else tuple(map(_without_dates, found))

    def table(self, key: str) -> Mapping[str, Any]:
        """Read a table; empty if it is missing."""
        return self._typed(key, "a table", _is_table) or {}

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        """Read a list of tables; empty if it is missing."""
        return self._typed(key, f"a list of tables, each under a line [[{key}]]", _is_list_of(dict)) or []

    def options(self, asked: Mapping[str, Option], /, **own: Callable[[str], Any]) -> dict[str, Any]:
        """Read what the table gives of the options of a data class, by the names of their fields.

        Parameters
        ----------
        asked
            The options, each read by its kind.
        **own
            By name, how an option is read otherwise.
        """
        read: Mapping[Kind, Callable[[str], Any]] = {
            "text": self.text, "amount": self.amount, "share": self.text_or_number, "keys": self.scalars,
            "whole": self.whole, "number": self.number, "flag": self.flag, "character": self.character,
            "columns": self.text, "lists": self.scalars,
        }  # fmt: skip
        found = {name: (own.get(name) or read[one.kind])(one.key) for name, one in asked.items()}
        for name, one in asked.items():
            if one.choices and found[name] not in (None, *one.choices):
                raise self.error(one.key, f"{found[name]!r} is none of {', '.join(one.choices)}")
        return {name: value for name, value in found.items() if value is not None}

    def has(self, key: str) -> bool:
        """Return whether the table has the key."""
        return key in self._values

    def is_list(self, key: str) -> bool:
        """Return whether the value is a list."""
        return isinstance(self._values.get(key), list)

    def error(self, key: str, problem: str) -> ParameterError:
        """Return (not raise) the error for a value that cannot be used."""
        return ParameterError(f"{self._place}, key {key!r}: {problem}")

    def _typed(self, key: str, expected: str, fits: Callable[[object], TypeGuard[T]]) -> T | None:
        value = self._values.get(key)
        if value is None or fits(value):
            return value
        raise self.error(key, f"expected {expected}, got {value!r}")


def _is_character(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value)


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _is_flag(value: object) -> TypeGuard[bool]:
    return isinstance(value, bool)


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_text_or_number(value: object) -> TypeGuard[str | float]:
    return isinstance(value, str) or _is_number(value)


def _is_table(value: object) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, dict)


def _is_list_of(*kinds: type) -> Callable[[object], TypeGuard[list[Any]]]:
    def fits(value: object) -> TypeGuard[list[Any]]:
        return isinstance(value, list) and all(isinstance(item, kinds) for item in value)

    return fits


def _is_list_of_scalars(value: object) -> TypeGuard[list[list[Any]]]:
    return isinstance(value, list) and all(map(_is_list_of(*_SCALARS), value))


def _without_dates(values: Iterable[Any]) -> tuple[str | int | float, ...]:
    return tuple(str(item) if isinstance(item, date) else item for item in values)


TABLE_KEYS = ("source", *(setting.key for setting in SETTINGS.values()))
"""The keys of a table, in the order of messages."""


def read_table(keys: TomlKeys, folder: Path, place: object, *, needs_rules: bool) -> TableSpec:
    """Read the source and its settings, each by its kind.

    A job of checks alone has its rules in their suites; counts of rows have none.

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
    read: Mapping[Kind, Callable[[str], Any]] = {
        "folder": lambda key: None if (text := keys.text(key)) is None else folder / text,
        "types": lambda key: _types(keys, key),
        "parents": lambda key: _parents(keys, folder, key),
        "constraints": lambda key: _constraints(keys, folder, key) if needs_rules or keys.has(key) else None,
    }
    source = _source(keys, folder)
    own = {name: read[setting.kind] for name, setting in SETTINGS.items() if setting.kind in read}
    found = keys.options(SETTINGS, **own)
    with explained(f"{place}: ", of=ParameterError):
        return TableSpec.of(source, found)


def ledgers_of_parents(keys: TomlKeys, folder: Path) -> dict[str, Path]:
    """Read the ledgers of other private tables, `parent_ledgers`, a table of names and files."""
    key = "parent_ledgers"
    found = {}
    for name, text in keys.table(key).items():
        if not isinstance(text, str) or not text:
            raise keys.error(key, f"{name!r}: expected a file, got {text!r}")
        path = folder / text
        found[name] = existing_file(
            keys, path, key, lambda missing: f"; make it once with `dpdb budget create {missing} --epsilon E`"
        )
    return found


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
