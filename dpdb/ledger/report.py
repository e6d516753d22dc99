"""The report of a ledger to its owner: a summary, the budget left for which rows, the history, and a tight epsilon.

Where Google's dp-accounting is installed, composed pure releases are reported tightly by privacy loss distributions.
That is for reports only: filters by privacy loss distributions are not valid for releases chosen adaptively.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any

from dpdb.errors import ParameterError
from dpdb.ledger.amounts import in_parameter, in_words, is_little
from dpdb.ledger.limits import Window, retired_words, windows
from dpdb.ledger.lines import Allowance, LedgerAct, LedgerEntry, LedgerSummary, RecordedAnswer, UnseenRows
from dpdb.ledger.store.clock import present
from dpdb.ledger.store.periods import parse_period
from dpdb.ledger.store.rows import ALLOW, RAISE
from dpdb.ledger.store.state import LedgerState
from dpdb.predicates import Region, ValueSet, region_from_text
from dpdb.privacy import Notion

_SECONDS = 0.1  # for a bound on the budget left for rows, which may be loose but never too high


def summary(state: LedgerState) -> LedgerSummary:
    """Return the promise, the budget spent and the budget left, as far as `state` has read."""
    spent, terms, retired = state.spent, state.terms, state.acts.retired
    return LedgerSummary(
        notion=terms.notion.name,
        parameter=terms.notion.parameter,
        budget=in_parameter(terms.notion, state.budget),
        spent=terms.notion.value(spent),
        remaining=in_parameter(terms.notion, state.budget - spent),
        sequential=terms.notion.value(state.sequential),
        epsilon=terms.notion.epsilon(spent, terms.delta),
        delta=terms.delta,
        append_only=terms.append_only,
        rows_per_person=terms.rows_per_person,
        unit=terms.unit,
        epoch=state.epoch.number,
        releases=state.last,
        unanswered=state.last - state.answers.last,
        created=terms.created,
        retired=None if retired is None else retired_words(retired),
        allowances=tuple(_allowance(window, terms.notion) for window in windows(state, present())),
    )


def _allowance(window: Window, notion: Notion) -> Allowance:
    spent = window.spent
    return Allowance(
        period=window.period.text,
        words=window.period.words,
        at_most=in_parameter(notion, window.units),
        spent=notion.value(spent),
        remaining=in_parameter(notion, window.units - spent),
    )


def little_left(state: LedgerState) -> str | None:
    """Say how much is left if that is little of the budget or of an allowance for every row; None otherwise."""
    seen = unseen_rows(state)
    if seen is not None and not is_little(seen.remaining, in_parameter(state.terms.notion, state.budget)):
        return None  # there is enough for rows that no release has covered
    now = summary(state)
    limits = [("the budget", now.budget, now.remaining)]
    limits += [
        (f"what is allowed within {allowance.words}", allowance.at_most, allowance.remaining)
        for allowance in now.allowances
    ]
    words = [f"{left:.6g} of {total:.6g} of {what}" for what, total, left in limits if is_little(left, total)]
    return f"little is left: {now.parameter} {' and '.join(words)}" if words else None


def unseen_rows(state: LedgerState) -> UnseenRows | None:
    """Return the column whose new values have the most budget left; None if the whole table has as much.

    A release limits a column if its rows have some values of it only. Rows with a value that no such release covers
    have collected from the other releases alone, and from the closed epochs. Their budget left is the most that a
    release of them may cost now, by the total and by every allowance: never overstated.
    """
    found = [(_left(state, region), column) for column, region in _unseen(state).items()]
    left, column = max(found, default=(0, ""))
    if left <= _left(state, Region()):
        return None
    return UnseenRows(column, in_parameter(state.terms.notion, left))


def _unseen(state: LedgerState) -> dict[str, Region]:
    """For each column that releases limit, the rows with values that no such release covers, if there are any."""
    limits: dict[str, list[ValueSet]] = {}
    for query in state.index.queries:
        for column in query.attributes:
            values = ValueSet.union([dict(box).get(column, ValueSet.everything()) for box in query.boxes])
            if not values.is_everything:
                limits.setdefault(column, []).append(values)
    others = {column: ~ValueSet.union(values) for column, values in limits.items()}
    return {column: Region.of({column: values}) for column, values in others.items() if not values.is_empty}


def _left(state: LedgerState, rows: Region) -> int:
    collected = state.index.would_exceed(rows, 0, state.available, _SECONDS).upper
    left = [state.available - collected]
    left += [window.units - window.decide(rows, 0, _SECONDS).upper for window in windows(state, present())]
    return max(0, min(left))


def epsilon_at(summary: LedgerSummary, entries: Sequence[LedgerEntry], delta: float) -> float:
    """Epsilon at `delta` of all releases from a pure ledger: the smaller of the budget spent and the tight report.

    The tight report takes every release for one that covers the same row, which no row can exceed. It holds for
    releases that were fixed in advance; if some were chosen by looking at earlier answers, only the budget spent does.

    Parameters
    ----------
    delta
        At which the tight report holds.

    Raises
    ------
    ParameterError
        The ledger is not pure (it reports at its own delta), or `delta` is out of range.
    """
    if summary.notion != "pure":
        raise ParameterError(f"a {summary.notion} ledger reports at its own delta, {summary.delta:g}")
    return min(summary.spent, reported_epsilon([entry.charge for entry in entries], delta))


def history(state: LedgerState, analyst: str | None = None) -> list[LedgerEntry]:
    """Every debit, or those of one analyst, oldest first."""
    asked = state.entries() if analyst is None else map(state.entry, state.asked_by.get(analyst, []))
    return [
        LedgerEntry(
            number=line.number,
            epoch=line.epoch,
            reserved=line.reserved,
            run_id=line.run_id,
            charge=state.terms.notion.value(line.charge),
            rows=region_from_text(line.predicate).describe(),
            request=json.loads(line.request),
            answered=state.is_answered(line.number),
            analyst=line.analyst,
            label=line.label,
            rule_set=line.rule_set,
            answer=_published(state.answer(line.number)),
            debited=_debited(state, line.number),
            suite=_suite(state, line.number),
        )
        for line in asked
    ]


def _debited(state: LedgerState, number: int) -> float | None:
    settled = state.settlements.of(number)
    return None if settled is None else state.terms.notion.value(settled.debited)


def _suite(state: LedgerState, number: int) -> str | None:
    suite = state.suites.by_entry.get(number)
    if suite is None:
        return None
    if suite.line.name is None:
        numbers_of = json.loads(suite.line.spec).get("numbers_of")
        return "suite of checks" if numbers_of is None else f"numbers of kept suite {numbers_of}"
    armed = next((f"{json.loads(act.detail)['check']} re-armed in " for act in suite.acts if act.entry == number), "")
    return f"{armed}kept suite {suite.line.name}"


def acts(state: LedgerState) -> list[LedgerAct]:
    """Every act of the owner, oldest first."""
    notion, budget, told = state.terms.notion, state.terms.budget, []
    for number, act in enumerate(state.acts.done, 1):
        units: int | None = act.detail.get("budget" if act.kind == RAISE else "units")
        amount = None if units is None else in_parameter(notion, units)
        words = "retired"
        if act.kind == RAISE and units is not None:
            words = f"budget raised from {notion.parameter} {in_words(notion, budget)} to {in_words(notion, units)}"
            budget = units
        elif act.kind == ALLOW:
            within = f"within {parse_period(act.detail['period']).words}"
            words = f"allowance {within} ended"
            if units is not None:
                words = f"at most {notion.parameter} {in_words(notion, units)} allowed {within}"
        told.append(
            LedgerAct(
                number=number,
                after=act.after,
                at=act.at,
                kind=act.kind,
                who=act.who,
                label=act.label,
                words=words,
                budget=amount if act.kind == RAISE else None,
                period=act.detail.get("period"),
                at_most=amount if act.kind == ALLOW else None,
            )
        )
    return told


def recorded_answers(state: LedgerState, release_id: str | None, run_id: str | None) -> list[RecordedAnswer]:
    """Return recorded answers in the order of their debits: all, the answer of one run, or the answer with one release.

    Parameters
    ----------
    release_id
        Only the answer with this release; None for any.
    run_id
        Only the answer of this run; None for any.
    """
    numbers: Sequence[int] = range(1, state.last + 1)
    if run_id is not None:
        numbers = [state.runs[run_id]] if run_id in state.runs else []
    if release_id is not None:
        rows = state.file.rows("SELECT entry FROM answer WHERE instr(answer, ?)", (release_id,))
        numbers = sorted({number for (number,) in rows if isinstance(number, int)}.intersection(numbers))
    answers = []
    for number in numbers:
        answer = state.answer(number)
        if answer is not None and (release_id is None or release_id in _release_ids(answer)):
            line = state.entry(number)
            answers.append(
                RecordedAnswer(number, line.reserved, line.run_id, line.analyst, line.label, line.request, answer)
            )
    return answers


def _release_ids(answer: str) -> set[object]:
    return {release.get("release_id") for release in _published(answer) or ()}


def _published(answer: str | None) -> list[dict[str, Any]] | None:
    """Return the published releases of an answer; none of an answer that dpdb did not write."""
    if answer is None:
        return None
    content = json.loads(answer)
    listed = content  # releases; of a suite its verdicts, of a diagnosis the slices that it named
    if isinstance(content, dict):
        listed = content.get("checks", content.get("named", []))
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


_FINEST = 1e-4
_MOST_STEPS = 1_000_000
"""Losses are rounded up to multiples of this, or of the sum cut into so many steps: memory stays small."""


def tight_epsilon(epsilons: Sequence[float], delta: float) -> float:
    """Epsilon at `delta` of pure releases that all cover one row, computed with pessimistic rounding.

    Each release is taken for the worst mechanism with its epsilon, randomized response (Kairouz, Oh, Viswanath 2015),
    so the answer holds for every mechanism.
    """
    _check(epsilons, delta)
    accounting = _modules()
    if accounting is None:
        raise ParameterError(
            "the tight report needs the package dp-accounting, which is not installed; "
            "install it (pip install 'dpdb[pld]') or use the report by the sum"
        )
    common, distributions = accounting
    interval = max(_FINEST, sum(epsilons) / _MOST_STEPS)
    together = None
    for epsilon, times in sorted(Counter(epsilon for epsilon in epsilons if epsilon).items()):
        distribution = distributions.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon, 0.0), value_discretization_interval=interval
        )
        distribution = distribution.self_compose(times) if times > 1 else distribution
        together = distribution if together is None else together.compose(distribution)
    return 0.0 if together is None else float(together.get_epsilon_for_delta(delta))


def reported_epsilon(epsilons: Sequence[float], delta: float) -> float:
    """Return the smaller of the plain sum and the tight report; the sum if dp-accounting is not installed.

    Raises
    ------
    ParameterError
        An epsilon or `delta` is out of range.
    """
    _check(epsilons, delta)
    added = math.fsum(epsilons)
    return added if delta == 0 or _modules() is None else min(added, tight_epsilon(epsilons, delta))


def _check(epsilons: Sequence[float], delta: float) -> None:
    if any(not 0 <= epsilon < math.inf for epsilon in epsilons):
        raise ParameterError("every epsilon of the report must be a number from 0 on")
    if not 0 <= delta < 1:
        raise ParameterError(f"delta must be at least 0 and below 1, got {delta!r}")


def _modules() -> tuple[ModuleType, ModuleType] | None:
    """Return the modules of dp-accounting that are used here, None if it is not installed."""
    try:
        return import_module("dp_accounting.pld.common"), import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError:
        return None
