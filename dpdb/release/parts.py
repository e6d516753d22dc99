"""`Prepared`: a checked call, ready for its debit; `Part`: releases that are drawn together, such as `CountPart`.

`Slices` are the slices of one call: a `where`, or one slice per public key, checked before anything is spent.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from sqlglot import exp

from dpdb._version import __version__
from dpdb.constraints import DenialConstraint, Operator
from dpdb.constraints.text.lexer import shortened
from dpdb.engine import (
    BoundConstraint,
    Progress,
    Table,
    WherePredicate,
    comparable_column,
    no_progress,
    untyped_problem,
)
from dpdb.errors import ParameterError, PredicateError
from dpdb.measures import Answer, counted, noisy_count
from dpdb.predicates import (
    TRUE,
    Column,
    Comparison,
    Literal,
    LiteralValue,
    Region,
    all_of,
    covered,
    covered_groups,
    equality_type,
)
from dpdb.privacy import as_float, check_samplers, rho_as_float
from dpdb.release.ask import Ask, Key
from dpdb.release.costs import Charge
from dpdb.release.privacy_unit import PrivacyUnit
from dpdb.release.published.release import Release, Releases, constraints_digest
from dpdb.release.statistics import PrivateSlices
from dpdb.schema import TableSchema

_NUMBERS = ("value", "lower", "upper", "raw", "estimate_lower", "estimate_upper", "most_deletions")
"""The fields of an `Answer` that are published as whole numbers where they are whole."""


@dataclass(frozen=True)
class PublicTable:
    """The public facts of a table, from which releases are prepared.

    Attributes
    ----------
    opened : Table
        Its schema and constraints are public; it reads literals as values of the columns' types, and no row.
    max_group : int or None
        How many rows the owner declares the largest group to have.
    """

    opened: Table
    unit: PrivacyUnit
    max_group: int | None = None

    @property
    def bound(self) -> tuple[BoundConstraint, ...]:
        """The constraints, bound to the table's columns."""
        return self.opened.constraints

    @property
    def constraints(self) -> tuple[DenialConstraint, ...]:
        """The constraints as values, without the engine's bindings."""
        return tuple(bound.constraint for bound in self.bound)

    @cached_property
    def constraints_sha256(self) -> str:
        """Digest of the constraints."""
        return constraints_digest(self.constraints)


class Part(ABC):
    """Releases that are drawn together: loaded before the debit, drawn after it, then labelled."""

    @property
    def reads_graph(self) -> bool:
        """Whether a conflict graph is built."""
        return False

    def brings_rows(self, table: Table) -> bool:
        """Return whether rows of another engine's table come here: for a graph, or a closed form that needs them."""
        del table
        return self.reads_graph

    @property
    def on_one_row(self) -> bool:
        """Whether the rows that violate a single-tuple constraint are counted: one number for all measures."""
        return False

    @property
    @abstractmethod
    def costs(self) -> tuple[int, ...]:
        """The cost of each draw for a unit, in nano-epsilon; empty if the release is paid in rho."""

    def load(self) -> None:  # noqa: B027 - most have nothing to load
        """Load and compile the code of the draw. Reads constraint shapes only."""

    @abstractmethod
    def rehearse(self, slices: PrivateSlices) -> None:
        """Ask what the draw will ask, of a table without rows, and draw nothing."""

    @abstractmethod
    def draw(self, slices: PrivateSlices, progress: Progress) -> list[Answer]:
        """Read private rows and draw the noise, once."""

    @abstractmethod
    def label(self, call: Prepared, answers: Sequence[Answer]) -> list[Release]:
        """Return the answers as releases. Reads published values only."""

    def expected(self) -> list[dict[str, Any]]:
        """Return cost, noise and time of each release, for `explain`."""
        return []

    def offer(self, schema: TableSchema, rows: int) -> str | None:
        """Describe an alternative mechanism for a table of about so many rows; None if there is none."""
        del schema, rows
        return None


