"""`prepare_discovery`, `discover`: dependencies and keys that may hold, named under differential privacy.

`scores` has the scores and what one more row changes of them.

The names are chosen by `dpdb.privacy.peeled`. Its candidates are all ordered pairs of columns and all columns: from
names and types alone, so that a constant, empty or unique column stays one. All of them have one column on the left,
and none is a superset of another that the output would have to drop.

The owner alone discovers: what he is given are names, but from a hundred scores, which no analyst's request states.

`exact_dependencies` is what would be discovered without noise, with exact scores. Nothing of it is private.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Literal, Unpack

from dpdb.engine import DependencyCounts, Direction, PairCounts, Progress, Table, TableSettings, TableSpec, no_progress
from dpdb.errors import ParameterError
from dpdb.names import nearest_words
from dpdb.opening import open_table
from dpdb.privacy import (
    ZCDP,
    Notion,
    as_float,
    check_samplers,
    format_epsilon,
    parse_epsilon,
    peeled,
    rho_as_float,
    rho_of_choice,
    split,
)
from dpdb.release import Charge, Epsilon, PrivateSlices, Session, new_run_id, parse_share, parse_slices
from dpdb.rules import DiscoveredRules, recorded_discovery, why_no_name
from dpdb.sources import SourceLike

_MOST_COLUMNS = 100
"""Of the columns that are paired: with 100 there are 4,950 GROUP BYs."""
_MOST_NAMES = 100
_DEPENDENCIES_PER_KEY = 10
_WEIGHTS = (9, 1)
"""Of the shares of epsilon of all dependencies and of all keys."""
_NOT_IN_GDP = "a discovery chooses names with pure mechanisms, which a gdp ledger does not count"
_DEPENDENCY_CHANGE, _KEY_CHANGE = (-2, 1), (-1, 0)


@dataclass(frozen=True)
class Candidates:
    """What may be named, from names and types alone.

    Attributes
    ----------
    columns : tuple of str
        Candidates of keys; each two of them are two candidates of dependencies.
    left_out : tuple of (str, str)
        The table's other columns, and why.
    """

    columns: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs that are counted, each for both directions."""
        return list(combinations(self.columns, 2))

    @property
    def dependencies(self) -> list[tuple[str, str]]:
        """X and Y of every candidate, in the order of the scores."""
        return [direction for one, other in self.pairs for direction in ((one, other), (other, one))]


def candidates_of(table: Table, columns: Sequence[str] | None = None) -> Candidates:
    """Return what may be named of a table. Reads no row.

    Parameters
    ----------
    columns
        The columns that are paired; None for all whose values can be grouped.
    """
    names = table.schema.names
    wanted = names if columns is None else _known(columns, names)
    grouped = [name for name in wanted if table.schema[name].type is not None]
    if len(grouped) > _MOST_COLUMNS:
        raise ParameterError(
            f"{table.description}: {len(grouped):,} columns are more than the {_MOST_COLUMNS} that discover pairs; "
            "name those that matter with --columns (columns)"
        )
    why = {name: table.why_not_grouped(name) or why_no_name(name, names) for name in wanted}
    used = tuple(name for name in wanted if why[name] is None)
    left_out = tuple((name, reason) for name, reason in why.items() if reason is not None)
    for name, reason in left_out:
        if columns is not None or (name in grouped and table.why_not_grouped(name) is not None):
            raise ParameterError(f"column {name!r}: {reason}; name others with --columns (columns)")
    if len(used) < 2:
        raise ParameterError(
            f"{table.description}: a dependency needs two columns that can be grouped and named, and there "
            f"{'is one' if used else 'is none'}"
        )
    return Candidates(used, left_out)


def _known(columns: Sequence[str], names: Sequence[str]) -> list[str]:
    if (
        isinstance(columns, str)
        or not isinstance(columns, Sequence)
        or not all(isinstance(name, str) for name in columns)
    ):
        raise ParameterError("columns must be a list of names of columns")
    spelled = {name.casefold(): name for name in names}
    found = []
    for column in columns:
        name = column if column in names else spelled.get(column.casefold())
        if name is None:
            raise ParameterError(f"there is no column {column!r}{nearest_words(column, names)}")
        if name in found:
            raise ParameterError(f"column {name!r} is named twice")
        found.append(name)
    return found


def scores(counts: DependencyCounts) -> tuple[list[int], list[int]]:
    """Return the scores of all dependencies, as `Candidates.dependencies`, and those of all keys. Private.

    Score of X -> Y, over the rows in which both have values: (n - maxY) - |X| - 2 g3, for n rows, maxY of them with the
    most frequent value of Y, |X| values of X and g3 rows that would have to go. It rewards what X explains of Y beyond
    a constant guess. Score of a key X: |X| - n, which is minus the rows that would have to go.

    Changes: one more row with a NULL in X or Y changes nothing. Any other lets n grow by 1 and maxY by 0 or 1. If its X
    is new, |X| grows by 1 and g3 by 0: the score changes by 0 or -1. Otherwise |X| stays and g3 grows by 0 or 1: it
    changes by 1 - {0, 1} - 2 {0, 1}. So it changes by -2 to 1, and the range of all changes is 3. For a key it is a new
    value (0) or not (-1): range 1. k rows of a unit, come or gone together, change a score by k such changes: k times
    the range.
    """
    found = []
    for pair in counts.pairs:
        for side in (pair.forth, pair.back):
            found.append((pair.rows - side.largest) - side.groups - 2 * (pair.rows - side.kept))
    return found, [each.values - each.rows for each in counts.values]


