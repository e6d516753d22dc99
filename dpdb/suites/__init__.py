"""Suites of checks: rules with limits, verdicts paid for by their failures. Above releases, below doors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.suites.check import CheckRun, prepare_check, run_check
    from dpdb.suites.mechanism.bounds import Verdict, bound_of_undecided, size_of_failure, verdicts
    from dpdb.suites.mechanism.levels import draw_secret, run_level
    from dpdb.suites.mechanism.plan import Bank, SuitePlan, Tested
    from dpdb.suites.mechanism.planned import plan_suite
    from dpdb.suites.mechanism.state import LevelVerdicts, Ring, SuiteState, refuse_small_epsilon, spent, state_of
    from dpdb.suites.planning import (
        Numbers,
        deciding_epsilon,
        deciding_words,
        epsilon_for,
        numbers_instead,
        plan_words,
        planned_words,
        surely_found,
        unsure_rows,
    )
    from dpdb.suites.registered import (
        RegisteredSuite,
        SuiteAsk,
        SuiteOnTable,
        dated_suite,
        register_suite,
        rules_of,
    )
    from dpdb.suites.result import (
        WHERE_IT_IS,
        CheckResult,
        check_words,
        counts_words,
        how_many,
        limit_words,
        spoken,
        undecided_words,
        verdict_words,
    )
    from dpdb.suites.results import CHECK_SCHEMA, CheckResults, recorded_results
    from dpdb.suites.session import Session, open_session
    from dpdb.suites.suite import Limit, Suite, SuiteLike, SuiteLine, load_suite
    from dpdb.suites.tables.table_set import TableSet

__all__ = [
    "CHECK_SCHEMA",
    "WHERE_IT_IS",
    "Bank",
    "CheckResult",
    "CheckResults",
    "CheckRun",
    "LevelVerdicts",
    "Limit",
    "Numbers",
    "RegisteredSuite",
    "Ring",
    "Session",
    "Suite",
    "SuiteAsk",
    "SuiteLike",
    "SuiteLine",
    "SuiteOnTable",
    "SuitePlan",
    "SuiteState",
    "TableSet",
    "Tested",
    "Verdict",
    "bound_of_undecided",
    "check_words",
    "counts_words",
    "dated_suite",
    "deciding_epsilon",
    "deciding_words",
    "draw_secret",
    "epsilon_for",
    "how_many",
    "limit_words",
    "load_suite",
    "numbers_instead",
    "open_session",
    "plan_suite",
    "plan_words",
    "planned_words",
    "prepare_check",
    "recorded_results",
    "refuse_small_epsilon",
    "register_suite",
    "rules_of",
    "run_check",
    "run_level",
    "size_of_failure",
    "spent",
    "spoken",
    "state_of",
    "surely_found",
    "undecided_words",
    "unsure_rows",
    "verdict_words",
    "verdicts",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "check": "CheckRun prepare_check run_check",
            "mechanism.bounds": "Verdict bound_of_undecided size_of_failure verdicts",
            "mechanism.levels": "draw_secret run_level",
            "mechanism.plan": "Bank SuitePlan Tested",
            "mechanism.planned": "plan_suite",
            "mechanism.state": "LevelVerdicts Ring SuiteState refuse_small_epsilon spent state_of",
            "planning": (
                "Numbers deciding_epsilon deciding_words epsilon_for numbers_instead plan_words "
                "planned_words surely_found unsure_rows"
            ),
            "registered": "RegisteredSuite SuiteAsk SuiteOnTable dated_suite register_suite rules_of",
            "result": (
                "CheckResult WHERE_IT_IS check_words counts_words how_many limit_words spoken "
                "undecided_words verdict_words"
            ),
            "results": "CHECK_SCHEMA CheckResults recorded_results",
            "session": "Session open_session",
            "suite": "Limit Suite SuiteLike SuiteLine load_suite",
            "tables.table_set": "TableSet",
        },
    )
