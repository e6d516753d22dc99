"""Change a statement's tree: releases become tables that hold their answers, `$1`, `$2`, ... become literals.

A statement with parameters, as prepared statements have them, is a `Template`. Values become literals of the tree,
never text between other text: whatever a value says, it stays one value. The statement that results is checked like any
other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import ErrorLevel, SqlglotError

from dpdb.doors.sql.call import RELEASES, parameter_kind, release_name
from dpdb.doors.sql.parse import Spoken, parse_statement, parted_parameters, refused
from dpdb.doors.sql_parameters import CHECK, DIAGNOSE, TABLE
from dpdb.errors import StatementRefusedError
from dpdb.names import folded
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
_NAMED = (exp.PropertyEQ, exp.Kwarg, exp.EQ)  # arguments with their names


# Columns of releases that are numbers: a client that does not say what it sends beside them is asked for one.
_COLUMNS: Mapping[str, ParameterType] = {
    field.name: "DOUBLE" for field in RELEASE_SCHEMA if field.type in (pa.float64(), pa.int64())
}
_COLUMN_TYPES = {pa.int64(): "BIGINT", pa.float64(): "DOUBLE", pa.string(): "TEXT"}


class Numeral(str):
    """The digits of a number, with a sign perhaps; `Value` of other texts is text."""


class Template:
    """A parsed statement.

    Parameters
    ----------
    dialect : str
        In whose SQL it is written, and is written again.
    columns : mapping of str to ParameterType, optional
        Types of values beside columns of public tables, by folded name.

    Attributes
    ----------
    kind : str
        ``"query"``, ``"explain"`` or ``"describe"``.
    types : tuple of ParameterType
        What the place of each parameter suggests, for clients that do not say.
    lists : frozenset of int
        Positions, from 0, of parameters that are lists; their type is that of the elements.
    shapes_columns : bool
        Whether a value may change the type of a column: one that stands neither in a release nor behind LIMIT.

    Raises
    ------
    StatementRefusedError
        As `dpdb.doors.sql.FrontEnd.check`, of what cannot be read, or of more than `MOST_PARAMETERS` parameters.
    """

    def __init__(
        self, text: str, dialect: Spoken = "duckdb", columns: Mapping[str, ParameterType] | None = None
    ) -> None:
        statement = parse_statement(parted_parameters(text), dialect)
        self.kind, self._tree, self._dialect = statement.kind, statement.tree, dialect
        places: dict[int, list[_Place]] = {}
        self._columns = {**(columns or {}), **_COLUMNS}
        for place in self._places(self._tree):
            number = str(place.node.this or "")
            if not (number.isascii() and number.isdigit() and 0 < int(number[:9]) <= MOST_PARAMETERS):
                raise StatementRefusedError(f"parameters are $1, $2, ... up to ${MOST_PARAMETERS}")
            places.setdefault(int(number) - 1, []).append(place)
        count = max(places, default=-1) + 1
        self.types = tuple(_suggested(places.get(one, ())) for one in range(count))
        self.shapes_columns = not all(one.in_call or one.is_limit for found in places.values() for one in found)
        self.lists = frozenset(number for number, found in places.items() if any(one.is_list for one in found))

    def bound(self, values: Sequence[Value], types: Sequence[ParameterType]) -> str:
        """Return the statement with a literal in the place of each parameter."""
        return self._written(lambda place: _literal(place, values[place.number], types[place.number]))

    def described(self, types: Sequence[ParameterType], table: str, suite: str) -> str:
        """Return a statement that has the same columns as this one, whatever the values of the parameters are.

        It is to be described, not to be run. A release has the same columns for all of them, so one that is always
        possible stands for it.

        Parameters
        ----------
        table, suite
            That such releases may ask of.
        """
        return self._written(lambda place: _literal(place, None, types[place.number]), (table, suite))

    def _places(self, tree: exp.Expr) -> list[_Place]:
        return _found_places(tree, self._columns)

    def _written(self, literal: Callable[[_Place], exp.Expr], known: tuple[str, str] | None = None) -> str:
        tree, verb = self._tree.copy(), "" if self.kind == "query" else f"{self.kind.upper()} "
        with _writable():
            if known is not None:
                for call in [*tree.find_all(exp.Anonymous)]:
                    if release_name(call) == DIAGNOSE and call.find(exp.Placeholder):
                        _stand_in(call)
                    elif release_name(call) and call.find(exp.Placeholder):
                        call.set("expressions", _possible(call, *known))
            replace_all([(place.node, literal(place)) for place in self._places(tree)])
            return verb + tree.sql(self._dialect, normalize_functions=False, comments=False)


class _Around(NamedTuple):
    """What is around a node: `in_call`, `kind`, `beside` and `in_any` of a `_Place` that stood there."""

    in_call: bool = False
    kind: str | None = None
    beside: ParameterType | None = None
    in_any: bool = False


class _Place(NamedTuple):
    """A parameter in a statement.

    Attributes
    ----------
    in_call : bool
        Whether it is an argument of a release, or part of one.
    kind : str or None
        The kind of option that it is in a release; `name` of the table, None outside of releases.
    beside : ParameterType or None
        The type of what it is compared or computed with, where that is known.
    in_any : bool
        Whether it is compared with as ANY or ALL of it.
    """

    node: exp.Expr
    in_call: bool
    kind: str | None
    beside: ParameterType | None
    in_any: bool

    @property
    def number(self) -> int:
        """Its position, from 0."""
        return int(self.node.this) - 1

    @property
    def is_limit(self) -> bool:
        """Whether it stands behind LIMIT or OFFSET."""
        return isinstance(self.node.parent, (exp.Limit, exp.Offset))

    @property
    def is_list(self) -> bool:
        """Whether its value is a list."""
        cast = self.node.parent
        return self.kind in ("keys", "lists") or self.in_any or (isinstance(cast, exp.Cast) and _is_array(cast.to))


def _found_places(tree: exp.Expr, columns: Mapping[str, ParameterType]) -> list[_Place]:
    """Find the parameters by one walk down: looking upwards from each of them would take quadratic time."""
    found: list[_Place] = []
    waiting: deque[tuple[exp.Expr, _Around]] = deque([(tree, _Around())])
    while waiting:
        node, around = waiting.popleft()
        if isinstance(node, exp.Placeholder):
            found.append(_Place(node, *around))
        waiting.extend(_inside(node, around, columns))
    return found


def _inside(
    node: exp.Expr, around: _Around, columns: Mapping[str, ParameterType]
) -> Iterator[tuple[exp.Expr, _Around]]:
    """Give the parts of a node, with what is around them."""
    function = release_name(node)
    if function is not None:
        yield from ((part, _Around(True, kind)) for part, kind in _arguments(function, node))
        return
    if isinstance(node, exp.Query):
        in_call, kind = False, None
    else:
        in_call = around.in_call
        # A named argument has the kind that its value has; what is deeper inside is text.
        kind = (
            around.kind
            if isinstance(node, _NAMED) and node.parent and release_name(node.parent)
            else "text"
            if in_call
            else None
        )
    parts = [*node.iter_expressions()]
    beside, in_any = None, isinstance(node, (exp.Any, exp.All))
    if in_any or isinstance(node, _COMPARING):
        known = (_type_beside(part, columns) for part in parts)
        beside = around.beside or next((one for one in known if one is not None), None)
    for part in parts:
        yield part, _Around(in_call, kind, beside, in_any or (around.in_any and isinstance(node, exp.Paren)))


def _arguments(function: str, call: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    """Give the arguments of a release with their kinds, and its other parts."""
    positions = {id(argument): position for position, argument in enumerate(call.expressions)}
    names = RELEASES[function]
    for part in call.iter_expressions():
        position = positions.get(id(part), len(names))
        if isinstance(part, _NAMED):
            yield part, parameter_kind(function, part.this.name) or "name"
        elif position < len(names):
            yield part, parameter_kind(function, names[position]) or "name"
        else:
            yield part, "text"


def replace_all(pairs: Sequence[tuple[exp.Expr, exp.Expr]]) -> None:
    """Replace each first node of a tree by the second, every list of nodes at once."""
    parents: dict[tuple[int, str], exp.Expr] = {}
    replaced: dict[int, exp.Expr] = {}
    for node, other in pairs:
        parent = node.parent
        assert parent is not None
        parents[id(parent), str(node.arg_key)] = parent
        replaced[id(node)] = other
    for (_, key), parent in parents.items():
        held = parent.args[key]
        if isinstance(held, list):
            parent.set(key, [replaced.get(id(one), one) for one in held])
        else:
            parent.set(key, replaced[id(held)])


def _suggested(places: Sequence[_Place]) -> ParameterType:
    for place in places:
        parent = place.node.parent
        if place.in_call:
            return _RELEASE_TYPES.get(place.kind, "TEXT")
        if place.is_limit:
            return "BIGINT"
        if isinstance(parent, (exp.Cast, exp.TryCast)):
            return _of_cast(parent.to)
        if place.beside is not None:
            return place.beside
    return "TEXT"


def _is_array(to: exp.DataType) -> bool:
    return bool(to.this == exp.DType.ARRAY and to.expressions)


def _of_cast(to: exp.DataType) -> ParameterType:
    if _is_array(to):
        return _of_cast(to.expressions[0])
    if to.is_type(*exp.DataType.INTEGER_TYPES):
        return "BIGINT"
    if to.this != exp.DType.DECIMAL and to.is_type(*exp.DataType.REAL_TYPES):
        return "DOUBLE"
    named: dict[str, ParameterType] = {
        "BOOLEAN": "BOOLEAN", "DATE": "DATE", "TIMESTAMP": "TIMESTAMP", "TIMESTAMPTZ": "TIMESTAMPTZ",
        "DECIMAL": "DECIMAL",
    }  # fmt: skip
    return named.get(str(to.this.value).upper(), "TEXT")


def _type_beside(node: exp.Expr, columns: Mapping[str, ParameterType]) -> ParameterType | None:
    """Return the type of an operand that is a number or a column; None where it is not known."""
    if isinstance(node, exp.Literal):
        return None if node.is_string else "DOUBLE"
    return columns.get(folded(node.name)) if isinstance(node, (exp.Column, exp.Dot)) else None


def _literal(place: _Place, value: Value, kind: ParameterType) -> exp.Expr:
    """Return a value as a tree: within a release, or where SQL wants a literal, bare; elsewhere of its type."""
    is_bare = (kind == "TEXT" and not place.is_list) or place.in_call or place.is_limit
    bare = literal_node(value)
    if place.is_list and not is_bare:
        return exp.Cast(this=bare, to=exp.DataType.build(f"{kind}[]", "duckdb"))
    if kind == "DECIMAL" and isinstance(value, Numeral):
        return bare  # with all its digits
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
