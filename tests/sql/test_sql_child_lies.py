"""A worker that was broken into: whatever it sends, its analyst gets an error or a table, and nobody pays for it."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pytest
from checked_runs import PATIENCE
from counting_noise import CountingNoise
from inside import database_of
from private_rows import RULE

import dpdb
from dpdb.doors.sql import FrontEnd
from dpdb.doors.sql.child import messages
from dpdb.doors.sql.child.messages import Limits
from dpdb.doors.sql.child.remote_database import read_result
from dpdb.errors import DpdbError, EngineError, StatementRefusedError
from dpdb.privacy.noise import replaced_noise

LIMITS = Limits(seconds=0.5, result_bytes=1 << 20, rows=1_000, values=10_000)


def streamed(table: pa.Table, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


class LyingChild:
    """In the place of a process: says what it was told to say."""

    exit_code = None

    def __init__(self, says: list[bytes]) -> None:
        self._ours, self._theirs = socket.socketpair()
        threading.Thread(target=self._say, args=(list(says),), daemon=True).start()

    def _say(self, says: list[bytes]) -> None:
        with suppress(OSError):  # nobody listens any more
            for text in says:
                self._theirs.sendall(text)
            if SILENCE not in says:
                self._theirs.shutdown(socket.SHUT_WR)

    def send(self, kind: bytes, content: bytes, until: float) -> None:
        """Take it and forget it."""

    def receive(self, most: int, until: float) -> tuple[bytes, bytearray]:
        return messages.receive(self._ours, most, until=until)

    def end(self) -> bool:
        self._ours.close()
        self._theirs.close()
        return True


SILENCE = b""
HEAD = messages.HEAD.pack
PASSED = HEAD(messages.PASSED, 0)
TABLE = pa.table({"x": [1, 2, 3]})


def result(content: bytes) -> bytes:
    return HEAD(messages.RESULT, len(content)) + content


@pytest.fixture
def lying(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FrontEnd, list[bytes]]]:
    """A front end, and what its processes will say."""
    says: list[bytes] = []

    @contextmanager
    def child(self: object) -> Iterator[LyingChild]:
        liar = LyingChild(says)
        try:
            yield liar
        finally:
            liar.end()

    with (
        dpdb.open(folder / "visits.parquet", constraints=RULE, budget=10) as session,
        FrontEnd(session, "visits") as door,
        replaced_noise(CountingNoise()),
    ):
        monkeypatch.setattr("dpdb.doors.sql.child.children.Children.child", child)
        monkeypatch.setattr(database_of(door), "_limits", LIMITS)
        yield door, says


ASKED = "SELECT value FROM dp_count('visits', 0.5)"
BEFORE = {
    "nothing": [],
    "silence": [SILENCE],
    "half a head": [PASSED[:4]],
    "more than it sends": [HEAD(messages.PASSED, 5), b"x"],
    "more than may be sent": [HEAD(messages.RESULT, 1 << 40)],
    "a result instead": [result(streamed(TABLE))],
    "another kind": [HEAD(b"?", 0)],
    "many lines": [HEAD(messages.FAILED, 40), b"canary\n\x1b[31m\r\n\x00" + b"y" * 27],
    "a very long line": [HEAD(messages.FAILED, 1 << 20), b"z" * (1 << 20)],
    "no text": [HEAD(messages.FAILED, 4), b"\xff\xfe\xfd\xfc"],
}
AFTER = {
    "nothing": [PASSED],
    "silence": [PASSED, SILENCE],
    "it passed again": [PASSED, PASSED],
    "no result": [PASSED, result(b"")],
    "something else": [PASSED, result(b"\xff" * 1000)],
    "half a result": [PASSED, result(streamed(TABLE)[:-40])],
    "a failure": [PASSED, HEAD(messages.FAILED, 3), b"a\nb"],
}


@pytest.mark.heavy
@pytest.mark.parametrize("lie", BEFORE)
@pytest.mark.parametrize("statement", [ASKED, f"EXPLAIN {ASKED}", f"DESCRIBE {ASKED}"])
def test_what_is_said_instead_of_passing_spends_nothing(
    lie: str, statement: str, lying: tuple[FrontEnd, list[bytes]]
) -> None:
    door, says = lying
    says += BEFORE[lie]
    if lie == "a result instead" and statement.startswith("DESCRIBE"):
        assert door.run(statement).table.equals(TABLE)  # it may lie about this
        return
    start = time.monotonic()
    with pytest.raises(DpdbError) as caught:
        door.run(statement)
    message = str(caught.value)
    assert (len(message) <= 600, message.isprintable(), door.session.spent()) == (True, True, 0)
    assert time.monotonic() - start < LIMITS.seconds + PATIENCE


def test_a_message_that_is_too_long_is_not_waited_for(lying: tuple[FrontEnd, list[bytes]]) -> None:
    door, says = lying
    says += [PASSED, HEAD(messages.RESULT, (1 << 20) + 2_000), SILENCE]
    with pytest.raises(EngineError, match=r"^the result is larger than 1 MiB$"):
        door.run(ASKED)


@pytest.mark.heavy
@pytest.mark.parametrize("lie", AFTER)
def test_what_is_said_instead_of_a_result_loses_no_answer(lie: str, lying: tuple[FrontEnd, list[bytes]]) -> None:
    door, says = lying
    says += AFTER[lie]
    for _ in range(2):  # the second time nothing is drawn
        with pytest.raises(EngineError) as caught:
            door.run(ASKED)
        assert str(caught.value).isprintable()
        assert (door.session.spent(), len(door.kept)) == (0.5, 1)
    says[:] = [PASSED, result(streamed(TABLE))]
    assert door.run(ASKED).table.equals(TABLE)
    assert (door.session.spent(), door.kept) == (0.5, ())


def test_passing_what_cannot_run_costs_what_the_statement_says_and_no_more(
    lying: tuple[FrontEnd, list[bytes]],
) -> None:
    door, says = lying
    says += [PASSED, HEAD(messages.FAILED, 1), b"x"]
    with pytest.raises(EngineError):
        door.run("SELECT nothing_like_this FROM dp_count('visits', 0.5)")
    assert door.session.spent() == 0.5
    with pytest.raises(StatementRefusedError):
        door.run("SELECT pay FROM visits")
    assert door.session.spent() == 0.5


# -- results --------------------------------------------------------------------------------------------------

NULLS = pa.nulls(1 << 20)
OFFSETS = pa.array([0, 1 << 20], pa.int32())
BOMBS: dict[str, Callable[[], pa.Table]] = {
    "rows of nothing": lambda: pa.table({"x": pa.nulls(1 << 20)}),
    "a list of nothing": lambda: pa.table({"x": pa.ListArray.from_arrays(OFFSETS, NULLS)}),
    "a large list": lambda: pa.table({"x": pa.LargeListArray.from_arrays(OFFSETS.cast(pa.int64()), NULLS)}),
    "a fixed list": lambda: pa.table({"x": pa.FixedSizeListArray.from_arrays(NULLS, 1 << 20)}),
    "a map": lambda: pa.table({"x": pa.MapArray.from_arrays(OFFSETS, pa.array([1] * (1 << 20), pa.int8()), NULLS)}),
    "lists in structs": lambda: pa.table({"x": pa.StructArray.from_arrays(
        [pa.ListArray.from_arrays(OFFSETS, NULLS)], ["y"])}),
    "a union": lambda: pa.table({"x": pa.UnionArray.from_sparse(
        pa.array([0], pa.int8()), [pa.ListArray.from_arrays(OFFSETS, NULLS)])}),
    "booleans": lambda: pa.table({"x": pa.array([[True] * 100_000])}),
    "run-end encoding": lambda: pa.table({"x": pa.RunEndEncodedArray.from_arrays(pa.array([900], pa.int32()), ["x"])}),
    "a dictionary": lambda: pa.table({"x": pa.array(["x" * 10_000] * 500).dictionary_encode()}),
    "views of a text": lambda: pa.table({"x": pa.array(["x" * 100] * 500, pa.string_view())}),
    "views of a list": lambda: pa.table({"x": pa.ListViewArray.from_arrays([0] * 900, [900] * 900, pa.nulls(900))}),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_few_bytes_that_stand_for_many_values_are_refused(name: str) -> None:
    content = streamed(BOMBS[name]())
    assert len(content) < 2 << 20
    with pytest.raises(EngineError, match=r"more than|damaged"):
        read_result(content, LIMITS)


def test_compressed_results_are_refused_before_they_are_unpacked() -> None:
    table = pa.table({"x": pa.array(["x" * (64 << 20)])})
    for codec in ("zstd", "lz4"):
        content = streamed(table, compression=codec)
        assert len(content) < 1 << 20
        before = pa.total_allocated_bytes()
        with pytest.raises(EngineError, match="damaged"):
            read_result(content, Limits())
        assert pa.total_allocated_bytes() - before < 1 << 20
    assert read_result(streamed(TABLE), LIMITS).equals(TABLE)


def test_invalid_text_and_names_are_refused() -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    named = streamed(pa.table({"column_name": [1]})).replace(b"column_name", b"column\xff\xfe\xfdxx")
    for content in (streamed(pa.table({"x": broken})), named):
        with pytest.raises(EngineError, match="damaged"):
            read_result(content, LIMITS)


def damage(seed: int) -> bytes:
    chance = random.Random(seed)
    table = pa.table({"a": [1, None, 3], "b": ["x", "yy", None], "c": [[1], [], None], "d": [{"e": 1.5}] * 3})
    content = bytearray(streamed(table))
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(content))
        if chance.random() < 0.8:
            content[at] = chance.randrange(256)
        else:
            del content[at : at + chance.randrange(1, 50)]
    return bytes(content)


def read_damaged(count: int) -> None:
    read = 0
    for seed in range(count):
        try:
            table = read_result(damage(seed), LIMITS)
        except EngineError:
            continue
        read += 1
        with suppress(ValueError, OverflowError):  # dates that Python does not have
            assert len(str(table.to_pylist())) < 100_000
    print(f"\n{count} damaged results: {read} read, {count - read} refused")
    assert 0 < read < count


def test_damaged_results_are_refused_or_read() -> None:
    """Arrow's functions for single messages end the process on some of these."""
    read_damaged(2_000)


@pytest.mark.slow
def test_many_damaged_results_are_refused_or_read() -> None:
    read_damaged(200_000)
