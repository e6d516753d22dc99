"""Calls of releases and of suites of checks, read from a tree as what they ask; their arguments are literals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from dpdb.constraints import shortened
from dpdb.doors.sql.parse import Spoken, is_number, nearest, parse_statement, refused, shown
from dpdb.doors.sql_parameters import CHECK, DIAGNOSE, FUNCTIONS, KINDS, TABLE, given_options
from dpdb.errors import StatementRefusedError
from dpdb.names import folded
from dpdb.options import Kind
from dpdb.release import Ask, Key
from dpdb.suites import SuiteAsk

if TYPE_CHECKING:  # few statements diagnose
    from dpdb.diagnosis import DiagnosisAsk

# Parameters in the order in which they may be given without names.
RELEASES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {name: (*options,) if name == CHECK else (TABLE, *options) for name, options in FUNCTIONS.items()}
)
_ALIASES = {"where": "where_clause", "where_": "where_clause", "by": "by_column", "keys": "group_keys"}
# Literals of each kind of option, and how they are written.
_KINDS: Mapping[Kind, tuple[tuple[type, ...], str]] = {
    "text": ((str,), "text in single quotes"),
    "amount": ((int, Decimal, str), "a number such as 0.5"),
    "share": ((int, Decimal, str), "a number such as 0.5"),
    "number": ((int, Decimal), "a number such as 0.95"),
    "whole": ((int,), "a whole number"),
    "keys": ((list,), "a list such as ['CA', 'NY']"),
    "flag": ((bool,), "true or false"),
    "columns": ((str, list), "a column in single quotes, or a list of them"),
    "lists": ((list,), "a list such as ['CA', 'NY'], or one for each column"),
}
_MOST_KEYS = 1_000


def release_name(node: exp.Expr) -> str | None:
    """Return the name of the release function that a node calls; None if it calls none."""
    name = folded(node.name) if isinstance(node, exp.Anonymous) else ""
    return name if name in RELEASES else None


def named_first(text: str, dialect: Spoken = "duckdb") -> set[str]:
    """Return what the calls of a statement name first, folded: tables, and suites as they are written.

    The names choose an entry point, which then decides on the whole statement; there are none if it cannot be read.
    """
    try:
        tree = parse_statement(text, dialect).tree
    except StatementRefusedError:
        return set()
    return {
        value.name if name == CHECK else folded(value.name)
        for node in tree.walk()
        if (name := release_name(node)) is not None
        for argument in node.expressions
        if (value := _first(argument, argument is node.expressions[0])) is not None
    }


def _first(argument: exp.Expr, is_first: bool) -> exp.Expr | None:
    """The text of an argument that names the table or the suite, None of any other."""
    if isinstance(argument, (exp.PropertyEQ, exp.Kwarg, exp.EQ)):
        is_first, argument = folded(argument.this.name) in (TABLE, "suite"), argument.expression
    return argument if is_first and isinstance(argument, exp.Literal) and argument.is_string else None


def example(function: str, table: str) -> str:
    """Return a call as an analyst may write it."""
    if function == DIAGNOSE:
        return f"{DIAGNOSE}('{table}', by := 'COLUMN', keys := ['A', 'B'], epsilon := 0.5)"
    return f"{CHECK}('SUITE')" if function == CHECK else f"{function}('{table}', epsilon := 0.5)"


def read_call(node: exp.Expr, table: str, suites: Collection[str] = ()) -> Ask | SuiteAsk | DiagnosisAsk:
    """Read a call.

    Parameters
    ----------
    table : str
        The private table's public name.
    suites : collection of str
        Names of the suites that the owner has registered.

    Raises
    ------
    StatementRefusedError
        If an argument is not a literal, has an unknown name, is given twice, or names another table or no suite.
    ParameterError
        As for `Ask`.
    """
    function = release_name(node)
    assert function is not None
    names = RELEASES[function]
    given: dict[str, Any] = {}
    for position, argument in enumerate(node.expressions):
        name, value = _named(argument, names)
        if name is None:
            if given.keys() - set(names[:position]):
                raise _wrong(argument, "stands after a named argument: give it a name too, such as epsilon := 0.5")
            if position >= len(names):
                raise _wrong(node, f"has more than {len(names)} arguments")
            name = names[position]
        if name in given:
            raise _wrong(argument, f"gives {name} a second time")
        given[name] = _typed(name, value, parameter_kind(function, name))
    if function == CHECK:
        _check_suite(node, given.get("suite"), suites)
    else:
        _check_table(node, given.pop(TABLE, None), function, table)
    options = given_options({FUNCTIONS[function][name]: value for name, value in given.items()})
    if function == DIAGNOSE:
        from dpdb.diagnosis import DiagnosisAsk

        return DiagnosisAsk(**options)
    return SuiteAsk(**options) if function == CHECK else Ask.called(function, options)


def parameter_kind(function: str, name: str) -> Kind | None:
    """Return the kind of a parameter; the table's name, which is no option, has none, nor has what is no parameter."""
    return KINDS[function].get(FUNCTIONS[function].get(_ALIASES.get(name, name), ""))


