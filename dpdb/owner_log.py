"""The owner's log: details of failures, which name values of the private table. Silent unless the owner listens."""

from __future__ import annotations

import logging

__all__ = ["OWNER_LOG"]

OWNER_LOG = logging.getLogger("dpdb.owner")
OWNER_LOG.addHandler(logging.NullHandler())
OWNER_LOG.propagate = False
