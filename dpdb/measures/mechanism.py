"""`Mechanism`: a named way to release one measure, as a value; `Run`: its inputs for one release.

Beside it stands the one scan in which the measures of a call read their statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from dpdb.measures.answer import WITNESSES, Answer, DegreeCap, GraphStatistics, ProjectedStatistic
from dpdb.privacy import discrete_gaussian, discrete_laplace, gaussian_tail, laplace_tail, split

if TYPE_CHECKING:
    from dpdb.engine import StatisticKind


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
    verdicts : (str, str) or None
        Of a measure that is 0 or 1: what is said instead of bounds, for 0 and for 1; `{most}` stands for
        `Answer.most_deletions`.
    """

    heading: str
    counted: str
    short: str
    meaning: str
    of_rate: str | None = None
    verdicts: tuple[str, str] | None = None

    def among(self, population: str | None) -> Words:
        """Return the words of a number that is of some rows only; the same where it is of all (None)."""
        if population is None:
            return self
        said = f" ({population})"
        return replace(
            self,
            counted=self.counted + said,
            short=self.short + said,
            meaning=self.meaning + said,
            of_rate=self.of_rate and self.of_rate + said,
        )


@dataclass(frozen=True)
class Run:
    """The inputs of a mechanism for one release.

    Attributes
    ----------
    statistics : GraphStatistics
        Exact and private.
    epsilon : int
        Nano-epsilon to spend, without the degree cap's share; 0 where `rho` is spent.
    beta : float
        1 - confidence.
    cap : DegreeCap or None
        The released degree cap, if the mechanism uses one.
    max_degree : int or None
        The public bound that the caller gave.
    rho : int or None
        Pico-rho to spend instead, of a mechanism that is paid in it (`Mechanism.in_rho`).
    """

    statistics: GraphStatistics
    epsilon: int
    beta: float
    cap: DegreeCap | None = None
    max_degree: int | None = None
    rho: int | None = None

    @property
    def degree_cap(self) -> int:
        """The released cap of a mechanism that uses one."""
        return self.released_cap.value

    @property
    def released_cap(self) -> DegreeCap:
        """The released cap with the scale of its noise."""
        assert self.cap is not None, "this mechanism was declared without a cap weight"
        return self.cap

    @property
    def public_degree(self) -> int:
        """The `max_degree` of a mechanism that needs one."""
        assert self.max_degree is not None, "this mechanism was declared without needing max_degree"
        return self.max_degree

    def noisy(self, exact: int, sensitivity: int) -> tuple[int, float]:
        """Add one draw of noise that spends all: discrete Gaussian in rho, else discrete Laplace; with its scale."""
        if self.rho is None:
            return discrete_laplace(exact, sensitivity, self.epsilon)
        return discrete_gaussian(exact, sensitivity, self.rho)

    def tail(self, scale: float, beta: float) -> int:
        """Return what the noise of `noisy` exceeds with probability at most `beta`."""
        return (laplace_tail if self.rho is None else gaussian_tail)(scale, beta)

    def by_laplace(self, exact: int, sensitivity: int, estimand: str, *, theta: int | None = None) -> Answer:
        """Release a number by one draw of discrete Laplace noise that spends all epsilon, with two-sided bounds.

        Parameters
        ----------
        sensitivity
            How much one unit changes it, at most; whoever calls has the proof.
        estimand
            What the answer estimates.
        theta
            The public theta at which it was read, if there is one.
        """
        noisy, scale = discrete_laplace(exact, sensitivity, self.epsilon)
        tail = laplace_tail(scale, self.beta / 2)
        return Answer(
            value=noisy, lower=noisy - tail, upper=noisy + tail, theta=theta, noise_scale=scale, estimand=estimand
        )


@dataclass(frozen=True)
class ClosedForm:
    """The rules for which a mechanism counts a statistic without a conflict graph (`dpdb.engine.exact_statistic`).

    Attributes
    ----------
    refusal : str
        What is said where the rules have no such statistic.
    at_high : function of int to Mechanism, or None
        Of a statistic that one row changes by 0 to `high`, which depends on the constraints: the mechanism for it.
    among_changing_rows : bool
        Whether it serves where one row of another table moves many rows of this one.
    """

    kind: StatisticKind
    refusal: str
    at_high: Callable[[int], Mechanism] | None = None
    among_changing_rows: bool = True


