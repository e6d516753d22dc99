"""The summary of a ledger as `dpdb budget` prints it: its state now, in words or as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from decimal import ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

from dpdb.doors.cli.streams import show

if TYPE_CHECKING:
    from dpdb.ledger import LedgerSummary, UnseenRows

__all__ = ["show_summary"]


def show_summary(
    summary: LedgerSummary,
    output: str,
    more: dict[str, Any] | None = None,
    words: str = "",
    *,
    unseen: UnseenRows | None = None,
) -> None:
    """Print a summary.

    Parameters
    ----------
    summary
        The ledger's summary.
    output
        ``"json"``, or anything else for text.
    more
        Further fields of the JSON document, after those of the summary.
    words
        The same as `more`, as lines of text.
    unseen
        The budget left for rows that no release has covered; None to leave it out.
    """
    fields = _finite(asdict(summary)) | (more or {})
    if unseen is not None:
        fields["unseen_rows"] = asdict(unseen)
    show(json.dumps(fields, indent=2) if output == "json" else _summary_words(summary, unseen) + words)


def _summary_words(summary: LedgerSummary, unseen: UnseenRows | None) -> str:
    from dpdb.ledger import is_rows_of

    rows = "rows may be added, never changed" if summary.append_only else "a changed source needs a new epoch"
    lines = [
        f"budget     {summary.parameter} {summary.budget:.9g} ({summary.notion})",
        f"spent      {summary.parameter} {summary.spent:.9g} by {summary.releases} releases "
        f"({summary.sequential:.9g} without parallel composition), {summary.unanswered} not answered",
        f"remaining  {summary.parameter} {_down(summary.remaining)} for a release of the whole table",
        f"epoch      {summary.epoch} ({rows})",
    ]
    if unseen is not None:
        left = f"{summary.parameter} {_down(unseen.remaining)}"
        lines.insert(3, f"           {left} for rows whose {unseen.column} no release has covered")
    for allowance in summary.allowances:
        lines.append(
            f"allowance  {summary.parameter} {allowance.at_most:.9g} within {allowance.words}: {allowance.spent:.9g} "
            f"spent, {_down(allowance.remaining)} left; old releases never expire"
        )
    if summary.retired is not None:
        lines.append(f"retired    {summary.retired}: nothing more is released")
    if summary.delta:
        lines.append(f"promises   so far ({summary.epsilon:.6g}, {summary.delta:g})-differential privacy")
    if summary.unit is not None and is_rows_of(summary.unit):
        lines.append(f"unit       {summary.unit}")
    elif summary.unit is not None:
        lines.append(f"unit       one value of {summary.unit}, at most {summary.rows_per_person} rows of it used")
    elif summary.rows_per_person is not None and summary.rows_per_person > 1:
        lines.append(f"unit       up to {summary.rows_per_person} rows of one person")
    return "\n".join(lines)


def _down(value: float) -> str:
    """Write nine digits after the point, rounded down: a remaining budget is never overstated.

    The digits are those of the float's own text, which is the exact decimal of a whole number of nano-epsilon; times
    1e9 it may be one less (8.2 is).
    """
    shown = Decimal(repr(value)).quantize(Decimal("1e-9"), ROUND_FLOOR)
    return f"{shown:.9f}".rstrip("0").rstrip(".")


def _finite(fields: dict[str, Any]) -> dict[str, Any]:
    """Replace infinity, which JSON does not have, with null: no finite epsilon exists at this delta."""
    return {name: None if value == math.inf else value for name, value in fields.items()}
