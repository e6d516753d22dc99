"""Addresses of PostgreSQL databases: ``postgresql://user@host:port/database?option=value``, as libpq reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self
from urllib.parse import unquote

from dpdb.errors import SourceError

__all__ = ["PostgresAddress", "is_postgres_address"]

_SCHEMES = ("postgresql://", "postgres://")
# A sign of these that stands unescaped in a password would make part of it a host, which messages name.
_ADDRESS = re.compile(
    r"(?P<scheme>\w+)://((?P<user>[^:@/?#]*)(:(?P<password>[^@/?#]*))?@)?(?P<host>[^@/?#]*)"
    r"(/(?P<database>[^@/?#]*))?(\?(?P<options>[^?#]*))?"
)
_SECRET = ("password", "sslpassword")


def is_postgres_address(text: str) -> bool:
    """Say whether a text is one."""
    return text.startswith(_SCHEMES)


@dataclass(frozen=True, repr=False)
class PostgresAddress:
    """An address.

    Attributes
    ----------
    text : str
        It may hold a password.
    shown : str
        Without password and options.
    secrets : tuple of str
        What must be in no message.
    """

    text: str
    shown: str
    secrets: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read an address.

        Raises
        ------
        SourceError
            If it is not clear where a password in it ends. The message shows nothing of it.
        """
        match = _ADDRESS.fullmatch(text)
        if match is None:
            raise SourceError(
                "postgresql://...: not an address; it is postgresql://USER@HOST:PORT/DATABASE, where a password has "
                "'%40' for '@', '%2F' for '/', '%3F' for '?' and '%23' for '#' (better: ~/.pgpass or PGPASSWORD)"
            )
        user = "" if match["user"] is None else f"{match['user']}@"
        shown = f"postgresql://{user}{match['host']}/{match['database'] or ''}"
        return cls(text, shown, tuple(_secrets(match["password"], match["options"])))

    def without_secrets(self, text: str) -> str:
        """Return a text, such as the server's, in which no secret is."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def _secrets(password: str | None, options: str | None) -> Iterator[str]:
    values = [password or ""]
    for option in (options or "").split("&"):
        name, _, value = option.partition("=")
        if unquote(name) in _SECRET:
            values.append(value)
    for value in values:
        yield from (written for written in {value, unquote(value)} if written)
