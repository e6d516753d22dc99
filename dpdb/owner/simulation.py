"""The error of the private measures on a table that is not private, by repeated releases with the real noise."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar, cast

from dpdb.errors import ParameterError
from dpdb.measures import MEASURES, GraphStatistics, Measure, Mechanism, measure_named
from dpdb.release import Ask, Epsilon, Release, Session

__all__ = ["ExpectedError", "Simulation"]

T = TypeVar("T")

_FEWEST = 5  # repetitions, whatever the time


@dataclass(frozen=True)
class ExpectedError:
    """The error to expect of one mechanism.

    Attributes
    ----------
    measure, mechanism : str
    default : bool
        Whether it is the measure's default mechanism.
    epsilon : float
        Of the release; of all measures together where they are released together.
    repetitions : int
        Releases simulated.
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
    defaults : dict
        Measure -> name of its default mechanism under the session's constraints.
    """

    def __init__(self, session: Session, *, repetitions: int, max_degree: int | None) -> None:
        self._session, self._repetitions, self._max_degree = session, repetitions, max_degree
        self._statistics = session._private.statistics()
        self.conflicts = self._statistics.graph.degree_summary().edge_count
        self.defaults: dict[str, str] = {
            measure.name: session.prepare(Ask(measure.name)).charge.request["measures"][measure.name]
            for measure in MEASURES
        }
        self.truth = {measure.name: self._truth(measure) for measure in MEASURES}

    def _truth(self, measure: Measure) -> float:
        """Return the exact value of what the measure's default releases under the session's constraints."""
        own = measure.mechanism(self.defaults[measure.name]).truth
        return (own or measure.truth)(self._statistics)

    def alone(self, measure: str, mechanism: str, epsilon: Epsilon, seconds: float) -> ExpectedError:
        """Simulate the releases of one measure alone, and return their error.

        Parameters
        ----------
        measure
            The measure's name.
        mechanism
            The mechanism's name.
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
            self._session.prepare(Ask(measure, mechanism=mechanism, max_degree=self._max_degree))
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
        return tuple(self._expected([several[k] for several in releases]) for k in range(len(MEASURES)))

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
