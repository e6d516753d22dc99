"""The joint cost of a file of WHERE clauses or counting queries: the answer behind `dpdb overlap`."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from dpdb.errors import PredicateError, UnknownColumnError
from dpdb.overlap.solver import maximum_overlap
from dpdb.predicates import Region

__all__ = ["OverlapReport", "overlap_report"]


@dataclass(frozen=True)
class OverlapReport:
    """Bounds on what a set of queries costs, and what parallel composition saves.

    Parameters
    ----------
    queries, total
        Number of queries and the sum of their charges: the cost by sequential composition.
    lower, upper, optimal
        Bounds on the maximum overlap; `upper` may be charged.
    utility_gain
        1 - upper / total (paper B, Eq. 6), with the safe side of the bound.
    noise_saved
        Share of the noise that can be left out at equal budget: the same number for Laplace noise, and
        1 - sqrt(upper / total) for Gaussian noise, whose scale grows with the root of the charge.
    witness
        A row region that collects `lower`, in words, and the numbers of the queries covering it (from 1).
    seconds
        Time taken.
    notes
        What was over-approximated, with the number of the query.
    """

    method: str
    queries: int
    total: int
    lower: int
    upper: int
    optimal: bool
    utility_gain: float
    noise_saved: dict[str, float]
    witness: str
    witness_queries: tuple[int, ...]
    seconds: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The report as plain values for JSON."""
        return {**asdict(self), "witness_queries": list(self.witness_queries), "notes": list(self.notes)}


def overlap_report(
    lines: Sequence[str],
    weights: Sequence[int] | None = None,
    *,
    types: Mapping[str, str],
    method: str = "auto",
    deadline: float = 10.0,
) -> OverlapReport:
    """Read queries and bound what they cost together.

    Parameters
    ----------
    lines
        WHERE clauses or counting queries, one per line; blank lines and lines that start with `--` are skipped.
    weights
        Integer charges, one per query; ones by default.
    types
        SQL types of the columns, by name: a condition is bound to them as `where` of a release is.
    method, deadline
        As for `maximum_overlap`.

    Raises
    ------
    PredicateError
        A line cannot be read, or names no column of `types`; the message has its number.
    ParameterError
        An unknown method or unusable weights.
    SourceError
        A type is not a SQL type, there is no column, or two have one name.
    """
    began = time.perf_counter()
    regions, notes = _read(lines, types)
    bound = maximum_overlap(regions, weights, method=method, deadline=deadline)
    total = len(regions) if weights is None else sum(int(weight) for weight in weights)
    share = bound.upper / total if total else 0.0
    witness = bound.witness
    return OverlapReport(
        method=method,
        queries=len(regions),
        total=total,
        lower=bound.lower,
        upper=bound.upper,
        optimal=bound.optimal,
        utility_gain=1 - share if total else 0.0,
        noise_saved={"laplace": 1 - share, "gaussian": 1 - share**0.5} if total else {"laplace": 0.0, "gaussian": 0.0},
        witness=witness.describe() if witness else "no row",
        witness_queries=tuple(query + 1 for query in witness.queries) if witness else (),
        seconds=time.perf_counter() - began,
        notes=tuple(notes),
    )


def _read(lines: Sequence[str], types: Mapping[str, str]) -> tuple[list[Region], list[str]]:
    from dpdb.engine import declared_table  # loads the database and sqlglot
    from dpdb.overlap.counted_rows import counted_rows

    regions: list[Region] = []
    notes: list[str] = []
    with declared_table(types) as columns:
        for number, line in enumerate(lines, start=1):
            text = line.strip().rstrip(";")
            if not text or text.startswith("--"):
                continue
            try:
                region = counted_rows(text, columns)
            except (PredicateError, UnknownColumnError) as error:
                raise PredicateError(f"line {number}: {error}") from None
            regions.append(region)
            notes += [f"query {len(regions)}: {note}" for note in region.notes]
    return regions, notes
