"""Conditions as predicates: comparisons stay what they are, everything else becomes computed columns of one tuple.

They are parsed as SQL, so AND binds before OR and `BETWEEN a AND b` is one condition. Binding a constraint to a table
(`dpdb.predicates.bind`) gives them their meaning, and refuses what is not allowed.

A computed column has a canonical text: one spelling for every way to write the same tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, InvalidOperation

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError
from sqlglot.generators.duckdb import DuckDBGenerator

from dpdb.bounded_parser import parse_condition
from dpdb.constraints.column_ref import ColumnRef, ConditionAcross, Member, RowExpression, computed
from dpdb.constraints.denial import COMPARISONS, OPERATORS, Constant, Moment, Operator, Predicate
from dpdb.constraints.text.cursor import Cursor, TupleNames
from dpdb.constraints.text.lexer import Kind, shortened
from dpdb.constraints.text.sql_fragment import (
    OF_PARENT,
    ParentColumns,
    Selected,
    SqlFragment,
    not_of_parent,
    sql_fragment,
)
from dpdb.errors import ConstraintSyntaxError, ParameterError


def conditions(cursor: Cursor, tuples: TupleNames, *, bare: bool) -> tuple[Predicate, ...]:
    """Take conditions joined by `and` in any spelling, up to what ends them.

    Parameters
    ----------
    bare
        Whether they speak of one row, so that columns need no name of a tuple.
    """
    reader = _reader(cursor, tuples, bare=bare)
    return reader.predicates(_conjuncts(reader.tree))


def violations_of_check(cursor: Cursor, tuples: TupleNames) -> tuple[Predicate, ...]:
    """Take a condition that no row may make false, and return the predicates of the rows that do."""
    reader = _reader(cursor, tuples)
    return reader.predicates(_conjuncts(_denied(reader.tree)))


def violations_of_bare(cursor: Cursor, tuples: TupleNames) -> tuple[Predicate, ...]:
    """Take a condition as `violations_of_check`, in which `min(x) >= 1` and `max(x) <= 9` are of every row.

    The least value is at least 1 exactly where each is; NULL counts for neither.
    """
    reader = _reader(cursor, tuples)
    tree = reader.tree.unnest()
    parts = [part.unnest() for part in (tree.flatten(unnest=False) if isinstance(tree, exp.And) else [tree])]
    said = exp.and_(*(_of_every_row(part) for part in parts), wrap=False) if tree.find(exp.Min, exp.Max) else tree
    if said.find(exp.Min, exp.Max):
        raise reader.error("min(x) >= or > a value, and max(x) <= or < a value, joined by AND", "another use of them")
    return reader.predicates(_conjuncts(_denied(said)))


def _of_every_row(part: exp.Expr) -> exp.Expr:
    """Write a bound of the least or largest value as one of every value; other parts stay."""
    operator = OPERATORS.get(type(part))
    if operator is None:
        return part
    left, right = part.this.unnest(), part.expression.unnest()
    if isinstance(right, (exp.Min, exp.Max)):
        operator, left, right = operator.flipped, right, left
    below = {exp.Min: (Operator.GE, Operator.GT), exp.Max: (Operator.LE, Operator.LT)}
    alone = [name for name, value in left.args.items() if value] == ["this"]  # min(x, 2) is the two least values
    if operator not in below.get(type(left), ()) or not alone or right.find(exp.Column):
        return part
    return COMPARISONS[operator](this=left.this.copy(), expression=right.copy())


def row_condition(cursor: Cursor, tuples: TupleNames) -> RowExpression:
    """Take a condition over one row as it is."""
    return _reader(cursor, tuples).whole()


def check_across(cursor: Cursor, tuples: TupleNames, parent: ParentColumns, *, is_denial: bool) -> ConditionAcross:
    """Take a condition over a row and a row of a parent, up to what ends it.

    Parameters
    ----------
    parent
        How columns of the parent are told from those of the row.
    is_denial
        Whether to return the opposite of the condition.
    """
    reader = _reader(cursor, tuples, parent=parent)
    found = reader.across(_denied(reader.tree) if is_denial else reader.tree)
    if not found.parent_columns:
        raise reader.error(
            f"a column of the parent, such as {'.'.join(parent.parent)}.name (a rule on one row has no BY)", "none"
        )
    return found


def conditions_among(
    cursor: Cursor, tuples: TupleNames, parent: ParentColumns
) -> tuple[tuple[Predicate, ...], ConditionAcross | None]:
    """Take conditions joined by `and`, each over the row or over the parent's columns alone; return both kinds.

    Parameters
    ----------
    cursor
        At the first condition.
    parent
        How columns of the parent are told from those of the row.
    """
    reader = _reader(cursor, tuples, parent=parent)
    mine: list[exp.Expr] = []
    theirs: list[exp.Expr] = []
    for conjunct in _conjuncts(reader.tree):
        (theirs if reader.is_of_parent(conjunct) else mine).append(conjunct)
    among = reader.across(exp.and_(*theirs)) if theirs else None
    return reader.predicates(iter(mine)), among


def selected(cursor: Cursor) -> Selected:
    """Take `(SELECT id FROM customers WHERE active)`: inside, all columns are the parent's."""
    cursor.position += 2
    written = cursor.listed(lambda: (cursor.peek(), cursor.dotted_name()))
    if not cursor.accept_words("from"):
        raise cursor.error("FROM, as in (SELECT id FROM customers WHERE active)")
    names, among = cursor.dotted_name(), None
    for token, (*table, _) in written:
        if not _may_be_one(table, names):
            raise not_of_parent(cursor, names, token)
    if cursor.accept_words("where"):
        parent = ParentColumns(tuple(name.casefold() for name in names), "all")
        _, among = conditions_among(cursor, TupleNames(cursor.source), parent)
    cursor.expect(Kind.RPAREN, "WHERE or ')'")
    return Selected(".".join(names), tuple(column for _, (*_, column) in written), among)


