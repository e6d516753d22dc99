"""`DiagnosisAsk`: the options of a diagnosis, as a value; entry points take names, defaults and checks from here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

from dpdb.errors import ParameterError
from dpdb.names import check_name, folded, nearest_words
from dpdb.options import Option, option, options_of, same_option
from dpdb.privacy import parse_epsilon
from dpdb.release import Ask, Epsilon, Key, checked_keys, parse_confidence, refuse_unpriced

_MOST_COLUMNS = 20
_MOST_SLICES = 10_000
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*(%?)")
_DECIMALS = 6
REPAIR, BITS = "repair", "maximal_consistency"
_MEASURES = {REPAIR: "rows to delete", BITS: "yes/no decisions to clean"}


@dataclass(frozen=True)
class DiagnosisAsk:
    """What is asked of one diagnosis; the constructor checks everything that needs no table.

    Attributes
    ----------
    epsilon : number
        Privacy cost of the whole answer; it has no default.
    keys : sequence
        The public list of keys of that column; of several columns a list of lists, in their order.
    top : int
        How many slices to name.
    expected : str or number, optional
        A public share of dirty rows ("1%" or 0.01): slices are compared by their rows to delete beyond it.
    rules : bool
        Whether to name the rule with the most rows to delete, too; with half of epsilon if there are slices.
    where : str, optional
        Predicate of the rows that are looked at.
    confidence : float
        That all published bounds hold, together.
    measure : str
        What slices and rules are compared by: ``"repair"``, the rows to delete, or ``"maximal_consistency"``, the
        yes/no decisions to clean, in bits.

    Raises
    ------
    ParameterError
        If a value is out of range, nothing is asked, or no cost is given.
    """

    function = "dp_diagnose"  # that asks for it
    several = True  # rows of the answer: one for each named slice

    epsilon: Epsilon | None = option(None, "amount", "E", "privacy cost of all slices and rules together")
    by: str | list[str] | tuple[str, ...] | None = option(
        None, "columns", "COLUMN", "compare the slices of this column; repeatable"
    )
    keys: Sequence[Key] | Sequence[Sequence[Key]] | None = option(
        None, "lists", "V,V", "the public list of its keys, as one line of CSV; one per --by"
    )
    measure: str = option(
        REPAIR,
        "text",
        "M",
        "compare by repair (rows to delete) or maximal_consistency (decisions to clean) (repair)",
        is_harmless=True,
    )
    top: int = option(3, "whole", "K", "how many slices to name (3)")
    expected: str | float | Decimal | None = option(
        None, "share", "P", "a public share, as 1%: compare rows to delete beyond it, not all of them"
    )
    rules: bool = option(False, "flag", words="name the rule with the most of them, too")
    where: str | None = option(None, "text", "SQL", "predicate that selects the rows that are looked at")
    confidence: float = option(0.95, "number", "C", "of all bounds together (.95)", is_harmless=True)
    run_id: str | None = same_option(Ask, "run_id")
    label: str | None = same_option(Ask, "label")

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> DiagnosisAsk:
        """Return the ask of a mapping of names to values; names left out have their defaults."""
        for name in given:
            if name not in ASKED:
                raise ParameterError(f"a diagnosis has no option {name!r}{nearest_words(name, ASKED)}")
        return cls(**given)

    def __post_init__(self) -> None:
        self._check_slices()
        if self.measure not in _MEASURES:
            known = ", ".join(f"{name} ({what})" for name, what in _MEASURES.items())
            raise ParameterError(f"a diagnosis compares by one of {known}, got {self.measure!r}")
        if self.in_bits and self.expected is not None:
            raise ParameterError(f"expected is a share of rows to delete; leave it out, or the measure {BITS}")
        if isinstance(self.top, bool) or not isinstance(self.top, int):
            raise ParameterError(f"top must be a whole number from 1 on, got {self.top!r}")
        if not 0 < self.top < 1 << 64:  # one beyond may be too long to print, or to record
            raise ParameterError("top must be a whole number from 1 on, of at most 64 bits")
        if not isinstance(self.rules, bool):
            raise ParameterError(f"rules must be true or false, got {self.rules!r}")
        if isinstance(self.confidence, bool):
            raise ParameterError(f"confidence must be at least 0.5 and below 1, got {self.confidence!r}")
        parse_confidence(self.confidence)
        if self.where is not None and not isinstance(self.where, str):
            raise ParameterError(f"where must be a text, got {self.where!r}")
        if self.label is not None:
            check_name("a label", self.label)
        _ = self.rate, self.charged

    def _check_slices(self) -> None:
        columns = self.columns
        if not all(isinstance(name, str) for name in columns):
            raise ParameterError(f"by must be the name of a column, or a list of them, got {self.by!r}")
        slices = sum(len(keys) for _, keys in self.columns_with_keys)
        if not columns and not self.rules:
            raise ParameterError("a diagnosis needs a column with its keys (by, keys), or rules")
        if len(columns) > _MOST_COLUMNS:
            raise ParameterError(f"a diagnosis compares slices of at most {_MOST_COLUMNS} columns, got {len(columns)}")
        names = [folded(name) for name in columns]
        twice = next((name for place, name in enumerate(columns) if names[place] in names[:place]), None)
        if twice is not None:
            raise ParameterError(f"column {twice!r} is given twice")
        if columns and slices < 2:
            raise ParameterError("one slice is the worst of all: give at least two keys")
        if slices > _MOST_SLICES:
            raise ParameterError(f"a diagnosis compares at most {_MOST_SLICES:,} slices, got {slices:,}")
        if self.expected is not None and not columns:
            raise ParameterError("expected is a share of a slice's rows; give by and keys")

    @property
    def in_bits(self) -> bool:
        """Whether decisions to clean are compared, and not rows to delete."""
        return self.measure == BITS

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in their order."""
        if self.by is None:
            return ()
        return tuple(self.by) if isinstance(self.by, (list, tuple)) else (self.by,)

    @property
    def columns_with_keys(self) -> tuple[tuple[str, tuple[Key, ...]], ...]:
        """Each column with its keys."""
        if not isinstance(self.by, (list, tuple)):
            lists: list[Any] = [self.keys]
        else:
            lists = list(self.keys) if isinstance(self.keys, Sequence) and not isinstance(self.keys, str) else []
            if not self.columns or len(lists) != len(self.columns):
                raise ParameterError(
                    "by and keys go together: give each column its public list of keys, in the same order"
                )
        if self.by is None and self.keys is None:
            return ()
        checked = [checked_keys(by, keys) for by, keys in zip(self.columns or [None], lists, strict=True)]
        return tuple((by, keys or ()) for by, keys in zip(self.columns, checked, strict=True))

    @property
    def charged(self) -> int:
        """Nano-epsilon to debit."""
        refuse_unpriced(self.epsilon)
        return parse_epsilon(self.epsilon)  # type: ignore[arg-type]  # it is no None: that is refused just above

    @property
    def rate(self) -> Fraction:
        """The expected share of dirty rows; 0 if none is."""
        if self.expected is None:
            return Fraction(0)
        text = str(self.expected).strip()
        if isinstance(self.expected, float):  # 0.00001 is shown as 1e-05
            text = f"{Decimal(text):f}"
        found = _SHARE.fullmatch(text)
        try:
            share = None if found is None or isinstance(self.expected, bool) else Fraction(Decimal(found[1]))
        except InvalidOperation:
            share = None
        if share is not None and found is not None and found[2]:
            share /= 100
        if share is None or not 0 < share < 1 or (share * 10**_DECIMALS).denominator != 1:
            raise ParameterError(
                f"expected must be a share above 0 and below 1, such as 1% or 0.01, with at most {_DECIMALS} decimals, "
                f"got {self.expected!r}"
            )
        return share


ASKED: Mapping[str, Option] = options_of(DiagnosisAsk)
