"""The names of the measures, each that of its file in this package; and those that `all` stands for."""

from __future__ import annotations

from typing import Literal, get_args

MeasureName = Literal[
    "drastic",
    "minimal_inconsistency",
    "problematic",
    "repair",
    "maximal_consistency",
]
NAMES: tuple[str, ...] = get_args(MeasureName)

EXACT = ("drastic", "minimal_inconsistency", "problematic", "repair", "maximal_consistency")
"""The measures of Mohapatra et al. (SIGMOD 2025), which `dpdb exact` shows where none is named."""

TOGETHER = ("minimal_inconsistency", "problematic", "repair")
"""The measures of `all`. Their shares of epsilon are fixed (`Measure.weight`): a new measure changes nobody's noise."""

COMPARED = ("missing_left", "missing_right", "differ")
"""What is counted of two tables, beside the measures of one."""
