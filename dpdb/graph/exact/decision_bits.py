"""Decision bits: log2 of the number of maximal consistent subsets, from counts of distinct values, in steps of 10^-6.

A maximal consistent subset of rows is a maximal independent set of the graph of conflicts, of the rows that violate
nothing by themselves. Let mis(G) be how many there are: log2 mis(G) is how many yes/no decisions cleaning takes.

Theorem 8. For every graph G and every node v, mis(G - v) <= mis(G) <= 2 mis(G - v).
Proof. Below: a maximal set S of G - v that meets N(v) is one of G, and of every other S so is S + v; taking v out
gives S back, so no two are the same. Above: a maximal set of G without v is one of G - v. One with v is, less v, a
maximal set of G - N[v], and mis(G - N[v]) <= mis(G - v), by the first half, for one neighbour after another. QED

Steps. The graph comes apart into groups, one row is in one group at most, and mis is the product of the groups' counts
N. Of each group floor(10^6 log2 N) steps are counted, and their sum. With one row more N becomes N', N <= N' <= 2 N, so
the group's steps change by at least 0, and by at most 10^6, because log2 N' <= 1 + log2 N and 10^6 is whole: 0 to one
bit. A group that was empty has N = 1 before. A group with N >= 2 has at least 10^6 steps and lacks less than one of its
bits, so the sum is at most 10^-6 of itself too small, and never too large.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from functools import lru_cache

BIT = 10**6
"""Steps of one bit."""

MOST_BITS_PER_ROW = 0.5284
"""log2(3) / 3, rounded up: n nodes have at most 3^(n/3) maximal independent sets (Moon and Moser 1965)."""

_KEPT_BITS = 128


@lru_cache(1 << 12)
def bit_steps(count: int) -> int:
    """Return floor(10^6 log2 count), exactly, of a count of at least 1 with any number of digits.

    Powers of two by their length. Other logarithms are irrational: the first bits of the number, with as many decimal
    digits, bound it from both sides, and more of them are taken as long as both sides are not within one step.

    Examples
    --------
    >>> bit_steps(1), bit_steps(2), bit_steps(3), bit_steps(2**200), bit_steps(2**200 - 1)
    (0, 1000000, 1584962, 200000000, 199999999)
    """
    kept = _KEPT_BITS
    while not _is_power(count):
        shift = max(0, count.bit_length() - kept)
        first = count >> shift
        after = first + (shift > 0)  # the number is below it, if bits are cut off
        below = _floor(first, shift, kept // 2, -1)
        above = _floor(after, shift, kept // 2, 1) - (shift > 0 and _is_power(after))
        if below == above:
            return below
        kept *= 2
    return BIT * (count.bit_length() - 1)


def _is_power(count: int) -> bool:
    return count & (count - 1) == 0


def _floor(first: int, shift: int, digits: int, side: int) -> int:
    """Return floor(10^6 log2(first 2^shift)), exactly for powers of two, else with half of the digits to spare."""
    if _is_power(first):
        return BIT * (first.bit_length() - 1 + shift)
    with localcontext() as context:
        context.prec = digits
        return int(BIT * (Decimal(first).ln() / Decimal(2).ln() + shift) + side * Decimal(10) ** -(digits // 2))


def decision_steps(rows: Iterable[Sequence[int]]) -> int:
    """Return the steps of groups, whose classes may have groups themselves, to any depth. Private.

    Of a group at most the rows of one class may stay: its count is the sum of those of its classes. Of the groups of a
    class each decides by itself: its count is their product.

    Parameters
    ----------
    rows
        Numbers of a group, of a class of it, of a group of that, and so on to a class, or none; then the count of each
        of some groups (of that class), and how many have that count. Of the groups left out every count is 1.
    """
    rows = list(rows)
    if all(len(row) == len(("count", "groups")) for row in rows):
        return sum(bit_steps(count) * groups for count, groups in rows)
    leaves = defaultdict[tuple[int, ...], list[int]](list)
    for *node, count, groups in rows:
        leaves[tuple(node)].append(count**groups)
    counts = {node: _product(factors) for node, factors in leaves.items()}
    while True:
        sums = defaultdict[tuple[int, ...], int](int)
        for one, count in counts.items():
            sums[one[:-1]] += count
        if len(next(iter(sums))) == 1:
            return sum(map(bit_steps, sums.values()))
        parts = defaultdict[tuple[int, ...], list[int]](list)
        for group, count in sums.items():
            parts[group[:-1]].append(count)
        counts = {node: _product(factors) for node, factors in parts.items()}


def _product(factors: list[int]) -> int:
    """Multiply, numbers of about one length with each other: one after the other would take quadratic time."""
    while len(factors) > 1:
        factors = [math.prod(factors[place : place + 2]) for place in range(0, len(factors), 2)]
    return factors[0]
