"""Everything that becomes SQL: bound constraints and predicates, joins, ranks, codes, degree bounds, counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.engine.sql.bind import (
        BoundConstraint as BoundConstraint,
        BoundPredicate as BoundPredicate,
        Operand as Operand,
        not_alone as not_alone,
        self_conflict as self_conflict,
    )
    from dpdb.engine.sql.coded_rows import ROW as ROW, CountedGroups as CountedGroups
    from dpdb.engine.sql.comparison import evaluated as evaluated, is_known as is_known, shown_as as shown_as
    from dpdb.engine.sql.input_rows import (
        ComputedColumn as ComputedColumn,
        beside_members as beside_members,
        column_def as column_def,
        in_schema_order as in_schema_order,
        members_read as members_read,
        read_columns as read_columns,
    )
    from dpdb.engine.sql.joins import CrossTerm as CrossTerm, GroupTerm as GroupTerm, degree_terms as degree_terms
    from dpdb.engine.sql.sorted_rows import sorted_columns as sorted_columns
    from dpdb.engine.sql.where import WherePredicate as WherePredicate
else:
    __getattr__, __all__ = lazy_names(__name__)
