"""Texts that are addresses: those that dpdb reads, and others, which are refused with what to do instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dpdb.errors import SourceError

__all__ = [
    "STANDARD_INPUT",
    "AdbcAddress",
    "is_address",
    "is_fetched",
    "refuse_url",
]


STANDARD_INPUT = "-"

_FETCHED = re.compile(r"(https?|s3)://", re.IGNORECASE)
_READ = re.compile(r"(https?://|s3://|iceberg:|adbc:)", re.IGNORECASE)

# With one slash, too: that is what pathlib makes of two. What is almost an address may hold a password as well as one.
_URL = re.compile(
    r"\s*(?:(?:jdbc:)?([a-z][a-z0-9+.-]+):[/\\]|(md|adbc|jdbc|https?|s3|postgres(?:ql)?|mysql|snowflake):)",
    re.IGNORECASE,
)
_DATABASES = {
    *("postgres", "postgresql", "mysql", "mariadb", "sqlite", "mssql", "sqlserver", "oracle", "snowflake", "bigquery"),
    *("jdbc", "redshift", "clickhouse", "mongodb", "duckdb", "md", "motherduck"),
}  # fmt: skip


def is_address(place: str) -> bool:
    """Say whether a text is an address that dpdb reads, not a path."""
    return bool(_READ.match(place))


def is_fetched(place: str) -> bool:
    """Say whether a text names what is fetched before it is read: an address of files, or standard input."""
    return place == STANDARD_INPUT or bool(_FETCHED.match(place))


def refuse_url(place: str) -> None:
    """Raise `SourceError` if a text is the address of something that is not a local file; say what to do instead."""
    match = _URL.match(place)
    if match is None or Path(place).exists():
        return
    scheme = (match[1] or match[2]).lower()  # and no more of it: it may hold a password
    if scheme == "file":
        raise SourceError("file://...: give the path itself, without file://")
    if scheme == "adbc":
        raise SourceError("adbc:...: is no such address; write adbc:DRIVER:URI, such as adbc:postgresql:URI")
    if scheme in ("https", "http", "s3"):
        raise SourceError(f"{scheme}:...: is no such address; write {scheme}://HOST/PATH, with no blank before it")
    if scheme in _DATABASES:
        raise SourceError(
            f"{scheme}:...: not a source; give an ADBC driver and its address (adbc:DRIVER:URI), attach the database "
            "in a DuckDB connection and give that to dpdb.open, or export the table to Parquet"
        )
    raise SourceError(
        f"{scheme}://...: dpdb fetches https:// and s3:// only; copy the files to a local disk, or read them in a "
        "DuckDB connection and give that to dpdb.open"
    )


_ADDRESS = re.compile(r"adbc:([a-z][a-z0-9_]*):(.*)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class AdbcAddress:
    """A driver, by the name of its package ``adbc_driver_NAME``, and its own address, which may hold secrets."""

    driver: str
    uri: str

    @classmethod
    def parse(cls, place: str) -> Self | None:
        """Read an address, or return None if it is none."""
        match = _ADDRESS.fullmatch(place)
        return None if match is None else cls(match[1].lower(), match[2])
