"""The report of a ledger to its owner: a summary and the history of its debits."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dpdb.errors import ParameterError
from dpdb.ledger.amounts import in_parameter
from dpdb.ledger.lines import LedgerEntry, LedgerSummary, RecordedAnswer
from dpdb.ledger.pld import reported_epsilon
from dpdb.ledger.store.file import LedgerFile
from dpdb.ledger.store.state import LedgerState
from dpdb.predicates import region_from_text

__all__ = ["epsilon_at", "history", "recorded_answers", "summary"]


def summary(state: LedgerState) -> LedgerSummary:
    """Return what was promised, spent and is left, as far as `state` has read."""
    spent, terms = state.spent, state.terms
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
        unanswered=state.last - state.answers,
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
        "SELECT number, epoch, reserved, run_id, charge, predicate, request, analyst, label, rule_set FROM entry "
        "ORDER BY number"
    )
    return [
        LedgerEntry(
            number=number,
            epoch=epoch,
            reserved=reserved,
            run_id=run_id,
            charge=state.terms.notion.value(charge),
            rows=region_from_text(predicate).describe(),
            request=json.loads(request),
            answered=state.is_answered(number),
            analyst=analyst,
            label=label,
            rule_set=rule_set,
        )
        for number, epoch, reserved, run_id, charge, predicate, request, analyst, label, rule_set in rows
    ]


def recorded_answers(
    file: LedgerFile, state: LedgerState, release_id: str | None, run_id: str | None
) -> list[RecordedAnswer]:
    """The answers that were recorded, in the order of their debits; all, those of one run, or the one of a release."""
    numbers: Sequence[int] = range(1, state.last + 1)
    if run_id is not None:
        numbers = [state.runs[run_id]] if run_id in state.runs else []
    if release_id is not None:
        rows = file.rows("SELECT entry FROM answer WHERE instr(answer, ?)", (release_id,))
        numbers = sorted({number for (number,) in rows if isinstance(number, int)}.intersection(numbers))
    found = []
    for number in numbers:
        answer = state.answer(number)
        if answer is not None and (release_id is None or release_id in _release_ids(answer)):
            line = state.entry(number)
            found.append(
                RecordedAnswer(number, line.reserved, line.run_id, line.analyst, line.label, line.request, answer)
            )
    return found


def _release_ids(answer: str) -> set[object]:
    return {release.get("release_id") for release in json.loads(answer) if isinstance(release, dict)}
