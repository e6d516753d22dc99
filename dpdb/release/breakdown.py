"""The conflict graphs of one call: that of all constraints, or one for each constraint alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dpdb.engine.sql.bind import BoundConstraint
from dpdb.engine.sql.degree_bound import degree_terms
from dpdb.privacy import split
from dpdb.release.request import Request

__all__ = ["Part", "each_constraint_parts", "within_groups"]


@dataclass(frozen=True)
class Part:
    """What is asked of one conflict graph.

    Attributes
    ----------
    request : Request
        With the part of the call's cost that it may spend.
    position : int or None
        Of the constraint that is measured alone; None for all constraints together.
    constraint : str or None
        Its text.
    """

    request: Request
    position: int | None = None
    constraint: str | None = None

    def measured(self, constraints: Sequence[BoundConstraint]) -> Sequence[BoundConstraint]:
        """Those of all constraints that the graph has."""
        return constraints if self.position is None else [constraints[self.position]]


def within_groups(
    parts: Sequence[Part], constraints: Sequence[BoundConstraint], max_group: int | None
) -> tuple[Part, ...]:
    """Tell `two_sided` how large the owner declares the largest group of rows to be; None: nothing is declared."""
    if max_group is None:
        return tuple(parts)
    return tuple(
        replace(part, request=part.request.within(degree_terms(part.measured(constraints)).within(max_group)))
        for part in parts
    )


def each_constraint_parts(
    request: Request, constraints: Sequence[BoundConstraint], *, mechanism: str | None, rows_per_person: int
) -> tuple[Part, ...]:
    """Split a request evenly among the constraints, in their order, each to be measured alone.

    All parts read the same rows, so they compose sequentially: their exact shares of epsilon add up to the request's,
    which is debited once. The split reads the number of constraints only, which is public.

    Raises
    ------
    ParameterError
        If a share is too small to use.
    """
    shares = split(request.charged, [1] * len(constraints))
    return tuple(
        Part(
            request.part(
                share,
                mechanism=mechanism,
                rows_per_person=rows_per_person,
                covers_all_rows=degree_terms([dc]).covers_all_rows,
            ),
            position,
            str(dc.constraint),
        )
        for position, (share, dc) in enumerate(zip(shares, constraints, strict=True))
    )
