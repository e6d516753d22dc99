"""`RemoteDatabase`: where an analyst's statement runs. It holds public tables and answers of releases, nothing else.

Public tables (`public_tables`) are one file that every worker opens. A worker has run a stranger's SQL: what it sends
as a result may be any bytes, and is read as such.
"""

from __future__ import annotations

import dataclasses
import json
import re
import signal
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from dpdb.database import sql_file
from dpdb.doors.sql.asked_errors import AskedErrors
from dpdb.doors.sql.child import messages
from dpdb.doors.sql.child.children import Child, Children
from dpdb.doors.sql.child.messages import Limits
from dpdb.doors.sql.child.public_tables import PublicTables
from dpdb.doors.sql.parse import one_line
from dpdb.doors.sql.rewrite import ANSWERS
from dpdb.errors import OWNER_LOG, EngineError, StatementFailedError, StatementRefusedError

Form = Literal["query", "explain", "describe"]

_ERRORS = AskedErrors("statements that failed")
_MOST_REASON = 64 << 10
_STREAM_END = 1 << 10
# What DuckDB's words are about: `kind` of a refusal.
_KINDS = {
    "column": re.compile(r"^Binder Error: (Referenced column|.{0,300} does not have a column named)"),
    "function": re.compile(
        r"^(Binder Error: (No function matches|Could not choose a best candidate function)"
        r"|Catalog Error: .{0,40}Function with name)"
    ),
    "division": re.compile(r"^Invalid Input Error: [Dd]ivision by zero"),
}
_SIGNALS = frozenset(int(number) for number in signal.Signals)


class RemoteDatabase:
    """A database without anything private, in which every statement has a process of its own.

    May be used by several threads at once.

    Parameters
    ----------
    public : PublicTables, or mapping of name to path
        Parquet and CSV files of the owner's choice that statements may read by name. Given as `PublicTables`, they may
        be others' too: who has opened them closes them.

    Attributes
    ----------
    public : frozenset of str
        Names of the public tables, as `folded`.

    Raises
    ------
    SourceError, ParameterError
        If a public table cannot be read or two have one name.
    """

    def __init__(self, public: PublicTables | Mapping[str, str | Path], limits: Limits) -> None:
        self._limits = limits
        self._tells_lacking = True
        self._children = Children()  # first: it starts while the public tables are read
        self._is_shared = isinstance(public, PublicTables)
        try:
            self._public = public if isinstance(public, PublicTables) else PublicTables(public)
            self.public = self._public.names
        except BaseException:
            self._children.close()
            raise

    @contextmanager
    def statement(
        self,
        query: str,
        answers: Mapping[str, pa.Schema],
        form: Form = "query",
        *,
        macros: str = "",
        most: Mapping[str, Any] | None = None,
        behind: bool = False,
    ) -> Iterator[RemoteStatement]:
        """Run the process of one statement while the block lasts.

        Parameters
        ----------
        query : str
            One query; it may read the public tables, and answers as tables of the schema `ANSWERS`.
        answers : mapping of str to pyarrow.Schema
            Names and columns of the tables of answers, which are empty until `RemoteStatement.run`.
        form : str
            ``"query"`` to run the query, ``"explain"`` for its query plan, ``"describe"`` for its columns.
        macros : str
            SQL of the caller's own that defines what the query may call.
        most : mapping, optional
            Limits of this statement, instead of those of all.
        behind : bool
            Whether others have the processors first from its start, as they have of what runs long.

        Raises
        ------
        EngineError
            If no process can be started.
        """
        limits = dataclasses.replace(self._limits, **(most or {}))
        with self._public.in_use() as file, self._children.child() as child:
            if behind:
                child.step_back()
            request = {
                "query": query,
                "form": form,
                "answers": list(answers),
                "schema": ANSWERS,
                "public": None if file is None else str(file),
                "settings": sql_file("settings") + macros,
                "limits": dataclasses.asdict(limits),
            }
            yield RemoteStatement(self, child, request, answers, limits)

    def _tell_lacking(self, reasons: bytearray) -> None:
        """Tell the owner, once, which walls of the kernel the workers lack, as one said before it ran anything."""
        if self._tells_lacking:
            self._tells_lacking = False
            said = one_line(bytes(reasons[:_MOST_REASON]).decode(errors="replace"))
            OWNER_LOG.warning("statements run behind fewer walls than dpdb knows: %s", said)

    def close(self) -> None:
        """End all processes, and drop the public tables that it has opened itself. May be called twice."""
        self._children.close()
        if not self._is_shared:
            self._public.close()


