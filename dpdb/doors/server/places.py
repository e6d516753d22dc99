"""`Places`: the open connections of a server, few of them per address; the oldest silent one ends for a newcomer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

__all__ = ["Places"]


class _Placed(Protocol):
    @property
    def turn(self) -> int | None:
        """The lower, the sooner it ends for a newcomer; None while it does not, because it is being answered."""

    def end(self) -> None:
        """End for a newcomer."""


One = TypeVar("One", bound=_Placed)


class Places(Generic[One]):
    """The open connections of a server."""

    def __init__(self, per_address: int, in_all: int) -> None:
        self._per_address, self._in_all = per_address, in_all
        self._open: dict[One, str] = {}  # in order of their opening

    def take(self, connection: One, address: str) -> None:
        """Add a connection, and end others where there are too many; itself, if all others are being answered."""
        self._open[connection] = address
        of_address = [one for one, where in self._open.items() if where == address]
        for found, most in ((of_address, self._per_address), ([*self._open], self._in_all)):
            if len(found) > most:
                self._end_oldest(found, connection)

    def leave(self, connection: One) -> None:
        """Forget a connection."""
        self._open.pop(connection, None)

    def _end_oldest(self, found: Sequence[One], newest: One) -> None:
        turns = [(one.turn, one) for one in found if one is not newest]
        endable = [(turn, one) for turn, one in turns if turn is not None]
        ended = min(endable, key=lambda pair: pair[0])[1] if endable else newest
        self.leave(ended)
        ended.end()
