"""`RemoteSet`: all tables of one place in another engine, read over one connection or in one session."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpdb.remote.table import RemoteTable

__all__ = ["RemoteSet", "SetSource"]


class RemoteSet(ABC):
    """A schema of a database, or a folder: tables that lie beside one another.

    Attributes
    ----------
    description : str
        For messages: without a password.
    """

    description: str

    @abstractmethod
    def named(self, name: str) -> Sequence[str]:
        """Return the tables and views that have a name in letters of any case, as they are spelled there.

        Parameters
        ----------
        name
            Without the place.
        """

    @abstractmethod
    def table(self, name: str) -> RemoteTable:
        """Open a table as it is spelled there; what it needs of the connection ends with the set.

        Raises
        ------
        SourceError
            If it cannot be described.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the connection or session. May be called twice."""


class SetSource:
    """The kind of sources that are an open set, of which a table is named."""

    takes_table = True

    def reads(self, source: object) -> bool:
        """Say whether it is one."""
        return isinstance(source, RemoteSet)

    def open(self, source: RemoteSet, table: str | None) -> RemoteTable:
        """Open a table of it."""
        assert table is not None, "who opens a table of a set names it"
        return source.table(table)
