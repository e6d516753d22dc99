"""`Words`: the meaning of a number in words; every surface shows them through `dpdb.release.published.words`."""

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
        The rows or pairs that are counted, to follow the number.
    short : str
        The same in about five words, for a column of a table; of a rate, ``share of`` goes before it.
    meaning : str
        A sentence with ``{value}``.
    of_rate : str or None
        The sentence of a share; None if there is no rate.
    """

    heading: str
    counted: str
    short: str
    meaning: str
    of_rate: str | None = None
