"""`prepare_comparison`: everything public about a comparison of two tables; `run_comparison`: debits, noise, releases.

**The unit** decides over the noise (`dpdb.measures.compared` has the proof). With rows as units one row of either table
comes or goes, or the `rows_per_person` rows of one person, each at a part of epsilon. With the key as the unit
(`unit=`) it comes or goes with all its rows of both tables, which costs less noise; then both ledgers are bound to the
key with its rows in the other table. Sessions that were opened for one table alone protect a key that leaves that
table alone, at the noise of a row. Another unit would have any number of keys, and is refused.

A key as the unit is compared by all its rows, also beyond the `max_rows` of its ledger: it counts once, however many it
has. The ledger's sum holds beside releases of at most k rows of each key. Let v be a key, and r the one of those rows
that collects most from these releases (any row that v could have, if it has none): they cost v at most what r collects.
A comparison covers r if and only if `where` selects v, because it reads the key alone. So v loses at most what the
accountant counts for r.

**`where` reads the key alone.** A key then has all its rows in the slice or none, on both sides. Else a row whose other
columns were changed would leave the slice on one side, and its key would be said to be missing there. And a key with
rows in two slices would pay once for both, where the accountant takes slices as disjoint: that is sound for rows, and
not for keys, which count with all their rows.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import get_args

from dpdb._version import __version__
from dpdb.engine import ComparedColumns, Progress, Side, no_progress
from dpdb.errors import ParameterError
from dpdb.measures import COMPARED, Answer, noisy_differences, sensitivity_of
from dpdb.privacy import as_float, check_samplers, format_epsilon, laplace_scale, laplace_tail
from dpdb.reconciliation.ask import ComparisonAsk
from dpdb.reconciliation.tables import ComparedTables, changes_of_unit
from dpdb.release import (
    KEYS,
    Charge,
    PrivacyUnit,
    PrivateSlices,
    PublicTable,
    Release,
    Releases,
    Session,
    constraints_digest,
    new_release_id,
    new_run_id,
    parse_share,
    recorded_releases,
)

_NAMED = 8
"""From so many columns on they are named by a digest, so that no estimand is long."""


@dataclass(frozen=True)
class PreparedComparison:
    """A comparison, checked and ready for its debits (implements `dpdb.release.pair.PairRun`).

    Attributes
    ----------
    between : ComparedTables
        What is compared, of which keys.
    tables : (PublicTable, PublicTable)
        The left one first.
    charges : (Charge, Charge)
    per_row : int
        Nano-epsilon that the noise is drawn for, for each change of `sensitivity`.
    """

    ask: ComparisonAsk
    between: ComparedTables
    tables: tuple[PublicTable, PublicTable]
    charges: tuple[Charge, Charge]
    per_row: int

    @property
    def columns(self) -> ComparedColumns:
        """What is compared, in which types."""
        return self.between.columns

    @property
    def unit(self) -> PrivacyUnit:
        """The unit of the left table, which is that of the right one."""
        return self.tables[0].unit

    @property
    def named(self) -> tuple[str, ...]:
        """The columns that have a number of their own."""
        return tuple(column.name for column in self.columns.values) if self.ask.each_column else ()

    @property
    def sensitivity(self) -> int:
        """By how much one change moves all numbers together."""
        return sensitivity_of(len(self.named), whole_keys=self.unit.is_compared)

    @property
    def scale(self) -> float:
        """The scale of the noise of each number, in keys."""
        return laplace_scale(self.sensitivity, self.per_row)

    @property
    def half_width(self) -> int:
        """How far the bounds of each number are from it, in keys."""
        return laplace_tail(self.scale, (1 - self.ask.confidence) / 2)

    def load(self) -> None:
        """Load the samplers. Reads no row."""
        check_samplers(gaussian=False)

    def rehearse(self, side: Side, slices: PrivateSlices) -> None:
        """Ask of a side's table without rows what the draw will ask."""
        self.between.rehearse(side, slices)

    def draw(self, left: PrivateSlices, right: PrivateSlices, progress: Progress = no_progress) -> str:
        """Count the keys of both tables, draw all noise once, and return the releases as JSON."""
        found = self.between.count(left, right, each_column=self.ask.each_column, progress=progress)
        progress("drawing noise")
        answers = noisy_differences(
            found.numbers,
            self.estimands,
            sensitivity=self.sensitivity,
            epsilon=self.per_row,
            beta=1 - self.ask.confidence,
        )
        return json.dumps([release.to_dict() for release in map(self._release, self._measured, answers)])

    @property
    def _measured(self) -> list[tuple[str, str | None]]:
        """The name of each number, and its column."""
        return [*((name, None) for name in COMPARED), *((COMPARED[-1], name) for name in self.named)]

    @property
    def estimands(self) -> tuple[str, ...]:
        """What each number is, in their order."""
        key = ", ".join(column.name for column in self.columns.key)
        keys = f"number of values of ({key}), NULL in none of its columns, "
        both = f"{keys}that have rows in both tables and not the same ones as often, compared by "
        values = [column.name for column in self.columns.values]
        compared = f"({', '.join(values)})"
        if len(values) > _NAMED:
            digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()[:16]
            compared = f"{len(values)} columns (sha256 {digest}...)"
        found = [
            f"{keys}that have a row in the right table and none in the left one",
            f"{keys}that have a row in the left table and none in the right one",
            f"{both}{compared if values else 'their number alone'}",
            *(f"{both}({name})" for name in self.named),
        ]
        return tuple(found)

    @property
    def unit_words(self) -> str:
        """What is added or removed between neighbours, in words."""
        unit = self.unit
        if unit.column is not None:
            where = "both tables" if unit.is_compared else "either table"
            return f"one value of {unit.column} with all its rows in {where}"
        return "one row of either table" if unit.rows == 1 else f"up to {unit.rows} rows of one person in both tables"

    @property
    def guarantee(self) -> str:
        """The guarantee of all numbers."""
        return (
            f"together with the releases of the same call, {self.charges[0].promise} for adding or removing "
            f"{self.unit_words}, for any unknown number of rows; covers the value, its bounds and the noise scale"
        )

    def _release(self, measured: tuple[str, str | None], answer: Answer) -> Release:
        name, column = measured
        whole = {
            each: int(value)
            for each in ("value", "lower", "upper", "raw", "estimate_lower", "estimate_upper")
            if (value := getattr(answer, each)) is not None
        }
        return Release(
            **vars(answer) | whole,
            measure=name,
            confidence=self.ask.confidence,
            epsilon=as_float(self.ask.charged),
            mechanism="laplace",
            where=self.between.slices[0].words,
            constraints_sha256=constraints_digest(()),
            guarantee=self.guarantee,
            release_id=new_release_id(),
            version=__version__,
            quantity=KEYS,
            constraint=column,
            unit=self.unit_words,
        )

    @property
    def words(self) -> list[str]:
        """What will be released, how exactly, and what it costs: public, before anything is spent."""
        key, values = (
            ", ".join(each.words for each in part) or "nothing" for part in (self.columns.key, self.columns.values)
        )
        numbers = 3 + len(self.named)
        return [
            f"keys: {key}; compared: {values}",
            f"{numbers} numbers, each within {self.half_width:,} keys of the truth ({self.ask.confidence * 100:.6g}% "
            f"sure); noise scale {self.scale:.4g}, as one change moves all of them together by at most "
            f"{self.sensitivity}",
            f"unit: {self.unit_words}",
            "NULL equals NULL, NaN equals NaN, -0.0 equals 0.0; keys with a NULL are counted nowhere",
            f"cost: epsilon {format_epsilon(self.ask.charged)} of either table",
        ]


