"""Errors of bits, verdicts and rows that share a key, for each rule alone that has them: for the owner's evaluation.

    python examples/accuracy.py made --closed-forms --epsilon 0.1 1 --releases 200
    python examples/accuracy.py made --closed-forms --tables --releases 200   # the 29 tables

Mean relative error as everywhere: |released - true| / true, by rules that are broken. Of `drastic` it is the share of
releases that do not show it. Rows that share a key stand beside `ladder`, which releases them under other rules.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import fmean

from dpdb.constraints import load_constraints
from dpdb.measures import measure_named
from dpdb.release import Session

__all__ = ["print_closed_forms"]

Row = tuple[str, str]  # measure and mechanism
BESIDE = {"problematic": ("ladder",)}
KINDS = {"maximal_consistency": "decision_bits", "problematic": "sharing_rows", "drastic": "fewest_deletions"}


def measured(session: Session, epsilons: Sequence[str], releases: int) -> Iterator[tuple[Row, float, dict[str, float]]]:
    """Yield each measure that the rule has: its row, its exact value, and by epsilon the mean relative error."""
    counted = session._private.counted()
    for measure, closed in KINDS.items():
        mechanism = measure_named(measure).mechanism(closed)
        assert mechanism.exact_kind is not None
        assert mechanism.truth is not None
        if counted.if_known(mechanism.exact_kind) is None:
            continue
        truth = mechanism.truth(counted)
        if not truth:
            continue
        for name in (closed, *BESIDE.get(measure, ())):
            errors = {}
            for epsilon in epsilons:
                values = [session.dp_inconsistency(measure, epsilon, mechanism=name).value for _ in range(releases)]
                errors[epsilon] = sum(abs(value - truth) for value in values) / truth / releases
            yield (measure, name), truth, errors


def print_closed_forms(tables: Iterable[tuple[str, Path, Path]], epsilons: Sequence[str], releases: int) -> None:
    """Print a line for each rule of each table, and means over the rules: geometric ones of numbers.

    Parameters
    ----------
    tables
        Name, table and file of rules.
    epsilons
        As they are spent by each release.
    releases
        How many of each.
    """
    found: dict[Row, list[dict[str, float]]] = {}
    print(f"mean relative error of {releases} releases, at epsilon {', '.join(epsilons)}; each rule alone")
    for name, table, rules in tables:
        for rule in load_constraints(rules):
            with Session(table, constraints=[rule]) as session:
                for row, truth, errors in measured(session, epsilons, releases):
                    found.setdefault(row, []).append(errors)
                    print(_line(name, row, errors) + f"  of {truth:,.10g}  {rule.label}", flush=True)
    for row, each in found.items():
        mean, said = (fmean, "mean") if row[0] == "drastic" else (_geometric, "geometric mean")
        means = {epsilon: mean([errors[epsilon] for errors in each]) for epsilon in epsilons}
        print(_line("all", row, means) + f"  {said} of {len(each)} rules")


def _line(name: str, row: Row, errors: dict[str, float]) -> str:
    return f"{name:12} {row[0]:20} {row[1]:17}" + " ".join(f"{error:8.4f}" for error in errors.values())


def _geometric(errors: Sequence[float]) -> float:
    """Return the geometric mean; errors of 0, which small tables have, count as 10^-4."""
    return math.exp(sum(math.log(max(error, 1e-4)) for error in errors) / len(errors))
