"""`Domain`: the values of one synthetic column, ascending, as the constraints on single rows allow them.

`allowed_domains` finds values for columns whose rules on one row leave out what is usually put there: `gender IN ('F',
'M')`, `length(zip) = 5`, `carrier LIKE 'N%'`. Candidates are made from the literals of rules and from usual forms of
codes, and the engine says which of them the rules allow. All is made from rules and schema, and so public.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from dpdb.constraints import Constant, DenialConstraint, Operator
from dpdb.errors import ParameterError

_FIRST_DAY = (date(2020, 1, 1) - date(1970, 1, 1)).days
_DAY = 86_400_000_000  # microseconds
_PREFIX = "v"


@dataclass(frozen=True, eq=False)
class Domain:
    """Whole numbers from `low` to `high` (None: no bound), converted to a type; or a list of values.

    Attributes
    ----------
    kind : pyarrow.DataType
        int64, float64, bool, date32, timestamp or string.
    values : pyarrow.Array or None
        The list, ascending.
    is_open : bool
        Whether the list is one of many, of as many values as a table may need.
    """

    kind: pa.DataType
    low: int | None = None
    high: int | None = None
    values: pa.Array | None = None
    is_open: bool = False

    @property
    def size(self) -> int | None:
        """Number of values; None if it is not bounded."""
        if self.values is not None:
            return None if self.is_open else len(self.values)
        return None if self.low is None or self.high is None else self.high - self.low + 1

    def column(self, codes: NDArray[np.int64], count: int) -> pa.Array:
        """Return values for codes from 0 to `count` - 1, in their order."""
        if self.values is not None:
            if count > len(self.values):
                raise ParameterError(f"{count:,} distinct values are more than the {len(self.values):,} that are known")
            return self.values.take(pa.array(codes))
        numbers = codes + self._first(count)
        if pa.types.is_string(self.kind):
            width = len(str(self._first(count) + count))  # of one width, so that text compares as the codes do
            return pa.array([f"{_PREFIX}{number:0{width}d}" for number in numbers.tolist()])
        if pa.types.is_boolean(self.kind):
            return pa.array(numbers.astype(np.bool_))
        if pa.types.is_date32(self.kind):
            return pa.array(numbers.astype(np.int32), pa.date32())
        if pa.types.is_timestamp(self.kind):
            return pa.array((numbers + _FIRST_DAY) * _DAY, self.kind)
        return pa.array(numbers).cast(self.kind)

    def _first(self, count: int) -> int:
        if self.low is not None:
            return self.low
        usual = _FIRST_DAY if pa.types.is_date32(self.kind) else 1
        return usual if self.high is None else min(usual, self.high - count + 1)


def domain_of(column: str, sql_type: str, constraints: Iterable[DenialConstraint]) -> Domain:
    """Choose the values of a column: numbers for numbers, dates for dates, text for other types.

    Constraints of one comparison with a constant (`not(t1.age < 0)`) bound numbers and dates.

    Parameters
    ----------
    constraints
        The table's constraints; only comparisons of this column with a constant matter.
    """
    kind = _kind(sql_type)
    if pa.types.is_boolean(kind):
        return Domain(kind, 0, 1)
    low: int | None = None
    high: int | None = None
    for dc in constraints:
        if not dc.is_single_tuple or len(dc.predicates) != 1 or dc.columns != (column,):
            continue
        (predicate,) = dc.predicates
        bound = _number(predicate.right, kind) if isinstance(predicate.right, Constant) else None
        if bound is None:
            continue
        least, most = _allowed(predicate.op, bound)
        low = least if low is None else max(low, least) if least is not None else low
        high = most if high is None else min(high, most) if most is not None else high
    if low is not None and high is not None and low > high:
        raise ParameterError(
            f"no whole number is a value of {column!r} that its constraints allow: nothing to plan with"
        )
    return Domain(kind, low, high)


def _kind(sql_type: str) -> pa.DataType:
    if sql_type.endswith(("INT", "INTEGER")):
        return pa.int64()
    if sql_type in ("FLOAT", "DOUBLE") or sql_type.startswith("DECIMAL"):
        return pa.float64()
    if sql_type.startswith("TIMESTAMP"):
        return pa.timestamp("us", "UTC" if sql_type.endswith("ZONE") else None)
    return {"BOOLEAN": pa.bool_(), "DATE": pa.date32()}.get(sql_type, pa.string())


def _number(constant: Constant, kind: pa.DataType) -> Fraction | None:
    """Convert a constant to the numbers of a domain; None for types whose bounds are ignored."""
    try:
        if pa.types.is_date32(kind):
            return Fraction((date.fromisoformat(str(constant.value)) - date(1970, 1, 1)).days)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind):
            return Fraction(Decimal(constant.value))
    except (ValueError, InvalidOperation, OverflowError):
        pass
    return None


def _allowed(forbidden: Operator, bound: Fraction) -> tuple[int | None, int | None]:
    """Return the least and the greatest whole number that a forbidden comparison leaves."""
    signs = forbidden.negated.signs
    least = math.ceil(bound) if 0 in signs else math.floor(bound) + 1
    most = math.floor(bound) if 0 in signs else math.ceil(bound) - 1
    return None if -1 in signs else least, None if 1 in signs else most


Allowed = Callable[[pa.Table, Sequence[DenialConstraint]], "np.ndarray[tuple[int], np.dtype[np.int64]]"]

_TEXT, _NUMBER = re.compile(r"'((?:[^']|'')*)'"), re.compile(r"(?<![\w.'])-?[0-9]{1,15}(?:[.][0-9]+)?")
_WIDEST = 40
_TRIED = 3  # values of a form, before all are made


def allowed_domains(
    dcs: Sequence[DenialConstraint],
    types: Mapping[str, str],
    *,
    count: int,
    usual: int,
    given: Mapping[str, Sequence[str]],
    allowed: Allowed,
) -> dict[str, Domain]:
    """Return domains for the columns whose usual values, or whose given ones, their rules on one row do not allow.

    Parameters
    ----------
    dcs
        The rules; those on one row and one column matter.
    types
        Column -> its SQL type.
    count
        How many values are wanted where there are as many.
    usual
        How many of the usual values must be allowed for a column to keep them.
    given
        Column -> values that its owner has named.

    Raises
    ------
    ParameterError
        If no value is found, or one that is given is none of the column's type.
    """
    found = {}
    for name, kind in types.items():
        rules = [dc for dc in dcs if dc.is_single_tuple and dc.table_columns == (name,) and dc.inclusion is None]
        if name in given:
            found[name] = _given(name, kind, given[name], rules, allowed)
        elif rules and (domain := _of_rules(name, kind, rules, count=count, usual=usual, allowed=allowed)) is not None:
            found[name] = domain
    return found


def _given(name: str, kind: str, texts: Sequence[str], rules: Sequence[DenialConstraint], allowed: Allowed) -> Domain:
    values = pa.array(list(dict.fromkeys(texts)), pa.string())
    try:
        values = values.cast(domain_of(name, kind, ()).kind)
    except pa.ArrowInvalid:
        raise ParameterError(f"values of {name!r}: one is none of its type, {kind}") from None
    kept = _kept(name, values, rules, allowed)
    if len(kept) < len(values):
        raise ParameterError(f"values of {name!r}: its own rules do not allow all of them")
    return Domain(values.type, values=kept)


def _of_rules(
    name: str, kind: str, rules: Sequence[DenialConstraint], *, count: int, usual: int, allowed: Allowed
) -> Domain | None:
    """Return None where the usual values are allowed; else those literals and that form of which most are."""
    simple = [rule for rule in rules if not rule.computed]
    domain = domain_of(name, kind, simple)
    size = min(usual, domain.size or usual)
    plain = domain.column(np.arange(size), size)
    if len(_kept(name, plain, rules, allowed)) == size:
        return None
    literals = list(dict.fromkeys(literal for rule in rules for literal in _literals(rule)))
    if pa.types.is_string(plain.type):
        best, is_list = _texts(name, literals, count, rules, allowed)
        if is_list:
            return Domain(best.type, values=best)
    elif not pa.types.is_boolean(plain.type):
        best = _kept(name, _near(literals, count, plain.type), rules, allowed)
    else:
        best = _kept(name, pa.array([False, True]), rules, allowed)
    if not len(best):
        words = "; ".join(rule.label for rule in rules)
        raise ParameterError(
            f"no value of {name!r} is known that its rules allow ({words}): name some that it may have, "
            f"--values {name}=VALUE,VALUE (values=)"
        )
    return Domain(best.type, values=best, is_open=len(best) >= usual)


def _texts(
    name: str, literals: Sequence[str], count: int, rules: Sequence[DenialConstraint], allowed: Allowed
) -> tuple[pa.Array, bool]:
    """Return the texts of the first form that has enough, or else of the best one; only literals are a list."""
    forms = list(_forms(literals))
    tried = [(place, text) for place, form in enumerate(forms) for text in _made(form, _TRIED).to_pylist()]
    texts = pa.array([*literals, *(text for _, text in tried)], pa.string())
    kept = allowed(pa.table({name: texts}), rules).tolist()
    good = dict.fromkeys(tried[at - len(literals)][0] for at in kept if at >= len(literals))
    if not good:
        return pa.array(sorted(literals[at] for at in kept), pa.string()), bool(kept)
    best = texts.slice(0, 0)
    for place in sorted(good, key=lambda place: 10 ** forms[place][1] < count):
        made = _kept(name, _made(forms[place], count), rules, allowed)
        best = max(best, made, key=len)
        if len(best) >= count:
            break
    return best, False


def _kept(name: str, values: pa.Array, rules: Sequence[DenialConstraint], allowed: Allowed) -> pa.Array:
    """Return the values that the rules allow, ascending."""
    kept = values
    if rules and len(values):
        kept = values.take(pa.array(allowed(pa.table({name: values}), rules)))
    return kept.take(pc.array_sort_indices(kept))


def _literals(rule: DenialConstraint) -> Iterator[str]:
    """Yield the literals of a rule, as texts."""
    for predicate in rule.predicates:
        if isinstance(predicate.right, Constant):
            yield str(predicate.right.value)
    for ref in rule.computed:
        for piece in getattr(ref.expression, "pieces", ()):
            yield from (text.replace("''", "'") for text in _TEXT.findall(piece))
            yield from _NUMBER.findall(_TEXT.sub("", piece))


def _forms(literals: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """Yield what stands before, how wide, and behind the number of a text: usual codes, and patterns of LIKE."""
    for literal in literals:
        if "%" in literal or "_" in literal:
            head, sign, tail = re.split(r"([%_]+)", literal, maxsplit=1)
            tail = re.sub("%", "v", tail).replace("_", "0")
            yield from ((head, width, tail) for width in ([len(sign)] if "%" not in sign else range(1, _WIDEST)))
    for head in ("v", "V", ""):
        yield from ((head, width, "") for width in range(1, _WIDEST))


def _made(form: tuple[str, int, str], count: int) -> pa.Array:
    head, width, tail = form
    return pa.array([f"{head}{number:0{width}d}{tail}" for number in range(min(count, 10**width))])


def _near(literals: Sequence[str], count: int, kind: pa.DataType) -> pa.Array:
    """Return numbers, or days, between a rule's literals and around them, as many between any two."""
    numbers = {0.0}
    for literal in literals:
        try:
            numbers.add(date.fromisoformat(literal[:10]).toordinal() if pa.types.is_temporal(kind) else float(literal))
        except ValueError:
            continue
    marks = sorted(numbers)
    spans = [(marks[0] - count, marks[0]), *pairwise(marks), (marks[-1], marks[-1] + count)]
    wanted = np.concatenate([np.linspace(low, high, count + 1) for low, high in spans])
    if pa.types.is_floating(kind):
        return pa.array(np.unique(wanted))
    whole = np.unique(wanted.clip(-(2**53), 2**53).astype(np.int64))
    if not pa.types.is_temporal(kind):
        return pa.array(whole)
    days = whole[(whole >= 1) & (whole < date.max.toordinal())]
    return pa.array([date.fromordinal(day) for day in days.tolist()], pa.date32()).cast(kind)
