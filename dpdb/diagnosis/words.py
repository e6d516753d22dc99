"""A diagnosis in words: its table, and what holds for all of it."""

from __future__ import annotations

from dpdb.diagnosis.result import Diagnosis
from dpdb.release import PreviewPart, preview_html

__all__ = ["HEADS", "diagnosis_html", "diagnosis_text", "notes_of", "rows_of", "slice_name"]

HEADS = ("rank", "slice", "at least", "at most")


def slice_name(column: str, key: str) -> str:
    """Name a slice."""
    return f"{column} = {key}"


def rows_of(found: Diagnosis) -> list[tuple[str, str, str, str]]:
    """Return the named slices as cells under `HEADS`."""
    return [
        (str(rank), slice_name(one.column, one.key), f"{one.lower:,g}", f"{one.upper:,g}")
        for rank, one in enumerate(found.named, 1)
    ]


def notes_of(found: Diagnosis) -> list[str]:
    """Return what the table means, what was named beside it, and the cost: one sentence each."""
    notes = []
    if found.named:
        what = "rows to delete"
        if found.expected is not None:
            what = f"rows to delete beyond {float(found.expected):.6g} of the slice's rows"
        cover = (
            ""
            if found.statistic == "fewest deletions"
            else "; at least half and at most all of them (fractional cover)"
        )
        column = found.named[0].column
        notes.append(
            f"Bounds are of {what}{cover}; all {found.slices:,} slices of {column} lie within bounds as wide, together "
            f"at {found.confidence:.0%} confidence. Rows whose {column} is none of its keys are not seen."
        )
    if found.worst is not None:
        others = f"{', '.join(found.columns[:-1])} and {found.columns[-1]}"
        notes.append(f"Worst of all slices of {others}: {slice_name(*found.worst)}.")
    if found.rule is not None:
        lower, upper = found.rule.lower, found.rule.upper
        leads = f"it leads by {lower:,g} to {upper:,g} rows to delete"
        if lower < 0:
            leads = f"its lead is within noise, at most {upper:,g} rows to delete"
        notes.append(f"Rule with the most rows to delete: {found.rule.rule}; {leads}.")
    notes += [f"Cost: epsilon {found.epsilon:g}.", f"Guarantee: {found.guarantee}."]
    return notes


def diagnosis_text(found: Diagnosis) -> str:
    """Return the table of the named slices, and the notes below it."""
    return "\n".join([*(line.rstrip() for line in _part(found).aligned), *notes_of(found)]) + "\n"


def diagnosis_html(found: Diagnosis) -> str:
    """Return the same for a notebook: escaped, no script, nothing loaded."""
    return preview_html([_part(found)])


def _part(found: Diagnosis) -> PreviewPart:
    rows = [HEADS, *rows_of(found)] if found.named else []
    return PreviewPart((), rows, 2, notes_of(found))
