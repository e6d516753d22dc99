"""`new_run_id`: the name of a run that nobody has named, so that it can be finished after a kill."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

__all__ = ["new_run_id"]


def new_run_id(kind: str) -> str:
    """Return a run id that nobody has used: what is run, when, and a few random digits."""
    return f"{kind}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(4)}"
