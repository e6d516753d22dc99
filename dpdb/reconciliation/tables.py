"""`ComparedTables`: two opened tables, what is compared of them, and how many keys they do not agree on."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from dpdb.engine import (
    ComparedColumns,
    Differences,
    MachineLimits,
    Progress,
    Side,
    count_differences,
    no_progress,
    own_database,
)
from dpdb.errors import ParameterError
from dpdb.files.new_file import WorkFolder
from dpdb.release import PrivacyUnit, PrivateSlices, Session, Slices, parse_slices


@dataclass(frozen=True)
class ComparedTables:
    """What is compared of two tables.

    Attributes
    ----------
    columns : ComparedColumns
        Key and values, in which types.
    slices : (Slices, Slices)
        The keys that are compared, as the left and the right table select them.
    limits : MachineLimits
        Of the database in which both meet.
    """

    columns: ComparedColumns
    slices: tuple[Slices, Slices]
    limits: MachineLimits

    @classmethod
    def of(
        cls, left: Session, right: Session, key: Sequence[str], columns: Sequence[str] | None, where: str | None
    ) -> ComparedTables:
        """Find columns and keys. Reads no row.

        Parameters
        ----------
        key, columns
            As of `ComparedColumns.of`.
        where
            Condition over columns of the key, with the left table's names.

        Raises
        ------
        ParameterError, PredicateError, UnknownColumnError
            If the tables have no such columns, or their types are not compared.
        """
        tables = [left.public.opened, right.public.opened]
        found = ComparedColumns.of(tables[0].schema, tables[1].schema, key, columns)
        one, other = (
            parse_slices(table, None if where is None else found.where_of(side, where), None, None)
            for side, table in zip(get_args(Side), tables, strict=True)
        )
        for table in tables:
            table.admit_compared()
        return cls(found, (one, other), left.machine_limits)

    def rehearse(self, side: Side, slices: PrivateSlices) -> None:
        """Ask of a side's table without rows what `count` will ask."""
        with closing(WorkFolder(self.limits.temp_directory)) as folder:
            self._write(side, slices, folder.path)

    def count(
        self, left: PrivateSlices, right: PrivateSlices, *, each_column: bool, progress: Progress = no_progress
    ) -> Differences:
        """Count the keys on which the rows of both tables do not agree. Private."""
        with own_database(self.limits) as database:
            paths = self._write("left", left, database.directory), self._write("right", right, database.directory)
            progress("comparing keys")
            return count_differences(self.columns, *paths, database, each_column=each_column)

    def _write(self, side: Side, slices: PrivateSlices, folder: Path) -> Path:
        path = folder / f"{side}.duckdb"
        [predicate] = self.slices[side == "right"].predicates
        slices.write_compared(self.columns, side, predicate, path)
        return path


def changes_of_unit(left: PrivacyUnit, right: PrivacyUnit, columns: ComparedColumns) -> int:
    """Refuse units that the proof does not cover; return by how many changes one unit moves the numbers.

    Raises
    ------
    ParameterError
        If a unit may have any number of keys, or is reached through other tables.
    """
    if (
        left.children is not None
        or right.children is not None
        or any(unit.parents and not unit.is_compared for unit in (left, right))
    ):
        raise ParameterError("a comparison does not go with private parents: a unit there moves rows of several tables")
    refuse_reached_units(left, right)
    if left.column is None and right.column is None:
        if left.rows != right.rows:
            raise ParameterError(
                f"the left table has {left.rows} rows per person and the right one {right.rows}; give both the same "
                "bound, of a person's rows in both tables (--rows-per-person, rows_per_person=)"
            )
        return left.rows
    key = columns.key[0]
    wanted = (key.left.name, key.right.name) if len(columns.key) == 1 else (None, None)
    if (left.column, right.column) != wanted or left.is_compared != right.is_compared:
        named = ", ".join(column.name for column in columns.key)
        raise ParameterError(
            f"the unit of a comparison is a row, or the key itself in both tables ({named}, if it is one column): "
            "another unit may have any number of keys; protect a person's rows with a bound of them "
            "(--rows-per-person, rows_per_person=)"
        )
    return 1


def refuse_reached_units(*units: PrivacyUnit) -> None:
    """Raise `ParameterError` if a unit is reached through other tables."""
    if any(unit.path is not None for unit in units):
        raise ParameterError(
            "a comparison has no unit that is reached through other tables: it compares tables as they are"
        )
