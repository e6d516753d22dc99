"""`RulesAcross`: all that the rules of one table say of its parents, bound; what tells that parents have changed.

Rules meet the schemas before any row is read: columns of two tables become comparable. Most tables have no parents:
what opens these is loaded where there are some.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from sqlglot import exp

from dpdb.constraints import Across, ConditionAcross, DenialConstraint, LookUp, Member, RowExpression
from dpdb.database import Database
from dpdb.engine.sql.comparison import common_type, typing_advice
from dpdb.engine.sql.input_rows import (
    CHILD_ROW,
    PARENT_ROW,
    AcrossColumn,
    KeyPair,
    MetRow,
    typed_condition,
    typing_part_of,
    without_parents,
)
from dpdb.engine.sql.where import TableTypes, WherePredicate, parse_condition
from dpdb.errors import ConstraintTypeError, ParameterError, PredicateError, UnknownColumnError
from dpdb.predicates import Node, Not, condition
from dpdb.schema import Column, TableSchema, free_name
from dpdb.sources import Source, without_rows

if TYPE_CHECKING:
    from dpdb.engine.parents.declared import DeclaredParent
    from dpdb.engine.parents.opened import FoundParents, ParentTable
    from dpdb.engine.table_spec import TableSpec
    from dpdb.sources import Reading


class AssumedParents:
    """Stands in for `Parents`: each parent has the columns that rules name, in the types of the measured table."""

    def found(self, database: Database, constraints: Sequence[DenialConstraint], schema: TableSchema) -> FoundParents:
        """Return the constraints as they are, and for each parent a table without rows."""
        from dpdb.engine.parents.opened import ParentTable

        columns: dict[str, dict[str, Column]] = {}
        for dc in constraints:
            for rule in dc.inclusions:
                if rule.conditions or isinstance(rule, Member):
                    raise ParameterError(
                        f"{dc.label}: the rows of {rule.parent!r} are not known here, only that it has keys, so a rule "
                        "with a condition on them says nothing; leave it out"
                    )
                of_parent = columns.setdefault(rule.parent, {})
                for name, wanted in zip(rule.columns, rule.parent_columns, strict=True):
                    of_parent.setdefault(wanted, Column(wanted, _declared_type(dc, name, schema)))
        tables = {}
        for number, (parent, of_parent) in enumerate(columns.items()):
            source = Source(parent, TableSchema(tuple(of_parent.values())), exp.to_table(f"assumed_parent_{number}"))
            database.execute(without_rows(source.schema).this.ctas(source.scan.name, dialect="duckdb"))
            tables[parent] = ParentTable(parent, is_public=True, is_measured=False, keys=source.scan, source=source)
        return tuple(constraints), tables


def _declared_type(dc: DenialConstraint, name: str, schema: TableSchema) -> str:
    if name not in schema.names:
        raise UnknownColumnError(f"{dc.label}: the table has no column {name!r}")
    return schema[name].declared_type


class ParentsOfTable(Protocol):
    """An opener of parents."""

    def found(self, database: Database, constraints: Sequence[DenialConstraint], schema: TableSchema) -> FoundParents:
        """Return the constraints in the parents' spelling, and the parents that they name."""


