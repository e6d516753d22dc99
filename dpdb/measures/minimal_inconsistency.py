"""minimal_inconsistency (I_MI): the number of conflicting pairs, plus self-conflicts."""

from __future__ import annotations

import math
from fractions import Fraction

from dpdb.measures.answer import FROM_BELOW, Answer
from dpdb.measures.mechanism import Mechanism, Run
from dpdb.measures.mechanisms.gem import gem_answer
from dpdb.measures.mechanisms.ladder import Ladder, Rungs, Settings, Top
from dpdb.measures.mechanisms.marginal import Marginal
from dpdb.measures.mechanisms.paper_mechanisms import paper_mechanisms
from dpdb.measures.mechanisms.projected import EDGES, noisy_answer
from dpdb.measures.mechanisms.r2t import R2T
from dpdb.measures.mechanisms.two_sided import two_sided
from dpdb.privacy import NANO, as_fraction, discrete_laplace, laplace_tail, split

__all__ = ["LADDER", "MARGINAL", "MARGINAL_ORDER", "MECHANISMS", "default_mechanism"]

_NOISE = "theta"

# Shares, price and stretch were chosen on training seeds (five tables, noise .2% to 5%, epsilon .1 to 5); see
# examples/accuracy.py for fresh ones. Without an equality the cap is about the number of rows: a rough one suffices.
MARGINAL = Marginal(EDGES, cap=10, select=30, answer=60, price=Fraction(1), stretch=Fraction(3, 2))
MARGINAL_ORDER = Marginal(EDGES, cap=3, select=42, answer=55, price=Fraction(6, 5), stretch=Fraction(3, 2))

# Chosen on training seeds too, at epsilon .1, .3, 1 and 5, of tables like the 29 of examples/accuracy.py.
LADDER = Ladder(
    EDGES,
    cap=7,
    few=Settings(select=30, price=Fraction(23, 20), stretch=Fraction(1), above=1),
    many=Settings(
        select=30,
        price=Fraction(8, 5),
        stretch=Fraction(3, 2),
        above=1,
        rungs=Rungs(count=2, reach=Fraction(2, 5), step=Fraction(5, 2), least=50, gap=27, margin=2.5, growth=1.25),
        top=Top(least=300, guard=32, margin=4.5, floor=-1, growth=0.8),
    ),
    enough=NANO // 4,
)


def _bound(run: Run) -> Answer:
    """Project to the released degree cap. Sensitivity of edges(pi_theta) is theta (`projected.EDGES`)."""
    return noisy_answer(EDGES, run.statistics, run.degree_cap, run.epsilon, run.beta)


def _gem(run: Run) -> Answer:
    """Choose theta below the cap by GEM, which pays for a large cap only logarithmically."""
    return gem_answer(EDGES, run.statistics, run.degree_cap, _pair(run.epsilon, (35, 55)), run.beta)


def _progressive(run: Run) -> Answer:
    """Try the cap with a small share; keep it if the first answer stands out of its noise, else fall back to `gem`.

    The branch reads the first released number only, so the cost is the sum of the shares on either branch. The lower
    bound splits beta over the three draws that may occur: it holds whatever branch is taken.
    """
    first, rest = split(run.epsilon, (2, 7))
    theta, statistics = run.degree_cap, run.statistics
    exact = statistics.self_conflicts + EDGES.read(statistics, [theta])[0]
    noisy, scale = discrete_laplace(exact, EDGES.sensitivity(theta), first)
    if noisy <= 1.5 * theta / float(as_fraction(first)):
        return gem_answer(EDGES, statistics, theta, _pair(rest, (27, 43)), run.beta / 3)
    again, finer = discrete_laplace(exact, EDGES.sensitivity(theta), rest)
    weight, finer_weight = first**2 / (first**2 + rest**2), rest**2 / (first**2 + rest**2)
    value = round(weight * noisy + finer_weight * again)
    tail = weight * laplace_tail(scale, run.beta / 3) + finer_weight * laplace_tail(finer, run.beta / 3)
    spread = math.hypot(weight * scale, finer_weight * finer)
    lower = math.floor(value - tail - 1)  # one for the rounding of value
    return Answer(
        value=value,
        lower=lower,
        upper_reason=FROM_BELOW,
        theta=theta,
        noise_scale=spread,
        estimand=EDGES.estimand,
    )


def _pair(epsilon: int, weights: tuple[int, int]) -> tuple[int, int]:
    first, second = split(epsilon, weights)
    return first, second


MECHANISMS = {
    mechanism.name: mechanism
    for mechanism in (
        LADDER.mechanism("ladder", _NOISE),
        MARGINAL.mechanism("marginal", _NOISE),
        MARGINAL_ORDER.mechanism("marginal_order", _NOISE),
        Mechanism("bound", _bound, Fraction(9, 10), EDGES.name, _NOISE, cap_weight=1, answer_weight=9),
        Mechanism("gem", _gem, Fraction(55, 100), EDGES.name, _NOISE, cap_weight=1, answer_weight=9),
        Mechanism(
            "progressive",
            _progressive,
            Fraction(7, 10),
            EDGES.name,
            _NOISE,
            cap_weight=1,
            answer_weight=9,
            no_estimate="the first draw decides whether it is used again, so its noise is not symmetric",
        ),
        two_sided(EDGES, "minimal_inconsistency", _NOISE),
        *paper_mechanisms(EDGES, _NOISE),
        R2T,
    )
}


def default_mechanism(*, covers_all_rows: bool) -> Mechanism:  # noqa: ARG001 - the same for all measures
    """`ladder`, whatever the constraints."""
    return MECHANISMS["ladder"]
