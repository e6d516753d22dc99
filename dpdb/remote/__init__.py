"""Tables of other engines: they answer queries with small Arrow tables, and everything else stays as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.remote.engine import RemoteEngine as RemoteEngine, scratch_of as scratch_of
    from dpdb.remote.opened import GatheredTable as GatheredTable
    from dpdb.remote.scratch import Scratch as Scratch
    from dpdb.remote.table import RemoteSet as RemoteSet
    from dpdb.remote.tried import record as record, trying_out as trying_out
else:
    __getattr__, __all__ = lazy_names(__name__)
