"""A denial constraint as a value: no two tuples may satisfy all of its predicates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dpdb.constraints.across import Across, Member
from dpdb.constraints.column_ref import ComputedRef, RowExpression
from dpdb.constraints.predicate import Predicate
from dpdb.errors import ParameterError
from dpdb.names import in_double_quotes, is_one_word

__all__ = ["MAX_PREDICATES", "DenialConstraint"]

MAX_PREDICATES = 64
"""A constraint with more predicates than this is refused."""

_LONGEST_LABEL = 200


@dataclass(frozen=True, slots=True)
class DenialConstraint:
    """No pair of tuples t1, t2 (or no single tuple) may satisfy all predicates.

    A constraint that mentions one tuple only is normalised to mention t1.

    Parameters
    ----------
    predicates
        1 to 64 predicates, in the order written.
    name, text : str, optional
        What the user calls it, and what was written, on one line and printable; both are for readers only, and equal
        constraints may differ in them.

    Attributes
    ----------
    columns : tuple of str
        The names of all compared columns, sorted; a computed column has a name of its own.
    tuple_indices : tuple of int
        The tuples mentioned: `(0,)` or `(0, 1)`.
    is_single_tuple : bool
        Whether one tuple can violate the constraint alone.

    Raises
    ------
    ParameterError
        If there is no predicate, or more than 64.

    Examples
    --------
    >>> from dpdb.constraints import parse_constraint
    >>> (dc,) = parse_constraint("zip -> city")
    >>> str(dc)
    'not(t1.zip=t2.zip&t1.city!=t2.city)'
    """

    predicates: tuple[Predicate, ...]
    name: str | None = field(default=None, compare=False, repr=False)
    text: str | None = field(default=None, compare=False, repr=False)
    columns: tuple[str, ...] = field(init=False, compare=False, repr=False)
    tuple_indices: tuple[int, ...] = field(init=False, compare=False, repr=False)
    is_single_tuple: bool = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        predicates = tuple(self.predicates)
        if not all(isinstance(predicate, Predicate) for predicate in predicates):
            raise ParameterError("predicates must be Predicate values")
        if not 1 <= len(predicates) <= MAX_PREDICATES:
            raise ParameterError(f"a denial constraint has 1 to {MAX_PREDICATES} predicates, got {len(predicates)}")
        refs = [ref for predicate in predicates for ref in predicate.columns]
        indices = tuple(sorted({ref.tuple_index for ref in refs}))
        if indices == (1,):
            predicates, indices = tuple(predicate.swapped() for predicate in predicates), (0,)
        object.__setattr__(self, "predicates", predicates)
        object.__setattr__(self, "columns", tuple(sorted({ref.column for ref in refs})))
        object.__setattr__(self, "tuple_indices", indices)
        object.__setattr__(self, "is_single_tuple", indices == (0,))

    def __str__(self) -> str:
        if self.inclusion is not None:
            among = " & ".join(filter(None, [self.inclusion.among_words, *map(str, self.conditions)]))
            return self.inclusion.rule + (f" WHERE {among}" if among else "")
        return f"not({(' & ' if self.computed else '&').join(map(str, self.predicates))})"

    @property
    def written(self) -> str:
        """The constraint for readers: with its name, where it has one, as it was written."""
        return self._named(self.text or str(self))

    @property
    def label(self) -> str:
        """The constraint for a line of text: as it was written, cut when it is long."""
        written = self.written
        return written if len(written) <= _LONGEST_LABEL else written[: _LONGEST_LABEL - 3] + "..."

    @property
    def identity(self) -> str:
        """The text that identifies releases of this constraint alone: name and predicates, however they are written."""
        return self._named(str(self))

    def _named(self, words: str) -> str:
        if self.name is None:
            return words
        return f"{self.name if is_one_word(self.name) else in_double_quotes(self.name)}: {words}"

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The names of the table's own columns that are read, sorted."""
        refs = (ref for predicate in self.predicates for ref in predicate.columns)
        return tuple(sorted({name for ref in refs for name in ref.table_columns}))

    @property
    def computed(self) -> tuple[ComputedRef, ...]:
        """The computed columns, in the order written."""
        refs = (ref for predicate in self.predicates for ref in predicate.columns)
        return tuple(ref for ref in refs if isinstance(ref, ComputedRef))

    @property
    def inclusions(self) -> tuple[Across, ...]:
        """All that its predicates say of parents: members before what they are part of."""
        said = [(ref.expression, ref.expression.members) for ref in self.computed]
        return tuple(each for one, members in said for each in (*members, *((one,) if isinstance(one, Across) else ())))

    @property
    def inclusion(self) -> Across | None:
        """The inclusion or look-up that no row may satisfy if this is a rule across tables; None for all others."""
        return next((found for predicate in self.predicates if (found := self._denied_by(predicate))), None)

    @property
    def conditions(self) -> tuple[Predicate, ...]:
        """The other predicates of a rule across tables, which restrict it to some rows."""
        return tuple(predicate for predicate in self.predicates if self._denied_by(predicate) is None)

    def _denied_by(self, predicate: Predicate) -> Across | None:
        left = predicate.left
        expression = left.expression if isinstance(left, ComputedRef) else None
        is_rule = self.is_single_tuple and predicate.is_condition and not isinstance(expression, Member)
        return expression if isinstance(expression, Across) and is_rule else None

    def swapped(self) -> DenialConstraint:
        """Return the constraint with t1 and t2 exchanged: the same violating unordered pairs."""
        return DenialConstraint(tuple(predicate.swapped() for predicate in self.predicates))

    def renamed(self, names: Mapping[str, str]) -> DenialConstraint:
        """Return the constraint with columns renamed; `names` has every one of `table_columns`."""
        return replace(self, predicates=tuple(predicate.renamed(names) for predicate in self.predicates))

    def kept_as(self, names: Mapping[RowExpression | Across, str]) -> DenialConstraint:
        """Return the constraint with computed columns under the names that they have in the engine."""
        return replace(self, predicates=tuple(predicate.kept_as(names) for predicate in self.predicates))

    def among(self, conditions: tuple[Predicate, ...]) -> DenialConstraint:
        """Return the constraint on the rows that satisfy conditions, which mention t1 only.

        In a rule across tables they stand before the conditions that it has already.
        """
        if self.inclusion is not None:
            rule = tuple(predicate for predicate in self.predicates if predicate not in self.conditions)
            return replace(self, predicates=(*rule, *conditions, *self.conditions))
        second = () if self.is_single_tuple else tuple(condition.swapped() for condition in conditions)
        return replace(self, predicates=(*self.predicates, *conditions, *second))

    def oriented(self) -> DenialConstraint:
        """Return the constraint with its predicates canonical, distinct and sorted.

        Constraints with equal oriented forms have the same violating ordered pairs.
        """
        distinct = {predicate.canonical() for predicate in self.predicates}
        return DenialConstraint(tuple(sorted(distinct, key=lambda predicate: predicate.sort_key)))

    def canonical(self) -> DenialConstraint:
        """Return the smaller of the oriented constraint and its swap.

        Constraints with equal canonical forms have the same violating unordered pairs.
        """
        return min(self.oriented(), self.swapped().oriented(), key=_sort_key)


def _sort_key(dc: DenialConstraint) -> list[tuple[int, str, int, str, str]]:
    return [predicate.sort_key for predicate in dc.predicates]
