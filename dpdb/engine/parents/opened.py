"""Parents, opened: the columns that rules name are copied into our own database when the measured table is opened.

Each parent is opened in a database of its own, so that any kind of source serves, and leaves these columns in a file of
a private temporary directory, which the measured table's database attaches (tables of a set share it:
`dpdb.engine.parents.declared`). From then on its rows are what they were: a change of the source is told by
`is_changed`.

Before, what rules say of parents is put into the parents' own spelling, which reads no row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from sqlglot import exp

from dpdb.constraints import Across, ColumnRef, ComputedRef, DenialConstraint, Member, Predicate, computed
from dpdb.database import Database
from dpdb.engine.parents.declared import (
    DeclaredParent,
    MeasuredSource,
    ParentFiles,
    WrittenParent,
    are_one_table,
    is_measured_table,
    refuse_second_names,
    table_beside,
)
from dpdb.engine.sql.input_rows import read_columns
from dpdb.engine.sql.where import resolve_column
from dpdb.engine.table_spec import MachineLimits
from dpdb.errors import ParameterError, SourceError
from dpdb.names import nearest_words
from dpdb.schema import TableSchema
from dpdb.sources import Reading, Source, is_changed, open_source, opened_content

_KEYS = "parent_key"


@dataclass(frozen=True)
class ParentTable:
    """A parent as rules see it.

    Attributes
    ----------
    is_public : bool
        The owner's word.
    is_measured : bool
        Whether it is the measured table itself.
    keys : exp.Expr
        The columns that rules name of its rows, in our own database, in the types that dpdb compares in.
    source : Source
        What it was opened as; nothing is read of it any more.
    opened : str
        The state of its rows when it was opened. Private where the parent is.
    digests : dict
        What was computed of these rows for other tables of a set.
    """

    name: str
    is_public: bool
    is_measured: bool
    keys: exp.Expr
    source: Source
    opened: str = ""
    digests: dict[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> TableSchema:
        """Its columns."""
        return self.source.schema

    def is_changed(self) -> bool:
        """Return whether who opens it now finds other rows; see `is_changed`."""
        return is_changed(self.source)

    def opened_content(self) -> str:
        """Describe the state of its rows when it was opened."""
        columns = [[column.name, column.declared_type] for column in self.schema.columns]
        return f"; parent {self.name!r} {columns}: {self.opened}"


FoundParents: TypeAlias = tuple[tuple[DenialConstraint, ...], dict[str, ParentTable]]
"""Constraints in the spelling of the parents that they name, and these by their names."""


class Parents:
    """Opens the parents that rules name.

    Parameters
    ----------
    declared
        What the owner says of them.
    measured : MeasuredSource
        The source beside whose table they may lie.
    types : mapping
        SQL types of CSV columns, of the parents' as ``parent.column``.
    rows : Reading
        Which rows are wanted: of public parents all that are wanted of any.
    files : ParentFiles, optional
        Shared with other tables.
    """

    def __init__(
        self,
        declared: Sequence[DeclaredParent],
        measured: MeasuredSource,
        types: Mapping[str, str],
        rows: Reading,
        limits: MachineLimits,
        *,
        files: ParentFiles | None = None,
    ) -> None:
        self._declared = {parent.name.casefold(): parent for parent in declared}
        self._measured, self._types, self._rows, self._limits = measured, types, rows, limits
        self._files = files

    def found(self, database: Database, constraints: Sequence[DenialConstraint], schema: TableSchema) -> FoundParents:
        """Return the constraints with parents and their columns as these are spelled, and the parents by name.

        Raises
        ------
        SourceError, ParameterError, UnknownColumnError
            If a parent is not declared, cannot be opened, or lacks a column.
        """
        del schema  # they have their own
        for dc in constraints:
            for rule in dc.inclusions:
                refuse_undeclared(dc, rule, self._declared)
        tables: dict[str, ParentTable] = {}
        for key, declared in self._declared.items():
            rules = [(dc, rule) for dc in constraints for rule in dc.inclusions if rule.parent.casefold() == key]
            if rules:
                tables[declared.name] = self._opened(database, declared, self._rules_columns(declared, rules))
        if tables:
            refuse_second_names(self._declared.values(), partial(are_one_table, self._measured))
        return spelled_as(tables, constraints)

    def on_path(self, database: Database, wanted: Sequence[tuple[str, Sequence[str]]]) -> list[ParentTable]:
        """Open the tables that lead to a unit, with the columns that are wanted of them.

        Raises
        ------
        SourceError, ParameterError
            If one cannot be opened, is public, is the measured table itself, or is on the path twice.
        """
        chosen = [self._declared[name.casefold()] for name, _ in wanted]
        for place, declared in enumerate(chosen):
            if declared.is_public:
                why = "is declared public, and the rows of a unit leave the tables of its path"
            elif is_measured_table(self._measured, declared):
                why = "is the measured table itself, whose rows belong to other units, too"
            elif any(one is declared or are_one_table(self._measured, one, declared) for one in chosen[:place]):
                why = "is on the path twice: a row would belong to two units"
            else:
                continue
            raise ParameterError(f"unit: {declared.name} {why}")

        def named(names: Sequence[str]) -> Callable[[TableSchema], tuple[str, ...]]:
            def usable(schema: TableSchema) -> tuple[str, ...]:
                folded = {name.casefold() for name in names}
                return tuple(name for name in schema.usable if name.casefold() in folded) or schema.usable[:1]

            return usable

        return [
            self._opened(database, declared, named(names)) for declared, (_, names) in zip(chosen, wanted, strict=True)
        ]

    def _rules_columns(
        self, declared: DeclaredParent, rules: Sequence[tuple[DenialConstraint, Across]]
    ) -> Callable[[TableSchema], tuple[str, ...]]:
        """Return what tells by a parent's schema which columns rules name."""

        def named(schema: TableSchema) -> tuple[str, ...]:
            schemas = {declared.name.casefold(): (declared.name, schema)}
            spelled = [rule for dc, _ in rules for rule in resolved(dc, schemas, others=True).inclusions]
            wanted = {name for rule in spelled if rule.parent == declared.name for name in rule.parents_columns}
            usable = wanted & set(schema.usable)  # the others are refused where the constraint is bound
            return tuple(sorted(usable)) or (schema.usable or schema.names)[:1]

        return named

    def _opened(
        self, database: Database, declared: DeclaredParent, named: Callable[[TableSchema], tuple[str, ...]]
    ) -> ParentTable:
        rows = self._rows
        if declared.is_public and rows is Reading.COMPUTED:
            rows = Reading.ALL
        attached = database.new_name("parent")
        try:
            written = self._written(declared, rows, named, database.directory / f"{attached}.duckdb")
        except SourceError as error:
            raise SourceError(f"parent {declared.name!r}: {error}") from None
        path = exp.Literal.string(str(written.path)).sql("duckdb")
        database.execute(f"ATTACH {path} AS {attached} (READ_ONLY)")
        return ParentTable(
            declared.name,
            declared.is_public,
            is_measured_table(self._measured, declared),
            exp.table_(_KEYS, db="main", catalog=attached, quoted=True),
            written.source,
            written.opened,
            written.digests,
        )

    def _written(
        self, declared: DeclaredParent, rows: Reading, named: Callable[[TableSchema], tuple[str, ...]], path: Path
    ) -> WrittenParent:
        """Write the columns that rules name, unless a table that was opened before has."""
        before = f"{declared.name}."
        types = {name[len(before) :]: kind for name, kind in self._types.items() if name.startswith(before)}
        source, table = table_beside(self._measured, declared)
        key = (str(source), table, rows, *sorted(types.items()))
        known = self._files.find(key, named) if self._files is not None and isinstance(source, str) else None
        if known is not None:
            return known
        with Database(**vars(self._limits)) as database:
            found = open_source(
                database, source, table=table, csv_schema=types, rows=rows, likely_delimiter=self._measured.delimiter
            )
            keys, columns = exp.to_table(_KEYS), named(found.schema)
            read_columns(database, found, set(columns), keys)
            state = "" if rows is Reading.NONE else opened_content(database, found)
            path = path if self._files is None else self._files.new_path()
            database.write_file(path, {_KEYS: f"SELECT * FROM {_KEYS}"})
        made = WrittenParent(path, columns, found, state)
        if self._files is not None:
            self._files.keep(key, made)
        return made