class RulesAcross:
    """What the constraints of one table say of parents.

    Attributes
    ----------
    constraints : tuple of DenialConstraint
        All of them, with parents and their columns as these are spelled.
    bound : tuple of BoundInclusion
        What they say of parents, each once.
    schema : TableSchema
        The measured table's, with a column for each member, sorted by its text.
    """

    def __init__(
        self,
        database: Database,
        constraints: Sequence[DenialConstraint],
        schema: TableSchema,
        parents: ParentsOfTable | None,
    ) -> None:
        self._database = database
        self._tables: Mapping[str, ParentTable] = {}
        self.constraints: tuple[DenialConstraint, ...] = tuple(constraints)
        self.schema = schema
        self.members: dict[Across, str] = {}
        said = [(dc, rule) for dc in constraints for rule in dc.inclusions]
        self._bound = self._bound_rules(said, parents) if said else {}
        self.bound: tuple[BoundInclusion, ...] = tuple(self._bound.values())

    def _bound_rules(
        self, said: Sequence[tuple[DenialConstraint, Across]], parents: ParentsOfTable | None
    ) -> dict[Across, BoundInclusion]:
        from dpdb.engine.parents.opened import refuse_undeclared

        if parents is None:
            refuse_undeclared(*said[0], ())
        else:
            self.constraints, self._tables = parents.found(self._database, self.constraints, self.schema)
        rules: dict[Across, DenialConstraint] = {}
        for dc in self.constraints:
            for rule in dc.inclusions:
                rules.setdefault(rule, dc)

        def bound(rule: Across) -> BoundInclusion:
            return bound_inclusion(self._database, rules[rule], rule, self.schema, self._tables, members=self.members)

        members = {rule: bound(rule) for rule in rules if isinstance(rule, Member)}
        for rule in sorted(members, key=lambda member: member.written()):
            column = orphan_column(members[rule], self._tables)
            self.members[rule] = free_name(rule.written(), self.schema.names)
            self.schema = TableSchema((*self.schema.columns, replace(column, name=self.members[rule])))
        return members | {rule: bound(rule) for rule in rules if rule not in members}

    def column(self, rule: Across) -> AcrossColumn:
        """Return the computed column of a rule, without a name."""
        return orphan_column(self._bound[rule], self._tables)

    def selected(self, text: str, said: RowExpression) -> WherePredicate:
        """Type a condition over a row whose members are those of constraints."""
        known = {_folded(member): name for member, name in self.members.items()}
        missing = [member for member in said.members if _folded(member) not in known]
        if missing:
            raise PredicateError(f"where: {missing[0].written()} is a part of no rule")
        named: dict[Across, str] = {member: known[_folded(member)] for member in said.members}
        return WherePredicate(text, parse_condition(said.sql(named), TableTypes(self._database, self.schema)))

    def empty(self, schema: TableSchema) -> TableSchema:
        """Return the same schema, whose rules look into parents of which no row is read."""
        return without_parents(schema) if self.bound else schema

    def is_changed(self) -> bool:
        """Return whether a private parent has other rows now than when it was opened. Private."""
        return any(table.is_changed() for table in self._private)

    def has_old_public(self) -> bool:
        """Return whether a public parent has other rows now than when it was opened."""
        return any(table.is_changed() for table in self._tables.values() if table.is_public)

    def opened_content(self) -> str:
        """Describe the state of the private parents' rows when they were opened; empty without such. Private."""
        return "".join(table.opened_content() for table in self._private)

    def public_keys(self) -> dict[str, str]:
        """Digests of the keys of public parents, by name: equal for equal sets of keys, in any order and number."""
        return {table.name: self._digest(table) for table in self._tables.values() if table.is_public}

    def read_of_public(self) -> Iterable[tuple[str, exp.Expr, TableSchema]]:
        """List public parents: names, rows, and the columns of these that rules read."""
        columns: dict[str, set[str]] = {}
        for dc in self.constraints:
            for rule in dc.inclusions:
                columns.setdefault(rule.parent, set()).update(rule.parents_columns)
        for name, table in self._tables.items():
            if table.is_public:
                read = tuple(column for column in table.schema.columns if column.name in columns[name])
                yield name, table.keys, TableSchema(read)

    @property
    def _private(self) -> list[ParentTable]:
        return [table for table in self._tables.values() if not table.is_public]

    def _digest(self, table: ParentTable) -> str:
        """The number of distinct keys and two order-free sums of their MD5: the same in every version of DuckDB."""
        names = [name for name, _ in self._database.describe(exp.select("*").from_(table.keys.copy()))]
        row = exp.Anonymous(this="concat_ws", expressions=[exp.Literal.string(","), *map(_text, names)])
        keys = exp.select(exp.alias_(row, "key")).distinct().from_(table.keys.copy()).subquery("distinct_key")
        halves = [
            exp.Sum(this=exp.cast(exp.func(name, exp.column("key")), "HUGEINT", dialect="duckdb"))
            for name in ("md5_number_lower", "md5_number_upper")
        ]
        if "keys" not in table.digests:
            [digest] = self._database.rows(exp.select(exp.Count(this=exp.Star()), *halves).from_(keys))
            table.digests["keys"] = ",".join(map(str, digest))
        return table.digests["keys"]


