"""The session room: one table, its constraints, its budget; every release goes through here.

The order is always: check everything public, debit the budget, compute, draw noise, keep the release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.release.account import Charge
    from dpdb.release.budget import Budget
    from dpdb.release.change import Change
    from dpdb.release.gates import Gate, GateResult, check_gates, parse_gate
    from dpdb.release.html import bounds_words, quantity_text, releases_table
    from dpdb.release.ledger_account import pure_units, table_text
    from dpdb.release.privacy_unit import parse_unit
    from dpdb.release.public_theta import PublicTheta
    from dpdb.release.release import Release, Releases, constraints_digest, recorded_releases
    from dpdb.release.request import MEASURES, measures_named, parse_request
    from dpdb.release.risk import Risk, risk_of
    from dpdb.release.session import Epsilon, Session, dp_inconsistency, open_session
    from dpdb.release.slices import Key, parse_slices
    from dpdb.release.table import RELEASE_SCHEMA, release_table

__all__ = [
    "MEASURES",
    "RELEASE_SCHEMA",
    "Budget",
    "Change",
    "Charge",
    "Epsilon",
    "Gate",
    "GateResult",
    "Key",
    "PublicTheta",
    "Release",
    "Releases",
    "Risk",
    "Session",
    "bounds_words",
    "check_gates",
    "constraints_digest",
    "dp_inconsistency",
    "measures_named",
    "open_session",
    "parse_gate",
    "parse_request",
    "parse_slices",
    "parse_unit",
    "pure_units",
    "quantity_text",
    "recorded_releases",
    "release_table",
    "releases_table",
    "risk_of",
    "table_text",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "account": "Charge",
            "budget": "Budget",
            "change": "Change",
            "gates": "Gate GateResult check_gates parse_gate",
            "html": "bounds_words quantity_text releases_table",
            "ledger_account": "pure_units table_text",
            "privacy_unit": "parse_unit",
            "public_theta": "PublicTheta",
            "release": "Release Releases constraints_digest recorded_releases",
            "request": "MEASURES measures_named parse_request",
            "risk": "Risk risk_of",
            "session": "Epsilon Session dp_inconsistency open_session",
            "slices": "Key parse_slices",
            "table": "RELEASE_SCHEMA release_table",
        },
    )
