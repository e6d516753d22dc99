"""`Diagnosis`: the published answer of one diagnosis: as a value, as JSON, as a table and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa

from dpdb.names import printable
from dpdb.release import PreviewPart, arrow_fields, population_words, preview_html


@dataclass(frozen=True)
class NamedSlice:
    """One of the dirtiest slices.

    Attributes
    ----------
    lower, upper : float
        Bounds of its rows to delete (of the fractional cover, where that is the diagnosis's statistic: a lower bound of
        the rows to delete, and at least half; of its decisions to clean, in bits), or of what is beyond the expected
        share of its rows. All slices of the column, named or not, are within bounds of this width with the diagnosis's
        confidence.
    """

    column: str
    key: str
    lower: float
    upper: float


@dataclass(frozen=True)
class NamedRule:
    """The rule with the most rows to delete.

    Attributes
    ----------
    lower, upper : float
        Bounds of its rows to delete (or of its fractional cover or decision bits, which is then what rules are compared
        by) beyond those of the rule with the next most.
    """

    rule: str
    lower: float
    upper: float


@dataclass(frozen=True, repr=False)
class Diagnosis:
    """Where the dirt of a table is. Public: names, bounds and cost.

    Attributes
    ----------
    named : tuple of NamedSlice
        The dirtiest slices of one column, the dirtiest first.
    slices : int
        How many were compared in that column.
    worst : (column, key) or None
        Where several columns were asked, the slice that was named among all; `named` are of its column.
    rule : NamedRule or None
        The rule that was named, if it was asked for.
    statistic : str
        ``"fewest deletions"``, or ``"fractional cover"``: at least half of the fewest deletions, and at most all; or
        ``"decision bits"``: log2 of the number of maximal consistent subsets.
    expected : str or None
        The share of rows beyond which dirt was counted.
    population : str or None
        The rows that all numbers are of, in words; None for all rows, and in diagnoses of older versions.
    rho : float or None
        What a zcdp ledger was charged, where a name had Gumbel noise: less than for pure names of the same epsilon.
    """

    named: tuple[NamedSlice, ...]
    slices: int
    worst: tuple[str, str] | None
    rule: NamedRule | None
    columns: tuple[str, ...]
    statistic: str
    expected: str | None
    epsilon: float
    confidence: float
    run_id: str | None
    guarantee: str
    population: str | None = None
    rho: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the fields as JSON text, as a ledger keeps them."""
        return json.dumps(self.to_dict())

    def to_arrow(self) -> pa.Table:
        """Return one row per named slice, in the columns of `dpdb.diagnosis.DIAGNOSIS_SCHEMA`."""
        rule, (worst_column, worst_key) = self.rule, self.worst or (None, None)
        of_all = vars(self) | {
            "worst_column": worst_column,
            "worst_key": worst_key,
            "rule": rule and rule.rule,
            "rule_lower": rule and rule.lower,
            "rule_upper": rule and rule.upper,
        }
        rows = [
            {**of_all, **vars(one), "rank": rank, "by_column": one.column} for rank, one in enumerate(self.named, 1)
        ]
        return pa.Table.from_pylist(rows or [of_all], schema=DIAGNOSIS_SCHEMA)

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Diagnosis:
        """Return a diagnosis from `to_dict`."""
        given = {field.name: found[field.name] for field in fields(cls) if field.name in found}
        given["named"] = tuple(NamedSlice(**one) for one in found["named"])
        given["rule"] = None if found["rule"] is None else NamedRule(**found["rule"])
        given["worst"] = None if found["worst"] is None else tuple(found["worst"])
        return cls(**given | {"columns": tuple(found["columns"])})

    def _repr_html_(self) -> str:
        """Show the same as `diagnosis_text` in a notebook: escaped, no script, nothing loaded."""
        return preview_html([_part(self)])

    def __repr__(self) -> str:
        first = printable(f"{self.named[0].column} = {self.named[0].key}") if self.named else ""
        named = ", ".join(filter(None, [first, self.rule.rule if self.rule else ""]))
        return f"<dpdb.Diagnosis: {named}; epsilon {self.epsilon:g}>"


def recorded_diagnosis(answer: str) -> Diagnosis | None:
    """Return the diagnosis that a ledger has recorded as the answer of a run; None if it is none."""
    found = json.loads(answer)
    if not isinstance(found, dict) or "named" not in found:
        return None
    try:
        return Diagnosis.from_dict(found)
    except (KeyError, TypeError):
        return None


