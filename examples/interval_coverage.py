"""How often the published intervals hold: every measure and mechanism, rates and counts, on real and dirtied tables.

    python examples/interval_coverage.py                  # the bundled table, 2,000 releases per case, epsilon 1
    python examples/interval_coverage.py made             # also those of make_data.py, dirtied by both noises
    python examples/interval_coverage.py made --mechanism ladder --epsilon 0.1 1 5
    python examples/interval_coverage.py --releases 500 --confidence 0.8

A release covers if lower <= truth and, where it has an upper bound, truth <= upper. The truth is that of the estimand
as stated: the measure itself where the statistic bounds it from below, tau* for `fractional`, the greedy cover's size
for `greedy`, the sum over left-hand sides for `by_rule` (where it applies); for a rate, that over the number of rows.
Lines "at its theta" are about `estimate_lower` and `estimate_upper`, and their truth is the statistic at the theta of
each release; they end with the median width in noise scales and, for `ladder` and `by_rule`, with the shares of
releases that chose among several numbers and that climbed to a rung. The tables dirtied by CONoise have few rows with
nearly all conflicts, where rungs are climbed. Every release is a whole one, with all of its noise drawn afresh; the
exact statistics behind them are computed once. A case is flagged, and the
exit code is 1, if so few releases would cover by chance with probability below 1e-6 over all cases together, had every
case exactly the nominal coverage.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

from accuracy import TABLES, true_values
from scipy.stats import binom, binomtest

from dpdb.errors import ParameterError
from dpdb.measures import all_measures, measures_named
from dpdb.measures.answer import STATISTICS
from dpdb.measures.mechanism import Mechanism
from dpdb.owner.dirt import write_noisy
from dpdb.release import Ask, Release, Session

BUNDLED = Path(__file__).resolve().parent / "data"
MAX_DEGREE = 1_000  # the public bound of the mechanisms that need one
THETA = 3  # a public one
FALSE_ALARM = 1e-6


@dataclass(frozen=True)
class Case:
    """What is released over and over, and what its intervals are to contain: a truth for each measure.

    `at_theta` is the exact statistic that a release estimates at its theta, for `estimate_lower` and `estimate_upper`.
    """

    name: str
    release: Callable[[], Release | tuple[Release, ...]]
    truths: dict[str, float]
    at_theta: Callable[[Release], float] | None = None


@dataclass(frozen=True)
class Found:
    """Of so many intervals, how many held, and how many had both sides."""

    table: str
    name: str
    trials: int
    hits: int
    two_sided: int
    width: float = 0.0  # median, in noise scales
    chose: float = 0.0
    climbed: float = 0.0


def cases(session: Session, epsilon: str, confidence: float, only: str | None = None) -> Iterator[Case]:
    """Every mechanism alone, or only one; rates with the default mechanisms, alone and with a shared count; counts."""
    statistics = session._private.statistics()
    truths, rows = true_values(session), statistics.row_count
    greedy = statistics.greedy_cover() + statistics.self_conflicts

    def released(measure: str, **options: object) -> Callable[[], Release | tuple[Release, ...]]:
        return lambda: session.dp_inconsistency(measure, epsilon, confidence=confidence, **options)

    for measure, name, mechanism in ((one.name, *each) for one in all_measures() for each in one.by_name.items()):
        if only not in {None, name} or not applies(session, measure, name):
            continue
        degree = MAX_DEGREE if mechanism.needs_max_degree else None
        truth = greedy if name == "greedy" else truths.get(measure, 0)
        if measure == "drastic":
            truth = float(truths["repair"] > 0)
        if mechanism.truth is not None:
            truth = mechanism.truth(session._private.by_rule() if mechanism.fit is not None else statistics)
        release = released(measure, mechanism=name, max_degree=degree)
        at_theta = None if mechanism.on_one_row else partial(exact_at_theta, session, mechanism)
        yield Case(f"{measure} {name}", release, {measure: truth}, at_theta)
        if only is None and mechanism.reads in STATISTICS and name != "two_sided":
            fixed = released(measure, mechanism=name, max_degree=degree, theta=THETA)
            exact = partial(exact_at_theta, session, mechanism)
            yield Case(f"{measure} {name}, theta {THETA}", fixed, {measure: truth}, exact)
    if only:
        return
    rates = {one.name: truths[one.name] / max(1, rows) for one in measures_named("all") if one.has_rate}
    for measure in rates:
        yield Case(f"rate of {measure}", released(measure, rate=True), rates)
    yield Case("rate, all", released("all", rate=True), rates)
    yield Case("count", lambda: session.dp_count(epsilon, confidence=confidence), {"count": rows})


def applies(session: Session, measure: str, mechanism: str) -> bool:
    """Whether the mechanism can answer under the table's constraints: `by_rule` not where there is an order."""
    try:
        session.prepare(Ask(measure, mechanism=mechanism, max_degree=MAX_DEGREE, epsilon=1))
    except ParameterError:
        return False
    return True


def exact_at_theta(session: Session, mechanism: Mechanism, release: Release) -> float:
    """The statistic that the mechanism adds its last noise to."""
    if mechanism.fit is not None:
        counted = session._private.by_rule()
        return float(getattr(counted, mechanism.reads)([release.theta])[0]) + counted.self_conflicts
    statistics = session._private.statistics()
    if mechanism.has_closed_form:
        return float(mechanism.truth(statistics))
    if mechanism.name == "fractional":
        return statistics.twice_fractional_cover().value / 2 + statistics.self_conflicts
    if mechanism.name == "greedy":
        return statistics.greedy_cover() + statistics.self_conflicts
    [found] = getattr(statistics, mechanism.reads)([release.theta])
    return float(found) + statistics.self_conflicts


