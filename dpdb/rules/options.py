"""What importers read of other tools' files, which anybody may have written: options, values, and texts of SQL.

`Options` record which of them were read: an importer may drop no unread option. Texts that other tools paste into their
SQL unchanged are names of columns, values, patterns and conditions.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from dpdb.errors import ParameterError
from dpdb.rules.texts import bare_name, value


class Options:
    """Options by name, as a file gives them; `unread` lists those that no importer has read.

    It is no mapping, so that nobody reads all options at once. An option without a value (null) counts as absent.

    Parameters
    ----------
    said
        A mapping, or None for no options; any other value counts as one unreadable option.
    silent
        Names of options without influence on which rows fail.
    strange
        Further entries that no importer can read.
    within
        Prefix of the names where they are shown.
    """

    def __init__(
        self, said: object, silent: Collection[str] = (), strange: Collection[str] = (), within: str = ""
    ) -> None:
        named = said if isinstance(said, Mapping) else {}
        self._said = {str(key): value for key, value in named.items() if value is not None}
        no_options = said is None or isinstance(said, Mapping)
        self._strange = [*strange] if no_options else [*strange, repr(said)[:40]]
        self._silent, self._within = silent, within
        self._read: set[str] = set()
        self._inner: dict[str, Options] = {}

    def __contains__(self, name: str) -> bool:
        """Return True for an option with a value; this does not count as reading it."""
        return name in self._said

    def get(self, name: str, otherwise: Any = None) -> Any:
        """Read an option."""
        self._read.add(name)
        return self._said.get(name, otherwise)

    def first(self, *names: str) -> Any:
        """Read the first given one of several options of the same meaning; a second given one stays unread."""
        return next((self.get(name) for name in names if name in self._said), None)

    def need(self, name: str) -> Any:
        """Read an option that has to be there."""
        if name not in self._said:
            raise ParameterError(f"the option {name!r} is missing")
        return self.get(name)

    def choice(self, name: str, otherwise: str, *others: str) -> str:
        """Read an option that is one of some words.

        Parameters
        ----------
        otherwise
            The default, which is also one of the words.
        """
        word = self.get(name, otherwise)
        if word not in (otherwise, *others):
            raise ParameterError(f"{name}: {word!r} is none of {', '.join((otherwise, *others))}")
        return str(word)

    def flag(self, name: str, otherwise: bool = False) -> bool:
        """Read an option that is true or false."""
        value = self.get(name, otherwise)
        if not isinstance(value, bool):
            raise ParameterError(f"{name}: {value!r} is neither true nor false")
        return value

    def shown(self, name: str) -> Any:
        """Return the value of an option for a message about the check; this does not count as reading it."""
        return self._said.get(name)

    def inner(self, name: str, silent: Collection[str] = (), defaults: Mapping[str, Any] | None = None) -> Options:
        """Read an option that has options itself; `unread` lists the unread ones of these, too.

        Parameters
        ----------
        silent
            Names of its options without influence on which rows fail.
        defaults
            Its options where it does not say others.
        """
        if name not in self._inner:
            said = self.get(name)
            if defaults and (said is None or isinstance(said, Mapping)):
                said = {**defaults, **(said or {})}
            self._inner[name] = Options(said, silent, within=f"{self._within}{name}.")
        return self._inner[name]

    def starting(self, prefix: str) -> list[str]:
        """Return the names of the options that start with a prefix; this does not count as reading them."""
        return [name for name in self._said if name.startswith(prefix)]

    def notes(self, *names: str) -> str | None:
        """Read options, and return them in words for a comment."""
        said = [f"{name} {_words(self.get(name))}" for name in names if name in self._said]
        return ", ".join(said) or None

    def unread(self) -> list[str]:
        """Return the names of options that nobody has read, those of inner options included."""
        known = self._read | set(self._silent)
        names = [f"{self._within}{name}" for name in self._said if name not in known]
        return names + self._strange + [name for inner in self._inner.values() for name in inner.unread()]


def _words(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key} {_words(item)}" for key, item in value.items())
    return ", ".join(map(_words, value)) if isinstance(value, list) else str(value)


def mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping with text keys; an empty one for any other value."""
    return {str(key): item for key, item in value.items()} if isinstance(value, Mapping) else {}


def sequence(value: object) -> list[Any]:
    """Return a list; an empty one for None, and a list of one item for any other value."""
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def texts(value: object) -> list[str]:
    """Return the texts among the items of a list."""
    return [item for item in sequence(value) if isinstance(item, str)]


def single(value: object) -> tuple[str, object, list[str]]:
    """Read `name` or `{name: options}`, as YAML files write a check, and return its name, options and further keys."""
    if isinstance(value, str):
        return value, None, []
    items = list(mapping(value).items())
    name, said = items[0] if items else ("", None)
    return name, said, [key for key, _ in items[1:]]


def identifier(said: object) -> str:
    """Read a column's name as SQL writes it, in quotes or not."""
    text = said.strip() if isinstance(said, str) else ""
    if re.fullmatch(r"[^\W\d]\w*", text):
        return text
    if bare_name(text) == text:
        raise ParameterError(f"{said} is no column but an expression")
    return bare_name(text)


def is_always(condition: object) -> bool:
    """Return True for `1=1`, which takes all rows."""
    said = re.fullmatch(r"\s*(\d+)\s*=\s*(\d+)\s*", str(condition))
    return said is not None and said[1] == said[2]


def raw(item: object) -> str:
    """Write a value; a text is SQL already."""
    return item if isinstance(item, str) else value(item)


def like(name: str, sign: str, pattern: object) -> str:
    """Write that a column is like a pattern, or not.

    Parameters
    ----------
    sign
        The operator, such as `LIKE` or `NOT LIKE`.
    pattern
        The pattern, which becomes a quoted text.
    """
    for character in r"[\^" if isinstance(pattern, str) else "":
        if character in str(pattern):
            raise ParameterError(f"databases differ in what {character} means in a pattern of LIKE")
    return f"{name} {sign} {value(pattern)}"


def regex(name: str, pattern: object, *, inside: bool = True) -> str:
    """Write that a regular expression is found in a column, or not; whether it is one is seen when it is read.

    Parameters
    ----------
    pattern
        The regular expression, which becomes a quoted text.
    """
    if not isinstance(pattern, str):
        raise ParameterError("a regular expression is a text")
    found = f"regexp_matches({name}, {value(pattern)})"
    return found if inside else f"NOT {found}"


def listed(values: object, quote: bool) -> str:
    """Write a list of values, as text or as SQL."""
    written = [value(str(item)) if quote and value(item) else raw(item) for item in sequence(values)]
    if not written:
        raise ParameterError("the list of values is empty")
    return ", ".join(written)
