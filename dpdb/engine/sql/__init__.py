"""Everything that becomes SQL: bound constraints and predicates, joins, ranks, codes, degree bounds, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.engine.sql.bind import BoundConstraint, BoundPredicate, Operand, not_alone, self_conflict
    from dpdb.engine.sql.coded_rows import ROW, largest_group_size
    from dpdb.engine.sql.comparison import evaluated, is_known, shown_as
    from dpdb.engine.sql.input_rows import (
        ComputedColumn,
        beside_members,
        column_def,
        in_schema_order,
        members_read,
        read_columns,
    )
    from dpdb.engine.sql.joins import CrossTerm, GroupTerm, degree_terms
    from dpdb.engine.sql.where import WherePredicate
else:
    __getattr__, __all__ = lazy_names(__name__)