@dataclass(frozen=True)
class Prepared:
    """A call for releases, checked and ready for its debit.

    Attributes
    ----------
    charge : Charge
        What it costs, for which rows. Its `request` is the identity of the release: two asks whose requests are equal
        are one release, and a ledger gives a run its recorded answer for the same request only.
    parts : tuple of Part
        In the order of the answers: of measures for each slice, for each conflict graph; of a count one.
    """

    ask: Ask
    charge: Charge
    parts: tuple[Part, ...]
    slices: Slices
    table: PublicTable

    def load(self) -> None:
        """Load and compile all code of the draw, before the debit. Reads constraint shapes only."""
        check_samplers(gaussian=self.ask.rho is not None)
        self.table.opened.rehearse(self.slices.predicates, counts=self.ask.counts_rows)
        for part in self.parts:
            part.load()

    def rehearse(self, slices: PrivateSlices) -> None:
        """Ask what the draw will ask, of a table without rows: all of the first slice, the predicates of the others."""
        if len(self.slices.predicates) > 1 and not self.ask.counts_rows:
            slices.counts(self.slices.predicates)
        for part in self.parts[: -(-len(self.parts) // len(self.slices.predicates))]:  # slice by slice
            part.rehearse(slices)

    def draw(self, slices: PrivateSlices, progress: Progress = no_progress) -> Releases:
        """Draw the noise of all parts, once, and return the releases."""
        return Releases(found for part in self.parts for found in part.label(self, part.draw(slices, progress)))

    def release(
        self,
        answer: Answer,
        *,
        measure: str,
        mechanism: str,
        epsilon: int | None,
        rho: int | None,
        predicate: WherePredicate | None,
        constraint: DenialConstraint | None = None,
        rate: bool = False,
        theta_from: str | None = None,
    ) -> Release:
        """Label an answer that costs nano-`epsilon` or pico-`rho` of the charge. Reads no private value.

        Parameters
        ----------
        answer
            The noisy answer of a mechanism.
        epsilon, rho
            What the answer costs the unit: nano-epsilon or pico-rho; the other one is None.
        predicate
            The slice; None for the whole table.
        constraint
            The constraint that was measured alone. Default: all of them, or none for a count.
        rate
            Whether the answer is a share of the rows.
        theta_from
            The source of a public theta. Default: theta was not public.
        """
        counts, unit = counted(measure), self.table.unit
        assert counts is not None, "sessions release what is registered"
        together = self.ask.by is not None or (epsilon or 0, rho) != (self.charge.epsilon, self.charge.rho)
        numbers = {name: _number(getattr(answer, name)) for name in _NUMBERS}
        answered = vars(answer) | numbers | {"estimand": unit.estimand(answer.estimand)}
        return Release(
            **answered,
            measure=measure,
            confidence=self.ask.confidence,
            epsilon=None if epsilon is None else as_float(epsilon),
            mechanism=mechanism,
            where=None if predicate is None else predicate.text,
            constraints_sha256=self.table.constraints_sha256,
            guarantee=f"{'together with the releases of the same call, ' if together else ''}{self.charge.promise} for "
            f"adding or removing {unit.words}, for any unknown number of rows; covers the value, its bounds, theta and "
            "the noise scale",
            release_id=new_release_id(),
            version=__version__,
            rho=None if rho is None else rho_as_float(rho),
            quantity=counts.per_row if rate else counts.quantity(mechanism),
            constraint=None if constraint is None else constraint.identity,
            unit=unit.words,
            theta_from=theta_from,
            constraint_text=None if constraint is None else constraint.label,
            population=unit.population,
        )


@dataclass(frozen=True)
class Counting(Part):
    """Counts of disjoint sets of rows; exactly one of `epsilon` and `rho` is set.

    Attributes
    ----------
    epsilon, rho : int or None
        What the call costs one unit: nano-epsilon or pico-rho.
    per_row : int
        What the noise of one row's change may cost, in the same parameter.
    confidence : float
        Of each count, or of what is said of all together.
    """

    epsilon: int | None
    rho: int | None
    per_row: int
    confidence: float

    @property
    def costs(self) -> tuple[int, ...]:
        """The cost of one count: the others are of other rows."""
        return () if self.epsilon is None else (self.epsilon,)

    def _release(self, call: Prepared, answer: Answer, predicate: WherePredicate | None) -> Release:
        return call.release(
            answer,
            measure=call.ask.measure,
            mechanism="laplace" if self.rho is None else "gaussian",
            epsilon=self.epsilon,
            rho=self.rho,
            predicate=predicate,
        )


@dataclass(frozen=True)
class CountPart(Counting):
    """A count of the rows of each slice.

    Attributes
    ----------
    predicates : tuple of WherePredicate or None
        The slices, which one scan counts; None is the whole table.
    """

    predicates: tuple[WherePredicate | None, ...]

    def rehearse(self, slices: PrivateSlices) -> None:
        """Count no rows."""
        slices.counts(self.predicates)

    def draw(self, slices: PrivateSlices, progress: Progress) -> list[Answer]:
        """Count the rows of all slices and draw a noise for each."""
        del progress
        beta, gaussian = 1 - self.confidence, self.rho is not None
        counts = slices.counts(self.predicates)
        return [noisy_count(count, self.per_row, beta, gaussian=gaussian) for count in counts]

    def label(self, call: Prepared, answers: Sequence[Answer]) -> list[Release]:
        """Return a release for each slice."""
        found = zip(answers, self.predicates, strict=True)
        return [self._release(call, answer, predicate) for answer, predicate in found]


def new_release_id() -> str:
    """Return a random id, from the operating system."""
    return secrets.token_hex(16)


def _number(value: float | None) -> float | None:
    return int(value) if value is not None and value == int(value) else value


_SHOWN_KEY = 60
_WRITTEN_BITS = 2_000  # 602 digits; where Python has a limit for writing integers, it is at least 640


@dataclass(frozen=True)
class Slices:
    """The disjoint slices of one call.

    Attributes
    ----------
    predicates : tuple of WherePredicate or None
        One per slice; None is the whole table.
    keys : tuple of str or None
        The canonical texts of the keys.
    charged : Region
        Every row that can change an answer: both tuples of a conflict lie in one slice. Never empty. It comes from the
        same bound trees as the SQL of the slices.
    words : str or None
        SQL predicate of the rows that lie in some slice, for readers; None means all rows.
    """

    predicates: tuple[WherePredicate | None, ...]
    keys: tuple[str, ...] | None
    charged: Region
    words: str | None


def parse_slices(table: Table, where: str | None, by: str | None, keys: Sequence[Key] | None) -> Slices:
    """Return the slices of a call; `by` and `keys` come together (see `Ask`). Reads no row.

    Without them there is one slice. With them there is one per key, in the order given; they are disjoint, because the
    keys are different values of one column, so one row lies in at most one of them and they cost what one of them costs
    (parallel composition). Keys are public and fixed in advance: an absent group gets noise like the others, also one
    that `where` excludes, and is charged for its own rows.

    Parameters
    ----------
    table
        The table; only its schema and types are read.
    where
        A predicate that restricts every slice; None for no restriction.
    by
        A column, one slice per key; None for one slice.
    keys
        The public values of `by`, in the order of the slices.

    Raises
    ------
    ParameterError
        If a key is not a value of the column, or two are equal as values of the column ('1' and '01', '1 month' and
        '30 days').
    PredicateError
        As `parse_where`, and if `where` selects no row whatever the table holds: nothing is free, and for nothing there
        is nothing to release.
    """
    base = None if where is None else table.where(where)
    tree = TRUE if base is None else base.tree
    rows = covered(tree)
    if rows.is_contradiction:
        raise PredicateError(
            f"where: {shortened(str(where))} selects no row, whatever the table holds; write a predicate that rows can "
            "satisfy"
        )
    if by is None or keys is None:
        assert by is keys, "an ask has both or neither"
        return Slices((base,), None, rows, None if base is None else base.text)
    column = comparable_column(by, table.schema, "by")
    for key in keys:
        value = _literal_value(key, column)
        problem = untyped_problem(table.schema[column.name], value)
        if problem is None and equality_type(column.type) == "VARCHAR" and not isinstance(value, str):
            problem = f"column {column.name!r} is text; write the key as the text that the column has, in quotes"
        if problem is not None:
            raise ParameterError(f"key {_named(key)}: {problem}")
    literals = _key_literals(table, column, keys)
    texts = table.texts_of(literals)
    predicates = tuple(_group(base, column, literal, text) for literal, text in zip(literals, texts, strict=True))
    inside = exp.In(
        this=exp.column(column.name, quoted=True), expressions=[exp.Literal.string(text) for text in texts]
    ).sql("duckdb")
    words = inside if base is None else f"({base.text}) AND {inside}"
    return Slices(predicates, tuple(texts), covered_groups(tree, column, literals), words)


def _key_literals(table: Table, column: Column, keys: Sequence[Key]) -> list[Literal]:
    """Read keys as values of the column's own type, all different as the engine compares them."""
    values = [_literal_value(key, column) for key in keys]
    literals: list[Literal] = []
    for key, literal in zip(keys, table.literals(values, column.type), strict=True):
        if literal is None or literal.type != column.type:  # compared more widely, hence no value of the column
            raise _no_value(key, column)
        literals.append(literal)
    same = table.equal_values(literals)
    if same is not None:
        first, second = (_named(keys[place]) for place in same)
        raise ParameterError(f"keys {first} and {second} are the same value of {column.name!r}")
    return literals


def _literal_value(key: Key, column: Column) -> LiteralValue:
    if isinstance(key, float):
        return Decimal(repr(key))
    if isinstance(key, int) and not isinstance(key, bool):
        return Decimal(key)  # its text has no limit
    if isinstance(key, (bool, str, Decimal)):
        return key
    raise _no_value(key, column)


def _no_value(key: object, column: Column) -> ParameterError:
    return ParameterError(f"key {_named(key)} is not a value of {column.name!r} ({column.type})")


def _named(key: object) -> str:
    """A key in a message."""
    if isinstance(key, int) and key.bit_length() > _WRITTEN_BITS:
        return "of hundreds of digits"
    words = repr(key)
    return words if len(words) <= _SHOWN_KEY else f"{words[: _SHOWN_KEY - 3]}..."


def _group(base: WherePredicate | None, column: Column, literal: Literal, text: str) -> WherePredicate:
    is_key = Comparison(Operator.EQ, column, literal)
    name = exp.to_identifier(column.name, quoted=not column.name.isidentifier())
    words = exp.EQ(this=name, expression=exp.Literal.string(text)).sql("duckdb")
    if base is None:
        return WherePredicate(words, is_key)
    return WherePredicate(f"({base.text}) AND {words}", all_of([base.tree, is_key]))
