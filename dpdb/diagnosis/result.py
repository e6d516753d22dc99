"""`Diagnosis`: the published answer of one diagnosis, as a value, as JSON and as a table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from dpdb.characters import printable
from dpdb.diagnosis.published_fields import DiagnosisFields, NamedRule, NamedSlice

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Diagnosis", "NamedRule", "NamedSlice", "recorded_diagnosis"]


@dataclass(frozen=True, repr=False)
class Diagnosis(DiagnosisFields):
    """Where the dirt of a table is; `DiagnosisFields` says what each field is."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)

    def to_json(self) -> str:
        """Return the fields as JSON text, as a ledger keeps them."""
        return json.dumps(self.to_dict())

    def to_arrow(self) -> pa.Table:
        """Return one row per named slice, in the columns of `dpdb.diagnosis.DIAGNOSIS_SCHEMA`."""
        from dpdb.diagnosis.table import diagnosis_table

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
        from dpdb.diagnosis.words import diagnosis_html

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
