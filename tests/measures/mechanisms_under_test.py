"""Every mechanism, how it shares epsilon, and a way to run it without SQL."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from noise_scripts import Draw

from dpdb.measures import all_measures, measure_named, minimal_inconsistency, problematic
from dpdb.measures.answer import Answer, DegreeCap, GraphStatistics, release_degree_cap
from dpdb.measures.mechanism import Mechanism, Run

LADDERS = {"minimal_inconsistency": minimal_inconsistency.LADDER, "problematic": problematic.LADDER}

# Audited by hand, not read from the code: what each draw costs, as a part of epsilon.
_CAP, _SELECT, _ANSWER = "cap", "select", "answer"
SHARES: dict[tuple[str, str], list[tuple[str, str]]] = {
    ("repair", "fractional"): [(_ANSWER, "1")],
    ("repair", "greedy"): [(_ANSWER, "1")],
    ("repair", "fewest_deletions"): [(_ANSWER, "1")],
    # Where no rung and no top is in reach; test_measures_ladder.py audits the other branches.
    ("minimal_inconsistency", "ladder"): [(_CAP, ".07"), (_SELECT, ".279"), (_ANSWER, ".651")],
    ("problematic", "ladder"): [(_CAP, ".03"), (_SELECT, ".291"), (_ANSWER, ".679")],
    ("minimal_inconsistency", "marginal"): [(_CAP, ".1"), (_SELECT, ".3"), (_ANSWER, ".6")],
    ("minimal_inconsistency", "marginal_order"): [(_CAP, ".03"), (_SELECT, ".42"), (_ANSWER, ".55")],
    ("problematic", "marginal"): [(_CAP, ".05"), (_SELECT, ".35"), (_ANSWER, ".6")],
    ("minimal_inconsistency", "bound"): [(_CAP, ".1"), (_ANSWER, ".9")],
    ("minimal_inconsistency", "r2t"): [(_ANSWER, "1")],  # shared evenly by its truncations, see `Case.shares`
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


def ladder_grid(cap: int, scale: float, extra: int) -> list[int]:
    """Candidates: S = (1 + extra) 3^k up to the first theta that is a noise scale above the cap."""
    thetas = [1]
    while thetas[-1] < cap + math.ceil(scale):
        thetas.append((1 + extra) * 3 ** len(thetas) - extra)
    return thetas


def ladder_unit(cap: int, scale: float, extra: int) -> Fraction:
    """The same for the scores of `ladder`: neighbouring sensitivities differ by a factor of 3, if there are two."""
    return K * (1 + (Fraction(1, 3) if len(ladder_grid(cap, scale, extra)) > 1 else 0))


def hides_something(measure: str, cap: Draw, rest: int) -> bool:
    """Whether `ladder` has rungs or a top at a cap that was drawn: rare where no degree is large."""
    return LADDERS[measure].plan(DegreeCap(max(1, cap.result), cap.scale), rest).others > 0


# Of what is read of a conflict graph; test_measures_by_rule.py, ..._violating_rows.py and ..._keys.py audit
# what needs none.
ALL = [
    (one.name, mechanism.name)
    for one in all_measures()
    for mechanism in one.mechanisms
    if mechanism.fit is None
    and (mechanism.closed_form is None or mechanism.closed_form.at_high is None)
    and not mechanism.on_one_row
]


@dataclass(frozen=True)
class Case:
    """A mechanism with its public parameters."""

    measure: str
    name: str
    max_degree: int = 3
    beta: float = 0.05

    @property
    def key(self) -> tuple[str, str]:
        return self.measure, self.name

    @property
    def mechanism(self) -> Mechanism:
        return measure_named(self.measure).mechanism(self.name)

    @property
    def taus(self) -> list[int]:
        """The powers of two of R2T: from 2 to the first that is at least max_degree."""
        taus = [1 if self.max_degree == 1 else 2]
        while taus[-1] < self.max_degree:
            taus.append(2 * taus[-1])
        return taus

    @property
    def shares(self) -> list[tuple[str, Fraction]]:
        known = SHARES.get(self.key)
        shares = self._announced() if known is None else [(kind, Fraction(part)) for kind, part in known]
        if self.name == "r2t":
            return [(kind, part / len(self.taus)) for kind, part in shares for _ in self.taus]
        return shares

    @property
    def of_nodes(self) -> bool:
        """Whether its last statistic counts rows, of which one more row moves one more than pairs."""
        return self.mechanism.noise == "theta + 1"

    def _announced(self) -> list[tuple[str, Fraction]]:
        """Of mechanisms that nobody has listed, such as a new measure's: what they say, and a choice has the rest."""
        said = self.mechanism
        cap = Fraction(said.cap_weight, said.cap_weight + said.answer_weight)
        shares = [(_CAP, cap), (_SELECT, 1 - cap - said.answer_share), (_ANSWER, said.answer_share)]
        return [(kind, share) for kind, share in shares if share]

    def answer(self, statistics: GraphStatistics, epsilon: int) -> Answer:
        """What `Session` does for one measure."""
        cap_share, rest = self.mechanism.shares(epsilon)
        cap = release_degree_cap(statistics, cap_share) if cap_share else None
        return self.mechanism.answer(Run(statistics, rest, self.beta, cap, self.max_degree))
