"""What a worker says to each statement, run in this process instead of its own: walls and limits are left out."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest
from inside import public_file

from dpdb.database import sql_file
from dpdb.doors.sql.child import messages, worker
from dpdb.doors.sql.child.messages import Limits
from dpdb.doors.sql.child.remote_database import RemoteDatabase

LIMITS = Limits(rows=100, result_bytes=100_000)
ANSWERS = pa.table({"value": [6.0], "text": ["it's"]})
MANY = "(VALUES " + ", ".join(["(1)"] * 50) + ")"


@pytest.fixture(autouse=True)
def no_walls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Limits, "impose", lambda self: None)
    monkeypatch.setattr("dpdb.doors.sql.child.sandbox.close_off", list)
    monkeypatch.setattr("dpdb.doors.sql.child.sandbox.volunteer_for_out_of_memory", lambda: None)


def said(
    query: str, form: str = "query", public: Path | None = None, limits: Limits = LIMITS
) -> list[tuple[bytes, bytes]]:
    """Return what the worker says, in order."""
    ours, theirs = socket.socketpair()
    request = {"query": query, "form": form, "answers": ["release_1"], "schema": "answers", "limits": asdict(limits)}
    request |= {"public": None if public is None else str(public), "settings": sql_file("settings")}
    heard = []
    with ours, theirs:
        thread = threading.Thread(target=worker.main, args=(theirs,))
        thread.start()
        messages.send(ours, messages.STATEMENT, json.dumps(request).encode())
        for rows in (ANSWERS.slice(0, 0), ANSWERS):
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_table(rows)
            messages.send(ours, messages.ANSWER, sink.getvalue())
        while not heard or heard[-1][0] == messages.PASSED:
            kind, content = messages.receive(ours, 1 << 24)
            heard.append((kind, bytes(content)))
        thread.join()
    return heard


def failure(query: str, form: str = "query", **options: object) -> str:
    (kind, content), *_ = said(query, form, **options)  # type: ignore[arg-type]
    assert kind == messages.FAILED
    return content.decode()


def test_a_query_is_rehearsed_over_empty_answers_and_run_over_the_answers() -> None:
    (first, nothing), (second, content) = said("SELECT count(*) AS n, max(text) AS t FROM answers.release_1")
    assert (first, nothing, second) == (messages.PASSED, b"", messages.RESULT)
    assert pa.ipc.open_stream(content).read_all().to_pylist() == [{"n": 1, "t": "it's"}]


def test_public_tables_are_read_by_name(public: dict[str, Path]) -> None:
    with closing(RemoteDatabase(public, Limits())) as remote:
        (_, (_, content)) = said("SELECT count(*) AS n FROM states, answers.release_1", public=public_file(remote))
        assert pa.ipc.open_stream(content).read_all().to_pylist() == [{"n": 3}]
        for change in ("INSERT INTO states VALUES ('a', 1)", "DROP TABLE states", "CREATE TABLE public.t (x INT)"):
            assert "DuckDB reads this as" in failure(change, public=public_file(remote))


def test_plans_and_columns_are_shown_and_nothing_is_rehearsed() -> None:
    for form, columns in (("explain", ["explain_key", "explain_value"]), ("describe", ["column_name", "column_type"])):
        ((kind, content),) = said("SELECT value FROM answers.release_1", form)
        assert kind == messages.RESULT
        assert pa.ipc.open_stream(content).read_all().column_names[:2] == columns


@pytest.mark.heavy
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1; SELECT 2", "COPY (SELECT 1) TO 'x'", "ATTACH 'x'", "SET threads = 2", "", "-- nothing", "BEGIN",
        "EXPLAIN SELECT 1", "PRAGMA version", "CREATE VIEW v AS SELECT 1", "CALL pragma_version()",
        "PIVOT states ON state USING sum(people)",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["query", "explain", "describe"])
def test_anything_but_one_query_is_refused(statement: str, form: str) -> None:
    assert failure(statement, form).startswith("DuckDB reads this as")


def test_results_over_the_limits_are_not_sent() -> None:
    assert failure(f"SELECT 1 FROM {MANY} a, {MANY} b") == "the result has more than 100 rows"
    one = Limits(rows=100, result_bytes=1 << 20)
    assert failure("SELECT lpad('x', 2000000, 'y')", limits=one) == "the result is larger than 1 MiB"
    (_, (kind, content)) = said(f"SELECT lpad('x', 900, 'y') FROM {MANY}")
    assert (kind, len(content) < LIMITS.result_bytes) == (messages.RESULT, True)


def test_failures_are_duckdbs_words_or_ours() -> None:
    assert failure("SELECT nothing").startswith("Binder Error")
    assert failure("SELECT 1 +").startswith("Parser Error")
    assert "Conversion Error" in failure("SELECT 'x'::INT")
    less = Limits(memory=64 << 20)
    assert failure("SELECT list(range) FROM range(100000000)", limits=less) == worker.OUT_OF_MEMORY


def test_a_parent_that_hangs_up_ends_the_worker() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.close()
        worker.main(theirs)