@dataclass(frozen=True)
class Mechanism:
    """A named mechanism.

    Attributes
    ----------
    cap_weight, answer_weight : int
        How epsilon is shared between the degree cap and `answer`; cap weight 0 means that it needs no cap.
    answer_share : Fraction
        The part of epsilon that the final answer's noise gets, for `explain`.
    reads : str
        The method of `GraphStatistics` that it reads, besides the degree bound and the self-conflicts.
    noise : str
        The sensitivity of the final statistic in words; its Laplace scale is that over (answer_share epsilon).
    needs_max_degree : bool
        Whether the caller must give a public `max_degree`.
    step : Fraction
        The last noise is discrete Laplace on multiples of this, in units of the value.
    no_estimate : str or None
        Why the value's noise gives no interval of the estimand; None if it does.
    thetas : function of (DegreeCap, nano-epsilon without the cap's) to thetas, or None
        Every theta that it may read, so that the measures of one call can share a scan; None if sharing saves nothing.
    statistic : ProjectedStatistic or None
        The statistic that it releases, if the method in `reads` does not determine it.
    fit : function of int to Mechanism, or None
        If it reads class histograms (`by_rule`) and no conflict graph: the mechanism for a given number of histograms.
    words, truth, counts : Words, function of GraphStatistics to number, and text, or None
        Of its own estimand, if that differs from the estimand of the measure's default mechanism.
    on_one_row : bool
        Whether it needs all constraints to be on one tuple, so that all measures are one number: then it is the
        default of every measure, and one draw is the release of all measures of a call.
    closed_form : ClosedForm or None
        If it needs constraints whose statistic is counted without a conflict graph. Where the constraints have one, it
        is the default of its measure.
    in_rho : bool
        Whether it may be paid in rho: it is one draw of `Run.noisy`, and reads no degree cap.
    """

    name: str
    answer: Callable[[Run], Answer]
    answer_share: Fraction
    reads: str
    noise: str
    cap_weight: int = 0
    answer_weight: int = 1
    needs_max_degree: bool = False
    step: Fraction = Fraction(1)
    no_estimate: str | None = None
    thetas: Callable[[DegreeCap, int], Sequence[int]] | None = None
    statistic: ProjectedStatistic | None = None
    fit: Callable[[int], Mechanism] | None = None
    words: Words | None = None
    truth: Callable[[GraphStatistics], float] | None = None
    counts: str | None = None
    on_one_row: bool = False
    closed_form: ClosedForm | None = None
    in_rho: bool = False

    @property
    def has_closed_form(self) -> bool:
        """Whether its statistic is counted without a conflict graph."""
        return self.closed_form is not None

    @property
    def exact_kind(self) -> StatisticKind | None:
        """The kind of the statistic that is counted without a conflict graph, if it is."""
        return None if self.closed_form is None else self.closed_form.kind

    @property
    def is_default_where_it_applies(self) -> bool:
        """Whether it is its measure's default wherever the rules are such that it can count."""
        return self.on_one_row or self.has_closed_form

    def shares(self, epsilon: int) -> tuple[int, int]:
        """Split nano-epsilon exactly between the degree cap and the rest."""
        if self.cap_weight == 0:
            return 0, epsilon
        cap, rest = split(epsilon, (self.cap_weight, self.answer_weight))
        return cap, rest


def read_together(statistics: GraphStatistics, cap: DegreeCap, spending: Iterable[tuple[Mechanism, int]]) -> None:
    """Tell the statistics which thetas the mechanisms that share a released cap may read.

    Parameters
    ----------
    statistics
        The statistics to prepare.
    spending
        Each mechanism with its nano-epsilon, without the cap's.
    """
    projection: set[int] = set()
    witness: set[int] = set()
    for mechanism, epsilon in spending:
        if mechanism.thetas is not None:
            thetas = witness if mechanism.reads == WITNESSES.name else projection
            thetas.update(mechanism.thetas(cap, epsilon))
    statistics.prepare(sorted(projection), sorted(witness))
