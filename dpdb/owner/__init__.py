"""The room for the owner only: exact values, expected errors, proposed types, dirty copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.owner.conformance.suite import Conformance as Conformance, run_conformance as run_conformance
    from dpdb.owner.discovery import (
        Discovery as Discovery,
        ExactDependencies as ExactDependencies,
        discover as discover,
        exact_dependencies as exact_dependencies,
        prepare_discovery as prepare_discovery,
    )
    from dpdb.owner.exact import (
        EXACT_MEASURES as EXACT_MEASURES,
        ExactMeasures as ExactMeasures,
        RuleMeasures as RuleMeasures,
        exact_measures as exact_measures,
    )
    from dpdb.owner.expected_error import plan as plan
    from dpdb.owner.proposed_schema import ProposedSchema as ProposedSchema, propose_schema as propose_schema
    from dpdb.owner.simulation import ExpectedError as ExpectedError, Plan as Plan
else:
    __getattr__, __all__ = lazy_names(__name__)
