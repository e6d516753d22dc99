"""Every mechanism, how PRIVACY.md says it shares epsilon, and a way to run it without SQL."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from dpdb.measures import minimal_inconsistency, problematic, repair
from dpdb.measures.answer import Answer, GraphStatistics
from dpdb.measures.degree_cap import release_degree_cap
from dpdb.measures.mechanism import Mechanism, Run

ROOMS = {"minimal_inconsistency": minimal_inconsistency, "problematic": problematic, "repair": repair}

# Audited by hand, not read from the code: what each draw costs, as a part of epsilon.
_CAP, _SELECT, _ANSWER = "cap", "select", "answer"
SHARES: dict[tuple[str, str], list[tuple[str, str]]] = {
    ("repair", "fractional"): [(_ANSWER, "1")],
    ("repair", "greedy"): [(_ANSWER, "1")],
    ("minimal_inconsistency", "marginal"): [(_CAP, ".1"), (_SELECT, ".3"), (_ANSWER, ".6")],
    ("minimal_inconsistency", "marginal_order"): [(_CAP, ".03"), (_SELECT, ".42"), (_ANSWER, ".55")],
    ("problematic", "marginal"): [(_CAP, ".05"), (_SELECT, ".35"), (_ANSWER, ".6")],
    ("minimal_inconsistency", "bound"): [(_CAP, ".1"), (_ANSWER, ".9")],
    ("minimal_inconsistency", "gem"): [(_CAP, ".1"), (_SELECT, ".35"), (_ANSWER, ".55")],
    ("minimal_inconsistency", "progressive"): [(_CAP, ".1"), ("first", ".2"), (_SELECT, ".27"), (_ANSWER, ".43")],
    ("problematic", "witness"): [(_CAP, ".05"), (_SELECT, ".25"), (_ANSWER, ".7")],
}
for _measure in ("minimal_inconsistency", "problematic"):
    SHARES[_measure, "two_sided"] = [(_CAP, ".1"), (_ANSWER, ".9")]
    SHARES[_measure, "em"] = [(_SELECT, ".4"), (_ANSWER, ".6")]
    SHARES[_measure, "hierarchical"] = [(_SELECT, ".2"), (_SELECT, ".2"), (_ANSWER, ".6")]
    SHARES[_measure, "optimized"] = [(_CAP, ".1"), (_SELECT, ".15"), (_SELECT, ".15"), (_ANSWER, ".6")]
    SHARES[_measure, "baseline_max"] = [(_ANSWER, "1")]

# What the scores of `marginal` are multiplied by.
K = 65_536


def marginal_unit(cap: int, extra: int) -> Fraction:
    """How far apart one row can move two scores: K (1 + greatest ratio of neighbouring sensitivities)."""
    thetas = [cap // 3**k for k in range(40) if cap >= 3**k]
    return K * (1 + max(Fraction(small + extra, large + extra) for large, small in pairwise(thetas)))


ALL = [(measure, name) for measure, room in ROOMS.items() for name in room.MECHANISMS]


@dataclass(frozen=True)
class Case:
    """A mechanism with its public parameters."""

    measure: str
    name: str
    max_degree: int = 3
    beta: float = 0.05

    @property
    def mechanism(self) -> Mechanism:
        return ROOMS[self.measure].MECHANISMS[self.name]

    @property
    def shares(self) -> list[tuple[str, Decimal]]:
        return [(kind, Decimal(part)) for kind, part in SHARES[self.measure, self.name]]

    def answer(self, statistics: GraphStatistics, epsilon: int) -> Answer:
        """What `Session` does for one measure."""
        cap_share, rest = self.mechanism.shares(epsilon)
        cap = release_degree_cap(statistics, cap_share) if cap_share else None
        return self.mechanism.answer(Run(statistics, rest, self.beta, cap, self.max_degree))
