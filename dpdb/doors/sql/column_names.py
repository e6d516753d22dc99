"""The names that PostgreSQL gives the columns of a result (`FigureColname` of its parser)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from dpdb.bounded_parser import UNNAMED

# What is called without parentheses, or in a way of its own; of other functions the name that was written is kept.
_CALLED: Mapping[type[exp.Expr], str] = {
    exp.Exists: "exists", exp.StrPosition: "position", exp.GroupConcat: "string_agg", exp.Array: "array",
    exp.Explode: "unnest", exp.PercentileCont: "percentile_cont", exp.PercentileDisc: "percentile_disc",
    exp.Extract: "extract", exp.Substring: "substring", exp.TimestampTrunc: "date_trunc",
    exp.Interval: "interval", exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentDate: "current_date", exp.CurrentTime: "current_time",
    exp.Localtimestamp: "localtimestamp", exp.Localtime: "localtime",
}  # fmt: skip
# Words that look like calls, and name their columns by what is in them.
_WORDS = ("case", "cast", "try_cast", "trim", "any", "some", "all", "exists", "interval")
_THROUGH = (exp.Paren, exp.Collate, exp.Bracket, exp.Window, exp.Filter, exp.WithinGroup, exp.IgnoreNulls,
            exp.RespectNulls, exp.Dot)  # fmt: skip
_SHORT = {
    "integer": "int4", "int": "int4", "bigint": "int8", "smallint": "int2", "double": "float8", "float": "float4",
    "boolean": "bool", "decimal": "numeric", "timestamptz": "timestamptz", "char": "bpchar",
}  # fmt: skip


def name_columns(
    tree: exp.Query, named: Mapping[type[exp.Expr], str], own: Callable[[exp.Expr], bool] = lambda _: False
) -> None:
    """Give every column of a query and of its subqueries the name that PostgreSQL gives it.

    Parameters
    ----------
    tree
        As the parser reads PostgreSQL's SQL; it is changed.
    named
        Further functions by the class that the parser gives them.
    own
        Says of a column whether it is a word that is a function.
    """
    for select in [*tree.find_all(exp.Select)][::-1]:  # subqueries first: their names are those of columns around
        items = []
        for item in select.expressions:
            is_star = isinstance(item, exp.Star) or (isinstance(item, exp.Column) and isinstance(item.this, exp.Star))
            is_column = isinstance(item, exp.Column) and item.meta.get("called") != UNNAMED
            plain = isinstance(item, exp.Alias) or is_star or (is_column and not own(item))
            plain = plain or (isinstance(item, exp.Dot) and isinstance(item.expression, exp.Star))
            if plain:
                items.append(item)
                continue
            name = implied_name(item, named)[0] or UNNAMED
            top = exp.Alias(alias=exp.to_identifier(name, quoted=True))
            items.append(top)
            top.set("this", item)
        select.set("expressions", items)


def implied_name(node: exp.Expr, named: Mapping[type[exp.Expr], str]) -> tuple[str, bool]:
    """Return the name that an expression gives its column, and whether one of its own."""
    called = str(node.meta.get("called", "")).lower()
    if called == UNNAMED:  # behind a sign
        return "", False
    if called and called not in _WORDS and type(node) not in named:
        return called, True
    if isinstance(node, _THROUGH):
        return implied_name(node.expression if isinstance(node, exp.Dot) else node.this, named)
    if isinstance(node, (exp.Cast, exp.Case)):
        inside = node.this if isinstance(node, exp.Cast) else node.args.get("default")
        name, own = implied_name(inside, named) if inside is not None else ("", False)
        return (name, True) if own else (_type_shown(node.to) if isinstance(node, exp.Cast) else "case", False)
    if isinstance(node, exp.Subquery):
        first = node.this.selects[:1] if isinstance(node.this, exp.Query) else []
        return (first[0].alias_or_name, True) if first and first[0].alias_or_name else ("", False)
    return _own_name(node, named)


def _own_name(node: exp.Expr, named: Mapping[type[exp.Expr], str]) -> tuple[str, bool]:
    if isinstance(node, (exp.Column, exp.Identifier, exp.Anonymous)):
        return (node.name if isinstance(node, exp.Column) and node.this.args.get("quoted") else node.name.lower()), True
    if isinstance(node, exp.Trim):
        return {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(node.args.get("position")), "btrim"), True
    found = named.get(type(node)) or _CALLED.get(type(node), "")
    return found, bool(found) and not isinstance(node, exp.Interval)  # which is a cast


def _type_shown(to: exp.DataType) -> str:
    kind = type_name(to).removesuffix("[]")
    return _SHORT.get(kind, kind)


def type_name(kind: exp.Expr) -> str:
    """Return the name of a type as PostgreSQL's catalog has it, of arrays with brackets behind it."""
    if isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.ARRAY:
        return f"{type_name(kind.expressions[0])}[]" if kind.expressions else "text[]"
    if isinstance(kind, exp.DataType) and kind.this == exp.DataType.Type.USERDEFINED:
        named = kind.args.get("kind")
        name = named.expression.name if isinstance(named, exp.Dot) else getattr(named, "name", str(named))
        return f"{name[1:]}[]" if name.startswith("_") else str(name).lower()
    return str(getattr(kind.this, "value", kind.this)).lower()
