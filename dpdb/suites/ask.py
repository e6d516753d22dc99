"""What is asked of a suite of checks, as a value: `RunOptions` of a run, `SuiteAsk` of a suite that is registered.

All entry points take names, defaults and checks from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Self

from dpdb.errors import ParameterError
from dpdb.names import nearest_words
from dpdb.options import Option, option, options_of, same_option
from dpdb.release import Ask, Epsilon, Key, checked_keys

if TYPE_CHECKING:
    from dpdb.suites.mechanism.plan import Certain


@dataclass(frozen=True)
class RunOptions:
    """The options of a run of a suite, on a table or on a set of tables.

    Attributes
    ----------
    epsilon : number
        To reserve; on a zcdp ledger the rho that a pure release of it costs there, epsilon^2 / 2.
    rho : number, optional
        To reserve instead, on a zcdp ledger.
    where, by, keys : str, str and sequence, optional
        The rows that are checked, as for releases; by keys a suite for each. A set of tables has none of them.
    confidence : float
        Of all verdicts together.
    certain : str
        ``fail`` or ``pass``: the verdict that is not due to noise.
    within : number, optional
        By how many rows a pass may be beyond its limit, and else is `not shown`; as many as the suite aims at. It
        decides only what is said.
    sizes : bool
        Whether every check gets a number from the start, for all that is reserved.
    day : date or str, optional
        What ``{date}`` stands for, and the day on which a kept check fails; by default that of the clock.
    keep : str, optional
        A name under which later runs are free.
    runs : int, optional
        How many runs of a kept suite there will be; 365.
    numbers : number or str, optional
        Buy numbers for all checks on single rows that a kept suite has left open: for so much epsilon, as an entry of
        their own, whereupon the suite stays as it is; or for all that it has ``left``, which closes it.
    now : datetime or str, optional
        The moment by which rows are new or old, with its zone (``2026-11-28T07:00:00Z``); default: the clock's, and of
        a run that goes on the one with which it began.
    run_id, label, who : str, optional
        As for releases.
    """

    epsilon: Epsilon = option(1, "amount", "E", "reserved; what is not needed is given back (1)")
    rho: Epsilon | None = option(None, "amount", "R", "reserved on a zcdp ledger, instead of --epsilon (epsilon^2 / 2)")
    where: str | None = option(None, "text", "SQL", "predicate that selects the rows that are checked")
    by: str | None = option(None, "text", "COLUMN", "check each slice of this column by itself")
    keys: Sequence[Key] | None = same_option(Ask, "keys")
    confidence: float = option(0.99, "number", "C", "of all verdicts together (.99)", is_harmless=True)
    certain: Certain = option(
        "fail", "text", "", "which verdict is never due to noise (fail)", choices=("fail", "pass")
    )
    within: float | None = option(
        None, "number", "ROWS", "by how many rows a pass may be beyond its limit; else `not shown`"
    )
    sizes: bool = option(False, "flag", words="give every check a number from the start, for all of the cost")
    day: date | str | None = option(
        None,
        "text",
        "DAY",
        "what {date} stands for, and when a kept check fails: YYYY-MM-DD",
        key="date",
        not_in=("jobs",),
    )
    now: datetime | str | None = option(
        None, "text", "TIME", "by which rows are fresh: 2026-11-28T07:00:00Z (the clock's)"
    )
    keep: str | None = option(None, "text", "NAME", "keep the suite: later runs under this name cost nothing")
    numbers: Epsilon | None = option(
        None,
        "amount",
        "E",
        "with --keep, after an alarm: numbers for what is open, for E or for all `left`",
        not_in=("jobs",),
    )
    runs: int | None = option(None, "whole", "H", "with --keep: how often it will run (365)")
    run_id: str | None = same_option(Ask, "run_id")
    label: str | None = same_option(Ask, "label")
    who: str | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Return the options of a mapping; refuse a name that is none, with the nearest one."""
        for name in given:
            if name not in cls.__dataclass_fields__:
                nearest = nearest_words(name, cls.__dataclass_fields__)
                raise ParameterError(f"a run of a suite has no option {name!r}{nearest}")
        return cls(**given)

    def refuse_run_id(self, *, has_ledger: bool) -> None:
        """Refuse a number of runs without a name, and a run id without a ledger."""
        if self.runs is not None and self.keep is None:
            raise ParameterError("runs is for a suite that is kept: give keep= (--keep NAME)")
        if self.run_id is not None and not has_ledger:
            raise ParameterError("run_id needs a ledger: only a ledger remembers what a run has answered")

    def refuse_slices(self) -> None:
        """Refuse what a set of tables has not: rows and slices of one table."""
        for name in ("where", "by", "keys"):
            if getattr(self, name) is not None:
                raise ParameterError(f"{name} is for one table; a set of tables is checked whole")


# What entry points derive their options from, by name.
RUN_OPTIONS: Mapping[str, Option] = options_of(RunOptions)


@dataclass(frozen=True)
class SuiteAsk:
    """A call of a registered suite; if that is kept, all but the run id and the label is fixed.

    Attributes
    ----------
    suite : str
        The name under which it is registered.
    epsilon, confidence, certain, run_id, label, where, by, keys, date, within, rho, sizes, now
        As of `RunOptions`, where `date` is the day. None leaves one out.
    """

    function = "dp_check"  # that asks for it
    several = True  # rows of the answer: one for each check

    suite: str
    epsilon: Epsilon | None = same_option(RunOptions, "epsilon")
    confidence: float | None = same_option(RunOptions, "confidence")
    certain: Certain | None = same_option(RunOptions, "certain")
    run_id: str | None = same_option(RunOptions, "run_id")
    label: str | None = same_option(RunOptions, "label")
    where: str | None = same_option(RunOptions, "where")
    by: str | None = same_option(RunOptions, "by")
    keys: Sequence[Key] | None = same_option(RunOptions, "keys")
    date: str | None = same_option(RunOptions, "day")
    within: float | None = same_option(RunOptions, "within")
    rho: Epsilon | None = same_option(RunOptions, "rho")
    sizes: bool | None = same_option(RunOptions, "sizes")
    now: str | None = same_option(RunOptions, "now")

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", checked_keys(self.by, self.keys))


SUITE_OPTIONS: Mapping[str, Option] = options_of(SuiteAsk)
