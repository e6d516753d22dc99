"""An ORC file's stripes, read by a process of its own: a changed byte may end the process that reads them.

The reader of ORC takes lengths and places in a file on trust. So a child reads them, under a limit of memory, and
writes a stream of Arrow; this process checks what arrives.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from pyarrow import orc

_MEMORY = 8 << 30
"""Bytes of address space for reading a file."""
CHILD = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from dpdb.sources.files.orc_stripes import serve; serve(*json.loads(sys.argv[2]))"
)
_REASON = 4096


def with_moments(schema: pa.Schema) -> frozenset[str]:
    """Return the columns with timestamps, alone or within lists, structs and maps.

    pyarrow refuses a whole stripe for one moment outside 1677 to 2262: one row would decide whether others count.
    """
    return frozenset(field.name for field in schema if _has_moments(field.type))


def _has_moments(kind: pa.DataType) -> bool:
    inside = [kind.field(place).type for place in range(kind.num_fields)]
    return pa.types.is_timestamp(kind) or any(map(_has_moments, inside))


@contextmanager
def stripes(path: str) -> Iterator[pa.RecordBatchReader]:
    """Read one file; columns with timestamps are NULL.

    Raises
    ------
    pyarrow.ArrowInvalid
        If it cannot be read, or not within 8 GiB of memory; also while its batches are read.
    """
    with (
        tempfile.TemporaryFile() as said,  # no pipe: a child that says much would wait for who reads it
        subprocess.Popen(
            [sys.executable, "-I", "-c", CHILD, json.dumps(sys.path), json.dumps([path, _MEMORY])],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            start_new_session=True,  # Ctrl-C at the terminal is for this process
        ) as child,
    ):
        try:
            yield _arriving(child, said)
        finally:
            child.kill()


def _arriving(child: subprocess.Popen[bytes], said: IO[bytes]) -> pa.RecordBatchReader:
    try:
        reader = pa.ipc.open_stream(child.stdout)
    except (pa.ArrowException, OSError):  # it wrote nothing, or not enough
        raise _reason(child, said) from None

    def batches() -> Iterator[pa.RecordBatch]:
        try:
            yield from reader
        except (pa.ArrowException, OSError):
            raise _reason(child, said) from None
        if child.wait() != 0:
            raise _reason(child, said)

    return pa.RecordBatchReader.from_batches(reader.schema, batches())


def _reason(child: subprocess.Popen[bytes], said: IO[bytes]) -> pa.ArrowInvalid:
    assert child.stdout is not None
    child.stdout.close()  # what still writes ends
    with contextlib.suppress(subprocess.TimeoutExpired):
        child.wait(5)
    child.kill()
    ended = child.wait()
    said.seek(0)
    reason = said.read(_REASON).decode(errors="replace").strip()
    return pa.ArrowInvalid(reason or f"the process that read it ended ({ended})")


def serve(path: str, memory: int) -> None:
    """Write a file as a stream of Arrow to standard output, and why it cannot be read to the other: the child's work.

    Parameters
    ----------
    memory
        Bytes of memory that this process may take.
    """
    from pyarrow import orc

    with contextlib.suppress(ImportError, ValueError, OSError):  # where there is no such limit
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        found = orc.ORCFile(path)
        with pa.ipc.new_stream(sys.stdout.buffer, found.schema) as out:
            for batch in _batches(found):
                out.write_batch(batch)
                sys.stdout.buffer.flush()
        sys.stdout.buffer.flush()
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        sys.exit(str(error)[:_REASON] or type(error).__name__)


def _batches(file: orc.ORCFile) -> Iterator[pa.RecordBatch]:
    schema = file.schema
    unread = with_moments(schema)
    names = [name for name in schema.names if name not in unread]
    for number in range(file.nstripes):
        batch = file.read_stripe(number, columns=names if unread else None)
        cells = [pa.nulls(len(batch), f.type) if f.name in unread else batch.column(f.name) for f in schema]
        yield pa.RecordBatch.from_arrays(cells, schema=schema)
