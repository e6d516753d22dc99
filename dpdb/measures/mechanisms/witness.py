"""`witness`: the rows that a witness covers, at a theta that `gem` chooses.

Sensitivity
-----------
theta + 1 (`projected.WITNESSES`, with proof).

Proof
-----
The cap, the choice of theta and the answer are released one after the other, each for its share (`gem_answer`).

Source
------
The witness count is new here; the choice is that of `gem`.
"""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms.gem import gem_answer
from dpdb.measures.mechanisms.projected import WITNESSES
from dpdb.privacy import split

__all__ = ["witness"]


def witness(noise: str) -> Mechanism:
    """Return the mechanism."""
    return Mechanism("witness", _witness, Fraction(70, 100), WITNESSES.name, noise, cap_weight=5, answer_weight=95)


def _witness(run: Run) -> Answer:
    """Count tuples that a witness covers, with theta chosen by GEM. Sensitivity theta + 1 (`projected.WITNESSES`)."""
    select, answer = split(run.epsilon, (25, 70))
    return gem_answer(WITNESSES, run.statistics, run.degree_cap, (select, answer), run.beta)
