"""What names tables of Spark: its data frames, and texts such as ``spark:catalog.schema.table``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dpdb.errors import SourceError

if TYPE_CHECKING:
    from dpdb.remote.sets.spark import SparkSet
    from dpdb.remote.spark import SparkTable

__all__ = ["SparkSource"]

_PREFIX = "spark:"


class SparkSource:
    """The kind of sources that are Spark's: its data frames, and texts such as ``spark:catalog.schema.table``."""

    takes_table = False

    def reads(self, source: object) -> bool:
        """Say whether the source is one of these; pyspark is not imported for that."""
        if isinstance(source, str):
            return source.startswith(_PREFIX)
        return hasattr(type(source), "sparkSession") and hasattr(type(source), "toArrow")

    def open(self, source: Any, table: str | None = None) -> SparkTable:
        """Open it; a text in the active session, or in one that is made for it (`SPARK_REMOTE` gives Connect).

        Raises
        ------
        SourceError
            If there is no such table, no Spark, or no session can be made.
        """
        from dpdb.remote.spark import SparkTable, frame_at, spark_session

        del table
        if not isinstance(source, str):
            return SparkTable(source, "Spark data frame")
        name = source.removeprefix(_PREFIX)
        session, is_ours = spark_session()
        try:
            return SparkTable(frame_at(session, name), source, name, stop=session.stop if is_ours else None)
        except BaseException:
            if is_ours:
                session.stop()
            raise

    def open_set(self, source: Any, schema: str | None) -> SparkSet:
        """Open the schema or folder that a text names; see `SparkSet`.

        Raises
        ------
        SourceError
            If there is none, no Spark, or no session can be made.
        """
        from dpdb.remote.sets.spark import SparkSet

        if not isinstance(source, str) or schema is not None:
            raise SourceError("a set of tables in Spark is a text: spark:CATALOG.SCHEMA, or spark:parquet.`FOLDER`")
        return SparkSet(source.removeprefix(_PREFIX))
