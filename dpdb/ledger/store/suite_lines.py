"""The suites of a ledger as its lines: opened, re-armed or closed, and what their runs have recorded; three chains.

The text of a level's answer is a JSON object: the caller's own text, who asked for the run, and what the whole suite
has come to with it, so that the newest line of a suite says what it has spent and which checks have failed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpdb.ledger.store.seals import Chain, SealedFile

REARM, CLOSE = "rearm", "close"
_KEYS = {REARM: {"check"}, CLOSE: set[str]()}
_OF_ALL = {"who", "label"}


class SuiteLine(NamedTuple):
    """An opened suite as its row, without seal."""

    number: int
    entry: int
    at: str
    name: str | None
    spec: str
    commitment: bytes
    place: int


class SuiteActLine(NamedTuple):
    """What the owner did to a suite as its row, without seal."""

    number: int
    suite: int
    at: str
    kind: str
    detail: str
    entry: int | None
    place: int


class SuiteAnswerLine(NamedTuple):
    """One level of one run as its row, without seal; level 0 is the run's own answer, of a kept suite."""

    number: int
    suite: int
    run_id: str
    level: int
    answered: str
    answer: str
    place: int


@dataclass
class KnownSuite:
    """A suite as far as it was read.

    Attributes
    ----------
    runs : dict of str to dict of int to int
        Per run, per recorded level the number of its line.
    askers : dict of str to str or None
        Per run, who asked for it; None for the owner.
    """

    line: SuiteLine
    runs: dict[str, dict[int, int]] = field(default_factory=dict)
    askers: dict[str, str | None] = field(default_factory=dict)
    newest: SuiteAnswerLine | None = None
    acts: list[SuiteActLine] = field(default_factory=list)

    @property
    def at(self) -> str:
        """When the newest of its lines was written."""
        times = [self.line.at, *(act.at for act in self.acts), *([] if self.newest is None else [self.newest.answered])]
        return max(times)

    @property
    def spent(self) -> int:
        """Units that its recorded levels cost together; 0 before the first."""
        return 0 if self.newest is None else int(json.loads(self.newest.answer)["spent"])

    @property
    def failed(self) -> dict[str, str]:
        """When each failed check has failed, without those that were re-armed since."""
        if self.newest is None:
            return {}
        checks: dict[str, str] = json.loads(self.newest.answer)["failed"]
        for act in self.acts:
            if act.kind == REARM and act.place > self.newest.place:
                checks.pop(json.loads(act.detail)["check"], None)
        return checks

    @property
    def entries(self) -> list[int]:
        """Its debits in their order: that of the opening, and those that paid for re-armed checks."""
        return [self.line.entry, *(act.entry for act in self.acts if act.entry is not None)]


class Suites:
    """The suites of a ledger in order.

    Attributes
    ----------
    named : dict of str to KnownSuite
        The kept ones, open or closed.
    by_entry : dict of int to KnownSuite
        By each of their debits.
    is_understood : bool
        Whether this version knows every act on a suite.
    """

    def __init__(self, sealed: SealedFile, debits: Chain[Any]) -> None:
        self.known: list[KnownSuite] = []
        self.named: dict[str, KnownSuite] = {}
        self.by_entry: dict[int, KnownSuite] = {}
        self.is_understood = True
        self.opened = Chain(sealed, "suite", SuiteLine, debits)
        self.acts = Chain(sealed, "suite_act", SuiteActLine, self.opened)
        self.answers = Chain(sealed, "suite_answer", SuiteAnswerLine, self.opened)

    def read(self) -> None:
        """Read the lines that follow the newest. Where it fails, what was read stays read.

        Raises
        ------
        ValueError
            A line does not agree with its seal, or is out of order.
        """
        self.opened.take_new(self._open)
        self.acts.take_new(self._act)
        self.answers.take_new(self._answer)

    def _open(self, line: SuiteLine) -> None:
        made = KnownSuite(line)
        self.known.append(made)
        self.by_entry[line.entry] = made
        if line.name is not None:
            self.named[line.name] = made

    def _act(self, line: SuiteActLine) -> None:
        suite = self.known[line.suite - 1]
        suite.acts.append(line)
        if line.entry is not None:
            self.by_entry[line.entry] = suite
        fixed = json.loads(line.detail).keys() - _OF_ALL
        self.is_understood = self.is_understood and fixed == _KEYS.get(line.kind)

    def _answer(self, line: SuiteAnswerLine) -> None:
        suite = self.known[line.suite - 1]
        if line.run_id not in suite.runs:
            suite.askers[line.run_id] = json.loads(line.answer).get("analyst")
        suite.runs.setdefault(line.run_id, {})[line.level] = line.number
        suite.newest = line