def _wrong(node: exp.Expr, problem: str) -> StatementRefusedError:
    return refused(node, problem, "parameter")


def _check_suite(node: exp.Expr, name: str | None, suites: Collection[str]) -> None:
    """Refuse a suite that is not named as its owner has named it: no path and no text names one."""
    if name is None:
        raise _wrong(node, f"does not name its suite: write {example(CHECK, '')}")
    if name not in suites:
        known = f" (there are: {', '.join(sorted(suites))})" if suites else "; there is none"
        raise StatementRefusedError(
            f"{shortened(name)} is no suite that the owner has registered{nearest(name, sorted(suites))}{known}",
            kind="parameter",
        )


def _named(argument: exp.Expr, names: tuple[str, ...]) -> tuple[str | None, exp.Expr]:
    """Split `name := value`, `name => value` or `name = value`; the name is None where there is none."""
    if not isinstance(argument, (exp.PropertyEQ, exp.Kwarg, exp.EQ)):
        return None, argument
    left = argument.this
    if isinstance(argument, exp.EQ) and not (isinstance(left, exp.Column) and not left.table):
        return None, argument
    wanted = folded(left.name)
    name = _ALIASES.get(wanted, wanted)
    if name not in names:
        raise _wrong(argument, f"names no parameter{nearest(wanted, names)} (there are: {', '.join(names)})")
    return name, argument.expression


def _typed(name: str, node: exp.Expr, kind: Kind | None) -> Any:
    """Return the value of a parameter as its option takes it; the table's name, a text, is no option."""
    value = _literal(name, node, lists=kind == "lists")
    if value is None:
        return None
    types, wanted = _KINDS[kind or "text"]
    if isinstance(value, bool) != (kind == "flag") or not isinstance(value, types):
        words = "the table's name in single quotes" if kind is None else wanted
        raise _wrong(node, f"cannot be {name}: write {words}")
    if isinstance(value, Decimal):
        return float(value) if kind == "number" else str(value)
    return value


def _literal(name: str, node: exp.Expr, *, lists: bool = False) -> Key | list[Key] | None:
    """Evaluate a literal: number, text, boolean, NULL or a list of them; with `lists` also a list of such lists."""
    if isinstance(node, exp.Paren):
        return _literal(name, node.this, lists=lists)
    if type(node) is exp.Null:
        return None
    if type(node) is exp.Array:
        if len(node.expressions) > _MOST_KEYS:
            raise _wrong(node, f"has more than {_MOST_KEYS:,} keys")
        values = [_literal(name, item) for item in node.expressions]
        if any(value is None or (isinstance(value, list) and not lists) for value in values):
            raise _wrong(node, "is a list of something else than numbers, texts or booleans")
        return values  # type: ignore[return-value]  # checked just above
    if type(node) is exp.Boolean:
        return bool(node.this)
    if type(node) is exp.Literal and node.is_string:
        return str(node.this)
    number = node.this if type(node) is exp.Neg else node
    if type(number) is exp.Literal and not number.is_string and is_number(number.this):
        value = _number(name, number)
        return value if number is node else -value
    if type(node) is exp.Column and not node.table:
        raise _wrong(node, f"is a name, and {name} is a literal: write '{node.name}' in single quotes")
    raise _wrong(
        node, f"is not a literal: {name} is fixed before anything is computed, so write its value (a number, "
        "text in single quotes, or a list of them)",
    )  # fmt: skip


def _number(name: str, node: exp.Literal) -> int | Decimal:
    digits = node.this.replace("_", "")
    try:
        return int(digits) if digits.isdigit() else Decimal(digits)
    except InvalidOperation:  # an exponent beyond all bounds
        raise _wrong(node, f"is no number that {name} can be") from None


def _check_table(node: exp.Expr, named: str | None, function: str, table: str) -> None:
    if named is None:
        raise _wrong(node, f"does not name its table: write {example(function, table)}")
    if folded(named) != folded(table):
        raise StatementRefusedError(
            f"{shown(exp.Literal.string(named))} is not the private table{nearest(named, [table])}; its name is "
            f"'{table}'",
            kind="table",
        )
