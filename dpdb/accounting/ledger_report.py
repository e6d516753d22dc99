"""What a ledger tells its owner: a summary and the history of its debits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dpdb.accounting.amounts import in_parameter
from dpdb.accounting.ledger_file import LedgerFile
from dpdb.accounting.ledger_lines import LedgerEntry, LedgerSummary
from dpdb.accounting.ledger_state import LedgerState
from dpdb.accounting.pld import reported_epsilon
from dpdb.accounting.stored_predicate import predicate_from_text
from dpdb.errors import ParameterError

__all__ = ["epsilon_at", "history", "summary"]


def summary(file: LedgerFile, state: LedgerState) -> LedgerSummary:
    """What was promised, spent and is left, as far as `state` has read."""
    spent, terms = state.spent, state.terms
    [(unanswered,)] = file.rows("SELECT count(*) FROM entry WHERE answer IS NULL")
    assert isinstance(unanswered, int)
    return LedgerSummary(
        notion=terms.notion.name,
        parameter=terms.notion.parameter,
        budget=in_parameter(terms.notion, terms.budget),
        spent=terms.notion.value(spent),
        remaining=in_parameter(terms.notion, terms.budget - spent),
        sequential=terms.notion.value(state.sequential),
        epsilon=terms.notion.epsilon(spent, terms.delta),
        delta=terms.delta,
        append_only=terms.append_only,
        rows_per_person=terms.rows_per_person,
        unit=terms.unit,
        epoch=state.epoch.number,
        releases=state.last,
        unanswered=unanswered,
        created=terms.created,
    )


def epsilon_at(summary: LedgerSummary, entries: Sequence[LedgerEntry], delta: float) -> float:
    """Epsilon at `delta` of everything released from a pure ledger: the least of what was spent and the tight report.

    The tight report takes every release for one that covers the same row, which no row can exceed. It holds for
    releases that were fixed in advance; where some were chosen by looking at earlier answers, only what was spent does.

    Raises
    ------
    ParameterError
        The ledger is not pure (it reports at its own delta), or `delta` is out of range.
    """
    if summary.notion != "pure":
        raise ParameterError(f"a {summary.notion} ledger reports at its own delta, {summary.delta:g}")
    return min(summary.spent, reported_epsilon([entry.charge for entry in entries], delta))


def history(file: LedgerFile, state: LedgerState) -> list[LedgerEntry]:
    """Every debit, oldest first."""
    rows: list[Any] = file.rows(
        "SELECT number, epoch, reserved, run_id, charge, predicate, request, answer IS NOT NULL FROM entry "
        "ORDER BY number"
    )
    return [
        LedgerEntry(
            number=number,
            epoch=epoch,
            reserved=reserved,
            run_id=run_id,
            charge=state.terms.notion.value(charge),
            rows=predicate_from_text(predicate).describe(),
            request=json.loads(request),
            answered=bool(answered),
        )
        for number, epoch, reserved, run_id, charge, predicate, request, answered in rows
    ]
