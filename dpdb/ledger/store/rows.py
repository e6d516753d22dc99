"""The rows of a ledger's tables as values: terms and epochs, debits, settlements, the owner's acts, analysts.

Only a settlement lowers a debit's charge. Acts and analysts are chains whose lines never change; the newest line of an
analyst holds.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, NamedTuple

from dpdb.errors import ParameterError
from dpdb.ledger.store.periods import Period, parse_period
from dpdb.ledger.store.seals import FIRST, Chain, SealedFile, seal
from dpdb.overlap import Added, OverlapIndex
from dpdb.predicates import region_from_text
from dpdb.privacy import NOTIONS, Notion


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
    stored = vars(terms) | {"notion": terms.notion.name, "append_only": int(terms.append_only)}
    line = tuple(stored.values())
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


class EntryLine(NamedTuple):
    """A debit as its row, without seal; `charge` is the settled charge, where a settlement has lowered it.

    `place` counts the lines of all chains in the order in which they were written.
    """

    number: int
    epoch: int
    run_id: str | None
    request: str
    predicate: str
    charge: int
    upper: int
    source_mark: bytes
    reserved: str
    analyst: str | None = None
    label: str | None = None
    rule_set: str | None = None
    place: int = 0


UNKNOWN = -1
"""The bound of a debit before a settlement: its decision has counted charges that were lowered since."""


class EpochLines:
    """Debits, in order; their predicates are read when a decision needs them.

    Most ledgers are opened to be looked at, or to find a recorded answer; then no predicate is read at all.
    """

    def __init__(self) -> None:
        self._predicates: list[str] = []
        self._charges, self._uppers = array("q"), array("q")
        self._index: OverlapIndex | None = None

    def __bool__(self) -> bool:
        return bool(self._predicates) or bool(self._index)

    def add(self, predicates: Sequence[str], charges: Sequence[int], uppers: Sequence[int]) -> None:
        """Add debits.

        Parameters
        ----------
        predicates
            The stored predicate of each debit.
        uppers
            The bound that the decision on each debit has proven, or `UNKNOWN`.
        """
        if self._index is None:
            self._predicates.extend(predicates)
            self._charges.extend(charges)
            self._uppers.extend(uppers)
            return
        for predicate, charge, upper in zip(predicates, charges, uppers, strict=True):
            self._index.add(region_from_text(predicate), charge, _proven(upper))

    @property
    def index(self) -> OverlapIndex:
        """The index of all debits; made at the first look."""
        if self._index is None:
            merged: dict[str, tuple[int, int, int]] = {}
            for predicate, charge, upper in zip(self._predicates, self._charges, self._uppers, strict=True):
                weight, _, releases = merged.pop(predicate, (0, 0, 0))  # moved to the end: the newest comes last
                merged[predicate] = weight + charge, upper, releases + 1
            self._index = OverlapIndex.of(
                Added(region_from_text(text), weight, _proven(upper), releases)
                for text, (weight, upper, releases) in merged.items()
            )
            self._predicates, self._charges, self._uppers = [], array("q"), array("q")
        return self._index


def _proven(upper: int) -> int | None:
    return None if upper == UNKNOWN else upper


class SettlementLine(NamedTuple):
    """A settlement as its row, without seal."""

    number: int
    entry: int
    charge: int
    at: str
    closed_overlap: int | None
    table: str | None
    place: int


class Settled(NamedTuple):
    """A settled debit: its charge, and the amount of the debit."""

    charge: int
    debited: int


class Settlements(Chain[SettlementLine]):
    """The settlements in order.

    Attributes
    ----------
    overlaps : dict of int to int
        The cost of closed epochs after their newest settlement.
    """

    def __init__(self, sealed: SealedFile, debits: Chain[EntryLine]) -> None:
        super().__init__(sealed, "settlement", SettlementLine, debits)
        self.overlaps: dict[int, int] = {}
        self._of: dict[int, Settled] = {}

    def of(self, entry: int) -> Settled | None:
        """Return the settlement of an entry, None if it was not settled."""
        return self._of.get(entry)

    def applied(self, line: EntryLine) -> EntryLine:
        """Return an entry with the charge that counts: the settled charge, or else the debit."""
        settled = self._of.get(line.number)
        return line if settled is None else line._replace(charge=settled.charge)

    def take(self, line: SettlementLine, debited: EntryLine) -> None:
        """Add the next settlement, whose seal was checked; `ValueError` if it settles twice or above the debit."""
        if line.entry in self._of or not 0 <= line.charge <= debited.charge:
            raise ValueError("a settlement is out of order")
        self._of[line.entry] = Settled(line.charge, debited.charge)
        if line.closed_overlap is not None:
            self.overlaps[debited.epoch] = line.closed_overlap


def act_detail(fixed: Mapping[str, object], who: str | None, label: str | None) -> str:
    """Return the JSON object of an act on the ledger or on a suite.

    Parameters
    ----------
    who, label
        Who does it and why; None for no word.
    """
    of_all = {"who": who, "label": label}
    return json.dumps({**fixed, **{name: value for name, value in of_all.items() if value is not None}})


RAISE, RETIRE, ALLOW = "raise", "retire", "allow"
_KEYS_OF_ACTS = {RAISE: {"budget"}, RETIRE: set[str](), ALLOW: {"period", "units"}}
_KEYS_OF_ALL_ACTS = {"after", "who", "label"}


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

    def line(self, number: int, place: int) -> ActLine:
        """Return the act as a line, at a place among all lines of the ledger."""
        detail = act_detail({**self.detail, "after": self.after}, self.who, self.label)
        return ActLine(number, self.at, self.kind, detail, place)


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

    def __init__(self, sealed: SealedFile) -> None:
        super().__init__(sealed, "act", ActLine)
        self.done: list[Act] = []
        self.budget: int | None = None
        self.retired: Act | None = None
        self.allowances: dict[Period, int] = {}
        self.is_understood = True

    def take(self, line: ActLine) -> None:
        """Add the next act, whose seal was checked."""
        detail = json.loads(line.detail)
        fixed = {name: value for name, value in detail.items() if name not in _KEYS_OF_ALL_ACTS}
        if fixed.keys() != _KEYS_OF_ACTS.get(line.kind):
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


ROLES = ("analyst", "checker", "owner")
"""An analyst asks for releases and checks, a checker for checks alone; an owner sees everything and spends nothing."""

_KEYS_OF_CREDENTIALS = ({"token"}, {"token", "scram"})


class AnalystLine(NamedTuple):
    """The rights of an analyst from this line on, as its row, without seal; `quota` and cap in units of the ledger."""

    number: int
    at: str
    name: str
    role: str
    quota: int | None
    most_per_statement: int | None
    expires: str | None
    approved_by: str | None
    credentials: str | None
    options: str | None
    place: int

    @property
    def token(self) -> str | None:
        """Digest of the token; None once the rights were withdrawn."""
        return self._credential("token")

    @property
    def scram(self) -> str | None:
        """Keys of SCRAM-SHA-256, made from the token; None of a token from before there were such."""
        return self._credential("scram")

    def _credential(self, name: str) -> str | None:
        found: str | None = None if self.credentials is None else json.loads(self.credentials).get(name)
        return found


class Analysts(Chain[AnalystLine]):
    """The lines in order.

    Attributes
    ----------
    newest : dict of str to AnalystLine
        By name.
    is_understood : bool
        Whether this version knows every role, credential and option.
    """

    def __init__(self, sealed: SealedFile) -> None:
        super().__init__(sealed, "analyst", AnalystLine)
        self.newest: dict[str, AnalystLine] = {}
        self.is_understood = True

    def take(self, line: AnalystLine) -> None:
        """Add the next line, whose seal was checked."""
        known = line.credentials is None or json.loads(line.credentials).keys() in _KEYS_OF_CREDENTIALS
        if line.role not in ROLES or line.options is not None or not known:
            self.is_understood = False
        self.newest[line.name] = line
