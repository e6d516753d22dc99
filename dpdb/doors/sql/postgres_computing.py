"""What PostgreSQL computes otherwise than DuckDB, in a checked tree: macros compute it, or refuse.

A macro sees the types of its arguments, which this module does not. A number that PostgreSQL keeps as numeric and
DuckDB as a double (an average, a quotient, `1e3`) may round otherwise at a tie, and prints otherwise: there
macros fail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from dpdb.doors.sql.postgres_macros import MACROS
from dpdb.doors.sql.postgres_patterns import regular, searched, timed
from dpdb.doors.sql.postgres_rows import compared_by_column, is_row, rows_among
from dpdb.errors import StatementRefusedError

_PREFIX = "as_pg_"
_INNER = re.compile(rf"\b(?:{_PREFIX}|of_pg_)(\w+?)(?:_sure)?\b")
_FORMS = re.compile(
    r"(?:Binder Error: )?Macro \"?(\w+)\"?\(\) (?:does not support|has multiple overloads).*?(?=; nothing was spent|$)",
    re.DOTALL,
)
_MOST_SIZE = 200_000  # of the statement with its macros written out
# What PostgreSQL has as numeric, and DuckDB as a double.
_UNSURE = (exp.Div, exp.Avg, exp.Pow, exp.Sqrt, exp.Exp, exp.Ln, exp.Log, exp.Extract, exp.Stddev, exp.StddevPop,
           exp.StddevSamp, exp.Variance, exp.VariancePop)  # fmt: skip


def without_inner_names(message: str) -> str:
    """Return a message with the names of functions as the statement has them, and without forms of ours."""
    return _FORMS.sub(r"\1() does not take arguments of these types: add explicit casts", _INNER.sub(r"\1", message))


def compute_as_postgres(tree: exp.Expr) -> str:
    """Change a checked tree so that DuckDB computes what PostgreSQL does; return the macros that it needs.

    Raises
    ------
    StatementRefusedError
        DuckDB cannot compute it as PostgreSQL does.
    """
    changes = _Changes(is_unsure=any(map(_is_unsure, tree.walk())))
    for node in [*tree.walk(bfs=False)][::-1]:
        change = _CHANGES.get(type(node))
        if change is not None:
            change(changes, node)
    _refuse_large(tree)
    return "".join(
        f"CREATE MACRO {_PREFIX}{name}{definition};\n" for name, definition in MACROS.items() if name in changes.used
    )


def _is_unsure(node: exp.Expr) -> bool:
    if isinstance(node, exp.Literal):
        return not node.is_string and "e" in node.name.lower()
    return isinstance(node, _UNSURE)


def _refuse_large(tree: exp.Expr) -> None:
    """Refuse what is too large once macros are written out: those that name an argument twice double what is in it."""
    sizes: dict[int, int] = {}
    for node in [*tree.walk(bfs=False)][::-1]:
        times = [1] * len(node.expressions)
        if isinstance(node, exp.Anonymous) and node.name.startswith(_PREFIX):
            times = [_named(node.name.removeprefix(_PREFIX), place) for place in range(len(times))]
        by_id = dict(zip(map(id, node.expressions), times, strict=True))
        sizes[id(node)] = 1 + sum(by_id.get(id(part), 1) * sizes[id(part)] for part in node.iter_expressions())
    if sizes[id(tree)] > _MOST_SIZE:
        raise StatementRefusedError("the statement is nested too deeply", kind="size")


def _named(name: str, place: int) -> int:
    """Return how often a macro names an argument."""
    # Of macros of one name one is taken.
    return max(len(re.findall(rf"\b{'abc'[place]}\b", one)) for one in MACROS[name].split(", (a"))


class _Changes:
    """What was changed: `used` are the macros that are needed."""

    def __init__(self, *, is_unsure: bool) -> None:
        self.used: set[str] = set()
        self._is_unsure, self._copied = is_unsure, 0

    def call(self, node: exp.Expr, name: str, *arguments: exp.Expr) -> None:
        """Put a call of a macro in the place of a node, which may be one of its arguments."""
        self.used.add(name)
        call = exp.Anonymous(this=f"{_PREFIX}{name}")
        node.replace(call)
        call.set("expressions", list(arguments))

    def _sure(self, name: str) -> str:
        return f"{name}_sure" if self._is_unsure else name

    def divide(self, node: exp.Div | exp.Mod) -> None:
        for found in [*node.find_all(exp.Sum)] if isinstance(node, exp.Div) else ():
            if not _is_called(top := _whole_aggregate(found)):
                self.call(top, "summed", top, _least(top))
        self.call(node, "div" if isinstance(node, exp.Div) else "mod", node.this, node.expression)

    def round(self, node: exp.Round) -> None:
        if node.args.get("decimals") is None:
            if self._is_unsure:
                self.call(node.this, "round_sure", node.this)
            self.call(node, "round", node.this)

    def function(self, node: exp.Expr) -> None:
        """Refuse a result that is not finite, which PostgreSQL has as an error."""
        self.call(node, "finite", node)

    def computed(self, node: exp.Add | exp.Sub | exp.Mul) -> None:
        """Refuse doubles that are too large, once for what is computed together."""
        around = node.parent
        while isinstance(around, (exp.Paren, exp.Neg)):
            around = around.parent
        if not isinstance(around, (exp.Add, exp.Sub, exp.Mul)):
            self.call(node, "bounded", node)

    def part(self, node: exp.SplitPart) -> None:
        self.call(node, "split_part", node.this, node.args["delimiter"], node.args["part_index"])

    def united(self, node: exp.SetOperation) -> None:
        """Refuse a text in quotes beside a number: there PostgreSQL reads it as a number."""
        sides = [one for one in (node.this, node.expression) if isinstance(one, exp.Query)]
        for pair in zip(*([_bare(item) for item in side.selects] for side in sides), strict=False):
            texts = [item for item in pair if _is_text(item)]
            if texts and any(_may_be_number(item, texts[0].name) for item in pair):
                raise StatementRefusedError("a text beside a number is a number in PostgreSQL: write it without quotes")

    def corr(self, node: exp.Corr) -> None:
        top = _whole_aggregate(node)
        self.call(top, "or_null", top)

    def upper(self, node: exp.Upper) -> None:
        self.call(node, "upper", node.this)

    def substring(self, node: exp.Substring) -> None:
        start, length = node.args.get("start"), node.args.get("length")
        if start is not None:
            self.call(node, "substr", node.this, start, *(() if length is None else (length,)))

    def concat(self, node: exp.Concat | exp.ConcatWs) -> None:
        for part in [*node.expressions]:
            if not isinstance(part, (exp.Literal, exp.Null)):
                self.call(part, self._sure("shown"), part)

    def joined(self, node: exp.DPipe) -> None:
        for part in (node.this, node.expression):
            if not isinstance(part, (exp.Literal, exp.Null, exp.DPipe)) and not _is_array(part):
                self.call(part, self._sure("text"), part)

    def like(self, node: exp.Like | exp.ILike) -> None:
        if isinstance(node.expression, (exp.Any, exp.All)):
            raise StatementRefusedError("LIKE compares with one pattern, not with ANY or ALL of several")
        if not isinstance(node.parent, exp.Escape):
            escaped = exp.Escape(expression=exp.Literal.string("\\"))
            node.replace(escaped)
            escaped.set("this", node)

    def similar(self, node: exp.SimilarTo) -> None:
        """Write SQL's pattern as a regular expression, which DuckDB takes SIMILAR TO for."""
        if isinstance(node.parent, exp.Escape) or not _is_text(node.expression):
            raise StatementRefusedError("SIMILAR TO takes a pattern in quotes, and no ESCAPE")
        node.set("expression", exp.Literal.string(regular(node.expression.name)))

    def matched(self, node: exp.RegexpLike | exp.RegexpReplace) -> None:
        """Let a point stand for the end of a line, too, and refuse what the two read otherwise."""
        pattern = node.expression
        if not _is_text(pattern):
            raise StatementRefusedError("a regular expression is text in quotes")
        replaced = node.args.get("replacement")
        is_replaced = isinstance(node, exp.RegexpReplace)
        if is_replaced and (replaced is None or not _is_text(replaced) or re.search(r"\\[^1-9\\]", str(replaced.name))):
            raise StatementRefusedError("a replacement is text in quotes, with \\1 to \\9 for groups")
        ignores = bool(node.meta.get("ignores_case"))
        found = searched(pattern.name, is_replaced=is_replaced, ignores_case=ignores)
        node.set("expression", exp.Literal.string(found))

    def copied(self, node: exp.Expr) -> exp.Expr:
        """Return a copy of a part, which the statement has twice; all copies together are bounded."""
        self._copied += sum(1 for _ in node.walk())
        if self._copied > _MOST_SIZE:
            raise StatementRefusedError("the statement is nested too deeply", kind="size")
        return node.copy()

    def compared(self, node: exp.Binary) -> None:
        """Compare rows column by column, where NULL is unknown; for DuckDB it is the largest value."""
        if is_row(node.this) or is_row(node.expression):
            node.replace(compared_by_column(node, self.copied))
        elif isinstance(node.expression, exp.Any):
            self._with_any(node, node.expression)

    def _with_any(self, node: exp.Binary, values: exp.Any) -> None:
        """Of no array it is unknown whether one of its values is the other; of an empty one it is not so."""
        inside = values.this
        while isinstance(inside, exp.Paren):
            inside = inside.this
        if isinstance(inside, (exp.Query, exp.Subquery, exp.Array, exp.Literal)):
            return
        chosen = exp.Case(ifs=[exp.If(this=exp.Is(this=self.copied(inside), expression=exp.Null()), true=exp.Null())])
        node.replace(chosen)
        chosen.set("default", node)

    def sized(self, node: exp.ArraySize) -> None:
        """Arrays have one dimension here."""
        dimension = node.expression
        if isinstance(dimension, exp.Literal) and dimension.name == "1":
            self.call(node, "length", node.this)
        elif str(node.meta.get("called")).lower() == "array_length":
            raise StatementRefusedError("array_length takes the dimension 1")

    def quotient(self, node: exp.IntDiv) -> None:
        self.call(node, "whole_div", node.this, node.expression)

    def among(self, node: exp.In) -> None:
        if is_row(node.this):
            node.replace(rows_among(node, self.copied))

    def aggregated(self, node: exp.ArrayAgg | exp.GroupConcat) -> None:
        """Sort distinct values that are put together, as PostgreSQL does, and refuse arrays of arrays."""
        given, order = node.this, None
        if isinstance(given, exp.Order):
            given, order = given.this, given.expressions
        top = _whole_aggregate(node)
        if not isinstance(given, exp.Distinct):
            if isinstance(node, exp.ArrayAgg):
                self.call(top, "flat", top)
            return
        by = order[0] if order else exp.Ordered(this=given.expressions[0], nulls_first=False)
        if len(given.expressions) != 1 or len(order or [by]) != 1 or by.this != given.expressions[0]:
            raise StatementRefusedError("distinct values are put together in their own order, and in no other")
        ways = ("DESC" if by.args.get("desc") else "ASC", f"NULLS {'FIRST' if by.args.get('nulls_first') else 'LAST'}")
        gathered = node if isinstance(node, exp.ArrayAgg) else exp.ArrayAgg(this=given)
        gathered.set("this", given)
        if node is not gathered:
            top = gathered if top is node else top
            node.replace(gathered)
        listed = exp.Anonymous(this="list_sort")
        top.replace(listed)
        listed.set("expressions", [top, *map(exp.Literal.string, ways)])
        if isinstance(node, exp.GroupConcat):
            separator = node.args.get("separator")
            if not isinstance(separator, exp.Literal):
                raise StatementRefusedError("string_agg puts one text in quotes between values")
            self.call(listed, "joined", listed, separator)
        else:
            self.call(listed, "flat", listed)

    def array(self, node: exp.Array) -> None:
        if any(isinstance(one, exp.Array) for one in node.expressions):
            raise StatementRefusedError("arrays of arrays are not computed here")
        if not all(isinstance(one, (exp.Literal, exp.Null)) for one in node.expressions):
            self.call(node, "flat", node)

    def chosen(self, node: exp.Coalesce) -> None:
        """Refuse a text beside a constant of another type, which PostgreSQL reads even if it is never taken."""
        others = node.expressions
        if _is_constant(node.this) and not _is_text(node.this) and any(map(_is_text, others)):
            raise StatementRefusedError("coalesce of a constant and a text in quotes: cast the text")

    def cast(self, node: exp.Cast) -> None:
        kind, value = node.to.this, node.this
        if kind == exp.DType.CHAR:
            raise StatementRefusedError("char(n) is filled with blanks: write text")
        if kind in (exp.DType.VARCHAR, exp.DType.TEXT):
            if not isinstance(value, (exp.Literal, exp.Null)):
                self.call(value, self._sure("text"), value)
            if node.to.expressions:
                length = node.to.expressions[0].this
                node.set("to", exp.DataType.build("VARCHAR", "duckdb"))
                node.replace(left := exp.Left())
                left.set("this", node)
                left.set("expression", length)
            return
        if kind == exp.DType.DECIMAL:
            self._numeric(node)
            return
        check = next((name for kinds, name in _OF_TEXT.items() if kind in kinds), None)
        if check is not None and not isinstance(value, exp.Null):
            if check == "whole" and self._is_unsure:
                self.call(value, "round_sure", value)
            self.call(node.this, check, node.this)

    def _numeric(self, node: exp.Cast) -> None:
        """Keep the digits of a numeric of no size: DuckDB would round it to three places."""
        value = node.this
        if node.to.expressions:
            self.call(value, "numeric_of", value)
            return
        written = _DIGITS.fullmatch(value.name) if isinstance(value, exp.Literal) else None
        if written is None:
            self.call(node, "numeric", value)
            return
        places = len(written[2] or "")
        size = max(len(written[1]) + places, 1)
        if size > _MOST_DIGITS:
            raise StatementRefusedError(f"a numeric has at most {_MOST_DIGITS} digits here")
        node.set("to", exp.DataType.build(f"DECIMAL({size}, {places})", "duckdb"))

    def extract(self, node: exp.Extract) -> None:
        if node.name.lower() == "second":
            self.call(node, "second", node.expression)

    def truncate(self, node: exp.TimestampTrunc | exp.DateTrunc) -> None:
        unit = node.args["unit"]
        if unit.name.lower() in ("century", "millennium"):
            raise StatementRefusedError("centuries begin with the year 1 in PostgreSQL: truncate to years")
        self.call(node, "date_trunc", exp.Literal.string(unit.name.lower()), node.this)

    def format(self, _node: exp.Format) -> None:
        raise StatementRefusedError("format has other signs here: write a || b")

    def time(self, node: exp.TimeToStr) -> None:
        timed(node.args["format"])


