"""`fewest_deletions`: the fewest rows to delete, exactly, of rules that have a closed form (`exact_statistic`).

Sensitivity
-----------
1: of a table with one more row that row may go, too, so the fewest rows to delete grow by 0 or 1.

Proof
-----
The fewest rows to delete are U, those in conflict with themselves, and a minimum vertex cover of the graph of the
others. With one more row r, a smallest set for the table without it together with r will do, and a smallest set for the
table with it, less r, will do without it: for rows in conflict with themselves, too, because these must go whatever
other rows there are. So the number changes by 0 or 1, whatever the graph. It is released once with discrete Laplace
noise of that sensitivity over epsilon: epsilon-DP. Nothing is left out and the noise is symmetric, so the interval is
two-sided and exact.

That it is this number which is counted, and not another one, rests on the closed form. Which one, if any, is chosen
from constraints and declarations, which are public; where a column that is declared NOT NULL has NULL all the same, the
number is that of the rows without it, of which one row changes it by 0 or 1 as well.

Source
------
I_R of Mohapatra et al. (SIGMOD 2025), g3 of Kivinen and Mannila (1995).
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism, Run, Words

__all__ = ["FEWEST_DELETIONS"]

_SENSITIVITY = 1

_WORDS = Words(
    heading="Rows to delete",
    counted="rows must go, and no more need to",
    short="fewest rows to delete",
    meaning="about {value} rows must go before the table is consistent, and no more need to",
    of_rate="about {value} of the rows must go before the table is consistent, and no more need to",
)


def _fewest_deletions(run: Run) -> Answer:
    """Release the fewest rows to delete."""
    estimand = "fewest rows to delete, exactly"
    return run.by_laplace(run.statistics.fewest_deletions(), _SENSITIVITY, estimand)


FEWEST_DELETIONS = Mechanism(
    "fewest_deletions",
    _fewest_deletions,
    Fraction(1),
    "fewest_deletions",
    "1",
    words=_WORDS,
    truth=lambda statistics: statistics.fewest_deletions(),
    has_closed_form=True,
)
