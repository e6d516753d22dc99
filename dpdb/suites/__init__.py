"""Suites of checks: rules with limits, verdicts paid for by their failures. Above releases, below entry points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.suites.ask import RUN_OPTIONS as RUN_OPTIONS, SUITE_OPTIONS as SUITE_OPTIONS, SuiteAsk as SuiteAsk
    from dpdb.suites.bought import BoughtRun as BoughtRun, bought_words as bought_words
    from dpdb.suites.check import CheckRun as CheckRun, check_columns as check_columns, run_check as run_check
    from dpdb.suites.mechanism.bounds import (
        Verdict as Verdict,
        bound_of_quiet as bound_of_quiet,
        size_of_failure as size_of_failure,
        verdicts as verdicts,
    )
    from dpdb.suites.mechanism.levels import draw_secret as draw_secret, run_level as run_level
    from dpdb.suites.mechanism.plan import Bank as Bank, SuitePlan as SuitePlan, Tested as Tested
    from dpdb.suites.mechanism.planned import plan_suite as plan_suite
    from dpdb.suites.mechanism.state import (
        LevelVerdicts as LevelVerdicts,
        Ring as Ring,
        SuiteState as SuiteState,
        refuse_small_epsilon as refuse_small_epsilon,
        spent as spent,
        state_of as state_of,
    )
    from dpdb.suites.numbers import CappedCount as CappedCount
    from dpdb.suites.planning import (
        Numbers as Numbers,
        deciding_words as deciding_words,
        epsilon_for as epsilon_for,
        numbers_instead as numbers_instead,
        plan_words as plan_words,
        planned_words as planned_words,
        surely_found as surely_found,
        unsure_rows as unsure_rows,
    )
    from dpdb.suites.prepare import prepare_check as prepare_check
    from dpdb.suites.registered import (
        RegisteredSuite as RegisteredSuite,
        SuiteOnTable as SuiteOnTable,
        dated_suite as dated_suite,
        register_suite as register_suite,
        rules_of as rules_of,
    )
    from dpdb.suites.result import (
        COVER as COVER,
        SCHEMA_WORDS as SCHEMA_WORDS,
        WHERE_IT_IS as WHERE_IT_IS,
        CheckResult as CheckResult,
        capped_words as capped_words,
        check_words as check_words,
        cost_words as cost_words,
        counts_words as counts_words,
        how_many as how_many,
        kept_words as kept_words,
        limit_words as limit_words,
        not_shown_words as not_shown_words,
        populations as populations,
        spoken as spoken,
        undecided_words as undecided_words,
        verdict_words as verdict_words,
    )
    from dpdb.suites.results import (
        CHECK_SCHEMA as CHECK_SCHEMA,
        CheckResults as CheckResults,
        checked_within as checked_within,
        recorded_results as recorded_results,
    )
    from dpdb.suites.session import Session as Session, open as open  # noqa: A004
    from dpdb.suites.sizes_run import SizesRun as SizesRun, sizes_words as sizes_words
    from dpdb.suites.suite import (
        Suite as Suite,
        SuiteLike as SuiteLike,
        SuiteLine as SuiteLine,
        load_suite as load_suite,
    )
    from dpdb.suites.tables.apart import PreparedTables as PreparedTables, TablesApart as TablesApart
    from dpdb.suites.tables.table_set import TableSet as TableSet
    from dpdb.suites.truth import ExactCheck as ExactCheck
    from dpdb.suites.worst_run import WorstRun as WorstRun, worst_words as worst_words
else:
    __getattr__, __all__ = lazy_names(__name__)
