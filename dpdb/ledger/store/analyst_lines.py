"""The analysts of a ledger as its lines: a chain, never changed; the newest line of a name holds."""

from __future__ import annotations

import json
from typing import NamedTuple

from dpdb.ledger.store.seals import Chain

__all__ = ["ROLES", "AnalystLine", "Analysts"]

ROLES = ("analyst", "checker", "owner")
"""An analyst asks for releases and checks, a checker for checks alone; an owner sees everything and spends nothing."""

_KEYS = ({"token"}, {"token", "scram"})


class AnalystLine(NamedTuple):
    """The rights of an analyst from this line on, as its row, without seal; `quota` and cap in units of the ledger."""

    number: int
    at: str
    name: str
    role: str
    quota: int | None
    most_per_statement: int | None
    expires: str | None
    approved_by: str | None
    credentials: str | None
    options: str | None
    place: int

    @property
    def token(self) -> str | None:
        """Digest of the token; None once the rights were withdrawn."""
        return self._credential("token")

    @property
    def scram(self) -> str | None:
        """Keys of SCRAM-SHA-256, made from the token; None of a token from before there were such."""
        return self._credential("scram")

    def _credential(self, name: str) -> str | None:
        found: str | None = None if self.credentials is None else json.loads(self.credentials).get(name)
        return found


class Analysts(Chain[AnalystLine]):
    """The lines in order.

    Attributes
    ----------
    newest : dict of str to AnalystLine
        By name.
    is_understood : bool
        Whether this version knows every role, credential and option.
    """

    def __init__(self) -> None:
        super().__init__("analyst", AnalystLine)
        self.newest: dict[str, AnalystLine] = {}
        self.is_understood = True

    def take(self, line: AnalystLine) -> None:
        """Add the next line, whose seal was checked."""
        known = line.credentials is None or json.loads(line.credentials).keys() in _KEYS
        if line.role not in ROLES or line.options is not None or not known:
            self.is_understood = False
        self.newest[line.name] = line
