"""Measures: for each one, which statistic, which mechanism, which cost.

A mechanism reads exact statistics through `GraphStatistics`, spends exactly the epsilon it is given through
`dpdb.privacy`, and returns an `Answer` that holds nothing but what may be published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.measures.answer import Answer, GraphStatistics, why_no_upper
    from dpdb.measures.count import noisy_count
    from dpdb.measures.degree_cap import release_degree_cap
    from dpdb.measures.estimate import with_estimate, with_theta_limits
    from dpdb.measures.measure import Measure
    from dpdb.measures.mechanism import Mechanism, Run, Words
    from dpdb.measures.mechanisms.fewest_deletions import FEWEST_DELETIONS
    from dpdb.measures.mechanisms.fixed_theta import at_theta, takes_theta
    from dpdb.measures.mechanisms.two_sided import declared
    from dpdb.measures.mechanisms.violating_rows import VIOLATING_ROWS
    from dpdb.measures.one_scan import read_together
    from dpdb.measures.rate import rate_answer, rate_beta, rate_shares
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
            "answer": "Answer GraphStatistics why_no_upper",
            "count": "noisy_count",
            "degree_cap": "release_degree_cap",
            "estimate": "with_estimate with_theta_limits",
            "measure": "Measure",
            "mechanism": "Mechanism Run Words",
            "mechanisms.fewest_deletions": "FEWEST_DELETIONS",
            "mechanisms.fixed_theta": "at_theta takes_theta",
            "mechanisms.two_sided": "declared",
            "mechanisms.violating_rows": "VIOLATING_ROWS",
            "one_scan": "read_together",
            "rate": "rate_answer rate_beta rate_shares",
            "registry": "MEASURES MeasureName counted measure_named measures_named",
        },
    )
