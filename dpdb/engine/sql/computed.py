"""Computed columns: what constraints compute from columns of one row, read as further columns of the table.

A value depends on its own row alone, is defined for every row (`dpdb.predicates.term_sql`), and is computed from the
types in which dpdb compares. So every proof about constrained columns holds for computed ones: adding or removing a row
changes one value, group sizes by 1, and the order of no two other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dpdb.constraints import Across, DenialConstraint, RowExpression
from dpdb.database import Database
from dpdb.engine.parents.orphans import AcrossColumn
from dpdb.engine.sql.where import TableTypes, parse_condition, parse_term
from dpdb.errors import ConstraintTypeError, PredicateError, UnknownColumnError
from dpdb.predicates import Constant, Node, Term, columns_in, columns_of, condition, term_sql
from dpdb.schema import Column, TableSchema, free_name
from dpdb.sources import Rows

__all__ = ["ComputedColumn", "ComputedRows", "with_computed_columns"]


@dataclass(frozen=True, kw_only=True)
class ComputedColumn(Column):
    """A column that is computed from others of its row.

    Attributes
    ----------
    tree : Term or Node
        What it is.
    value : exp.Expr
        That as SQL over unqualified columns.
    sources : tuple of str
        Those columns.
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
    database
        Its casts and functions type the expressions.
    constraints
        Constraints that may compute values from a row or look into parents.
    schema
        Columns and types of the table, those of members among them.
    orphans
        Types a rule across tables as a column that says whether a row is an orphan.
    members
        The names of the columns of members.

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
    try:
        if not expression.is_condition:
            return _of_term(parse_term(text, types), schema)
        return _of_condition(parse_condition(text, types))
    except (PredicateError, UnknownColumnError) as error:
        raise ConstraintTypeError(f"{dc.label}: {str(error).removeprefix('where: ')}") from None
    except RecursionError:
        raise ConstraintTypeError(f"{dc.label}: nested too deeply") from None


def _of_term(term: Term, schema: TableSchema) -> ComputedColumn:
    sources = _distinct(column.name for column in columns_in(term))
    text_of = tuple(schema[name] for name in sources) if term.type == "VARCHAR" else ()
    return ComputedColumn("", term.type, tree=term, value=term_sql(term), sources=sources, text_of=text_of)


def _of_condition(tree: Node) -> ComputedColumn:
    if isinstance(tree, Constant):
        value = "NULL" if tree.value is None else str(tree.value).lower()
        raise PredicateError(f"a part of it is {value} whatever the row holds; leave it out")
    return ComputedColumn("", "BOOLEAN", tree=tree, value=condition(tree), sources=tuple(sorted(columns_of(tree))))


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
