"""`OneAnswer`: what sessions know of an answer that is drawn once and is one text. `dpdb.diagnosis` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dpdb.engine import Progress
    from dpdb.release.accounts.charge import Charge
    from dpdb.release.private_slices import PrivateSlices

__all__ = ["OneAnswer"]


class OneAnswer(Protocol):
    """A checked request with one answer."""

    @property
    def charge(self) -> Charge:
        """What is debited."""
        ...

    def load(self) -> None:
        """Load and compile the code of its statistics and noises. Reads no row."""
        ...

    def draw(self, slices: PrivateSlices, progress: Progress) -> str:
        """Read private rows, draw noise, and return the answer."""
        ...
