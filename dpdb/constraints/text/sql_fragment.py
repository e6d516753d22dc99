"""A part of a constraint text as SQL: its columns are found and numbered, everything else stays as it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from dpdb.constraints.column_ref import ConditionAcross
from dpdb.constraints.text.cursor import CLOSING, Cursor, TupleNames, normal_tuple_name
from dpdb.constraints.text.lexer import Kind, Token
from dpdb.errors import ConstraintSyntaxError

_ENDS = frozenset([Kind.END, Kind.SEMICOLON, Kind.COLON, Kind.ARROW]) | CLOSING
_SIGNS = {"==": "=", "≠": "<>", "≤": "<=", "≥": ">="}
_WORDS = ("and", "or", "not", "is", "null", "in", "like", "between", "true", "false", "isnull", "notnull")
_RICH_WORDS = ("or", "not", "is", "in", "like", "between", "isnull", "notnull", "interval")
_RICH_KINDS = frozenset([Kind.ARITHMETIC, Kind.LPAREN, Kind.OR, Kind.MATCH])
_OPERANDS = frozenset([Kind.NAME, Kind.QUOTED, Kind.NUMBER, Kind.DATE, Kind.TEXT, Kind.RPAREN])
TIME_WORDS = ("date", "time", "timestamp", "timestamptz")
"""Before a quoted text each of these words makes it a literal of that type."""

_NOT_COLUMNS = (
    "current_date", "current_time", "current_timestamp", "current_user", "localtime", "localtimestamp", "session_user"
)  # fmt: skip
_UNITS = ("microsecond", "millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year")


_CASTS = ("cast", "try_cast")
_OF_TYPES = frozenset([Kind.NAME, Kind.NUMBER, Kind.LPAREN, Kind.RPAREN, Kind.COMMA])

OF_PARENT = "."
"""In place of a tuple's name: the column is the parent's."""


class ParentColumns(NamedTuple):
    """How columns of a parent are told from those of the row.

    Parameters
    ----------
    parent
        The parts of its name, case-folded: what stands before its columns.
    bare
        Which columns with nothing before them are the parent's: none, those that the table lacks, or all.
    """

    parent: tuple[str, ...]
    bare: Literal["none", "unknown", "all"] = "none"


class Selected(NamedTuple):
    """What stands in `(SELECT id FROM customers WHERE active)`: the parent, its columns, which of its rows count."""

    parent: str
    columns: tuple[str, ...]
    among: ConditionAcross | None


class SqlFragment(NamedTuple):
    """SQL in which column number k is called `"k"`, and the columns: name of the tuple (None: left out) and column.

    A `(SELECT ...)` behind IN is a column, too.
    """

    sql: str
    columns: tuple[tuple[str | None, str | Selected], ...]
    start: Token


def is_rich(cursor: Cursor) -> bool:
    """Return whether the following condition has more than comparisons of columns and constants."""
    ahead = 0
    while (token := cursor.peek(ahead)).kind not in _ENDS:
        after_dot = ahead > 0 and cursor.at(Kind.DOT, ahead - 1)
        signed = token.kind is Kind.NUMBER and token.text[0] in "+-" and ahead > 0
        if (
            token.kind in _RICH_KINDS
            or (not after_dot and cursor.at_word(*_RICH_WORDS, ahead=ahead))
            or (signed and cursor.peek(ahead - 1).kind in _OPERANDS)
        ):
            return True
        ahead += 1
    return False


def is_dotted_column(cursor: Cursor) -> bool:
    """Return whether a dotted name is a column: the table has it, or its first part is no tuple name."""
    return cursor.at_dotted_column() or normal_tuple_name(cursor.peek().text) is None


def sql_fragment(
    cursor: Cursor,
    tuples: TupleNames,
    *,
    bare: bool,
    select: Callable[[Cursor], Selected],
    parent: ParentColumns | None = None,
) -> SqlFragment:
    """Take all tokens up to the end of a condition.

    Parameters
    ----------
    bare
        Whether columns may stand without the name of a tuple.
    select
        Takes a `(SELECT ...)`.
    """
    taker = _Taker(cursor, tuples, bare, parent, select)
    start, depth = cursor.peek(), 0
    while depth or cursor.peek().kind not in _ENDS:
        kind = cursor.peek().kind
        if kind is Kind.END:
            raise cursor.error("')'")
        if taker.accepts_selected():
            continue
        depth += (kind is Kind.LPAREN) - (kind is Kind.RPAREN)
        taker.take()
    return SqlFragment(" ".join(taker.words), tuple(taker.columns), start)


def not_of_parent(cursor: Cursor, parent: Sequence[str], token: Token) -> ConstraintSyntaxError:
    """Return (not raise) the error that a column inside `(SELECT ...)` is another table's.

    Parameters
    ----------
    parent
        The parts of the name behind FROM.
    """
    return cursor.error(f"a column of {'.'.join(parent)}, as all inside (SELECT ...) are", token)


class _Taker:
    """Takes token after token."""

    def __init__(
        self,
        cursor: Cursor,
        tuples: TupleNames,
        bare: bool,
        parent: ParentColumns | None,
        select: Callable[[Cursor], Selected],
    ) -> None:
        self._cursor, self._tuples, self._bare, self._parent, self._select = cursor, tuples, bare, parent, select
        self.words: list[str] = []
        self.columns: list[tuple[str | None, str | Selected]] = []
        self._open: list[bool] = []  # for each open parenthesis, whether it is that of a CAST

    def take(self) -> None:
        cursor = self._cursor
        kind = cursor.peek().kind
        if kind is Kind.LPAREN:
            self._open.append(bool(self.words) and self.words[-1].lower() in _CASTS)
        elif kind is Kind.RPAREN and self._open:
            self._open.pop()
        if cursor.peek().text == "-" and cursor.position and cursor.peek(-1).text == "<":
            self._refuse_backward_arrow()
        if names := self._names_of_parent():
            self._column(OF_PARENT, self._of_parent(names))
            return
        self._refuse_another_table()
        if kind is Kind.NAME:
            self._name()
        elif kind is Kind.QUOTED:
            self._bare_column()
        elif kind in _VERBATIM:
            self.words.append(_VERBATIM[kind](cursor.take()))
        else:
            raise cursor.error("a column, a literal, an operator or a function")

    def accepts_selected(self) -> bool:
        """Take `(SELECT ...)` behind IN as a column in parentheses, if it is next; `(select)` is a column's name."""
        cursor = self._cursor
        if not (cursor.at(Kind.LPAREN) and cursor.at_word("select", ahead=1) and cursor.at_column(2)):
            return False
        if not self.words or self.words[-1].lower() != "in":
            raise cursor.error("IN before (SELECT ...)", cursor.peek(1))
        self.words.append("(")
        self._column(None, self._select(cursor))
        self.words.append(")")
        return True

    def _refuse_backward_arrow(self) -> None:
        """Refuse `a <- b`, which is `a < -b` to SQL and `b -> a` to its reader."""
        before, sign = self._cursor.peek(-1), self._cursor.peek()
        if before.end == sign.offset:
            raise self._cursor.error("'< -' for less than minus, or an arrow to the right, as in b -> a", before)

    def _refuse_clock(self) -> None:
        """Refuse SQL words for the time or the user, such as `current_date`, unless a column has that name."""
        cursor = self._cursor
        if cursor.at_word(*_NOT_COLUMNS) and not cursor.begins_known_column():
            raise cursor.error("a column or a literal (a rule may not depend on the time or the user; names in quotes)")

    def _name(self) -> None:
        cursor = self._cursor
        if cursor.at(Kind.DOT, ahead=1) and not (self._bare and is_dotted_column(cursor)):
            name = self._tuples.use(cursor.take())
            cursor.take()
            self._column(name, cursor.column(stop_at_and=True))
        elif cursor.at_word("from", ahead=1) and [word.lower() for word in self.words[-2:]] == ["extract", "("]:
            self.words += [cursor.take().text, cursor.take().text]
        elif cursor.at_word("as") and self._open and self._open[-1]:
            self._type()
        elif cursor.at_word(*_WORDS) or cursor.at(Kind.LPAREN, ahead=1):
            self.words.append(cursor.take().text)
        elif cursor.at_word(*TIME_WORDS) and cursor.at(Kind.TEXT, ahead=1):
            self.words += [cursor.take().text, cursor.take().text]
        elif cursor.at_word("interval") and (cursor.at(Kind.TEXT, ahead=1) or cursor.at(Kind.NUMBER, ahead=1)):
            self.words += [cursor.take().text, cursor.take().text]
            if cursor.at_word(*_UNITS, *(f"{unit}s" for unit in _UNITS)):
                self.words.append(cursor.take().text)
        else:
            self._refuse_clock()
            self._bare_column()

    def _type(self) -> None:
        """Take `AS` and the type up to the end of a CAST."""
        self.words.append(self._cursor.take().text)
        depth = 0
        while depth or not self._cursor.at(Kind.RPAREN):
            kind = self._cursor.peek().kind
            if kind not in _OF_TYPES:
                raise self._cursor.error("a type, such as DATE, INTEGER or DECIMAL(10, 2)")
            depth += (kind is Kind.LPAREN) - (kind is Kind.RPAREN)
            self.words.append(self._cursor.take().text)

    def _names_of_parent(self) -> int:
        """Return how many names of the parent stand here before a column of it; 0 for none."""
        if self._parent is None:
            return 0
        parts = self._parent.parent
        for first in range(len(parts) if self._parent.bare == "all" else 1):  # there also `p` of `schema.p`
            if self._begin_column(parts[first:]):
                return len(parts) - first
        return 0

    def _begin_column(self, parts: tuple[str, ...]) -> bool:
        return self._cursor.at_column(2 * len(parts)) and all(
            self._cursor.at_column(2 * place)
            and self._cursor.peek(2 * place).content.casefold() == part
            and self._cursor.at(Kind.DOT, 2 * place + 1)
            for place, part in enumerate(parts)
        )

    def _refuse_another_table(self) -> None:
        """Refuse the name of a tuple or of another table before a column, where all columns are the parent's."""
        parent = self._parent
        if parent is not None and parent.bare == "all" and self._cursor.at_column() and self._cursor.at(Kind.DOT, 1):
            raise not_of_parent(self._cursor, parent.parent, self._cursor.peek())

    def _of_parent(self, names: int) -> str:
        """Take so many names of the parent and its column; return the column as it is written."""
        for _ in range(2 * names):
            self._cursor.take()
        return self._cursor.written_name()

    def _bare_column(self) -> None:
        bare = "none" if self._parent is None else self._parent.bare
        if bare == "all" or (bare == "unknown" and self._cursor.lacks_column()):
            self._column(OF_PARENT, self._cursor.written_name())
            return
        if not self._bare:
            raise self._cursor.error("a column such as t1.name, a literal or a function")
        self._column(None, self._cursor.column(stop_at_and=True))

    def _column(self, name: str | None, column: str | Selected) -> None:
        self.words.append(f'"{len(self.columns)}"')
        self.columns.append((name, column))


_VERBATIM: dict[Kind, Callable[[Token], str]] = {
    **dict.fromkeys(
        (Kind.NUMBER, Kind.TEXT, Kind.ARITHMETIC, Kind.LPAREN, Kind.RPAREN, Kind.COMMA, Kind.MATCH), lambda t: t.text
    ),
    Kind.OPERATOR: lambda token: _SIGNS.get(token.text, token.text),
    Kind.DATE: lambda token: f"DATE '{token.text}'",
    Kind.AND: lambda _: "AND",
    Kind.OR: lambda _: "OR",
    Kind.NOT: lambda _: "NOT",
}
