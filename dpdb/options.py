"""`Option`: what entry points must know of a field that callers set. Each derives its own form of the field from it.

The values that callers ask with are data classes: `Ask`, `RunOptions`, `DiagnosisAsk`, and the groups of a `TableSpec`.
A field made with `option` is an argument in Python, an option of a command, a key in TOML, a parameter in SQL, and a
property in JSON. A test in `tests/project` refuses entry points that write such a name by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import Any, Literal, TypeAlias

# How a value is written; each entry point has its own notation for it (words of a command, TOML, SQL literals, JSON).
Kind: TypeAlias = Literal[
    "text", "amount", "share", "keys", "whole", "number", "flag", "columns", "lists",
    "character", "folder", "types", "parents", "constraints",
]  # fmt: skip
Door: TypeAlias = Literal["commands", "jobs"]


@dataclass(frozen=True)
class Option:
    """How entry points write a field.

    Attributes
    ----------
    letter, words : str
        What stands for the value in the help of a command, and the help itself.
    key : str
        Its name in files and, with dashes, on command lines; in a field where it differs from the name in Python.
    is_harmless : bool
        Whether a settings file that was merely found may set it.
    choices : tuple of str
        The texts that it may be; any where there are none.
    not_in : tuple of str
        Entry points that set it otherwise: commands that name a run, and jobs, whose runs have ids and dates of their
        own.
    """

    kind: Kind
    letter: str
    words: str
    key: str = ""
    is_harmless: bool = False
    choices: tuple[str, ...] = ()
    not_in: tuple[Door, ...] = ()
    name: str = ""
    default: Any = None


def option(default: object, kind: Kind, letter: str = "", words: str = "", **more: Any) -> Any:
    """Return the field of a data class that is an option.

    Parameters
    ----------
    default, kind, letter, words, **more
        Fields of `Option`; the default is MISSING of what callers must give.
    """
    found = Option(kind, letter, words, default=None if default is MISSING else default, **more)
    return field(default=default, metadata={"option": found})


def same_option(asked: Any, name: str) -> Any:
    """Return the field of a data class that is an option of another one; None where it is left out."""
    return field(default=None, metadata={"option": replace(options_of(asked)[name], default=None)})


def options_of(asked: Any) -> dict[str, Option]:
    """Return the options of a data class, by the names of their fields and in their order."""
    found = ((own.name, own.metadata.get("option")) for own in fields(asked))
    return {name: replace(one, name=name, key=one.key or name) for name, one in found if one is not None}


def asked_in(door: Door, asked: Mapping[str, Option]) -> dict[str, Option]:
    """Return the options that an entry point takes as options."""
    return {name: one for name, one in asked.items() if door not in one.not_in}
