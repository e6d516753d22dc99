"""Where the dirt is: the dirtiest slices of public keys, and the worst rule. Above releases, below suites and doors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.diagnosis.ask import ASKED, DiagnosisAsk
    from dpdb.diagnosis.plan import DiagnosisPlan, plan_diagnosis
    from dpdb.diagnosis.prepare import PreparedDiagnosis, prepare_diagnosis, run_diagnosis
    from dpdb.diagnosis.result import (
        DIAGNOSIS_SCHEMA,
        Diagnosis,
        NamedRule,
        NamedSlice,
        bounds_words,
        diagnosis_text,
        recorded_diagnosis,
        rule_words,
    )

__all__ = [
    "ASKED",
    "DIAGNOSIS_SCHEMA",
    "Diagnosis",
    "DiagnosisAsk",
    "DiagnosisPlan",
    "NamedRule",
    "NamedSlice",
    "PreparedDiagnosis",
    "bounds_words",
    "diagnosis_text",
    "plan_diagnosis",
    "prepare_diagnosis",
    "recorded_diagnosis",
    "rule_words",
    "run_diagnosis",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "ask": "ASKED DiagnosisAsk",
            "plan": "DiagnosisPlan plan_diagnosis",
            "prepare": "PreparedDiagnosis prepare_diagnosis run_diagnosis",
            "result": "Diagnosis NamedRule NamedSlice recorded_diagnosis DIAGNOSIS_SCHEMA "
            "bounds_words diagnosis_text rule_words",
        },
    )
