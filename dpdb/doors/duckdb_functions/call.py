"""`Call`: the arguments of one call of `dp_inconsistency` or `dp_count` in SQL."""

from __future__ import annotations

from dataclasses import dataclass

from dpdb.errors import ParameterError
from dpdb.release import Release, Session

__all__ = ["Call"]


@dataclass(frozen=True)
class Call:
    """What was asked, hashable: equal calls of one transaction are one release."""

    function: str
    table: str
    measure: str
    epsilon: float | None
    where: str | None
    by: str | None
    keys: tuple[str, ...] | None
    mechanism: str | None
    confidence: float
    max_degree: int | None
    run_id: str | None
    theta: int | None

    def refuse_several(self) -> None:
        """Raise `ParameterError` if a scalar call would have several answers."""
        if self.measure == "all" or self.by is not None:
            raise ParameterError(
                f"this call has several answers; ask for them as rows: SELECT * FROM {self.function}(...)"
            )

    def answer(self, session: Session) -> tuple[Release, ...]:
        """Release what was asked; cost and errors as the session's methods."""
        if self.epsilon is None:
            raise ParameterError("epsilon is NULL: give the cost of the release, such as epsilon := 0.5")
        released: Release | tuple[Release, ...]
        if self.function == "dp_count":
            released = session.dp_count(
                self.epsilon,
                where=self.where,
                by=self.by,
                keys=self.keys,
                confidence=self.confidence,
                run_id=self.run_id,
            )
        else:
            released = session.dp_inconsistency(
                self.measure,
                self.epsilon,
                where=self.where,
                by=self.by,
                keys=self.keys,
                mechanism=self.mechanism,
                confidence=self.confidence,
                max_degree=self.max_degree,
                run_id=self.run_id,
                theta=self.theta,
            )
        return released if isinstance(released, tuple) else (released,)
