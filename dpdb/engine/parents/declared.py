"""`DeclaredParent`: what the owner says of a parent: where it is, and whether everybody may know its rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dpdb.errors import ParameterError
from dpdb.sources import SourceLike

__all__ = ["DeclaredParent", "ParentsLike", "declared_parents"]

# Names of tables with their sources; None, or a name alone, is a table beside the measured one.
ParentsLike: TypeAlias = Mapping[str, SourceLike | None] | Sequence[str] | str


@dataclass(frozen=True)
class DeclaredParent:
    """A table that rules may look into.

    Attributes
    ----------
    name : str
        As rules call it.
    source : SourceLike or None
        See `open_source`; None is the table of this name in the measured table's own DuckDB file or connection.
    is_public : bool
        The owner's word that everybody may know the table's rows, in all columns. Nothing is public by default.
    """

    name: str
    source: SourceLike | None
    is_public: bool


def declared_parents(public: ParentsLike | None, private: ParentsLike | None) -> tuple[DeclaredParent, ...]:
    """Read the owner's words: every parent is public or private, and called by one name.

    Raises
    ------
    ParameterError
        If a name is no text, or is used twice.
    """
    found = [*_declared(public, is_public=True), *_declared(private, is_public=False)]
    names = [parent.name.casefold() for parent in found]
    for parent in found:
        if names.count(parent.name.casefold()) > 1:
            raise ParameterError(f"parent {parent.name!r} is declared twice: it is one table, either public or private")
    return tuple(found)


def _declared(given: ParentsLike | None, *, is_public: bool) -> Iterator[DeclaredParent]:
    if given is None:
        return
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, (Mapping, list, tuple)):
        raise ParameterError("parents are given as a mapping from name to source, or as a list of names")
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise ParameterError(f"a parent has a name that is not empty, got {name!r}")
        yield DeclaredParent(name.strip(), names[name] if isinstance(names, Mapping) else None, is_public)
