"""`TablesApart`: a set of tables without one owner: each is checked by its own suite, and pays from its own ledger.

Neighbours differ by one row of one table (or the rows of one person in it). The suite of a table is a function of this
table, of the parents that its rules look into, and of the tables that it compares with this one. The rows of these are
protected by the same epsilon, so their ledgers pay for the suite, too (`dpdb.release.pair.AccountWithOthers`). Each
ledger's sum holds for a row of its table. A person with rows of several tables loses at most what their ledgers count
together.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from dpdb.engine import Progress, TableSpec, no_progress
from dpdb.errors import ParameterError
from dpdb.release import Charge, new_run_id
from dpdb.stopping import Closing
from dpdb.suites.check import CheckRun, check_columns, run_check
from dpdb.suites.prepare import prepare_check
from dpdb.suites.results import CheckResults
from dpdb.suites.session import Session
from dpdb.suites.suite import day_of
from dpdb.suites.tables.members import Member, folder_of, members_of

LEDGER = ".ledger"


@dataclass(frozen=True)
class PreparedTables:
    """A run of all suites, ready for its debits.

    Attributes
    ----------
    run_id : str
        Of all; the run of a table has its name behind it.
    runs : mapping of str to CheckRun or None
        By table, in their order; None where all checks are of the columns.
    """

    run_id: str
    runs: Mapping[str, CheckRun | None]


class TablesApart(Closing):
    """Tables of a folder, a DuckDB file or a schema, each with a suite and a ledger of its own.

    Parameters
    ----------
    place, suites, table, public_parents, day, progress, rows
        As of `dpdb.suites.TableSet`. Tables that rules look into are private unless they are declared public.
    ledgers : path, optional
        The folder that has `T.ledger` for each table T that is checked, and for each private one that they look into.
    **settings
        Settings of each table: what is protected (`rows_per_person`; `max_children` where it has private parents), and
        limits of the private databases.

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
        table: str | None = None,
        public_parents: Mapping[str, str | None] | None = None,
        ledgers: str | os.PathLike[str] | None = None,
        budget: Any = None,
        day: date | str | None = None,
        progress: Progress = no_progress,
        rows: bool = True,
        **settings: Any,
    ) -> None:
        public = dict(public_parents or {})
        self._ledgers = None if ledgers is None else _folder(Path(ledgers))
        self._settings, self._budget, self._day = settings, budget, day_of(day)
        self._opening: dict[str, Any] = {"progress": progress, "rows": rows}
        self._closing = ExitStack()
        self._sessions: dict[str, Session] = {}
        self._charged: dict[str, list[str]] = {}  # by table, the private parents that pay for its suite, too
        with ExitStack() as on_error:
            on_error.callback(self.close)
            self._folder = folder_of(place, table, public)
            self._public = {name.casefold() for name in public}
            self._closing.callback(self._folder.close)
            self._members, self.not_checked = members_of(self._folder, Path(suites), None, [*public], day)
            for member in self._members:
                self._open(member.name, self._spec(member))
            for member in self._members:
                private = [name for name in member.compared if name.casefold() not in map(str.casefold, public)]
                others = dict.fromkeys(self._other(name) for name in (*member.private, *private))
                self._charged[member.name] = [*others]
                self._sessions[member.name.casefold()].look_into({name: self._sessions[name] for name in others})
            on_error.pop_all()

    def _spec(self, member: Member) -> TableSpec:
        source, table = self._folder.source(member.name)
        settings = {**self._settings, **member.parents(self._folder)}
        if not member.private:
            settings.pop("max_children", None)
        beside = [name for name in member.compared if name.casefold() in self._public]
        known = settings.get("public_parents") or {}
        settings["public_parents"] = known | {
            self._folder.spelled(name): self._folder.beside(name)
            for name in beside
            if name.casefold() not in map(str.casefold, known)
        }
        return TableSpec.of(source, settings, constraints=member.suite.rules, table=table)

    def _other(self, name: str) -> str:
        """Return the key of another private table, which is open for its ledger where it has no suite of its own."""
        key = name.casefold()
        if key not in self._sessions:
            source, table = self._folder.source(name)
            alone = {setting: value for setting, value in self._settings.items() if setting != "max_children"}
            self._open(name, TableSpec.of(source, alone, table=table))
        return key

    def _open(self, name: str, spec: TableSpec) -> None:
        ledger = None
        if self._ledgers is not None:
            ledger = self._ledgers / f"{name}{LEDGER}"
            if not ledger.exists():
                raise ParameterError(
                    f"{name} has no ledger: each table that is checked, or that a suite looks into, has its own; make "
                    f"it: dpdb budget create {ledger}"
                )
        session = Session(spec, ledger=ledger, budget=None if ledger else self._budget, **self._opening)
        self._closing.callback(session.close)
        self._sessions[name.casefold()] = session

    # -- runs ---------------------------------------------------------------------------------------------------

    def prepare(self, *, run_id: str | None = None, **options: Any) -> PreparedTables:
        """Check everything public about a run of all suites. Reads no row, spends nothing.

        Parameters
        ----------
        **options
            The other fields of `dpdb.suites.ask.RunOptions`, for each suite; none is kept, and there are no slices.

        Raises
        ------
        DpdbError
            As `prepare_check`; and if a ledger cannot pay for its table and for those that look into it.
        """
        for name in ("keep", "by", "keys", "where", "numbers"):
            if options.get(name) is not None:
                raise ParameterError(f"{name} is for one table; check it by itself")
        if run_id is not None and self._ledgers is None:
            raise ParameterError("run_id needs ledgers: only a ledger remembers what a run has answered")
        base = run_id or new_run_id("check")
        runs = {}
        for member in self._members:
            session, asked = self._sessions[member.name.casefold()], dict(options)
            if self._ledgers is not None:
                asked["run_id"] = f"{base}.{member.name}"
            runs[member.name] = (
                prepare_check(session, member.suite, day=self._day, **asked) if member.suite.lines else None
            )
        prepared = PreparedTables(base, runs)
        self._refuse_unaffordable(prepared)
        return prepared

    def _refuse_unaffordable(self, prepared: PreparedTables) -> None:
        """Ask each ledger whether it can pay for all, so that no suite runs before another one is refused."""
        charges: dict[str, list[Charge]] = {}
        for name, run in prepared.runs.items():
            if run is None:
                continue
            charges.setdefault(name.casefold(), []).append(run.charge)
            for parent in self._charged[name] if self._ledgers is not None else ():
                charges.setdefault(parent, []).append(self._sessions[name.casefold()].charge_of_others(run.charge))
        for name, together in charges.items():
            self._sessions[name].check_together(together)

    def run(self, prepared: PreparedTables) -> Iterator[tuple[str, CheckResults]]:
        """Make a prepared run, table by table; the verdicts of one are recorded before the next one begins.

        A run that was killed is finished by the same run id: what is recorded is answered again at no cost.
        """
        for member in self._members:
            run, session = prepared.runs[member.name], self._sessions[member.name.casefold()]
            yield member.name, check_columns(session, member.suite) if run is None else run_check(session, run)

    def close(self) -> None:
        """Drop the private databases, and close the ledgers."""
        self._closing.close()


def _folder(ledgers: Path) -> Path:
    if not ledgers.is_dir():
        raise ParameterError(
            f"{ledgers}: is no folder; tables without one unit have a ledger each, {ledgers}/TABLE{LEDGER} (with "
            "--unit they have one together)"
        )
    return ledgers
