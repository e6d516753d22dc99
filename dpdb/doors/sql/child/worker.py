"""A worker: one process for one statement. It runs it over empty answers, then over the answers, and ends."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.ipc

from dpdb.doors.sql.child import messages, sandbox
from dpdb.doors.sql.child.messages import Limits

_MOST_REQUEST = 1 << 20
_MOST_ANSWERS = 64 << 20
_BATCH_ROWS = 10_000
OUT_OF_MEMORY = "the statement needs more memory than it may have"
_ERROR_KIND = 60  # DuckDB's messages begin with their kind; its advice to raise limits is not for analysts
_ROWS = "answer_rows"
# One thread: workers are many. No spilling: there is no disk to spill to.
_CONFIGURATION: dict[str, Any] = {"threads": 1, "async_threads": 0, "temp_directory": ""}


@dataclass(frozen=True)
class _Request:
    """A request of the parent.

    `form` says how to answer the query: ``"query"``, ``"explain"`` or ``"describe"``. `public` is a DuckDB file with
    the public tables, `schema` the name under which answers stand, `settings` SQL that the parent's own databases run.
    """

    query: str
    form: str
    answers: list[str]
    schema: str
    public: str | None
    settings: str
    limits: Limits


class _RefusedError(Exception):
    """The statement does not run; the message is for the analyst."""


def opened_before() -> duckdb.DuckDBPyConnection:
    """Open an empty database for the zygote, of which every fork has a copy: opening takes most of a statement's time.

    One trivial query makes DuckDB and Arrow load what they load late. Neither starts a thread.
    """
    connection = duckdb.connect(":memory:", config=_CONFIGURATION)
    with connection.cursor() as trial:
        trial.execute("SET TimeZone = 'UTC'")
        _result(trial, trial.extract_statements("SELECT 1")[0], Limits())
    return connection


def main(stream: socket.socket, lacking: Sequence[str] = (), database: duckdb.DuckDBPyConnection | None = None) -> None:
    """Run one statement for the parent at the other end of the socket.

    `lacking` names the walls that the parent process of this one, which forked it, could not raise. `database` is the
    empty one that it has opened, see `opened_before`.
    """
    try:
        _work(stream, lacking, database)
    except messages.ClosedError:  # the parent has gone
        return
    except Exception as error:
        messages.send(stream, messages.FAILED, _reason(error).encode(errors="replace"))


def _reason(error: Exception) -> str:
    if isinstance(error, _RefusedError):
        return str(error)
    if isinstance(error, MemoryError) or "Out of Memory" in str(error)[:_ERROR_KIND]:
        return OUT_OF_MEMORY
    if isinstance(error, (duckdb.Error, pa.ArrowException, OSError)):  # streams fail with Arrow's errors
        return str(error)
    return f"the statement cannot be run ({type(error).__name__})"  # such as a value that Arrow does not have


def _work(stream: socket.socket, lacking: Sequence[str], database: duckdb.DuckDBPyConnection | None) -> None:
    sandbox.volunteer_for_out_of_memory()
    _, content = messages.receive(stream, _MOST_REQUEST)
    fields: dict[str, Any] = json.loads(content)
    request = _Request(limits=Limits(**fields.pop("limits")), **fields)
    request.limits.impose()
    connection = _database(request, database)
    for name in request.answers:  # empty tables, for their columns
        _fill(connection, request, name, _received(stream))
    lacking = [*lacking, *sandbox.close_off()]
    if lacking:  # the parent believes it, because nothing of the statement has run
        messages.send(stream, messages.LACKING, "; ".join(lacking).encode(errors="replace"))
    statement = _statement(connection, request)
    if request.form == "query":
        _result(connection, statement, request.limits)
        messages.send(stream, messages.PASSED, b"")
        for name in request.answers:
            _fill(connection, request, name, _received(stream))
    messages.send(stream, messages.RESULT, _result(connection, statement, request.limits))


def _database(request: _Request, opened: duckdb.DuckDBPyConnection | None = None) -> duckdb.DuckDBPyConnection:
    """Return a database that reads one file, and is shut off from everything else."""
    # A new connection draws its own seed for random(), which forks would share.
    connection = (opened or duckdb.connect(":memory:", config=_CONFIGURATION)).cursor()
    memory = f"{request.limits.memory // 2 >> 20}MiB"  # the other half is for programs and the result
    connection.execute(f"SET memory_limit = '{memory}'")
    connection.execute(request.settings)
    connection.execute(f"CREATE SCHEMA {request.schema}")
    if request.public is not None:
        path = request.public.replace("'", "''")
        connection.execute(f"ATTACH '{path}' AS public (READ_ONLY)")
        connection.execute("SET search_path = 'memory.main,public.main'")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def _received(stream: socket.socket) -> pa.Table:
    _, content = messages.receive(stream, _MOST_ANSWERS)
    return pa.ipc.open_stream(content).read_all()


def _fill(connection: duckdb.DuckDBPyConnection, request: _Request, name: str, rows: pa.Table) -> None:
    connection.register(_ROWS, rows)
    connection.execute(f"CREATE OR REPLACE TABLE {request.schema}.{name} AS SELECT * FROM {_ROWS}")
    connection.unregister(_ROWS)


def _statement(connection: duckdb.DuckDBPyConnection, request: _Request) -> Any:
    """Read the query by DuckDB's own parser, which must agree with the parent's that it is one query."""
    statements = connection.extract_statements(request.query)
    kinds = [statement.type.name for statement in statements]
    if kinds != ["SELECT"]:
        raise _RefusedError(f"DuckDB reads this as {', '.join(kinds) or 'nothing'}, not as one query")
    if request.form != "query":
        statements = connection.extract_statements(f"{request.form} {request.query}")
        if len(statements) != 1:
            raise _RefusedError("DuckDB reads this as several statements")
    return statements[0]


def _refuse_unsendable(batch: pa.RecordBatch) -> None:
    """Refuse values that DuckDB has and Arrow does not; the parent would read them as a damaged stream."""
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise _RefusedError(
                f"column {name!r} has a value that a result cannot hold (TIME '24:00:00' and HUGEINT of 39 digits are "
                "such); cast it to VARCHAR"
            ) from None


def _result(connection: duckdb.DuckDBPyConnection, statement: Any, limits: Limits) -> pa.Buffer:
    """Run a statement and return its rows as an Arrow stream."""
    reader = connection.sql(statement).to_arrow_reader(_BATCH_ROWS)
    sink, rows = pa.BufferOutputStream(), 0
    with pa.ipc.new_stream(sink, reader.schema) as writer:
        for batch in reader:
            _refuse_unsendable(batch)
            rows += batch.num_rows
            if rows > limits.rows:
                raise _RefusedError(f"the result has more than {limits.rows:,} rows{limits.advice}")
            writer.write_batch(batch)
            if sink.tell() > limits.result_bytes:
                raise _RefusedError(f"the result is larger than {limits.result_bytes >> 20} MiB{limits.advice}")
    reader.close()
    return sink.getvalue()
