"""From a `Prepared` release to its answers: what has to be loaded, the noise, the labels. Runs after the debit.

Only `load` runs before: it loads and compiles what `draw` will use, reading nothing private.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, cast

from dpdb.engine import DegreeTerms, GroupTerm, Progress, WherePredicate, degree_terms, no_progress
from dpdb.measures import (
    Answer,
    GraphStatistics,
    Run,
    noisy_count,
    noisy_gaussian_count,
    rate_answer,
    rate_beta,
    read_together,
    release_degree_cap,
    why_no_upper,
    with_estimate,
    with_theta_limits,
)
from dpdb.privacy import check_samplers
from dpdb.release.conflict_graph import load_kernels
from dpdb.release.prepare import Prepared
from dpdb.release.prepared.parts import CountPart, MeasurePart
from dpdb.release.prepared.shares import measure_shares, unit_shares
from dpdb.release.published.release import Release, Releases, make_release

if TYPE_CHECKING:
    from dpdb.release.rule_statistics import RuleStatistics

__all__ = ["CountedStatistics", "SlicesToRead", "draw", "draw_count", "draw_measures", "labelled", "load"]


class CountedStatistics(GraphStatistics, Protocol):
    """Exact statistics of a slice: of its conflict graph, and how many rows it has."""

    @property
    def row_count(self) -> int:
        """Rows of the slice, with and without conflicts."""
        ...


class SlicesToRead(Protocol):
    """The slices that a draw reads, as exact numbers. Private."""

    def statistics(self, predicate: WherePredicate | None, position: int | None = None) -> CountedStatistics:
        """Return the statistics of a slice, with all constraints or with the one at `position` alone."""
        ...

    def by_rule(self, predicate: WherePredicate | None, position: int | None = None) -> RuleStatistics:
        """Return the statistics of a slice's class histograms."""
        ...

    def counts(self, predicates: Sequence[WherePredicate | None]) -> Sequence[int]:
        """Return the number of rows of each slice."""
        ...


def load(prepared: Prepared, *, again: bool = False) -> None:
    """Load and compile everything that the draw will use. Reads constraint shapes only. `again`: see `load_kernels`."""
    check_samplers(gaussian=prepared.ask.rho is not None)
    counts = any(isinstance(part, CountPart) for part in prepared.parts)
    prepared.table.opened.rehearse([part.predicate for part in prepared.parts], counts=counts)
    for part in prepared.parts:
        if isinstance(part, MeasurePart) and part.by_rule:
            import dpdb.release.rule_statistics  # noqa: F401 - before the debit
        elif isinstance(part, MeasurePart) and part.reads_graph:
            statistics = [mechanism.reads for _, mechanism in part.measures]
            load_kernels(part.measured(prepared.table.bound), statistics, again=again)


def draw(prepared: Prepared, slices: SlicesToRead, progress: Progress = no_progress) -> list[list[Answer]]:
    """Draw the noise of a release, once: for each part its answers, one per measure."""
    counted = [part for part in prepared.parts if isinstance(part, CountPart)]
    if counted:
        counts = slices.counts([part.predicate for part in counted])
        return [[draw_count(part, count)] for part, count in zip(counted, counts, strict=True)]
    return [
        draw_measures(part, _statistics(part, slices), progress)
        for part in prepared.parts
        if isinstance(part, MeasurePart)
    ]


def _statistics(part: MeasurePart, slices: SlicesToRead) -> CountedStatistics:
    if part.by_rule:  # by_rule reads no more of them than they have
        return cast("CountedStatistics", slices.by_rule(part.predicate, part.position))
    return slices.statistics(part.predicate, part.position)


def draw_count(part: CountPart, count: int) -> Answer:
    """Answer a count."""
    noisy: Callable[[int, int, float], Answer] = noisy_count if part.rho is None else noisy_gaussian_count
    return noisy(count, part.per_row, 1 - part.confidence)


