"""The overlap solver: what a set of releases really costs (paper B), the largest total charge of any possible row.

Regions say which rows a release covers. Nothing in this package draws random noise or looks at data; the report
alone uses the engine, to read conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.overlap.compact import load_search as load_search
    from dpdb.overlap.instance import (
        MOST_WEIGHT as MOST_WEIGHT,
        Bound as Bound,
        Deadline as Deadline,
        Witness as Witness,
    )
    from dpdb.overlap.online import Added as Added, Decision as Decision, OverlapIndex as OverlapIndex
    from dpdb.overlap.report import OverlapReport as OverlapReport, overlap_report as overlap_report
    from dpdb.overlap.solver import METHODS as METHODS, maximum_overlap as maximum_overlap
else:
    __getattr__, __all__ = lazy_names(__name__)
