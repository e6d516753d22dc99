"""Runs under one debit that are no releases, as far as sessions and accounts know them; and names for runs."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from dpdb.engine import Progress
    from dpdb.ledger import SuiteReservation
    from dpdb.release.accounts.charge import Charge
    from dpdb.release.private_slices import PrivateSlices

__all__ = ["AnswerRun", "SuiteLevel", "SuiteRun", "new_run_id"]


@dataclass(frozen=True)
class SuiteLevel:
    """What a run has found at one level; public once it is recorded.

    Attributes
    ----------
    number : int
        From 1 on.
    answer : str
        The verdicts, as text.
    spent : int
        Nano-epsilon that the suite has cost with this level: its first share and every ring so far.
    failed : tuple of str
        Names of the checks that failed at this level.
    """

    number: int
    answer: str
    spent: int
    failed: tuple[str, ...]


class SuiteRun(Protocol):
    """One run of a suite."""

    @property
    def charge(self) -> Charge:
        """All that the suite may cost, debited at once, for the rows that any of its checks reads; with a run id."""

    @property
    def spec(self) -> str:
        """The public facts of the suite, as a JSON object: rules, limits, levels, shares."""

    @property
    def name(self) -> str | None:
        """The name of a kept suite."""

    def load(self) -> None:
        """Load and compile the code of its statistics and noises. Reads no row."""

    def make_secret(self) -> str:
        """Draw the hidden thresholds; once in the life of a suite."""

    def read(
        self, slices: PrivateSlices, held: SuiteReservation, progress: Progress
    ) -> Callable[[], SuiteLevel | None]:
        """Read private rows once, if there is a level to draw; the result draws the next one, None after the last."""

    def answer(self, held: SuiteReservation) -> str:
        """Return the verdicts of all recorded levels, as JSON."""


class AnswerRun(Protocol):
    """One run that is answered at once."""

    @property
    def charge(self) -> Charge:
        """All that it costs."""

    def load(self) -> None:
        """Load the code of the draw. Reads no row."""

    def draw(self, slices: PrivateSlices, progress: Progress) -> str:
        """Read private rows and draw noise, once; the answer is a JSON object, and public."""


def new_run_id(kind: str) -> str:
    """Return a run id that nobody has used: what is run, when, and a few random digits."""
    return f"{kind}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
