"""`Measure`: everything about one measure as a value; `Counted`: the rows or pairs that a released number counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from dpdb.errors import ParameterError
from dpdb.measures.answer import GraphStatistics
from dpdb.measures.mechanism import Mechanism, Words
from dpdb.names import nearest_words


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The rows or pairs of rows that a released number counts.

    Attributes
    ----------
    name : str
        Its name in calls and in a `Release`.
    counts : str
        ``"rows"`` or ``"pairs of rows"``.
    words : Words
    """

    name: str
    counts: str
    words: Words

    @property
    def by_name(self) -> Mapping[str, Mechanism]:
        """The mechanisms by their names; empty if there is no choice."""
        return {}

    def quantity(self, mechanism: str) -> str:
        """Return the unit that a mechanism's release counts; the mechanism may be one of a later version."""
        known = self.by_name.get(mechanism)
        return (known and known.counts) or self.counts

    def words_of(self, mechanism: str) -> Words:
        """Return the words of a release by a mechanism; the mechanism may be one of a later version."""
        known = self.by_name.get(mechanism)
        return (known and known.words) or self.words


@dataclass(frozen=True, kw_only=True)
class Measure(Counted):
    """A measure of inconsistency that is released under differential privacy.

    Attributes
    ----------
    mechanisms : tuple of Mechanism
        All mechanisms that release it.
    default : str
        Name of the mechanism that is used if the call names none.
    truth : function of GraphStatistics to number
        The exact value of the default mechanism's estimand, private: for the owner's simulations.
    weight : int
        Its part of epsilon when all measures are released together; see `dpdb.release.measure_part`.
    rate_weight : int or None
        The same for rates; None if the measure has no rate, because pairs of rows are no share of the rows.
    """

    mechanisms: tuple[Mechanism, ...]
    default: str
    truth: Callable[[GraphStatistics], float]
    weight: int
    rate_weight: int | None = None

    @property
    def has_rate(self) -> bool:
        """Return whether the measure may be divided by the number of rows."""
        return self.rate_weight is not None

    @cached_property
    def by_name(self) -> Mapping[str, Mechanism]:
        """The mechanisms by their names."""
        return {mechanism.name: mechanism for mechanism in self.mechanisms}

    def mechanism(self, wanted: str | None = None) -> Mechanism:
        """Return a mechanism by its name, or the default.

        Raises
        ------
        ParameterError
            If there is none of that name.
        """
        found = self.by_name.get(self.default if wanted is None else wanted)
        if found is None:
            raise ParameterError(f"unknown mechanism {wanted!r} of {self.name}{nearest_words(wanted, self.by_name)}")
        return found
