"""`drastic` as a verdict: a threshold on a noisy number of rows to delete, exact or fractional.

Sensitivity
-----------
1 for the fewest rows to delete (`dpdb.measures.mechanisms.exact_counts`), 2 for 2 tau* + 2 U
(`dpdb.measures.mechanisms.covers`).

Proof
-----
One draw of discrete Laplace noise of that sensitivity over epsilon: epsilon-DP. The verdict and the bound are functions
of the noisy number: post-processing.

What the verdict says
---------------------
Let f be the exact number, N the noise, t the least whole number with Pr[N >= t] <= beta, in steps of the noise. The
verdict is 1 where f + N >= t, and else 0 with the bound f + N + t - 1, at least 0.

- No conflict: f = 0, and the verdict is false only if N >= t.
- Some conflict: f >= 1, and 1 is true. 0 is said with a bound that is false only if N < -(t - 1), and N is symmetric.

So at every table a false statement has probability at most beta, which is not shared between the two. tau* is 0 iff no
two rows are in conflict, and the fewest rows to delete are at most twice as many: there the bound is doubled.

Of several slices each verdict is for itself: that all are true at once has probability 1 - beta for each less.

Source
------
I_D of Mohapatra et al. (SIGMOD 2025), who give it up for its sensitivity; as a threshold it is new here.
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer, GraphStatistics
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms.exact_counts import FEWEST_FORM
from dpdb.privacy import discrete_laplace, laplace_tail

_ALONE = "; of several slices or rules each is a verdict by itself"
_NO_ESTIMATE = "a verdict is no number that noise was added to"


def _verdict(run: Run, exact: int, sensitivity: int, estimand: str) -> Answer:
    """Release whether steps of 1 / sensitivity rows are shown to be more than none; see the module."""
    noisy, scale = discrete_laplace(exact, sensitivity, run.epsilon)
    tail = laplace_tail(scale, run.beta)
    shown = noisy > tail
    return Answer(
        value=int(shown),
        lower=int(shown),
        upper=1,
        noise_scale=scale / sensitivity,
        estimand=estimand + _ALONE,
        most_deletions=None if shown else max(0, noisy + tail),
    )


def _of_deletions(run: Run) -> Answer:
    return _verdict(
        run, run.statistics.counted("violations"), 1, "whether a row has to be deleted, by the fewest that do"
    )


def _of_cover(run: Run) -> Answer:
    """Twice tau*, of sensitivity 2, is in half rows; the fewest rows to delete are at most as many whole ones."""
    doubled = 2 * run.statistics.self_conflicts + run.statistics.twice_fractional_cover().value
    return _verdict(run, doubled, 2, "whether a row has to be deleted, by the fractional vertex cover tau*")


def of_deletions(statistics: GraphStatistics) -> float:
    """Return the exact estimand, by a closed form. Private."""
    return int(statistics.counted("violations") > 0)


def of_cover(statistics: GraphStatistics) -> float:
    """Return the exact estimand, by the conflict graph. Private."""
    return int(statistics.self_conflicts + statistics.twice_fractional_cover().value > 0)


BY_COVER = Mechanism("fractional", _of_cover, Fraction(1), "twice_fractional_cover", "1", no_estimate=_NO_ESTIMATE)

BY_DELETIONS = Mechanism(
    "fewest_deletions",
    _of_deletions,
    Fraction(1),
    "counted",
    "1",
    no_estimate=_NO_ESTIMATE,
    truth=of_deletions,
    closed_form=FEWEST_FORM,
)
