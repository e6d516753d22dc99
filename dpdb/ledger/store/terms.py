"""The terms that the owner fixed and the epochs of a ledger; as values and as sealed rows."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

from dpdb.ledger.store.seals import FIRST, seal
from dpdb.privacy import NOTIONS, Notion

__all__ = ["Epoch", "Terms", "epoch_row", "terms_of", "terms_row"]


@dataclass(frozen=True)
class Terms:
    """The terms that the owner fixed when the ledger was made, and the table that its first release bound it to."""

    notion: Notion
    budget: int
    delta: float
    append_only: bool
    created: str
    key: bytes
    table_mark: bytes | None = None
    rows_per_person: int | None = None
    unit: str | None = None
    tables: str | None = None
    options: str | None = None

    @property
    def is_understood(self) -> bool:
        """Return whether this version knows all terms."""
        return self.tables is None and self.options is None


@dataclass(frozen=True)
class Epoch:
    """Releases of one state of the rows; `source_mark` is set by the first of them."""

    number: int
    opened: str
    source_mark: bytes | None = None
    closed_overlap: int | None = None


def terms_row(terms: Terms) -> tuple[object, ...]:
    """Return the row of the terms, with its seal last."""
    line = (
        terms.notion.name,
        terms.budget,
        terms.delta,
        int(terms.append_only),
        terms.created,
        terms.key,
        terms.table_mark,
        terms.rows_per_person,
        terms.unit,
        terms.tables,
        terms.options,
    )
    return 1, *line, seal(terms.key, "terms", FIRST, line)


def terms_of(row: tuple[Any, ...]) -> Terms:
    """The terms of a row; `ValueError` or `KeyError` if it does not agree with its seal."""
    _, notion, budget, delta, append_only, *rest, sealed = row
    terms = Terms(NOTIONS[notion], budget, delta, bool(append_only), *rest)
    if terms_row(terms)[-1] != sealed:
        raise ValueError("the terms do not agree with their seal")
    return terms


def epoch_row(epoch: Epoch, key: bytes) -> tuple[object, ...]:
    """Return the row of an epoch, with its seal last."""
    line = astuple(epoch)
    return *line, seal(key, "epoch", FIRST, line)
