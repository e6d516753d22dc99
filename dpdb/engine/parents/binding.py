"""Rules across tables meet the schemas: columns of two tables become comparable, before any row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dpdb.constraints import DenialConstraint, Inclusion
from dpdb.engine.parents.orphans import KeyPair, OrphanColumn
from dpdb.engine.sql.comparison import common_type
from dpdb.engine.sql.untyped import typing_advice
from dpdb.errors import ConstraintTypeError
from dpdb.schema import Column, TableSchema

if TYPE_CHECKING:
    from dpdb.engine.parents.opened import ParentTable

__all__ = ["BoundInclusion", "bound_inclusion", "orphan_column"]


@dataclass(frozen=True)
class BoundInclusion:
    """A rule across tables over known schemas.

    Attributes
    ----------
    label : str
        The constraint, for messages.
    parent : str
        The parent's name.
    is_public : bool
        The owner's word on the parent.
    is_measured : bool
        Whether the parent is the measured table itself.
    pairs : tuple of KeyPair
    """

    label: str
    parent: str
    is_public: bool
    is_measured: bool
    pairs: tuple[KeyPair, ...]


def bound_inclusion(
    dc: DenialConstraint, rule: Inclusion, schema: TableSchema, parents: Mapping[str, ParentTable]
) -> BoundInclusion:
    """Type a rule across tables.

    Parameters
    ----------
    dc
        The constraint that has the rule, for messages.
    rule
        The columns, and the parent's columns in which their values must be.
    schema
        Of the measured table.
    parents
        The opened parents by name.

    Raises
    ------
    ConstraintTypeError
        If a column and the parent's column that it is compared with have no common type.
    """
    parent = parents[rule.parent]
    pairs = tuple(
        _pair(dc, schema[column], parent.name, parent.schema[parent_column])
        for column, parent_column in zip(rule.columns, rule.parent_columns, strict=True)
    )
    return BoundInclusion(dc.label, parent.name, parent.is_public, parent.is_measured, pairs)


def orphan_column(bound: BoundInclusion, parents: Mapping[str, ParentTable]) -> OrphanColumn:
    """Return the column that says whether a row is an orphan by a rule; its name is still to be found."""
    return OrphanColumn("", "BOOLEAN", keys=parents[bound.parent].keys, pairs=bound.pairs)


def _pair(dc: DenialConstraint, column: Column, parent: str, other: Column) -> KeyPair:
    for each, shown in ((column, repr(column.name)), (other, f"{parent}.{other.name}")):
        if each.type is None:
            raise ConstraintTypeError(
                f"{dc.label}: column {shown} has type {each.declared_type}, which constraints cannot compare"
            )
    assert column.type is not None
    assert other.type is not None
    kind = common_type(column.type, other.type)
    if kind is None:
        called = replace(other, name=f"{parent}.{other.name}")
        untyped = [f"; {typing_advice(each)}" for each in (column, called) if each.is_untyped]
        raise ConstraintTypeError(
            f"{dc.label}: cannot compare {column.name!r} ({column.type}) with {parent}.{other.name} ({other.type})"
            + "".join(untyped[:1])
        )
    return KeyPair(column.name, column.type, other.name, other.type, kind)
