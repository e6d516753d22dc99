"""`violating_rows`: the rows that break a rule by themselves, counted; for rules on one row only.

Sensitivity
-----------
1: a row breaks some rule on one row, or none, whatever other rows there are.

Proof
-----
Under rules on one row no two rows are in conflict. So the conflict graph has no edge, and one number is all three
measures: each violating row is a minimal inconsistent set by itself, is in conflict, and must go, and no other row is
or must. It is released once with discrete Laplace noise of that sensitivity over epsilon: epsilon-DP, also where it
answers several measures of one call, which repeat it (post-processing). Nothing is left out and the noise is
symmetric, so the interval is two-sided and exact.

Source
------
Mohapatra et al. (SIGMOD 2025) define the measures; that they are one number here follows from the definitions.
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism, Run, Words

__all__ = ["VIOLATING_ROWS"]

_SENSITIVITY = 1

_WORDS = Words(
    heading="Rows that break a rule",
    counted="rows that break a rule by themselves",
    short="rows that break a rule",
    meaning="about {value} rows break a rule by themselves",
    of_rate="about {value} of the rows break a rule by themselves",
)


def _violating_rows(run: Run) -> Answer:
    """Release the number of violating rows, each counted once however many rules it breaks."""
    estimand = "number of rows that break a rule by themselves: minimal_inconsistency, problematic and repair are it"
    return run.by_laplace(run.statistics.self_conflicts, _SENSITIVITY, estimand)


VIOLATING_ROWS = Mechanism(
    "violating_rows",
    _violating_rows,
    Fraction(1),
    "self_conflicts",
    "1",
    counts="rows",
    words=_WORDS,
    truth=lambda statistics: statistics.self_conflicts,
    on_one_row=True,
)
