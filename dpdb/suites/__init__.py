"""The suites room: checks with verdicts, paid for by their failures.

What is tested, in which banks, at which thresholds and levels, and what the answers say. It sees statistics as
integers, never tables, files or ledgers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.suites.banks import Bank, Tested
    from dpdb.suites.bounds import Verdict, bound_of_pass, bound_of_undecided, size_of_failure, verdicts
    from dpdb.suites.levels import draw_secret, run_level
    from dpdb.suites.plan import SuitePlan
    from dpdb.suites.planned import plan_suite
    from dpdb.suites.planning import Numbers, epsilon_for, numbers_instead, surely_found, unsure_rows
    from dpdb.suites.state import LevelVerdicts, Ring, SuiteState, spent, state_of
    from dpdb.suites.words import plan_words

__all__ = [
    "Bank",
    "LevelVerdicts",
    "Numbers",
    "Ring",
    "SuitePlan",
    "SuiteState",
    "Tested",
    "Verdict",
    "bound_of_pass",
    "bound_of_undecided",
    "draw_secret",
    "epsilon_for",
    "numbers_instead",
    "plan_suite",
    "plan_words",
    "run_level",
    "size_of_failure",
    "spent",
    "state_of",
    "surely_found",
    "unsure_rows",
    "verdicts",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "banks": "Bank Tested",
            "bounds": "Verdict bound_of_pass bound_of_undecided size_of_failure verdicts",
            "levels": "draw_secret run_level",
            "plan": "SuitePlan",
            "planned": "plan_suite",
            "planning": "Numbers epsilon_for numbers_instead surely_found unsure_rows",
            "state": "LevelVerdicts Ring SuiteState spent state_of",
            "words": "plan_words",
        },
    )
