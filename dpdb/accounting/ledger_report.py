"""What a ledger tells its owner: a summary and the history of its debits."""

from __future__ import annotations

import json
from typing import Any

from dpdb.accounting.amounts import in_parameter
from dpdb.accounting.ledger_file import LedgerFile
from dpdb.accounting.ledger_lines import LedgerEntry, LedgerSummary
from dpdb.accounting.ledger_state import LedgerState
from dpdb.accounting.stored_predicate import predicate_from_text

__all__ = ["history", "summary"]


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
