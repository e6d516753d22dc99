"""Where the dirt is: the dirtiest slices of public keys, and the worst rule. Above releases, below suites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.diagnosis.ask import ASKED as ASKED, DiagnosisAsk as DiagnosisAsk
    from dpdb.diagnosis.plan import DiagnosisPlan as DiagnosisPlan
    from dpdb.diagnosis.prepare import (
        PreparedDiagnosis as PreparedDiagnosis,
        prepare_diagnosis as prepare_diagnosis,
        run_diagnosis as run_diagnosis,
    )
    from dpdb.diagnosis.result import (
        DIAGNOSIS_SCHEMA as DIAGNOSIS_SCHEMA,
        Diagnosis as Diagnosis,
        DiagnosisLine as DiagnosisLine,
        NamedRule as NamedRule,
        NamedSlice as NamedSlice,
        bounds_words as bounds_words,
        diagnosis_text as diagnosis_text,
        recorded_diagnosis as recorded_diagnosis,
        rule_words as rule_words,
    )
else:
    __getattr__, __all__ = lazy_names(__name__)
