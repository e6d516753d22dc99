"""maximal_consistency (I_MC) in bits: log2 of the number of maximal consistent subsets, the decisions of cleaning."""

from __future__ import annotations

import math

from dpdb.graph import BIT, MOST_BITS_PER_ROW
from dpdb.measures.measure import Measure
from dpdb.measures.mechanism import Words
from dpdb.measures.mechanisms.decisions import DECISION_BITS, decision_bits
from dpdb.measures.true_values import ExactValues, TrueGraph, TrueNumbers

_EXACT = ("maximal_consistency", "consistency_bits")


def _exact(graph: TrueGraph) -> TrueNumbers:
    """Return the number, and its logarithm, which may be known where the number is too large to be counted."""
    subsets = graph.consistent_subsets()
    if subsets is None:
        steps = graph.counted("decision bits")
        return {"maximal_consistency": None, "consistency_bits": None if steps is None else steps / BIT}
    return {"maximal_consistency": subsets, "consistency_bits": round(math.log2(subsets), 6)}


MEASURE = Measure(
    name="maximal_consistency",
    counts="bits",
    per_row="bits per row",
    words=Words(
        heading="Decisions to clean",
        counted="bits: yes/no decisions to clean, beside the rows that break a rule by themselves",
        short="yes/no decisions to clean",
        meaning="cleaning takes about {value} yes/no decisions (bits) between rows in conflict",
        of_rate="cleaning takes about {value} yes/no decisions (bits) for each row",
    ),
    mechanisms=(DECISION_BITS,),
    default="decision_bits",
    truth=decision_bits,
    both_ends=True,
    exact=ExactValues(_EXACT, _exact),
    most_per_row=MOST_BITS_PER_ROW,
)