def draw_measures(part: MeasurePart, statistics: CountedStatistics, progress: Progress = no_progress) -> list[Answer]:
    """Release the row count and the degree cap once, if something needs them, then answer each measure."""
    progress("drawing noise")
    shares = measure_shares(part)
    beta = 1 - part.confidence
    count_share = sum(share.count for share in shares)
    count = None
    if count_share:
        count_beta, beta = rate_beta(beta)
        count = noisy_count(statistics.row_count, count_share, count_beta)
    cap_share = sum(share.cap for share in shares)
    cap = release_degree_cap(statistics, cap_share) if cap_share else None
    if len(part.measures) > 1 and cap is not None:
        rests = (share.rest for share in shares)
        read_together(statistics, cap, zip((mechanism for _, mechanism in part.measures), rests, strict=True))
    answers: list[Answer] = []
    for (_, mechanism), share in zip(part.measures, shares, strict=True):
        if answers and part.on_one_row:  # one number, drawn once
            answers.append(answers[0])
            continue
        answer = mechanism.answer(Run(statistics, share.rest, beta, cap, part.max_degree))
        answers.append(with_theta_limits(with_estimate(answer, mechanism, beta), mechanism, cap, part.max_degree))
    return answers if count is None else [rate_answer(answer, count) for answer in answers]


def labelled(prepared: Prepared, answers: Sequence[Sequence[Answer]]) -> Releases:
    """Return the answers with everything published about them. Reads what is published only."""
    releases: list[Release] = []
    theta = prepared.ask.public_theta
    for position, (part, found) in enumerate(zip(prepared.parts, answers, strict=True)):
        if isinstance(part, MeasurePart):
            said = found if theta is None else [replace(one, theta_limits=theta.limited(position)) for one in found]
            releases += _labelled_measures(prepared, part, said)
        if isinstance(part, CountPart):
            releases.append(_labelled_count(prepared, part, *found))
    return Releases(releases)


def _labelled_count(prepared: Prepared, part: CountPart, answer: Answer) -> Release:
    return make_release(
        answer,
        measure=prepared.ask.measure,
        mechanism=part.mechanism,
        epsilon=part.epsilon,
        joint_epsilon=part.epsilon,
        rho=part.rho,
        confidence=part.confidence,
        where=None if part.predicate is None else part.predicate.text,
        constraints_sha256=prepared.table.constraints_sha256,
        unit=prepared.table.unit,
        several_slices=prepared.ask.by is not None,
    )


def _labelled_measures(prepared: Prepared, part: MeasurePart, answers: Sequence[Answer]) -> tuple[Release, ...]:
    theta = None if part.on_one_row else prepared.ask.public_theta
    terms = degree_terms(part.measured(prepared.table.bound))
    return tuple(
        make_release(
            _with_reason(answer, terms),
            measure=name,
            mechanism=mechanism.name,
            epsilon=share.total,
            joint_epsilon=prepared.charge.epsilon,
            confidence=part.confidence,
            where=None if part.predicate is None else part.predicate.text,
            constraints_sha256=prepared.table.constraints_sha256,
            unit=prepared.table.unit,
            several_slices=prepared.ask.by is not None,
            constraint=None if part.constraint is None else part.constraint.identity,
            constraint_text=None if part.constraint is None else part.constraint.label,
            rate=part.rate,
            theta_from=None if theta is None else theta.words,
        )
        for (name, mechanism), answer, share in zip(part.measures, answers, unit_shares(part), strict=True)
    )


def _with_reason(answer: Answer, terms: DegreeTerms) -> Answer:
    """Give the reason for the missing upper end that is true of the constraints. Public."""
    if answer.upper_reason is None:
        return answer
    grouped = all(isinstance(term, GroupTerm) for term in terms.terms)
    why = why_no_upper(answer.upper_reason, pairs=bool(terms.terms), grouped=grouped, all_rows=terms.covers_all_rows)
    return replace(answer, upper_reason=why)
