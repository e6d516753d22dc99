"""`register`: put the SQL functions into a DuckDB connection; its handle removes them again.

`ExactConflicts` writes the conflicts of a table to a file, for tests of the owner. It is not private.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa
from sqlglot import exp

from dpdb.constraints import ConstraintsLike, never_a_path
from dpdb.database import add_function, add_text_function, refuse_unusable, remove_function, remove_macros
from dpdb.doors.duckdb_functions.release_function import (
    CLOSED,
    LEFT_OUT,
    Epsilon,
    ReleaseFunction,
    Settings,
    Suites,
    Tables,
)
from dpdb.doors.sql_parameters import CHECK, COUNT, DIAGNOSE, FUNCTIONS, KINDS, MEASURE, SPENT, TABLE
from dpdb.engine.owner_table import owner_table, sibling
from dpdb.errors import ParameterError
from dpdb.options import Kind
from dpdb.release import OPTIONS, RELEASE_SCHEMA, Session
from dpdb.settings import TableSettings, TableSpec, with_settings
from dpdb.stopping import Closing
from dpdb.suites import CHECK_SCHEMA

_CONSTRAINTS = "constraints"  # a parameter of measures here, where the owner asks; no option of a release
# Flags and whole numbers come as text, as they were written: a cast would make true of 3, and 3 of 2.5.
# What is spent comes as text, too, which can be told from NULL where it is left out. Columns and their lists of keys
# are a value or a list: they come as JSON.
_TYPES: Mapping[Kind, str] = {
    **dict.fromkeys(("text", "amount", "share", "whole", "flag", "columns", "lists"), "VARCHAR"),
    "keys": "VARCHAR[]", "number": "DOUBLE",
}  # fmt: skip
_OF_OPTION, _OF_CHECK, _OF_DIAGNOSIS = (
    {name: _TYPES[kind] for name, kind in own.items()}
    for own in ({**KINDS[MEASURE], **KINDS[COUNT]}, KINDS[CHECK], KINDS[DIAGNOSE])
)


def _struct(types: Mapping[str, str]) -> str:
    return "STRUCT(" + ", ".join(f'"{name}" {kind}' for name, kind in types.items()) + ")"


def _given(options: Mapping[str, str], types: Mapping[str, str]) -> str:
    """Return all options as a struct: of each the parameter that gives it, or NULL."""
    return "{" + ", ".join(f"'{option}': {options.get(option, 'NULL')}::{kind}" for option, kind in types.items()) + "}"


# Arguments of the Python function: one row, function, table, constraints, options, database, schema, transaction.
ARGUMENTS = ("BOOLEAN", "VARCHAR", "VARCHAR", "VARCHAR", _struct(_OF_OPTION), "VARCHAR", "VARCHAR", "UBIGINT")
# Those for suites and diagnoses: options, the table that the caller expects, database, schema, transaction.
CHECK_ARGUMENTS = (_struct(_OF_CHECK), "VARCHAR", "VARCHAR", "VARCHAR", "UBIGINT")
DIAGNOSE_ARGUMENTS = (_struct(_OF_DIAGNOSIS), *CHECK_ARGUMENTS[1:])


def diagnose_macros(function: str) -> str:
    """Return the statements that create the macro of diagnoses: a table function, with a row for each named slice."""
    given = {option: name for name, option in FUNCTIONS[DIAGNOSE].items()}
    options = _given(given | {name: f"to_json({given[name]})" for name in ("by", "keys")}, _OF_DIAGNOSIS)
    return _table_macro(DIAGNOSE, function, (TABLE, *FUNCTIONS[DIAGNOSE]), options, measure="'repair'")


def check_macros(function: str) -> str:
    """Return the statements that create the macro of suites: a table function, with a row for each check."""
    options = _given({option: name for name, option in FUNCTIONS[CHECK].items()}, _OF_CHECK)
    return _table_macro(CHECK, function, (*FUNCTIONS[CHECK], TABLE), options)


def _table_macro(name: str, function: str, names: Sequence[str], options: str, **own: str) -> str:
    call = f"{function}({options}, {TABLE}::VARCHAR, current_database(), current_schema(), txid_current())"
    spent = {known: f"'{LEFT_OUT}'" for known in SPENT if known in names}
    defaults = {**dict.fromkeys(names[1:], "NULL"), **spent, **own}
    head = f"CREATE TEMP MACRO {name}({names[0]}, {', '.join(map('{} := {}'.format, defaults, defaults.values()))})"
    return f"{head} AS TABLE SELECT unnest({call}, max_depth := 2);\n"


def release_macros(function: str) -> str:
    """Return the statements that create all macros around the Python function of that name."""
    return "".join(_macros(name, function) for name in (MEASURE, COUNT))


def _macros(name: str, function: str) -> str:
    parameters = FUNCTIONS[name]
    defaults = {known: exp.convert(OPTIONS[option].default).sql("duckdb") for known, option in parameters.items()}
    defaults |= {known: f"'{LEFT_OUT}'" for known in SPENT if known in parameters}
    if name == MEASURE:
        names = [*defaults]
        names.insert(names.index("label"), _CONSTRAINTS)
        defaults = {known: defaults.get(known, "NULL") for known in names}
    head = f"CREATE TEMP MACRO {name}({TABLE}, {', '.join(map('{} := {}'.format, defaults, defaults.values()))})"
    options = _given({option: known for known, option in parameters.items()}, _OF_OPTION)
    constraints = _CONSTRAINTS if _CONSTRAINTS in defaults else "NULL"
    call = (
        f"'{name}', {TABLE}::VARCHAR, {constraints}::VARCHAR, {options}, "
        "current_database(), current_schema(), txid_current()"
    )
    rows = f"SELECT unnest({function}(false, {call}), max_depth := 2)"
    return f"{head} AS {function}(true, {call})[1];\n{head} AS TABLE {rows};\n"


class Registration(Closing):
    """`dp_inconsistency` and `dp_count` in a DuckDB connection, until `close()`. Made by `dpdb.register`.

    The functions stay if the handle is dropped; they end with the connection at the latest.
    """

    def __init__(self, connection: Any, settings: Settings) -> None:
        settings.check()
        refuse_unusable(connection)
        self._connection = connection
        self._cursors: list[weakref.ref[Any]] = []
        self._tables = Tables(settings)
        self._function = ReleaseFunction(connection, self._tables)
        from dpdb.diagnosis import DIAGNOSIS_SCHEMA  # loaded where somebody registers

        names = (
            add_function(connection, self._function, ARGUMENTS, RELEASE_SCHEMA),
            add_function(connection, self._function.check, CHECK_ARGUMENTS, CHECK_SCHEMA),
            add_function(connection, self._function.diagnose, DIAGNOSE_ARGUMENTS, DIAGNOSIS_SCHEMA),
        )
        self._macros = release_macros(names[0]) + check_macros(names[1]) + diagnose_macros(names[2])
        connection.execute(self._macros)
        # Also when the connection dies, and at interpreter exit if nobody closed anything. It must not hold `self`:
        # the connection owns the function, and the function must not own the connection.
        self._finalizer = weakref.finalize(
            self._function,
            _clean_up,
            weakref.ref(connection),
            weakref.ref(self._function),
            names,
            self._function.worker,
            self._tables,
            self._cursors,
        )

    def execute(self, query: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> pa.Table:
        """Run a statement in the connection and return its complete result.

        The result is a table, not a cursor or a lazy relation: looking at it again never draws noise again.

        Raises
        ------
        DpdbError
            The original exception of a release that failed. `connection.execute` raises DuckDB's
            `InvalidInputException` instead, with the original's text in its own.
        duckdb.Error
            For any other error of the statement.
        """
        self._refuse_closed()
        try:
            relation = self._connection.sql(query, params=parameters)
            return pa.table({}) if relation is None else relation.to_arrow_table()
        except Exception as error:
            original = self._original(error)
            if original is not None:
                raise original from error
            raise

    @property
    def last_error(self) -> BaseException | None:
        """The original exception of the last release that failed, except those that `execute` raised itself."""
        return self._function.errors[-1] if self._function.errors else None

    def add_cursor(self, cursor: Any) -> None:
        """Make the functions usable in another cursor of the same database; its accounts and tables are the same."""
        self._refuse_closed()
        refuse_unusable(cursor)
        cursor.execute(self._macros)
        self._cursors.append(weakref.ref(cursor))

    def spent(self, table: str) -> float:
        """Return the cost of the table's releases so far, see `Session.spent`."""
        self._refuse_closed()
        return self._function.with_session(table, Session.spent)

    def remaining(self, table: str) -> float | None:
        """Return the remaining budget of the table, see `Session.remaining`."""
        self._refuse_closed()
        return self._function.with_session(table, Session.remaining)

    def close(self) -> None:
        """Take the functions out of the connection and close the sessions. May be called twice.

        The connection stays open. In-memory budgets end; ledgers do not.
        """
        if self._finalizer.alive:
            self._function.worker.submit(self._tables.close).result()  # after the release that is under way
            self._finalizer()

    def __repr__(self) -> str:
        return f"<dpdb.Registration {'open' if self._finalizer.alive else 'closed'}>"

    def _refuse_closed(self) -> None:
        if not self._finalizer.alive:
            raise ParameterError(CLOSED)

    def _original(self, error: Exception) -> BaseException | None:
        for kept in reversed(self._function.errors):
            if f"{type(kept).__name__}: {kept}" in str(error):
                self._function.errors.remove(kept)  # its traceback will hold the connection, through us
                return kept
        return None


