"""Change a statement's tree: releases become tables that hold their answers, `$1`, `$2`, ... become literals.

A statement with parameters, as prepared statements have them, is a `Template`. Values become literals of the tree,
never text between other text: whatever a value says, it stays one value. The statement that results is checked like any
other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, TypeAlias

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dpdb.doors.sql.call import RELEASES, parameter_kind, release_name
from dpdb.doors.sql.parse import parse_statement, parted_parameters, refused
from dpdb.doors.sql_parameters import CHECK, DIAGNOSE, TABLE
from dpdb.errors import StatementRefusedError
from dpdb.release import RELEASE_SCHEMA, Ask
from dpdb.suites import SuiteAsk

if TYPE_CHECKING:
    from dpdb.diagnosis import DiagnosisAsk

# Schema of the tables that hold answers; statements cannot name a schema, so none of them can name these tables.
ANSWERS = "answers"


def rewritten(tree: exp.Expr, calls: Sequence[tuple[exp.Anonymous, Ask | SuiteAsk | DiagnosisAsk, str]]) -> str:
    """Return the SQL that runs: every call reads a table of `ANSWERS`.

    In FROM a call becomes that table, under the name that the statement gives it; elsewhere it becomes the table's one
    row, as a struct.

    Parameters
    ----------
    tree : exp.Expr
        The checked statement; it is changed.
    calls : sequence of (node, ask, table)

    Raises
    ------
    StatementRefusedError
        If a call with several rows stands where there is room for one.
    """
    for node, _, _ in calls:
        _name_result(node)
    with _writable():
        for node, ask, table in calls:
            parent = node.parent
            if isinstance(parent, exp.Table):
                if parent.args.get("alias") is None:
                    parent.set("alias", exp.TableAlias(this=exp.to_identifier(ask.function)))
                parent.set("db", exp.to_identifier(ANSWERS))
                parent.set("this", exp.to_identifier(table))
                _take_out_of_parentheses(parent)
            elif not ask.several:
                row = exp.select(exp.column("answer")).from_(exp.table_(table, db=ANSWERS, alias="answer"))
                node.replace(row.subquery())
            else:
                raise refused(node, "has several rows: write SELECT ... FROM and the release")
        # Every name in quotes: a character that one parser reads as part of a name must not be a space to the other.
        return tree.sql(
            "duckdb", identify=True, normalize_functions=False, comments=False, unsupported_level=ErrorLevel.RAISE
        )


@contextmanager
def _writable() -> Iterator[None]:
    """Refuse a tree that cannot be written."""
    try:
        yield
    except SqlglotError as error:
        raise StatementRefusedError(f"the statement cannot be written for DuckDB: {error}") from None
    except RecursionError:
        raise StatementRefusedError("the statement is nested too deeply", kind="size") from None


def _take_out_of_parentheses(table: exp.Table) -> None:
    """Write `(t AS x) AS r` as `t AS r`, since DuckDB 2.0.1 reads no single table in parentheses."""
    while isinstance(around := table.parent, exp.Subquery) and all(
        name in ("this", "alias") or not value for name, value in around.args.items()
    ):
        table.set("alias", around.args.get("alias") or table.args["alias"])
        around.replace(table)


def _name_result(call: exp.Expr) -> None:
    """Name a result column that contains a call after its field or its text, not after our own tables."""
    top = call
    while top.parent is not None and not (isinstance(top.parent, exp.Select) and top.arg_key == "expressions"):
        if isinstance(top, (exp.Query, exp.Table, exp.Alias)):
            return
        top = top.parent
    if isinstance(top.parent, exp.Select) and not isinstance(top, exp.Alias):
        field = isinstance(top, exp.Dot) and isinstance(top.expression, exp.Identifier)
        name = top.expression.name if field else top.sql("duckdb", comments=False, normalize_functions=False)
        named = exp.Alias(alias=exp.to_identifier(name, quoted=True))
        top.replace(named)
        named.set("this", top)  # the node itself: its calls are replaced later


MOST_PARAMETERS = 1_000
ParameterType: TypeAlias = Literal["BIGINT", "DOUBLE", "DECIMAL", "BOOLEAN", "DATE", "TIMESTAMP", "TIMESTAMPTZ", "TEXT"]
"""Of a value outside of releases, whose type the columns of a result may have."""
Value: TypeAlias = "str | bool | list[str | bool | Numeral | None] | Numeral | None"
_RELEASE_TYPES: dict[str | None, ParameterType] = {
    "amount": "DOUBLE", "number": "DOUBLE", "whole": "BIGINT", "flag": "BOOLEAN",
}  # fmt: skip
_COMPARING = (exp.Binary, exp.Between, exp.In, exp.Paren, exp.Neg)


# Columns of releases that are numbers: a client that does not say what it sends beside them is asked for one.
_NUMBERS = frozenset(field.name for field in RELEASE_SCHEMA if field.type in (pa.float64(), pa.int64()))
_COLUMN_TYPES = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "TEXT"}


class Numeral(str):
    """The digits of a number, with a sign perhaps; `Value` of other texts is text."""


class Template:
    """A parsed statement.

    Parameters
    ----------
    text : str

    Attributes
    ----------
    kind : str
        ``"query"``, ``"explain"`` or ``"describe"``.
    types : tuple of ParameterType
        What the place of each parameter suggests, for clients that do not say.
    lists : frozenset of int
        Positions, from 0, of parameters that are lists of texts.
    shapes_columns : bool
        Whether a value may change the type of a column: one that stands neither in a release nor behind LIMIT.

    Raises
    ------
    StatementRefusedError
        As `dpdb.doors.sql.FrontEnd.check`, of what cannot be read, or of more than `MOST_PARAMETERS` parameters.
    """

    def __init__(self, text: str) -> None:
        statement = parse_statement(parted_parameters(text))
        self.kind, self._tree = statement.kind, statement.tree
        places: dict[int, list[exp.Expr]] = {}
        for node in self._tree.find_all(exp.Placeholder):
            number = str(node.this or "")
            if not (number.isascii() and number.isdigit() and 0 < int(number[:9]) <= MOST_PARAMETERS):
                raise StatementRefusedError(f"parameters are $1, $2, ... up to ${MOST_PARAMETERS}")
            places.setdefault(int(number) - 1, []).append(node)
        count = max(places, default=-1) + 1
        self.types = tuple(_suggested(places.get(one, ())) for one in range(count))
        nodes = [node for found in places.values() for node in found]
        self.shapes_columns = not all(_call(node) or isinstance(node.parent, (exp.Limit, exp.Offset)) for node in nodes)
        are_lists = {one: any(_kind(node) in ("keys", "lists") for node in nodes) for one, nodes in places.items()}
        self.lists = frozenset(one for one, is_list in are_lists.items() if is_list)

    def bound(self, values: Sequence[Value], types: Sequence[ParameterType]) -> str:
        """Return the statement with a literal in the place of each parameter."""
        return self._written(lambda node: _literal(node, values[_number(node)], types[_number(node)]))

    def described(self, types: Sequence[ParameterType], table: str, suite: str) -> str:
        """Return a statement that has the same columns as this one, whatever the values of the parameters are.

        It is to be described, not to be run. A release has the same columns for all of them, so one that is always
        possible stands for it.

        Parameters
        ----------
        types
            Of the parameters.
        table, suite
            That such releases may ask of.
        """
        return self._written(lambda node: _literal(node, None, types[_number(node)]), (table, suite))

    def _written(self, literal: Callable[[exp.Expr], exp.Expr], known: tuple[str, str] | None = None) -> str:
        tree, verb = self._tree.copy(), "" if self.kind == "query" else f"{self.kind.upper()} "
        with _writable():
            if known is not None:
                for call in [*tree.find_all(exp.Anonymous)]:
                    if release_name(call) == DIAGNOSE and call.find(exp.Placeholder):
                        _stand_in(call)
                    elif release_name(call) and call.find(exp.Placeholder):
                        call.set("expressions", _possible(call, *known))
            for node in [*tree.find_all(exp.Placeholder)]:
                node.replace(literal(node))
            return verb + tree.sql("duckdb", normalize_functions=False, comments=False)


def _number(node: exp.Expr) -> int:
    return int(node.this) - 1


def _call(node: exp.Expr) -> exp.Expr | None:
    """Return the release that a parameter is an argument of."""
    parent = node.parent
    while parent is not None and not isinstance(parent, exp.Query):
        if release_name(parent):
            return parent
        parent = parent.parent
    return None


def _kind(node: exp.Expr) -> str | None:
    """Return the kind of option that a parameter is in a release; `name` of the table, None outside of releases."""
    call = _call(node)
    if call is None:
        return None
    function = str(release_name(call))
    for position, argument in enumerate(call.expressions):
        if argument is node and position < len(RELEASES[function]):
            return parameter_kind(function, RELEASES[function][position]) or "name"
        if argument is node.parent and isinstance(argument, (exp.PropertyEQ, exp.Kwarg, exp.EQ)):
            return parameter_kind(function, argument.this.name) or "name"
    return "text"


def _suggested(nodes: Sequence[exp.Expr]) -> ParameterType:
    for node in nodes:
        parent = node.parent
        if _call(node) is not None:
            return _RELEASE_TYPES.get(_kind(node), "TEXT")
        if isinstance(parent, (exp.Limit, exp.Offset)):
            return "BIGINT"
        if isinstance(parent, (exp.Cast, exp.TryCast)):
            return _of_cast(parent.to)
        while isinstance(parent, _COMPARING):
            if any(_is_numeric(one) for one in parent.iter_expressions()):
                return "DOUBLE"
            parent = parent.parent
    return "TEXT"


def _of_cast(to: exp.DataType) -> ParameterType:
    if to.is_type(*exp.DataType.INTEGER_TYPES):
        return "BIGINT"
    if to.is_type(*exp.DataType.REAL_TYPES):
        return "DOUBLE"
    named: dict[str, ParameterType] = {"BOOLEAN": "BOOLEAN", "DATE": "DATE", "TIMESTAMP": "TIMESTAMP"}
    return named.get(str(to.this.value).upper(), "TEXT")


def _is_numeric(node: exp.Expr) -> bool:
    """Whether an operand is a number, or a column that releases have as one."""
    if isinstance(node, exp.Literal):
        return not node.is_string
    return isinstance(node, (exp.Column, exp.Dot)) and node.name.lower() in _NUMBERS


def _literal(node: exp.Expr, value: Value, kind: ParameterType) -> exp.Expr:
    """Return a value as a tree: within a release, or where SQL wants a literal, bare; elsewhere of its type."""
    is_bare = kind == "TEXT" or _call(node) is not None or isinstance(node.parent, (exp.Limit, exp.Offset))
    bare = literal_node(value)
    return bare if is_bare or isinstance(value, list) else exp.Cast(this=bare, to=exp.DataType.build(kind, "duckdb"))


def literal_node(value: Value) -> exp.Expr:
    """Return a value as a literal, or a list of literals."""
    if value is None:
        return exp.Null()
    if isinstance(value, list):
        return exp.Array(expressions=[literal_node(one) for one in value])
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if not isinstance(value, Numeral):
        return exp.Literal.string(value)
    if value.startswith("-"):
        return exp.Paren(this=exp.Neg(this=exp.Literal.number(value[1:])))
    return exp.Literal.number(str(value))


def _stand_in(call: exp.Expr) -> None:
    """Replace a diagnosis by rows with its columns: which diagnosis is possible depends on columns and keys."""
    from dpdb.diagnosis import DIAGNOSIS_SCHEMA  # few statements diagnose

    place = call.parent
    if isinstance(place, exp.Table):
        columns = [exp.cast(exp.Null(), _COLUMN_TYPES[one.type]).as_(one.name) for one in DIAGNOSIS_SCHEMA]
        rows = exp.select(*columns).subquery()
        rows.set("alias", place.args.get("alias") or exp.TableAlias(this=exp.to_identifier(DIAGNOSE)))
        rows.set("joins", place.args.get("joins"))
        place.replace(rows)


def _possible(call: exp.Expr, table: str, suite: str) -> list[exp.Expr]:
    """Return arguments with which a release is possible, for a statement that is not run."""
    if release_name(call) == CHECK:
        first = call.expressions[0]
        return [first if isinstance(first, exp.Literal) else exp.Literal.string(suite)]
    named = [one for one in call.expressions if isinstance(one, exp.PropertyEQ) and one.this.name.lower() == TABLE]
    first = named[0].expression if named else call.expressions[0]
    names = exp.Literal.string(first.name if isinstance(first, exp.Literal) and first.is_string else table)
    measure = [exp.Literal.string("problematic")] if "measure" in RELEASES[str(release_name(call))] else []
    return [names, *measure, exp.Literal.number("1")]
