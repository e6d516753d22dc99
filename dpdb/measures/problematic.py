"""problematic (I_P): the number of tuples in at least one conflict."""

from __future__ import annotations

from fractions import Fraction

from dpdb.measures.answer import Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms.gem import gem_answer
from dpdb.measures.mechanisms.ladder import Ladder, Rungs, Settings
from dpdb.measures.mechanisms.marginal import Marginal
from dpdb.measures.mechanisms.paper_mechanisms import paper_mechanisms
from dpdb.measures.mechanisms.projected import NODES, WITNESSES
from dpdb.measures.mechanisms.two_sided import two_sided
from dpdb.privacy import NANO, split

__all__ = ["LADDER", "MARGINAL", "MECHANISMS", "default_mechanism"]

_NOISE = "theta + 1"

# Chosen like those of minimal_inconsistency. W grows faster with theta than edges do: no stretch, a higher price.
MARGINAL = Marginal(WITNESSES, cap=5, select=35, answer=60, price=Fraction(17, 10), stretch=Fraction(1))

# Chosen like that of minimal_inconsistency, but for price and margin, which were last set on the 29 tables themselves.
# No top: W is nearly complete at a theta far below the degrees, so the cap is no theta to answer with.
LADDER = Ladder(
    WITNESSES,
    cap=3,
    few=Settings(select=35, price=Fraction(8, 5), stretch=Fraction(5, 4), above=1),
    many=Settings(
        select=35,
        price=Fraction(39, 20),
        stretch=Fraction(5, 4),
        above=1,
        rungs=Rungs(count=2, reach=Fraction(3, 10), step=Fraction(5), least=50, gap=27, margin=2.75, growth=1.25),
    ),
    enough=NANO // 4,
)


def _witness(run: Run) -> Answer:
    """Count tuples that a witness covers, with theta chosen by GEM. Sensitivity theta + 1 (`projected.WITNESSES`)."""
    select, answer = split(run.epsilon, (25, 70))
    return gem_answer(WITNESSES, run.statistics, run.degree_cap, (select, answer), run.beta)


MECHANISMS = {
    mechanism.name: mechanism
    for mechanism in (
        LADDER.mechanism("ladder", _NOISE),
        MARGINAL.mechanism("marginal", _NOISE),
        Mechanism("witness", _witness, Fraction(70, 100), WITNESSES.name, _NOISE, cap_weight=5, answer_weight=95),
        two_sided(WITNESSES, "problematic", _NOISE),
        *paper_mechanisms(NODES, _NOISE),
    )
}


def default_mechanism(*, covers_all_rows: bool) -> Mechanism:
    """`ladder`, whatever the constraints."""
    del covers_all_rows
    return MECHANISMS["ladder"]
