"""Private parents while a row stays the unit: at most k children of each key are used, so no row decides over more.

The other form (`dpdb.release.privacy_unit`) protects a key with all its rows in both tables. Here neighbours
differ by **one row of the measured table D or of one private parent P**. A row of P may make orphans of all its
children, so a session reads at most k children of each key that refers to a private parent: T(D, P, ...) are the rows
of D that are among the first k children of every such key of theirs (`dpdb.engine.unit_rows`), each with one
more value per rule, whether it is an orphan. Let m be the number of different keys by which D is limited, and r(P) the
number of different pairs of such a key and columns of P (rules that differ in conditions only have one pair).

**Stability.** Let one row come or go.

1. *Of D, P the same.* Rows have a fixed order (by hash, values, number of the copy), so for each key the first k of the
   row's group lose at most one other row, or regain it. So T changes by that row and by at most m others, all in one
   direction each: at most **1 + m rows**. What a row is an orphan of depends on itself and P, so nothing else changes.
2. *Of P, D the same.* The rows of T are the same, because their choice reads D alone. The row of P has one value in the
   columns of each of the r(P) pairs, and only rows whose key equals it may become or cease to be orphans. Those are in
   one group of the key, because groups are of values as they are compared, and T has at most k of them. So at most
   **k r(P) rows of T flip**: leave with one value and come with another.
3. *Where P is D itself* a row does both: 1 + m rows come or go, and then k r(P) flip.

Rows where the key is NULL are in nobody's group: they are all used, and no row of P decides over them.

**Cost.** Let M be what a session releases of T altogether, adaptively, release i of charge e_i on its rows R_i. It runs
at e_i / d_i for each row of T that comes or goes: the guarantee that every mechanism and the accountant have for tables
of rows. What a release loses by a flip is f_i e_i / d_i with

- f = 2 in general, because a flip is a row that goes and one that comes;
- f = 1 where only constraints on single tuples are measured: their graph has no edge, and every statistic is a function
  of the number U of rows that violate one, which changes by 1 (a rate's count of rows does not change);
- f = 0 where no rule on a private parent is measured, and for counts of rows: nothing that flips is read.

A row of P then costs the sum over its flips x of the sum of f_i e_i / d_i over the R_i that hold x. With d_i at least
f_i k r(P) that is at most the mean over flips of what the accountant says that a row collects, so at most the budget.
A row of D costs the same with 1 + m instead of k r(P), for d_i at least 1 + m. So the divisor is

    d = max(1 + m, f k max over P of r(P)),

and where P may be D itself, for all releases alike (the rows that come and those that flip may lie in different
slices), d = max(1 + m + 2 k r(D), 2 k r(P) of other parents). With `rows_per_person` it is so many times as much.

In rho or mu squared release i costs a row of P at most c((n_i / (k r)) e_i), n_i the flips in R_i and c the cost of a
pure release. For c(e) = e^2 / 2 that is at most n_i / (k r) c(e_i). In mu, c(e)^(1/2) = 2 Phi^-1(e^e / (1 + e^e)) is
concave (van Zwet 1964: the logistic law is the normal one stretched by a function that is concave above 0), so x c(e /
x)^(1/2) does not fall as x grows, and what `pure_units` charges for the largest d, d^2 c(e / d), is at least what it
would charge for d_i. The sum over i is again at most the overlap. A count with Gaussian noise has f = 0 and costs a row
of P nothing.

**k is not enough where k = 1**, even for orphans alone: for k = 1 and m = 1 a new child takes the place of another one
that may lie in another slice, and releases of disjoint slices are charged once. Hence 1 + m above.

**Monotone statistics.** One row of P moves k rows from the graph to U: then U grows and the graph shrinks, and sums of
both may do either. No mechanism needs to know: from T to its neighbour T' lead tables T = T0, T1, ..., Tn = T', each
with one row more or less than the one before; for such a pair every statistic is monotone and the selection's guarantee
of e / d holds, n <= d times in all. That those between belong to no D and P does not matter, because a mechanism reads
a table and not where it comes from. So the default mechanisms serve here, too.

**The ledger.** The ledger of D is charged by the overlap of rows of D: the above says that it bounds what a row of P
loses by releases of D, and a database differs in a row of one of them. P has a ledger of its own, for what is released
of P: that one is charged, too, the same for every row (`dpdb.release.pair`). The ledger of D is bound to the pairs and
to k, because they decide over T and d. Of a session without rules on private parents d is 1 (`rows_per_person`), so
that is another binding: new rows would cost it e_i / 1, and others of this form beside that. An append-only ledger is
refused, because a new child may take the place of an older one. A budget in memory adds up releases, each of which
keeps its epsilon by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from dpdb.constraints import DenialConstraint, Inclusion
from dpdb.engine import BoundInclusion, ChildKey, child_key
from dpdb.names import quoted_name


@dataclass(frozen=True)
class Link:
    """A key of the measured table, and the columns of a private parent that it is looked up in.

    Attributes
    ----------
    rule : Inclusion
        Its columns in one order.
    is_measured : bool
        Whether the parent is the measured table itself.
    """

    key: ChildKey
    rule: Inclusion
    is_measured: bool

    @classmethod
    def of(cls, bound: BoundInclusion) -> Link:
        """Return the link that a rule uses; rules that differ in conditions only use one."""
        columns, others = zip(*sorted({(pair.column, pair.parent_column) for pair in bound.pairs}), strict=True)
        return cls(child_key(bound), Inclusion(columns, bound.parent, others), bound.is_measured)


@dataclass(frozen=True)
class LimitedChildren:
    """The limit of children of each key, and the bounds that follow from it.

    Attributes
    ----------
    most : int
        The k of the module's proof.
    rows_per_person : int
        Rows of one person in all tables together.
    links : tuple of Link
        To private parents; none as long as no table is open, or if its constraints have no rule on one.
    """

    most: int
    rows_per_person: int = 1
    links: tuple[Link, ...] = ()

    def linked(self, rules: Iterable[BoundInclusion]) -> LimitedChildren:
        """Return the same limit with the links of a table's rules; those to public parents limit nothing."""
        found = {Link.of(rule) for rule in rules if not rule.is_public}
        return replace(self, links=tuple(sorted(found, key=lambda link: (link.rule.rule, link.key))))

    @property
    def parents(self) -> list[str]:
        """The private parents beside the measured table, in the order of their names."""
        return sorted({link.rule.parent for link in self.links if not link.is_measured})

    @property
    def changed_rows(self) -> int:
        """The most rows that one unit changes in the table that is read: the divisor for every release."""
        return self._divisor(2)

    def divisor(self, constraints: Sequence[DenialConstraint]) -> int:
        """Return the divisor of epsilon for each row of a release that measures some constraints (none: of a count)."""
        private = {link.rule.parent for link in self.links}
        across = [dc for dc in constraints if any(rule.parent in private for rule in dc.inclusions)]
        if not across:
            return self._divisor(0)
        return self._divisor(1 if all(dc.is_single_tuple for dc in constraints) else 2)

    def _divisor(self, flip: int) -> int:
        come_and_go = 1 + len({link.key for link in self.links})
        itself = any(link.is_measured for link in self.links)
        pairs = Counter((link.rule.parent, link.is_measured) for link in self.links)
        most = come_and_go
        for (_, is_measured), count in pairs.items():
            flipped = (2 if itself else flip) * self.most * count
            most = max(most, come_and_go * is_measured + flipped)
        return most * self.rows_per_person

    @property
    def unit_words(self) -> str:
        """What is added or removed between neighbours."""
        if not self.links:
            return "one row" if self.rows_per_person == 1 else f"up to {self.rows_per_person} rows of one person"
        one = "one row" if self.rows_per_person == 1 else f"up to {self.rows_per_person} rows of one person,"
        return f"{one} of {self._tables}, using at most {self._limit}"

    @property
    def estimand_words(self) -> str:
        """The rows that the estimand leaves out, in words."""
        return f", using at most {self._limit}" if self.links else ""

    @property
    def population(self) -> str | None:
        """The rows that every number is of, in words; None without rules on private parents, when all are used."""
        return f"rows used, at most {self.most} of each {' and of each '.join(self._keys)}" if self.links else None

    @property
    def bound(self) -> str | None:
        """The unit in words that a ledger is bound to; None without rules on private parents."""
        if not self.links:
            return None
        rules = "; ".join(link.rule.rule for link in self.links)
        return f"{self._tables} with at most {self.most} children of each key ({rules})"

    @property
    def _tables(self) -> str:
        return " or of ".join(["the table", *self.parents])

    @property
    def _limit(self) -> str:
        rows = "1 row" if self.most == 1 else f"{self.most} rows"
        return f"{rows} of each value of {' and of '.join(self._keys)}"

    @property
    def _keys(self) -> list[str]:
        keys = sorted({tuple(column.name for column in link.key) for link in self.links})
        return [quoted_name(key[0]) if len(key) == 1 else f"({', '.join(map(quoted_name, key))})" for key in keys]
