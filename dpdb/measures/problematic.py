"""problematic (I_P): the number of tuples in at least one conflict."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from dpdb.measures.answer import NODES, WITNESSES
from dpdb.measures.measure import Measure
from dpdb.measures.mechanism import Words
from dpdb.measures.mechanisms.at_one_theta import two_sided
from dpdb.measures.mechanisms.by_rule import by_rule
from dpdb.measures.mechanisms.chosen_theta import Marginal
from dpdb.measures.mechanisms.exact_counts import VIOLATING_ROWS
from dpdb.measures.mechanisms.keys import sharing_rows
from dpdb.measures.mechanisms.ladder import Ladder, Rungs, Settings
from dpdb.measures.mechanisms.published_mechanisms import paper_mechanisms
from dpdb.measures.true_values import ExactValues
from dpdb.privacy import NANO

_NAME = "problematic"
_NOISE = "theta + 1"

# Chosen like those of minimal_inconsistency. W grows faster with theta than edges do: no stretch, a higher price.
MARGINAL = Marginal(WITNESSES, cap=5, select=35, answer=60, price=Fraction(17, 10), stretch=Fraction(1))

# Chosen like that of minimal_inconsistency. No top: W is nearly complete at a theta far below the degrees, so the cap
# is no theta to answer with.
_FEW = Settings(select=30, price=Fraction(8, 5), stretch=Fraction(5, 4), stretch_from=1, above=1)
_RUNGS = Rungs(count=2, reach=Fraction(1, 3), step=Fraction(5), least=50, gap=27, margin=3.0, growth=1.25)
_MANY = Settings(select=30, price=Fraction(7, 4), stretch=Fraction(5, 4), stretch_from=2, above=1, rungs=_RUNGS)
_SOME = replace(_MANY, price=Fraction(23, 20), rungs=replace(_RUNGS, margin=4.5))
LADDER = Ladder(WITNESSES, cap=3, tiers=((0, _FEW), (NANO // 4, _SOME), (NANO * 3 // 4, _MANY)))


_BY_RULE = Words(
    heading="Rows in conflict by left-hand side",
    counted="rows that take part in some conflict, once for each left-hand side",
    short="rows in conflict, by left-hand side",
    meaning="about {value} rows are involved in a conflict, counted once for each left-hand side",
)


MEASURE = Measure(
    name=_NAME,
    counts="rows",
    words=Words(
        heading="Rows in conflict",
        counted="rows that take part in some conflict",
        short="rows in some conflict",
        meaning="about {value} rows are involved in a conflict",
        of_rate="about {value} of the rows are involved in a conflict",
    ),
    mechanisms=(
        LADDER.mechanism("ladder", _NOISE),
        MARGINAL.mechanism("marginal", _NOISE),
        two_sided(WITNESSES, _NAME, _NOISE),
        *paper_mechanisms(NODES, _NOISE),
        by_rule(LADDER, _NAME, _BY_RULE),
        VIOLATING_ROWS,
        sharing_rows(2),  # of one key
    ),
    default="ladder",
    truth=NODES.complete,
    both_ends=False,
    exact=ExactValues((_NAME,), lambda graph: {_NAME: graph.rows_in_conflict + graph.self_conflicts}),
    weight=36,
    rate_weight=2,
    most_per_row=1,
)
