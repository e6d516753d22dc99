"""Tables that a suite compares with its own, as checks: keys missing on either side, and keys whose rows differ.

**Sensitivity.** Each of the three numbers (`dpdb.measures.compared`) counts a key once. One row of either table belongs
to one key at most, and moves it out of one class into another one: each number changes by **-1 to 1**. A person with r
rows changes it by -r to r. A key that leaves a table with all its rows there is one key, so -1 to 1 again, however many
rows it has. A test asks of its own number alone by how much one unit moves it, so numbers of one comparison need no
sum (`dpdb.suites.mechanism.levels`); where each check has a number, the sum over all of them is charged.

Where only some rows of a key are used (`max_children`), or of a unit, a comparison still reads all rows of both tables.
A row of a parent changes none of them.

**Both ledgers.** The suite is a function of both tables. Everything else in it reads its own table, so a row of the
other one moves these numbers alone. What a transcript proves to have been lost bounds the loss of a unit of either
table: the other one's ledger is debited before either is read, and settled at the same cost (`dpdb.release.pair`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from dpdb.constraints import KEYS_MISSING_LEFT, KEYS_MISSING_RIGHT, ComparedWith, Limit
from dpdb.errors import DpdbError, ParameterError
from dpdb.reconciliation import ComparedTables, refuse_reached_units
from dpdb.suites.mechanism.plan import Tested
from dpdb.suites.suite import Suite, SuiteLine

if TYPE_CHECKING:
    from dpdb.engine import ComparedColumns
    from dpdb.release import PrivacyUnit, PrivateSlices, Session


@dataclass(frozen=True)
class ComparedLine:
    """What one line compares.

    Attributes
    ----------
    name : str
        Of the other table, as lines call it.
    other : PrivateSlices
        Of that table.
    unit : PrivacyUnit
        The other table's.
    reach : int
        How many keys one unit of either table moves at most.
    pays : bool
        Whether the other table is private, and its account pays, too.
    """

    name: str
    tables: ComparedTables
    other: PrivateSlices
    unit: PrivacyUnit
    reach: int
    pays: bool

    @classmethod
    def of(cls, session: Session, line: SuiteLine, said: ComparedWith) -> Self:
        """Find what a line compares. Reads no row.

        Raises
        ------
        DpdbError
            If it cannot be compared; the message names the check.
        """
        try:
            other = session.other_table(said.table)
            columns = None if said.columns is None else [_written(*pair) for pair in said.columns]
            tables = ComparedTables.of(session, other, [_written(*pair) for pair in said.key], columns, line.where)
            public, slices = other.side()
            reach = max(
                _keys_moved(session.public.unit, tables.columns, "left"),
                _keys_moved(public.unit, tables.columns, "right"),
            )
        except DpdbError as error:
            raise type(error)(f"check {line.name!r}: {error}") from None
        return cls(said.table, tables, slices, public.unit, reach, session.is_private(said.table))

    def tested(self, line: SuiteLine, limit: Limit) -> Tested:
        """Return what is tested of a limit; the module has the proof."""
        return tested_keys(line, limit, self.reach)

    @property
    def public(self) -> dict[str, Any]:
        """What is compared, for a request."""
        columns = self.tables.columns
        return {
            "table": self.name.casefold(),
            "key": [[column.name, column.kind] for column in columns.key],
            "columns": [[column.name, column.kind] for column in columns.values],
            "where": self.tables.slices[0].words,
        }

    def counts(self, own: PrivateSlices) -> dict[str, int]:
        """Return the number of each statistic. Private."""
        found = self.tables.count(own, self.other, each_column=False)
        return dict(zip(_STATISTICS, found.numbers, strict=True))


_STATISTICS = (KEYS_MISSING_LEFT, KEYS_MISSING_RIGHT, "keys that differ")


def compared_lines(session: Session, suite: Suite) -> dict[int, ComparedLine]:
    """Return what the lines of a suite compare, by their places; each comparison that several lines make once."""
    found: dict[int, ComparedLine] = {}
    known: dict[tuple[ComparedWith, str | None], ComparedLine] = {}
    for place, line in enumerate(suite.lines):
        if line.other is not None:
            key = line.other, line.where
            if key not in known:
                known[key] = ComparedLine.of(session, line, line.other)
            found[place] = known[key]
    return found


def tested_keys(line: SuiteLine, limit: Limit, reach: int) -> Tested:
    """Return what is tested of a number of keys, of which one unit moves some in or out; the module has the proof.

    Parameters
    ----------
    reach
        How many.
    """
    return Tested(
        low=Fraction(-reach),
        high=Fraction(reach),
        direction=limit.direction,
        limit=limit.amount,
        severity=limit.severity,
        name=line.name,
        both_ways=True,
    )


def refuse_slices(compared: Mapping[int, ComparedLine], suite: Suite, asked: Mapping[str, Any]) -> None:
    """Raise `ParameterError` if a run of some rows compares tables: a key has all its rows in a slice, or none."""
    if not compared:
        return
    for name, value in asked.items():
        if value is not None:
            raise ParameterError(
                f"check {suite.lines[min(compared)].name!r} compares two tables, and {name} is of the rows of one: "
                "leave it out, and write WHERE in the line, over columns of the key"
            )


def _written(own: str, theirs: str) -> str:
    return own if own == theirs else f"{own}={theirs}"


def _keys_moved(unit: PrivacyUnit, columns: ComparedColumns, side: str) -> int:
    """Return how many keys one unit of a table moves at most."""
    refuse_reached_units(unit)
    if unit.column is None:
        return unit.rows if unit.children is None else unit.children.rows_per_person
    key = [getattr(column, side).name for column in columns.key]
    if key != [unit.column]:
        raise ParameterError(
            f"a unit ({unit.column}) may have any number of keys ({', '.join(key)}): compare by the unit, or protect a "
            "person's rows with a bound of them (--rows-per-person, rows_per_person=)"
        )
    return 1
