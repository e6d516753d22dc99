"""The rows that releases read: columns of a source in the types that dpdb compares in, copied or as a subquery.

Beside a table's own columns there are columns that constraints compute from its own (below), and columns that rows of
other tables decide (`AcrossColumn`). The rows of all slices are counted in one scan of the source.

A computed value depends on its own row alone, is defined for every row (`dpdb.predicates.term_sql`), and is computed
from the types in which dpdb compares. So every proof about constrained columns holds for computed ones: adding or
removing a row changes one value, group sizes by 1, and the order of no two other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from sqlglot import exp

from dpdb.constraints import Across, DenialConstraint, RowExpression
from dpdb.database import Database, filled
from dpdb.engine.sql.comparison import is_known, largest_decimal
from dpdb.engine.sql.where import TableTypes, WherePredicate, parse_condition, parse_term
from dpdb.errors import ConstraintTypeError, PredicateError, UnknownColumnError
from dpdb.predicates import (
    ZONED_NANOSECONDS,
    Constant,
    Node,
    Term,
    columns_in,
    columns_of,
    condition,
    in_type,
    is_enum,
    term_sql,
)
from dpdb.schema import PRESENCE, Column, TableSchema, free_name
from dpdb.sources import Rows, presence

# What all of them can be converted to and from: microseconds of 64 bits.
_CALENDAR = ("290309-12-22 (BC) 00:00:00", "294247-01-10 04:00:54")
HASH_TYPE = "UBIGINT"
"""The type of hashes."""
_NARROW_TIMES = ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS")


@dataclass(frozen=True)
class HashedTexts:
    """What is copied of rows instead of long texts.

    Attributes
    ----------
    texts : tuple of str
        Columns of text of which hashes are copied, NULL for NULL.
    order : str
        Name of a further column: the hash of the values of the row, as `row_hashes` computes it.
    hashed : tuple of str
        The columns of these values.
    """

    texts: tuple[str, ...]
    order: str
    hashed: tuple[str, ...]


def hash_of(values: Sequence[exp.Expr]) -> exp.Expr:
    """Hash values of a row: equal values have one hash."""
    return exp.Anonymous(this="hash", expressions=list(values))


def read_columns(
    database: Database,
    rows: Rows,
    columns: set[str],
    target: exp.Table,
    *,
    position: str | None = None,
    hashes: HashedTexts | None = None,
) -> None:
    """Copy columns of the source into a new table of the comparison types, which also drops collations.

    Every release reads its rows through here. What is no value of its column's type is NULL, because casts fail on it,
    even TRY_CAST: see `_possible`. Of a column that cannot be compared it is read whether it is NULL.

    Computed columns are generated ones of the new table: they see its types and calendar, and no collation. So do those
    that say whether a row is an orphan, which are written in the end, members first.

    Parameters
    ----------
    database
        Where the source can be read and the table is made.
    columns
        Names of the columns to copy, computed ones among them.
    position
        Name of a further column for the row's place in the source, from 0. Default: none.
    hashes
        Texts of which hashes are copied; what is computed reads none of them. Default: none.
    """
    stored_columns, computed, orphans = _stored_and_computed(rows.schema, columns)
    texts = () if hashes is None else hashes.texts
    definitions = [column_def(c.name, HASH_TYPE if c.name in texts else c.type or PRESENCE) for c in stored_columns]
    selected = [_hash_of_text(column) if column.name in texts else _read(column) for column in stored_columns]
    if hashes is not None:
        definitions.append(column_def(hashes.order, HASH_TYPE))
        selected.append(hash_of([_typed(rows.schema[name]) for name in hashes.hashed]))
    if position is not None:
        definitions.append(column_def(position, "BIGINT"))
        number = exp.Window(this=exp.RowNumber(), over="OVER")
        selected.append(number - 1)
    stored = [definition.this.copy() for definition in definitions]
    definitions += [column_def(column.name, column.declared_type) for column in orphans]
    written = [*(definition.sql("duckdb") for definition in definitions), *map(_computed_def, computed)]
    database.execute(f"CREATE TABLE {target.sql('duckdb')} ({', '.join(written)})")
    database.execute(filled("input_row", target=target, stored=stored, read=selected, rows=rows.scan))
    for column in orphans:
        database.execute(violates_across(column, target))


@contextmanager
def copied_columns(database: Database, rows: Rows, columns: set[str], *, name: str) -> Iterator[exp.Table]:
    """Copy columns, as `read_columns` does, into a table called `name` while a block lasts."""
    table = exp.table_(name, quoted=True)
    try:
        read_columns(database, rows, columns, table)
        yield table
    finally:
        database.execute(f"DROP TABLE IF EXISTS {table.sql('duckdb')}")


def typed_rows(rows: Rows, columns: set[str]) -> exp.Subquery:
    """Return the same columns as a subquery without alias: what `read_columns` would copy, for a single reading.

    None may be that of a rule across tables.
    """
    stored, computed, orphans = _stored_and_computed(rows.schema, columns)
    assert not orphans, "a release that only groups rows refuses rules across tables"
    typed = [exp.alias_(_typed(column), column.name, quoted=True) for column in stored]
    query = exp.select(*(typed or [exp.convert(1)])).from_(rows.scan.copy())
    if computed:
        values = [exp.alias_(column.value.copy(), column.name, quoted=True) for column in computed]
        query = exp.select("*", *values).from_(query.subquery("typed_row"))
    return query.subquery()


def _typed(column: Column) -> exp.Expr:
    """Cast as a copy does, which has no collation either."""
    kind = column.type or PRESENCE
    value = _read(column)
    if column.type is None:
        return value
    if column.declared_type != kind or is_enum(kind):  # types of one spelling may have names
        value = exp.Cast(this=value, to=_data_type(kind))
    if kind == "VARCHAR":
        return exp.Collate(this=value, expression=exp.to_identifier("binary", quoted=True))
    return value


def _hash_of_text(column: Column) -> exp.Expr:
    known = is_known(exp.column(column.name, quoted=True))
    return exp.Case(ifs=[exp.If(this=known, true=hash_of([_typed(column)]))])


def _read(column: Column) -> exp.Expr:
    value = exp.column(column.name, quoted=True)
    return presence(column.name) if column.type is None else _possible(value, column.type)


def _stored_and_computed(
    schema: TableSchema, columns: set[str]
) -> tuple[list[Column], list[ComputedColumn], list[AcrossColumn]]:
    """Return the table's own columns that are read for some columns, those that are computed, and the orphans' ones."""
    asked = [column for column in schema.columns if column.name in columns]
    members = members_read(schema, columns)
    computed = [column for column in asked if isinstance(column, ComputedColumn)]
    orphans = [*members, *(column for column in asked if isinstance(column, AcrossColumn) and column not in members)]
    named = {column.name for column in asked if not isinstance(column, (ComputedColumn, AcrossColumn))}
    sources = [column.sources for column in computed] + [column.sources for column in orphans]
    read = named.union(*sources) - {column.name for column in members}
    return [column for column in schema.columns if column.name in read], computed, orphans


def members_read(schema: TableSchema, columns: set[str]) -> list[AcrossColumn]:
    """Return the members that are read for some columns: those among them, and those in what is told from a row."""
    told = [column for column in schema.columns if isinstance(column, (ComputedColumn, AcrossColumn))]
    read = columns.union(*(column.sources for column in told if column.name in columns))
    return [c for c in told if c.name in read and isinstance(c, AcrossColumn) and c.met.is_member]


def beside_members(schema: TableSchema, columns: set[str]) -> tuple[tuple[str, ...], TableSchema]:
    """Return what is read of rows for some columns, and the schema of the same rows with members that are known."""
    stored, _, _ = _stored_and_computed(schema, columns)
    known = (
        Column(column.name, column.declared_type)
        if isinstance(column, AcrossColumn) and column.met.is_member
        else column
        for column in schema.columns
    )
    return tuple(column.name for column in stored), TableSchema(tuple(known))


def _possible(column: exp.Expr, kind: str) -> exp.Expr:
    """Read as NULL what a column holds beyond its type.

    These are times that DuckDB's calendar does not reach, times of day beyond 24:00, and decimals of more digits than
    are declared. Writers of Arrow and Parquet give the bits of a value, and nobody compares them with the type: 128 of
    them reach beyond 38 digits, and the least, -2^127, has no opposite, so that whatever shows it ends the database.
    """
    if kind in _NARROW_TIMES:
        low, high = (_constant(text, kind) for text in _CALENDAR)
        ends = [_constant(text, kind) for text in ("-infinity", "infinity")]
        known = exp.or_(
            exp.Between(this=column.copy(), low=low, high=high), exp.In(this=column.copy(), expressions=ends)
        )
    elif kind == "TIME":
        known = exp.Between(this=column.copy(), low=_constant("00:00:00", kind), high=_constant("24:00:00", kind))
    elif (most := largest_decimal(kind)) is not None:
        known = exp.Between(this=column.copy(), low=_constant(f"-{most}", kind), high=_constant(most, kind))
    else:
        return column
    return exp.Case(ifs=[exp.If(this=known, true=column)])


def _constant(text: str, kind: str) -> exp.Expr:
    return exp.cast(exp.Literal.string(text), kind, dialect="duckdb")


def in_schema_order(names: set[str], schema: TableSchema) -> tuple[str, ...]:
    """Return column names in the order of the schema."""
    return tuple(name for name in schema.names if name in names)


def column_def(name: str, kind: str) -> exp.ColumnDef:
    """Define a column of a table of our own database."""
    return exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=_data_type(kind))


def _data_type(kind: str) -> exp.DataType:
    return exp.DataType.build(kind, dialect="duckdb", udt=kind == ZONED_NANOSECONDS)


def _computed_def(column: ComputedColumn) -> str:
    """Define a generated column, which sqlglot cannot write."""
    value = column.value.sql("duckdb", normalize_functions=False)
    return f"{column_def(column.name, column.declared_type).sql('duckdb')} GENERATED ALWAYS AS ({value}) VIRTUAL"


@dataclass(frozen=True, kw_only=True)
class ComputedColumn(Column):
    """A column that is computed from others of its row.

    Attributes
    ----------
    text_of : tuple of Column
        Where it is text: the columns whose text it is made of.
    """

    tree: Term | Node
    value: exp.Expr
    sources: tuple[str, ...]
    text_of: tuple[Column, ...] = ()


class ComputedRows:
    """Rows with computed columns beside their own (implements `Rows`); `read_columns` computes them."""

    def __init__(self, rows: Rows, schema: TableSchema) -> None:
        self._rows, self.schema = rows, schema

    @property
    def description(self) -> str:
        """The source as the user named it."""
        return self._rows.description

    @property
    def scan(self) -> exp.Expr:
        """The rows without computed columns."""
        return self._rows.scan


def with_computed_columns(
    database: Database,
    constraints: Sequence[DenialConstraint],
    schema: TableSchema,
    orphans: Callable[[Across], AcrossColumn],
    members: Mapping[Across, str],
) -> tuple[tuple[DenialConstraint, ...], TableSchema]:
    """Type what constraints compute, and return them with the schema that has it as columns. Reads no row.

    The new columns come last, sorted by their texts: the canonical order of rows does not depend on the order in which
    constraints are given.

    Parameters
    ----------
    constraints
        Constraints that may compute values from a row or look into parents.
    schema
        Columns and types of the table, those of members among them.
    orphans
        Types a rule across tables as a column that says whether a row is an orphan.

    Raises
    ------
    ConstraintTypeError
        If an expression is not allowed, has no type or is the same for every row; the message names the constraint.
    """
    if not any(dc.computed for dc in constraints):
        return tuple(constraints), schema
    made: dict[RowExpression | Across, ComputedColumn | AcrossColumn] = {}
    types = TableTypes(database, schema, tests_nested=True)
    for dc in constraints:
        for ref in dc.computed:
            expression = ref.expression
            if isinstance(expression, Across):
                if expression not in members:
                    made.setdefault(expression, orphans(expression))
            elif expression not in made:
                made[expression] = _column(dc, expression, expression.sql(members), types, schema)
    names: dict[RowExpression | Across, str] = {}
    for expression in sorted(made, key=lambda expression: expression.written()):
        # Texts in quotes may differ in case only, and a column of the table may be called `b + 60`.
        names[expression] = free_name(expression.written(), [*schema.names, *names.values()])
    columns = [replace(made[expression], name=name) for expression, name in names.items()]
    extended = TableSchema((*schema.columns, *columns)) if columns else schema
    for member, name in members.items():
        names[member] = name
    return tuple(dc.kept_as(names) if dc.computed else dc for dc in constraints), extended


def _column(
    dc: DenialConstraint, expression: RowExpression, text: str, types: TableTypes, schema: TableSchema
) -> ComputedColumn:
    with typing_part_of(dc):
        if not expression.is_condition:
            return _of_term(parse_term(text, types), schema)
        tree = typed_condition(text, types, "the row holds")
        return ComputedColumn("", "BOOLEAN", tree=tree, value=condition(tree), sources=tuple(sorted(columns_of(tree))))


@contextmanager
def typing_part_of(dc: DenialConstraint) -> Iterator[None]:
    """Turn what is wrong with a part of a constraint into a `ConstraintTypeError` that names the constraint."""
    try:
        yield
    except (PredicateError, UnknownColumnError) as error:
        raise ConstraintTypeError(f"{dc.label}: {str(error).removeprefix('where: ')}") from None
    except RecursionError:
        raise ConstraintTypeError(f"{dc.label}: nested too deeply") from None


def _of_term(term: Term, schema: TableSchema) -> ComputedColumn:
    sources = tuple(dict.fromkeys(column.name for column in columns_in(term)))
    text_of = tuple(schema[name] for name in sources) if term.type == "VARCHAR" else ()
    return ComputedColumn("", term.type, tree=term, value=term_sql(term), sources=sources, text_of=text_of)


def typed_condition(text: str, types: TableTypes, of_what: str) -> Node:
    """Check and type a condition that is a part of a constraint.

    Raises
    ------
    PredicateError, UnknownColumnError
        As of `parse_condition`; and if it is the same for all rows.
    """
    tree = parse_condition(text, types)
    if isinstance(tree, Constant):
        value = "NULL" if tree.value is None else str(tree.value).lower()
        raise PredicateError(f"a part of it is {value} whatever {of_what}; leave it out")
    return tree


CHILD_ROW, PARENT_ROW = "child_row", "parent_row"


@dataclass(frozen=True)
class KeyPair:
    """A column of the measured table, the parent's column that it is compared with, their types, the common one."""

    column: str
    column_type: str
    parent_column: str
    parent_type: str
    compared_as: str

    def own(self, table: str | None = CHILD_ROW) -> exp.Expr:
        """The measured table's column, in the common type; `table` as of `AcrossColumn.told`."""
        return in_type(exp.column(self.column, table=table, quoted=True), self.column_type, self.compared_as)

    def parents(self) -> exp.Expr:
        """The column of `PARENT_ROW`, in the common type."""
        column = exp.column(self.parent_column, table=PARENT_ROW, quoted=True)
        return in_type(column, self.parent_type, self.compared_as)


