"""What clients ask of the catalog; none of it is answered yet."""

from __future__ import annotations

import pyarrow as pa

from dpdb.doors.server.analysts import Analyst
from dpdb.doors.server.desk import Desk

__all__ = ["answer", "is_about"]


async def answer(text: str, desk: Desk, analyst: Analyst, database: str) -> pa.Table | None:
    """Return what a statement about the catalog says, None of any other statement."""
    del text, desk, analyst, database
    return None


def is_about(text: str) -> bool:
    """Return whether a statement is about the catalog."""
    del text
    return False
