"""The tables of a set, and the lines of their suites that can be checked: names and schemas, both public, decide.

A line is left out, with the reason, where its table, a column or a table that it looks into is missing: sites have
other tables than a common suite knows. Nothing else is left out without an error.

The tables may be in another engine, too: a schema of PostgreSQL or Spark, or a folder that Spark reads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from dpdb.constraints import (
    ComparedWith,
    DenialConstraint,
    UnitPath,
    condition_with_members,
    load_constraints,
    unit_path,
)
from dpdb.engine import TableSpec
from dpdb.errors import ForeignRuleError, ParameterError, SourceError
from dpdb.names import listed_names
from dpdb.opening import empty_table, is_remote, open_remote_table, open_set
from dpdb.schema import Column, TableSchema
from dpdb.suites.counted import RulePlaces
from dpdb.suites.suite import Suite, SuiteLine, load_suite, moment_of

if TYPE_CHECKING:
    from dpdb.remote import RemoteSet

_ENDING = ".suite.txt"
_FILES = (".parquet", ".csv")


@dataclass(frozen=True)
class NotChecked:
    """A check that is not run, and the public reason."""

    name: str
    reason: str


@dataclass(frozen=True)
class Member:
    """A table of the set that is checked.

    Attributes
    ----------
    suite : Suite
        The lines that can be checked, with the table's own spelling of its columns.
    public, private : tuple of str
        The tables that they look into, as the lines call them; and those that lead to the unit.
    unit : str or None
        The column of the table whose values own its rows, or the keys that lead to it; None where tables stand apart.
    compared : tuple of str
        The tables that its lines compare with it, as they call them.
    """

    name: str
    schema: TableSchema
    suite: Suite
    public: tuple[str, ...]
    private: tuple[str, ...]
    unit: str | None = None
    compared: tuple[str, ...] = ()

    @property
    def types(self) -> dict[str, str]:
        """The declared types of the table's columns."""
        return types_of(self.schema)

    def parents(self, tables: TableFolder | RemoteTables) -> dict[str, Any]:
        """Return the settings that declare these tables."""
        return {
            f"{kind}_parents": {tables.spelled(name): tables.beside(name) for name in names}
            for kind, names in (("public", self.public), ("private", self.private))
        }


class TableFolder:
    """Where the tables of a set are: files of a folder, or tables of a DuckDB file.

    Parameters
    ----------
    given
        Sources of tables that are elsewhere, by name.
    """

    def __init__(self, place: str | Path, given: Mapping[str, str | None]) -> None:
        self.place = Path(place)
        if not self.place.exists():
            raise SourceError(f"{place}: no such file or folder")
        self._given = {name.casefold(): source for name, source in given.items() if source is not None}
        self._files = self._listed() if self.place.is_dir() else None
        self._schemas: dict[str, TableSchema | None] = {}

    def _listed(self) -> dict[str, Path]:
        found: dict[str, Path] = {}
        for path in sorted(self.place.iterdir()):
            if path.is_dir() or path.suffix.lower() in _FILES:
                name = (path.name if path.is_dir() else path.stem).casefold()
                if name in found:
                    raise ParameterError(f"{self.place} has two tables of one name: {found[name].name}, {path.name}")
                found[name] = path
        return found

    def source(self, name: str) -> tuple[str, str | None]:
        """Return where a table is, and its name there if that is a database."""
        key = name.casefold()
        if key in self._given:
            return self._given[key], None
        return (str(self.place), name) if self._files is None else (str(self._files[key]), None)

    def beside(self, name: str) -> str | None:
        """Return the source of a table for rules of another one; None if it is a table of the same database."""
        source, table = self.source(name)
        return None if table is not None else source

    def spelled(self, name: str) -> str:
        """Return the name as it is: of files and of DuckDB's tables letters have no case."""
        return name

    def refused(self, name: str, lines: list[SuiteLine], parents: dict[str, Any]) -> dict[int, str]:
        """Return nothing: our own engine counts every line."""
        del name, lines, parents
        return {}

    def close(self) -> None:
        """Keep nothing open."""

    def schema(self, name: str) -> TableSchema | None:
        """Return the columns of a table, None if there is no such table. Reads no row."""
        key = name.casefold()
        if key not in self._schemas:
            self._schemas[key] = self._described(name)
        return self._schemas[key]

    def _described(self, name: str) -> TableSchema | None:
        if self._files is not None and name.casefold() not in {*self._files, *self._given}:
            return None
        source, table = self.source(name)
        try:
            with empty_table(TableSpec(source, table=table)) as found:
                return found.schema
        except SourceError as error:
            if table is not None and "no table" in str(error):
                return None
            raise


