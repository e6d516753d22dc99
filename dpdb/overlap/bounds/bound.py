"""The answer of the overlap solver: a lower and an upper bound, and a row of the domain that reaches the lower one."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

__all__ = ["Bound", "Deadline", "Witness"]


@dataclass(frozen=True)
class Witness:
    """A row region and the queries that all cover it."""

    region: dict[str, str]
    queries: tuple[int, ...]

    def describe(self) -> str:
        """Return the region in words; attributes that it does not restrict are left out."""
        words = [text for text in self.region.values() if not text.startswith("any ")]
        return " and ".join(f"({text})" if " or " in text else text for text in words) or "every row"


@dataclass(frozen=True)
class Bound:
    """Bounds on a maximum overlap: `lower <= overlap <= upper`, whatever interrupted the search.

    Parameters
    ----------
    lower
        Charge collected by the witness.
    upper
        The charge that is safe.
    witness
        A row region that collects `lower`; None when there are no queries.
    method
        Name of the method that the caller chose.
    """

    lower: int
    upper: int
    witness: Witness | None = None
    method: str = field(default="auto", compare=False)

    @property
    def optimal(self) -> bool:
        """Return whether both bounds meet."""
        return self.lower == self.upper


class Deadline:
    """A moment after which a search stops and returns its best bounds so far."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Return whether it is time to stop."""
        return time.monotonic() >= self.end

    def share(self, fraction: float) -> Deadline:
        """A deadline after a fraction of the time left."""
        return Deadline(self.left * fraction)
