"""`sharing_rows`: the rows that share a key with another row, of keys alone: `problematic` as a count, without a theta.

Sensitivity
-----------
0 to 1 + K, where K counts the keys of which none contains another one over the same rows.

Proof
-----
Rows that violate a rule on one row are counted, and share nothing: one more such row changes the number by 1. Take one
more row r that violates none. It is counted itself, or not. By one key it is in conflict with the rows of its value;
if these are two or more, they were in conflict with each other before. So each key adds one other row at most, and none
is lost: 0 to 1 + K. A key that contains another one over the same rows adds no conflict of its own. With a condition
both rows must meet it, so that the rows of a value that meet it are the group. A condition on one row alone makes no
such groups: one row that meets it may put any number of others in conflict.

It is released once with discrete Laplace noise of that sensitivity over epsilon: epsilon-DP. Nothing is left out and
the noise is symmetric, so the interval is two-sided.

Source
------
I_P of Mohapatra et al. (SIGMOD 2025), whose sensitivity is that of a projection; for keys as a count it is new here.
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import ClosedForm, Mechanism, Run


def sharing_rows(high: int) -> Mechanism:
    """Return the mechanism for a number of rows that one row changes by 0 to `high`."""

    def answer(run: Run) -> Answer:
        estimand = "number of rows in some conflict, exactly"
        return run.by_laplace(run.statistics.counted("rows sharing keys"), high, estimand)

    return Mechanism(
        "sharing_rows",
        answer,
        Fraction(1),
        "counted",
        f"{high}",
        truth=lambda statistics: statistics.counted("rows sharing keys"),
        closed_form=ClosedForm(
            "rows sharing keys",
            "counts the rows that share a key, and these rules are no keys, without conditions or with one that both "
            "rows must meet; leave out the mechanism, or ask for each rule (--each-constraint)",
            at_high=sharing_rows,
            among_changing_rows=False,
        ),
    )
