"""`ComparisonAsk`: the options of a comparison of two tables, as a value; entry points take names and checks here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass

from dpdb.errors import ParameterError
from dpdb.names import check_name
from dpdb.options import Option, option, options_of
from dpdb.privacy import parse_epsilon
from dpdb.release import Epsilon, parse_confidence


@dataclass(frozen=True)
class ComparisonAsk:
    """What is asked of one comparison; the constructor checks everything that needs no table.

    Attributes
    ----------
    key : str or list of str
        The columns that name a key: names that both tables have, or `left=right`.
    columns : list of str, optional
        The columns that are compared, named in the same way. Default: all that both tables have, beside the key.
    each_column : bool
        Whether each of them gets a number of its own, too.
    where : str, optional
        Predicate over columns of the key alone: the keys that are compared.
    epsilon : number
        Privacy cost of all numbers together, for either table. It is never a default.
    confidence : float
        Of the bounds of each number.
    """

    key: str | Sequence[str] = option(
        MISSING, "text", "C,C", "columns that name a key, as one line of CSV; LEFT=RIGHT where they have two names"
    )
    columns: str | Sequence[str] | None = option(
        None, "text", "C,C", "columns to compare, so too (all that both tables have)"
    )
    each_column: bool = option(False, "flag", words="a number for each compared column, too")
    where: str | None = option(None, "text", "SQL", "predicate over the key's columns: the keys to compare")
    epsilon: Epsilon | None = option(None, "amount", "E", "privacy cost of all numbers, for either table")
    confidence: float = option(0.95, "number", "C", "of the bounds (.95)", is_harmless=True)
    run_id: str | None = option(
        None, "text", "ID", "name of this run: asked again, the ledgers give its answer", not_in=("commands",)
    )
    label: str | None = option(None, "text", "TEXT", "a word for the ledgers' history", not_in=("commands",))

    def __post_init__(self) -> None:
        for name, value in (("key", self.key), ("columns", self.columns)):
            if isinstance(value, bytes) or not all(isinstance(each, str) for each in _listed(value)):
                raise ParameterError(f"{name} must be the name of a column, or a list of them, got {value!r}")
        if not _listed(self.key):
            raise ParameterError("key must name at least one column, such as 'id'")
        if not isinstance(self.each_column, bool):
            raise ParameterError(f"each_column must be true or false, got {self.each_column!r}")
        if self.where is not None and not isinstance(self.where, str):
            raise ParameterError(f"where must be a text, got {self.where!r}")
        if isinstance(self.confidence, bool):
            raise ParameterError(f"confidence must be at least 0.5 and below 1, got {self.confidence!r}")
        parse_confidence(self.confidence)
        if self.label is not None:
            check_name("a label", self.label)
        _ = self.charged

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the key."""
        return _listed(self.key)

    @property
    def compared(self) -> tuple[str, ...] | None:
        """The columns that are compared; None for all that both tables have."""
        return None if self.columns is None else _listed(self.columns)

    @property
    def charged(self) -> int:
        """Nano-epsilon to debit on either side."""
        if self.epsilon is None:
            raise ParameterError("what a comparison costs is never a default: give epsilon")
        return parse_epsilon(self.epsilon)


def _listed(value: str | Sequence[str] | None) -> tuple[str, ...]:
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else tuple(value)


# What entry points derive their options from, by name.
ASKED: Mapping[str, Option] = options_of(ComparisonAsk)
