"""`TableSet`: a set of tables with their suites, opened; checked as one suite, under one debit.

Neighbours differ by all rows of one unit (a person) in all tables of the set. Every statistic changes by what
`dpdb.suites.tables.counted_set` says of it, whatever table it is of, so all tests lie in the banks of one plan, and
Theorem 5 (`dpdb.suites.mechanism.levels`) holds for the set as it stands: it asks only by how much one unit moves each
statistic. Tables that are declared public are the same in both neighbours.

A unit is one in all tables because its values compare alike there: whole numbers, or one type in which different values
are different.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, cast

from dpdb.engine import ParentFiles, Progress, Table, TableSpec, no_progress, unit_column
from dpdb.errors import ParameterError
from dpdb.ledger import SuiteReservation
from dpdb.names import listed_names
from dpdb.opening import empty_table, open_local_table, open_remote_table
from dpdb.predicates import Region
from dpdb.release import (
    Budget,
    Epsilon,
    LedgerAccount,
    PrivacyUnit,
    PrivateSlices,
    PublicTable,
    Slices,
    SuiteLevel,
    as_budget,
    publish_suite,
    unit_of_table,
)
from dpdb.schema import Column, TableSchema
from dpdb.stopping import Closing
from dpdb.suites.check import CheckRun
from dpdb.suites.counted import counted_suite, refuse_unsaid
from dpdb.suites.prepare import PlannedOptions
from dpdb.suites.results import CheckResults
from dpdb.suites.suite import Suite, day_of, moment_of
from dpdb.suites.tables.counted_set import CountedSet, OwnedTable, RowsUsed, owned_table
from dpdb.suites.tables.members import Member, RemoteTables, SetUnit, folder_of, members_of

_WHOLE = frozenset(
    f"{sign}{name}" for sign in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT")
)
_EXACT = frozenset(["VARCHAR", "UUID", "DATE", "BLOB"])


class TableSet(Closing):
    """A set of tables and a suite file for each, for any number of runs under one budget.

    Parameters
    ----------
    place : path
        A folder of Parquet or CSV files (or of folders of them), or a DuckDB file.
        In another engine a schema: ``postgresql://user@host/database`` or ``spark:catalog.schema``; or a folder that
        Spark reads: ``spark:parquet.`/folder` ``. Its tables stay there, and are all read at one moment in PostgreSQL.
    suites : path
        A folder that has `T.suite.txt` for each table T.
    table : str, optional
        In PostgreSQL ``SCHEMA.*``. Default: the schema in which the user's new tables would be made.
    unit : str
        The column whose values own the rows of every table; those without it are checked in none. Or keys that lead to
        it (``"items.order_id -> orders.id, orders.customer_id -> customers.id"``, with `max_rows`): tables on the way
        are checked, each by its own part of it.
    max_rows : int, optional
        Of each unit at most so many rows of a table are used, and rows are counted. Default: units are counted of which
        some own rows violate, however many rows they have.
    public_parents : mapping of name to source, optional
        Tables without the unit's column whose keys everybody may know; None for one that lies beside the others.
    ledger, budget
        As of `dpdb.Session`; the ledger is that of the set.
    day : date or str, optional
        What ``{date}`` stands for in the suites, and the day on which a kept check fails; by default that of the clock.
    progress : callable, optional
        Called with the name of each long step.
    rows : bool
        False to prepare runs only: no row is read.
    **limits
        Of the private databases, by name: `memory_limit`, `temp_directory`, `threads`; and of tables in another engine
        `gather_rows`.

    Attributes
    ----------
    not_checked : list of NotChecked
        Lines of the suites that name a table or column that is missing here, with the reason: public.

    Raises
    ------
    DpdbError
        As `dpdb.Session`, one line; nothing is spent.
    """

    def __init__(
        self,
        place: str | os.PathLike[str],
        suites: str | os.PathLike[str],
        *,
        unit: str,
        table: str | None = None,
        max_rows: int | None = None,
        public_parents: Mapping[str, str | None] | None = None,
        ledger: str | Path | None = None,
        budget: Epsilon | Budget | None = None,
        day: date | str | None = None,
        progress: Progress = no_progress,
        rows: bool = True,
        **limits: Any,
    ) -> None:
        self._unit, self._max_rows, self._progress, self._reads_rows = SetUnit.of(unit), max_rows, progress, rows
        if self._unit.path is not None and max_rows is None:
            raise ParameterError(
                "a unit that is reached through keys needs max_rows: how many rows of each unit are used (--max-rows)"
            )
        self._day = day_of(day)
        public = dict(public_parents or {})
        self._limits = limits
        self._read: list[Table] = []
        self._closing = ExitStack()
        with ExitStack() as on_error:
            on_error.callback(self.close)
            self._folder = folder_of(place, table, public)
            self._closing.callback(self._folder.close)
            self._parents = ParentFiles(limits.get("temp_directory"))  # many tables look into the same ones
            self._closing.callback(self._parents.close)
            self._members, self.not_checked = members_of(self._folder, Path(suites), self._unit, [*public], day)
            if self._unit.path is None:  # else they are values of one column
                _refuse_unlike_units(unit, self._members)
            self._tables = [(member, *self._opened(member)) for member in self._members]
            self._counted_set = self._at(moment_of(None))
            budget = as_budget(budget)
            self.has_ledger = ledger is not None
            bound = None if ledger is None else self._ledger_account(ledger, budget)
            self._account = bound or budget
            self._closing.callback(self._account.close)
            self._compares_rows = bound is not None and bound.compares_rows
            on_error.pop_all()

    # -- opening ------------------------------------------------------------------------------------------------

    def _at(self, now: datetime) -> CountedSet:
        """Return the suites of all tables as of a moment, by which rows are new or old."""
        tables = [
            (member.name, member.suite, self._counted(member, member.suite.at(now, member.types), empty, read))
            for member, empty, read in self._tables
        ]
        names = listed_names([name for name, *_ in tables])
        protects = f"one value of {self._unit.text} with all its rows in {names}"
        if self._unit.path is not None:
            unit, last = self._unit.path.unit, self._unit.path.last
            protects = f"one value of {unit} with all its rows in {last}, and those in {names} that lead to it alone"
        return CountedSet(tables, protects)

    def _opened(self, member: Member) -> tuple[Table, Table]:
        """Open a table; its rules on private parents are of its units' own rows, or are refused."""
        empty, read = self._tables_of(member)
        sound = unit_of_table(PrivacyUnit(self._max_rows or 1, member.unit), empty)
        for parent, column in sound.parents:
            if not self._unit.leaves_with(parent, column):
                raise ParameterError(
                    f"{member.name}: {sound.column} is compared with {column} of {parent}, whose rows belong to its "
                    f"own {self._unit.text}"
                )
        return empty, read

    def _counted(self, member: Member, suite: Suite, empty: Table, read: Table) -> RowsUsed | OwnedTable:
        if self._max_rows is None:
            return owned_table(suite, read, empty, self._unit.text)
        known = replace(unit_of_table(PrivacyUnit(self._max_rows, member.unit), empty), parents=())
        counted = RowsUsed(*(counted_suite(PublicTable(each, known), suite) for each in (read, empty)))
        if counted.counted.needs_graph:
            read.admit(None)
        if counted.counted.brings_rows:
            read.admit_graph()
        return counted

    def _tables_of(self, member: Member) -> tuple[Table, Table]:
        """Open a table without rows, and with them if they are read."""
        source: Any
        source, table = self._folder.source(member.name)
        settings: dict[str, Any] = member.parents(self._folder)
        if self._max_rows is not None:
            settings |= {"unit": member.unit, "max_rows": self._max_rows}
        settings |= self._limits
        spec = TableSpec.of(source, settings, constraints=member.suite.rules, table=table)
        if isinstance(self._folder, RemoteTables):
            there = open_remote_table(spec, rows=self._reads_rows, progress=self._progress)
            self._closing.callback(there.close)
            self._read.append(there)
            return there.without_rows(), there
        spec = replace(spec, parent_files=self._parents)
        empty: Table = empty_table(spec)
        self._closing.callback(empty.close)
        read = empty
        if self._reads_rows:
            read = open_local_table(spec, progress=self._progress)
            self._closing.callback(read.close)
        self._read.append(read)
        return empty, read

    def _ledger_account(self, ledger: str | Path, budget: Budget) -> LedgerAccount:
        """Bind a ledger to the set: its tables' columns by name, the unit, and the state of all rows."""
        columns = [
            Column(f"{member.name}.{column.name}", column.declared_type)
            for member in self._members
            for column in member.schema.columns
        ]
        tables = self._read
        states = [[member.name, table.opened_content()] for member, table in zip(self._members, tables, strict=True)]
        return LedgerAccount(
            ledger,
            budget=budget,
            schema=TableSchema(tuple(columns)),
            read_as=json.dumps([[each.name, t.read_as] for each, t in zip(self._members, tables, strict=True)]),
            reading="".join(table.reading for table in tables),
            opened=json.dumps(states),
            unit=PrivacyUnit(self._max_rows or 1, f"{self._unit.text} in a set of tables"),
        )

    # -- runs ---------------------------------------------------------------------------------------------------

    def prepare(self, **options: Any) -> CheckRun:
        """Check everything public about a run; the result has its plan and charge. Reads no row, spends nothing.

        Options are the fields of `dpdb.suites.ask.RunOptions`; a set has no slices, and has its day already.
        """
        asked, digest, now = PlannedOptions.of(options), self._digest(), None
        asked.refuse_slices()
        asked.refuse_run_id(has_ledger=self.has_ledger)
        if any(member.suite.needs_now for member in self._members):
            now = asked.moment(self._account)
            self._counted_set = self._at(now)
        if asked.keep is None or self._account.kept_suite(asked.keep) is None:
            refuse_unsaid(self._counted_set.suite, self._counted_set.limits)
        request = {
            "suite": digest,
            "tables": [member.name for member in self._members],
            "unit": self._unit.text,
            "max_rows": self._max_rows,
            "not_checked": hashlib.sha256("\n".join(each.name for each in self.not_checked).encode()).hexdigest(),
            "public_parents": [table.public_keys for table in self._read],
        }
        slices = Slices((None,), None, Region(), None)
        known: dict[str, Any] = {"rows": self._max_rows or 1, "rule_set": digest, "notion": self._account.notion}
        run = asked.prepared(self._counted_set, slices, request, **known, now=now, books=self._account)
        return replace(run, day=self._day)

    def _digest(self) -> str:
        """The SHA-256 of the checks, each with its table: one that moves to another table is another check."""
        said = [[member.name, member.suite.digest] for member in self._members]
        return hashlib.sha256(json.dumps(said).encode()).hexdigest()

    def will_test(self, run: CheckRun) -> bool:
        """Return whether a run will test, which it does not where its verdicts are recorded."""
        return self._account.will_test(run)

    def run(self, run: CheckRun) -> CheckResults:
        """Make a prepared run. Errors as `Session.release`; a run that was killed is finished by the same run id."""
        if not self._reads_rows:
            raise ParameterError("this set was opened without rows (rows=False): it prepares runs only")

        def load() -> None:
            self._refuse_change()
            run.load()

        def read(held: SuiteReservation) -> Callable[[], SuiteLevel | None]:
            nothing = cast(PrivateSlices, None)  # the set has its own tables
            draw = run.read(nothing, held, self._progress, self._refuse_change)
            self._refuse_change()
            return draw

        return run.shown(publish_suite(self._account, run, load, read))

    def check(self, **asked: Any) -> CheckResults:
        """Prepare a run and make it."""
        return self.run(self.prepare(**asked))

    def _refuse_change(self) -> None:
        for table in self._read:
            table.refuse_change(all_rows=self._compares_rows)

    def close(self) -> None:
        """Drop the private databases."""
        self._closing.close()


def _refuse_unlike_units(unit: str, members: list[Member]) -> None:
    """Refuse a unit whose values could be one in a table and two in another."""
    kinds = {member.name: str(member.schema[unit_column(unit, member.schema)].type) for member in members}
    found = set(kinds.values())
    if not (found <= _WHOLE or (len(found) == 1 and found <= _EXACT)):
        said = listed_names([f"{name}: {kind}" for name, kind in kinds.items()])
        raise ParameterError(
            f"{unit} has to be of whole numbers in all tables, or of one type of text or dates ({said})"
        )
