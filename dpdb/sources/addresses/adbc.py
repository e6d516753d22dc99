"""`AdbcAddress`: ``adbc:DRIVER:URI``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

__all__ = ["AdbcAddress"]

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
