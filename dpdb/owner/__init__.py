"""The room for the owner only: exact values, expected errors, proposed types, dirty copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.owner.exact import exact_measures
    from dpdb.owner.exact_values import EXACT_MEASURES, ExactMeasures, RuleMeasures
    from dpdb.owner.expected_error import Plan, plan
    from dpdb.owner.proposed_schema import ProposedSchema, propose_schema
    from dpdb.owner.simulation import ExpectedError

__all__ = [
    "EXACT_MEASURES",
    "ExactMeasures",
    "ExpectedError",
    "Plan",
    "ProposedSchema",
    "RuleMeasures",
    "exact_measures",
    "plan",
    "propose_schema",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "exact": "exact_measures",
            "exact_values": "EXACT_MEASURES ExactMeasures RuleMeasures",
            "expected_error": "Plan plan",
            "proposed_schema": "ProposedSchema propose_schema",
            "simulation": "ExpectedError",
        },
    )
