"""Addresses of servers, which may hold a password: taken apart so that no message shows a part of one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dpdb.errors import SourceError

# A sign of these that stands unescaped in a password would make part of it a host, which messages name.
_ADDRESS = re.compile(
    r"(?P<scheme>\w+)://((?P<user>[^:@/?#]*)(:(?P<password>[^@/?#]*))?@)?(?P<host>[^@/?#]*)"
    r"(/(?P<database>[^@/?#]*))?(\?(?P<options>[^?#]*))?"
)


def parts_of_address(text: str, schemes: Sequence[str], better: str) -> Mapping[str, str | None]:
    """Take an address apart: user, password, host, database, options, all as they are written.

    Parameters
    ----------
    schemes
        What it may begin with.
    better
        Where a password is better kept, for the message.

    Raises
    ------
    SourceError
        If it is not clear where a password in it ends. The message shows nothing of it.
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or match["scheme"] not in schemes:
        raise SourceError(
            f"{schemes[0]}://...: not an address; it is {schemes[0]}://USER@HOST:PORT/DATABASE, where a password has "
            f"'%40' for '@', '%2F' for '/', '%3F' for '?' and '%23' for '#' (better: {better})"
        )
    return match.groupdict()