def _is_text(value: Any) -> bool:
    return isinstance(value, exp.Literal) and value.is_string


def _is_constant(node: exp.Expr) -> bool:
    return node.find(exp.Column, exp.Query, exp.Placeholder) is None


def _bare(node: exp.Expr) -> exp.Expr:
    while isinstance(node, (exp.Alias, exp.Paren)):
        node = node.this
    return node


def _may_be_number(node: exp.Expr, beside: str) -> bool:
    """Whether an expression is a number or truth value, or may be one as the text beside it may be."""
    if isinstance(node, exp.Literal):
        return not node.is_string
    if isinstance(node, exp.Cast):
        return node.to.this not in (exp.DType.VARCHAR, exp.DType.TEXT)
    if isinstance(node, (exp.Boolean, exp.Neg, exp.Predicate, exp.Count, exp.Sum, exp.Avg)):
        return True
    if isinstance(node, exp.Binary) and not isinstance(node, (exp.DPipe, exp.Dot)):
        return True
    is_unknown = isinstance(node, (exp.Column, exp.Dot, exp.Star, exp.Subquery, exp.Func))
    return is_unknown and bool(_LIKE_VALUE.fullmatch(beside))


def _is_array(node: exp.Expr) -> bool:
    return isinstance(node, exp.Array) or (isinstance(node, exp.Cast) and node.to.this == exp.DType.ARRAY)


