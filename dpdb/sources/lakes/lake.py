"""`Lake`: a source whose own library finds its files and gives its rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import pyarrow as pa

from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG
from dpdb.sources.arrow import validated
from dpdb.sources.files import Files
from dpdb.sources.stream_source import Stream, StreamSource, without_batches
from dpdb.sources.table_choice import refuse_table_name

__all__ = ["Lake"]


class Lake(StreamSource):
    """A table of a lake. What its library says may hold values: that is for the owner's log only."""

    kind: ClassVar[str]
    library: ClassVar[str]

    @abstractmethod
    def scan(self, place: str) -> pa.RecordBatchReader:
        """Read the rows of the table as it is now; any error of the library may be raised."""

    def reads(self, target: object) -> bool:
        """Say whether it is a table of this lake."""
        return isinstance(target, Files) and target.kind == self.kind

    def stream(self, source: Any, table: str | None) -> Stream:
        """Read the table as it is now; see `StreamSource`."""
        return Stream(source.place, validated(self._scan(source, table)))

    def empty(self, source: Any, table: str | None) -> Stream:
        """Read its schema; see `StreamSource`."""
        return Stream(source.place, without_batches(self._scan(source, table)))

    def _scan(self, source: Files, table: str | None) -> pa.RecordBatchReader:
        refuse_table_name(source.place, table)
        try:
            return self.scan(source.place)
        except SourceError:
            raise
        except Exception as error:  # the libraries' errors have no common class but this
            OWNER_LOG.error("%s: %s", source.place, error)
            message = f"{source.place}: {self.library} cannot read it; the reason is in the owner's log"
            raise SourceError(message) from None
