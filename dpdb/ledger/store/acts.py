"""The owner's acts on a ledger: a raised budget, an allowance, retirement. A chain, never changed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpdb.errors import ParameterError
from dpdb.ledger.store.periods import Period, parse_period
from dpdb.ledger.store.seals import Chain

__all__ = ["ALLOW", "RAISE", "RETIRE", "Act", "ActLine", "Acts"]

RAISE, RETIRE, ALLOW = "raise", "retire", "allow"
_KEYS = {RAISE: {"budget"}, RETIRE: set[str](), ALLOW: {"period", "units"}}
_OF_ALL = {"after", "who", "label"}


class ActLine(NamedTuple):
    """An act as its row, without seal."""

    number: int
    at: str
    kind: str
    detail: str
    place: int


@dataclass(frozen=True)
class Act:
    """One act: when, after which debit, by whom, why; `detail` has the values of its kind, in units of the ledger."""

    at: str
    after: int
    kind: str
    who: str | None
    label: str | None
    detail: dict[str, Any]


class Acts(Chain[ActLine]):
    """The acts of a ledger in order, and the limits that hold after the newest.

    Attributes
    ----------
    budget : int or None
        Units of the total after it was raised; None if it never was.
    retired : Act or None
        The act after which nothing is released any more.
    allowances : dict of Period to int
        The units that debits of one period may cost together.
    is_understood : bool
        Whether this version knows every act.
    """

    def __init__(self) -> None:
        super().__init__("act", ActLine)
        self.done: list[Act] = []
        self.budget: int | None = None
        self.retired: Act | None = None
        self.allowances: dict[Period, int] = {}
        self.is_understood = True

    def line(self, act: Act, place: int) -> ActLine:
        """Return the next act as its line, at a place among all lines of the ledger."""
        of_all = {"after": act.after, "who": act.who, "label": act.label}
        detail = json.dumps(act.detail | {name: value for name, value in of_all.items() if value is not None})
        return ActLine(self.last + 1, act.at, act.kind, detail, place)

    def take(self, line: ActLine) -> None:
        """Add the next act, whose seal was checked."""
        detail = json.loads(line.detail)
        fixed = {name: value for name, value in detail.items() if name not in _OF_ALL}
        if fixed.keys() != _KEYS.get(line.kind):
            self.is_understood = False
            return
        act = Act(line.at, detail["after"], line.kind, detail.get("who"), detail.get("label"), fixed)
        if act.kind == RAISE:
            self.budget = int(fixed["budget"])
        elif act.kind == RETIRE:
            self.retired = act
        else:
            self._allow(fixed["period"], fixed["units"])
        self.done.append(act)

    def _allow(self, text: str, units: int | None) -> None:
        try:
            period = parse_period(text)
        except ParameterError:  # of a later version
            self.is_understood = False
            return
        self.allowances.pop(period, None)
        if units is not None:
            self.allowances[period] = int(units)