@dataclass(frozen=True)
class SetUnit:
    """The unit of a set of tables: a column that all have, or keys that lead from each to the one that has it."""

    text: str
    path: UnitPath | None

    @classmethod
    def of(cls, text: str) -> SetUnit:
        """Read it. Errors as `unit_path`."""
        return cls(text, unit_path(text))

    def in_table(self, name: str, schema: TableSchema) -> str | None:
        """Return the unit of one table: its column, or the keys that lead to it; None if its rows are nobody's."""
        if self.path is None:
            return self.text if _has(schema, self.text) else None
        try:
            start = self.path.starting_at(name)
        except ParameterError:
            return None
        return start if isinstance(start, str) else start.written()

    def tables_of(self, own: str | None) -> tuple[str, ...]:
        """Return the tables that lead to the unit from a table with this unit."""
        path = None if own is None else unit_path(own)
        return () if path is None else path.tables

    def leaves_with(self, parent: str, column: str) -> bool:
        """Return whether the rows of a private parent that have a unit's value in a column are its own, or nobody's.

        Then no row of another unit loses one of them when the unit leaves.
        """
        if self.path is None:
            return column.casefold() == self.text.casefold()
        start = self.path.starting_at(parent)
        if isinstance(start, str):
            return column.casefold() == start.casefold()
        [first, *more] = start.steps
        ends = [name.casefold() for name in (*first.columns, *first.parent_columns)]
        return not more and ends == [column.casefold(), start.column.casefold()]


def members_of(
    tables: TableFolder | RemoteTables,
    suites: Path,
    unit: SetUnit | None,
    public: Sequence[str],
    day: date | str | None,
) -> tuple[list[Member], list[NotChecked]]:
    """Return the tables that are checked, in the order of their names, and the checks that are not run.

    Parameters
    ----------
    suites
        A folder with a file `T.suite.txt` for each table.
    unit
        Whose rows are protected in all of them; None where each table stands for itself.
    public
        Names of the tables that are declared public.
    day
        What `{date}` stands for.

    Raises
    ------
    ParameterError
        If the folder has no suites, no line can be checked, or a line looks into a table that owners have no rows of
        and that is not declared public.
    DpdbError
        If a suite or a table cannot be read.
    """
    files = sorted(path for path in suites.iterdir() if path.name.endswith(_ENDING))
    if not files:
        raise ParameterError(f"{suites} has no file that ends in {_ENDING}")
    names = [path.name.removesuffix(_ENDING) for path in files]
    choice = _Choice(tables, unit, {name.casefold() for name in public})
    for name in names if unit is None else ():
        if name.casefold() in choice.public:
            raise ParameterError(f"{name} has a suite of its own, so its rows are protected: it cannot be public")
    members = [choice.member(name, load_suite(path, date=day)) for name, path in zip(names, files, strict=True)]
    chosen = [member for member in members if member is not None]
    if not chosen:
        reasons = listed_names([f"{each.name}: {each.reason}" for each in choice.left_out])
        raise ParameterError(f"no check of {suites} can be run on {tables.place} ({reasons})")
    return chosen, choice.left_out


_OF_COLUMNS = "it is about the columns: check the table by itself, which costs nothing for it"