def _folded(member: Across) -> Across:
    return member.of_parent(member.parent.casefold(), {name: name.casefold() for name in member.parents_columns})


def _text(name: str) -> exp.Expr:
    """Write a value with its length before it, so that no two rows have one text."""
    value = exp.cast(exp.column(name, quoted=True), "VARCHAR", dialect="duckdb")
    length = exp.cast(exp.func("length", value.copy()), "VARCHAR", dialect="duckdb")
    said = exp.DPipe(this=exp.DPipe(this=length, expression=exp.Literal.string(":")), expression=value)
    return exp.func("coalesce", said, exp.Literal.string("-"))


def types_of_parents(
    types: Mapping[str, str], parents: Iterable[DeclaredParent]
) -> tuple[dict[str, str], dict[str, str]]:
    """Part column types into the measured table's own, and those of parents (``customers.id``)."""
    before = tuple(f"{parent.name}." for parent in parents)
    others = {name: kind for name, kind in types.items() if before and name.startswith(before)}
    return {name: kind for name, kind in types.items() if name not in others}, others


def opener_of(spec: TableSpec, types: Mapping[str, str], rows: Reading) -> ParentsOfTable | None:
    """Return what opens the parents of a table that is opened; None where there is none to open.

    Parameters
    ----------
    spec
        What is opened, with the parents that are declared.
    types
        Declared types of columns of parents, by names such as ``customers.id``.
    """
    if spec.assumes_parents:
        return AssumedParents()
    if not spec.parents:
        return None
    from dpdb.engine.parents.declared import MeasuredSource
    from dpdb.engine.parents.opened import Parents

    measured = MeasuredSource(spec.source, spec.table, spec.delimiter)
    return Parents(spec.parents, measured, types, rows, spec.limits, files=spec.parent_files)


@dataclass(frozen=True)
class BoundInclusion:
    """A rule across tables over known schemas.

    Attributes
    ----------
    is_public : bool
        The owner's word on the parent.
    is_measured : bool
        Whether the parent is the measured table itself.
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
    schema
        Of the measured table, with the columns of members.
    parents
        The opened parents by name.

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
        key_pair(dc.label, schema[column], parent.name, parent.schema[parent_column])
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
    own_columns = conditions.own(rule.condition) if isinstance(rule, LookUp) else ()
    is_member = isinstance(rule, Member)
    return MetRow(is_member or isinstance(rule, LookUp), wanted, own_columns, tuple(trees), is_member)


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
        with typing_part_of(self._dc):
            return typed_condition(asked.sql(self._members, self._names), self._types, "the rows hold")

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


def key_pair(label: str, column: Column, parent: str, other: Column) -> KeyPair:
    """Return a column and that of a parent which it is compared with; `label` is what messages begin with."""
    for each, shown in ((column, repr(column.name)), (other, f"{parent}.{other.name}")):
        if each.type is None:
            raise ConstraintTypeError(
                f"{label}: column {shown} has type {each.declared_type}, which constraints cannot compare"
            )
    assert column.type is not None
    assert other.type is not None
    kind = common_type(column.type, other.type)
    if kind is None:
        called = replace(other, name=f"{parent}.{other.name}")
        untyped = [f"; {typing_advice(each)}" for each in (column, called) if each.is_untyped]
        raise ConstraintTypeError(
            f"{label}: cannot compare {column.name!r} ({column.type}) with {parent}.{other.name} ({other.type})"
            + "".join(untyped[:1])
        )
    return KeyPair(column.name, column.type, other.name, other.type, kind)
