"""The overlap solver: what a set of releases really costs (paper B), the largest total charge of any possible row.

Regions say which rows a release covers. Nothing in this room draws random noise or looks at data; the report
alone uses the engine, to read conditions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.overlap.instance import MOST_WEIGHT, Bound, Deadline, Witness
    from dpdb.overlap.online import Added, Decision, OverlapIndex
    from dpdb.overlap.report import OverlapReport, overlap_report
    from dpdb.overlap.solver import METHODS, maximum_overlap

__all__ = [
    "METHODS",
    "MOST_WEIGHT",
    "Added",
    "Bound",
    "Deadline",
    "Decision",
    "OverlapIndex",
    "OverlapReport",
    "Witness",
    "maximum_overlap",
    "overlap_report",
]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(
        __name__,
        {
            "instance": "Bound Deadline MOST_WEIGHT Witness",
            "online": "Added Decision OverlapIndex",
            "report": "OverlapReport overlap_report",
            "solver": "METHODS maximum_overlap",
        },
    )
