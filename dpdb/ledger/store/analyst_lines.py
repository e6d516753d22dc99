"""The analysts of a ledger as its lines: a chain, never changed; the newest line of a name holds."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpdb.ledger.store.seals import FIRST, seal

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


@dataclass
class Analysts:
    """The lines in order.

    Attributes
    ----------
    newest : dict of str to AnalystLine
        By name.
    seals : list of bytes
        One per line.
    is_understood : bool
        Whether this version knows every role, credential and option.
    """

    newest: dict[str, AnalystLine] = field(default_factory=dict)
    seals: list[bytes] = field(default_factory=list)
    is_understood: bool = True

    @property
    def last(self) -> int:
        """Number of the newest line."""
        return len(self.seals)

    @property
    def before(self) -> bytes:
        """Seal of the newest line."""
        return self.seals[-1] if self.seals else FIRST

    def row(self, key: bytes, line: AnalystLine) -> tuple[object, ...]:
        """Return the row of the next line, with its seal last; `key` is the ledger's own."""
        return *line, seal(key, "analyst", self.before, line)

    def read(self, key: bytes, rows: list[Any]) -> None:
        """Read rows that follow the newest line; `ValueError` if a row does not agree with its seal."""
        for *row, sealed in rows:
            line = AnalystLine(*row)
            if line.number != self.last + 1 or seal(key, "analyst", self.before, line) != sealed:
                raise ValueError("the line of an analyst does not agree with its seal")
            self.seals.append(sealed)
            known = line.credentials is None or json.loads(line.credentials).keys() in _KEYS
            if line.role not in ROLES or line.options is not None or not known:
                self.is_understood = False
            self.newest[line.name] = line
