"""Suites of checks: rules with limits, verdicts under one debit. Above releases, below doors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.suites.check import CheckRun, check, prepare_check
    from dpdb.suites.load import load_suite
    from dpdb.suites.results import CheckResult, CheckResults
    from dpdb.suites.session import Session, open_session
    from dpdb.suites.suite import Limit, Suite, SuiteLine

__all__ = [
    "CheckResult",
    "CheckResults",
    "CheckRun",
    "Limit",
    "Session",
    "Suite",
    "SuiteLine",
    "check",
    "load_suite",
    "open_session",
    "prepare_check",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "check": "CheckRun check prepare_check",
            "load": "load_suite",
            "results": "CheckResult CheckResults",
            "session": "Session open_session",
            "suite": "Limit Suite SuiteLine",
        },
    )
