"""The parts of a prepared release: what is drawn from one slice, or from one conflict graph of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpdb.constraints import DenialConstraint
from dpdb.engine import (
    BoundConstraint,
    TableSchema,
    WherePredicate,
    class_histograms,
    degree_terms,
    has_class_histogram,
)
from dpdb.errors import ParameterError
from dpdb.measures import VIOLATING_ROWS, Mechanism, at_theta, declared, measure_named, takes_theta
from dpdb.privacy import format_epsilon, format_rho, split
from dpdb.release.ask import Ask
from dpdb.release.numbers import parse_share
from dpdb.release.units.privacy_unit import PrivacyUnit

__all__ = ["CountPart", "MeasurePart", "count_part", "for_each_constraint", "measure_part", "refuse_by_rule"]


@dataclass(frozen=True)
class MeasurePart:
    """Measures of one conflict graph.

    Attributes
    ----------
    measures : tuple of (name, Mechanism)
        One, or all three; of rates, one or both.
    charged : int
        Nano-epsilon of the call that goes to this part.
    epsilon : int
        Nano-epsilon that the mechanisms spend per row: `charged` divided by the rows that one unit changes.
    confidence : float
    max_degree : int or None
    rate : bool
        Whether the measures are divided by a private count of the slice's rows.
    position : int or None
        Of the constraint that is measured alone; None for all constraints together.
    constraint : DenialConstraint or None
        Its text.
    predicate : WherePredicate or None
        The slice; None is the whole table.
    """

    measures: tuple[tuple[str, Mechanism], ...]
    charged: int
    epsilon: int
    confidence: float
    max_degree: int | None
    rate: bool
    position: int | None = None
    constraint: DenialConstraint | None = None
    predicate: WherePredicate | None = None

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
        """Whether rows that break a rule by themselves are counted: one number, whatever the measures."""
        return all(mechanism.on_one_row for _, mechanism in self.measures)

    @property
    def reads_graph(self) -> bool:
        """Whether a conflict graph is built."""
        return not self.by_rule and not self.on_one_row

    def measured(self, constraints: Sequence[BoundConstraint]) -> Sequence[BoundConstraint]:
        """Return those of all constraints that the graph has."""
        return constraints if self.position is None else [constraints[self.position]]

    def at_theta(self, theta: int | None) -> MeasurePart:
        """Return the same part, of one measure, at a public theta; see `dpdb.measures.mechanisms.fixed_theta`.

        A count of rows has none.
        """
        if theta is None or self.on_one_row:
            return self
        return replace(self, measures=tuple((name, at_theta(mechanism, theta)) for name, mechanism in self.measures))

    def shaped(self, constraints: Sequence[BoundConstraint], *, named: bool) -> MeasurePart:
        """Return the same part with the count of violating rows as the default where all constraints are on one tuple.

        Parameters
        ----------
        named : bool
            Whether the caller named the mechanism, which then stays.

        Raises
        ------
        ParameterError
            If that count was named and a constraint compares rows.
        """
        measured = self.measured(constraints)
        pairwise = [bound.constraint for bound in measured if not bound.constraint.is_single_tuple]
        if not pairwise and not named:
            return replace(self, measures=tuple((name, VIOLATING_ROWS) for name, _ in self.measures))
        if pairwise and self.on_one_row:
            name, mechanism = self.measures[0]
            raise ParameterError(
                f"mechanism {mechanism.name!r} of {name} counts rows that break a rule by themselves, and "
                f"{pairwise[0].label} compares rows; leave out the rule, or the mechanism"
            )
        return self

    def fitted(self, constraints: Sequence[BoundConstraint], schema: TableSchema) -> MeasurePart:
        """Return the same part with `by_rule` for as many class histograms as constraints and schema make.

        Raises
        ------
        ParameterError
            If a constraint has none, or a rate is asked.
        """
        if not self.by_rule:
            return self
        measured = self.measured(constraints)
        for name, mechanism in self.measures:
            refuse_by_rule(mechanism.name, name, measured, rate=self.rate)
        histograms = len(class_histograms(measured, schema))
        return replace(
            self, measures=tuple((name, one.fit(histograms) if one.fit else one) for name, one in self.measures)
        )

    def within_groups(self, constraints: Sequence[BoundConstraint], max_group: int | None) -> MeasurePart:
        """Return the same part with `two_sided` at a theta that bounds every degree if the owner's word is true.

        `max_group` is how large the owner declares the largest group of rows to be; None: nothing is declared.
        """
        if max_group is None:
            return self
        theta = degree_terms(self.measured(constraints)).within(max_group)
        return replace(
            self,
            measures=tuple(
                (name, declared(mechanism, name, theta) if mechanism.name == "two_sided" else mechanism)
                for name, mechanism in self.measures
            ),
        )


def measure_part(ask: Ask, *, rows_per_person: int) -> MeasurePart:
    """Return what an ask of measures spends on a conflict graph, if there is one only.

    Raises
    ------
    ParameterError
        If a mechanism lacks what it needs or has no theta to be given, or epsilon is too small for so many rows.
    """
    measures = tuple((name, measure_named(name).mechanism(ask.mechanism)) for name in ask.measures)
    for name, mechanism in measures:
        if ask.theta is not None:
            takes_theta(name, mechanism)
        elif mechanism.needs_max_degree and ask.max_degree is None:
            raise ParameterError(
                f"mechanism {mechanism.name!r} of {name} needs a public max_degree: a bound of the conflicts "
                "per tuple that you state without looking at the data"
            )
    epsilon = parse_share(ask.charged, rows_per_person)
    return MeasurePart(measures, ask.charged, epsilon, ask.confidence, ask.max_degree, ask.rate)


def refuse_by_rule(mechanism: str, measure: str, constraints: Sequence[BoundConstraint], *, rate: bool = False) -> None:
    """Raise `ParameterError` where class histograms do not say what is asked."""
    if rate:
        raise ParameterError(
            f"mechanism {mechanism!r} of {measure} has no rate: it counts a row once for each left-hand side, which is "
            "no share of the rows; leave out rate (--rate), or the mechanism"
        )
    for bound in constraints:
        if bound.constraint.inclusion is not None or (
            not bound.constraint.is_single_tuple and not has_class_histogram(bound)
        ):
            raise ParameterError(
                f"mechanism {mechanism!r} of {measure} does not count {bound.constraint.label}: only what rows with "
                "equal left-hand sides have in common (functional dependencies and keys, with or without conditions); "
                "leave out the rule, or ask with another mechanism"
            )


def for_each_constraint(ask: Ask, constraints: Sequence[BoundConstraint], unit: PrivacyUnit) -> tuple[MeasurePart, ...]:
    """Split an ask evenly among the constraints, in their order, each to be measured alone.

    All parts read the same rows, so they compose sequentially: their exact shares of epsilon add up to the ask's,
    which is debited once. The split reads the number of constraints only, which is public.

    Raises
    ------
    ParameterError
        If a share is too small to use.
    """
    shares = split(ask.charged, [1] * len(constraints))
    return tuple(
        replace(
            measure_part(ask, rows_per_person=1),
            charged=share,
            epsilon=parse_share(share, unit.divisor([dc.constraint])),
            position=position,
            constraint=dc.constraint,
        )
        for position, (share, dc) in enumerate(zip(shares, constraints, strict=True))
    )


@dataclass(frozen=True)
class CountPart:
    """A count of the rows of one slice; exactly one of `epsilon` and `rho` is set.

    Attributes
    ----------
    epsilon, rho : int or None
        What the call costs one unit: nano-epsilon or pico-rho.
    per_row : int
        What the noise of one row's change may cost, in the same parameter.
    confidence : float
    predicate : WherePredicate or None
        The slice; None is the whole table.
    """

    epsilon: int | None
    rho: int | None
    per_row: int
    confidence: float
    predicate: WherePredicate | None = None

    @property
    def mechanism(self) -> str:
        """Name of the mechanism."""
        return "laplace" if self.rho is None else "gaussian"

    @property
    def cost(self) -> dict[str, str]:
        """The parameter and its exact value, for the ledger."""
        if self.epsilon is not None:
            return {"epsilon": format_epsilon(self.epsilon)}
        assert self.rho is not None
        return {"rho": format_rho(self.rho)}


def count_part(ask: Ask, *, rows_per_person: int) -> CountPart:
    """Return what an ask of a count spends on a slice.

    A unit of k rows runs at epsilon / k or at rho / k^2 (group privacy; Bun and Steinke 2016, Proposition 1.9).

    Raises
    ------
    ParameterError
        If the cost is too small for so many rows.
    """
    rho = ask.charged_rho
    if rho is None:
        return CountPart(ask.charged, None, parse_share(ask.charged, rows_per_person), ask.confidence)
    per_row = rho // rows_per_person**2
    if per_row == 0:
        raise ParameterError(f"rho {format_rho(rho)} leaves less than 1e-12 per row: too small to use")
    return CountPart(None, rho, per_row, ask.confidence)
