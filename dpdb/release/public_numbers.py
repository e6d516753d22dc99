"""The public numbers in a release's options: confidence, shares, thetas; checked before a row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpdb.errors import ParameterError
from dpdb.privacy import format_epsilon

__all__ = ["PublicTheta", "is_degree", "largest_degree_words", "parse_confidence", "parse_share", "parse_theta"]

# Below this the shares of a mechanism's steps would round to nothing.
_SMALLEST_EPSILON = 1_000

# Rows are numbered with 32 bits.
_LARGEST_DEGREE = 2**32 - 1


def parse_confidence(confidence: float) -> float:
    """Check the confidence of the bounds."""
    if not isinstance(confidence, (int, float)) or not 0.5 <= confidence < 1:
        raise ParameterError(f"confidence must be at least 0.5 and below 1, got {confidence!r}")
    return float(confidence)


def parse_share(charged: int, rows_per_person: int) -> int:
    """Divide nano-epsilon among the rows of one person (group privacy)."""
    per_row = charged // rows_per_person
    if per_row < _SMALLEST_EPSILON:
        raise ParameterError(f"epsilon {format_epsilon(charged)} leaves less than 0.000001 per row: too small to use")
    return per_row


def largest_degree_words() -> str:
    """Return the valid range of a degree or a theta, in words."""
    return f"a whole number from 1 to {_LARGEST_DEGREE:,}"


def is_degree(value: object) -> bool:
    """Return whether a value is in the valid range of a degree or a theta."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _LARGEST_DEGREE


@dataclass(frozen=True)
class PublicTheta:
    """One theta for all releases of a call, or one for each in their order, and where they come from.

    Attributes
    ----------
    thetas : tuple of int, or None
        None for a release that has none, of rules on one row.
    words : str
        Their source; published with each release.
    kept : bool
        Whether they were kept from recorded releases, one for each.
    limits : tuple of bool or None
        What that release said of each (`theta_limits`). It is no part of a request: it changes nothing that is drawn.
    """

    thetas: tuple[int | None, ...]
    words: str = "given"
    kept: bool = False
    limits: tuple[bool | None, ...] = field(default=(), compare=False)

    def of(self, position: int) -> int | None:
        """The theta of a release, by its position in the call."""
        return self.thetas[position] if self.kept else self.thetas[0]

    def limited(self, position: int) -> bool | None:
        """Return True where the release that chose the theta announced that it may limit; else None.

        No bound of the degrees is released with a theta that is public. Rows may have changed since it was chosen, so
        that it did not limit then says nothing of now.
        """
        return True if self.limits and self.limits[position] else None

    @property
    def public(self) -> Mapping[str, Any]:
        """The thetas as part of a request; `read` is the inverse."""
        return {"theta": list(self.thetas), "theta_from": self.words} if self.kept else {"theta": self.thetas[0]}

    @classmethod
    def read(cls, public: Mapping[str, Any]) -> PublicTheta | None:
        """Return the thetas of a recorded request; None if its releases chose their thetas."""
        found = public.get("theta")
        if isinstance(found, list):
            return cls(tuple(found), public["theta_from"], kept=True)
        return None if found is None else cls((found,))


def parse_theta(theta: int | PublicTheta | None) -> PublicTheta | None:
    """Check a theta from the options of a release.

    Raises
    ------
    ParameterError
        If it is no whole number, or out of range.
    """
    if theta is None or isinstance(theta, PublicTheta):
        return theta
    if not is_degree(theta):
        raise ParameterError(f"theta must be {largest_degree_words()}, got {theta!r}")
    return PublicTheta((theta,))
