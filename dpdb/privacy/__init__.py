"""The privacy room: exact shares of epsilon, notions of privacy, discrete noise, private selection.

Only this room draws random numbers, only in `noise`, and only through OpenDP's exact samplers. It sees integers, never
graphs, tables or SQL.
"""

from __future__ import annotations

from dpdb.privacy.notions import GDP, NOTIONS, PURE, ZCDP, Notion

__all__ = ["GDP", "NOTIONS", "PURE", "ZCDP", "Notion"]
