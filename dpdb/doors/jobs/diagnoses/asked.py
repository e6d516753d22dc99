"""`JobDiagnosis`: what a job asks of where the dirt is, `[[diagnose]]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpdb.diagnosis import ASKED, DiagnosisAsk
from dpdb.doors.jobs.placeholders import placeholders
from dpdb.doors.jobs.toml_keys import TomlKeys, explained
from dpdb.errors import ParameterError

__all__ = ["JobDiagnosis", "read_diagnosis"]

_DIAGNOSIS_KEYS = ("name", *(name for name in ASKED if name != "run_id"))


@dataclass(frozen=True)
class JobDiagnosis:
    """One `[[diagnose]]` of a job; in `filled_job` the placeholders of its `where` are filled."""

    name: str
    ask: DiagnosisAsk


def read_diagnosis(path: Path, values: Mapping[str, Any], place: str) -> JobDiagnosis:
    """Read a `[[diagnose]]` table of a job file; see `TomlKeys` for the errors."""
    keys = TomlKeys(values, place, _DIAGNOSIS_KEYS)
    name = keys.name_of_part("diagnose")
    several = keys.is_list("by")
    given = {
        "by": keys.texts("by") if several else keys.text("by"),
        "keys": keys.lists("keys") if several else keys.scalars("keys"),
        "epsilon": keys.amount("epsilon"),
        "top": keys.whole("top"),
        "expected": keys.text_or_number("expected"),
        "rules": keys.flag("rules"),
        "confidence": keys.number("confidence"),
        **{key: keys.text(key) for key in ("where", "label")},
    }
    with explained(f"{path}, [[diagnose]] {name!r}: ", of=ParameterError):
        ask = DiagnosisAsk.of({key: value for key, value in given.items() if value is not None})
        placeholders(ask.where or "")
    return JobDiagnosis(name, ask)
