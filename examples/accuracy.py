"""Accuracy of the private measures on noisy versions of the five data sets, beside paper A's mechanisms.

    python examples/make_data.py made                         # the data sets, once
    python examples/accuracy.py made                          # 500 releases of each, epsilon 1
    python examples/accuracy.py made --epsilon 0.1 1 5 --releases 200
    python examples/accuracy.py made --hard                   # where the conflicts are few or the groups huge
    python examples/accuracy.py made --tables --releases 200  # the 29 tables, defaults beside `marginal`
    python examples/accuracy.py made --limits --releases 100  # what theta loses there, and what is announced
    python examples/accuracy.py made --closed-forms --epsilon 0.1 1  # bits, verdicts, rows that share a key
    python examples/accuracy.py made --challengers --releases 200  # the same beside N2E and OPT2

Each table is a random sample of 10,000 rows, dirtied by RNoise with a seed that no budget split was chosen on; the
noise of the releases is fresh in every run. Error: |released - true| / true, mean over the releases; for repair the
true value is the fractional one. `r2t` gets the number of rows as its global sensitivity. Two rows are not mechanisms
of dpdb: `baseline_true` projects to the true maximum degree, which is not private; `as printed` is Algorithm 4 with the
paper's exponential mechanism, its factor 2, its sum of degree bounds over all constraints and the candidates of its
experiments, with only what was not private corrected.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from accuracy_tables import DATA_SETS as TABLES, GROUPS, all_tables
from challengers import CHALLENGERS, Challenged
from closed_forms_table import print_closed_forms
from hard_tables import hard_tables
from limits_table import print_limits

from dpdb.engine.sql.joins import degree_terms, evaluate
from dpdb.measures import measure_named, measures_named
from dpdb.measures.answer import EDGES, NODES, noisy_answer
from dpdb.owner.dirt import write_noisy
from dpdb.privacy.epsilon import parse_epsilon
from dpdb.privacy.selection import paper_grid
from dpdb.release import Session

STATISTICS = {"minimal_inconsistency": EDGES, "problematic": NODES}
SAMPLE = 10_000  # rows, which bound every degree
BASELINE, PRINTED = "baseline_true", "as printed"


def compared(measure: str, default: str) -> dict[str, str]:
    """Rows of the table and their mechanisms: the default, all that need no further parameter, what is not private."""
    all_tables_have = [m for m in measure_named(measure).mechanisms if m.fit is None and not m.has_closed_form]
    known = [m.name for m in all_tables_have if not m.needs_max_degree or m.name == "r2t"]
    others = [name for name in known if name != default and not name.startswith("marginal")]
    return {"default": default} | {
        name: name for name in (*others, *((PRINTED, BASELINE) if measure in STATISTICS else ()))
    }


def beside_marginal(measure: str, default: str, *, covers_all_rows: bool) -> dict[str, str]:
    """The default and what it replaced."""
    if measure == "repair":
        return {"default": default}
    order = covers_all_rows and measure == "minimal_inconsistency"
    return {"default": default, "marginal": "marginal_order" if order else "marginal"}


def true_values(session: Session) -> dict[str, float]:
    """Read the exact statistics of the whole table: an owner's evaluation, not a release."""
    statistics = session._private.statistics()
    summary = statistics.graph.degree_summary()
    u = statistics.self_conflicts
    return {
        "minimal_inconsistency": summary.edge_count + u,
        "problematic": summary.positive_degree_nodes + u,
        "repair": statistics.twice_fractional_cover().value / 2 + u,
        "max_degree": summary.max_degree,
    }


def algorithm_4(session: Session, measure: str, epsilon: float, releases: int, seed: int) -> Iterator[float]:
    """Algorithm 4 with epsilon0 = .1, epsilon1 = .3 in two steps, epsilon2 = .6; float noise, for evaluation."""
    draw, statistic, statistics = np.random.default_rng(seed), STATISTICS[measure], session._private.statistics()
    part = statistics._slice
    each = [degree_terms([dc]) for dc in session.public.bound if not dc.constraint.is_single_tuple]
    bounds = [evaluate(part.database, terms, part.tuples) for terms in each]
    select, answer = 0.15 * epsilon, 0.6 * epsilon
    for _ in range(releases):
        cap = max(1, round(sum(bounds) + sum(draw.laplace(0, len(bounds) / (0.1 * epsilon), len(bounds)))))
        for _ in range(2):
            thetas = paper_grid(cap)
            quality = np.array(statistic.read(statistics, thetas)) - math.sqrt(2) * np.array(thetas) / answer
            noise = draw.gumbel(0, 2 * statistic.sensitivity(cap) / select, len(thetas))
            cap = thetas[int(np.argmax(quality + noise))]
        exact = statistics.self_conflicts + statistic.read(statistics, [cap])[0]
        yield max(0.0, exact + draw.laplace(0, statistic.sensitivity(cap) / answer))


def released(session: Session, measure: str, mechanism: str, epsilon: str, releases: int, seed: int) -> Iterator[float]:
    """Fresh released values."""
    if mechanism == PRINTED:
        yield from algorithm_4(session, measure, float(epsilon), releases, seed)
    elif mechanism == BASELINE:
        theta, share = int(max(1, true_values(session)["max_degree"])), parse_epsilon(epsilon)
        for _ in range(releases):
            yield noisy_answer(STATISTICS[measure], session._private.statistics(), theta, share, 0.05).value
    else:
        for _ in range(releases):
            degree = SAMPLE if mechanism == "r2t" else None
            yield session.dp_inconsistency(measure, epsilon, mechanism=mechanism, max_degree=degree).value


