"""`Measure`: everything about one measure as a value; `Counted`: the rows or pairs that a released number counts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from dpdb.errors import ParameterError
from dpdb.measures.answer import GraphStatistics
from dpdb.measures.mechanism import Mechanism, Words
from dpdb.measures.true_values import ExactValues
from dpdb.names import nearest_words


@dataclass(frozen=True, kw_only=True)
class Counted:
    """The rows or pairs of rows that a released number counts.

    Attributes
    ----------
    name : str
        Its name in calls and in a `Release`.
    counts : str
        ``"rows"``, ``"pairs of rows"``, ``"bits"`` or ``"verdict"``.
    per_row : str
        What a rate counts.
    """

    name: str
    counts: str
    words: Words
    per_row: str = "share of rows"

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
    default : str
        Name of the mechanism that is used if the call names none.
    truth : function of GraphStatistics to number
        The exact value of the default mechanism's estimand, private: for the owner's simulations.
    both_ends : bool
        Whether the default mechanism's bounds have both ends; else it bounds the measure from below.
    exact : ExactValues
        What `dpdb exact` shows of it.
    weight : int or None
        Its part of epsilon in `all`, whose measures are fixed, so that a new one changes nobody's noise; None: it is
        not in `all`. See `dpdb.release.measure_part`.
    most_per_row : float or None
        What a rate is at most; None if the measure has no rate, because it is no share of the rows.
    """

    mechanisms: tuple[Mechanism, ...]
    default: str
    truth: Callable[[GraphStatistics], float]
    both_ends: bool
    exact: ExactValues
    weight: int | None = None
    rate_weight: int | None = None
    most_per_row: float | None = None

    @property
    def has_rate(self) -> bool:
        """Return whether the measure may be divided by the number of rows."""
        return self.most_per_row is not None

    @property
    def in_rho(self) -> bool:
        """Return whether its default mechanism may be paid in rho."""
        return self.mechanism().in_rho

    @property
    def closed_form(self) -> Mechanism | None:
        """The mechanism of rules whose statistic is counted without a conflict graph, where it is the default."""
        return next((one for one in self.mechanisms if one.has_closed_form), None)

    @property
    def of_one_row(self) -> Mechanism | None:
        """The mechanism of rules on one row alone, where it is the default."""
        return next((one for one in self.mechanisms if one.on_one_row), None)

    @cached_property
    def by_name(self) -> Mapping[str, Mechanism]:
        """The mechanisms by their names."""
        return {mechanism.name: mechanism for mechanism in self.mechanisms}

    def mechanism(self, wanted: str | None = None) -> Mechanism:
        """Return a mechanism by its name, or the default."""
        found = self.by_name.get(self.default if wanted is None else wanted)
        if found is None:
            raise ParameterError(f"unknown mechanism {wanted!r} of {self.name}{nearest_words(wanted, self.by_name)}")
        return found
