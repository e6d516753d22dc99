"""What `theta_limits` announces, beside the share of the value that theta leaves out: for the owner's evaluation only.

    python examples/accuracy.py made --limits --epsilon 0.1 1 5 --releases 100 --seed 2126

For each table: the mean share lost (exact), how often the default's release says that theta may limit, and how often
that it cannot tell. Below, the rule of dpdb beside others: how often each speaks up where more than 10% is lost, and
where less than 2% is; its error is the mean of the misses and the false alarms. Seeds 2033 and 2034 chose its numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpdb.measures import measures_named
from dpdb.measures.answer import STATISTICS, Answer, DegreeCap, release_degree_cap
from dpdb.measures.estimate import with_theta_limits
from dpdb.measures.measure import Measure
from dpdb.measures.mechanism import Run
from dpdb.privacy.epsilon import parse_epsilon
from dpdb.release import Session

__all__ = ["print_limits"]

MUCH, LITTLE = 0.1, 0.02
_BETA = 0.05


@dataclass(frozen=True)
class Drawn:
    """One release of a default mechanism with what only the owner knows: the share of the value that theta lost."""

    table: str
    measure: str
    epsilon: str
    lost: float
    answer: Answer
    cap: DegreeCap

    @property
    def theta(self) -> int:
        assert self.answer.theta is not None
        return self.answer.theta

    def value_below(self, scales: float) -> bool:
        return self.answer.value < scales * self.answer.noise_scale


# The constants of the others are those with the least error on the same training seeds.
RULES: dict[str, Callable[[Drawn], bool]] = {
    "theta_limits": lambda drawn: drawn.answer.theta_limits is True,
    "theta < cap": lambda drawn: drawn.theta < drawn.cap.value,
    "theta < cap - 0.5 scales of its noise": lambda drawn: drawn.theta < drawn.cap.value - 0.5 * drawn.cap.scale,
    "theta < cap / 100": lambda drawn: 100 * drawn.theta < drawn.cap.value,
    "value < 16 noise scales": lambda drawn: drawn.value_below(16),
    "theta < cap, value < 300 theta": lambda drawn: (
        drawn.theta < drawn.cap.value and drawn.answer.value < 300 * drawn.theta
    ),
    "value < 0.1 (cap - theta) / epsilon": lambda drawn: (
        drawn.answer.value * float(drawn.epsilon) < 0.1 * (drawn.cap.value - drawn.theta)
    ),
    "theta < cap, value < 25 noise scales": lambda drawn: drawn.theta < drawn.cap.value and drawn.value_below(25),
}


class _Remembered:
    """Statistics that are computed once for each theta, whatever number of releases reads them."""

    scans_once = False

    def __init__(self, statistics: Any) -> None:
        self._statistics = statistics
        self._known: dict[tuple[str, int], int] = {}
        self.self_conflicts, self.degree_sensitivity = statistics.self_conflicts, statistics.degree_sensitivity
        self._degrees = statistics.degree_bound()

    def degree_bound(self) -> int:
        return int(self._degrees)

    def projected_edges(self, thetas: Sequence[int]) -> list[int]:
        return self._read("projected_edges", thetas)

    def witnesses(self, thetas: Sequence[int]) -> list[int]:
        return self._read("witnesses", thetas)

    def projected_edges_between(self, theta: int) -> tuple[int, int]:
        return self._read("projected_edges", [theta])[0], self._read("projected_edges", [theta])[0]

    def witnesses_between(self, theta: int) -> tuple[int, int]:
        return self._read("witnesses", [theta])[0], self._read("witnesses", [theta])[0]

    def _read(self, name: str, thetas: Sequence[int]) -> list[int]:
        new = sorted({theta for theta in thetas if (name, theta) not in self._known})
        if new:
            found = getattr(self._statistics, name)(new)
            self._known |= {(name, theta): value for theta, value in zip(new, found, strict=True)}
        return [self._known[name, theta] for theta in thetas]


def print_limits(tables: Iterable[tuple[str, Path, Path]], epsilons: Sequence[str], releases: int) -> None:
    """Draw from every table and print."""
    drawn: list[Drawn] = []
    for name, path, rules in tables:
        with Session(path, constraints=rules) as session:
            exact = session._private.statistics()
            statistics = _Remembered(exact)
            for measure in measures_named("all"):
                if measure.by_name[measure.default].reads in STATISTICS:
                    truth = measure.truth(exact)
                    drawn += [
                        _draw(name, measure, statistics, truth, epsilon)
                        for epsilon in epsilons
                        for _ in range(releases)
                    ]
    cells = dict.fromkeys((one.epsilon, one.measure) for one in sorted(drawn, key=lambda one: float(one.epsilon)))
    for epsilon, name in cells:
        _print_tables(f"epsilon {epsilon} {name}", [d for d in drawn if (d.epsilon, d.measure) == (epsilon, name)])
    print(f"\nhow often a rule speaks up where more than {MUCH:.0%} is lost, where less than {LITTLE:.0%}; its error:")
    print(f"over all releases, then {', then '.join(f'epsilon {epsilon} {name}' for epsilon, name in cells)}")
    for name, rule in RULES.items():
        columns = [_rates(rule, [d for d in drawn if (d.epsilon, d.measure) == cell]) for cell in cells]
        print(f"  {name:38}{_rates(rule, drawn)} |{' |'.join(columns)}")


def _draw(table: str, measure: Measure, statistics: Any, truth: float, epsilon: str) -> Drawn:
    mechanism = measure.by_name[measure.default]
    cap_share, rest = mechanism.shares(parse_epsilon(epsilon))
    cap = release_degree_cap(statistics, cap_share)
    answer = mechanism.answer(Run(statistics, rest, _BETA, cap))
    assert answer.theta is not None
    kept = statistics.self_conflicts + STATISTICS[mechanism.reads].read(statistics, [answer.theta])[0]
    lost = 1 - kept / truth
    return Drawn(table, measure.name, epsilon, lost, with_theta_limits(answer, mechanism, cap, None), cap)


def _print_tables(heading: str, drawn: Sequence[Drawn]) -> None:
    print(f"\n{heading}: share lost, theta_limits true, cannot tell")
    for table in dict.fromkeys(one.table for one in drawn):
        mine = [one for one in drawn if one.table == table]
        said = [one.answer.theta_limits for one in mine]
        lost = sum(one.lost for one in mine) / len(mine)
        print(f"  {table:14}{lost:8.3f}{said.count(True) / len(said):8.2f}{said.count(None) / len(said):8.2f}")


def _rates(rule: Callable[[Drawn], bool], drawn: Sequence[Drawn]) -> str:
    much = [rule(one) for one in drawn if one.lost > MUCH]
    little = [rule(one) for one in drawn if one.lost < LITTLE]
    if not much or not little:
        return f"{'-':>5}{'-':>5}{'-':>6}"
    hit, alarm = sum(much) / len(much), sum(little) / len(little)
    return f"{hit:5.2f}{alarm:5.2f}{(1 - hit + alarm) / 2:6.3f}"
