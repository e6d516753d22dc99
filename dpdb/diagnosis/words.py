"""A diagnosis in words: its table, and what holds for all of it."""

from __future__ import annotations

from dpdb.characters import printable
from dpdb.diagnosis.published_fields import DiagnosisFields
from dpdb.release import PreviewPart, preview_html

__all__ = ["HEADS", "bounds_words", "diagnosis_html", "diagnosis_text", "rule_words"]

HEADS = ("rank", "slice", "at least", "at most")


def _slice_name(column: str, key: str) -> str:
    """Name a slice in one line: whoever asked has written its key, and others read it in their terminals."""
    return printable(f"{column} = {key}")


def _rows(found: DiagnosisFields) -> list[tuple[str, str, str, str]]:
    """Return the named slices as cells under `HEADS`."""
    return [
        (str(rank), _slice_name(one.column, one.key), f"{one.lower:,.12g}", f"{one.upper:,.12g}")
        for rank, one in enumerate(found.named, 1)
    ]


def bounds_words(column: str, slices: int, confidence: float, expected: str | None, statistic: str) -> str:
    """Say what the bounds of a column's named slices are of; for the parameters see `DiagnosisFields`."""
    beyond = "" if expected is None else f" beyond {100 * float(expected):.6g}% of the slice's rows"
    cover = "" if statistic == "fewest deletions" else " (fractional cover: at least half, at most all)"
    return printable(
        f"Bounds are of rows to delete{beyond}{cover}; all {slices:,} slices of {column} lie within bounds as wide, "
        f"together at {100 * confidence:.12g}% confidence. Rows whose {column} is none of its keys are not seen."
    )


def rule_words(rule: str, lower: float, upper: float) -> str:
    """Say which rule was named, and by how much it leads."""
    leads = f"it leads by {lower:,.12g} to {upper:,.12g} rows to delete"
    if lower < 0:
        leads = f"its lead is within noise, at most {upper:,.12g} rows to delete"
    return f"Rule with the most rows to delete: {rule}; {leads}."


def _notes(found: DiagnosisFields) -> list[str]:
    """Return what the table means, what was named beside it, and the cost: one sentence each."""
    notes = []
    if found.named:
        column = found.named[0].column
        notes.append(bounds_words(column, found.slices, found.confidence, found.expected, found.statistic))
    if found.worst is not None:
        others = f"{', '.join(found.columns[:-1])} and {found.columns[-1]}"
        notes.append(f"Worst of all slices of {others}: {_slice_name(*found.worst)}.")
    if found.rule is not None:
        notes.append(rule_words(found.rule.rule, found.rule.lower, found.rule.upper))
    return [*map(printable, notes), f"Cost: epsilon {found.epsilon:.12g}.", f"Guarantee: {printable(found.guarantee)}."]


def diagnosis_text(found: DiagnosisFields) -> str:
    """Return the table of the named slices, and the notes below it."""
    return "\n".join([*(line.rstrip() for line in _part(found).aligned), *_notes(found)]) + "\n"


def diagnosis_html(found: DiagnosisFields) -> str:
    """Return the same for a notebook: escaped, no script, nothing loaded."""
    return preview_html([_part(found)])


def _part(found: DiagnosisFields) -> PreviewPart:
    rows = [HEADS, *_rows(found)] if found.named else []
    return PreviewPart((), rows, 2, _notes(found))
