"""A release is a value: an `Ask` is prepared, drawn and published; a `Session` holds one table and its budget.

The order is always: check everything public, debit the budget, compute, draw noise, keep the release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.release.account import AnswerRun, Budget, SuiteLevel, SuiteRun, as_budget, new_run_id
    from dpdb.release.ask import (
        COUNT,
        COUNT_OPTIONS,
        MEASURE_OPTIONS,
        OPTIONS,
        Ask,
        Epsilon,
        Key,
        Kind,
        PublicTheta,
        checked_keys,
        parse_confidence,
        parse_share,
    )
    from dpdb.release.conflict_graph import by_rule_offer, load_kernels
    from dpdb.release.costs import Charge, Risk, pure_units, risk_of
    from dpdb.release.ledger_account import LedgerAccount
    from dpdb.release.parts import PublicTable, Slices, parse_slices
    from dpdb.release.privacy_unit import PrivacyUnit, unit_of_table
    from dpdb.release.publish import publish_suite
    from dpdb.release.published.comparisons import Change, Gate, GateResult, check_gates, parse_gate
    from dpdb.release.published.layouts import (
        NOTHING_SPENT,
        PreviewPart,
        cost_preview,
        preview_html,
        preview_text,
        releases_table,
    )
    from dpdb.release.published.release import Release, Releases, constraints_digest, recorded_releases
    from dpdb.release.published.release_fields import (
        RELEASE_SCHEMA,
        SHARE,
        bounds_words,
        is_within_noise,
        measured_words,
        missing_words,
        noise_words,
        number_words,
        promise_words,
        release_table,
        releases_words,
        sure_words,
        theta_words,
        value_words,
        words_of,
    )
    from dpdb.release.session import Session
    from dpdb.release.statistics import FewestDeletions, PrivateSlices

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
            "account": "AnswerRun Budget SuiteLevel SuiteRun as_budget new_run_id",
            "ask": (
                "Ask COUNT COUNT_OPTIONS Epsilon Key Kind MEASURE_OPTIONS OPTIONS PublicTheta checked_keys "
                "parse_confidence parse_share"
            ),
            "conflict_graph": "by_rule_offer load_kernels",
            "costs": "Charge Risk pure_units risk_of",
            "ledger_account": "LedgerAccount",
            "parts": "PublicTable Slices parse_slices",
            "privacy_unit": "PrivacyUnit unit_of_table",
            "publish": "publish_suite",
            "published.comparisons": "Change Gate GateResult check_gates parse_gate",
            "published.layouts": "NOTHING_SPENT PreviewPart cost_preview preview_html preview_text releases_table",
            "published.release": "Release Releases constraints_digest recorded_releases",
            "published.release_fields": (
                "RELEASE_SCHEMA SHARE bounds_words is_within_noise measured_words missing_words noise_words "
                "number_words promise_words release_table releases_words sure_words theta_words value_words "
                "words_of"
            ),
            "session": "Session",
            "statistics": "FewestDeletions PrivateSlices",
        },
    )
