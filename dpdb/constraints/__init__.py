"""Constraints as values: text in, frozen `DenialConstraint` values out.

Pure: no database, no table, no randomness.
"""

from dpdb.constraints.column_ref import (
    Across as Across,
    ColumnRef as ColumnRef,
    ComparedWith as ComparedWith,
    ComputedRef as ComputedRef,
    ConditionAcross as ConditionAcross,
    Freshness as Freshness,
    Inclusion as Inclusion,
    LookUp as LookUp,
    Member as Member,
    RowExpression as RowExpression,
    SchemaLine as SchemaLine,
    computed as computed,
)
from dpdb.constraints.denial import (
    COMPARISONS as COMPARISONS,
    MAX_PREDICATES as MAX_PREDICATES,
    OPERATORS as OPERATORS,
    Constant as Constant,
    DenialConstraint as DenialConstraint,
    Moment as Moment,
    Operator as Operator,
    Predicate as Predicate,
)
from dpdb.constraints.load import (
    ConstraintsLike as ConstraintsLike,
    WrittenLines as WrittenLines,
    condition_with_members as condition_with_members,
    load_constraints as load_constraints,
    load_lines as load_lines,
    never_a_path as never_a_path,
    written_lines as written_lines,
)
from dpdb.constraints.shape import (
    BlockShape as BlockShape,
    FunctionalDependency as FunctionalDependency,
    OrderDependency as OrderDependency,
    block_shape as block_shape,
    column_signs as column_signs,
    compares_every_pair as compares_every_pair,
    describe as describe,
    distinct as distinct,
    equality_columns as equality_columns,
    functional_dependency as functional_dependency,
    is_key as is_key,
    is_symmetric as is_symmetric,
    key_columns as key_columns,
    known_rows as known_rows,
    never_null as never_null,
    order_dependency as order_dependency,
    places_among_distinct as places_among_distinct,
)
from dpdb.constraints.sorted_shape import (
    SortedKind as SortedKind,
    SortedShape as SortedShape,
    sorted_shape as sorted_shape,
)
from dpdb.constraints.text.cursor import ColumnNames as ColumnNames
from dpdb.constraints.text.lexer import MAX_LENGTH as MAX_LENGTH, shortened as shortened
from dpdb.constraints.text.line import (
    DECISION_BITS as DECISION_BITS,
    DISTINCT_VALUES as DISTINCT_VALUES,
    DUPLICATE_VALUES as DUPLICATE_VALUES,
    KEYS_MISSING_LEFT as KEYS_MISSING_LEFT,
    KEYS_MISSING_RIGHT as KEYS_MISSING_RIGHT,
    KEYS_THAT_DIFFER as KEYS_THAT_DIFFER,
    MOST_ROWS as MOST_ROWS,
    OF_KEYS as OF_KEYS,
    ROW_COUNT as ROW_COUNT,
    ROWS_IN_DUPLICATES as ROWS_IN_DUPLICATES,
    SCHEMA as SCHEMA,
    VIOLATIONS as VIOLATIONS,
    ConstraintLine as ConstraintLine,
    Limit as Limit,
    Statistic as Statistic,
    of_used_rows as of_used_rows,
    without_comment as without_comment,
)
from dpdb.constraints.text.parser import parse_constraint as parse_constraint
from dpdb.constraints.text.unit_path import KeyStep as KeyStep, UnitPath as UnitPath, unit_path as unit_path
from dpdb.names import quoted_name as quoted_name
