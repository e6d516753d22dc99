"""`Simulation`: the error of private measures on a table that is not private, by repeated releases with the real noise.

`Plan` is what `dpdb plan` answers with such errors: its words, for the command line and for notebooks.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar, cast

from dpdb.errors import ParameterError
from dpdb.measures import GraphStatistics, Measure, Mechanism, measure_named, measures_named
from dpdb.release import (
    NOTHING_SPENT,
    Ask,
    Epsilon,
    PreviewPart,
    Release,
    Risk,
    Session,
    cost_preview,
    preview_html,
    preview_text,
)

T = TypeVar("T")

_FEWEST = 5  # repetitions, whatever the time


@dataclass(frozen=True)
class ExpectedError:
    """The error to expect of one mechanism.

    Attributes
    ----------
    default : bool
        Whether it is the measure's default mechanism.
    epsilon : float
        Of the release; of all measures together where they are released together.
    truth : float
        The measure of the synthetic table; for repair the fractional one.
    absolute_error, absolute_error_90 : float
        Mean and 90% quantile of the distance between value and truth.
    relative_error, relative_error_90 : float or None
        The same over the truth; None if that is 0.
    lower_held : float
        Share of the releases whose `lower` was at most the true value of their estimate.
    """

    measure: str
    mechanism: str
    default: bool
    epsilon: float
    repetitions: int
    truth: float
    absolute_error: float
    absolute_error_90: float
    relative_error: float | None
    relative_error_90: float | None
    lower_held: float


class Simulation:
    """Releases of a synthetic table, compared with its exact measures.

    Parameters
    ----------
    session : Session
        Over a table that is not private.
    repetitions : int
        Releases for each figure; fewer, but at least 5, where `seconds` do not suffice.
    max_degree : int, optional
        The public bound of conflicts per row, for mechanisms that need one.

    Attributes
    ----------
    measures : tuple of Measure
        Those of `all`; the noise of the others is known without a table.
    defaults : dict
        Measure -> name of its default mechanism under the session's constraints.
    """

    def __init__(self, session: Session, *, repetitions: int, max_degree: int | None) -> None:
        self._session, self._repetitions, self._max_degree = session, repetitions, max_degree
        self._statistics = session._private.statistics()
        self.conflicts = self._statistics.graph.degree_summary().edge_count
        self.measures = measures_named("all")
        self.defaults: dict[str, str] = {
            measure.name: session.prepare(Ask(measure.name, 1)).charge.request["measures"][measure.name]
            for measure in self.measures
        }
        self.truth = {measure.name: self._truth(measure) for measure in self.measures}

    def _truth(self, measure: Measure) -> float:
        """Return the exact value of what the measure's default releases under the session's constraints."""
        own = measure.mechanism(self.defaults[measure.name]).truth
        return (own or measure.truth)(self._statistics)

    def alone(self, measure: str, mechanism: str, epsilon: Epsilon, seconds: float) -> ExpectedError:
        """Simulate the releases of one measure alone, and return their error.

        Parameters
        ----------
        epsilon
            Privacy cost of each release.
        seconds
            Time from the first release on, after which no further release is made once there are 5.
        """

        def release() -> Release:
            released = self._session.dp_inconsistency(
                measure, epsilon, mechanism=mechanism, max_degree=self._max_degree
            )
            return cast("Release", released)

        return self._expected(list(self._repeat(release, seconds)))

    def refused(self, measure: str, mechanism: str) -> str | None:
        """Return why a mechanism does not apply under the session's constraints; None if it does."""
        try:
            self._session.prepare(Ask(measure, 1, mechanism=mechanism, max_degree=self._max_degree))
        except ParameterError as error:
            return str(error)
        return None

    def _read_by(self, mechanism: Mechanism) -> GraphStatistics:
        return self._statistics if mechanism.fit is None else cast("GraphStatistics", self._session._private.by_rule())

    def together(self, epsilon: Epsilon, seconds: float) -> tuple[ExpectedError, ...]:
        """Simulate releases of all three measures together at a total epsilon, and return their errors."""

        def release() -> tuple[Release, ...]:
            return self._session.dp_inconsistency("all", epsilon)

        releases = list(self._repeat(release, seconds))
        return tuple(self._expected(list(each)) for each in zip(*releases, strict=True))

    def _repeat(self, release: Callable[[], T], seconds: float) -> Iterator[T]:
        yield release()  # computes the statistics that the others reuse, so its own time is not typical
        end = time.monotonic() + seconds
        for done in range(1, self._repetitions):
            if done >= _FEWEST and time.monotonic() > end:
                return
            yield release()

    def _expected(self, releases: list[Release]) -> ExpectedError:
        one = releases[0]
        assert one.epsilon is not None, "simulated releases are pure"
        truth, measure = self.truth[one.measure], measure_named(one.measure)
        own = measure.mechanism(one.mechanism).truth
        estimated = truth if own is None else own(self._read_by(measure.mechanism(one.mechanism)))
        errors = sorted(abs(release.value - truth) for release in releases)
        mean, most = math.fsum(errors) / len(errors), errors[math.ceil(0.9 * len(errors)) - 1]
        return ExpectedError(
            measure=one.measure,
            mechanism=one.mechanism,
            default=one.mechanism == self.defaults[measure.name],
            epsilon=one.epsilon,
            repetitions=len(releases),
            truth=truth,
            absolute_error=mean,
            absolute_error_90=most,
            relative_error=mean / truth if truth else None,
            relative_error_90=most / truth if truth else None,
            lower_held=sum(release.lower <= estimated for release in releases) / len(releases),
        )


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
