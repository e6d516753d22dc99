"""`Published`: the fields of everything published; `ReleaseFields`: the fields of one noisy answer.

As an Arrow table they have the one column layout of every surface (SQL results, result tables, reports).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa

__all__ = ["RELEASE_SCHEMA", "Published", "ReleaseFields", "release_table"]


class Published(ABC):
    """A published value: its identity, statistic, unit and cost; `ReleaseFields` says what each field is.

    Each subclass is a frozen dataclass; its own field order is that of its record.
    """

    release_id: str
    version: str
    constraints_sha256: str
    where: str | None
    unit: str | None
    confidence: float
    epsilon: float | None
    rho: float | None
    guarantee: str

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON, as an account records them."""

    @property
    @abstractmethod
    def words(self) -> str:
        """Its meaning in words, without its guarantee."""


@dataclass(frozen=True)
class ReleaseFields(Published):
    """The fields of a `Release`: all that is published, and nothing else.

    Attributes
    ----------
    measure : str
        ``"minimal_inconsistency"``, ``"problematic"``, ``"repair"`` or ``"count"``.
    estimand : str
        What `value` estimates; it is not always the measure itself.
    value : float
        The noisy answer, never below 0.
    lower, upper : float or None
        With probability at least `confidence`, over the noise, the estimand lies between them; `upper` is None where
        no valid upper bound exists.
    confidence : float
    epsilon : float or None
        Privacy cost of this release; None if it is paid in rho.
    mechanism : str
    theta : int or None
        Projection threshold, itself released privately.
    noise_scale : float
        Scale of the Laplace noise, or of the Gaussian noise its standard deviation, in units of `value`.
    where : str or None
        The slice, as a predicate.
    constraints_sha256 : str
        Digest of the distinct constraints, in order.
    guarantee : str
        The privacy guarantee in words.
    release_id : str
        Random, from the operating system.
    version : str
        Version of dpdb.
    quantity : str
        What `value` counts: ``"pairs of rows"``, ``"rows"`` or ``"share of rows"``.
    constraint : str or None
        The one constraint that is measured, in a breakdown; None if all of the session's constraints are.
    rho : float or None
        Privacy cost of a release that is zCDP and not pure.
    upper_reason : str or None
        Why `upper` is None; None if there is an upper bound.
    raw : float or None
        `value` before it was clamped; None in releases of older versions, which did not keep it.
    estimate_lower, estimate_upper : float or None
        With probability at least `confidence` they hold what `value` estimates *at this theta* between them, whatever
        part of the measure theta leaves out; see `dpdb.measures.estimate`.
    estimate_reason : str or None
        Why there is no such interval.
    unit : str or None
        What neighbouring tables differ by, in words; None in releases of older versions.
    theta_from : str or None
        Where a theta comes from that this release did not choose: given, or kept from an earlier release.
    handicaps : int or None
        How many handicaps the noise of a `ladder` has that published one of several numbers; None for other noise.
    draw_share : float or None
        The part of 1 - confidence that falls to this number, of all that might have been published instead.
    theta_limits : bool or None
        Whether released numbers show that theta may have left much out; None where there is no theta or they cannot
        tell. See `dpdb.measures.estimate`.
    constraint_text : str or None
        `constraint` as it was written, for readers; no two releases are told apart by it.
    """

    measure: str
    estimand: str
    value: float
    lower: float
    upper: float | None
    confidence: float
    epsilon: float | None
    mechanism: str
    theta: int | None
    noise_scale: float
    where: str | None
    constraints_sha256: str
    guarantee: str
    release_id: str
    version: str
    quantity: str
    constraint: str | None = None
    rho: float | None = None
    upper_reason: str | None = None
    raw: float | None = None
    estimate_lower: float | None = None
    estimate_upper: float | None = None
    estimate_reason: str | None = None
    unit: str | None = None
    theta_from: str | None = None
    handicaps: int | None = None
    draw_share: float | None = None
    theta_limits: bool | None = None
    constraint_text: str | None = None

    @property
    def shown_constraint(self) -> str | None:
        """The constraint for readers: as it was written, but for releases of older versions."""
        return self.constraint_text or self.constraint

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return asdict(self)


_COLUMN_TYPES = {"str": pa.string(), "float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}

# One column per field of `Release`, in its order; NULL where the field may be None.
RELEASE_SCHEMA = pa.schema(
    pa.field(field.name, _COLUMN_TYPES[str(field.type).removesuffix(" | None")], nullable="None" in str(field.type))
    for field in fields(ReleaseFields)
)


def release_table(releases: Iterable[ReleaseFields]) -> pa.Table:
    """Return the releases as rows of `RELEASE_SCHEMA`, in order. Costs nothing: releases are public."""
    return pa.Table.from_pylist([release.to_dict() for release in releases], schema=RELEASE_SCHEMA)