def run_comparison(left: Session, right: Session, prepared: PreparedComparison) -> Releases:
    """Make a prepared comparison of two sessions' tables, or return the recorded answer of its run.

    Raises
    ------
    DpdbError
        As `Session.release`, of either side; a run that was killed is finished by the same run id, at no further cost.
    """
    return recorded_releases(left.release_with(right, prepared))


def prepare_comparison(
    left: Session, right: Session, ask: ComparisonAsk, *, who: str | None = None
) -> PreparedComparison:
    """Check everything public about a comparison; the result has its charges. Reads no row, spends nothing.

    Parameters
    ----------
    left, right
        Of the tables, each with its account.
    ask
        What is compared.
    who
        Who asks, as the owner calls him.

    Raises
    ------
    ParameterError, PredicateError, UnknownColumnError
        If the ask does not fit the tables.
    """
    if left is right:
        raise ParameterError("both sides are one session: a table does not differ from itself")
    tables = left.public, right.public
    between = ComparedTables.of(left, right, ask.keys, ask.compared, ask.where)
    columns, slices = between.columns, between.slices
    rows = changes_of_unit(tables[0].unit, tables[1].unit, columns)
    if ask.run_id is not None and not (left.has_ledger and right.has_ledger):
        raise ParameterError("run_id needs a ledger of either table: both remember what a run has answered")
    run_id = ask.run_id
    if run_id is None and left.has_ledger and right.has_ledger:
        run_id = new_run_id("compare")
    asked = {
        "comparison": [column.name for column in columns.key],
        "columns": [column.name for column in columns.values],
        "compared_as": [column.kind for column in (*columns.key, *columns.values)],
        "each_column": ask.each_column,
        "epsilon": format_epsilon(ask.charged),
        "where": ask.where,
        "confidence": ask.confidence,
        "ledgers": [left.account_name, right.account_name],
    }
    charges = [
        Charge(
            (ask.charged,),
            table.unit.rows,
            one.charged,
            {**asked, "side": side, **table.unit.public},
            run_id,
            label=ask.label,
            who=who,
        )
        for side, table, one in zip(get_args(Side), tables, slices, strict=True)
    ]
    per_row = parse_share(ask.charged, rows)
    return PreparedComparison(ask, between, tables, (charges[0], charges[1]), per_row)
