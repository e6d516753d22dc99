"""The owner's log: details of failures, which name values of the private table. Silent unless the owner listens."""

from __future__ import annotations

import logging

__all__ = ["OWNER_LOG", "tell_owner"]

OWNER_LOG = logging.getLogger("dpdb.owner")
OWNER_LOG.addHandler(logging.NullHandler())
OWNER_LOG.propagate = False


def tell_owner(name: str) -> None:
    """Send the errors in a library's log to the owner alone, and the rest to nobody."""
    log, handler = logging.getLogger(name), logging.Handler(logging.ERROR)
    handler.emit = OWNER_LOG.handle  # type: ignore[method-assign]
    log.handlers, log.propagate = [handler], False
