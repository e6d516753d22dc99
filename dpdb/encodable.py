"""The check that text can be encoded: Python makes lone surrogates of bytes that are no UTF-8; UTF-8 has none.

The database, the ledger's file and digests take UTF-8. Text without UTF-8 is refused at the door, before any budget
is spent.
"""

from __future__ import annotations

__all__ = ["is_encodable"]


def is_encodable(text: str) -> bool:
    """Return whether the text can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