def challenged(session: Session, measure: str, epsilon: str, releases: int, seed: int) -> dict[str, list[float]]:
    """Values by every challenger, whose readings `challengers` explains; none for repair."""
    if measure not in CHALLENGERS:
        return {}
    table, (statistic, challengers) = Challenged(session._private.statistics()), CHALLENGERS[measure]
    return {
        label: list(release(table, statistic, float(epsilon), releases, np.random.default_rng(seed)))
        for label, release in challengers.items()
    }


def noisy_tables(data: Path, folder: Path, alpha: float, seed: int) -> Iterator[tuple[str, Path, Path]]:
    for name, file in TABLES.items():
        rules, noisy = data / f"{name}.dcs.txt", folder / f"{name}.parquet"
        write_noisy(data / file, rules, noisy, "rnoise", alpha=alpha, sample=SAMPLE, seed=seed)
        yield name, noisy, rules


Results = dict[tuple[str, str, str], list[float]]
"""Mean errors, one per table, by epsilon, measure and row."""


def note(results: Results, row: tuple[str, str, str], values: Iterable[float], truth: float) -> None:
    """Append a table's mean relative error."""
    errors = [abs(value - truth) / truth for value in values]
    results.setdefault(row, []).append(sum(errors) / len(errors))


def print_table(results: Results, names: Sequence[str], releases: int) -> None:
    print(f"\nmean relative error of {releases} releases; columns: {', '.join(names)}")
    for (epsilon, measure, mechanism), means in results.items():
        geometric = math.exp(sum(math.log(max(mean, 1e-12)) for mean in means) / len(means))
        row = " ".join(f"{mean:8.4f}" for mean in means)
        print(
            f"epsilon {epsilon:>4} {measure:22} {mechanism:16} geometric mean {geometric:7.4f}"
            f"  worst {max(means):8.4f}  | {row}"
        )


def print_groups(results: Results, names: Sequence[str]) -> None:
    """One line per table with every mechanism, then geometric means of the groups."""
    for epsilon, measure in dict.fromkeys((epsilon, measure) for epsilon, measure, _ in results):
        columns = {label: means for (e, m, label), means in results.items() if (e, m) == (epsilon, measure)}
        print(f"\nepsilon {epsilon} {measure}: " + ", ".join(columns))
        for k, name in enumerate(names):
            print(f"  {name:14}" + " ".join(f"{means[k]:8.4f}" for means in columns.values()))
        for group, belongs in GROUPS.items():
            logs = [
                [math.log(max(mean, 1e-12)) for mean, name in zip(means, names, strict=True) if belongs(name)]
                for means in columns.values()
            ]
            if logs[0]:
                means = [math.exp(sum(each) / len(each)) for each in logs]
                print(f"  {group:14}" + " ".join(f"{mean:8.4f}" for mean in means) + "  geometric mean")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with the five data sets and their constraints")
    parser.add_argument("--epsilon", nargs="+", default=["1"])
    parser.add_argument("--releases", type=int, default=500)
    parser.add_argument("--alpha", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument(
        "--hard", action="store_true", help="a huge clean group, and sparse constraints without equality"
    )
    parser.add_argument("--tables", action="store_true", help="the 29 tables; the defaults and what they replaced")
    parser.add_argument("--challengers", action="store_true", help="the 29 tables; the defaults beside N2E and OPT2")
    parser.add_argument("--defaults", action="store_true", help="only the default mechanisms")
    parser.add_argument(
        "--limits", action="store_true", help="on the 29 tables, what theta loses and what is announced"
    )
    parser.add_argument(
        "--closed-forms", action="store_true", help="bits, verdicts and rows that share a key, of each rule alone"
    )
    options = parser.parse_args()
    start = time.perf_counter()
    make = all_tables if options.tables or options.challengers else hard_tables if options.hard else noisy_tables
    if options.limits or options.closed_forms:
        with tempfile.TemporaryDirectory() as folder:
            tables = all_tables if options.limits else make
            print_them = print_limits if options.limits else print_closed_forms
            print_them(
                tables(options.data, Path(folder), options.alpha, options.seed), options.epsilon, options.releases
            )
        return 0
    results: Results = {}
    names = []
    with tempfile.TemporaryDirectory() as folder:
        for name, noisy, rules in make(options.data, Path(folder), options.alpha, options.seed):
            names.append(name)
            with Session(noisy, constraints=rules) as session:
                truth = true_values(session)
                print(f"{name}: {truth}", file=sys.stderr)
                covers = degree_terms(session.public.bound).covers_all_rows
                for measure, default in ((one.name, one.default) for one in measures_named("all")):
                    alone = options.defaults or options.challengers
                    rows = {"default": default} if alone else compared(measure, default)
                    if options.tables:
                        rows = beside_marginal(measure, default, covers_all_rows=covers)
                    for label, mechanism in rows.items():
                        for epsilon in options.epsilon:
                            values = released(session, measure, mechanism, epsilon, options.releases, options.seed)
                            note(results, (epsilon, measure, label), values, truth[measure])
                    for epsilon in options.epsilon if options.challengers else ():
                        others = challenged(session, measure, epsilon, options.releases, options.seed)
                        for label, values in others.items():
                            note(results, (epsilon, measure, label), values, truth[measure])
    if options.tables or options.challengers:
        print_groups(dict(sorted(results.items())), names)
    else:
        print_table(dict(sorted(results.items())), names, options.releases)
    print(f"{time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
