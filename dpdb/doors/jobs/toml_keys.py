"""Keys of a TOML table, each of one type; errors name their place and the nearest known key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from dpdb.errors import ParameterError
from dpdb.names import close_name

__all__ = ["TomlKeys"]

_LONGEST_NAME = 60


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
        found: str | None = self._typed(key, "a text", lambda value: isinstance(value, str) and bool(value.strip()))
        return found

    def character(self, key: str) -> str | None:
        """Read a text that may be a blank."""
        found: str | None = self._typed(key, "a text", lambda value: isinstance(value, str) and bool(value))
        return found

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
        found: int | None = self._typed(
            key, "a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)
        )
        return found

    def whole_or(self, key: str, word: str) -> int | str | None:
        """Read a whole number, or one given word."""
        found: int | str | None = self._typed(
            key,
            f"a whole number or {word!r}",
            lambda value: value == word or (isinstance(value, int) and not isinstance(value, bool)),
        )
        return found

    def flag(self, key: str) -> bool:
        """Read true or false; false if it is missing."""
        return bool(self._typed(key, "true or false", lambda value: isinstance(value, bool)))

    def number(self, key: str) -> float | None:
        """Read a number."""
        found: float | None = self._typed(key, "a number", _is_number)
        return found

    def amount(self, key: str) -> float | str:
        """Read a number, or its exact decimal digits as text; it must be present."""
        found: float | str | None = self._typed(
            key, "a number such as 0.5 or '0.5'", lambda value: _is_number(value) or isinstance(value, str)
        )
        if found is None:
            raise ParameterError(f"{self._place}: the key {key!r} is missing: what the release may cost")
        return found

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Read a list of texts."""
        found: list[str] | None = self._typed(
            key,
            "a list of texts",
            lambda value: isinstance(value, list) and all(isinstance(item, str) for item in value),
        )
        return None if found is None else tuple(found)

    def scalars(self, key: str) -> tuple[str | int | float, ...] | None:
        """Read a list of texts, numbers, truth values or dates; dates become texts."""
        found: list[Any] | None = self._typed(
            key,
            "a list of texts, numbers or dates",
            lambda value: isinstance(value, list) and all(isinstance(item, (str, int, float, date)) for item in value),
        )
        return None if found is None else tuple(str(item) if isinstance(item, date) else item for item in found)

    def lists(self, key: str) -> tuple[tuple[str | int | float, ...], ...] | None:
        """Read a list of such lists."""
        found: list[Any] | None = self._typed(
            key,
            "a list of lists of texts, numbers or dates",
            lambda value: (
                isinstance(value, list)
                and all(isinstance(each, list) for each in value)
                and all(isinstance(item, (str, int, float, date)) for each in value for item in each)
            ),
        )
        if found is None:
            return None
        return tuple(tuple(str(item) if isinstance(item, date) else item for item in each) for each in found)

    def text_or_number(self, key: str) -> str | float | None:
        """Read a text or a number."""
        found: str | float | None = self._typed(
            key, "a text or a number", lambda value: isinstance(value, str) or _is_number(value)
        )
        return found

    def table(self, key: str) -> Mapping[str, Any]:
        """Read a table; empty if it is missing."""
        return self._typed(key, "a table", lambda value: isinstance(value, dict)) or {}

    def tables(self, key: str) -> list[Mapping[str, Any]]:
        """Read a list of tables; empty if it is missing."""
        return (
            self._typed(
                key,
                f"a list of tables, each under a line [[{key}]]",
                lambda value: isinstance(value, list) and all(isinstance(item, dict) for item in value),
            )
            or []
        )

    def has(self, key: str) -> bool:
        """Return whether the table has the key."""
        return key in self._values

    def is_list(self, key: str) -> bool:
        """Return whether the value is a list."""
        return isinstance(self._values.get(key), list)

    def error(self, key: str, problem: str) -> ParameterError:
        """Return (not raise) the error for a value that cannot be used."""
        return ParameterError(f"{self._place}, key {key!r}: {problem}")

    def _typed(self, key: str, expected: str, fits: Callable[[Any], bool]) -> Any:
        value = self._values.get(key)
        if value is not None and not fits(value):
            raise self.error(key, f"expected {expected}, got {value!r}")
        return value


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
