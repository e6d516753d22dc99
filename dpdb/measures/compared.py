"""Keys on which two tables do not agree: missing on a side, or with other rows; noise for all numbers of one call.

Let c of the compared columns have a number of their own. A key has rows L_k in the left table and R_k in the right
one, both multisets, and at most one class: *missing left* (L_k is empty, R_k is not), *missing right*, or *both*. In
the last it counts in `differ` if L_k and R_k are not equal, and for each of the c columns if their values of it are
not. So each key adds one vector to the 3 + c numbers: 0, e_left, e_right, or e_differ + s with s in {0, 1}^c. (Equal
multisets have equal columns: without e_differ s is 0.)

Sensitivity, l1 of all numbers together, where rows are selected by their keys alone:

- **Whole keys**: one key comes or goes with all its rows of both tables. One such vector comes or goes, and no other
  key's changes: at most **1 + c**. A key with other rows on either side attains it (1 without columns).
- **One row** of either table comes or goes, say of L. Only its key's vector changes. If L_k was empty, that goes from 0
  to e_right (1), or from e_left to 0 or e_differ + s: at most 1 + (1 + c). If L_k was not empty, e_right stays, or
  e_differ and s change by at most 1 in each place: 1 + c. So at most **2 + c**, attained by a key with one row on the
  right that gets a row on the left which differs from it in every column. It is 2 without columns, and not 1, because
  a row moves a key from one class to another.
- **One key of one table** comes or goes with all its rows there: from or to an empty L_k, so at most **2 + c** too.
- **A person** with r rows of both tables together: r times what one row does.

A number of its own for each class and column would be no better: a key is missing in all columns or in none.

Noise: discrete Laplace of scale S / epsilon on each number is epsilon-DP for vectors of integers that change by at most
S in l1 (Dwork, McSherry, Nissim and Smith 2006; Ghosh, Roughgarden and Sundararajan 2009).
"""

from __future__ import annotations

from collections.abc import Sequence

from dpdb.measures.answer import Answer
from dpdb.measures.measure import Counted
from dpdb.measures.mechanism import Words
from dpdb.privacy import discrete_laplace, laplace_scale, laplace_tail

MISSING_LEFT = Counted(
    name="missing_left",
    counts="keys",
    words=Words(
        heading="Keys missing on the left",
        counted="keys of the right table that the left one lacks",
        short="keys that the left table lacks",
        meaning="the left table lacks about {value} keys of the right one",
    ),
)
MISSING_RIGHT = Counted(
    name="missing_right",
    counts="keys",
    words=Words(
        heading="Keys missing on the right",
        counted="keys of the left table that the right one lacks",
        short="keys that the right table lacks",
        meaning="the right table lacks about {value} keys of the left one",
    ),
)
DIFFER = Counted(
    name="differ",
    counts="keys",
    words=Words(
        heading="Keys that differ",
        counted="keys of both tables that have other rows in either",
        short="keys whose rows differ",
        meaning="about {value} keys are in both tables, with other rows in either",
    ),
)
COUNTED = {each.name: each for each in (MISSING_LEFT, MISSING_RIGHT, DIFFER)}
"""By name; `differ` of one column is the same of that column's values."""


def sensitivity_of(columns: int, *, whole_keys: bool) -> int:
    """Return by how much one change moves all numbers together; see the module's proof.

    Parameters
    ----------
    columns
        How many columns have a number of their own.
    whole_keys
        Whether a key comes or goes with all its rows of both tables; else one row of either table does.
    """
    return (1 if whole_keys else 2) + columns


def noisy_differences(
    numbers: Sequence[int], estimands: Sequence[str], *, sensitivity: int, epsilon: int, beta: float
) -> list[Answer]:
    """Release numbers of keys: epsilon-DP all together, each with a two-sided interval of its own.

    Parameters
    ----------
    numbers
        Exact.
    sensitivity
        By how much one unit changes the sum of their absolute differences (`sensitivity_of`).
    epsilon
        Nano-epsilon for all of them.
    beta
        Probability that one number lies outside its interval, at most.
    """
    tail = laplace_tail(laplace_scale(sensitivity, epsilon), beta / 2)
    answers = []
    for number, estimand in zip(numbers, estimands, strict=True):
        noisy, scale = discrete_laplace(number, sensitivity, epsilon)
        low, high = noisy - tail, noisy + tail
        answers.append(
            Answer(
                value=noisy,
                lower=low,
                upper=high,
                noise_scale=scale,
                estimand=estimand,
                estimate_lower=low,
                estimate_upper=high,
            )
        )
    return answers
