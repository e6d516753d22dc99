"""`allowed_domains`: values for columns whose rules on one row leave out what is usually put there.

`gender IN ('F', 'M')`, `length(zip) = 5`, `carrier LIKE 'N%'`: candidates are made from rules' literals and from usual
forms of codes, and the engine says which of them the rules allow. All is made from rules and schema, and so public.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dpdb.constraints import Constant, DenialConstraint
from dpdb.errors import ParameterError
from dpdb.owner.synthetic.domains import Domain, domain_of

__all__ = ["allowed_domains"]

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
    allowed
        Says which rows of a table satisfy rules.

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
