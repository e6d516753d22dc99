"""`prepare_diagnosis`: everything public about a diagnosis; `run_diagnosis`: one debit, the noise, one answer.

Epsilon is divided in advance, by what is asked alone: equally between slices and rules if both are, and the slices'
part equally between naming the worst (column, key) and that column's slices if there are several columns.

The three private questions get exact scores on a `Lattice` and return indices and noisy numbers. How the rows to delete
of a slice, or the decisions to clean it, are counted (`Counted`) is chosen from rules and schema alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from dpdb.diagnosis.ask import DiagnosisAsk
from dpdb.diagnosis.result import COVER, DECISIONS, DELETIONS, Diagnosis, NamedRule, NamedSlice
from dpdb.engine import (
    BoundConstraint,
    Progress,
    RuleStatistic,
    WherePredicate,
    comparable_column,
    load_counting,
    no_progress,
)
from dpdb.errors import ParameterError
from dpdb.graph import BIT
from dpdb.privacy import (
    ZCDP,
    as_float,
    bounded_range_max,
    check_samplers,
    discrete_laplaces,
    format_epsilon,
    laplace_scale,
    laplace_tail,
    noisy_max,
    rho_as_float,
    rho_of_choice,
    split,
)
from dpdb.release import (
    Charge,
    PrivateSlices,
    PublicTable,
    Session,
    Slices,
    load_kernels,
    new_run_id,
    parse_share,
    parse_slices,
    pure_units,
)

NOT_IN_GDP = "a diagnosis names slices and rules with pure mechanisms, which a gdp ledger does not count"


@dataclass(frozen=True)
class Shares:
    """Nano-epsilon per row of each question; 0 for one that is not asked."""

    worst: int
    slices: int
    rules: int

    @property
    def rho_of_worst(self) -> int:
        """Pico-rho per row of the name of the worst slice, with Gumbel noise of the scale that its share buys."""
        return rho_of_choice(self.worst)


def shares_of(ask: DiagnosisAsk, per_row: int) -> Shares:
    """Divide nano-epsilon among the questions of an ask: public, exact."""
    slices, rules = (split(per_row, (1, 1)) if ask.columns else (0, per_row)) if ask.rules else (per_row, 0)
    worst, slices = split(slices, (1, 1)) if len(ask.columns) > 1 else (0, slices)
    return Shares(worst, slices, rules)


def parts_of(shares: Shares, rows: int, charged: int) -> tuple[int, ...]:
    """Return what the questions cost a unit, which are parts of the call; their sum is all that is charged.

    Each question has a share that is fixed in advance, and is pure whatever those before it have shown: which column's
    slices follow is decided by what was named (`dpdb.release.costs.pure_units`). So a zcdp ledger is charged half the
    sum of their squares; but for the worst slice of several columns, whose name has Gumbel noise there, an eighth of
    its own (`bounded_range_max`). The worst rule is named with its lead, so its noise is Laplace everywhere.

    Parameters
    ----------
    shares
        Nano-epsilon of the questions for each row; 0 of those that are not asked.
    rows
        How many rows a unit has.
    charged
        Nano-epsilon for the unit, at least `rows` times the sum of the shares; the last part has what was rounded off.
    """
    *others, last = [share * rows for share in (shares.worst, shares.slices, shares.rules) if share]
    rest = charged - sum(others) - last
    return (*others, last + rest)


@dataclass(frozen=True)
class PreparedDiagnosis:
    """A diagnosis, checked and ready for its debit (implements `dpdb.release.AnswerRun`).

    Attributes
    ----------
    columns : tuple of (str, Slices)
        The columns as the table spells them, each with one slice per key.
    rows : Slices
        The rows that rules are counted in: all that `where` selects.
    whole : Counted
        How the constraints together are counted in a slice; without slices as the first of `each`.
    each : tuple of Counted
        How each constraint is, if rules are asked.
    """

    ask: DiagnosisAsk
    charge: Charge
    columns: tuple[tuple[str, Slices], ...]
    rows: Slices
    whole: Counted
    each: tuple[Counted, ...]
    shares: Shares
    table: PublicTable

    @property
    def in_rho(self) -> bool:
        """Whether a name is chosen with Gumbel noise, so that the whole is no longer pure."""
        return self.charge.rho is not None

    @cached_property
    def lattice(self) -> Lattice:
        """The steps of the slices' scores."""
        return Lattice(self.whole.parts, self.ask.rate)

    @property
    def statistic(self) -> str:
        """What is compared, as in `Diagnosis`."""
        if self.ask.in_bits:
            return DECISIONS
        return COVER if (self.whole.parts if self.columns else self.rule_parts) > 1 else DELETIONS

    @property
    def rule_parts(self) -> int:
        """Steps of one row in the rules' counts: 2 if one of them is a fractional cover; of one bit."""
        return max((each.parts for each in self.each), default=1)

    @property
    def beta(self) -> float:
        """The doubt in the bounds of each question: Bonferroni over the questions that have bounds."""
        return (1 - self.ask.confidence) / (bool(self.columns) + bool(self.each))

    def half_width(self, slices: int) -> int:
        """Return how far bounds of so many slices are from the noisy scores, in steps."""
        return joint_tail(slices, self.lattice.greatest, self.shares.slices, self.beta)

    @property
    def lead_width(self) -> int:
        """How far the rules' noisy counts may be from the true ones, in steps."""
        return joint_tail(len(self.each), self.rule_parts, self.shares.rules, self.beta)

    def load(self) -> None:
        """Load the samplers and the kernels of the statistics. Reads no row."""
        check_samplers(gaussian=self.in_rho)
        asked = [one for _, slices in self.columns for one in slices.predicates]
        self.table.opened.rehearse(asked or self.rows.predicates, counts=self.ask.expected is not None)
        for each in (self.whole, *self.each):
            each.load()

    def rehearse(self, slices: PrivateSlices) -> None:
        """Ask what the draw will ask, of a table without rows: all of the first slice, the predicates of the others."""
        asked = [one for _, slices_of in self.columns for one in slices_of.predicates]
        if asked:
            slices.counts(asked)
            self.whole.rehearse(slices, asked[0])
        for each in self.each:
            each.rehearse(slices, self.rows.predicates[0])

    def draw(self, slices: PrivateSlices, progress: Progress = no_progress) -> str:
        """Count, draw all noise once, and return the answer as JSON."""
        scores = [self._scores(slices, one.predicates) for _, one in self.columns]
        counts = [each.count(slices, self.rows.predicates[0], self.rule_parts) for each in self.each]
        progress("drawing noise")
        worst, compared = None, 0
        named: tuple[NamedSlice, ...] = ()
        if scores:
            place, found = 0, None
            if len(scores) > 1:
                place, found = self._worst(scores)
                worst = self._named(place, found)
            named, compared = self._slices(place, scores[place]), len(scores[place])
        return Diagnosis(
            named=named,
            slices=compared,
            worst=worst,
            rule=self._rule(counts) if counts else None,
            columns=tuple(name for name, _ in self.columns),
            statistic=self.statistic,
            expected=None if self.ask.expected is None else f"{float(self.ask.rate):g}",
            epsilon=as_float(self.ask.charged),
            rho=None if self.charge.rho is None else rho_as_float(self.charge.rho),
            confidence=self.ask.confidence,
            run_id=self.charge.run_id,
            guarantee=f"{self.charge.promise} for adding or removing {self.table.unit.words}, for any unknown number "
            "of rows; covers all names and bounds",
            population=self.table.unit.population,
        ).to_json()

    def _scores(self, slices: PrivateSlices, predicates: Sequence[WherePredicate | None]) -> list[int]:
        """Return the exact score of each slice: also of keys that no row has. Private."""
        rows = slices.counts(predicates) if self.ask.rate else [0] * len(predicates)
        parts = [self.whole.count(slices, predicate, self.lattice.parts) for predicate in predicates]
        return [self.lattice.score(*each) for each in zip(parts, rows, strict=True)]

    def _worst(self, scores: Sequence[Sequence[int]]) -> tuple[int, int]:
        """Choose among all slices of all columns, which are listed one column after the other."""
        places = [(place, key) for place, own in enumerate(scores) for key in range(len(own))]
        listed = [scores[place][key] for place, key in places]
        if self.in_rho:
            low, high = self.lattice.low, self.lattice.high
            return places[bounded_range_max(listed, low, high, self.shares.rho_of_worst)]
        return places[name_worst(listed, self.lattice, self.shares.worst)]

    def _named(self, place: int, key: int) -> tuple[str, str]:
        name, own = self.columns[place]
        return name, (own.keys or ())[key]

    def _slices(self, place: int, scores: Sequence[int]) -> tuple[NamedSlice, ...]:
        noisy, width = noisy_slices(scores, self.lattice, self.shares.slices), self.half_width(len(scores))
        largest = sorted(range(len(noisy)), key=lambda key: (-noisy[key], key))[: self.ask.top]
        return tuple(NamedSlice(*self._named(place, key), *self._bounds(noisy[key], width)) for key in largest)

    def _bounds(self, noisy: int, width: int) -> tuple[float, float]:
        """Return bounds in rows or bits; a count is not below 0, an excess may be.

        Bits are rounded down, by a millionth of themselves at most: the upper end is stretched by as much.
        """
        above = noisy + width
        if self.ask.in_bits:
            above = -(max(0, above) * (BIT + 1) // -BIT)
        lower, upper = self.lattice.at_least(noisy - width), self.lattice.at_most(above)
        return (lower, upper) if self.ask.rate else (max(0, lower), max(0, upper))

    def _rule(self, counts: Sequence[int]) -> NamedRule:
        """Name a rule. Its lead in noisy counts is `lead` or one step more; two noises move it, each within a width."""
        place, lead = name_rule(counts, self.rule_parts, self.shares.rules)
        steps, width = Lattice(self.rule_parts), 2 * self.lead_width
        rule = self.table.bound[place].constraint.label
        return NamedRule(rule, steps.at_least(lead - width), steps.at_most(lead + 1 + width))


def run_diagnosis(session: Session, prepared: PreparedDiagnosis) -> Diagnosis:
    """Make a prepared diagnosis of the session's table, or return the recorded answer of its run.

    Raises
    ------
    DpdbError
        As `Session.release`; a run that was killed is finished by the same run id, at no further cost.
    """
    return Diagnosis.from_dict(json.loads(session.release_answer(prepared)))


def prepare_diagnosis(
    session: Session, ask: DiagnosisAsk, *, who: str | None = None, names_run: bool = True
) -> PreparedDiagnosis:
    """Check everything public about a diagnosis; the result has its charge. Reads no row, spends nothing.

    Parameters
    ----------
    session
        Of the table, with its rules and its account.
    who
        Who asks, as the owner calls him.
    names_run
        Whether a ledger's run has a name, a new one if none is given, so that it can be finished if it is killed.

    Raises
    ------
    ParameterError, PredicateError, UnknownColumnError
        If the ask does not fit the table.
    """
    table = session.public
    if not table.bound:
        raise ParameterError("this session has no constraints to diagnose; give constraints= when opening it")
    if table.unit.parents or table.unit.children is not None:
        raise ParameterError("a diagnosis does not go with private parents: a unit there moves rows of several tables")
    if ask.rules and len(table.bound) < 2:
        raise ParameterError("which rule is worst needs at least two rules; leave out rules (--rules)")
    if ask.run_id is not None and not session.has_ledger:
        raise ParameterError("run_id needs a ledger: only a ledger remembers what a run has answered")
    rows = parse_slices(table.opened, ask.where, None, None)
    columns = tuple(
        (comparable_column(name, table.opened.schema, "by").name, parse_slices(table.opened, ask.where, name, keys))
        for name, keys in ask.columns_with_keys
    )
    each = [counted(table, place, in_bits=ask.in_bits) for place in range(len(table.bound))] if ask.rules else []
    whole = counted(table, None, in_bits=ask.in_bits) if columns else each[0]
    if any(one.brings_rows for one in (whole, *each)):
        table.opened.admit_graph()
    shares = shares_of(ask, parse_share(ask.charged, table.unit.rows))
    parts = parts_of(shares, table.unit.rows, ask.charged)
    charge = _charge(table, ask, columns, rows, who, parts=parts, names_run=names_run and session.has_ledger)
    if session.notion is ZCDP and shares.worst:
        k = table.unit.rows
        rho = pure_units(ZCDP, parts[1:], k) + k * k * shares.rho_of_worst
        charge = replace(charge, parts=(), rho=rho)
    return PreparedDiagnosis(ask, charge, columns, rows, whole, tuple(each), shares, table)


def _charge(
    table: PublicTable,
    ask: DiagnosisAsk,
    columns: Sequence[tuple[str, Slices]],
    rows: Slices,
    who: str | None,
    *,
    parts: tuple[int, ...],
    names_run: bool,
) -> Charge:
    """Charge the rows that can change the answer: of one column those with one of its keys, else all of `where`."""
    request = {
        "measure": "diagnosis",
        "named": ask.top,
        "epsilon": format_epsilon(ask.charged),
        "by": [name for name, _ in columns],
        "keys": [own.keys for _, own in columns],
        "expected": None if ask.expected is None else str(ask.rate),
        "rules": ask.rules,
        "where": ask.where,
        "confidence": ask.confidence,
        "constraints_sha256": table.constraints_sha256,
        **table.unit.public,
        **({"compared": ask.measure} if ask.in_bits else {}),
        **({"public_parents": table.opened.public_keys} if table.opened.public_keys else {}),
    }
    covered = columns[0][1].charged if len(columns) == 1 and not ask.rules else rows.charged
    run_id = ask.run_id
    if run_id is None and names_run:
        run_id = new_run_id("diagnose")
    return Charge(
        parts,
        table.unit.rows,
        covered,
        request,
        run_id,
        None,
        table.constraints_sha256,
        ask.label,
        who,
        not_in_gdp=NOT_IN_GDP,
    )


@dataclass(frozen=True)
class Lattice:
    """Scores tau - p n as integers: tau the fewest rows to delete of a slice of n rows, p = r/s public.

    Sensitivity
    -----------
    One more row raises tau by 0 to 1 (in steps of 1/parts: tau is monotone, and the row itself may go) and n by 1, in
    its own slice only. So it does with decision bits, in steps of 10^-6 bit (Theorem 8,
    `dpdb.graph.exact.decision_bits`), which stand for tau where they are compared. In steps of 1/(parts s) that slice's
    score changes by -parts r to parts (s - r), every other score by 0: `low` and `high` for any number of slices, of
    any number of columns, and for the slices of one column, which are disjoint, `greatest` is the sum of all changes.

    Attributes
    ----------
    parts : int
        1 where tau is a whole number, 2 where it is a fractional vertex cover: 2 tau is an integer. 10^6 of a bit.
    rate : Fraction
        p, at least 0 and below 1.
    """

    parts: int
    rate: Fraction = Fraction(0)

    @property
    def row(self) -> int:
        """Steps of one row."""
        return self.parts * self.rate.denominator

    @property
    def low(self) -> int:
        """Least change of a score by one more row."""
        return -self.parts * self.rate.numerator

    @property
    def high(self) -> int:
        """Greatest change of a score by one more row."""
        return self.row + self.low

    @property
    def greatest(self) -> int:
        """Greatest absolute change of all scores of one column together."""
        return max(self.high, -self.low)

    def score(self, parts: int, rows: int) -> int:
        """Return the score of a slice of `rows` rows whose tau is `parts` steps of tau."""
        return self.rate.denominator * parts + self.low * rows

    def at_least(self, steps: int) -> float:
        """Return rows that a number of steps is at least, and that are whole or a half."""
        return _plain(Fraction(math.floor(Fraction(self.parts * steps, self.row)), self.parts))

    def at_most(self, steps: int) -> float:
        """Return rows that a number of steps is at most, and that are whole or a half."""
        return _plain(Fraction(math.ceil(Fraction(self.parts * steps, self.row)), self.parts))


def _plain(number: Fraction) -> float:
    return int(number) if number.denominator == 1 else float(number)


def name_worst(scores: Sequence[int], lattice: Lattice, epsilon: int) -> int:
    """Return the index of a noisily largest score among the slices of all columns; epsilon-DP.

    One more row lies in at most one slice of each column, and changes the scores of those by `low` to `high` and no
    other: the range is that of one score (`noisy_max`), however many columns and slices there are.

    Parameters
    ----------
    scores : sequence of int
        One per slice, in an order that is public.
    epsilon : int
        Nano-epsilon spent.
    """
    return noisy_max(scores, lattice.low, lattice.high, epsilon)


def noisy_slices(scores: Sequence[int], lattice: Lattice, epsilon: int) -> list[int]:
    """Return all scores of one column's slices with noise; epsilon-DP all together.

    Sensitivity: a row lies in at most one of the slices, so the vector of scores changes by `greatest` in the L1 norm,
    and independent discrete Laplace noise of scale greatest / epsilon on each is epsilon-DP (Dwork et al. 2006): the
    losses of the slices add up to epsilon times the sum of their changes over `greatest`. What is read off the noisy
    scores, as which are the largest, costs nothing more.
    """
    noises = discrete_laplaces(len(scores), lattice.greatest, epsilon)
    return [score + noise for score, noise in zip(scores, noises, strict=True)]


def joint_tail(count: int, sensitivity: int, epsilon: int, beta: float) -> int:
    """Return steps that none of some noises exceeds in size, all at once, with probability at least 1 - beta.

    The noises are independent: Pr[all within t] = (1 - Pr[one beyond t])^count, exactly. It holds for every candidate,
    so also for those that were chosen by looking at all.

    Parameters
    ----------
    count
        The number of noises: of slices (`noisy_slices`), or of rules (`name_rule`).
    sensitivity, epsilon
        The change, in steps, that the nano-epsilon pays for.
    beta
        The most that the probability of a larger noise may be.
    """
    each = -math.expm1(math.log1p(-beta) / count)
    return laplace_tail(laplace_scale(sensitivity, epsilon), each / 2)


def name_rule(counts: Sequence[int], parts: int, epsilon: int) -> tuple[int, int]:
    """Return the index of a noisily largest count and by how much it leads; epsilon-DP both together.

    Report-noisy-max with discrete Laplace noise of scale parts / epsilon and its gap. One more row changes each count
    by 0 to `parts` (steps of a row): monotone, range `parts`.

    Proof: write s for the counts, X for the noises, n for their number, and order candidates by n (s + X) - index, so
    that none ties. Fix the noises of all but i, and let M be the best of the others in that order. The outcome "i, and
    leads by u" means u = floor((n (s_i + X_i) - i - M) / n) >= 0: residues differ, so for every u >= 0 there is exactly
    one X_i = u - s_i + ceil((M + i) / n). On a neighbour s + c with c in [0, parts] (or in [-parts, 0]) M moves by n
    times at least the least and at most the greatest c, so the ceiling moves within the same bounds, and X_i by at most
    `parts` in all: its probability changes at most by the factor exp(epsilon), and so does the mean over the others.

    Returns
    -------
    (index, lead)
        The lead is in whole steps, rounded down where the runner-up stands before the winner: one less than the
        difference of the two noisy counts.
    """
    noises = discrete_laplaces(len(counts), parts, epsilon)
    noisy = [count + noise for count, noise in zip(counts, noises, strict=True)]
    order = [len(noisy) * count - place for place, count in enumerate(noisy)]
    best = max(range(len(order)), key=order.__getitem__)
    second = max(value for place, value in enumerate(order) if place != best)
    return best, (order[best] - second) // len(order)


@dataclass(frozen=True)
class Counted:
    """One statistic: the fewest rows to delete, by its closed form, or the fractional cover; or decision bits.

    Attributes
    ----------
    position : int or None
        Of the constraint that is counted alone; None for all together.
    statistic : RuleStatistic or None
        The closed form; None if the rules have none.
    lists_edges : bool
        Whether the conflict graph is the table of all edges.
    """

    rules: tuple[BoundConstraint, ...]
    position: int | None
    statistic: RuleStatistic | None
    lists_edges: bool

    @property
    def parts(self) -> int:
        """Steps of one row, or of one bit: a fractional cover is counted in halves."""
        if self.statistic is None:
            return 2
        return BIT if self.statistic.kind == "decision bits" else 1

    @property
    def brings_rows(self) -> bool:
        """Whether rows of another engine's table come here."""
        return self.statistic is None or not self.statistic.by_aggregates

    def load(self) -> None:
        """Load its kernels. Reads no row."""
        if self.statistic is not None:
            load_counting(self.rules)
        else:
            load_kernels(self.rules, ["twice_fractional_cover"], lists_edges=self.lists_edges)

    def rehearse(self, slices: PrivateSlices, where: WherePredicate | None) -> None:
        """Ask what `count` will ask, of a table without rows."""
        self.count(slices, where, self.parts)
        if self.statistic is None:
            slices.statistics(where, self.position).rehearse(["twice_fractional_cover"])

    def count(self, slices: PrivateSlices, where: WherePredicate | None, parts: int) -> int:
        """Return the exact count in a slice, in steps of 1 / parts. Private."""
        if self.statistic is not None:
            [found] = slices.exact(where, [self.statistic])
            return parts // self.parts * found
        statistics = slices.statistics(where, self.position)
        return 2 * statistics.self_conflicts + statistics.twice_fractional_cover().value


def counted(table: PublicTable, position: int | None, *, in_bits: bool = False) -> Counted:
    """Return how the constraints of a table, or the one at a position, are counted. Reads no row.

    Sensitivity: one more row raises each count by 0 to 1 (tau* has sensitivity exactly 1, and so have decision bits).
    """
    rules = tuple(table.bound if position is None else table.bound[position : position + 1])
    statistic = table.opened.exact_statistic(rules, "decision bits" if in_bits else "violations")
    if in_bits and statistic is None:
        from dpdb.engine import why_no_decisions  # most are not refused

        of = "these rules" if position is None else rules[0].constraint.label
        why = why_no_decisions(rules, table.opened.schema)
        raise ParameterError(f"the decisions to clean (maximal_consistency) of {of} are not counted: {why}")
    return Counted(rules, position, statistic, table.opened.lists_edges)
