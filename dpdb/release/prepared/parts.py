"""`Prepared`: a checked call, ready for its debit; `Part`: releases that are drawn together, such as `CountPart`."""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpdb._version import __version__
from dpdb.constraints import DenialConstraint
from dpdb.engine import BoundConstraint, Progress, Table, WherePredicate, no_progress
from dpdb.measures import Answer, counted, noisy_count
from dpdb.privacy import as_float, check_samplers, rho_as_float
from dpdb.release.accounts.charge import Charge
from dpdb.release.ask import Ask
from dpdb.release.prepared.slices import Slices
from dpdb.release.private_slices import PrivateSlices
from dpdb.release.published.release import Release, Releases, constraints_digest
from dpdb.release.published.words import SHARE
from dpdb.release.units.privacy_unit import PrivacyUnit
from dpdb.schema import TableSchema

__all__ = ["CountPart", "Part", "Prepared", "PublicTable"]

_NUMBERS = ("value", "lower", "upper", "raw", "estimate_lower", "estimate_upper")
"""The fields of an `Answer` that are published as whole numbers where they are whole."""


@dataclass(frozen=True)
class PublicTable:
    """The public facts of a table, from which releases are prepared.

    Attributes
    ----------
    opened : Table
        Its schema and constraints are public; it reads literals as values of the columns' types, and no row.
    unit : PrivacyUnit
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

    @property
    def on_one_row(self) -> bool:
        """Whether the rows that violate a single-tuple constraint are counted: one number for all measures."""
        return False

    @property
    @abstractmethod
    def costs(self) -> tuple[int, ...]:
        """The cost of each draw for a unit, in nano-epsilon; empty if the release is paid in rho."""

    def load(self, *, again: bool) -> None:  # noqa: B027 - most have nothing to load
        """Load and compile the code of the draw. Reads constraint shapes only. `again`: see `load_kernels`."""

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
    ask : Ask
    charge : Charge
        What it costs, for which rows. Its `request` is the identity of the release: two asks whose requests are equal
        are one release, and a ledger gives a run its recorded answer for the same request only.
    parts : tuple of Part
        In the order of the answers: of measures for each slice, for each conflict graph; of a count one.
    slices : Slices
    table : PublicTable
    """

    ask: Ask
    charge: Charge
    parts: tuple[Part, ...]
    slices: Slices
    table: PublicTable

    def load(self, *, again: bool = False) -> None:
        """Load and compile all code of the draw, before the debit. Reads constraint shapes only."""
        check_samplers(gaussian=self.ask.rho is not None)
        self.table.opened.rehearse(self.slices.predicates, counts=self.ask.counts_rows)
        for part in self.parts:
            part.load(again=again)

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
        predicate: WherePredicate | None,
        constraint: DenialConstraint | None = None,
        rate: bool = False,
        theta_from: str | None = None,
    ) -> Release:
        """Label an answer that costs nano-`epsilon` of the charge, or all its rho. Reads no private value.

        Parameters
        ----------
        answer
            The noisy answer of a mechanism.
        measure, mechanism
            The names to publish.
        epsilon
            Nano-epsilon that the answer costs the unit; None if it is paid in rho.
        predicate
            The slice; None for the whole table.
        constraint
            The constraint that was measured alone. Default: all of them, or none for a count.
        rate
            Whether the answer is a share of the rows.
        theta_from
            The source of a public theta. Default: theta was not public.
        """
        counts, unit, rho = counted(measure), self.table.unit, self.charge.rho
        assert counts is not None, "sessions release what is registered"
        together = self.ask.by is not None or (epsilon or 0) != self.charge.epsilon
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
            release_id=secrets.token_hex(16),
            version=__version__,
            rho=None if rho is None else rho_as_float(rho),
            quantity=SHARE if rate else counts.quantity(mechanism),
            constraint=None if constraint is None else constraint.identity,
            unit=unit.words,
            theta_from=theta_from,
            constraint_text=None if constraint is None else constraint.label,
        )


@dataclass(frozen=True)
class CountPart(Part):
    """A count of the rows of each slice; exactly one of `epsilon` and `rho` is set.

    Attributes
    ----------
    epsilon, rho : int or None
        What the call costs one unit: nano-epsilon or pico-rho.
    per_row : int
        What the noise of one row's change may cost, in the same parameter.
    confidence : float
    predicates : tuple of WherePredicate or None
        The slices, which one scan counts; None is the whole table.
    """

    epsilon: int | None
    rho: int | None
    per_row: int
    confidence: float
    predicates: tuple[WherePredicate | None, ...]

    @property
    def costs(self) -> tuple[int, ...]:
        """The cost of one slice: the other slices have other rows."""
        return () if self.epsilon is None else (self.epsilon,)

    def draw(self, slices: PrivateSlices, progress: Progress) -> list[Answer]:
        """Count the rows of all slices and draw a noise for each."""
        del progress
        beta, gaussian = 1 - self.confidence, self.rho is not None
        counts = slices.counts(self.predicates)
        return [noisy_count(count, self.per_row, beta, gaussian=gaussian) for count in counts]

    def label(self, call: Prepared, answers: Sequence[Answer]) -> list[Release]:
        """Return a release for each slice."""
        mechanism = "laplace" if self.rho is None else "gaussian"
        return [
            call.release(
                answer, measure=call.ask.measure, mechanism=mechanism, epsilon=self.epsilon, predicate=predicate
            )
            for answer, predicate in zip(answers, self.predicates, strict=True)
        ]


def _number(value: float | None) -> float | None:
    return int(value) if value is not None and value == int(value) else value