def refuse_undeclared(dc: DenialConstraint, rule: Across, declared: Iterable[str]) -> None:
    """Raise `ParameterError` if nobody has said whether a parent is public or private.

    Parameters
    ----------
    dc
        The constraint that has the rule, for the message.
    declared
        Names of the declared parents, in lower case.
    """
    known = list(declared)
    if rule.parent.casefold() not in known:
        near = nearest_words(rule.parent, known) if known else ""
        raise ParameterError(
            f"{dc.label}: table {rule.parent!r} is not declared{near}; say whether "
            f"everybody may know its rows (--public-parent {rule.parent}=FILE, public_parents=) or not "
            f"(--private-parent {rule.parent}=FILE, private_parents=)"
        )


def spelled_as(tables: dict[str, ParentTable], constraints: Sequence[DenialConstraint]) -> FoundParents:
    """Return constraints with parents and their columns as these spell them, and the parents."""
    schemas = {table.name.casefold(): (table.name, table.schema) for table in tables.values()}
    return tuple(resolved(dc, schemas) for dc in constraints), tables


def resolved(
    dc: DenialConstraint, parents: Mapping[str, tuple[str, TableSchema]], *, others: bool = False
) -> DenialConstraint:
    """Return a constraint with parents and their columns as these spell them.

    Parameters
    ----------
    parents
        By case-folded name: the name, and the columns.
    others : bool
        Whether rules on other parents are left as they are.

    Raises
    ------
    UnknownColumnError
        If a parent has no such column.
    """

    def spelled(rule: Across) -> Across:
        if others and rule.parent.casefold() not in parents:
            return rule
        name, schema = parents[rule.parent.casefold()]
        names = {column: resolve_column(column, schema, f"{dc.label}: {name}") for column in rule.parents_columns}
        return rule.of_parent(name, names)

    return _with_rules(dc, spelled)


def folded_parents(dc: DenialConstraint) -> DenialConstraint:
    """Return a constraint with parents and their columns in small letters, to compare it with others."""
    return _with_rules(
        dc,
        lambda rule: rule.of_parent(rule.parent.casefold(), {name: name.casefold() for name in rule.parents_columns}),
    )


def _with_rules(dc: DenialConstraint, spelled: Callable[[Across], Across]) -> DenialConstraint:
    if not dc.inclusions:
        return dc

    def of_member(member: Member) -> Member:
        member_spelled = spelled(member)
        assert isinstance(member_spelled, Member), "spelling changes names only"
        return member_spelled

    def of_column(ref: ColumnRef) -> ColumnRef:
        if not isinstance(ref, ComputedRef):
            return ref
        expression = ref.expression.with_members(of_member)
        return computed(ref.tuple_index, spelled(expression) if isinstance(expression, Across) else expression)

    def of(predicate: Predicate) -> Predicate:
        right = predicate.right
        return Predicate(
            of_column(predicate.left), predicate.op, of_column(right) if isinstance(right, ColumnRef) else right
        )

    return replace(dc, predicates=tuple(map(of, dc.predicates)))
