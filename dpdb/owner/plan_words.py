"""`Plan`: the answer of `dpdb plan`; its words, for the command line and for notebooks, as text and as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from dpdb.owner.simulation import ExpectedError
from dpdb.release import NOTHING_SPENT, PreviewPart, Risk, cost_preview, preview_html, preview_text

__all__ = ["Plan", "Rung"]


@dataclass(frozen=True)
class Rung:
    """An epsilon of the ladder: its risk, and the relative error that 90% of the releases stay below, by measure."""

    risk: Risk
    relative_error_90: dict[str, float | None]


@dataclass(frozen=True)
class Plan:
    """The errors to expect, simulated on a synthetic table; it is printed as `dpdb plan` prints it.

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

    def to_dict(self) -> dict[str, Any]:
        """Return the expected errors as plain values, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Say it in words, as `dpdb plan` prints it."""
        return preview_text(_parts(self))

    def _repr_html_(self) -> str:
        return preview_html(_parts(self))


_HEAD = ("measure", "mechanism", "truth", "error", "90% below", "relative", "90% below", "lower held")


def _parts(planned: Plan) -> Iterator[PreviewPart]:
    values = ", ".join(f"{name} {count:,}" for name, count in planned.distinct.items())
    yield PreviewPart(
        [
            f"synthetic table: {planned.rows:,} rows, {planned.error_rate:.3g} of its cells changed "
            f"(seed {planned.seed})",
            f"distinct values: {values}",
            *(f"note: {note}" for note in planned.notes),
        ]
    )
    skipped = [f"{name}: not simulated, {why}" for name, why in planned.skipped.items()]
    yield PreviewPart([f"each measure alone, epsilon {planned.epsilon:g}"], _errors(planned.expected), 2, skipped)
    cost = cost_preview(planned.epsilon, planned.charges, " in total")
    yield PreviewPart([f"all three together, {cost}"], _errors(planned.together), 2)
    if planned.target is not None:
        target = f"the target is {planned.target:.3g}"
        recommended = [f"recommended for {name}: {_epsilon(best)}" for name, best in planned.smallest_epsilon.items()]
        yield PreviewPart(
            [f"relative error that 90% of the releases stay below, beside the risk; {target}"],
            _ladder(planned),
            notes=recommended,
        )
    yield PreviewPart([f"for one person, {planned.risk.words}", "what is released together adds up: plan with the sum"])
    yield PreviewPart([f"simulated with the real noise on synthetic rows; {NOTHING_SPENT}"])


def _ladder(planned: Plan) -> list[Sequence[str]]:
    rows: list[Sequence[str]] = [("epsilon", "odds change", "attacker right", *planned.smallest_epsilon)]
    for rung in planned.ladder:
        errors = [_share(rung.relative_error_90.get(name)) for name in planned.smallest_epsilon]
        rows.append((f"{rung.risk.epsilon:g}", rung.risk.odds_words, rung.risk.accuracy_words, *errors))
    return rows


def _errors(errors: Sequence[ExpectedError]) -> list[Sequence[str]]:
    rows = [
        (
            error.measure,
            f"{error.mechanism}{' (default)' if error.default else ''}",
            f"{error.truth:,g}" if error.truth < 10**6 else f"{error.truth:,.0f}",
            f"{error.absolute_error:,.1f}",
            f"{error.absolute_error_90:,.1f}",
            _share(error.relative_error),
            _share(error.relative_error_90),
            f"{error.lower_held:.0%} of {error.repetitions}",
        )
        for error in errors
    ]
    return [_HEAD, *rows]


def _share(number: float | None) -> str:
    return "-" if number is None else f"{number:.2%}"


def _epsilon(number: float | None) -> str:
    if number is None:
        return "none: even epsilon 10, which promises one person next to nothing, is not enough; accept a larger error"
    return f"epsilon {number:g}, the smallest of these that reaches the target"