class _Choice:
    """Chooses the lines that can be checked."""

    def __init__(self, tables: TableFolder | RemoteTables, unit: SetUnit | None, public: set[str]) -> None:
        self._tables, self._unit, self.public = tables, unit, public
        self.left_out: list[NotChecked] = []

    def member(self, name: str, suite: Suite) -> Member | None:
        """Return a table with the lines of its suite that can be checked; None if there is none."""
        schema = self._tables.schema(name)
        columns = suite.schema if self._unit is None else ()  # of a table by itself they are checked
        self.left_out += [NotChecked(check.name, _OF_COLUMNS) for check in suite.schema if not columns]
        why = f"there is no table {name}" if schema is None else None
        own = None if self._unit is None or schema is None else self._unit.in_table(name, schema)
        if schema is not None and self._unit is not None and own is None:
            lacks = f"has no column {self._unit.text}" if self._unit.path is None else "has no step to the unit"
            why = f"{name} {lacks}: nobody's rows are added to it or removed with a unit"
        if why is not None or schema is None:
            self.left_out += [NotChecked(line.name, why or "") for line in suite.lines]
            return None
        self._refuse_undeclared(name, schema)
        schema = self._with_unit(schema, own)
        lines: list[SuiteLine] = []
        compared: dict[str, str] = {}
        parents: dict[str, str] = {}  # as a line calls it, by the name that compares: SQL's names have no case
        for line in suite.lines:
            reason = self._why_not(line, schema)
            if reason is None:
                lines.append(_in_spelling(line, schema))
                if line.other is not None:
                    compared.setdefault(line.other.table.casefold(), line.other.table)
                for rule in line.rule.inclusions if line.rule else ():
                    parents.setdefault(rule.parent.casefold(), rule.parent)
            else:
                self.left_out.append(NotChecked(line.name, reason))
        if not lines and not columns:
            return None
        public = tuple(sorted(parents[key] for key in parents if key in self.public))
        for table in () if self._unit is None else self._unit.tables_of(own):
            parents.setdefault(table.casefold(), table)
        private = tuple(sorted(parents[key] for key in parents if key not in self.public))
        others = tuple(compared[key] for key in sorted(compared))
        made = Member(name, schema, Suite(tuple(lines), columns), public, private, own, others)
        asked = [*made.suite.at(moment_of(None), made.types).lines]  # every moment is asked alike
        refused = self._tables.refused(name, asked, made.parents(self._tables))
        self.left_out += [NotChecked(lines[place].name, reason) for place, reason in refused.items()]
        kept = tuple(line for place, line in enumerate(lines) if place not in refused)
        return replace(made, suite=Suite(kept, columns)) if kept or columns else None

    def _with_unit(self, schema: TableSchema, own: str | None) -> TableSchema:
        """Return the columns of a table as it is read: where keys lead to its unit, this is one of them."""
        path = None if own is None else unit_path(own)
        last = None if path is None else self._tables.schema(path.last)
        if path is None or last is None or not _has(last, path.column):
            return schema
        [kind] = [each.declared_type for each in last.columns if each.name.casefold() == path.column.casefold()]
        return TableSchema((*schema.columns, Column(path.unit, kind)))

    def _why_not(self, line: SuiteLine, schema: TableSchema) -> str | None:
        """Return why a line cannot be checked; None if it can."""
        if line.other is not None:
            return self._why_not_compared(line, line.other, schema)
        if line.rule is None:
            lacks = line.fresh is not None and not _has(schema, line.fresh.column)
            return f"there is no column {line.fresh.column}" if lacks and line.fresh else None
        missing = [name for name in line.rule.table_columns if not _has(schema, name)]
        if missing:
            return f"there is no column {listed_names(missing)}"
        for rule in line.rule.inclusions:
            parent = self._tables.schema(rule.parent)
            if parent is None:
                return f"there is no table {rule.parent}"
            named = rule.parents_columns  # a look-up names more than its key
            missing = [name for name in named if not _has(parent, name)]
            if missing:
                return f"{rule.parent} has no column {listed_names(missing)}"
            self._refuse_undeclared(rule.parent, parent)
        return None

    def _why_not_compared(self, line: SuiteLine, said: ComparedWith, schema: TableSchema) -> str | None:
        if self._unit is not None:
            raise ParameterError(
                f"check {line.name!r}: tables with one unit are not compared, as their ledger is that of the unit; "
                "check them apart, each with its own ledger (without --unit)"
            )
        other = self._tables.schema(said.table)
        if other is None:
            return f"there is no table {said.table}"
        pairs = [*said.key, *(said.columns or ())]
        missing = [own for own, _ in pairs if not _has(schema, own)]
        if missing:
            return f"there is no column {listed_names(missing)}"
        missing = [theirs for _, theirs in pairs if not _has(other, theirs)]
        return f"{said.table} has no column {listed_names(missing)}" if missing else None

    def _refuse_undeclared(self, name: str, schema: TableSchema) -> None:
        if self._unit is None:
            return
        is_public, is_owned = name.casefold() in self.public, self._unit.in_table(name, schema) is not None
        if is_public and is_owned:
            raise ParameterError(
                f"{name} has rows of units ({self._unit.text}), which are protected: it cannot be public"
            )
        if not is_public and not is_owned:
            raise ParameterError(
                f"{name} has no column {self._unit.text}: if everybody may know its keys, declare it: "
                f"--public-parent {name}"
            )


