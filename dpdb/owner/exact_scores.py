"""`exact_dependencies`: what would be discovered without noise, with exact scores. Nothing here is private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

from dpdb.engine import Direction, PairCounts, Progress, TableSettings, TableSpec, no_progress
from dpdb.errors import ParameterError
from dpdb.opening import open_table
from dpdb.owner.discovery import candidates_of, keys_named, scores
from dpdb.rules import DiscoveredRules
from dpdb.sources import SourceLike

__all__ = ["ExactDependencies", "exact_dependencies"]


@dataclass(frozen=True)
class ExactScore:
    """A rule and what it would take to hold. Not private.

    Attributes
    ----------
    rule : str
    rows : int
        Rows in which its columns have values.
    g3 : int
        The fewest of these that would have to go (Kivinen and Mannila 1995).
    mu : float or None
        mu+ (Piatetsky-Shapiro and Matheus 1993; as Parciak et al. 2024 write it): how far Y agrees among rows that
        agree in X, beyond chance, 0 to 1; None of a key, and where Y is constant or X unique.
    """

    rule: str
    rows: int
    g3: int
    mu: float | None = None


@dataclass(frozen=True)
class ExactDependencies:
    """The best dependencies and keys by exact scores. Not private: for the owner of the data only."""

    dependencies: tuple[ExactScore, ...]
    keys: tuple[ExactScore, ...]

    def text(self) -> str:
        """Return a suite, with exact numbers in its comments."""
        return "\n".join([
            "# NOT PRIVATE: exact numbers, for the owner of the data only; publish none of this",
            "",
            "# functional dependencies",
            *map(_line, self.dependencies),
            "",
            "# keys",
            *map(_line, self.keys),
        ]) + "\n"  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return {"non_private": True, **asdict(self)}


def _line(found: ExactScore) -> str:
    mu = "" if found.mu is None else f", mu+ {found.mu:.4f}"
    return f"{found.rule}  # NOT PRIVATE: g3 {found.g3:,} of {found.rows:,} rows{mu}"


def exact_dependencies(
    source: SourceLike,
    *,
    top: int = 10,
    columns: Sequence[str] | None = None,
    non_private: bool = False,
    table: str | None = None,
    progress: Progress = no_progress,
    **settings: Unpack[TableSettings],
) -> ExactDependencies:
    """Rank dependencies and keys by the scores that `discover` hides. Owner only: the result has no privacy guarantee.

    Parameters
    ----------
    top, columns
        As `Session.discover`.
    non_private : bool
        Must be True: the owner states that exact values may be shown.
    **settings
        As `Session`.

    Raises
    ------
    ParameterError
        Without `non_private`; otherwise as `Session.discover`.
    """
    if non_private is not True:
        raise ParameterError(
            "exact scores are not private; only the owner of the data may ask, with --non-private (non_private=True)"
        )
    keys = keys_named(top)
    spec = TableSpec.of(source, settings, table=table)
    with open_table(spec, progress=progress) as opened:
        found = candidates_of(opened, columns)
        counts = opened.count_dependencies(found.columns, found.pairs, spread=True)
        opened.refuse_change()
    of_dependencies, of_keys = scores(counts)
    directions = [
        each for pair in counts.pairs for each in ((pair, pair.forth, pair.back), (pair, pair.back, pair.forth))
    ]
    chosen = [
        ExactScore(DiscoveredRules.dependency(*found.dependencies[place]), *_numbers(*directions[place]))
        for place in _best(of_dependencies)[:top]
    ]
    unique = [
        ExactScore(DiscoveredRules.key(found.columns[place]), counts.values[place].rows, -of_keys[place])
        for place in _best(of_keys)[:keys]
    ]
    return ExactDependencies(tuple(chosen), tuple(unique))


def _best(of_all: Sequence[int]) -> list[int]:
    return sorted(range(len(of_all)), key=lambda place: (-of_all[place], place))


def _numbers(pair: PairCounts, of_x: Direction, of_y: Direction) -> tuple[int, int, float | None]:
    """Return n, g3 and mu+ = max(0, 1 - (1 - pdep(Y given X)) / (1 - pdep(Y)) (n - 1) / (n - |X|))."""
    rows = pair.rows
    if of_x.groups == rows or of_y.groups <= 1:
        return rows, rows - of_x.kept, None
    given, alone = of_x.agreement / rows, of_x.likeness / rows**2
    return rows, rows - of_x.kept, max(0.0, 1 - (1 - given) / (1 - alone) * (rows - 1) / (rows - of_x.groups))