@dataclass(frozen=True)
class MetRow:
    """Which rows of a parent with a row's key are looked for.

    Attributes
    ----------
    violates : bool
        Whether a row violates if there is one, or if there is none. Of a member: True.
    condition : exp.Expr or None
        What is true of it, over columns called `CHILD_ROW` and `PARENT_ROW`. None: any will do.
    own : tuple of str
        The columns of the measured table in it, members among them.
    trees : tuple of Node
        What it says, for engines that might read it differently.
    is_member : bool
        Whether it is a part of conditions: NULL for a row without the key.
    """

    violates: bool
    condition: exp.Expr | None = None
    own: tuple[str, ...] = ()
    trees: tuple[Node, ...] = ()
    is_member: bool = False


@dataclass(frozen=True, kw_only=True)
class AcrossColumn(Column):
    """A column that says whether its row is an orphan, breaks a look-up, or has a value that the parent has.

    Let P be a parent and D the measured table. The column's value is a function of its own row and of P:

        orphan(r) = every key column of r has a value, and no row of P (that counts) equals them all;
        broken(r) = some row of P (that counts) equals all key columns of r, and makes the rule's condition on both
            false;
        member(r) = NULL if r's column has no value, else whether some row of P (that counts) equals it.

    Of P both read the rows alone that have r's key. With P fixed, a row's value depends on its own row alone, so
    whatever holds of computed columns holds of this one: adding or removing a row of D changes one value, group sizes
    by 1, and the order of no two other rows. For a *public* P that is all that is needed: P is the same in neighbouring
    databases, an orphan or a row that breaks a look-up is a self-conflict of its own row, and every statistic keeps the
    sensitivity that it has for single-tuple constraints.

    For a *private* P a row of P may decide over any number of rows of D; `dpdb.release.privacy_unit` says when that is
    sound.

    A member is a part of conditions, also of those of a look-up into another parent, and its P is public. So it is a
    function m(r) of its own row alone, the same in neighbouring databases: D with m as a further column is a table of
    the same schema, whose neighbours are those of D with m, row by row. What is proved of a rule over columns of a row
    holds of one over m: sensitivities, units and limits of children (which are chosen by the columns of D) are those of
    the rule in which m were a column that the table has.

    SQL's logic holds: NULL in a key violates nothing (MATCH SIMPLE), and NULL in P equals nothing. Both sides are read
    in the common type of the comparison, as columns compared with one another are; a value that has no counterpart
    there equals none. A row of P counts if the rule's condition on P is true for it, not if that is NULL; a condition
    on both that is NULL breaks nothing.

    Attributes
    ----------
    keys : exp.Expr
        A table expression of the parent's columns that rules name, in our own database. Private where the parent is.
    met : MetRow
        Which rows of the parent with the row's key make it one, or save it from being one.
    """

    keys: exp.Expr
    pairs: tuple[KeyPair, ...]
    met: MetRow

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns of its own row that it reads."""
        return tuple(dict.fromkeys((*(pair.column for pair in self.pairs), *self.met.own)))

    def told(self, found: exp.Expr, table: str | None = None) -> exp.Expr:
        """Return its value, where `found` is whether such a row of the parent is there, and never NULL.

        `table` is the name of the measured row; None: its columns stand alone.
        """
        known = [is_known(exp.column(pair.column, table=table, quoted=True)) for pair in self.pairs]
        if self.met.is_member:
            return exp.Case(ifs=[exp.If(this=exp.and_(*known), true=found)])
        return found if self.met.violates else exp.and_(*known, exp.not_(found))


def without_parents(schema: TableSchema) -> TableSchema:
    """Return the same schema, whose orphans look into parents of which no row is read."""
    return TableSchema(tuple(map(_alone, schema.columns)))


def _alone(column: Column) -> Column:
    if not isinstance(column, AcrossColumn):
        return column
    return replace(column, keys=exp.select("*").from_(column.keys.copy()).limit(0).subquery())


def violates_across(column: AcrossColumn, rows: exp.Table) -> exp.Update:
    """Write a column of a table: whether each of its rows is an orphan, breaks a look-up or has the parent's value."""
    wanted: list[exp.Expr] = [exp.EQ(this=pair.parents(), expression=pair.own()) for pair in column.pairs]
    if column.met.condition is not None:
        wanted.append(exp.paren(column.met.condition))
    parents = exp.select("1").from_(exp.alias_(column.keys.copy(), PARENT_ROW, table=True)).where(*wanted)
    told = column.told(exp.Exists(this=parents), CHILD_ROW)
    written = exp.EQ(this=exp.column(column.name, quoted=True), expression=told)
    return exp.Update(this=exp.alias_(rows.copy(), CHILD_ROW, table=True), expressions=[written])


def count_rows(database: Database, source: Rows, slices: Sequence[WherePredicate | None], *, name: str) -> list[int]:
    """Count the rows of each slice (None: all rows). Private.

    The columns are copied to their comparison types first, as for a conflict graph, so that both see the same slices.

    Parameters
    ----------
    database
        Where the rows are.
    slices
        One predicate per count.
    name
        Name of the copy while it is counted.
    """
    columns = {column for predicate in slices if predicate for column in predicate.columns}
    if not columns:  # also `true` has none: its own condition is what counts, whatever it is
        return _counts(database, source.scan, slices)
    with copied_columns(database, source, columns, name=name) as table:
        return _counts(database, table, slices)


def _counts(database: Database, rows: exp.Expr, slices: Sequence[WherePredicate | None]) -> list[int]:
    counts: list[exp.Expr] = [exp.Count(this=exp.Star()) for _ in slices]
    for place, predicate in enumerate(slices):
        if predicate is not None:
            counts[place] = exp.Filter(this=counts[place], expression=exp.Where(this=predicate.condition))
    return [int(count) for count in database.rows(exp.select(*counts).from_(rows.copy()))[0]]
