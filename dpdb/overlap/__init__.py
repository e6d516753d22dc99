"""The overlap solver: what a set of releases really costs (paper B), the largest total charge of any possible row.

Regions say which rows a release covers. Nothing in this room draws random noise, runs SQL or looks at data.
"""

from __future__ import annotations

from dpdb.overlap.bounds.bound import Bound, Witness
from dpdb.overlap.growing.online import Decision, OverlapIndex
from dpdb.overlap.report import OverlapReport, overlap_report
from dpdb.overlap.solver import METHODS, maximum_overlap

__all__ = [
    "METHODS",
    "Bound",
    "Decision",
    "OverlapIndex",
    "OverlapReport",
    "Witness",
    "maximum_overlap",
    "overlap_report",
]