def keys_named(top: int) -> int:
    """Return how many keys are named beside `top` dependencies."""
    if isinstance(top, bool) or not isinstance(top, int) or not 1 <= top <= _MOST_NAMES:
        raise ParameterError(f"top must be a whole number from 1 to {_MOST_NAMES}")  # it may be too long to print
    return -(-top // _DEPENDENCIES_PER_KEY)


@dataclass(frozen=True)
class Discovery:
    """A discovery, checked and ready for its debit (implements `dpdb.release.AnswerRun`).

    On a zcdp ledger the shares are in rho: a name with Gumbel noise, of the scale that its share of epsilon buys of
    exponential noise, has that share as its bounded range and costs an eighth of its square (`rho_of_choice`).
    """

    charge: Charge
    candidates: Candidates
    dependency_shares: tuple[int, ...]
    key_shares: tuple[int, ...]
    unit_words: str
    epsilon: int

    def load(self) -> None:
        """Load the samplers and the code of the counts. Reads no row."""
        from dpdb.engine import count_dependencies  # noqa: F401 - loads its module, before the debit

        check_samplers(gaussian=self.charge.rho is not None)

    def rehearse(self, slices: PrivateSlices) -> None:
        """Count no pairs."""
        slices.dependencies(self.candidates.columns, self.candidates.pairs)

    def draw(self, slices: PrivateSlices, progress: Progress) -> str:
        """Count all pairs, choose names, and return these as JSON."""
        counts = slices.dependencies(self.candidates.columns, self.candidates.pairs)
        progress("drawing noise")
        return self._named(counts).to_json()

    def _named(self, counts: DependencyCounts) -> DiscoveredRules:
        of_dependencies, of_keys = scores(counts)
        k, dependencies = self.charge.rows, self.candidates.dependencies
        low, high = (k * end for end in _DEPENDENCY_CHANGE)
        paid: Literal["epsilon", "rho"] = "epsilon" if self.charge.rho is None else "rho"
        found = peeled(of_dependencies, low, high, self.dependency_shares, paid=paid)
        low, high = (k * end for end in _KEY_CHANGE)
        keys = peeled(of_keys, low, high, self.key_shares, paid=paid)
        return DiscoveredRules(
            tuple(dependencies[place] for place in found),
            tuple(self.candidates.columns[place] for place in keys),
            len(dependencies),
            len(of_keys),
            self.candidates.left_out,
            as_float(self.epsilon),
            self.unit_words,
            f"{self.charge.promise} for adding or removing {self.unit_words}, for any unknown number of rows; covers "
            "the names and their order",
            self.charge.run_id,
            None if self.charge.rho is None else rho_as_float(self.charge.rho),
        )


def prepare_discovery(
    session: Session,
    *,
    top: int = 10,
    epsilon: Epsilon = 1,
    columns: Sequence[str] | None = None,
    run_id: str | None = None,
    label: str | None = None,
) -> Discovery:
    """Check everything public about a discovery; the result has its charge. Reads no row, spends nothing.

    Parameters
    ----------
    top : int
        How many dependencies are named, if there are as many candidates; and a tenth as many keys, rounded up.
    epsilon : number
        What all names cost together: nine tenths in equal parts for the dependencies, one for the keys.
    columns : sequence of str, optional
        The columns that are paired, chosen without looking at the data; by default all.

    Raises
    ------
    ParameterError
        If a parameter is out of range, the columns are fewer than two or too many, or one cannot be used.
    """
    keys = keys_named(top)
    table, charged = session.public, parse_epsilon(epsilon)
    if table.unit.children is not None:
        raise ParameterError("discover has no form for max_children: protect rows, or a unit with max_rows")
    candidates = candidates_of(table.opened, columns)
    names = min(top, len(candidates.dependencies))
    keys = min(keys, len(candidates.columns))
    dependencies_share, keys_share = split(charged, _WEIGHTS)
    shares = split(dependencies_share, [1] * names), split(keys_share, [1] * keys)
    for share in (*shares[0], *shares[1]):
        parse_share(share, table.unit.rows)
    if session.has_ledger:
        run_id = run_id or new_run_id("discover")
    request = {
        "discover": list(candidates.columns),
        "epsilon": format_epsilon(charged),
        "top": names,
        "keys_named": keys,
        **table.unit.public,
    }
    rows = parse_slices(table.opened, None, None, None).charged
    charge = Charge(
        (*shares[0], *shares[1]),  # fixed in advance, each pure whatever the names before it: parts of the call
        table.unit.rows,
        rows,
        request,
        run_id,
        label=label,
        not_in_gdp=_NOT_IN_GDP,
    )
    of_names, of_keys = (_in(session.notion, each) for each in shares)
    if session.notion is ZCDP:
        charge = replace(charge, parts=(), rho=sum((*of_names, *of_keys)))
    return Discovery(charge, candidates, of_names, of_keys, table.unit.words, charged)


def _in(notion: Notion, shares: Sequence[int]) -> tuple[int, ...]:
    """Return the shares of rounds as the account pays them."""
    return tuple(map(rho_of_choice, shares)) if notion is ZCDP else tuple(shares)


def discover(session: Session, run: Discovery) -> DiscoveredRules:
    """Make a prepared discovery, or return the recorded one of its run.

    Raises
    ------
    DpdbError
        As `Session.release`; a run that was killed is finished by the same run id.
    """
    found = recorded_discovery(session.release_answer(run))
    assert found is not None, "it is recorded as it was drawn"
    return found


@dataclass(frozen=True)
class ExactScore:
    """A rule and what it would take to hold. Not private.

    Attributes
    ----------
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
    non_private : bool
        Must be True: the owner states that exact values may be shown.

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
