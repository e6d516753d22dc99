"""Measures: for each one, which statistic, which mechanism, which cost.

A mechanism reads exact statistics through `GraphStatistics`, spends exactly the epsilon it is given through
`dpdb.privacy`, and returns an `Answer` that holds nothing but what may be published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.measures.answer import Answer, GraphStatistics, release_degree_cap, why_no_upper
    from dpdb.measures.count import noisy_count, rate_answer, rate_beta, rate_shares
    from dpdb.measures.estimate import with_estimate, with_theta_limits
    from dpdb.measures.measure import Measure
    from dpdb.measures.mechanism import Mechanism, Run, Words, read_together
    from dpdb.measures.mechanisms.at_one_theta import at_theta, declared, takes_theta
    from dpdb.measures.mechanisms.exact_counts import FEWEST_DELETIONS, VIOLATING_ROWS
    from dpdb.measures.registry import MEASURES, MeasureName, counted, measure_named, measures_named

__all__ = [
    "FEWEST_DELETIONS",
    "MEASURES",
    "VIOLATING_ROWS",
    "Answer",
    "GraphStatistics",
    "Measure",
    "MeasureName",
    "Mechanism",
    "Run",
    "Words",
    "at_theta",
    "counted",
    "declared",
    "measure_named",
    "measures_named",
    "noisy_count",
    "rate_answer",
    "rate_beta",
    "rate_shares",
    "read_together",
    "release_degree_cap",
    "takes_theta",
    "why_no_upper",
    "with_estimate",
    "with_theta_limits",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "answer": "Answer GraphStatistics release_degree_cap why_no_upper",
            "count": "noisy_count rate_answer rate_beta rate_shares",
            "measure": "Measure",
            "estimate": "with_estimate with_theta_limits",
            "mechanism": "Mechanism Run Words read_together",
            "mechanisms.at_one_theta": "at_theta declared takes_theta",
            "mechanisms.exact_counts": "FEWEST_DELETIONS VIOLATING_ROWS",
            "registry": "MEASURES MeasureName counted measure_named measures_named",
        },
    )
