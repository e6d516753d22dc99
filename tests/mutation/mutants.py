"""Mutants of Python source: one comparison, number, operator or word is another one.

Left alone is what no test of behaviour sees: docstrings, annotations, messages of errors, names of a face.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv, ast.Pow: ast.Mult,
}  # fmt: skip
_CALLS = {"min": "max", "max": "min", "all": "any", "any": "all"}
_LARGEST = 10**6  # beyond, one more or less of a number means nothing

Change = Callable[[ast.AST], ast.AST]


@dataclass(frozen=True)
class Mutant:
    """One changed place of a file.

    Attributes
    ----------
    line
        Where it is, from 1 on.
    function
        The name of the innermost function or class around it; empty at the top.
    was, now
        The expression before and after, as source.
    source
        The whole file with the change; without comments.
    """

    line: int
    function: str
    was: str
    now: str
    source: str


def mutants(source: str) -> Iterator[Mutant]:
    """Return every mutant of a file, in the order of its text."""
    tree = ast.parse(source)
    for path, function in _places(tree):
        node = _at(tree, path)
        for change in _changes(node):
            own = copy.deepcopy(tree)
            changed = ast.fix_missing_locations(change(_at(own, path)))
            _put(own, path, changed)
            yield Mutant(node.lineno, function, ast.unparse(node), ast.unparse(changed), ast.unparse(own) + "\n")


_Path = tuple[tuple[str, int | None], ...]


def _places(node: ast.AST, path: _Path = (), function: str = "") -> Iterator[tuple[_Path, str]]:
    """Return the paths of all expressions that may be changed, each with the function around it."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        function = node.name
    if isinstance(node, ast.expr):
        yield path, function
    for name, value in ast.iter_fields(node):
        if _is_left_alone(node, name):
            continue
        for number, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not _is_silent(child):
                yield from _places(child, (*path, (name, number)), function)


def _is_left_alone(node: ast.AST, field: str) -> bool:
    return field in {"annotation", "returns", "decorator_list", "type_params"} or (
        isinstance(node, ast.Assert) and field == "msg"
    )


def _is_silent(node: ast.AST) -> bool:
    """Return whether nothing inside is worth a change: texts, messages, types, and what only type checkers read."""
    if isinstance(node, (ast.JoinedStr, ast.Raise)):
        return True
    if isinstance(node, ast.keyword) and node.arg == "strict":  # of `zip`: a guard against what never happens
        return True
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        alias = isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"
        return alias or (isinstance(target, ast.Name) and target.id == "__all__")
    return isinstance(node, ast.FunctionDef) and any(ast.unparse(one) == "overload" for one in node.decorator_list)


def _changes(node: ast.AST) -> Iterator[Change]:
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            yield partial(_compared, place=place, other=_COMPARISONS[type(operator)])
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS and not _is_text(node):
        yield lambda found: ast.BinOp(found.left, _OPERATORS[type(found.op)](), found.right)
    elif isinstance(node, ast.BoolOp):
        yield lambda found: ast.BoolOp(ast.Or() if isinstance(found.op, ast.And) else ast.And(), found.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        yield lambda found: found.operand
    elif isinstance(node, ast.IfExp):
        yield lambda found: ast.IfExp(found.test, found.orelse, found.body)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CALLS:
        yield lambda found: ast.Call(ast.Name(_CALLS[found.func.id], ast.Load()), found.args, found.keywords)
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node.value)


def _other_constants(value: object) -> Iterator[Change]:
    if isinstance(value, bool):
        yield lambda found: ast.Constant(not found.value)
    elif isinstance(value, int) and value <= _LARGEST:
        yield lambda found: ast.Constant(found.value + 1)
        if value > 1:  # one less than 1 is often an endless loop, and 0 has its own tests
            yield lambda found: ast.Constant(found.value - 1)
    elif isinstance(value, float):
        yield lambda found: ast.Constant(found.value * 1.1 + 0.01)


def _compared(node: ast.AST, place: int, other: type[ast.cmpop]) -> ast.AST:
    operators = list(node.ops)
    operators[place] = other()
    return ast.Compare(node.left, operators, node.comparators)


def _is_text(node: ast.BinOp) -> bool:
    return any(
        isinstance(side, ast.JoinedStr) or (isinstance(side, ast.Constant) and isinstance(side.value, str))
        for side in (node.left, node.right)
    )


def _at(tree: ast.AST, path: _Path) -> ast.AST:
    for name, number in path:
        tree = getattr(tree, name) if number is None else getattr(tree, name)[number]
    return tree


def _put(tree: ast.AST, path: _Path, node: ast.AST) -> None:
    *before, (name, number) = path
    parent = _at(tree, tuple(before))
    if number is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[number] = node
