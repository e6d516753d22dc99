"""Accuracy of the private measures on noisy versions of the five data sets, beside paper A's mechanisms.

    python examples/accuracy.py ../shared/data            # 200 releases per measure and mechanism, epsilon 1
    python examples/accuracy.py ../shared/data --epsilon 0.1 --releases 50

Each table is a random sample of 10,000 rows, dirtied by RNoise (alpha 0.01) with fixed seeds; the noise of the releases
is fresh in every run. Error: |released - true| / true, mean over the releases; for repair the true value is the
fractional one. `r2t` is the paper's baseline. `baseline_true` projects to the true maximum degree: it is not private
and exists in this file only.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from pathlib import Path

from dpdb.measures.projected import EDGES, noisy_answer
from dpdb.noise import write_noisy
from dpdb.privacy.epsilon import parse_epsilon
from dpdb.session import Session

TABLES = {
    "adult": "adult.parquet",
    "flight": "flight.parquet",
    "hospital": "hospital_consistent.parquet",
    "stock": "stock.parquet",
    "tax": "tax.parquet",
}
SAMPLE = 10_000  # rows, which bound every degree: the global sensitivity of `r2t`
COMPARED = [
    ("minimal_inconsistency", None),
    ("minimal_inconsistency", "gem"),
    ("minimal_inconsistency", "progressive"),
    ("minimal_inconsistency", "optimized"),
    ("minimal_inconsistency", "r2t"),
    ("minimal_inconsistency", "baseline_true"),
    ("problematic", None),
    ("problematic", "optimized"),
    ("repair", None),
    ("repair", "greedy"),
]


def true_values(session: Session) -> dict[str, float]:
    """Read the exact statistics of the whole table: an owner's evaluation, not a release."""
    statistics = session._statistics(None)
    summary = statistics.graph.degree_summary()
    u = statistics.self_conflicts
    return {
        "minimal_inconsistency": summary.edge_count + u,
        "problematic": summary.positive_degree_nodes + u,
        "repair": statistics.twice_fractional_cover() / 2 + u,
        "max_degree": summary.max_degree,
    }


def errors(session: Session, measure: str, mechanism: str | None, epsilon: str, releases: int) -> list[float]:
    """Relative errors of fresh releases."""
    truth = true_values(session)
    if mechanism == "baseline_true":
        theta, share = int(max(1, truth["max_degree"])), parse_epsilon(epsilon)
        statistics = session._statistics(None)
        values = [noisy_answer(EDGES, statistics, theta, share, 0.05).value for _ in range(releases)]
    else:
        values = [
            session.dp_inconsistency(measure, epsilon, mechanism=mechanism, max_degree=SAMPLE).value
            for _ in range(releases)
        ]
    return [abs(value - truth[measure]) / truth[measure] for value in values]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with the five data sets and their constraints")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("--alpha", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=2026)
    options = parser.parse_args()
    start = time.perf_counter()
    results: dict[tuple[str, str], list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, file in TABLES.items():
            rules = options.data / f"{name}.dcs.txt"
            noisy = Path(folder) / f"{name}.parquet"
            write_noisy(
                options.data / file, rules, noisy, "rnoise", alpha=options.alpha, sample=SAMPLE, seed=options.seed
            )
            with Session(noisy, constraints=rules) as session:
                for measure, mechanism in COMPARED:
                    key = (measure, mechanism or f"default ({default_name(session, measure)})")
                    found = errors(session, measure, mechanism, options.epsilon, options.releases)
                    results.setdefault((measure, mechanism or "default"), []).append(sum(found) / len(found))
                    print(f"{name:9} {key[0]:22} {key[1]:22} {sum(found) / len(found):8.4f}", flush=True)
    print(f"\nmean relative error of {options.releases} releases at epsilon {options.epsilon}: {', '.join(TABLES)}")
    for (measure, mechanism), means in results.items():
        geometric = math.exp(sum(math.log(max(mean, 1e-12)) for mean in means) / len(means))
        row = " ".join(f"{mean:8.4f}" for mean in means)
        print(f"{measure:22} {mechanism:14} geometric mean {geometric:7.4f}  worst {max(means):7.4f}  | {row}")
    print(f"{time.perf_counter() - start:.0f} s")
    return 0


def default_name(session: Session, measure: str) -> str:
    if measure == "minimal_inconsistency" and session._terms.covers_all_rows:
        return "gem"
    return {"minimal_inconsistency": "bound", "problematic": "witness", "repair": "fractional"}[measure]


if __name__ == "__main__":
    sys.exit(main())
