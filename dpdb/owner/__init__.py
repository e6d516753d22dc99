"""The room for the owner only: exact values, expected errors, proposed types, dirty copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.owner.discovery import Discovery, ExactDependencies, discover, exact_dependencies, prepare_discovery
    from dpdb.owner.exact import EXACT_MEASURES, ExactMeasures, RuleMeasures, exact_measures
    from dpdb.owner.expected_error import plan
    from dpdb.owner.proposed_schema import ProposedSchema, propose_schema
    from dpdb.owner.simulation import ExpectedError, Plan

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
            "discovery": "Discovery ExactDependencies discover exact_dependencies prepare_discovery",
            "exact": "EXACT_MEASURES ExactMeasures RuleMeasures exact_measures",
            "expected_error": "plan",
            "proposed_schema": "ProposedSchema propose_schema",
            "simulation": "ExpectedError Plan",
        },
    )
