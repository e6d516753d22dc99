"""sqlglot's tree of a predicate into the bound tree: columns found, literals typed, everything unknown refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import ClassVar, Protocol

from sqlglot import exp

from dpdb.bounded_parser import HasFormat
from dpdb.constraints import OPERATORS, Moment, Operator, shortened
from dpdb.errors import PredicateError
from dpdb.predicates.nodes import (
    NULL,
    CheckDigits,
    Column,
    Comparison,
    Constant,
    Flag,
    Like,
    Literal,
    LiteralValue,
    Matches,
    Membership,
    Node,
    NullTest,
    Term,
    TermComparison,
    all_of,
    any_of,
    columns_in,
    negation,
)
from dpdb.predicates.sql import SIGNS, parse, refused
from dpdb.predicates.terms import (
    OF_TEXT,
    arithmetic,
    call,
    cast,
    cast_advice,
    cast_target,
    equality_type,
    first_known,
    made_date,
    number_literal,
    orders_alike,
    term_words,
    text_problem,
    type_words,
)

_FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Trim: "trim",
    exp.Length: "length",
    exp.Abs: "abs",
    exp.Year: "year",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
}
_EXTRACTED = {"year": "year", "month": "month", "day": "day", "dayofmonth": "day"}
_PATTERNS = (exp.RegexpLike, exp.RegexpILike, exp.RegexpFullMatch)
_CASTS = (exp.Cast, exp.TryCast)
_LISTS = (exp.Coalesce, exp.DateFromParts)
_LEAVES = (
    exp.Identifier, exp.Literal, exp.Null, exp.Interval, exp.Var, exp.DataType, exp.DataTypeParam, exp.Neg
)  # fmt: skip
# Nesting, AND and OR chains aside. Far below what exhausts the stack, so that a predicate that passes here never fails
# when it is used, which is after the debit.
_MAX_DEPTH = 40


class Types(Protocol):
    """The facts that binding needs from the engine: public types, and literals as its casts read them. Reads no row."""

    def column(self, name: str) -> Column:
        """Find a column.

        Raises
        ------
        UnknownColumnError
            There is none of this name.
        PredicateError
            Its values cannot be compared.
        """

    def tested(self, name: str) -> Column:
        """Find a column for a test whether it is NULL. Errors as `column`."""

    def check(self, column: Column, operator: Operator, value: LiteralValue | None) -> None:
        """Check that a column may be compared by an operator with a literal, another term or NULL.

        Parameters
        ----------
        value
            The literal; None if the other side is a term or NULL.

        Raises
        ------
        PredicateError
            The column is text without a declared type, and the comparison means more than equal texts.
        """

    def literals(self, values: Sequence[LiteralValue], kind: str) -> list[Literal | None]:
        """Read literals as values to compare with those of a type; None for a literal of another kind."""

    def pattern_problem(self, pattern: str) -> str | None:
        """Say why a text is no regular expression; None if it is one."""

    def common_type(self, left: str, right: str) -> str | None:
        """Return the type in which values of two types are compared, None if they cannot be."""


def refuse_large_patterns(tree: exp.Expr) -> None:
    """Refuse a condition that was parsed, and has a regular expression that would take long; see `refuse_large`."""
    from dpdb.predicates.formats import refuse_large

    for node in tree.find_all(*_PATTERNS):
        pattern = _unnested(node.expression)
        if isinstance(pattern, exp.Literal) and pattern.is_string:
            refuse_large(pattern.name)


def bind(tree: exp.Expr, types: Types) -> Node:
    """Bind a parsed predicate.

    Raises
    ------
    PredicateError
        If anything but the grammar's predicates occurs, or a literal does not fit its column.
    UnknownColumnError
        If a column does not exist.
    """
    return _Binder(types).truth(tree)


def bind_term(tree: exp.Expr, types: Types) -> Term:
    """Bind a parsed term, which has a column. Errors as `bind`."""
    return _Binder(types).term(tree, tree)


def refuse_unknown_parts(text: str, *, is_condition: bool) -> None:
    """Refuse a condition or a term that `bind` would refuse for every table.

    Raises
    ------
    PredicateError
        If the text is no condition, a part is not in the grammar, such as an unknown function or what is no regular
        expression, or a condition stands in the place of a value.
    """
    from dpdb.predicates.formats import refuse_unread

    tree = parse(text).unnest()
    for node in tree.walk():
        if isinstance(node, (*_PATTERNS, HasFormat)) and node.expression.is_string:
            refuse_unread(str(node.expression.name), is_format=isinstance(node, HasFormat))
        around = tree if node is tree else _parent(node)
        if isinstance(node, exp.Is) and not isinstance(node.expression, exp.Null):
            raise refused(node)
        if type(node) in _Binder.CONDITIONS:
            if node.find(exp.Column) is None:
                raise refused(node)
            if is_condition if node is tree else isinstance(around, (exp.And, exp.Or, exp.Not)):
                continue
            raise refused(around)
        if not (isinstance(node, (*_Binder.BUILDERS, *_LEAVES)) or _is_in_terms(node)):
            raise refused(around)


def _parent(node: exp.Expr) -> exp.Expr:
    around = node.parent
    while isinstance(around, exp.Paren) and around.parent is not None:
        around = around.parent
    return around or node


def _is_in_terms(node: exp.Expr) -> bool:
    """Return whether a node may be a part of a term."""
    function = type(node) in _FUNCTIONS and not node.args.get("expression")
    if isinstance(node, _CASTS):
        return _is_temporal_literal(node) or cast_target(node.args["to"]) is not None
    return function or type(node) in SIGNS or type(node) in _LISTS or _extracted(node) is not None


class _Binder:
    """Rebuilds a parsed predicate from typed parts, refusing unknown nodes."""

    BUILDERS: ClassVar[dict[type[exp.Expr], Callable[[_Binder, exp.Expr], Node]]] = {
        exp.Paren: lambda self, node: self.truth(node.this),
        exp.And: lambda self, node: all_of([self.truth(part) for part in node.flatten(unnest=False)]),
        exp.Or: lambda self, node: any_of([self.truth(part) for part in node.flatten(unnest=False)]),
        exp.Not: lambda self, node: negation(self.truth(node.this)),
        exp.Between: lambda self, node: self._between(node),
        exp.In: lambda self, node: self._membership(node),
        exp.Is: lambda self, node: self._null_test(node),
        exp.Like: lambda self, node: self._like(node),
        **dict.fromkeys(_PATTERNS, lambda self, node: self._matches(node)),
        HasFormat: lambda self, node: self._has_format(node),
        exp.Boolean: lambda _, node: Constant(bool(node.this)),
        exp.Column: lambda self, node: self._flag(node),
        **dict.fromkeys(OPERATORS, lambda self, node: self._compared(node)),
    }
    """The builder of each kind of condition."""

    CONDITIONS = frozenset(BUILDERS) - {exp.Paren, exp.Boolean, exp.Column}
    """The kinds of nodes that are never a value."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self._depth = 0

    def truth(self, node: exp.Expr) -> Node:
        """Build a condition: true, false or NULL."""
        build = next((build for kind, build in self.BUILDERS.items() if isinstance(node, kind)), None)
        if build is None:
            raise refused(node)
        if self._depth == _MAX_DEPTH:
            raise PredicateError(f"where: nested more than {_MAX_DEPTH} deep")
        self._depth += 1
        built = build(self, node)
        self._depth -= 1
        return built

    def _between(self, node: exp.Expr) -> Node:
        if node.args.get("symmetric"):
            raise refused(node)
        operand, low, high = node.this.unnest(), node.args["low"].unnest(), node.args["high"].unnest()
        return all_of(
            [self._comparison(Operator.GE, operand, low, node), self._comparison(Operator.LE, operand, high, node)]
        )

    def _null_test(self, node: exp.Expr) -> Node:
        if not isinstance(node.expression, exp.Null):
            raise refused(node)
        operand = node.this.unnest()
        tested = self._column(operand, node, self._types.tested) if isinstance(operand, exp.Column) else None
        return _negated(node, NullTest(tested or self.term(operand, node)))

    def _flag(self, node: exp.Expr) -> Node:
        column = self._column(node, node)
        if column.type != "BOOLEAN":
            raise refused(node)
        return Flag(column)

    def _compared(self, node: exp.Expr) -> Node:
        return self._comparison(OPERATORS[type(node)], node.this.unnest(), node.expression.unnest(), node)

    def _comparison(self, operator: Operator, left: exp.Expr, right: exp.Expr, context: exp.Expr) -> Node:
        if _is_literal(left):
            operator, left, right = operator.flipped, right, left
        if isinstance(right, exp.Null):
            self._check(self.term(left, context), operator, None)
            return NULL  # SQL: a comparison with NULL is NULL
        if _is_literal(right):
            term = self.term(left, context)
            return Comparison(operator, term, *self._literals([right], term, operator))
        return self._term_comparison(operator, self._part(left, context), self._part(right, context), context)

    def _term_comparison(self, operator: Operator, left: Term, right: Term, context: exp.Expr) -> Node:
        if not any(True for side in (left, right) for _ in columns_in(side)):
            raise refused(context)
        for side in (left, right):
            self._check(side, operator, None)
        common = self._types.common_type(left.type, right.type)
        if common is None or (operator.is_order and not orders_alike(left.type, right.type)):
            raise PredicateError(
                f"where: cannot {'compare' if common is None else 'order'} {term_words(left)!r} "
                f"({type_words(left.type)}) with {term_words(right)!r} ({type_words(right.type)})"
                + cast_advice((term_words(left), left.type), (term_words(right), right.type))
            )
        return TermComparison(operator, left, right, common)

    def _membership(self, node: exp.Expr) -> Node:
        if node.args.get("query") or node.args.get("unnest") or node.args.get("field") or not node.expressions:
            raise refused(node)
        operand, items = node.this.unnest(), [item.unnest() for item in node.expressions]
        if _is_literal(operand):
            return any_of([self._comparison(Operator.EQ, operand, item, node) for item in items])
        term = self.term(operand, node)
        written = [item for item in items if _is_literal(item) and not isinstance(item, exp.Null)]
        apart = [item for item in items if item not in written]
        literals = self._literals(written, term, Operator.EQ)
        listed: list[Node] = [Membership(term, tuple(dict.fromkeys(literals)))] if literals else []
        return any_of([*listed, *(self._comparison(Operator.EQ, operand, item, node) for item in apart)])

    def _like(self, node: exp.Expr) -> Node:
        return _negated(node, Like(*self._text_and_pattern(node, "LIKE")))

    def _text_and_pattern(self, node: exp.Expr, what: str) -> tuple[Term, str]:
        """Return a term of text, and the literal beside it."""
        pattern = _unnested(node.expression)
        term = self.term(node.this, node)
        if not (isinstance(pattern, exp.Literal) and pattern.is_string):
            raise refused(node)
        if equality_type(term.type) != "VARCHAR":
            raise PredicateError(f"where: {what} needs a text column; {term_words(term)!r} is {type_words(term.type)}")
        return term, str(pattern.this)

    def _matches(self, node: exp.Expr) -> Node:
        from dpdb.predicates.formats import refuse_pattern, whole

        term, pattern = self._text_and_pattern(node, "a regular expression")
        flag = _unnested(node.args.get("flag"))
        ignores_case = isinstance(node, exp.RegexpILike)
        if flag is not None:
            if not (isinstance(flag, exp.Literal) and flag.is_string and flag.name in ("i", "c")):
                raise refused(node)
            ignores_case = flag.name == "i"
        refuse_pattern(pattern, self._types.pattern_problem)
        found = whole(pattern) if isinstance(node, exp.RegexpFullMatch) else pattern
        return Matches(term, f"(?i){found}" if ignores_case else found)

    def _has_format(self, node: exp.Expr) -> Node:
        from dpdb.predicates.formats import FORMATS, known_format, whole

        term, said = self._text_and_pattern(node, "has_format")
        name = known_format(said)
        matches = Matches(term, whole(FORMATS[name].pattern))
        return all_of([matches, CheckDigits(term, name)]) if FORMATS[name].is_checked else matches

    # -- terms ----------------------------------------------------------------------------------------------------

    def term(self, node: exp.Expr, context: exp.Expr) -> Term:
        """Build a term: a value of at least one column."""
        built = self._part(node, context)
        if not any(True for _ in columns_in(built)):
            raise refused(context)
        return built

    def _part(self, node: exp.Expr, context: exp.Expr) -> Term:
        if self._depth == _MAX_DEPTH:
            raise PredicateError(f"where: nested more than {_MAX_DEPTH} deep")
        self._depth += 1
        built = self._built_term(node.unnest(), context)
        self._depth -= 1
        return built

    def _built_term(self, node: exp.Expr, context: exp.Expr) -> Term:
        if isinstance(node, exp.Column):
            return self._column(node, context)
        if _is_literal(node):
            return self._literal_in_term(node)
        if isinstance(node, exp.Neg):
            return self._arithmetic("-", Literal("HUGEINT", "0", 0), self._part(node.this, context))
        return self._computed(node, context)

    def _computed(self, node: exp.Expr, context: exp.Expr) -> Term:
        """Build arithmetic, or a function."""
        if type(node) in SIGNS:
            left, right = self._part(node.this, context), self._part(node.expression, context)
            return self._arithmetic(SIGNS[type(node)], left, right)
        if type(node) in _FUNCTIONS and not node.args.get("expression"):
            argument = self._part(node.this, context)
            if _FUNCTIONS[type(node)] not in OF_TEXT:
                self._refuse_untyped(argument)
            return call(_FUNCTIONS[type(node)], argument)
        if (function := _extracted(node)) is not None:
            argument = self._part(node.expression, context)
            self._refuse_untyped(argument)
            return call(function, argument)
        return self._combined(node, context)

    def _combined(self, node: exp.Expr, context: exp.Expr) -> Term:
        """Build a function of several terms, or a cast."""
        if type(node) in _CASTS and (kind := cast_target(node.args["to"])) is not None:
            return cast(self._part(node.this, context), kind)
        if type(node) is exp.DateFromParts:
            parts = [node.args.get(name) for name in ("year", "month", "day")]
            if all(isinstance(part, exp.Expr) for part in parts):
                return made_date([self._part(part, context) for part in parts if part is not None])
        if type(node) is exp.Coalesce:
            return self._first_known([node.this, *node.expressions], context)
        raise refused(context)

    def _first_known(self, written: Sequence[exp.Expr], context: exp.Expr) -> Term:
        """Build COALESCE. Texts and truth values in it are read as values of its first term."""
        nodes = [node.unnest() for node in written]
        terms = [None if _is_plain(node) else self._part(node, context) for node in nodes]
        kind = next((equality_type(term.type) for term in terms if term is not None), None)
        if kind is None:
            raise refused(context)
        typed = [term or self._literal_of(node, kind) for node, term in zip(nodes, terms, strict=True)]
        return first_known(typed, self._types.common_type)

    def _literal_of(self, node: exp.Expr, kind: str) -> Literal:
        """Type a text or truth value that stands beside a term of a type."""
        [literal] = self._types.literals([_value(node)], kind)
        if literal is None:
            shown = shortened(node.sql("duckdb", comments=False))
            raise PredicateError(f"where: {shown} is not a value of {type_words(kind)}, which stands beside it")
        return literal

    def _arithmetic(self, sign: str, left: Term, right: Term) -> Term:
        self._refuse_untyped(left)
        self._refuse_untyped(right)
        return arithmetic(sign, left, right)

    def _refuse_untyped(self, term: Term) -> None:
        """Refuse text without a declared type in the place of another type."""
        self._check(term, Operator.LT, None)

    def _literal_in_term(self, node: exp.Expr) -> Literal:
        """Type a number, a date or an interval that stands in a term."""
        value = _value(node)
        literal = number_literal(value) if isinstance(value, Decimal) else None
        if isinstance(node, (exp.Cast, exp.Interval)):
            kind = "INTERVAL" if isinstance(node, exp.Interval) else _cast_type(node)
            [literal] = self._types.literals([value], kind)
        if literal is None:
            raise refused(node)
        return literal

    def _check(self, term: Term, operator: Operator, value: LiteralValue | None) -> None:
        """Check the columns that are compared as text."""
        for column in columns_in(term) if term.type == "VARCHAR" else ():
            self._types.check(column, operator, value)

    def _column(self, node: exp.Expr, context: exp.Expr, find: Callable[[str], Column] | None = None) -> Column:
        if not isinstance(node, exp.Column) or not isinstance(node.this, exp.Identifier) or node.table:
            raise refused(context)
        return (find or self._types.column)(node.name)

    def _literals(self, nodes: Sequence[exp.Expr], term: Term, operator: Operator) -> list[Literal]:
        values = [_value(node) for node in nodes]
        for value in values:
            self._check(term, operator, value)
            problem = text_problem(term_words(term), term.type, value)
            if problem is not None:
                raise PredicateError(f"where: {problem}")
        bound = []
        kind = term.type if operator.is_order else equality_type(term.type)
        for node, literal in zip(nodes, self._types.literals(values, kind), strict=True):
            if literal is None or (isinstance(node, exp.Interval) and term.type != "INTERVAL"):
                shown = shortened(node.sql("duckdb", comments=False))
                raise PredicateError(
                    f"where: {shown} is not a value for {term_words(term)!r} ({type_words(term.type)})"
                )
            bound.append(literal)
        return bound