class RemoteStatement:
    """A statement in its process: rehearse and run it, or show its plan or columns. `RemoteDatabase` makes it."""

    def __init__(
        self,
        database: RemoteDatabase,
        child: Child,
        request: Mapping[str, object],
        answers: Mapping[str, pa.Schema],
        limits: Limits,
    ) -> None:
        self._database, self._limits = database, limits
        self._child, self._request = child, request
        # Not `empty_table()`, which imports pandas where there is one.
        self._no_answers = {name: pa.Table.from_batches([], schema) for name, schema in answers.items()}

    def rehearse(self) -> None:
        """Run the query over empty answers, so that its errors are known before anything is spent.

        Raises
        ------
        StatementRefusedError
            With DuckDB's message, which is about public things only, or with the limit that was reached.
        """
        self._before_spending(messages.PASSED)

    def show(self) -> pa.Table:
        """Return the query plan or the columns of the query."""
        return read_result(self._before_spending(messages.RESULT), self._limits)

    def run(self, answers: Mapping[str, pa.Table]) -> pa.Table:
        """Run the rehearsed query over the answers.

        Raises
        ------
        EngineError
            With DuckDB's message, or with the limit that was reached.
        """
        return read_result(self._exchange(answers, messages.RESULT), self._limits)

    def _before_spending(self, wanted: bytes) -> bytearray:
        try:
            request = json.dumps(self._request).encode()
            return self._exchange(self._no_answers, wanted, request)
        except EngineError as error:
            kind = next((kind for kind, words in _KINDS.items() if words.search(str(error))), "")
            raise StatementRefusedError(f"{error}; nothing was spent", kind=kind) from None

    def _exchange(self, answers: Mapping[str, pa.Table], wanted: bytes, request: bytes | None = None) -> bytearray:
        """Send the answers that the worker waits for, and return the content of its message of the wanted kind.

        Every other outcome is an `EngineError` with one line for the analyst.
        """
        until = time.monotonic() + self._limits.seconds
        try:
            with suppress(messages.ClosedError):  # it may have sent the reason before it ended
                if request is not None:
                    self._child.send(messages.STATEMENT, request, until)
                for rows in answers.values():
                    self._child.send(messages.ANSWER, _stream(rows), until)
            kind, content = self._child.receive(self._limits.result_bytes + _STREAM_END, until)
            if kind == messages.LACKING and request is not None:
                self._database._tell_lacking(content)
                kind, content = self._child.receive(self._limits.result_bytes + _STREAM_END, until)
        except TimeoutError:
            raise StatementFailedError(f"the statement was stopped after {self._limits.seconds:g} seconds") from None
        except messages.TooLongError:
            most = f"{self._limits.result_bytes >> 20} MiB{self._limits.advice}"
            raise StatementFailedError(f"the result is larger than {most}") from None
        except messages.ClosedError:
            self._child.end()
            raise StatementFailedError(_last_words(self._child.exit_code, self._limits)) from None
        if kind == messages.FAILED:
            reason = bytes(content[:_MOST_REASON]).decode(errors="replace")
            _ERRORS.tell(f"{reason}\n{self._request['query']}")
            # The rest quotes the rewritten statement.
            raise StatementFailedError(one_line(reason.partition("\n\nLINE ")[0]))
        if kind != wanted:
            raise StatementFailedError("the result is damaged")
        return content


