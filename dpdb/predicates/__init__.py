"""Predicates: the one tree of a WHERE clause, from which the rows that are read and the rows that are charged come.

`parse` takes text, `bind` types it with what the engine knows, `sql` writes it for the engine, `covered` finds the
region that the accountant charges, as boxes over columns. Pure: no database is asked here, and no row is read.
`text_reader` reads clauses of tables that nobody has opened, for `dpdb overlap`.
"""

from __future__ import annotations

from dpdb.predicates.attribute_sets import ValueSet
from dpdb.predicates.region import Region
from dpdb.predicates.stored_region import region_from_text, region_to_text

__all__ = ["Region", "ValueSet", "region_from_text", "region_to_text"]
