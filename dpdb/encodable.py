"""The check that text can leave Python: Unicode has no lone surrogates, which Python makes of bytes that are no UTF-8.

The database, the ledger's file and digests take UTF-8. Text that has none is refused where it comes in, before anything
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
