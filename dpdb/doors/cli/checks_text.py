"""The verdicts of a suite as a table with notes below it, and its plan."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpdb.suites import CheckResult, CheckResults, CheckRun, SuitePlan

__all__ = ["aligned", "checks_text", "plan_text"]

_HEADS = ("verdict", "check", "how many", "limit")
_SHORTEST = 60


def checks_text(results: CheckResults, plan: SuitePlan | None = None) -> str:
    """Return one line a check, in the order of the file, and what holds for all of them.

    With the suite's plan also what would decide those that are undecided.
    """
    return "\n".join([*_verdict_table(results), *_verdict_notes(results, plan)]) + "\n"


def _verdict_table(results: CheckResults) -> Iterator[str]:
    slices = any(check.key is not None for check in results)
    heads = (*_HEADS[:2], *(["slice"] if slices else []), *_HEADS[2:])
    rows = [heads, *(_verdict_cells(check, slices) for check in results)]
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Give a line for each row, the cells of each column below one another."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _verdict_cells(check: CheckResult, slices: bool) -> tuple[str, ...]:
    from dpdb.suites import how_many, limit_words, verdict_words

    name = check.name if len(check.name) <= _SHORTEST else f"{check.name[: _SHORTEST - 3]}..."
    key = [str(check.key)] if slices else []
    return (verdict_words(check), name, *key, how_many(check), limit_words(check))


def _verdict_notes(results: CheckResults, plan: SuitePlan | None) -> Iterator[str]:
    from dpdb.suites import WHERE_IT_IS, counts_words, deciding_words, undecided_words

    yield f"{counts_words(results)}. {results.certainty}"
    undecided = undecided_words(results)
    if undecided is not None:
        yield undecided if plan is None else f"{undecided} {deciding_words(plan, results)}"
    if results.count("fail"):
        yield WHERE_IT_IS
    if results.name is not None:
        yield f"Kept as {results.name!r}: epsilon {results.epsilon_reserved:g} stays reserved until it is closed."
    else:
        back = "; the rest was not needed" if results.epsilon < results.epsilon_reserved else ""
        yield f"Cost: epsilon {results.epsilon:g} of {results.epsilon_reserved:g}{back}."
    yield f"Guarantee: {results.guarantee}."


def plan_text(prepared: CheckRun, margin: int | None = None) -> str:
    """Return what a suite will be able to tell apart; public, nothing is read or spent."""
    from dpdb.suites import plan_words

    return "\n".join([*plan_words(prepared.plan, margin), "nothing was spent"]) + "\n"
