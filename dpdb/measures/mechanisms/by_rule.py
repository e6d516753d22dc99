"""`by_rule`: `ladder` on a sum over left-hand sides, which needs no conflict graph: GROUP BY alone.

Rules cut the rows of a group into classes, and rows of different classes are in conflict. K class histograms
(`dpdb.engine.class_histograms`: one for each left-hand side, or for each rule whose right-hand side may be NULL) say
how large these classes are. For each histogram h there is a closed form of what counts at most theta conflicts of each
row (`dpdb.graph.Histogram`): Q_h(theta) of pairs, W*_h(theta) of rows. Released is, with U rows in conflict with
themselves,

    U + floor((sum of 2 Q_h(theta)) / 2)        or        U + sum of W*_h(theta).

Sensitivity
-----------
K theta for pairs and K (theta + 1) for rows; at least 1 where there is no histogram.

Proof
-----
A row violates a constraint on one tuple or does not, whatever other rows there are. If it does, it is in no histogram,
and changes U by 1, which is at most K theta. If not, it does not change U, and is in at most one class of one group of
each histogram, or in none (a NULL, a condition that it does not meet): which one depends on the row alone, and the
histograms are chosen from constraints and declarations alone. So each 2 Q_h changes by 0 to 2 theta (the flow through
the double cover: the new row has two nodes of capacity theta, and what flows elsewhere may stay), each W*_h by 0 to
theta + 1 (`dpdb.graph.blocks.histogram`). The sums change by 0 to 2 K theta, and 0 to K (theta + 1); half the first,
rounded down, by 0 to K theta, for floor((a + d) / 2) - floor(a / 2) is at most ceil(d / 2). Everything is monotone, as
`Ladder` needs, whose proof holds for any S(theta). For a wrong declaration of NOT NULL it is the same: rows with NULL
are in no class.

The degree cap is released of d = max over h of (rows of the largest group of h) - 1, at least 0. One more row makes
each group larger by 0 or 1, hence each largest group, hence d: sensitivity 1, whatever K is, and 0 without a histogram.
No row has more than d conflicts in one histogram, so from theta = d on all Q_h and W*_h are complete. QED

What the bounds are of
----------------------
Let P be the sum over the histograms of all their conflicts (of all their rows in conflict). A pair (a row) that is in
conflict at all is in conflict in 1 to K histograms, so P / K + U <= measure <= P + U. Released is a lower bound of
P + U: `lower` is one of P + U, and only `lower` / K is one of the measure. An upper end of P + U would be one of the
measure, but there is none, as for every projection. For K = 1 the sum is the measure.

Source
------
New here; the choice of theta is that of `ladder`.
"""

from __future__ import annotations

from dataclasses import replace

from dpdb.measures.answer import FROM_BELOW
from dpdb.measures.mechanism import Mechanism, Words
from dpdb.measures.mechanisms.ladder import Ladder

_SEVERAL = (
    "sum over {histograms} left-hand sides (one whose right-hand columns may be NULL counts for each of its rules), "
    "from below: conflicts beyond theta per tuple and left-hand side may be left out; {measure} is at most that sum, "
    "and at least 1/{histograms} of it"
)
_NO_UPPER = (
    "at most theta conflicts per row and left-hand side are counted, so this number bounds the sum over {histograms} "
    "left-hand sides from below only, and {measure} is at least 1/{histograms} of the lower bound; no mechanism has an "
    "upper end that is both valid and small: adding one row can put every row of the largest group with a common "
    "left-hand side in conflict"
)


def by_rule(ladder: Ladder, measure: str, words: Words) -> Mechanism:
    """Return the mechanism for one measure, yet to be fitted to a number of histograms.

    Parameters
    ----------
    ladder : Ladder
        Of the statistic of one graph.
    words : Words
        The meaning of the sum.
    """

    def fitted(histograms: int) -> Mechanism:
        """Return the mechanism for a given number of histograms."""
        copies = max(1, histograms)
        statistic = replace(ladder.statistic, copies=copies, upper_reason=FROM_BELOW)
        if copies > 1:
            named = {"histograms": histograms, "measure": measure}
            statistic = replace(statistic, estimand=_SEVERAL.format(**named), upper_reason=_NO_UPPER.format(**named))
        noise = "theta" if statistic.extra == 0 else f"(theta + {statistic.extra})"
        made = replace(ladder, statistic=statistic).mechanism("by_rule", f"{copies} {noise}")
        return replace(made, statistic=statistic, fit=fitted, words=words, truth=ladder.statistic.complete)

    return fitted(1)
