"""`Words`: what a number means, for people; every surface says them through `dpdb.release.published.words`."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Words"]


@dataclass(frozen=True, kw_only=True)
class Words:
    """The meaning of a released number.

    Attributes
    ----------
    heading : str
        A title, such as ``"Rows in conflict"``.
    counted : str
        What is counted, to follow the number.
    meaning : str
        A sentence with ``{value}``.
    of_rate : str or None
        The sentence of a share; None if there is no rate.
    """

    heading: str
    counted: str
    meaning: str
    of_rate: str | None = None
