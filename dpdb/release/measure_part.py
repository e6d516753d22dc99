"""`MeasurePart`: the releases of a call from one conflict graph of one slice, and their shares of the call's epsilon.

The shares for row count, degree cap and measures are fixed in advance, and exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from dpdb.constraints import DenialConstraint
from dpdb.engine import (
    BoundConstraint,
    GroupTerm,
    Progress,
    Table,
    WherePredicate,
    class_histograms,
    degree_terms,
    has_class_histogram,
    no_progress,
)
from dpdb.errors import ParameterError
from dpdb.measures import (
    Answer,
    ClosedForm,
    Mechanism,
    Run,
    at_theta,
    declared,
    measure_named,
    noisy_count,
    rate_answer,
    rate_beta,
    rate_shares,
    read_together,
    release_degree_cap,
    why_no_upper,
    with_estimate,
    with_theta_limits,
)
from dpdb.privacy import NANO, PICO, split
from dpdb.release.ask import PublicTheta
from dpdb.release.conflict_graph import load_kernels
from dpdb.release.parts import Part, Prepared
from dpdb.release.published.release import Release
from dpdb.release.published.release_fields import VERDICT
from dpdb.release.statistics import PrivateSlices, SliceStatistics
from dpdb.schema import TableSchema

if TYPE_CHECKING:
    from dpdb.release.edge_way import EdgeWay


@dataclass(frozen=True)
class MeasurePart(Part):
    """Measures of one conflict graph.

    Attributes
    ----------
    measures : tuple of (name, Mechanism)
        One, or those of `all`.
    charged : int
        Nano-epsilon, or pico-rho, of the call that goes to this part.
    per_row : int
        What the mechanisms spend per row: `charged` divided by the rows that one unit changes, of rho by their square.
    rate : bool
        Whether the measures are divided by a private count of the slice's rows.
    position : int or None
        Of the constraint that is measured alone; None for all constraints together.
    predicate : WherePredicate or None
        The slice; None is the whole table.
    theta_from : str or None
        Where a public theta comes from.
    limited : bool or None
        Whether the release that chose this theta announced that it may limit.
    lists_edges : bool
        Whether the conflict graph is the table of all edges, as the owner's `edges` says.
    in_rho : bool
        Whether all costs are pico-rho, of mechanisms with Gaussian noise; else they are nano-epsilon.
    """

    measures: tuple[tuple[str, Mechanism], ...]
    charged: int
    per_row: int
    confidence: float
    max_degree: int | None
    rate: bool
    rules: tuple[BoundConstraint, ...]
    position: int | None = None
    predicate: WherePredicate | None = None
    theta_from: str | None = None
    limited: bool | None = None
    lists_edges: bool = False
    in_rho: bool = False

    @property
    def constraint(self) -> DenialConstraint | None:
        """The constraint that is measured alone."""
        return None if self.position is None else self.rules[0].constraint

    @property
    def mechanisms(self) -> dict[str, str]:
        """The mechanism's name for each measure."""
        return {name: mechanism.name for name, mechanism in self.measures}

    @property
    def by_rule(self) -> bool:
        """Whether class histograms are read instead of a conflict graph."""
        return any(mechanism.fit is not None for _, mechanism in self.measures)

    @property
    def on_one_row(self) -> bool:
        """Whether the rows that violate a single-tuple constraint are counted: one number for all measures."""
        return all(mechanism.on_one_row for _, mechanism in self.measures)

    @property
    def is_counted(self) -> bool:
        """Whether nothing but closed forms is read."""
        return all(mechanism.exact_kind for _, mechanism in self.measures)

    @property
    def reads_graph(self) -> bool:
        """Whether a conflict graph is built."""
        return not self.by_rule and not self.on_one_row and not self.is_counted

    def brings_rows(self, table: Table) -> bool:
        """Return whether rows of another engine's table come here. Public."""
        if self.reads_graph or not self.is_counted:
            return self.reads_graph
        kinds = [mechanism.exact_kind for _, mechanism in self.measures if mechanism.exact_kind is not None]
        statistics = [table.exact_statistic(self.rules, kind) for kind in kinds]
        return any(one is not None and not one.by_aggregates for one in statistics)

    @property
    def shares(self) -> tuple[Share, ...]:
        """What each measure spends per row."""
        return measure_shares(self.measures, self.per_row, rate=self.rate)

    @property
    def costs(self) -> tuple[int, ...]:
        """The cost of each draw for a unit, in nano-epsilon; none in rho, of which the sum alone counts."""
        return (
            ()
            if self.in_rho
            else tuple(cost for share in unit_shares(self.shares, self.charged) for cost in share.parts)
        )

    def at_theta(self, public: PublicTheta, position: int) -> MeasurePart:
        """Return the same part, of one measure, at a public theta; see `dpdb.measures.mechanisms.at_one_theta`.

        A count of rows has none. `position` is the part's place in the call.
        """
        theta = public.of(position)
        if self.on_one_row:
            return self
        found = replace(self, theta_from=public.words, limited=public.limited(position))
        return found if theta is None else found._changed(lambda _, one: at_theta(one, theta))

    def shaped(self, table: Table, *, named: bool, rows_change: bool = False) -> MeasurePart:
        """Return the same part with the defaults of rules that are counted without a conflict graph.

        Where all constraints are on one tuple that is the count of violating rows; where they have a closed form of a
        measure, what it counts. Both are decided from constraints and declarations.

        Parameters
        ----------
        named : bool
            Whether the caller named the mechanism, which then stays.
        rows_change : bool
            Whether a row of another table may change many rows of this one.

        Raises
        ------
        ParameterError
            If one of these was named, or has no other way, and a constraint compares rows or the constraints have no
            closed form.
        """
        pairwise = [bound.constraint for bound in self.rules if not bound.constraint.is_single_tuple]

        def chosen(name: str, mechanism: Mechanism) -> Mechanism:
            measure = measure_named(name)
            if not pairwise and not named and measure.of_one_row:
                return measure.of_one_row
            wanted = mechanism if mechanism.has_closed_form else None if named else measure.closed_form
            if wanted is None or (form := wanted.closed_form) is None:
                return mechanism
            serves = form.among_changing_rows or not rows_change
            statistic = table.exact_statistic(self.rules, form.kind) if serves else None
            if statistic is not None:
                return form.at_high(statistic.high) if form.at_high else wanted
            if wanted is mechanism:
                raise ParameterError(self._refusal(name, wanted.name, form, table, serves=serves))
            return mechanism

        changed = self._changed(chosen)
        if pairwise and changed.on_one_row:
            name, mechanism = changed.measures[0]
            raise ParameterError(
                f"mechanism {mechanism.name!r} of {name} counts rows that break a rule by themselves, and "
                f"{pairwise[0].label} compares rows; leave out the rule, or the mechanism"
            )
        return changed

    def _refusal(self, name: str, mechanism: str, form: ClosedForm, table: Table, *, serves: bool) -> str:
        """Say why a mechanism does not count what the rules have. Public."""
        said = f"mechanism {mechanism!r} of {name} {form.refusal}"
        if not serves:
            return (
                f"mechanism {mechanism!r} of {name} does not go with single rows as units beside a private "
                "parent, one row of which would change many; protect the key with all its rows: --unit and --max-rows"
            )
        if form.kind != "decision bits":
            return said
        from dpdb.engine import why_no_decisions  # most are not refused

        return f"{said}; {why_no_decisions(self.rules, table.schema)}"

    def fitted(self, schema: TableSchema) -> MeasurePart:
        """Return the same part with `by_rule` for as many class histograms as constraints and schema make."""
        if not self.by_rule:
            return self
        for name, mechanism in self.measures:
            if self.rate:
                raise ParameterError(
                    f"mechanism {mechanism.name!r} of {name} has no rate: it counts a row once for each left-hand "
                    "side, which is no share of the rows; leave out rate (--rate), or the mechanism"
                )
            for bound in self.rules:
                if bound.constraint.inclusions or (
                    not bound.constraint.is_single_tuple and not has_class_histogram(bound)
                ):
                    raise ParameterError(
                        f"mechanism {mechanism.name!r} of {name} does not count {bound.constraint.label}: only what "
                        "rows with equal left-hand sides have in common (functional dependencies and keys, with or "
                        "without conditions); leave out the rule, or ask with another mechanism"
                    )
        histograms = len(class_histograms(self.rules, schema))
        return self._changed(lambda _, one: one.fit(histograms) if one.fit else one)

    def within_groups(self, max_group: int | None) -> MeasurePart:
        """Return the same part with `two_sided` at a theta that bounds every degree if the owner's word is true.

        `max_group` is the largest size of a group of rows, as the owner declares it; None: not declared.
        """
        if max_group is None:
            return self
        theta = degree_terms(self.rules).within(max_group)
        return self._changed(lambda name, one: declared(one, name, theta) if one.name == "two_sided" else one)

    def _changed(self, change: Callable[[str, Mechanism], Mechanism]) -> MeasurePart:
        return replace(self, measures=tuple((name, change(name, mechanism)) for name, mechanism in self.measures))

    def load(self) -> None:
        """Load the code of closed forms, and the kernels of its graph."""
        if any(mechanism.exact_kind for _, mechanism in self.measures):
            from dpdb.engine import load_counting  # few rules have one

            load_counting(self.rules)
        if self.reads_graph:
            read = [mechanism.reads for _, mechanism in self.measures if mechanism.exact_kind is None]
            load_kernels(self.rules, read, lists_edges=self.lists_edges)

    def _counted(self, slices: PrivateSlices) -> SliceStatistics:
        """Return the statistics of the slice, of which those that need no graph are counted.

        What needs no graph reads no more of its statistics than they have.
        """
        read = slices.by_rule if self.by_rule else slices.counted if self.is_counted else slices.statistics
        statistics = cast("SliceStatistics", read(self.predicate, self.position))
        for _, mechanism in self.measures:
            if mechanism.exact_kind is not None:
                statistics.counted(mechanism.exact_kind)
        return statistics

    def rehearse(self, slices: PrivateSlices) -> None:
        """Ask what the draw will ask, of no rows."""
        statistics, shares = self._counted(slices), self.shares
        if any(share.count for share in shares):
            _ = statistics.row_count
        if not self.by_rule and not self.is_counted:
            read = [mechanism.reads for _, mechanism in self.measures if mechanism.exact_kind is None]
            statistics.rehearse(read if self.reads_graph else (), capped=any(share.cap for share in shares))

    def draw(self, slices: PrivateSlices, progress: Progress) -> list[Answer]:
        """Compute the statistics of the slice, then answer."""
        statistics = self._counted(slices)  # before the answers, so that noise is the last step that is shown
        if self.lists_edges and self.reads_graph:
            _ = statistics.graph  # likewise
        return self.answers(statistics, progress)

    def read(self, slices: PrivateSlices) -> None:
        """Run the queries of `draw`, and draw nothing: for `explain`, over a table without rows."""
        statistics, shares = self._counted(slices), self.shares
        if self.is_counted and any(share.count for share in shares):
            _ = statistics.row_count
        if self.reads_graph:
            statistics.read_edges()
            if any(share.cap for share in shares):
                statistics.degree_bound()

    @property
    def way(self) -> EdgeWay:
        """What its releases read of the conflict graph. Public."""
        from dpdb.release.edge_way import BY_RULE, ONE_ROW, counted_way, graph_way  # only `explain` tells

        if self.by_rule:
            return BY_RULE
        if self.on_one_row:
            return ONE_ROW
        kind = self.measures[0][1].exact_kind if self.is_counted else None
        return counted_way(kind) if kind else graph_way(self.rules, lists_edges=self.lists_edges)

    def answers(self, statistics: SliceStatistics, progress: Progress = no_progress) -> list[Answer]:
        """Release the row count and the degree cap once, if a measure needs them, then answer each measure."""
        progress("drawing noise")
        shares, beta, count = self.shares, 1 - self.confidence, None
        count_share = sum(share.count for share in shares)
        if count_share:
            count_beta, beta = rate_beta(beta)
            count = noisy_count(statistics.row_count, count_share, count_beta, gaussian=self.in_rho)
        cap_share = sum(share.cap for share in shares)
        cap = release_degree_cap(statistics, cap_share) if cap_share else None
        if len(self.measures) > 1 and cap is not None:
            rests = (share.rest for share in shares)
            read_together(statistics, cap, zip((mechanism for _, mechanism in self.measures), rests, strict=True))
        answers: list[Answer] = []
        for (_, mechanism), share in zip(self.measures, shares, strict=True):
            if answers and self.on_one_row:  # all measures are one number, drawn once
                answers.append(answers[0])
                continue
            epsilon, rho = (0, share.rest) if self.in_rho else (share.rest, None)
            answer = mechanism.answer(Run(statistics, epsilon, beta, cap, self.max_degree, rho))
            answers.append(with_theta_limits(with_estimate(answer, mechanism, beta), mechanism, cap, self.max_degree))
        if count is None:
            return answers
        most = [measure_named(name).most_per_row or 1 for name, _ in self.measures]
        return [rate_answer(answer, count, each) for answer, each in zip(answers, most, strict=True)]

    def label(self, call: Prepared, answers: Sequence[Answer]) -> list[Release]:
        """Return a release for each measure, with its cost for the unit."""
        return [
            call.release(
                self._explained(answer),
                measure=name,
                mechanism=mechanism.name,
                epsilon=None if self.in_rho else share.total,
                rho=share.total if self.in_rho else None,
                predicate=self.predicate,
                constraint=self.constraint,
                rate=self.rate,
                theta_from=self.theta_from,
            )
            for (name, mechanism), answer, share in zip(
                self.measures, answers, unit_shares(self.shares, self.charged), strict=True
            )
        ]

    def _explained(self, answer: Answer) -> Answer:
        """Add whether a public theta limits, and the reason for a missing upper bound, from the constraints. Public."""
        if self.theta_from is not None:
            answer = replace(answer, theta_limits=self.limited)
        if answer.upper_reason is None:
            return answer
        terms = degree_terms(self.rules)
        grouped = all(isinstance(term, GroupTerm) for term in terms.terms)
        pairs, all_rows = bool(terms.terms), terms.covers_all_rows
        why = why_no_upper(answer.upper_reason, pairs=pairs, grouped=grouped, all_rows=all_rows)
        return replace(answer, upper_reason=why)

    def offer(self, schema: TableSchema, rows: int) -> str | None:
        """Offer `by_rule` where it applies to the measures and pays; see `by_rule_offer`."""
        from dpdb.release.conflict_graph import by_rule_offer  # only `explain` offers

        offered = any("by_rule" in measure_named(name).by_name for name, _ in self.measures)
        if self.rate or self.by_rule or not offered:
            return None
        return by_rule_offer(self.rules, schema, rows)

    def expected(self) -> list[dict[str, Any]]:
        """Return cost, noise and time of each measure."""
        from dpdb.release.conflict_graph import expected_time  # only `explain` expects
        from dpdb.release.edge_way import counted_way

        shares = self.shares
        count = sum(share.count for share in shares)
        paid = [shares[0] if self.on_one_row else share for share in shares]  # one number is drawn once
        scale = f"{self._unit_scale(count):.3g}" if count else ""
        rows = f", divided by a row count with noise of scale about {scale}" if count else ""
        law = "Gaussian, standard deviation" if self.in_rho else "Laplace, scale"
        return [
            {
                "measure": name,
                "constraint": None if self.constraint is None else self.constraint.label,
                "mechanism": mechanism.name,
                **self._cost(share),
                "noise": f"discrete {law} about {self._noise_words(name, mechanism, noisy)}{rows}",
                "time": expected_time(mechanism.reads, self.rules) if mechanism.fit is None else "grows with rows",
                "edges": (counted_way(mechanism.exact_kind) if mechanism.exact_kind else self.way).words,
            }
            for (name, mechanism), share, noisy in zip(self.measures, shares, paid, strict=True)
        ]

    def _cost(self, share: Share) -> dict[str, float | None]:
        """Return what a share costs the unit, by its parameter; the other one is None."""
        of_unit = Fraction(share.total * self.charged, self.per_row)
        epsilon, rho = (None, float(of_unit / PICO)) if self.in_rho else (float(of_unit / NANO), None)
        return {"epsilon": epsilon, "rho": rho}

    def _noise_words(self, name: str, mechanism: Mechanism, share: Share) -> str:
        """Write the scale of the answer's noise in units of what is counted; a verdict's noise is on rows."""
        quantity = measure_named(name).quantity(mechanism.name)
        unit = "rows" if quantity == VERDICT else quantity
        scale = self._unit_scale(mechanism.answer_share * (share.cap + share.rest))
        return f"({mechanism.noise}) x {scale:.3g} {unit}"

    def _unit_scale(self, cost: Fraction | int) -> float:
        """Return the scale of noise that a cost per row buys, per unit of sensitivity."""
        return math.sqrt(PICO / (2 * cost)) if self.in_rho else float(NANO / Fraction(cost))


