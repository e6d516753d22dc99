"""`PlanFields`: the fields of the answer of `dpdb plan`."""

from __future__ import annotations

from dataclasses import dataclass, field

from dpdb.owner.simulation import ExpectedError
from dpdb.release import Risk

__all__ = ["PlanFields", "Rung"]


@dataclass(frozen=True)
class Rung:
    """An epsilon of the ladder: its risk, and the relative error that 90% of the releases stay below, by measure."""

    risk: Risk
    relative_error_90: dict[str, float | None]


@dataclass(frozen=True)
class PlanFields:
    """The fields of a `Plan`.

    Attributes
    ----------
    rows : int
        Number of rows of the synthetic table.
    error_rate, epsilon : float
    seed : int
        Repeats the synthetic table; the noise of the releases is fresh in every call of `plan`.
    distinct : dict
        Constrained column -> its number of distinct values.
    notes : tuple of str
        In words, differences of the synthetic table from the request, and further possibilities for so many rows.
    expected : tuple of ExpectedError
        Every measure and mechanism, released alone at `epsilon`.
    together : tuple of ExpectedError
        The three measures released together (``measure="all"``) at `epsilon` in total.
    skipped : dict
        ``"measure mechanism"`` -> why it was not simulated.
    target : float or None
    smallest_epsilon : dict
        With a target: measure -> the smallest epsilon of a short ladder at which the default mechanism, alone, has a
        relative error of at most `target` in 90% of the releases; None if it is above the ladder.
    risk : Risk
        What `epsilon` means for one person.
    ladder : tuple of Rung
        With a target: the epsilons that were tried, what each means for one person and how accurate it is.
    charges : dict
        What ledgers charge for the three together, by their parameters: epsilon, rho and mu.
    """

    rows: int
    error_rate: float
    epsilon: float
    seed: int
    distinct: dict[str, int]
    notes: tuple[str, ...]
    expected: tuple[ExpectedError, ...]
    together: tuple[ExpectedError, ...]
    skipped: dict[str, str]
    target: float | None
    smallest_epsilon: dict[str, float | None]
    risk: Risk
    ladder: tuple[Rung, ...] = ()
    charges: dict[str, float] = field(default_factory=dict)
