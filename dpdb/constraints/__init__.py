"""Constraints as values: text in, frozen `DenialConstraint` values out.

Pure: no database, no table, no randomness.
"""

from dpdb.constraints.block_shape import BlockShape, block_shape
from dpdb.constraints.denial import MAX_PREDICATES, DenialConstraint
from dpdb.constraints.load import ConstraintsLike, load_constraints
from dpdb.constraints.parser import parse_constraint
from dpdb.constraints.predicate import ColumnRef, Constant, Operator, Predicate, quoted_name
from dpdb.constraints.shape import (
    FunctionalDependency,
    OrderDependency,
    describe,
    distinct,
    equality_columns,
    functional_dependency,
    is_symmetric,
    key_columns,
    order_dependency,
)
from dpdb.constraints.source import shortened

__all__ = [
    "MAX_PREDICATES",
    "BlockShape",
    "ColumnRef",
    "Constant",
    "ConstraintsLike",
    "DenialConstraint",
    "FunctionalDependency",
    "Operator",
    "OrderDependency",
    "Predicate",
    "block_shape",
    "describe",
    "distinct",
    "equality_columns",
    "functional_dependency",
    "is_symmetric",
    "key_columns",
    "load_constraints",
    "order_dependency",
    "parse_constraint",
    "quoted_name",
    "shortened",
]
