"""`CopiedFile`: what kinds of files have in common that pyarrow reads as one stream, copied when it is opened."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from dataclasses import replace

import pyarrow as pa

from dpdb.database import Database
from dpdb.sources.kinds import FileSource, refuse_change
from dpdb.sources.paths import Files
from dpdb.sources.source import Reading, Source, Wanted, declared_types, refuse_table_name
from dpdb.sources.stream import Stream, copied_stream, without_batches


class CopiedFile(FileSource):
    """A kind of files with types of their own; one file is one table."""

    many = False

    @abstractmethod
    def reader(self, files: Files) -> AbstractContextManager[pa.RecordBatchReader]:
        """Read the file.

        Parameters
        ----------
        files
            The file, as `Files` of one path.

        Raises
        ------
        SourceError
            If it is damaged, also while its batches are read inside; the message tells nothing of its rows.
        """

    def unread(self, schema: pa.Schema) -> frozenset[str]:  # noqa: ARG002
        """Return the columns of which `reader` gives no values, by their types alone."""
        return frozenset()

    def describe(self, database: Database, files: Files, wanted: Wanted) -> Source:
        """Read the schema; see `FileSource`."""
        self._refuse(database, files, wanted)
        with self.reader(files) as reader:
            return copied_stream(database, self._stream(files, without_batches(reader)))

    def open(self, database: Database, target: Files, wanted: Wanted) -> Source:
        """Copy the file; see `open_source`."""
        if wanted.rows is Reading.NONE or (wanted.rows is Reading.COMPUTED and target.path is not None):
            found = self.describe(database, target, wanted)
            return found if wanted.rows is Reading.NONE else replace(found, path=target.path, state=target.state())
        self._refuse(database, target, wanted)
        state = target.settled_state()
        with self.reader(target) as reader:
            found = copied_stream(database, self._stream(target, reader))
        refuse_change(target, state)
        return replace(found, path=target.path, state=state)

    def _stream(self, files: Files, reader: pa.RecordBatchReader) -> Stream:
        return Stream.checked(files.place, reader, unread=self.unread(reader.schema))

    def _refuse(self, database: Database, files: Files, wanted: Wanted) -> None:
        refuse_table_name(files.place, wanted.table)
        declared_types(database, files.place, (), wanted.types)