def _may_be_one(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether two names of tables agree as far as both say, from the end."""
    return all(mine.casefold() == theirs.casefold() for mine, theirs in zip(one[::-1], other[::-1], strict=False))


def _reader(cursor: Cursor, tuples: TupleNames, *, bare: bool = True, parent: ParentColumns | None = None) -> _Reader:
    fragment = sql_fragment(cursor, tuples, bare=bare, select=selected, parent=parent)
    return _Reader(cursor, fragment, tuples, bare=bare)


def _conjuncts(tree: exp.Expr) -> Iterator[exp.Expr]:
    tree = tree.unnest()
    if isinstance(tree, exp.And):
        yield from (part for each in tree.flatten(unnest=False) for part in _conjuncts(each))
    elif isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
        yield exp.GTE(this=tree.this.copy(), expression=tree.args["low"].copy())
        yield exp.LTE(this=tree.this.copy(), expression=tree.args["high"].copy())
    else:
        yield tree


def _denied(tree: exp.Expr) -> exp.Expr:
    """NOT of a tree, moved inwards as far as no OR comes of it: true exactly where the tree is false."""
    tree = tree.unnest()
    if isinstance(tree, exp.Or):
        return exp.and_(*(_denied(part) for part in tree.flatten(unnest=False)), wrap=False)
    if isinstance(tree, exp.Not):
        denied: exp.Expr = tree.this.unnest()
        return denied.copy()
    operator = OPERATORS.get(type(tree))
    if operator is not None:
        return COMPARISONS[operator.negated](this=tree.this.copy(), expression=tree.expression.copy())
    return exp.Not(this=exp.paren(tree) if isinstance(tree, exp.And) else tree.copy())


class _Reader:
    """Reads the parsed conditions of one fragment."""

    def __init__(self, cursor: Cursor, fragment: SqlFragment, tuples: TupleNames, *, bare: bool) -> None:
        self._cursor, self._fragment, self._tuples, self._bare = cursor, fragment, tuples, bare
        self._columns: list[tuple[str | None, str | Member]] = []
        if not fragment.sql:
            raise cursor.error("a condition")
        try:
            self.tree = parse_condition(fragment.sql)
        except (SqlglotError, RecursionError):
            text = cursor.source.text[fragment.start.offset : cursor.peek().offset]
            raise self.error("a condition", shortened(text.strip())) from None
        if not all(column.name.isdecimal() and not column.table for column in self.tree.find_all(exp.Column)):
            raise self.error("a condition (put a column that is called like a word of SQL in double quotes)", "none")
        if bare and len({name for name, _ in fragment.columns if name not in {None, OF_PARENT}}) > 1:
            raise self.error("a condition over one row", "two tuple names")
        self._read_members()

    def _read_members(self) -> None:
        """Put a column for each `x IN (SELECT ...)` into the tree."""
        chosen: dict[str, Selected] = {}
        for number, (name, column) in enumerate(self._fragment.columns):
            if isinstance(column, Selected):
                chosen[str(number)] = column
            self._columns.append((name, "" if isinstance(column, Selected) else column))

        def read(node: exp.Expr) -> exp.Expr:
            items = node.expressions if isinstance(node, exp.In) else []
            if not any(isinstance(item, exp.Column) and item.name in chosen for item in items):
                return node
            column = node.this.unnest()
            name, own = self._columns[int(column.name)] if isinstance(column, exp.Column) else (OF_PARENT, "")
            if name == OF_PARENT or not isinstance(own, str) or not own:
                raise self.error("a column of the row before IN (SELECT ...)", shortened(self._shown(node.this)))
            parent, columns, among = chosen[items[0].name]
            if len(columns) > 1:
                raise self.error("one column in SELECT, as there is one before IN", f"{len(columns)}")
            self._columns.append((name, Member((own,), parent, columns, among)))
            return exp.column(str(len(self._columns) - 1), quoted=True)

        if chosen:
            self.tree = self.tree.transform(read)

    def predicates(self, conjuncts: Iterator[exp.Expr]) -> tuple[Predicate, ...]:
        try:
            return tuple(self._predicate(conjunct) for conjunct in conjuncts)
        except RecursionError:
            raise self.error("a condition that is nested less deeply", "more") from None

    def whole(self) -> RowExpression:
        """Return all of it as a condition over one row."""
        return row_expression(self.tree.unnest(), self._name, is_condition=True)

    def across(self, tree: exp.Expr) -> ConditionAcross:
        """Return a part as a condition over the row and a row of the parent."""
        try:
            text = row_expression(tree.unnest(), str, is_condition=True)
        except RecursionError:
            raise self.error("a condition that is nested less deeply", "more") from None
        columns = [self._columns[int(number)] for number in text.columns if isinstance(number, str)]
        return ConditionAcross(text.pieces, tuple((name == OF_PARENT, column) for name, column in columns))

    def is_of_parent(self, tree: exp.Expr) -> bool:
        """Return whether a part is over the parent's columns; refuse one that is over both tables'."""
        found = {self._columns[int(column.name)][0] == OF_PARENT for column in tree.find_all(exp.Column)}
        if len(found) > 1:
            raise self.error(
                "conditions behind WHERE over one table each, joined by AND (what compares both tables stands in "
                "CHECK)",
                shortened(self._shown(tree)),
            )
        return found == {True}

    def error(self, expected: str, found: str) -> ConstraintSyntaxError:
        """Return (not raise) the error that something else was expected where the condition begins."""
        return self._cursor.source.syntax_error(self._fragment.start.offset, expected, found)

    def _predicate(self, tree: exp.Expr) -> Predicate:
        operator = OPERATORS.get(type(tree))
        if operator is not None and type(tree.this.unnest()) in OPERATORS:
            raise self.error("comparisons of two sides each, joined by AND", shortened(self._shown(tree)))
        if operator is not None and len(self._indices(tree)) == 2:
            return self._comparison_of_tuples(operator, tree.this, tree.expression)
        if operator is not None:
            left, right = self._operand(tree.this), self._operand(tree.expression)
            if left is not None and right is not None and self._indices(tree):
                return Predicate.of(left, operator, right)
        return self._condition(tree)

    def _condition(self, tree: exp.Expr) -> Predicate:
        """Return the predicate that a condition over one tuple is true."""
        index = self._only_index(
            tree,
            "one constraint for each alternative"
            if isinstance(tree, exp.Or)
            else "a comparison such as t1.a > t2.b + 60, where a condition is over both tuples",
        )
        if isinstance(tree, exp.Column):
            return Predicate(self._ref(index, tree), Operator.EQ, Constant(True))
        if isinstance(tree, exp.Not) and isinstance(column := tree.this.unnest(), exp.Column):
            return Predicate(self._ref(index, column), Operator.EQ, Constant(False))
        found = row_expression(tree, self._name, is_condition=True)
        return Predicate(computed(index, found), Operator.EQ, Constant(True))

    def _comparison_of_tuples(self, operator: Operator, left: exp.Expr, right: exp.Expr) -> Predicate:
        if max(len(self._indices(left)), len(self._indices(right))) > 1:
            made = solved(operator, left, right, self._indices)
            if made is None:
                raise self.error(
                    "each side of a comparison over one tuple (for abs(t1.a - t2.b) > 5, write t1.a > t2.b + 5)",
                    shortened(self._shown(left if len(self._indices(left)) > 1 else right)),
                )
            operator, left, right = made
        mine, theirs = self._operand(left), self._operand(right)
        assert isinstance(mine, ColumnRef), "it has a column"
        assert theirs is not None, "it has one, too"
        return Predicate(mine, operator, theirs)

    def _operand(self, tree: exp.Expr) -> ColumnRef | Constant | None:
        """Return a side of a comparison; None for a computed constant, such as `1 + 1`."""
        tree = tree.unnest()
        if not self._indices(tree):
            return self._constant(tree)
        index = self._only_index(tree, "a term over one tuple")
        if isinstance(tree, exp.Column):
            return self._ref(index, tree)
        if isinstance(tree, exp.Not):
            tree = exp.paren(tree)  # NOT binds looser than the comparison beside it
        return computed(index, row_expression(tree, self._name, is_condition=False))

    def _constant(self, tree: exp.Expr) -> Constant | None:
        negative = isinstance(tree, exp.Neg)
        literal = tree.this.unnest() if negative else tree
        if isinstance(literal, exp.Literal) and not literal.is_string:
            try:
                number = Decimal(literal.this)
                return Constant(number.copy_negate() if negative else number)
            except (ParameterError, InvalidOperation):
                raise self.error(
                    "a number with at most 100 digits and an exponent within 400", shortened(literal.this)
                ) from None
        if isinstance(tree, exp.Literal):
            return Constant(str(tree.this))
        if isinstance(tree, exp.Boolean):
            return Constant(bool(tree.this))
        if isinstance(tree, exp.Null):
            raise self.error("a constant other than NULL (a comparison with NULL is never true; write IS NULL)", "NULL")
        if type(tree) is exp.Cast and isinstance(tree.this, exp.Literal) and tree.this.is_string:
            return Constant(Moment(tree.this.this))  # DATE '2020-01-31': nothing else is read as a cast of a literal
        return None

    # -- columns and their tuples ------------------------------------------------------------------------------------

    def _name(self, number: str) -> str | Member:
        return self._columns[int(number)][1]

    def _ref(self, index: int, column: exp.Column) -> ColumnRef:
        named = self._name(column.name)
        return ColumnRef(index, named) if isinstance(named, str) else computed(index, named)

    def _indices(self, tree: exp.Expr) -> frozenset[int]:
        return frozenset(self._index(column) for column in tree.find_all(exp.Column))

    def _index(self, column: exp.Column) -> int:
        name = self._columns[int(column.name)][0]
        return 0 if name is None or self._bare else self._tuples.index(name)

    def _only_index(self, tree: exp.Expr, expected: str) -> int:
        indices = self._indices(tree)
        if not indices:
            raise self.error("a condition with a column", shortened(self._shown(tree)))
        if len(indices) > 1:
            raise self.error(expected, shortened(self._shown(tree)))
        return next(iter(indices))

    def _shown(self, tree: exp.Expr) -> str:
        """A part as it is written, for messages."""

        def name_of(number: str) -> str:
            name, column = self._columns[int(number)]
            if isinstance(column, Member):
                return column.written("" if name is None else f"{name}.")
            return column if name in {None, OF_PARENT} else f"{name}.{column}"

        text = row_expression(tree, str, is_condition=False)
        return "".join(
            part + (name_of(number) if isinstance(number, str) and number else "")
            for part, number in zip(text.pieces, (*text.columns, ""), strict=True)
        )


_Part = tuple[bool, exp.Expr]  # whether the part is added or subtracted, and the part


def solved(
    operator: Operator, left: exp.Expr, right: exp.Expr, indices: Callable[[exp.Expr], frozenset[int]]
) -> tuple[Operator, exp.Expr, exp.Expr] | None:
    """Bring the parts of the first tuple to the left, all other parts to the right.

    Parameters
    ----------
    operator
        The comparison of `left` with `right`.
    left, right
        Trees of the two sides.
    indices
        Gives the tuples, 0 or 1, whose columns a tree has.

    Returns
    -------
    tuple or None
        Operator and both sides; None if some part is neither of one tuple nor constant (`abs(t1.a - t2.b)`).
    """
    parts = [*_parts(left, True, indices), *_parts(right, False, indices)]
    if any(len(indices(part)) > 1 for _, part in parts):
        return None
    mine = [part for part in parts if indices(part[1]) == {0}]
    theirs = [(not added, part) for added, part in parts if indices(part) == {1}]
    constants = [(not added, part) for added, part in parts if not indices(part) and not _is_zero(part)]
    if not any(added for added, _ in mine):
        operator, mine, theirs, constants = operator.flipped, _negated(mine), _negated(theirs), _negated(constants)
    if not any(added for added, _ in constants):  # so that `t2.b - t1.a > 60` is `t1.a > t2.b + 60`, but for the names
        return operator, _sum([*mine, *_negated(constants)]), _sum(theirs)
    return operator, _sum(mine), _sum([*theirs, *constants])


def _parts(tree: exp.Expr, added: bool, indices: Callable[[exp.Expr], frozenset[int]]) -> Iterator[_Part]:
    if isinstance(tree, exp.Paren) and len(indices(tree)) > 1:
        yield from _parts(tree.this, added, indices)
    elif isinstance(tree, (exp.Add, exp.Sub)) and (len(indices(tree)) > 1 or _is_sum_with_constant(tree, indices)):
        yield from _parts(tree.this, added, indices)
        yield from _parts(tree.expression, added is isinstance(tree, exp.Add), indices)
    elif isinstance(tree, exp.Neg) and len(indices(tree)) > 1:
        yield from _parts(tree.this, not added, indices)
    else:
        yield added, tree


def _is_sum_with_constant(tree: exp.Expr, indices: Callable[[exp.Expr], frozenset[int]]) -> bool:
    return not indices(tree.this) or not indices(tree.expression)


def _negated(parts: Sequence[_Part]) -> list[_Part]:
    return [(not added, part) for added, part in parts]


def _is_zero(part: exp.Expr) -> bool:
    return isinstance(part, exp.Literal) and not part.is_string and not str(part.this).strip("0.")


def _sum(parts: Sequence[_Part]) -> exp.Expr:
    """Write a sum that starts with an added part, if there is one."""
    first, *rest = sorted(parts, key=lambda part: not part[0])
    total = first[1].copy() if first[0] else exp.Neg(this=_atom(first[1]))
    for added, part in rest:
        total = exp.Add(this=total, expression=part.copy()) if added else exp.Sub(this=total, expression=_atom(part))
    return total


def _atom(part: exp.Expr) -> exp.Expr:
    return exp.paren(part) if isinstance(part, (exp.Add, exp.Sub, exp.Neg)) else part.copy()


class _Writer(DuckDBGenerator):
    """DuckDB's SQL as people write it: `x IS NOT NULL`, `DATE '2020-01-31'`."""

    def not_sql(self, expression: exp.Not) -> str:
        inner = expression.this
        if isinstance(inner, exp.Is):
            return f"{self.sql(inner, 'this')} IS NOT {self.sql(inner, 'expression')}"
        if isinstance(inner, exp.In) and inner.expressions:
            return f"{self.sql(inner, 'this')} NOT IN ({self.expressions(inner, flat=True)})"
        if isinstance(inner, exp.Between) and not inner.args.get("symmetric"):
            low, high = self.sql(inner, "low"), self.sql(inner, "high")
            return f"{self.sql(inner, 'this')} NOT BETWEEN {low} AND {high}"
        return super().not_sql(expression)

    def cast_sql(self, expression: exp.Cast, safe_prefix: str | None = None) -> str:
        if type(expression) is exp.Cast and isinstance(expression.this, exp.Literal):
            return f"{self.sql(expression, 'to')} {self.sql(expression, 'this')}"
        del safe_prefix  # every cast is one that cannot fail
        return f"CAST({self.sql(expression, 'this')} AS {self.sql(expression, 'to')})"

    def trycast_sql(self, expression: exp.TryCast) -> str:
        return self.cast_sql(expression)

    def extract_sql(self, expression: exp.Extract) -> str:
        part = expression.name.lower().replace("dayofmonth", "day")
        if part in ("year", "month", "day"):
            return f"{part}({self.sql(expression, 'expression')})"
        return super().extract_sql(expression)

    def dayofmonth_sql(self, expression: exp.DayOfMonth) -> str:
        return f"day({self.sql(expression, 'this')})"


def row_expression(tree: exp.Expr, name_of: Callable[[str], str | Member], *, is_condition: bool) -> RowExpression:
    """Write a tree whose columns are numbered (see `SqlFragment`).

    A disjunction is put in parentheses, so that it can stand between `&`.

    Parameters
    ----------
    name_of
        Gives the column, or the member, of a number.
    is_condition
        Whether the tree is a condition, not a term.
    """
    tree = exp.paren(tree) if isinstance(tree, exp.Or) else tree
    mark = "\ue000"
    while any(mark in str(node.this) for node in tree.find_all(exp.Literal)):
        mark += "\ue000"

    def marked(node: exp.Expr) -> exp.Expr:
        return exp.Var(this=f"{mark}{node.name}{mark}") if isinstance(node, exp.Column) else node

    text = _Writer(dialect=DuckDB(), comments=False, normalize_functions="lower").generate(tree.transform(marked))
    pieces = text.split(mark)
    return RowExpression(tuple(pieces[::2]), tuple(map(name_of, pieces[1::2])), is_condition)
