"""Measures: for each one, which statistic, which mechanism, which cost.

A mechanism reads exact statistics through `GraphStatistics`, spends exactly the epsilon it is given through
`dpdb.privacy`, and returns an `Answer` that holds nothing but what may be published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.measures.answer import (
        Answer as Answer,
        GraphStatistics as GraphStatistics,
        release_degree_cap as release_degree_cap,
        why_no_upper as why_no_upper,
    )
    from dpdb.measures.compared import (
        noisy_differences as noisy_differences,
        sensitivity_of as sensitivity_of,
    )
    from dpdb.measures.count import (
        noisy_count as noisy_count,
        noisy_keys as noisy_keys,
        rate_answer as rate_answer,
        rate_beta as rate_beta,
        rate_shares as rate_shares,
    )
    from dpdb.measures.estimate import with_estimate as with_estimate, with_theta_limits as with_theta_limits
    from dpdb.measures.measure import Measure as Measure
    from dpdb.measures.measure_names import (
        COMPARED as COMPARED,
        EXACT as EXACT,
        NAMES as NAMES,
        MeasureName as MeasureName,
    )
    from dpdb.measures.mechanism import (
        ClosedForm as ClosedForm,
        Mechanism as Mechanism,
        Run as Run,
        Words as Words,
        read_together as read_together,
    )
    from dpdb.measures.mechanisms.at_one_theta import (
        at_theta as at_theta,
        declared as declared,
        takes_theta as takes_theta,
    )
    from dpdb.measures.registry import (
        all_measures as all_measures,
        counted as counted,
        measure_named as measure_named,
        measures_named as measures_named,
        refuse_rho as refuse_rho,
    )
    from dpdb.measures.true_values import ExactValues as ExactValues, TrueNumbers as TrueNumbers
else:
    __getattr__, __all__ = lazy_names(__name__)
