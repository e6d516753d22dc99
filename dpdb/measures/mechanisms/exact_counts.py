"""Counts of sensitivity 1, without a conflict graph: `fewest_deletions`, and `violating_rows` for rules on one row.

`fewest_deletions` are the fewest rows to delete, exactly, of rules that have a closed form (`exact_statistic`);
`violating_rows` are the rows that break a rule by themselves.

Sensitivity
-----------
`fewest_deletions`: 1. Of a table with one more row that row may go, too, so the fewest rows to delete grow by 0 or 1.
`violating_rows`: 1. A row breaks some rule on one row, or none, whatever other rows there are.

Proof
-----
`fewest_deletions`: the fewest rows to delete are U, those in conflict with themselves, and a minimum vertex cover of
the graph of the others. With one more row r, a smallest set for the table without it together with r will do, and a
smallest set for the table with it, less r, will do without it: for rows in conflict with themselves, too, because these
must go whatever other rows there are. So the number changes by 0 or 1, whatever the graph.

That it is this number which is counted, and not another one, rests on the closed form. Which one, if any, is chosen
from constraints and declarations, which are public; where a column that is declared NOT NULL has NULL all the same, the
number is that of the rows without it, of which one row changes it by 0 or 1 as well.

`violating_rows`: under rules on one row no two rows are in conflict. So the conflict graph has no edge, and one number
is all three measures: each violating row is a minimal inconsistent set by itself, is in conflict, and must go, and no
other row is or must. It is drawn once, also where it answers several measures of one call, which repeat it
(post-processing).

Either number is released once with discrete Laplace noise of that sensitivity over epsilon: epsilon-DP. Nothing is left
out and the noise is symmetric, so the interval is two-sided and exact.

Source
------
I_R of Mohapatra et al. (SIGMOD 2025), g3 of Kivinen and Mannila (1995). That the measures of Mohapatra et al. are one
number for rules on one row follows from their definitions.
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import ClosedForm, Mechanism, Run, Words

_SENSITIVITY = 1

_WORDS_OF_DELETIONS = Words(
    heading="Rows to delete",
    counted="rows must go, and no more need to",
    short="fewest rows to delete",
    meaning="about {value} rows must go before the table is consistent, and no more need to",
    of_rate="about {value} of the rows must go before the table is consistent, and no more need to",
)


def _fewest_deletions(run: Run) -> Answer:
    """Release the fewest rows to delete."""
    estimand = "fewest rows to delete, exactly"
    return run.by_laplace(run.statistics.counted("violations"), _SENSITIVITY, estimand)


FEWEST_FORM = ClosedForm(
    "violations",
    "counts the fewest rows to delete of one dependency, key or other set of rules with a closed form, which these "
    "rules have not; leave out the mechanism, or ask for each rule (--each-constraint)",
)

FEWEST_DELETIONS = Mechanism(
    "fewest_deletions",
    _fewest_deletions,
    Fraction(1),
    "counted",
    "1",
    words=_WORDS_OF_DELETIONS,
    truth=lambda statistics: statistics.counted("violations"),
    closed_form=FEWEST_FORM,
)


_WORDS_OF_VIOLATING_ROWS = Words(
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
    words=_WORDS_OF_VIOLATING_ROWS,
    truth=lambda statistics: statistics.self_conflicts,
    on_one_row=True,
)
