"""`AnswerRun`: an answer that is no release, as far as sessions know it: text, under one debit and with one record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dpdb.engine import Progress
    from dpdb.release.accounts.charge import Charge
    from dpdb.release.private_slices import PrivateSlices

__all__ = ["AnswerRun"]


class AnswerRun(Protocol):
    """One run.

    Attributes
    ----------
    charge : Charge
        All that it costs.
    """

    @property
    def charge(self) -> Charge:
        """What is debited."""
        ...

    def load(self) -> None:
        """Load the code of the draw. Reads no row."""
        ...

    def draw(self, slices: PrivateSlices, progress: Progress) -> str:
        """Read private rows and draw noise, once; the answer is a JSON object, and public."""
        ...