# `measure="all"`: of the degree cap, beside those of the measures (`Measure.weight`): 36 for minimal_inconsistency
# and problematic, 18 for repair, which has sensitivity 1 and needs less. Compared on the five data sets with training
# seeds at 0.2% and 1% noise, epsilon 0.3 and 1, then fixed. Rates have the same proportion (`Measure.rate_weight`);
# the degree cap is there a part of its own mechanism.
_CAP_WEIGHT = 10


@dataclass(frozen=True)
class Share:
    """The cost of one measure: for the degree cap (0 if another measure of the call pays for it), for the rest.

    `count` is for the row count of rates, and 0 too if another measure pays for it.
    """

    cap: int
    rest: int
    count: int = 0

    @property
    def total(self) -> int:
        """The cost of the measure: the sum of its parts."""
        return self.cap + self.rest + self.count

    @property
    def parts(self) -> tuple[int, ...]:
        """The cost of each draw for the measure that composes with the other draws."""
        return tuple(filter(None, (self.count, self.cap, self.rest)))


def measure_shares(measures: Sequence[tuple[str, Mechanism]], cost: int, *, rate: bool) -> tuple[Share, ...]:
    """Share a cost among measures of one conflict graph; the shares' totals add up to it.

    One measure alone is shared as its mechanism says. Several share one degree cap, booked with the first. Rates share
    one row count, booked with the first. Where all are one number (`Mechanism.on_one_row`) it is drawn for the first.

    Parameters
    ----------
    measures
        Name and mechanism of each measure, in the order of the releases.
    cost
        Nano-epsilon of all measures together, or pico-rho.
    rate
        Whether rates are released, which need a row count.
    """
    count, left = rate_shares(cost) if rate else (0, cost)
    if all(mechanism.on_one_row for _, mechanism in measures):
        return (Share(0, left, count), *[Share(0, 0)] * (len(measures) - 1))
    if len(measures) == 1:
        return (Share(*measures[0][1].shares(left), count),)
    if rate:
        budgets = split(left, [measure_named(name).rate_weight or 0 for name, _ in measures])
        shares = [mechanism.shares(budget) for (_, mechanism), budget in zip(measures, budgets, strict=True)]
        return tuple(Share(cap, rest, 0 if position else count) for position, (cap, rest) in enumerate(shares))
    cap, *rest = split(cost, (_CAP_WEIGHT, *(measure_named(name).weight or 0 for name, _ in measures)))
    return tuple(Share(0 if position else cap, share) for position, share in enumerate(rest))


def unit_shares(shares: Sequence[Share], charged: int) -> tuple[Share, ...]:
    """Share `charged`, what one unit pays, as `shares` share what one row pays.

    The totals add up to `charged`. A unit changes d rows, and what one row pays, epsilon, is `charged` / d, rounded
    down: so a share of w nano-epsilon costs the unit w d at most. It is charged at least that: charged w / epsilon is
    at least the integer w d, also rounded down, and what is left goes to the last one; likewise within a measure.
    """
    costs = _split(charged, [share.total for share in shares])
    return tuple(
        Share(*_split(cost, [share.cap, share.rest, share.count])) for cost, share in zip(costs, shares, strict=True)
    )


def _split(amount: int, weights: Sequence[int]) -> list[int]:
    """Split as `split`; a weight of 0 gets 0."""
    if not any(weights):
        return [0] * len(weights)
    found = iter(split(amount, [weight for weight in weights if weight]))
    return [next(found) if weight else 0 for weight in weights]