def _unnested(node: object) -> exp.Expr | None:
    return node.unnest() if isinstance(node, exp.Expr) else None


def _negated(node: exp.Expr, built: Node) -> Node:
    """Negate a condition if the parser put a NOT into the node itself (`NOT LIKE`)."""
    return negation(built) if node.args.get("negate") else built


def _is_plain(node: exp.Expr) -> bool:
    """Return whether a node is a text or truth value, which takes the type of the term beside it."""
    return isinstance(node, exp.Boolean) or (isinstance(node, exp.Literal) and node.is_string)


def _is_literal(node: exp.Expr) -> bool:
    if isinstance(node, exp.Neg):
        node = node.this.unnest()
        return isinstance(node, exp.Literal) and not node.is_string
    return isinstance(node, (exp.Literal, exp.Boolean, exp.Null, exp.Interval)) or (
        isinstance(node, exp.Cast) and _is_temporal_literal(node)
    )


def literal_value(node: exp.Expr) -> LiteralValue | None:
    """Return the value of a part of a predicate that is a literal; None for other parts, NULL and intervals."""
    return _value(node) if _is_literal(node) and not isinstance(node, (exp.Null, exp.Interval)) else None


def _value(node: exp.Expr) -> LiteralValue:
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    negative = isinstance(node, exp.Neg)
    if negative:
        node = node.this.unnest()
    if isinstance(node, exp.Literal) and node.is_string and not negative:
        return str(node.this)
    if isinstance(node, exp.Literal) and not node.is_string:
        try:
            number = Decimal(node.this)
            return number.copy_negate() if negative else number  # arithmetic would round to 28 digits
        except InvalidOperation:
            raise refused(node) from None
    if isinstance(node, exp.Cast) and not negative and _is_temporal_literal(node):
        return Moment(node.this.this)  # DATE '2020-01-31'
    if isinstance(node, exp.Interval) and isinstance(node.this, exp.Literal):
        unit = node.args.get("unit")
        return f"{node.this.this} {unit.name}" if isinstance(unit, exp.Var) else str(node.this.this)
    raise refused(node)


def _extracted(node: exp.Expr) -> str | None:
    """Return the function that `EXTRACT(year FROM x)` is; None for what is none."""
    part = node.this.name.lower() if type(node) is exp.Extract and isinstance(node.this, exp.Var) else None
    return _EXTRACTED.get(part or "")


def _is_temporal_literal(node: exp.Cast) -> bool:
    literal = isinstance(node.this, exp.Literal) and node.this.is_string
    # TIMESTAMPNTZ is what sqlglot calls DuckDB's TIMESTAMP.
    kinds = ("DATE", "TIMESTAMP", "TIMESTAMPNTZ", "TIMESTAMPTZ", "TIME")
    return bool(literal and type(node) is exp.Cast and node.to.is_type(*kinds))


def _cast_type(node: exp.Cast) -> str:
    if node.to.is_type("DATE"):
        return "DATE"
    return "TIME" if node.to.is_type("TIME") else "TIMESTAMP"