def _whole_aggregate(node: exp.Expr) -> exp.Expr:
    """Return an aggregate with its FILTER and its window."""
    while isinstance(node.parent, (exp.Filter, exp.Window)) and node.arg_key == "this":
        node = node.parent
    return node


def _is_called(node: exp.Expr) -> bool:
    """Whether a node is an argument of a macro."""
    return isinstance(node.parent, exp.Anonymous) and node.parent.name.startswith(_PREFIX)


def _least(top: exp.Expr) -> exp.Expr:
    """Return the least instead of the sum: it has the type of what is summed."""
    least = top.copy()
    found = least.find(exp.Sum)
    assert found is not None
    summed = found.this.expressions[0] if isinstance(found.this, exp.Distinct) else found.this
    smallest = exp.Min(this=summed)
    if found is least:
        return smallest
    found.replace(smallest)
    return least


# A text that PostgreSQL may read as a number, a time or a truth value.
_LIKE_VALUE = re.compile(r"\s*([-+\d.].*|nan|inf.*|t|f|true|false|y|n|yes|no|on|off|epoch|today)?\s*", re.I | re.DOTALL)
_DIGITS = re.compile(r"\s*[+-]?(\d*)(?:\.(\d*))?\s*", re.ASCII)
_MOST_DIGITS = 38
_WHOLE = tuple(exp.DataType.INTEGER_TYPES)
_OF_TEXT: Mapping[tuple[exp.DType, ...], str] = {
    _WHOLE: "whole",
    (exp.DType.FLOAT, exp.DType.DOUBLE): "number",
    (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ): "day",
    (exp.DType.INTERVAL,): "span",
    (exp.DType.TIME,): "clock",
}
_CHANGES: Mapping[type[exp.Expr], Callable[[_Changes, Any], None]] = {
    exp.Div: _Changes.divide,
    exp.Mod: _Changes.divide,
    exp.IntDiv: _Changes.quotient,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), _Changes.computed),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _Changes.compared),
    exp.In: _Changes.among,
    exp.ArraySize: _Changes.sized,
    exp.ArrayAgg: _Changes.aggregated,
    exp.GroupConcat: _Changes.aggregated,
    exp.Coalesce: _Changes.chosen,
    exp.Array: _Changes.array,
    exp.SplitPart: _Changes.part,
    **dict.fromkeys((exp.Union, exp.Except, exp.Intersect), _Changes.united),
    exp.Round: _Changes.round,
    **dict.fromkeys((exp.Sqrt, exp.Exp, exp.Ln, exp.Log, exp.Pow, exp.Asin, exp.Acos), _Changes.function),
    exp.Corr: _Changes.corr,
    exp.Upper: _Changes.upper,
    exp.Substring: _Changes.substring,
    exp.Concat: _Changes.concat,
    exp.ConcatWs: _Changes.concat,
    exp.DPipe: _Changes.joined,
    exp.Like: _Changes.like,
    exp.ILike: _Changes.like,
    exp.SimilarTo: _Changes.similar,
    exp.RegexpLike: _Changes.matched,
    exp.RegexpReplace: _Changes.matched,
    exp.Cast: _Changes.cast,
    exp.Extract: _Changes.extract,
    exp.TimestampTrunc: _Changes.truncate,
    exp.DateTrunc: _Changes.truncate,
    exp.Format: _Changes.format,
    exp.TimeToStr: _Changes.time,
}
