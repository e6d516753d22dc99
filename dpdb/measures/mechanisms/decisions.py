"""`decision_bits`: log2 of the number of maximal consistent subsets, in bits, where distinct values count them.

Sensitivity
-----------
0 to 1 bit, in steps of 10^-6 bit: 0 to 10^6 steps.

Proof
-----
A row that violates a rule on one row is in no consistent subset, and changes nothing. Any other one is a node more of
the graph of conflicts, which multiplies the number of its maximal independent sets by 1 to 2, whatever the graph
(Theorem 8, `dpdb.graph.exact.decision_bits`, with the proof for the steps, which are rounded down group by group). That
it is this number which is counted rests on the closed form, which is chosen from constraints and declarations alone;
where a column that is declared NOT NULL has NULL all the same, the number is that of the rows without it, of which one
row changes it by as much. It is released once with discrete Laplace noise on the steps: epsilon-DP. k rows of a unit
change it by 0 to k bits.

Paid in rho, the noise is discrete Gaussian of variance 1 / (2 rho) in bits: rho-zCDP (Canonne, Kamath and Steinke 2020,
Theorem 4). A unit of k rows has k^2 times the rho of a row (Bun and Steinke 2016, Proposition 1.9). What zCDP charges
for Laplace noise, epsilon^2 / 2, buys noise whose mean size is 1.25 and whose 95% bounds are 1.53 times as wide. In GDP
it has no mu that is proven: the trade-off curve of the discrete Gaussian lies below that of the continuous one, by less
the finer the steps are, yet everywhere (`tests/privacy/test_privacy_gaussian.py`). There the noise is Laplace's.

A rate divides by a private count of the rows. At most log2(3) / 3 bits come to a row (Moon and Moser 1965), so that it
is clamped there: post-processing.

What the bounds are of
----------------------
The steps are rounded down: the lower end is one of the bits as it stands. The sum lacks at most 10^-6 of itself, so the
upper end is stretched by as much. Either noise is symmetric and nothing is left out: both ends are valid.

Source
------
I_MC of Mohapatra et al. (SIGMOD 2025) is the number of maximal consistent subsets, less 1, whose sensitivity is
exponential; that of its logarithm is new here.
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.graph import BIT
from dpdb.measures.answer import Answer, GraphStatistics
from dpdb.measures.mechanism import ClosedForm, Mechanism, Run


def _decision_bits(run: Run) -> Answer:
    """Release the bits."""
    steps, scale = run.noisy(run.statistics.counted("decision bits"), BIT)
    tail = run.tail(scale, run.beta / 2)
    upper = -((steps + tail) * (BIT + 1) // -BIT)
    return Answer(
        value=steps / BIT,
        lower=(steps - tail) / BIT,
        upper=upper / BIT,
        noise_scale=scale / BIT,
        estimate_lower=(steps - tail) / BIT,
        estimate_upper=(steps + tail) / BIT,
        estimand="log2 of the number of maximal consistent subsets, of the rows that break no rule by themselves",
    )


def decision_bits(statistics: GraphStatistics) -> float:
    """Return the exact estimand, in bits. Private."""
    return statistics.counted("decision bits") / BIT


DECISION_BITS = Mechanism(
    "decision_bits",
    _decision_bits,
    Fraction(1),
    "counted",
    "1",
    step=Fraction(1, BIT),
    truth=decision_bits,
    closed_form=ClosedForm(
        "decision bits",
        "is counted for a dependency with one right-hand column or a condition, for a key, and, where the schema says "
        "NOT NULL, for dependencies and keys of one left side or of left sides that are one in another",
        among_changing_rows=False,
    ),
    in_rho=True,
)
