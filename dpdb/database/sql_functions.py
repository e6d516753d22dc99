"""The SQL functions that `dpdb.register` puts into the owner's connection: one Python function, macros around it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling

from dpdb.errors import ParameterError
from dpdb.names import in_double_quotes

_MACROS = ("dp_inconsistency", "dp_count", "dp_check", "dp_diagnose")
_NAME = "_dpdb_release"
# It is called with NULL, too, and once for each row: its answer is no constant.
_EACH_TIME: Any = {"null_handling": FunctionNullHandling.SPECIAL, "side_effects": True}
_TYPES = {pa.string(): "VARCHAR", pa.float64(): "DOUBLE", pa.int64(): "BIGINT", pa.bool_(): "BOOLEAN"}
# Python functions belong to the whole database: each registration has its own.
_NUMBERS = itertools.count(1)


def refuse_unusable(connection: duckdb.DuckDBPyConnection) -> None:
    """Raise `ParameterError` if the connection is closed, inside a transaction, or has the macros already."""
    try:
        transactions = [connection.execute("SELECT txid_current()").fetchall() for _ in range(2)]
        present = connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE database_name = 'temp' AND function_name IN "
            + str(_MACROS)
        ).fetchall()
    except duckdb.Error as error:
        raise ParameterError(f"the connection cannot be used: {str(error).splitlines()[0]}") from None
    if transactions[0] == transactions[1]:  # ROLLBACK would take the macros away
        raise ParameterError("the connection is inside a transaction: commit it or roll it back first")
    if present:
        raise ParameterError(f"the connection has {present[0][0]} already: close that registration first")


def add_function(
    connection: duckdb.DuckDBPyConnection,
    function: Callable[..., list[Any]],
    arguments: Sequence[str],
    columns: pa.Schema,
) -> str:
    """Make a Python function callable in the connection's database and return its name there.

    DuckDB may call it from any thread, and never folds it into a constant.

    Parameters
    ----------
    connection
        The owner's connection.
    """
    name = f"{_NAME}_{next(_NUMBERS)}"
    fields = ", ".join(f"{in_double_quotes(field.name)} {_TYPES[field.type]}" for field in columns)
    connection.create_function(name, function, [*arguments], f"STRUCT({fields})[]", **_EACH_TIME)
    return name


def add_text_function(
    connection: duckdb.DuckDBPyConnection, name: str, function: Callable[..., str], arguments: int
) -> None:
    """Make a Python function of texts, which may be NULL, callable in the connection's database."""
    connection.create_function(name, function, ["VARCHAR"] * arguments, "VARCHAR", **_EACH_TIME)


def remove_macros(connection: duckdb.DuckDBPyConnection) -> None:
    """Drop the macros; a connection that is closed has lost them already."""
    for name in _MACROS:
        for kind in ("MACRO", "MACRO TABLE"):
            try:
                connection.execute(f"DROP {kind} IF EXISTS temp.main.{name}")
            except duckdb.Error:
                return


def remove_function(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    """Remove the function; a database that is closed has lost it already."""
    try:
        connection.remove_function(name)
    except duckdb.Error:
        return
