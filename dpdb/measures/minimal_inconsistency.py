"""minimal_inconsistency (I_MI): the number of conflicting pairs, plus self-conflicts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpdb.measures.answer import EDGES
from dpdb.measures.measure import Measure
from dpdb.measures.mechanism import Words
from dpdb.measures.mechanisms.at_one_theta import bound, two_sided
from dpdb.measures.mechanisms.by_rule import by_rule
from dpdb.measures.mechanisms.chosen_theta import Marginal
from dpdb.measures.mechanisms.exact_counts import VIOLATING_ROWS
from dpdb.measures.mechanisms.ladder import Ladder, Rungs, Settings, Top
from dpdb.measures.mechanisms.published_mechanisms import R2T, paper_mechanisms
from dpdb.measures.true_values import ExactValues
from dpdb.privacy import NANO

_NAME = "minimal_inconsistency"
_NOISE = "theta"

# Shares, price and stretch were chosen on training seeds (five tables, noise .2% to 5%, epsilon .1 to 5); see
# examples/accuracy.py for fresh ones. Without an equality the cap is about the number of rows: a rough one suffices.
MARGINAL = Marginal(EDGES, cap=10, select=30, answer=60, price=Fraction(1), stretch=Fraction(3, 2))
MARGINAL_ORDER = Marginal(EDGES, cap=3, select=42, answer=55, price=Fraction(6, 5), stretch=Fraction(3, 2))

# Chosen on training seeds too, at epsilon .1 to 5, of tables like the 29 of examples/accuracy.py: by geometric means,
# and so that no table is much worse than by `marginal`. Wrong rungs are rare, but wrong by so much that the margins
# decide the mean errors.
_FEW = Settings(select=30, price=Fraction(23, 20), stretch=Fraction(1), stretch_from=1, above=1)
_RUNGS = Rungs(count=2, reach=Fraction(11, 25), step=Fraction(3), least=70, gap=27, margin=2.5, growth=1.25)
_TOP = Top(least=300, guard=64, margin=5.5, floor=-1, growth=1.0)
_MANY = Settings(
    select=30, price=Fraction(3, 2), stretch=Fraction(4, 3), stretch_from=2, above=1, rungs=_RUNGS, top=_TOP
)
_SOME = replace(_MANY, price=Fraction(1), rungs=replace(_RUNGS, margin=3.0), top=replace(_TOP, margin=6.5))
LADDER = Ladder(EDGES, cap=7, tiers=((0, _FEW), (NANO // 4, _SOME), (NANO * 3 // 4, _MANY)))


_BY_RULE = Words(
    heading="Conflicts by left-hand side",
    counted="pairs of rows that break a rule, once for each left-hand side, or rows on their own",
    short="conflicts, by left-hand side",
    meaning="about {value} pairs of rows (or rows on their own) break a rule, counted once for each left-hand side",
)


MEASURE = Measure(
    name=_NAME,
    counts="pairs of rows",
    words=Words(
        heading="Conflicts",
        counted="pairs of rows, or rows on their own, that break a rule",
        short="pairs of rows in conflict",
        meaning="about {value} pairs of rows (or rows on their own) break a rule",
    ),
    mechanisms=(
        LADDER.mechanism("ladder", _NOISE),
        MARGINAL.mechanism("marginal", _NOISE),
        MARGINAL_ORDER.mechanism("marginal_order", _NOISE),
        bound(EDGES, _NOISE),
        two_sided(EDGES, _NAME, _NOISE),
        *paper_mechanisms(EDGES, _NOISE),
        R2T,
        by_rule(LADDER, _NAME, _BY_RULE),
        VIOLATING_ROWS,
    ),
    default="ladder",
    truth=EDGES.complete,
    both_ends=False,
    exact=ExactValues((_NAME,), lambda graph: {_NAME: graph.edges + graph.self_conflicts}),
    weight=36,
)