def measured(table: str, case: Case, releases: int) -> list[Found]:
    """Release again and again; one line per measure."""
    outcomes: dict[str, list[tuple[bool, bool]]] = {}
    estimates: list[Release] = []
    for _ in range(releases):
        released = case.release()
        for release in released if isinstance(released, tuple) else (released,):
            truth = case.truths[release.measure]
            inside = release.lower <= truth and (release.upper is None or truth <= release.upper)
            outcomes.setdefault(release.measure, []).append((inside, release.upper is not None))
            if release.estimate_lower is not None and case.at_theta is not None:
                held = release.estimate_lower <= case.at_theta(release) <= release.estimate_upper
                outcomes.setdefault(f"{release.measure} at its theta", []).append((held, True))
                estimates.append(release)
    return [
        Found(
            table,
            f"{case.name}, at its theta"
            if measure.endswith("theta")
            else case.name
            if len({name.removesuffix(" at its theta") for name in outcomes}) == 1
            else f"{case.name}: {measure}",
            len(found),
            sum(inside for inside, _ in found),
            sum(upper for _, upper in found),
            **(_estimated(estimates) if measure.endswith("theta") else {}),
        )
        for measure, found in outcomes.items()
    ]


def _estimated(releases: list[Release]) -> dict[str, float]:
    return {
        "width": median((one.estimate_upper - one.estimate_lower) / one.noise_scale for one in releases),
        "chose": sum(one.handicaps is not None for one in releases) / len(releases),
        "climbed": sum((one.handicaps or 0) > 0 for one in releases) / len(releases),
    }


def described(found: Found, confidence: float) -> str:
    wilson = binomtest(found.hits, found.trials).proportion_ci(0.95, method="wilson")
    sides = {0: "lower only", found.trials: "two-sided"}.get(found.two_sided, "mixed")
    widths = f"  width {found.width:.2f}" if found.width else ""
    widths += f"  several {found.chose:.0%}, rung {found.climbed:.0%}" if found.chose else ""
    rare = "" if found.hits >= confidence * found.trials else f"  chance {chance(found, confidence):.2g}"
    return (
        f"{found.table:19} {found.name:58} {sides:10} {found.hits / found.trials:7.4f}  "
        f"[{wilson.low:.4f}, {wilson.high:.4f}]{widths}{rare}"
    )


def chance(found: Found, confidence: float) -> float:
    """Probability of so few hits at the nominal coverage."""
    return float(binom.cdf(found.hits, found.trials, confidence))


def tables(data: Path | None, folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Name, table and constraints: the bundled one, also with a rule on one row, and the data sets where they are."""
    yield "bundled hospital", BUNDLED / "hospital.parquet", BUNDLED / "hospital.dcs.txt"
    on_one_row = folder / "on_one_row.dcs.txt"
    on_one_row.write_text("not(t1.state = 'AL')\n")
    yield "bundled, one row", BUNDLED / "hospital.parquet", on_one_row
    for name, file in TABLES.items() if data is not None else ():
        rules, noisy = data / f"{name}.dcs.txt", folder / f"{name}.parquet"
        write_noisy(data / file, rules, noisy, "rnoise", alpha=0.01, sample=10_000, seed=2026)
        yield f"noisy {name}", noisy, rules
        hubs = folder / f"{name}25.parquet"
        write_noisy(data / file, rules, hubs, "conoise", iterations=25, sample=10_000, seed=2026)
        yield f"hubs {name}", hubs, rules


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", help="folder with the five data sets and their constraints")
    parser.add_argument("--releases", type=int, default=2_000, help="per case (2000)")
    parser.add_argument("--epsilon", nargs="+", default=["1"])
    parser.add_argument("--mechanism", help="this one only, at the thetas that it chooses")
    parser.add_argument("--confidence", type=float, default=0.95)
    options = parser.parse_args()
    if options.data is not None and not options.data.is_dir():
        print(f"no folder {options.data}: only the bundled table is measured", file=sys.stderr)
        options.data = None
    start, everything = time.perf_counter(), []
    print(f"coverage of {options.releases} releases at epsilon {', '.join(options.epsilon)}, ", end="")
    print(f"nominal {options.confidence}")
    print(f"{'table':19} {'case':58} {'interval':10} covered  Wilson 95%", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, table, rules in tables(options.data, Path(folder)):
            with Session(table, constraints=rules) as session:
                for epsilon in options.epsilon:
                    for case in cases(session, epsilon, options.confidence, options.mechanism):
                        label = name if len(options.epsilon) == 1 else f"{name} {epsilon}"
                        for found in measured(label, case, options.releases):
                            print(described(found, options.confidence), flush=True)
                            everything.append(found)
    level = FALSE_ALARM / len(everything)
    failed = [found for found in everything if chance(found, options.confidence) < level]
    for found in failed:
        print(f"BELOW NOMINAL: {described(found, options.confidence)}")
    low = min(everything, key=lambda found: found.hits / found.trials)
    print(f"{len(everything)} cases, {len(failed)} below nominal; lowest {low.hits / low.trials:.4f} ({low.name})")
    print(f"{time.perf_counter() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
