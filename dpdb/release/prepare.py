"""From an `Ask` to a `Prepared` release: its charge and its parts. Reads no row, spends nothing."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dpdb.engine import BoundConstraint
from dpdb.errors import ParameterError
from dpdb.measures import measure_named, takes_theta
from dpdb.privacy import format_epsilon, format_rho, split
from dpdb.release.ask import Ask, parse_rho_share, parse_share
from dpdb.release.costs import Charge
from dpdb.release.measure_part import MeasurePart
from dpdb.release.parts import CountPart, Part, Prepared, PublicTable, Slices, parse_slices

__all__ = ["Prepared", "PublicTable", "measure_part", "prepare"]


def prepare(table: PublicTable, ask: Ask, *, who: str | None = None) -> Prepared:
    """Check everything public about a release; the result has its charge and parts.

    Raises
    ------
    ParameterError, PredicateError, UnknownColumnError
        If the ask does not fit the table, or `who` is no name that a ledger keeps.
    """
    prepared = _prepared_count(table, ask) if ask.counts_rows else _prepared_measures(table, ask)
    return replace(prepared, charge=replace(prepared.charge, who=who))


def _prepared_measures(table: PublicTable, ask: Ask) -> Prepared:
    if not table.bound:
        raise ParameterError("this session has no constraints to measure; give constraints= when opening it")
    whole = measure_part(ask, table.bound, rows_per_person=table.unit.divisor(table.constraints))
    graphs: tuple[MeasurePart, ...] = (whole,)
    if ask.each_constraint:
        graphs = _for_each_constraint(ask, table)
    named, rows_change = ask.mechanism is not None, table.unit.children is not None and bool(table.unit.children.links)
    graphs = tuple(part.shaped(table.opened, named=named, rows_change=rows_change) for part in graphs)
    if ask.theta is not None and all(part.on_one_row for part in graphs):
        takes_theta(ask.measures[0], graphs[0].measures[0][1])
    graphs = tuple(part.within_groups(table.max_group) for part in graphs)
    graphs = tuple(part.fitted(table.opened.schema) for part in graphs)
    graphs = tuple(replace(part, lists_edges=table.opened.lists_edges) for part in graphs)
    slices = parse_slices(table.opened, ask.where, ask.by, ask.keys)
    parts = [replace(part, predicate=predicate) for predicate in slices.predicates for part in graphs]
    request: dict[str, Any] = {
        "measures": {
            name: " or ".join(dict.fromkeys(part.mechanisms[name] for part in graphs)) for name in ask.measures
        },
        **_cost(ask),
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
    if table.opened.public_keys:  # with changed public parents, a retry of a run is another request
        request["public_parents"] = table.opened.public_keys
    if ask.each_constraint:
        request["each_constraint"] = [part.mechanisms for part in graphs]
    theta = ask.public_theta
    if theta is not None:
        request |= theta.public
        parts = [part.at_theta(theta, position) for position, part in enumerate(parts)]
    return _charged(table, ask, request, tuple(parts), slices, one_slice=parts[: len(graphs)])


def _prepared_count(table: PublicTable, ask: Ask) -> Prepared:
    """Divide the cost among the k rows of a unit: epsilon / k or rho / k^2 for each.

    That is group privacy; see Bun and Steinke 2016, Proposition 1.9.
    """
    rows, rho = table.unit.divisor(), ask.charged_rho
    epsilon = ask.charged if rho is None else None
    per_row = parse_share(ask.charged, rows) if rho is None else rho // rows**2
    if per_row == 0:
        raise ParameterError(f"rho {format_rho(rho or 0)} leaves less than 1e-12 per row: too small to use")
    if ask.sparse:
        return _prepared_list(table, ask, per_row)
    slices = parse_slices(table.opened, ask.where, ask.by, ask.keys)
    part = CountPart(epsilon, rho, per_row, ask.confidence, slices.predicates)
    request = {
        "measure": ask.measure,
        **_cost(ask),
        "where": ask.where,
        "by": ask.by,
        "keys": slices.keys,
        "confidence": ask.confidence,
        **table.unit.public,
    }
    return _charged(table, ask, request, (part,), slices, one_slice=(part,))


def _prepared_list(table: PublicTable, ask: Ask, per_row: int) -> Prepared:
    """Return counts of a long list of keys; the list is part of the request by its digest."""
    from dpdb.release.listed_counts import ListedCounts, listed_slices  # few counts have such a list

    rho = ask.charged_rho
    assert ask.by is not None, "an ask of many keys has a column"
    slices, column = listed_slices(table.opened, ask.where, ask.by, ask.keys or ())
    keys = slices.keys or ()
    [predicate] = slices.predicates
    part = ListedCounts(ask.charged if rho is None else None, rho, per_row, ask.confidence, predicate, column, keys)
    request = {
        "measure": ask.measure,
        **_cost(ask),
        "where": ask.where,
        "by": ask.by,
        "keys": len(keys),
        "keys_sha256": hashlib.sha256(json.dumps(keys).encode()).hexdigest(),
        "sparse": True,
        "confidence": ask.confidence,
        **table.unit.public,
    }
    return _charged(table, ask, request, (part,), slices, one_slice=(part,))


def _cost(ask: Ask) -> dict[str, str]:
    """Return the cost as part of a request."""
    rho = ask.charged_rho
    return {"epsilon": format_epsilon(ask.charged)} if rho is None else {"rho": format_rho(rho)}


def _charged(
    table: PublicTable,
    ask: Ask,
    request: dict[str, Any],
    parts: tuple[Part, ...],
    slices: Slices,
    *,
    one_slice: Sequence[Part],
) -> Prepared:
    """Charge the rows of the slices: both tuples of a conflict lie in one slice, so no other row changes an answer.

    The charge is the cost of the parts of one slice: other slices cost the same and have other rows.
    """
    costs = tuple(cost for part in one_slice for cost in part.costs)
    assert sum(costs) == ask.charged, "a call costs what was asked for"
    if len(costs) > 1:  # the other facts from which a ledger's owner can compute the charge again
        request["parts"] = {format_epsilon(cost): times for cost, times in Counter(costs).items()}
    rule_set = table.constraints_sha256 if table.bound else None
    charge = Charge(costs, table.unit.rows, slices.charged, request, ask.run_id, ask.charged_rho, rule_set, ask.label)
    return Prepared(ask, charge, parts, slices, table)


def measure_part(
    ask: Ask,
    rules: Sequence[BoundConstraint],
    *,
    rows_per_person: int,
    charged: int | None = None,
    alone: int | None = None,
) -> MeasurePart:
    """Return the part of an ask of measures that reads the conflict graph of some constraints.

    Parameters
    ----------
    rows_per_person
        The number that epsilon is divided by for each row; see `PrivacyUnit.divisor`.
    charged
        Nano-epsilon to spend, pico-rho of an ask that is paid in it. Default: all that the ask has.
    alone
        Position of the constraint that is measured alone. Default: all `rules` are measured together.

    Raises
    ------
    ParameterError
        If a mechanism lacks what it needs or has no theta to be given, or the cost is too small for so many rows.
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
    rho = ask.charged_rho
    charged = (ask.charged if rho is None else rho) if charged is None else charged
    per_row = (parse_share if rho is None else parse_rho_share)(charged, rows_per_person)
    return MeasurePart(
        measures, charged, per_row, ask.confidence, ask.max_degree, ask.rate, tuple(rules), alone,
        in_rho=rho is not None,
    )  # fmt: skip


def _for_each_constraint(ask: Ask, table: PublicTable) -> tuple[MeasurePart, ...]:
    """Split an ask evenly among the constraints, in their order, each to be measured alone.

    All parts read the same rows, so they compose sequentially: their exact shares of epsilon, or of rho, add up to the
    ask's, which is debited once. The split reads the number of constraints only, which is public.

    Raises
    ------
    ParameterError
        If a share is too small to use.
    """
    rho = ask.charged_rho
    if rho is not None:
        parse_rho_share(rho // len(table.bound), 1)
    shares = split(ask.charged if rho is None else rho, [1] * len(table.bound))
    return tuple(
        measure_part(ask, [rule], rows_per_person=table.unit.divisor([rule.constraint]), charged=share, alone=position)
        for position, (share, rule) in enumerate(zip(shares, table.bound, strict=True))
    )
