"""A second, slow opinion: random conditions with their own three-valued evaluator, and maxima by visiting every row."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import numpy as np

Row = dict[str, Any]
Truth = Callable[[Row], bool | None]

NUMBERS = (0, 1, 2, 3)
TEXTS = ("b", "d", "g")
DOMAINS: dict[str, tuple[Any, ...]] = {
    "a": (None, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5),
    "b": (None, "a", "b", "c", "d", "e", "g", "h"),
    "c": (None, -0.5, 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5),
}
ROWS = [dict(zip(DOMAINS, values, strict=True)) for values in itertools.product(*DOMAINS.values())]

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda x, y: x == y,
    "<>": lambda x, y: x != y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
}


def _sql(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def _compare(name: str, operator: str, value: Any) -> Truth:
    def truth(row: Row) -> bool | None:
        return None if row[name] is None or value is None else COMPARE[operator](row[name], value)

    return truth


def negation(one: Truth) -> Truth:
    def truth(row: Row) -> bool | None:
        value = one(row)
        return None if value is None else not value

    return truth


def conjunction(parts: list[Truth]) -> Truth:
    def truth(row: Row) -> bool | None:
        values = [part(row) for part in parts]
        return False if False in values else None if None in values else True

    return truth


def disjunction(parts: list[Truth]) -> Truth:
    return negation(conjunction([negation(part) for part in parts]))


def condition(rng: random.Random, depth: int = 2) -> tuple[str, Truth]:
    """A random condition as SQL text and as a function of a row."""
    if depth and rng.random() < 0.6:
        if rng.random() < 0.25:
            text, truth = condition(rng, depth - 1)
            return f"NOT ({text})", negation(truth)
        parts = [condition(rng, depth - 1) for _ in range(rng.choice((2, 2, 3)))]
        word, join = ("AND", conjunction) if rng.random() < 0.65 else ("OR", disjunction)
        return f" {word} ".join(f"({text})" for text, _ in parts), join([truth for _, truth in parts])
    return _leaf(rng)


def _leaf(rng: random.Random) -> tuple[str, Truth]:
    name = rng.choice("abc")
    values = TEXTS if name == "b" else NUMBERS
    kind = rng.choice(("compare", "compare", "between", "in", "null"))
    if kind == "null":
        text, truth = f"{name} IS NULL", (lambda row: row[name] is None)
    elif kind == "compare":
        operator, value = rng.choice(list(COMPARE)), rng.choice((*values, *values, None))
        text, truth = f"{name} {operator} {_sql(value)}", _compare(name, operator, value)
    elif kind == "between":
        low, high = rng.choice(values), rng.choice((*values, *values, None))
        text = f"{name} BETWEEN {_sql(low)} AND {_sql(high)}"
        truth = conjunction([_compare(name, ">=", low), _compare(name, "<=", high)])
    else:
        chosen = [rng.choice((*values, *values, None)) for _ in range(rng.randint(1, 3))]
        text = f"{name} IN ({', '.join(map(_sql, chosen))})"
        truth = disjunction([_compare(name, "=", value) for value in chosen])
    return (text, truth) if rng.random() < 0.7 else (f"NOT {text}", negation(truth))


def brute_force(truths: list[Truth], weights: list[int]) -> int:
    """The largest total weight that one row of the domain collects."""
    return max(sum(weight for truth, weight in zip(truths, weights, strict=True) if truth(row) is True) for row in ROWS)


def brute_force_instance(instance: Any) -> int:
    """The same for an instance in numbers."""
    best = 0
    sizes = [range(attribute.patterns.shape[1]) for attribute in instance.attributes]
    weights = instance.query_weights()
    for atoms in itertools.product(*sizes):
        best = max(best, int(weights[instance.covering(atoms)].sum()))
    return best


def random_instance(seed: int) -> Any:
    """A small random instance in numbers: some attributes, some rows, weights."""
    from dpdb.overlap.instance import Attribute, Instance

    rng = np.random.default_rng(seed)
    rows, density = int(rng.integers(1, 13)), rng.random()
    attributes = []
    for k in range(int(rng.integers(1, 5))):
        patterns = rng.random((rows, int(rng.integers(1, 5)))) < rng.choice([0.3, 0.5, 0.8])
        codes = np.where(rng.random(rows) < density, np.arange(rows), -1).astype(np.int32)
        attributes.append(Attribute(f"x{k}", codes, patterns, str))
    weights = rng.integers(0, 6, rows) if rng.random() < 0.5 else np.ones(rows, np.int64)
    return Instance(weights.astype(np.int64), np.arange(rows), rows, tuple(attributes))
