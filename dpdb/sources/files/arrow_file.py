"""Files of Arrow's own format: Feather (version 2), and Arrow IPC files and streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from dpdb.errors import SourceError
from dpdb.sources.files.copied_file import CopiedFile
from dpdb.sources.paths import Files
from dpdb.sources.source import reason_in_log

_FILE, _STREAM, _FEATHER_1 = b"ARROW1", b"\xff\xff\xff\xff", b"FEA1"


class ArrowFile(CopiedFile):
    """A Feather or Arrow IPC file, copied when it is opened."""

    kind = "arrow"
    title = "Arrow"
    endings = " (.feather, .arrow, .arrows)"

    def begins(self, head: bytes) -> bool:
        """Say whether these are the first bytes of an Arrow file or stream."""
        return head.startswith((_FILE, _STREAM, _FEATHER_1))

    @contextmanager
    def reader(self, files: Files) -> Iterator[pa.RecordBatchReader]:
        """Open the file; see `CopiedFile`."""
        errors = (pa.ArrowException, OSError, UnicodeDecodeError)  # the last: names that are not UTF-8
        with reason_in_log(f"{files.place}: is cut short or damaged", *errors), pa.memory_map(files.paths[0]) as file:
            head = file.read(len(_FILE))
            file.seek(0)
            if head.startswith(_FEATHER_1):
                raise SourceError(f"{files.place}: is a Feather file of version 1; write it again as version 2")
            yield _opened(file, is_file=head == _FILE)


def _opened(file: pa.NativeFile, *, is_file: bool) -> pa.RecordBatchReader:
    if not is_file:
        return pa.ipc.open_stream(file)
    found = pa.ipc.open_file(file)
    return pa.RecordBatchReader.from_batches(
        found.schema, (found.get_batch(number) for number in range(found.num_record_batches))
    )