def types_of(schema: TableSchema) -> dict[str, str]:
    """Return the declared types of a table's columns, by name."""
    return {column.name: column.declared_type for column in schema.columns}


def _has(schema: TableSchema, name: str) -> bool:
    return name in schema.names or [each.casefold() for each in schema.names].count(name.casefold()) == 1


def _in_spelling(line: SuiteLine, schema: TableSchema) -> SuiteLine:
    if line.rule is None:
        return line
    return replace(line, rule=load_constraints([line.rule], schema.names)[0])


class RemoteTables:
    """Where the tables of a set are; see `dpdb.suites.tables.members.TableFolder`.

    Parameters
    ----------
    given
        The public parents, which lie in the same place.
    """

    def __init__(self, place: str, table: str | None, given: Mapping[str, str | None]) -> None:
        elsewhere = [name for name, source in given.items() if source is not None]
        if elsewhere:
            raise ParameterError(
                f"parent {elsewhere[0]!r}: beside tables of another engine parents are tables of the same schema: name "
                f"it alone (--public-parent {elsewhere[0]}), or make a view of it there"
            )
        self.opened: RemoteSet = open_set(place, _schema_of(table))
        self.place = self.opened.description
        self._found: dict[str, tuple[str, TableSchema] | None] = {}

    def source(self, name: str) -> tuple[RemoteSet, str]:
        """Return the set, and how the table is spelled there."""
        found = self._table(name)
        assert found is not None, "it has a schema"
        return self.opened, found[0]

    def beside(self, name: str) -> None:
        """Return None: parents are tables of the same set."""

    def spelled(self, name: str) -> str:
        """Return how a table of the set is spelled."""
        return self.source(name)[1]

    def schema(self, name: str) -> TableSchema | None:
        """Return the columns of a table, None if there is no such table. Reads no row."""
        found = self._table(name)
        return None if found is None else found[1]

    def _table(self, name: str) -> tuple[str, TableSchema] | None:
        key = name.casefold()
        if key not in self._found:
            names = self.opened.named(name)
            if len(names) > 1:
                raise ParameterError(f"{self.place} has two tables of one name: {', '.join(names)}")
            self._found[key] = (names[0], self._described(names[0])) if names else None
        return self._found[key]

    def _described(self, name: str) -> TableSchema:
        table = self.opened.table(name)
        try:
            return table.schema()
        finally:
            table.close()

    def refused(self, name: str, lines: list[SuiteLine], parents: dict[str, Any]) -> dict[int, str]:
        """Return the places of lines that the other engine might count otherwise than our own, and why.

        Parameters
        ----------
        parents
            Its `public_parents` and `private_parents`.
        """
        source, table = self.source(name)
        found: dict[int, str] = {}
        rules = [line.rule for line in lines if line.rule is not None]
        try:
            spec = TableSpec.of(source, parents, constraints=rules or None, table=table)
            open_remote_table(spec, rows=False).close()
        except ForeignRuleError as error:
            why = {cast(DenialConstraint, dc): reason for dc, reason in error.refused}
            places, reasons = RulePlaces(why), [*why.values()]
            for number, line in enumerate(lines):
                place = None if line.rule is None else places.find(line)
                if place is not None:
                    found[number] = reasons[place]
        with open_remote_table(TableSpec(source, table=table), rows=False) as opened:
            for number, line in enumerate(lines):
                told = line.where is None or condition_with_members(line.where) is not None  # as parts of the rule
                reason = None if told else opened.why_not_where(str(line.where))
                if reason is not None:
                    found.setdefault(number, reason)
        return found

    def close(self) -> None:
        """Let go of the connection or session. May be called twice."""
        self.opened.close()


def _schema_of(table: str | None) -> str | None:
    """Return the schema that --table SCHEMA.* names."""
    if table is None:
        return None
    schema, star = table[:-2], table[-2:]
    if star != ".*" or not schema:
        raise ParameterError(
            f"{table!r}: of a set of tables --table is a schema with all its tables: --table 'SCHEMA.*'"
        )
    return schema


def folder_of(place: Any, table: str | None, given: Mapping[str, str | None]) -> TableFolder | RemoteTables:
    """Return where the tables of a set are.

    Parameters
    ----------
    place, table, given
        As of `TableFolder`, or of `RemoteTables` where it is another engine's.
    """
    if is_remote(place):
        return RemoteTables(place, table, given)
    if table is not None:
        raise ParameterError("a schema (--table) is for a set of tables in a database server; a file is one set")
    return TableFolder(os.fspath(place), given)
