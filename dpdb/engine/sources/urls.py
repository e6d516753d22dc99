"""Paths that are addresses: refused, with what to do instead."""

from __future__ import annotations

import re
from pathlib import Path

from dpdb.errors import SourceError

__all__ = ["refuse_url"]

# With one slash, too: that is what pathlib makes of two.
_URL = re.compile(r"(?:jdbc:)?([a-z][a-z0-9+.-]+):/|(md):", re.IGNORECASE)
_DATABASES = {
    *("postgres", "postgresql", "mysql", "mariadb", "sqlite", "mssql", "sqlserver", "oracle", "snowflake", "bigquery"),
    *("redshift", "clickhouse", "mongodb", "duckdb", "md", "motherduck"),
}  # fmt: skip


def refuse_url(place: str) -> None:
    """Raise `SourceError` if a text is the address of something that is not a local file; say what to do instead."""
    match = _URL.match(place)
    if match is None or Path(place).exists():
        return
    scheme = (match[1] or match[2]).lower()  # and no more of it: it may hold a password
    if scheme == "file":
        raise SourceError("file://...: give the path itself, without file://")
    if scheme in _DATABASES:
        raise SourceError(
            f"{scheme}:...: dpdb reads local files and DuckDB connections; attach the database in a DuckDB connection "
            "and give that to dpdb.open, or export the table to Parquet"
        )
    raise SourceError(
        f"{scheme}://...: dpdb reads local files and DuckDB connections, so that no release waits for a network; copy "
        "the files to a local disk, or read them in a DuckDB connection and give that to dpdb.open"
    )
