"""Rules across tables meet the schemas: columns of two tables become comparable, before any row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from dpdb.constraints import Across, ConditionAcross, DenialConstraint, LookUp, Member
from dpdb.database import Database
from dpdb.engine.parents.orphans import CHILD_ROW, PARENT_ROW, AcrossColumn, KeyPair, MetRow
from dpdb.engine.sql.comparison import common_type
from dpdb.engine.sql.untyped import typing_advice
from dpdb.engine.sql.where import TableTypes, parse_condition
from dpdb.errors import ConstraintTypeError, ParameterError, PredicateError, UnknownColumnError
from dpdb.predicates import Constant, Node, Not, condition
from dpdb.schema import Column, TableSchema, free_name

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
    met : MetRow
    """

    label: str
    parent: str
    is_public: bool
    is_measured: bool
    pairs: tuple[KeyPair, ...]
    met: MetRow


def bound_inclusion(
    database: Database,
    dc: DenialConstraint,
    rule: Across,
    schema: TableSchema,
    parents: Mapping[str, ParentTable],
    *,
    members: Mapping[Across, str],
) -> BoundInclusion:
    """Type a rule across tables.

    Parameters
    ----------
    database
        Its casts and functions type the conditions.
    dc
        The constraint that has the rule, for messages.
    rule
        What it says of its parent.
    schema
        Of the measured table, with the columns of members.
    parents
        The opened parents by name.
    members
        The names of these columns.

    Raises
    ------
    ConstraintTypeError
        If a column and the parent's column that it is compared with have no common type, or a condition is not allowed
        or the same for all rows.
    ParameterError
        If the parent of a member is private.
    """
    parent = parents[rule.parent]
    if isinstance(rule, Member) and not parent.is_public:
        raise ParameterError(
            f"{dc.label}: {parent.name} is private, and IN (SELECT ...) inside a condition reads public tables only; "
            f"declare it if everybody may know its rows (--public-parent {parent.name}, public_parents=), or make it "
            f"a rule of its own, such as {rule.columns[0]} IN {parent.name}.{rule.parent_columns[0]}"
        )
    pairs = tuple(
        _pair(dc, schema[column], parent.name, parent.schema[parent_column])
        for column, parent_column in zip(rule.columns, rule.parent_columns, strict=True)
    )
    met = _met(_Conditions(database, dc, schema, parent, members), rule)
    return BoundInclusion(dc.label, parent.name, parent.is_public, parent.is_measured, pairs, met)


def orphan_column(bound: BoundInclusion, parents: Mapping[str, ParentTable]) -> AcrossColumn:
    """Return the column that says whether a row violates a rule; its name is still to be found."""
    return AcrossColumn("", "BOOLEAN", keys=parents[bound.parent].keys, pairs=bound.pairs, met=bound.met)


def _met(conditions: _Conditions, rule: Across) -> MetRow:
    trees = [] if rule.among is None else [conditions.typed(rule.among)]
    if isinstance(rule, LookUp):
        trees.append(Not(conditions.typed(rule.condition)))
    wanted = exp.and_(*map(conditions.sql, trees)) if trees else None
    own = conditions.own(rule.condition) if isinstance(rule, LookUp) else ()
    is_member = isinstance(rule, Member)
    return MetRow(is_member or isinstance(rule, LookUp), wanted, own, tuple(trees), is_member)


class _Conditions:
    """Types conditions over a row of the measured table and one of a parent."""

    def __init__(
        self,
        database: Database,
        dc: DenialConstraint,
        schema: TableSchema,
        parent: ParentTable,
        members: Mapping[Across, str],
    ) -> None:
        self._dc, self._members = dc, members
        self._names: dict[str, str] = {}  # of the parent's columns beside the table's own
        theirs = []
        for column in parent.schema.columns:
            name = free_name(f"{parent.name}.{column.name}", [*schema.names, *self._names.values()])
            self._names[column.name] = name
            theirs.append(replace(column, name=name))
        self._of_parent = {name: column for column, name in self._names.items()}
        self._types = TableTypes(database, TableSchema((*schema.columns, *theirs)))

    def typed(self, asked: ConditionAcross) -> Node:
        """Bind a condition."""
        try:
            tree: Node = parse_condition(asked.sql(self._members, self._names), self._types)
            if isinstance(tree, Constant):
                value = "NULL" if tree.value is None else str(tree.value).lower()
                raise PredicateError(f"a part of it is {value} whatever the rows hold; leave it out")
        except (PredicateError, UnknownColumnError) as error:
            raise ConstraintTypeError(f"{self._dc.label}: {str(error).removeprefix('where: ')}") from None
        except RecursionError:
            raise ConstraintTypeError(f"{self._dc.label}: nested too deeply") from None
        return tree

    def own(self, asked: ConditionAcross) -> tuple[str, ...]:
        """Return the columns of the measured table in a condition, members among them."""
        names = (name for is_parents, name in asked.columns if not is_parents)
        return tuple(dict.fromkeys(name if isinstance(name, str) else self._members[name] for name in names))

    def sql(self, tree: Node) -> exp.Expr:
        """Write a condition over columns of `CHILD_ROW` and `PARENT_ROW`."""
        return exp.paren(condition(tree)).transform(self._placed)

    def _placed(self, node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        column = self._of_parent.get(node.name)
        if column is None:
            return exp.column(node.name, table=CHILD_ROW, quoted=True)
        return exp.column(column, table=PARENT_ROW, quoted=True)


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
