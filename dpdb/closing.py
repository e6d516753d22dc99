"""`Closing`: what is closed at the end of a `with` block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self

__all__ = ["Closing"]


class Closing(ABC):
    """A context manager that gives itself, and is closed at the end of the block."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Close it. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *why: object) -> None:
        self.close()
