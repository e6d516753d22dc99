"""A release is a value: an `Ask` is prepared, drawn and published; a `Session` holds one table and its budget.

The order is always: check everything public, debit the budget, compute, draw noise, keep the release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.release.accounts.budget import Budget, as_budget
    from dpdb.release.accounts.charge import Charge, pure_units
    from dpdb.release.accounts.ledger_account import LedgerAccount
    from dpdb.release.ask import COUNT, COUNT_OPTIONS, MEASURE_OPTIONS, OPTIONS, Ask, Epsilon, Key, Kind, checked_keys
    from dpdb.release.conflict_graph import load_kernels
    from dpdb.release.expected_time import by_rule_offer
    from dpdb.release.prepared.parts import PublicTable
    from dpdb.release.prepared.slices import Slices, parse_slices
    from dpdb.release.preview import NOTHING_SPENT, PreviewPart, cost_preview, preview_html, preview_text
    from dpdb.release.private_slices import PrivateSlices
    from dpdb.release.public_numbers import PublicTheta, parse_confidence, parse_share
    from dpdb.release.publish import publish_suite
    from dpdb.release.published.change import Change
    from dpdb.release.published.gates import Gate, GateResult, check_gates, parse_gate
    from dpdb.release.published.html import releases_table
    from dpdb.release.published.release import Release, Releases, constraints_digest, recorded_releases
    from dpdb.release.published.release_fields import RELEASE_SCHEMA, release_table
    from dpdb.release.published.words import (
        SHARE,
        bounds_words,
        is_within_noise,
        measured_words,
        missing_words,
        noise_words,
        number_words,
        promise_words,
        releases_words,
        sure_words,
        theta_words,
        value_words,
        words_of,
    )
    from dpdb.release.risk import Risk, risk_of
    from dpdb.release.runs import AnswerRun, SuiteLevel, SuiteRun, new_run_id
    from dpdb.release.session import Session
    from dpdb.release.statistics import FewestDeletions
    from dpdb.release.units.privacy_unit import PrivacyUnit
    from dpdb.release.units.private_parents import unit_of_table

__all__ = [
    "COUNT",
    "COUNT_OPTIONS",
    "MEASURE_OPTIONS",
    "NOTHING_SPENT",
    "OPTIONS",
    "RELEASE_SCHEMA",
    "SHARE",
    "AnswerRun",
    "Ask",
    "Budget",
    "Change",
    "Charge",
    "Epsilon",
    "FewestDeletions",
    "Gate",
    "GateResult",
    "Key",
    "Kind",
    "LedgerAccount",
    "PreviewPart",
    "PrivacyUnit",
    "PrivateSlices",
    "PublicTable",
    "PublicTheta",
    "Release",
    "Releases",
    "Risk",
    "Session",
    "Slices",
    "SuiteLevel",
    "SuiteRun",
    "as_budget",
    "bounds_words",
    "by_rule_offer",
    "check_gates",
    "checked_keys",
    "constraints_digest",
    "cost_preview",
    "is_within_noise",
    "load_kernels",
    "measured_words",
    "missing_words",
    "new_run_id",
    "noise_words",
    "number_words",
    "parse_confidence",
    "parse_gate",
    "parse_share",
    "parse_slices",
    "preview_html",
    "preview_text",
    "promise_words",
    "publish_suite",
    "pure_units",
    "recorded_releases",
    "release_table",
    "releases_table",
    "releases_words",
    "risk_of",
    "sure_words",
    "theta_words",
    "unit_of_table",
    "value_words",
    "words_of",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "accounts.budget": "Budget as_budget",
            "accounts.charge": "Charge pure_units",
            "accounts.ledger_account": "LedgerAccount",
            "ask": "Ask COUNT COUNT_OPTIONS Epsilon Key Kind MEASURE_OPTIONS OPTIONS checked_keys",
            "conflict_graph": "load_kernels",
            "expected_time": "by_rule_offer",
            "public_numbers": "parse_confidence parse_share PublicTheta",
            "prepared.parts": "PublicTable",
            "prepared.slices": "Slices parse_slices",
            "preview": "NOTHING_SPENT PreviewPart cost_preview preview_html preview_text",
            "private_slices": "PrivateSlices",
            "publish": "publish_suite",
            "published.change": "Change",
            "published.gates": "Gate GateResult check_gates parse_gate",
            "published.html": "releases_table",
            "published.release": "Release Releases constraints_digest recorded_releases",
            "published.release_fields": "RELEASE_SCHEMA release_table",
            "published.words": "SHARE bounds_words is_within_noise measured_words missing_words noise_words "
            "number_words promise_words releases_words sure_words theta_words value_words words_of",
            "risk": "Risk risk_of",
            "session": "Session",
            "statistics": "FewestDeletions",
            "runs": "SuiteLevel SuiteRun AnswerRun new_run_id",
            "units.privacy_unit": "PrivacyUnit",
            "units.private_parents": "unit_of_table",
        },
    )