def _clean_up(  # noqa: PLR0917 - a finalizer has no named arguments
    connection: weakref.ref[Any],
    function: weakref.ref[ReleaseFunction],
    names: Sequence[str],
    worker: ThreadPoolExecutor,
    tables: Tables,
    cursors: list[weakref.ref[Any]],
) -> None:
    """Run by whichever thread lets go last, so it waits for none."""
    with suppress(RuntimeError):  # at interpreter exit the worker is gone, and the files close with the process
        worker.submit(tables.close)
    worker.shutdown(wait=False)
    for reference in (*cursors, connection):
        if (alive := reference()) is not None:
            remove_macros(alive)
    if (alive := connection()) is not None and function() is not None:  # else it is dropping its functions just now
        for name in names:
            remove_function(alive, name)


@with_settings
def register(
    connection: Any,
    *,
    constraints: ConstraintsLike | Mapping[str, ConstraintsLike] | None = None,
    budget: Epsilon | Mapping[str, Epsilon | None] | None = None,
    ledger: str | Path | Mapping[str, str | Path] | None = None,
    who: str | None = None,
    suites: Suites | None = None,
    **settings: Unpack[TableSettings],
) -> Registration:
    """Put `dp_inconsistency(...)` and `dp_count(...)` into a DuckDB connection, as scalar and as table functions.

    And `dp_check(...)` and `dp_diagnose(...)`, as table functions.

    ``SELECT * FROM dp_inconsistency('visits', measure := 'repair', epsilon := 0.5)`` gives one row per release, with
    the fields of `Release` as columns; ``SELECT (dp_inconsistency('visits', epsilon := 0.5)).value`` gives one release
    as a struct, and is refused where there are several (`by_column`, measure ``'all'``). Arguments, in order, with
    their defaults::

        dp_inconsistency(table_name, measure 'repair', epsilon, where_clause, by_column, group_keys, mechanism,
                         confidence 0.95, max_degree, run_id, theta, constraints, label, rate false,
                         each_constraint false, rho)
        dp_count(table_name, epsilon, where_clause, by_column, group_keys, confidence 0.95, run_id, label, rho)
        dp_check(suite, epsilon 1, confidence 0.99, certain 'fail', run_id, label, where_clause, by_column, group_keys,
                 date, within, rho, sizes false, now, table_name)
        dp_diagnose(table_name, by_column, group_keys, epsilon, top 3, expected, rules false, where_clause,
                    confidence 0.95, run_id, label, measure 'repair')

    ``FROM dp_check('nightly')`` runs a suite of checks that is registered under this name, with a row for each check;
    one that the table's ledger keeps under it runs as it was opened, and costs nothing. ``date => '2026-11-21'``
    is what ``{date}`` stands for in it.

    NULL leaves an argument out, except `epsilon`, `rho` and `measure`, where it is refused. What releases and diagnoses
    cost has no default: epsilon, or rho on a zcdp ledger, is given.

    Whoever holds the connection holds the data: this is a convenience for owners, not a boundary.

    A statement makes one release per distinct list of arguments, however often it names or repeats the call; the next
    statement makes another. Between BEGIN and COMMIT the same call is the same release; ROLLBACK gives no budget back.
    Only what is executed is released: EXPLAIN, DESCRIBE, PREPARE, an empty FROM or a CASE branch not taken cost nothing
    (EXPLAIN ANALYZE executes, and a table function in a branch is a subquery, which SQL runs anyway).

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Its cursors do not have the functions, see `Registration.add_cursor`. Tables and views are found as in its own
        SQL and read as they are committed; when their rows have changed, the next release reads them again. Temporary
        tables and registered data frames cannot be measured.
    constraints : path, text, list of texts or of `DenialConstraint`, optional
        Constraints of every measured table, or a mapping from table name to the table's own. A call may name others:
        ``constraints := 'zip -> city'`` (one text, a line for each); its cost adds to that of all other calls.
    budget : number, optional
        Total epsilon of each table (a view is a table of its own), or a mapping from table name; kept in memory until
        `close()`. None means unlimited.
    ledger : path, or mapping of table to path, optional
        Durable budget. It belongs to one table; for several, a mapping from table name.
    who : str, optional
        Who asks, for the ledger's history.
    suites : mapping, optional
        From table name to its suites by name: ``{"visits": {"nightly": "nightly.txt"}}``. Files are read now, once.
    **settings
        As for `dpdb.open`, the same for every table: `unit` and `max_rows`, `public_parents` and `private_parents`
        (lists of tables and views of the connection that constraints look into), `row_bound`, `memory_limit` and so on.

    Returns
    -------
    Registration
        A context manager; `Registration.execute` gives back the original exceptions.

    Raises
    ------
    ParameterError, ConstraintSyntaxError
        If the connection is closed, in a transaction or already registered, or a setting cannot be used.
    """
    return Registration(
        connection,
        Settings(TableSpec.of(None, settings), constraints, budget, ledger, who, suites),
    )


_FUNCTION = "dpdb_owner_exact_conflicts"


class ExactConflicts:
    """`dpdb_owner_exact_conflicts(table, constraints, where)` in a connection: a Parquet file that lists all conflicts.

    Owner only: the file has true rows, with no privacy. It lies in a folder that only its owner may enter, until this
    value or the process ends. Columns as of `dpdb exact --violations --columns '*'`.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = weakref.ref(connection)  # which holds the function
        self._folder = Path(tempfile.mkdtemp(prefix="dpdb-exact-"))
        self._numbers = itertools.count(1)
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        add_text_function(connection, _FUNCTION, self, 3)

    def __call__(self, table: str | None, constraints: str | None, where: str | None) -> str:
        """Write the file of one table, and return its path."""
        from dpdb.owner import exact_measures

        if table is None or constraints is None:
            raise ParameterError(f"{_FUNCTION} needs a table and constraints")
        path = self._folder / f"{next(self._numbers)}.parquet"
        with owner_table(sibling(self._connection()), table, None, None) as found:
            exact_measures(
                found.cursor,
                never_a_path(constraints),
                non_private=True,
                table=found.name,
                where=where,
                measures=["drastic"],
                violations=path,
                columns=["*"],
            )
        return str(path)
