"""`PublicTheta`: public thetas, which releases take instead of choosing one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dpdb.errors import ParameterError
from dpdb.release.numbers import is_degree, largest_degree_words

__all__ = ["PublicTheta", "parse_theta"]


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
