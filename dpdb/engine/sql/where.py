"""`where` for the engine: a text bound to a table's columns by the types and casts of this database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dpdb.constraints import Operator
from dpdb.database import Database
from dpdb.engine.sql.comparison import bind_literals, common_type, pattern_problem, untyped_problem
from dpdb.errors import ParameterError, PredicateError, UnknownColumnError
from dpdb.names import close_name
from dpdb.predicates import Column, Literal, LiteralValue, Node, Term, columns_of, condition
from dpdb.predicates.bind import bind, bind_term, refuse_large_patterns
from dpdb.predicates.sql import parse
from dpdb.schema import PRESENCE, TableSchema


@dataclass(frozen=True)
class WherePredicate:
    """A checked predicate: its text for messages, its bound tree for everything else."""

    text: str
    tree: Node

    @property
    def condition(self) -> exp.Expr:
        """Typed SQL over unqualified columns, a new tree each time."""
        return condition(self.tree)

    def over(self, row: str) -> exp.Expr:
        """The same over the rows of a table called `row`."""
        condition = self.condition
        for column in condition.find_all(exp.Column):
            column.set("table", exp.to_identifier(row, quoted=True))
        return exp.paren(condition)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it reads, sorted."""
        return tuple(sorted(columns_of(self.tree)))


def parse_where(database: Database, text: str, schema: TableSchema) -> WherePredicate:
    """Check and type a `where` predicate. Reads no row and spends nothing.

    Raises
    ------
    UnknownColumnError
        If a column does not exist; the message has the nearest name.
    """
    try:
        parsed = parse(text)
        refuse_large_patterns(parsed)
        tree = bind(parsed, TableTypes(database, schema))
        return WherePredicate(parsed.sql("duckdb", comments=False), tree)
    except RecursionError:
        raise PredicateError("where: nested too deeply") from None


def columns_renamed(text: str, name: Callable[[str], str]) -> str:
    """Return a condition with other names of columns, where these are other ones; the text as it is where none is.

    Parameters
    ----------
    name
        Gives the name of each column; called for all of them.
    """
    tree = parse(text)
    found = [(column, name(column.name)) for column in tree.find_all(exp.Column)]
    changed = [(column, own) for column, own in found if column.name.casefold() != own.casefold()]
    for column, own in changed:
        column.set("this", exp.to_identifier(own, quoted=True))
    return tree.sql("duckdb", comments=False) if changed else text


def parse_term(text: str, types: TableTypes) -> Term:
    """Check and type a term of at least one column. Errors as `parse_where`."""
    return bind_term(parse(text), types)


def parse_condition(text: str, types: TableTypes) -> Node:
    """Check and type a condition. Errors as `parse_where`."""
    return bind(parse(text), types)


class TableTypes:
    """A table's columns, and what this database's casts make of literals (`dpdb.predicates.bind.Types`).

    Parameters
    ----------
    tests_nested : bool
        Whether it may be asked if a column is NULL whose values cannot be compared.
    """

    def __init__(self, database: Database, schema: TableSchema, *, tests_nested: bool = False) -> None:
        self._database = database
        self._schema = schema
        self._tests_nested = tests_nested

    def column(self, name: str) -> Column:
        """Find a column; see `comparable_column`."""
        return comparable_column(name, self._schema, "where")

    def tested(self, name: str) -> Column:
        """Find a column; of one that cannot be compared it is known whether it is NULL (`read_columns`)."""
        column = self._schema[resolve_column(name, self._schema, "where")]
        return Column(column.name, PRESENCE) if self._tests_nested and column.type is None else self.column(name)

    def check(self, column: Column, operator: Operator, value: LiteralValue | None) -> None:
        """Refuse what text that nobody has declared does not bear."""
        problem = untyped_problem(self._schema[column.name], value, ordered=operator.is_order)
        if problem is not None:
            raise PredicateError(f"where: {problem}")

    def literals(self, values: Sequence[LiteralValue], kind: str) -> list[Literal | None]:
        """Read literals by this database's casts."""
        return bind_literals(self._database, values, kind)

    def pattern_problem(self, pattern: str) -> str | None:
        """Ask this database, which is the one that will match: it reads the pattern again as it did now."""
        return pattern_problem(self._database, pattern)

    def common_type(self, left: str, right: str) -> str | None:
        """Name the type in which values of two types compare."""
        return common_type(left, right)


def comparable_column(wanted: str, schema: TableSchema, context: str) -> Column:
    """Find a column whose values can be compared.

    Parameters
    ----------
    wanted
        The name as it was written; case does not count.
    context
        Where the name was written, for messages.

    Raises
    ------
    UnknownColumnError
        If there is no such column; the message has the nearest name.
    """
    column = schema[resolve_column(wanted, schema, context)]
    if column.type is None:
        raise PredicateError(
            f"{context}: column {column.name!r} has type {column.declared_type}, which cannot be compared"
        )
    return Column(column.name, column.type)


def unit_column(wanted: str, schema: TableSchema) -> str:
    """Find the column whose values are the units.

    Raises
    ------
    UnknownColumnError
        If there is no such column.
    """
    column = schema[resolve_column(wanted, schema, "unit")]
    if column.type is None:
        raise ParameterError(
            f"unit: column {column.name!r} has type {column.declared_type}, whose values cannot be compared; "
            "name a column of numbers, text or dates"
        )
    return column.name


def resolve_column(wanted: str, schema: TableSchema, context: str) -> str:
    """Return the schema's spelling of a column name.

    Raises
    ------
    UnknownColumnError
        If there is no such column; the message has the nearest name.
    """
    spellings = [name for name in schema.names if name.casefold() == wanted.casefold()]
    if spellings:
        return spellings[0]  # names are unique up to case
    near = close_name(wanted, schema.names)
    hint = f"; the nearest is {near!r}" if near is not None else ""
    raise UnknownColumnError(f"{context}: there is no column {wanted!r}{hint}")