@dataclass(frozen=True)
class DiagnosisLine:
    """One row of a diagnosis as a table: what a named slice has of its own, then what holds for all of them.

    A diagnosis of rules alone has one row without a slice. See `Diagnosis` for what each field is.
    """

    rank: int | None
    by_column: str | None
    key: str | None
    lower: float | None
    upper: float | None
    slices: int
    worst_column: str | None
    worst_key: str | None
    rule: str | None
    rule_lower: float | None
    rule_upper: float | None
    statistic: str
    expected: str | None
    confidence: float
    epsilon: float
    run_id: str | None
    guarantee: str
    population: str | None
    rho: float | None


DIAGNOSIS_SCHEMA: pa.Schema = pa.schema(arrow_fields(DiagnosisLine))


HEADS = ("rank", "slice", "at least", "at most")


def _slice_name(column: str, key: str) -> str:
    """Name a slice in one line: whoever asked has written its key, and others read it in their terminals."""
    return printable(f"{column} = {key}")


def _rows(found: Diagnosis) -> list[tuple[str, str, str, str]]:
    """Return the named slices as cells under `HEADS`."""
    return [
        (str(rank), _slice_name(one.column, one.key), f"{one.lower:,.12g}", f"{one.upper:,.12g}")
        for rank, one in enumerate(found.named, 1)
    ]


def bounds_words(column: str, slices: int, confidence: float, expected: str | None, statistic: str) -> str:
    """Say what the bounds of a column's named slices are of.

    Parameters
    ----------
    slices
        How many of them were asked about.
    confidence
        Of all bounds together.
    expected
        The share of a slice's rows beyond which rows to delete were counted; None if all were.
    statistic
        What was counted of them, as in `Diagnosis`.
    """
    beyond = "" if expected is None else f" beyond {100 * float(expected):.6g}% of the slice's rows"
    of, cover = "rows to delete", ""
    if statistic == COVER:
        of, cover = "fractional covers", " (at least a cover has to go, and at most twice as many rows)"
    if statistic == DECISIONS:
        of, cover = "yes/no decisions to clean, in bits", ", beside rows that break a rule by themselves"
    return printable(
        f"Bounds are of {of}{beyond}{cover}; all {slices:,} slices of {column} lie within bounds as wide, "
        f"together at {100 * confidence:.12g}% confidence. Rows whose {column} is none of its keys are not seen."
    )


def rule_words(rule: str, lower: float, upper: float, statistic: str) -> str:
    """Say which rule was named, and by how much it leads.

    Parameters
    ----------
    lower, upper
        Bounds of what was counted of it beyond that of the rule with the next most.
    statistic
        What was counted, as in `Diagnosis`.
    """
    most, by, of = "rows to delete", "", "rows to delete"
    if statistic == COVER:
        by, of = " (of fractional covers, where it has no closed form)", "of these"
    if statistic == DECISIONS:
        most, by, of = "decisions to clean", " (in bits, counted to a millionth of themselves)", "bits"
    leads = f"it leads by {lower:,.12g} to {upper:,.12g} {of}"
    if lower < 0:
        leads = f"its lead is within noise, at most {upper:,.12g} {of}"
    return f"Rule with the most {most}{by}: {rule}; {leads}."


DELETIONS = "fewest deletions"
COVER = "fractional cover"
"""The statistic of a diagnosis that compares by a lower bound of the fewest rows to delete."""
DECISIONS = "decision bits"


def _notes(found: Diagnosis) -> list[str]:
    """Return what the table means, what was named beside it, and the cost: one sentence each."""
    notes = []
    if found.named:
        column = found.named[0].column
        notes.append(bounds_words(column, found.slices, found.confidence, found.expected, found.statistic))
    if found.worst is not None:
        others = f"{', '.join(found.columns[:-1])} and {found.columns[-1]}"
        notes.append(f"Worst of all slices of {others}: {_slice_name(*found.worst)}.")
    if found.rule is not None:
        notes.append(rule_words(found.rule.rule, found.rule.lower, found.rule.upper, found.statistic))
    notes += population_words(found.population)
    cost = f"epsilon {found.epsilon:.12g}" if found.rho is None else f"rho {found.rho:.12g}"
    return [*map(printable, notes), f"Cost: {cost}.", f"Guarantee: {printable(found.guarantee)}."]


def diagnosis_text(found: Diagnosis) -> str:
    """Return the table of the named slices, and the notes below it."""
    return "\n".join([*_part(found).aligned, *_notes(found)]) + "\n"


def _part(found: Diagnosis) -> PreviewPart:
    rows = [HEADS, *_rows(found)] if found.named else []
    return PreviewPart((), rows, 2, _notes(found))
