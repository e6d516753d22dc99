"""`Diagnosis`: the published answer of one diagnosis: as a value, as JSON, as a table and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa

from dpdb.names import printable
from dpdb.release import PreviewPart, preview_html


@dataclass(frozen=True)
class NamedSlice:
    """One of the dirtiest slices.

    Attributes
    ----------
    column, key : str
        The slice.
    lower, upper : float
        Bounds of its rows to delete, or of what these are more than the expected share of its rows. All slices of the
        column, named or not, are within bounds of this width with the diagnosis's confidence.
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
    rule : str
    lower, upper : float
        Bounds of its rows to delete beyond those of the rule with the next most.
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
    columns : tuple of str
        Those that were asked.
    statistic : str
        ``"fewest deletions"``, or ``"fractional cover"``: at least half of the fewest deletions, and at most all.
    expected : str or None
        The share of rows beyond which dirt was counted.
    epsilon, confidence : float
    run_id : str
    guarantee : str
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

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the fields as JSON text, as a ledger keeps them."""
        return json.dumps(self.to_dict())

    def to_arrow(self) -> pa.Table:
        """Return one row per named slice, in the columns of `dpdb.diagnosis.DIAGNOSIS_SCHEMA`."""
        return diagnosis_table(self)

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Diagnosis:
        """Return a diagnosis from `to_dict`."""
        given = {field.name: found[field.name] for field in fields(cls)}
        given["named"] = tuple(NamedSlice(**one) for one in found["named"])
        given["rule"] = None if found["rule"] is None else NamedRule(**found["rule"])
        given["worst"] = None if found["worst"] is None else tuple(found["worst"])
        return cls(**given | {"columns": tuple(found["columns"])})

    def _repr_html_(self) -> str:
        return diagnosis_html(self)

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


# What each named slice has of its own, then what holds for all; a diagnosis of rules alone has one row without slice.
DIAGNOSIS_SCHEMA: pa.Schema = pa.schema(
    [
        pa.field("rank", pa.int64()),
        pa.field("by_column", pa.string()),
        pa.field("key", pa.string()),
        pa.field("lower", pa.float64()),
        pa.field("upper", pa.float64()),
        pa.field("slices", pa.int64(), nullable=False),
        pa.field("worst_column", pa.string()),
        pa.field("worst_key", pa.string()),
        pa.field("rule", pa.string()),
        pa.field("rule_lower", pa.float64()),
        pa.field("rule_upper", pa.float64()),
        pa.field("statistic", pa.string(), nullable=False),
        pa.field("expected", pa.string()),
        pa.field("confidence", pa.float64(), nullable=False),
        pa.field("epsilon", pa.float64(), nullable=False),
        pa.field("run_id", pa.string()),
        pa.field("guarantee", pa.string(), nullable=False),
    ]
)


def diagnosis_table(found: Diagnosis) -> pa.Table:
    """Return one row of `DIAGNOSIS_SCHEMA` per named slice."""
    rule, (worst_column, worst_key) = found.rule, found.worst or (None, None)
    of_all = {
        "worst_column": worst_column,
        "worst_key": worst_key,
        "rule": None if rule is None else rule.rule,
        "rule_lower": None if rule is None else rule.lower,
        "rule_upper": None if rule is None else rule.upper,
        **{name: getattr(found, name) for name in _OF_ALL},
    }
    rows = [
        {"rank": rank, "by_column": one.column, "key": one.key, "lower": one.lower, "upper": one.upper, **of_all}
        for rank, one in enumerate(found.named, 1)
    ]
    return pa.Table.from_pylist(rows or [of_all], schema=DIAGNOSIS_SCHEMA)


_OF_ALL = ("slices", "statistic", "expected", "confidence", "epsilon", "run_id", "guarantee")


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
    column
        Whose keys are the slices.
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
    cover = "" if statistic == "fewest deletions" else " (fractional cover: at least half, at most all)"
    return printable(
        f"Bounds are of rows to delete{beyond}{cover}; all {slices:,} slices of {column} lie within bounds as wide, "
        f"together at {100 * confidence:.12g}% confidence. Rows whose {column} is none of its keys are not seen."
    )


def rule_words(rule: str, lower: float, upper: float) -> str:
    """Say which rule was named, and by how much it leads.

    Parameters
    ----------
    rule
        The rule, in words.
    lower, upper
        Bounds of its rows to delete beyond those of the rule with the next most.
    """
    leads = f"it leads by {lower:,.12g} to {upper:,.12g} rows to delete"
    if lower < 0:
        leads = f"its lead is within noise, at most {upper:,.12g} rows to delete"
    return f"Rule with the most rows to delete: {rule}; {leads}."


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
        notes.append(rule_words(found.rule.rule, found.rule.lower, found.rule.upper))
    return [*map(printable, notes), f"Cost: epsilon {found.epsilon:.12g}.", f"Guarantee: {printable(found.guarantee)}."]


def diagnosis_text(found: Diagnosis) -> str:
    """Return the table of the named slices, and the notes below it."""
    return "\n".join([*(line.rstrip() for line in _part(found).aligned), *_notes(found)]) + "\n"


def diagnosis_html(found: Diagnosis) -> str:
    """Return the same for a notebook: escaped, no script, nothing loaded."""
    return preview_html([_part(found)])


def _part(found: Diagnosis) -> PreviewPart:
    rows = [HEADS, *_rows(found)] if found.named else []
    return PreviewPart((), rows, 2, _notes(found))
