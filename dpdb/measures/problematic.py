"""problematic (I_P): the number of tuples in at least one conflict."""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.gem import gem_answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.paper_mechanisms import paper_mechanisms
from dpdb.measures.projected import NODES, WITNESSES
from dpdb.privacy.epsilon import split

__all__ = ["MECHANISMS", "default_mechanism"]

_NOISE = "theta + 1"


def _witness(run: Run) -> Answer:
    """Count tuples that a witness covers, with theta chosen by GEM. Sensitivity theta + 1 (`projected.WITNESSES`)."""
    select, answer = split(run.epsilon, (25, 70))
    return gem_answer(WITNESSES, run.statistics, run.degree_cap, (select, answer), run.beta)


MECHANISMS = {
    mechanism.name: mechanism
    for mechanism in (
        Mechanism("witness", _witness, Fraction(70, 100), _NOISE, cap_weight=5, answer_weight=95),
        *paper_mechanisms(NODES, _NOISE),
    )
}


def default_mechanism(*, covers_all_rows: bool) -> Mechanism:
    """`witness`, whatever the constraints."""
    del covers_all_rows
    return MECHANISMS["witness"]
