"""`ListedCounts`: counts of a long public list of keys, of which only those above a public threshold are listed.

All noises are drawn in one call and added to all counts, which is the release: epsilon-DP, because one row more changes
one of the counts by 1 or none (`dpdb.engine.listed_keys`), whatever the other keys are. What is listed is a function of
these noisy numbers, of the threshold and of nothing else, so leaving keys out costs nothing and needs no delta.

The threshold T is public: the smallest at which no key without rows is listed, of all m keys together, with the
confidence 1 - beta. With independent noises X of the same law that is (1 - Pr[X > T])^m >= 1 - beta. A key that is not
listed has a noisy count of at most T. By the symmetry of the noise -X is at most T for all m keys together with the
same confidence, and then each count that is not listed is at most T + T: fewer than N = 2 T + 1 rows. A listed count
has bounds at the half width t with (1 - 2 Pr[X > t])^m >= 1 - beta: they hold for all keys together, so also for those
that are listed because their noise was large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

from sqlglot import exp

from dpdb.constraints import Operator
from dpdb.engine import Progress, Table, WherePredicate, comparable_column
from dpdb.measures import Answer, noisy_keys
from dpdb.predicates import Column, Comparison, Literal, all_of
from dpdb.privacy import gaussian_scale, gaussian_tail, laplace_scale, laplace_tail
from dpdb.release.ask import Key
from dpdb.release.parts import Counting, Prepared, Slices, parse_slices
from dpdb.release.published.release import Release
from dpdb.release.statistics import PrivateSlices


@dataclass(frozen=True)
class KeyAnswer(Answer):
    """The count of one listed key, by its place in the list."""

    place: int = -1


@dataclass(frozen=True)
class ListedCounts(Counting):
    """The counts of many keys."""

    predicate: WherePredicate | None
    column: Column
    keys: tuple[str, ...]

    @property
    def scale(self) -> float:
        """Of the noise of each count. Public."""
        return (laplace_scale if self.rho is None else gaussian_scale)(1, self.per_row)

    @property
    def threshold(self) -> int:
        """T: counts with noise above it are listed. Public."""
        return self._width(1)

    @property
    def below(self) -> int:
        """N: a key that is not listed has fewer rows, all of them together with the confidence. Public."""
        return 2 * self.threshold + 1

    def _width(self, sides: int) -> int:
        """Return the smallest t beyond which no noise of all keys lies, on one side or on two, with the confidence."""
        each = -math.expm1(math.log(self.confidence) / len(self.keys)) / sides
        return (laplace_tail if self.rho is None else gaussian_tail)(self.scale, each)

    @property
    def words(self) -> str:
        """What a key that is not listed means."""
        return not_listed_words(self.below, len(self.keys), self.confidence)

    def rehearse(self, slices: PrivateSlices) -> None:
        """Count no rows."""
        slices.count_keys(self.predicate, self.column.name, self.keys)

    def draw(self, slices: PrivateSlices, progress: Progress) -> list[Answer]:
        """Count the rows of all keys, draw all noises, and keep what is above the threshold."""
        del progress
        counts = slices.count_keys(self.predicate, self.column.name, self.keys)
        noisy = noisy_keys(counts, self.per_row, gaussian=self.rho is not None)
        width, estimand = self._width(2), f"number of rows in the slice; {self.words}"
        return [
            KeyAnswer(
                value=number,
                lower=max(0, number - width),
                upper=number + width,
                noise_scale=self.scale,
                estimand=estimand,
                estimate_lower=max(0, number - width),
                estimate_upper=number + width,
                place=place,
            )
            for place, number in enumerate(noisy)
            if number > self.threshold
        ]

    def label(self, call: Prepared, answers: Sequence[Answer]) -> list[Release]:
        """Return a release for each listed key."""
        plain = [Answer(**{field.name: getattr(answer, field.name) for field in fields(Answer)}) for answer in answers]
        return [self._release(call, one, self._slice(answer)) for one, answer in zip(plain, answers, strict=True)]

    def _slice(self, answer: Answer) -> WherePredicate:
        assert isinstance(answer, KeyAnswer), "they are those of `draw`"
        text = self.keys[answer.place]
        name = exp.to_identifier(self.column.name, quoted=not self.column.name.isidentifier())
        words = exp.EQ(this=name, expression=exp.Literal.string(text)).sql("duckdb")
        of_key = Comparison(Operator.EQ, self.column, Literal(self.column.type, text, text))
        if self.predicate is None:
            return WherePredicate(words, of_key)
        return WherePredicate(f"({self.predicate.text}) AND {words}", all_of([self.predicate.tree, of_key]))


def not_listed_words(below: int, keys: int, confidence: float) -> str:
    """Return what a key that is not listed means, in words.

    Parameters
    ----------
    below
        The number of rows that it has fewer than.
    keys
        How many the list has.
    """
    sure = f"{100 * confidence:g}% sure" + (f" of all {keys:,} keys together" if keys > 1 else "")
    return f"a key that is not listed has fewer than {below:,} rows, {sure}"


def listed_words(call: Prepared, releases: Sequence[Release]) -> str:
    """Return how many keys a call for many keys lists, and what a key means that it does not list, in words.

    The second is public, and known before; the first is what the noisy counts say.
    """
    [part] = call.parts
    assert isinstance(part, ListedCounts), "it is such a call"
    keys = len(part.keys)
    said = "1 key is" if keys == 1 else f"{keys:,} keys are"
    return f"{len(releases):,} of {said} listed; {part.words}"


def listed_slices(table: Table, where: str | None, by: str, keys: Sequence[Key]) -> tuple[Slices, Column]:
    """Return the rows of a call for many keys, and the column of these. Reads no row.

    The rows of all keys are charged, and those of no key, too: a list of so many keys would be the larger part of a
    ledger. Its keys are public and fixed in advance.

    Raises
    ------
    ParameterError, PredicateError, UnknownColumnError
        As `parse_slices`, and if the column's type has no such list (`dpdb.engine.listed_keys`).
    """
    whole = parse_slices(table, where, None, None)
    column = comparable_column(by, table.schema, "by")
    texts = tuple(table.listed_keys(column.name, [str(key) for key in keys]))
    return Slices(whole.predicates, texts, whole.charged, whole.words), column
