"""Read a unit that is reached through keys: `order_id -> orders.id, customer_id -> customers.id`.

Each step is a key of one table and the columns of the next one that equal it, written as in foreign keys. What stands
behind the last step names the column whose values are the units (`order_id -> orders.id, customer_id`); where nothing
does, it is the last key.

A step may name the table that it starts from (`items.order_id -> orders.id`). Then one text serves several tables:
each starts at its own step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from dpdb.constraints.text.across_text import parent_columns
from dpdb.constraints.text.cursor import Cursor
from dpdb.constraints.text.lexer import Kind, Source
from dpdb.errors import ConstraintSyntaxError, ParameterError
from dpdb.names import listed_names, quoted_name


@dataclass(frozen=True)
class KeyStep:
    """A step from the rows of one table to those of another one: to all that have the same key.

    Attributes
    ----------
    table : str or None
        The table that it starts from; None for the measured one.
    parent_columns : tuple of str
        The columns there that equal the key, in the same order.
    """

    table: str | None
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]

    def written(self) -> str:
        """Return the step as text, without the table that it starts from."""
        parent, theirs = quoted_name(self.parent), _listed(self.parent_columns)
        return f"{_listed(self.columns)} -> {parent}{theirs if theirs[0] == '(' else '.' + theirs}"


@dataclass(frozen=True)
class UnitPath:
    """Steps from a table to the one whose column names the units."""

    steps: tuple[KeyStep, ...]
    column: str

    @property
    def last(self) -> str:
        """The table that has the units' column."""
        return self.steps[-1].parent

    @property
    def unit(self) -> str:
        """The name of the units' column beside the rows of the measured table."""
        return f"{self.last}.{self.column}"

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that steps lead to, in their order."""
        return tuple(step.parent for step in self.steps)

    def written(self) -> str:
        """Return it as text: as `unit_path` reads it."""
        said, before = [], None
        for step in self.steps:
            is_named = step.table is not None and step.table != before
            said.append((f"{quoted_name(step.table)}" if step.table and is_named else "", step))
            before = step.parent
        return ", ".join([*(_behind(table, step) for table, step in said), quoted_name(self.column)])

    def starting_at(self, table: str | None) -> UnitPath | str:
        """Return the path of one table: its steps in their order, or the column where the units are values of its own.

        Parameters
        ----------
        table
            As the caller names it; None for a table without a name, which is that of the first step.
        """
        first = self.steps[0]
        if table is None or (first.table is None and not self._starts_at(table)):
            start = first
        elif _same(table, self.last):
            return self.column
        else:
            found = next((step for step in self.steps if step.table is not None and _same(step.table, table)), None)
            if found is None:
                known = listed_names([step.table or "the measured table" for step in self.steps])
                raise ParameterError(f"unit: no step starts from {table}; there are steps from {known}")
            start = found
        steps = [replace(start, table=None)]
        while not _same(steps[-1].parent, self.last):
            following = [each for each in self.steps if each.table is not None and _same(each.table, steps[-1].parent)]
            steps.append(following[0])
        return UnitPath(tuple(steps), self.column)

    def _starts_at(self, table: str) -> bool:
        return any(step.table is not None and _same(table, step.table) for step in self.steps)


def _behind(table: str, step: KeyStep) -> str:
    return step.written() if not table else f"{table}{'' if len(step.columns) > 1 else '.'}{step.written()}"


def _listed(columns: tuple[str, ...]) -> str:
    names = ", ".join(map(quoted_name, columns))
    return names if len(columns) == 1 else f"({names})"


def _same(one: str, other: str) -> bool:
    mine, theirs = (name.casefold().split(".") for name in (one, other))
    common = min(len(mine), len(theirs))
    return mine[-common:] == theirs[-common:]


def unit_path(text: str) -> UnitPath | None:
    """Return the path that a unit is reached by; None for a text without an arrow, which is the name of a column."""
    if "->" not in text:
        return None
    cursor = Cursor(Source(text), None)
    try:
        return _path(cursor)
    except ConstraintSyntaxError as error:
        raise ParameterError(f"unit: {error}") from None


_STEP = "a step to a table, such as order_id -> orders.id"


def _path(cursor: Cursor) -> UnitPath:
    steps: list[KeyStep] = []
    while True:
        start = cursor.peek()
        table, columns = _side(cursor)
        if not cursor.accept(Kind.ARROW):
            if not steps or len(columns) > 1 or (table is not None and not _same(table, steps[-1].parent)):
                raise cursor.error(_STEP, start)
            column = columns[0]
            break
        parent, theirs = parent_columns(cursor)
        if len(theirs) != len(columns) or len(set(columns)) < len(columns) or len(set(theirs)) < len(theirs):
            raise cursor.error(f"as many columns on both sides of the arrow, each once ({len(columns)})", start)
        known = table if table is not None or not steps else steps[-1].parent
        steps.append(KeyStep(known, columns, parent, theirs))
        if not cursor.accept(Kind.COMMA):
            if len(theirs) > 1:
                raise cursor.error(f"a comma and the column of {parent} whose values are the units")
            column = theirs[0]
            break
    cursor.expect(Kind.END, "a comma and the next step, or the end")
    _refuse_forks(steps)
    return UnitPath(tuple(steps), column)


def _side(cursor: Cursor) -> tuple[str | None, tuple[str, ...]]:
    """Take `order_id`, `(shop, number)`, `items.order_id` or `items(shop, number)`."""
    names = [] if cursor.at(Kind.LPAREN) else cursor.dotted_name(_STEP)
    if cursor.accept(Kind.LPAREN):
        columns = tuple(cursor.listed(lambda: cursor.written_name("a column")))
        cursor.expect(Kind.RPAREN, "',' or ')'")
        return ".".join(names) or None, columns
    return ".".join(names[:-1]) or None, (names[-1],)


def _refuse_forks(steps: list[KeyStep]) -> None:
    """Refuse what is no tree whose root is the last step's table: one step from each table, and all lead there."""
    root = steps[-1].parent
    for place, step in enumerate(steps):
        if any(
            other.table is not None and step.table is not None and _same(other.table, step.table)
            for other in steps[:place]
        ):
            raise ParameterError(f"unit: two steps start from {step.table}: each table has one way to its unit")
        if step.table is not None and _same(step.table, root):
            raise ParameterError(
                f"unit: a step starts from {root}, where the last one leads to: it is the units' table"
            )
        seen, parent = [step.table or ""], step.parent
        while not _same(parent, root):
            following = next((each for each in steps if each.table is not None and _same(each.table, parent)), None)
            if following is None or any(_same(parent, name) for name in seen if name):
                raise ParameterError(f"unit: the step to {parent} leads on to no other; the units are of {root}")
            seen.append(parent)
            parent = following.parent
