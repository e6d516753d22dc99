"""The tables of a schema of Spark's catalogs, or of a folder of files, in one session."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from dpdb.errors import SourceError
from dpdb.owner_log import OWNER_LOG
from dpdb.remote.spark import SparkTable, frame_at, said, spark_session
from dpdb.remote.table import RemoteSet

__all__ = ["SparkSet"]

_FILES = re.compile(r"(?P<format>\w+)\.`(?P<folder>[^`]*/[^`]*)`")


class SparkSet(RemoteSet):
    """A schema, such as ``catalog.schema`` (empty: the session's own), or a folder, such as ``parquet.`/data/omop` ``.

    Parameters
    ----------
    place : str
        As Spark writes it.
    """

    def __init__(self, place: str) -> None:
        self.description, self._place = f"spark:{place}", place
        self._files = _FILES.fullmatch(place)
        self._places: dict[str, str] = {}
        self._session, self._is_ours = spark_session()
        try:
            self._listed = [] if self._files else self._names()
        except BaseException:
            self.close()
            raise

    def _names(self) -> list[str]:
        """Return the tables and views of the schema; without one those of the session's, temporary ones among them."""
        among = f" IN {self._place}" if self._place else ""
        with said(f"{self.description}: there is no such schema"):
            found = self._session.sql(f"SHOW TABLES{among}").collect()
        with suppress(Exception):  # catalogs without views
            found += self._session.sql(f"SHOW VIEWS{among}").collect()
        names = [(str(row[1]), bool(row[2])) for row in found]
        return sorted({name for name, is_temporary in names if not (self._place and is_temporary)})

    def named(self, name: str) -> Sequence[str]:
        """Return the tables of a name; see the base class. Of a folder the name is that of a file or folder in it."""
        if self._files is None:
            return [each for each in self._listed if each.casefold() == name.casefold()]
        found = [place for place in map(self._file, self._spellings(name)) if self._is_there(place)]
        if len(found) > 1:
            raise SourceError(f"{self.description} has two tables of one name: {', '.join(found)}")
        for place in found:
            self._places[name.casefold()] = place
        return [name] if found else []

    def _spellings(self, name: str) -> list[str]:
        assert self._files is not None
        return [*dict.fromkeys(f"{each}{end}" for each in (name, name.lower()) for end in ("", f".{self._files[1]}"))]

    def _file(self, name: str) -> str:
        assert self._files is not None
        return f"{self._files['format']}.`{self._files['folder'].rstrip('/')}/{name.replace('`', '')}`"

    def _is_there(self, place: str) -> bool:
        try:
            _ = self._session.table(place).schema
        except Exception as error:  # of many libraries
            if "PATH_NOT_FOUND" in str(error):
                return False
            OWNER_LOG.error("spark:%s: %s", place, error)
            raise SourceError(f"spark:{place}: cannot be described; the reason is in the owner's log") from None
        return True

    def _located(self, name: str) -> str:
        """Return where a table is that lies here, or the one that a name with its schema says."""
        if self._files is not None:
            if name.casefold() not in self._places and not self.named(name):
                raise SourceError(f"{self.description}: there is no table {name!r}")
            return self._places[name.casefold()]
        if "." in name:
            return name
        own = f"`{name.replace('`', '``')}`"
        return f"{self._place}.{own}" if self._place else own

    def table(self, name: str) -> SparkTable:
        """Open a table in the session of the set."""
        place = self._located(name)
        return SparkTable(frame_at(self._session, place), f"spark:{place}", place, located=self._located)

    def close(self) -> None:
        """End the session, if it was made for this set."""
        if self._is_ours:
            self._is_ours = False
            with suppress(Exception):
                self._session.stop()
