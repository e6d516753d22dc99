"""Files of Arrow's own format: Feather (version 2), and Arrow IPC files and streams."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa

from dpdb.database import Database
from dpdb.errors import SourceError
from dpdb.sources.kinds import FileSource, refuse_change
from dpdb.sources.paths import Files
from dpdb.sources.source import Reading, Source, Wanted, declared_types, reason_in_log, refuse_table_name
from dpdb.sources.stream import Stream, copied_stream, validated, without_batches

_FILE, _STREAM, _FEATHER_1 = b"ARROW1", b"\xff\xff\xff\xff", b"FEA1"


class ArrowFile(FileSource):
    """A Feather or Arrow IPC file, copied when it is opened."""

    kind = "arrow"
    title = "Arrow"
    endings = " (.feather, .arrow, .arrows)"
    many = False

    def begins(self, head: bytes) -> bool:
        """Say whether these are the first bytes of an Arrow file or stream."""
        return head.startswith((_FILE, _STREAM, _FEATHER_1))

    def describe(self, database: Database, files: Files, wanted: Wanted) -> Source:
        """Read the schema; see `FileSource`.

        Parameters
        ----------
        database, files, wanted
            As of `FileSource.describe`.
        """
        refuse_table_name(files.place, wanted.table)
        declared_types(database, files.place, (), wanted.types)
        with _reader(files) as reader:
            return copied_stream(database, Stream(files.place, without_batches(reader)))

    def open(self, database: Database, target: Files, wanted: Wanted) -> Source:
        """Copy the file; see `open_source`.

        Parameters
        ----------
        database, target, wanted
            As of `SourceKind.open`.
        """
        if wanted.rows is Reading.NONE or (wanted.rows is Reading.COMPUTED and target.path is not None):
            found = self.describe(database, target, wanted)
            return found if wanted.rows is Reading.NONE else replace(found, path=target.path, state=target.state())
        refuse_table_name(target.place, wanted.table)
        declared_types(database, target.place, (), wanted.types)
        state = target.settled_state()
        with _reader(target) as reader:
            found = copied_stream(database, Stream(target.place, validated(reader)))
        refuse_change(target, state)
        return replace(found, path=target.path, state=state)


@contextmanager
def _reader(files: Files) -> Iterator[pa.RecordBatchReader]:
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
