"""From an `Ask` to a `Prepared` release: what it costs and which parts it has. Reads no row, spends nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dpdb.constraints import DenialConstraint
from dpdb.engine import BoundConstraint, Table
from dpdb.errors import ParameterError
from dpdb.measures import takes_theta
from dpdb.privacy import format_epsilon
from dpdb.release.accounts.account import Charge
from dpdb.release.ask import Ask
from dpdb.release.prepared.parts import CountPart, MeasurePart, count_part, for_each_constraint, measure_part
from dpdb.release.prepared.shares import unit_shares
from dpdb.release.prepared.slices import Slices, parse_slices
from dpdb.release.published.release import constraints_digest
from dpdb.release.units.privacy_unit import PrivacyUnit

__all__ = ["Prepared", "PublicTable", "prepare"]


@dataclass(frozen=True)
class PublicTable:
    """The public facts of a table: all that a release is prepared from.

    Attributes
    ----------
    opened : Table
        Its schema and constraints are public; it reads literals as values of the columns' types, and no row.
    unit : PrivacyUnit
    max_group : int or None
        How many rows the owner declares the largest group to have.
    """

    opened: Table
    unit: PrivacyUnit
    max_group: int | None = None

    @property
    def bound(self) -> tuple[BoundConstraint, ...]:
        """The constraints, bound to the table's columns."""
        return self.opened.constraints

    @property
    def constraints(self) -> tuple[DenialConstraint, ...]:
        """The constraints, without what the engine made of them."""
        return tuple(bound.constraint for bound in self.bound)

    @cached_property
    def constraints_sha256(self) -> str:
        """Digest of the constraints."""
        return constraints_digest(self.constraints)


@dataclass(frozen=True)
class Prepared:
    """A release that only waits for its budget.

    Attributes
    ----------
    ask : Ask
    charge : Charge
        What it costs, for which rows. Its `request` is the identity of the release: two asks whose requests are equal
        are one release, and a ledger gives a run its recorded answer for the same request only.
    parts : tuple of MeasurePart or of CountPart
        In the order of the answers: for each slice, for each conflict graph.
    slices : Slices
    table : PublicTable
    """

    ask: Ask
    charge: Charge
    parts: tuple[MeasurePart, ...] | tuple[CountPart, ...]
    slices: Slices
    table: PublicTable


def prepare(table: PublicTable, ask: Ask) -> Prepared:
    """Check everything public about a release and say what it would be charged.

    Raises
    ------
    ParameterError, PredicateError, UnknownColumnError
        If the table does not admit it.
    """
    return _prepared_count(table, ask) if ask.counts_rows else _prepared_measures(table, ask)


def _prepared_measures(table: PublicTable, ask: Ask) -> Prepared:
    if not table.bound:
        raise ParameterError("this session has no constraints to measure; give constraints= when opening it")
    whole = measure_part(ask, rows_per_person=table.unit.divisor(table.constraints))
    graphs: tuple[MeasurePart, ...] = (whole,)
    if ask.each_constraint:
        graphs = for_each_constraint(ask, table.bound, table.unit)
    graphs = tuple(part.shaped(table.bound, named=ask.mechanism is not None) for part in graphs)
    if ask.theta is not None and all(part.on_one_row for part in graphs):
        takes_theta(ask.measures[0], graphs[0].measures[0][1])
    graphs = tuple(part.within_groups(table.bound, table.max_group) for part in graphs)
    graphs = tuple(part.fitted(table.bound, table.opened.schema) for part in graphs)
    slices = parse_slices(table.opened, ask.where, ask.by, ask.keys)
    parts = [replace(part, predicate=predicate) for predicate in slices.predicates for part in graphs]
    request: dict[str, Any] = {
        "measures": {
            name: " or ".join(dict.fromkeys(part.mechanisms[name] for part in graphs)) for name in ask.measures
        },
        "epsilon": format_epsilon(ask.charged),
        "where": ask.where,
        "confidence": ask.confidence,
        "max_degree": ask.max_degree,
        "rate": ask.rate,
        "constraints_sha256": table.constraints_sha256,
        **table.unit.public,
        "by": ask.by,
        "keys": slices.keys,
    }
    if table.max_group is not None and "two_sided" in whole.mechanisms.values():
        request["max_group"] = table.max_group
    if table.opened.public_keys:  # a run that is asked again after they have changed asks for something else
        request["public_parents"] = table.opened.public_keys
    if ask.each_constraint:
        request["each_constraint"] = [part.mechanisms for part in graphs]
    theta = ask.public_theta
    if theta is not None:
        request |= theta.public
        parts = [part.at_theta(theta.of(position)) for position, part in enumerate(parts)]
    return _charged(table, ask, request, tuple(parts), slices)


def _prepared_count(table: PublicTable, ask: Ask) -> Prepared:
    part = count_part(ask, rows_per_person=table.unit.divisor())
    slices = parse_slices(table.opened, ask.where, ask.by, ask.keys)
    parts = tuple(replace(part, predicate=predicate) for predicate in slices.predicates)
    request = {
        "measure": ask.measure,
        **part.cost,
        "where": ask.where,
        "by": ask.by,
        "keys": slices.keys,
        "confidence": ask.confidence,
        **table.unit.public,
    }
    return _charged(table, ask, request, parts, slices)


def _charged(
    table: PublicTable,
    ask: Ask,
    request: dict[str, Any],
    parts: tuple[MeasurePart, ...] | tuple[CountPart, ...],
    slices: Slices,
) -> Prepared:
    """Charge the rows of the slices: both tuples of a conflict lie in one slice, so no other row changes an answer."""
    one_slice = parts[: len(parts) // len(slices.predicates)]  # what the others cost is the same, and of other rows
    costs = tuple(cost for part in one_slice for cost in _costs(part))
    assert sum(costs) == ask.charged, "a call costs what was asked for"
    if len(costs) > 1:  # what else a ledger's owner would need to compute a charge again
        request["parts"] = {format_epsilon(cost): times for cost, times in Counter(costs).items()}
    rule_set = table.constraints_sha256 if table.bound else None
    charge = Charge(costs, slices.charged, request, ask.run_id, ask.charged_rho, rule_set, ask.label)
    return Prepared(ask, charge, parts, slices, table)


def _costs(part: MeasurePart | CountPart) -> tuple[int, ...]:
    """Return what each draw of a part costs a unit, in nano-epsilon."""
    if isinstance(part, CountPart):
        return () if part.epsilon is None else (part.epsilon,)
    return tuple(cost for share in unit_shares(part) for cost in share.parts)
