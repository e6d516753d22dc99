"""`Release`: one noisy answer together with everything published about it."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import asdict, dataclass
from typing import Any

from dpdb._version import __version__
from dpdb.constraints import DenialConstraint
from dpdb.measures.answer import Answer
from dpdb.privacy.epsilon import as_float, format_epsilon
from dpdb.session.release_html import release_card, releases_table

__all__ = ["Release", "Releases", "constraints_digest", "make_release"]


@dataclass(frozen=True)
class Release:
    """One noisy answer. Computed once; printing, converting or fetching it again never draws noise.

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
    epsilon : float
        Privacy cost of this release.
    mechanism : str
    theta : int or None
        Projection threshold, itself released privately.
    noise_scale : float
        Scale of the Laplace noise in units of `value`.
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
    """

    measure: str
    estimand: str
    value: float
    lower: float
    upper: float | None
    confidence: float
    epsilon: float
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

    def to_dict(self) -> dict[str, Any]:
        """Return the fields, ready for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        return release_card(self)


class Releases(tuple[Release, ...]):
    """The releases of one call, in order: a tuple that a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return releases_table(self)


def constraints_digest(constraints: tuple[DenialConstraint, ...]) -> str:
    """SHA-256 of the constraints' canonical texts, one per line."""
    return hashlib.sha256("\n".join(str(dc) for dc in constraints).encode()).hexdigest()


def make_release(
    answer: Answer,
    *,
    measure: str,
    mechanism: str,
    epsilon: int,
    joint_epsilon: int,
    confidence: float,
    where: str | None,
    constraints_sha256: str,
    rows_per_person: int,
    several_slices: bool = False,
) -> Release:
    """Label an answer; `joint_epsilon` is what the call cost. Reads what is published only."""
    return Release(
        measure=measure,
        estimand=answer.estimand,
        value=_number(answer.value),
        lower=_number(answer.lower),
        upper=None if answer.upper is None else _number(answer.upper),
        confidence=confidence,
        epsilon=as_float(epsilon),
        mechanism=mechanism,
        theta=answer.theta,
        noise_scale=answer.noise_scale,
        where=where,
        constraints_sha256=constraints_sha256,
        guarantee=_guarantee(joint_epsilon, rows_per_person, together=several_slices or epsilon != joint_epsilon),
        release_id=secrets.token_hex(16),
        version=__version__,
        quantity="pairs of rows" if measure == "minimal_inconsistency" else "rows",
    )


def _guarantee(joint_epsilon: int, rows_per_person: int, *, together: bool) -> str:
    unit = "one row" if rows_per_person == 1 else f"up to {rows_per_person} rows of one person"
    jointly = "together with the releases of the same call, " if together else ""
    return (
        f"{jointly}pure {format_epsilon(joint_epsilon)}-differential privacy for adding or removing {unit}, "
        "for any unknown number of rows; covers the value, its bounds, theta and the noise scale"
    )


def _number(value: float) -> float:
    return int(value) if value == int(value) else value