def _last_words(exit_code: int | None, limits: Limits) -> str:
    """Return the probable reason why a worker ended without a message."""
    if exit_code == -signal.SIGXCPU:
        return f"the statement used more than {2 * limits.seconds:g} seconds of processor time"
    how = f" ({signal.Signals(-exit_code).name})" if exit_code is not None and -exit_code in _SIGNALS else ""
    return f"the process that ran the statement ended{how}: it needed too much memory, or was stopped from outside"


def _stream(rows: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    return sink.getvalue()


# Places in the tables of Arrow's message format (Message.fbs).
_HEADER, _COMPRESSION = 2, 3
# Types of which a few bytes can stand for any amount of text or values; DuckDB sends none of them.
_SHARING: tuple[Callable[[pa.DataType], bool], ...] = (
    pa.types.is_dictionary,
    pa.types.is_run_end_encoded,
    pa.types.is_string_view,
    pa.types.is_binary_view,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)

_DAMAGE = (
    pa.ArrowException, MemoryError, OverflowError, ValueError, TypeError, OSError, StopIteration, struct.error,
)  # fmt: skip


def read_result(content: bytes | bytearray, limits: Limits) -> pa.Table:
    """Read an Arrow stream."""
    try:
        _refuse_odd_messages(content)
        table = pa.ipc.open_stream(content).read_all().replace_schema_metadata()
        "".join(table.column_names).encode()
        table.validate(full=True)
        values = sum(_values(chunk) for column in table.columns for chunk in column.chunks)
    except _DAMAGE:
        raise StatementFailedError("the result is damaged") from None
    for found, most, what in ((table.num_rows, limits.rows, "rows"), (values, limits.values, "values")):
        if found > most:
            raise StatementFailedError(f"the result has more than {most:,} {what}{limits.advice}")
    return table


def _refuse_odd_messages(content: bytes | bytearray) -> None:
    """Accept only the messages of DuckDB's results: a schema and batches of rows that are not compressed."""
    messages: Iterator[pa.ipc.Message] = iter(pa.ipc.MessageReader.open_stream(content))
    kinds = [next(messages).type]
    for message in messages:
        kinds.append(message.type)
        if _is_compressed(message.metadata.to_pybytes()):
            raise ValueError("a worker compresses nothing")
    if kinds != ["schema"] + ["record batch"] * (len(kinds) - 1):
        raise ValueError(f"a worker does not send {kinds}")


def _is_compressed(metadata: bytes) -> bool:
    """Look into a message's metadata: compressed bytes could become any number of bytes."""
    header = _field(metadata, struct.unpack_from("<I", metadata)[0], _HEADER)
    return header is None or _field(metadata, header, _COMPRESSION) is not None


def _field(metadata: bytes, table: int, number: int) -> int | None:
    """Return where the table in a field of a FlatBuffers table starts, None if the field is absent."""
    places = table - struct.unpack_from("<i", metadata, table)[0]
    size = struct.unpack_from("<H", metadata, places)[0]
    entry = 4 + 2 * number
    place = struct.unpack_from("<H", metadata, places + entry)[0] if entry < size else 0
    if not place:
        return None
    start: int = table + place + struct.unpack_from("<I", metadata, table + place)[0]
    return start


def _values(array: pa.Array) -> int:
    """Count the values of an array, those inside of lists and structs one by one."""
    kind = array.type
    if any(is_sharing(kind) for is_sharing in _SHARING):
        raise ValueError(f"a worker sends no {kind}")
    if isinstance(array, pa.ExtensionArray):
        return _values(array.storage)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return len(array) + _values(array.flatten())
    if pa.types.is_map(kind):
        return len(array) + _values(array.keys) + _values(array.items)
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        return len(array) + sum(_values(array.field(position)) for position in range(kind.num_fields))
    return len(array)
