"""Constraints as values: text in, frozen `DenialConstraint` values out.

Pure: no database, no table, no randomness.
"""

from dpdb.constraints.across import Across, ConditionAcross, Inclusion, LookUp, Member
from dpdb.constraints.block_shape import BlockShape, block_shape, column_signs, compares_every_pair
from dpdb.constraints.column_ref import ColumnRef, ComputedRef, RowExpression, computed
from dpdb.constraints.comparisons import COMPARISONS, OPERATORS
from dpdb.constraints.denial import MAX_PREDICATES, DenialConstraint
from dpdb.constraints.load import (
    ConstraintsLike,
    WrittenLines,
    load_constraints,
    load_lines,
    never_a_path,
    written_lines,
)
from dpdb.constraints.predicate import Constant, Operator, Predicate
from dpdb.constraints.shape import (
    FunctionalDependency,
    OrderDependency,
    describe,
    distinct,
    equality_columns,
    functional_dependency,
    is_key,
    is_symmetric,
    key_columns,
    never_null,
    order_dependency,
    places_among_distinct,
)
from dpdb.constraints.sorted_shape import SortedKind, SortedShape, sorted_shape
from dpdb.constraints.text.lexer import MAX_LENGTH
from dpdb.constraints.text.limits import (
    DUPLICATE_VALUES,
    MOST_ROWS,
    ROW_COUNT,
    ROWS_IN_DUPLICATES,
    VIOLATIONS,
    Limit,
    Statistic,
)
from dpdb.constraints.text.line import ConstraintLine, without_comment
from dpdb.constraints.text.member_text import condition_with_members
from dpdb.constraints.text.parser import parse_constraint
from dpdb.constraints.text.source import shortened
from dpdb.names import quoted_name

__all__ = [
    "COMPARISONS",
    "DUPLICATE_VALUES",
    "MAX_LENGTH",
    "MAX_PREDICATES",
    "MOST_ROWS",
    "OPERATORS",
    "ROWS_IN_DUPLICATES",
    "ROW_COUNT",
    "VIOLATIONS",
    "Across",
    "BlockShape",
    "ColumnRef",
    "ComputedRef",
    "ConditionAcross",
    "Constant",
    "ConstraintLine",
    "ConstraintsLike",
    "DenialConstraint",
    "FunctionalDependency",
    "Inclusion",
    "Limit",
    "LookUp",
    "Member",
    "Operator",
    "OrderDependency",
    "Predicate",
    "RowExpression",
    "SortedKind",
    "SortedShape",
    "Statistic",
    "WrittenLines",
    "block_shape",
    "column_signs",
    "compares_every_pair",
    "computed",
    "condition_with_members",
    "describe",
    "distinct",
    "equality_columns",
    "functional_dependency",
    "is_key",
    "is_symmetric",
    "key_columns",
    "load_constraints",
    "load_lines",
    "never_a_path",
    "never_null",
    "order_dependency",
    "parse_constraint",
    "places_among_distinct",
    "quoted_name",
    "shortened",
    "sorted_shape",
    "without_comment",
    "written_lines",
]
