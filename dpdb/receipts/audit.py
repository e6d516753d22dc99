"""The audit of a whole ledger, without data: every charge from its request, every recorded overlap from the debits.

A recorded overlap is a proven bound on what a row collects with its debit in its epoch. So some row that surely
collects more refutes it; where a row surely collects exactly as much, both are the least there is. Debits that were
settled count as settled from the start, which only lowers what a row surely collected: so no true record is refuted.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dpdb.ledger import EntryLine
from dpdb.overlap import Decision, OverlapIndex
from dpdb.predicates import Region, region_from_text
from dpdb.privacy import PURE, ZCDP, Notion, parse_epsilon, parse_rho
from dpdb.receipts.issue import LedgerTree

__all__ = ["audit_ledger", "charge_of"]

_SECONDS = 0.1  # for each overlap


def audit_ledger(tree: LedgerTree, refused: list[str], undecided: list[str], found: list[str]) -> None:
    """Audit every debit of a ledger; linear in its lines where debits cover few different sets of rows.

    Parameters
    ----------
    tree
        The ledger, read.
    refused, undecided, found
        Get what does not hold, what could not be shown, and what holds.
    """
    log, shown = tree.log, tree.ledger.shown
    charges, regions = lru_cache(lambda text: charge_of(json.loads(text), log.notion)), lru_cache(region_from_text)
    index, epoch, derived, least, proven = OverlapIndex(), 0, 0, 0, 0
    for line in log.entries():
        if line.epoch != epoch:
            refused += _closed(tree, index, epoch)
            index, epoch = OverlapIndex(), line.epoch
        bounds, charge, region = charges(line.request), log.charge(line.number), regions(line.predicate)
        if bounds is not None and not bounds[0] <= charge <= bounds[1]:
            refused.append(f"{shown}: debit {line.number} is charged {charge}, and its request costs {bounds[1]}")
        derived += bounds is not None
        found_here = _overlap(index, region, line)
        if found_here.lower > line.upper:
            refused.append(
                f"{shown}: debit {line.number} records that a row collects at most {line.upper}, and one collects "
                f"{found_here.lower}"
            )
        proven += found_here.allowed
        least += found_here.lower == line.upper
        index.add(region, line.charge, found_here.upper if found_here.allowed else None)
    refused += _closed(tree, index, epoch)
    if log.debits > proven and not refused:
        undecided.append(f"not decided in time: {log.debits - proven} recorded overlaps that nothing refutes")
    found.append(f"{derived} of {log.debits} charges derived again from their requests")
    found.append(f"{proven} of {log.debits} recorded overlaps proven, {least} of them the least there are")


def _closed(tree: LedgerTree, index: OverlapIndex, epoch: int) -> list[str]:
    """Refuse the recorded cost of a closed epoch if some row surely collected more in it."""
    recorded = tree.log.closed_cost(epoch) if index else None
    collected = 0 if recorded is None else index.bound(_SECONDS).lower
    if recorded is None or collected <= recorded:
        return []
    return [f"{tree.ledger.shown}: epoch {epoch} is recorded to have cost {recorded}, and a row collected {collected}"]


def _overlap(index: OverlapIndex, region: Region, line: EntryLine) -> Decision:
    """Decide whether a row collects more than was recorded; `lower` is what one surely collects."""
    below = index.would_exceed(region, line.charge, line.upper - 1, _SECONDS)
    if below.allowed or below.lower > line.upper:
        return below
    decided = index.would_exceed(region, line.charge, line.upper, _SECONDS)
    return replace(decided, lower=max(below.lower, decided.lower))


def charge_of(request: Any, notion: Notion) -> tuple[int, int] | None:
    """Return the least and the greatest charge of a request, in units; None if it names no cost, as of a re-arm.

    A pure ledger charges epsilon itself. Others charge the parts of a call, whose squares add up to at most the square
    of their sum; see `dpdb.release.accounts.charge.pure_units`.

    Parameters
    ----------
    request
        As the ledger has recorded it.
    notion
        Of the ledger.

    Examples
    --------
    >>> charge_of({"epsilon": "0.5"}, PURE)
    (500000000, 500000000)
    """
    if not isinstance(request, dict):
        return None
    rho, epsilon = request.get("rho"), request.get("epsilon")
    if rho is not None:
        return (parse_rho(rho),) * 2 if notion is ZCDP else (0, 0)
    if epsilon is None:
        return None
    if notion is PURE:
        return (parse_epsilon(epsilon),) * 2
    rows = int(request.get("rows_per_person") or 1)
    return 1, rows**2 * notion.charge_pure(Fraction(parse_epsilon(epsilon), PURE.unit * rows))
