"""ORC files, read by pyarrow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from dpdb.sources.files.copied_file import CopiedFile
from dpdb.sources.files.orc_stripes import stripes, with_moments
from dpdb.sources.paths import Files
from dpdb.sources.source import reason_in_log


class OrcFile(CopiedFile):
    """An ORC file, copied stripe by stripe when it is opened."""

    kind = "orc"
    title = "ORC"

    def begins(self, head: bytes) -> bool:
        """Say whether these are the first bytes of an ORC file; a text may begin with the column ORCID."""
        return head.startswith(b"ORC") and any(byte < ord(" ") and byte not in b"\t\r\n" for byte in head)

    def unread(self, schema: pa.Schema) -> frozenset[str]:
        """Leave out columns with timestamps; see `with_moments`."""
        return with_moments(schema)

    @contextmanager
    def reader(self, files: Files) -> Iterator[pa.RecordBatchReader]:
        """Open the file; see `CopiedFile`."""
        errors = (pa.ArrowException, OSError, UnicodeDecodeError)  # the last: names that are not UTF-8
        with reason_in_log(f"{files.place}: is cut short or damaged", *errors), stripes(files.paths[0]) as reader:
            yield reader
