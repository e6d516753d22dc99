"""The room for the owner only: exact values, expected errors, proposed types, dirty copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.owner.discovery import Discovery, discover, prepare_discovery
    from dpdb.owner.exact import exact_measures
    from dpdb.owner.exact_scores import ExactDependencies, exact_dependencies
    from dpdb.owner.exact_values import EXACT_MEASURES, ExactMeasures, RuleMeasures
    from dpdb.owner.expected_error import plan
    from dpdb.owner.plan_words import Plan
    from dpdb.owner.proposed_schema import ProposedSchema, propose_schema
    from dpdb.owner.simulation import ExpectedError

__all__ = [
    "EXACT_MEASURES",
    "Discovery",
    "ExactDependencies",
    "ExactMeasures",
    "ExpectedError",
    "Plan",
    "ProposedSchema",
    "RuleMeasures",
    "discover",
    "exact_dependencies",
    "exact_measures",
    "plan",
    "prepare_discovery",
    "propose_schema",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "discovery": "Discovery discover prepare_discovery",
            "exact": "exact_measures",
            "exact_scores": "ExactDependencies exact_dependencies",
            "exact_values": "EXACT_MEASURES ExactMeasures RuleMeasures",
            "expected_error": "plan",
            "plan_words": "Plan",
            "proposed_schema": "ProposedSchema propose_schema",
            "simulation": "ExpectedError",
        },
    )
