"""`PaidAnswers`: answers that are paid for and not yet part of a result. They are never lost and never given twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from dpdb.release import Release
from dpdb.suites import CheckResults

if TYPE_CHECKING:
    from dpdb.diagnosis import Diagnosis

__all__ = ["Answer", "Identity", "PaidAnswers"]

# Two calls with the same identity are one release: the whole public request, with defaults filled in, and the run.
Identity: TypeAlias = tuple[str, str | None]

# Of a call: releases, the verdicts of one run of a suite, or what was named.
Answer: TypeAlias = "tuple[Release, ...] | CheckResults | Diagnosis"


class PaidAnswers:
    """Answers by request. Two statements with the same request may have failed, so it can have several answers."""

    def __init__(self) -> None:
        self._answers: dict[Identity, list[Answer]] = {}

    def take(self, wanted: Iterable[Identity]) -> dict[Identity, Answer]:
        """Take one answer to each request that has one; the caller must put it back or show it."""
        return {identity: kept.pop(0) for identity in wanted if (kept := self._answers.get(identity))}

    def put(self, answers: Mapping[Identity, Answer]) -> None:
        """Keep answers until a statement requests them."""
        for identity, answer in answers.items():
            self._answers.setdefault(identity, []).append(answer)

    def __iter__(self) -> Iterator[Answer]:
        return (answer for kept in self._answers.values() for answer in kept)
