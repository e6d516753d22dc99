"""A release is a value: an `Ask` is prepared, drawn and published; a `Session` holds one table and its budget.

The order is always: check everything public, debit the budget, compute, draw noise, keep the release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.release.account import (
        AnswerRun as AnswerRun,
        Budget as Budget,
        SuiteLevel as SuiteLevel,
        SuiteRun as SuiteRun,
        as_budget as as_budget,
        new_run_id as new_run_id,
    )
    from dpdb.release.ask import (
        COUNT as COUNT,
        COUNT_OPTIONS as COUNT_OPTIONS,
        MEASURE_OPTIONS as MEASURE_OPTIONS,
        OPTIONS as OPTIONS,
        Ask as Ask,
        Epsilon as Epsilon,
        Key as Key,
        PublicTheta as PublicTheta,
        checked_keys as checked_keys,
        parse_confidence as parse_confidence,
        parse_share as parse_share,
        refuse_unpriced as refuse_unpriced,
    )
    from dpdb.release.conflict_graph import by_rule_offer as by_rule_offer, load_kernels as load_kernels
    from dpdb.release.costs import (
        Charge as Charge,
        Cost as Cost,
        Risk as Risk,
        pure_units as pure_units,
        risk_of as risk_of,
    )
    from dpdb.release.ledger_account import LedgerAccount as LedgerAccount
    from dpdb.release.listed_counts import listed_words as listed_words
    from dpdb.release.parts import (
        PublicTable as PublicTable,
        Slices as Slices,
        new_release_id as new_release_id,
        parse_slices as parse_slices,
    )
    from dpdb.release.privacy_unit import PrivacyUnit as PrivacyUnit, unit_of_table as unit_of_table
    from dpdb.release.publish import publish_suite as publish_suite
    from dpdb.release.published.comparisons import (
        Change as Change,
        Gate as Gate,
        GateResult as GateResult,
        check_gates as check_gates,
        parse_gate as parse_gate,
    )
    from dpdb.release.published.layouts import (
        NOTHING_SPENT as NOTHING_SPENT,
        PreviewPart as PreviewPart,
        cost_preview as cost_preview,
        html_table as html_table,
        preview_html as preview_html,
        preview_text as preview_text,
        releases_table as releases_table,
    )
    from dpdb.release.published.release import (
        Release as Release,
        Releases as Releases,
        constraints_digest as constraints_digest,
        recorded_releases as recorded_releases,
    )
    from dpdb.release.published.release_fields import (
        KEYS as KEYS,
        PER_ROW as PER_ROW,
        RELEASE_SCHEMA as RELEASE_SCHEMA,
        SHARE as SHARE,
        VERDICT as VERDICT,
        alone_words as alone_words,
        arrow_fields as arrow_fields,
        bounds_words as bounds_words,
        measured_words as measured_words,
        missing_words as missing_words,
        noise_words as noise_words,
        number_words as number_words,
        population_of as population_of,
        population_words as population_words,
        promise_words as promise_words,
        quantity_words as quantity_words,
        release_table as release_table,
        releases_words as releases_words,
        sentence as sentence,
        sure_words as sure_words,
        theta_words as theta_words,
        too_noisy_words as too_noisy_words,
        value_words as value_words,
        verdict_words as verdict_words,
        words_of as words_of,
        would_do_words as would_do_words,
    )
    from dpdb.release.session import Session as Session, refuse_other_settings as refuse_other_settings
    from dpdb.release.statistics import CountedStatistics as CountedStatistics, PrivateSlices as PrivateSlices
else:
    __getattr__, __all__ = lazy_names(__name__)
