"""The suites of a ledger as its lines: opened, re-armed or closed, and what their runs have recorded; three chains.

The text of a level's answer is a JSON object: the caller's own text, who asked for the run, and what the whole suite
has come to with it, so that the newest line of a suite says what it has spent and which checks have failed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpdb.ledger.store.file import LedgerFile
from dpdb.ledger.store.seals import FIRST, seal

__all__ = ["CLOSE", "REARM", "KnownSuite", "SuiteActLine", "SuiteAnswerLine", "SuiteLine", "Suites", "act_detail"]

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


_LINES: dict[str, type[SuiteLine | SuiteActLine | SuiteAnswerLine]] = {
    "suite": SuiteLine,
    "suite_act": SuiteActLine,
    "suite_answer": SuiteAnswerLine,
}


@dataclass
class KnownSuite:
    """A suite as far as it was read.

    Attributes
    ----------
    line : SuiteLine
    sealed : bytes
        Seal of `line`.
    runs : dict of str to dict of int to int
        Per run, per recorded level the number of its line.
    askers : dict of str to str or None
        Per run, who asked for it; None for the owner.
    newest : SuiteAnswerLine or None
        What was recorded last.
    acts : list of SuiteActLine
    """

    line: SuiteLine
    sealed: bytes
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
        found: dict[str, str] = json.loads(self.newest.answer)["failed"]
        for act in self.acts:
            if act.kind == REARM and act.place > self.newest.place:
                found.pop(json.loads(act.detail)["check"], None)
        return found

    @property
    def entries(self) -> list[int]:
        """Its debits in their order: that of the opening, and those that paid for re-armed checks."""
        return [self.line.entry, *(act.entry for act in self.acts if act.entry is not None)]


class Suites:
    """The suites of a ledger in order.

    Attributes
    ----------
    known : list of KnownSuite
    named : dict of str to KnownSuite
        The kept ones, open or closed.
    by_entry : dict of int to KnownSuite
        By each of their debits.
    is_understood : bool
        Whether this version knows every act on a suite.
    """

    def __init__(self) -> None:
        self.known: list[KnownSuite] = []
        self.named: dict[str, KnownSuite] = {}
        self.by_entry: dict[int, KnownSuite] = {}
        self.is_understood = True
        self._seals: dict[str, list[bytes]] = {chain: [] for chain in _LINES}

    def ends(self) -> list[tuple[int, bytes]]:
        """Return the number of lines and the newest seal of each chain: suites, acts, answers."""
        return [(len(seals), seals[-1] if seals else FIRST) for seals in self._seals.values()]

    def next(self, chain: str) -> int:
        """Number of the next line of a chain."""
        return len(self._seals[chain]) + 1

    def row(
        self, key: bytes, line: SuiteLine | SuiteActLine | SuiteAnswerLine, chain: str, bound: bytes
    ) -> tuple[object, ...]:
        """Return the row of the next line of a chain, with its seal last.

        Parameters
        ----------
        key
            The ledger's own key.
        line
            The line, without its seal.
        chain
            Its table.
        bound
            Seal of the line that it belongs to: of a suite its debit, of the others their suite.
        """
        return *line, seal(key, chain, self._before(chain, line.number), (*line, bound))

    def _before(self, chain: str, number: int) -> bytes:
        return self._seals[chain][number - 2] if number > 1 else FIRST

    def read(self, file: LedgerFile, key: bytes, entry_seals: list[bytes], places: list[int]) -> None:
        """Read the lines that follow the newest. Where it fails, what was read stays read.

        Parameters
        ----------
        file
            The ledger's file.
        key
            The ledger's own key.
        entry_seals
            Seals of all debits.
        places
            Where the place of each line is added.

        Raises
        ------
        ValueError
            A line does not agree with its seal, or is out of order.
        """
        for chain, kind in _LINES.items():
            seals = self._seals[chain]
            query = f"SELECT {', '.join(kind._fields)}, seal FROM {chain} WHERE number > ? ORDER BY number"
            for rows in file.batches(query, (len(seals),)):
                for *row, sealed in rows:
                    line = kind(*row)
                    bound = entry_seals[line[1] - 1] if chain == "suite" else self.known[line[1] - 1].sealed
                    if line[1] < 1 or line.number != len(seals) + 1 or self.row(key, line, chain, bound)[-1] != sealed:
                        raise ValueError("a line of a suite does not agree with its seal")
                    self._take(line, sealed)
                    seals.append(sealed)
                    places.append(line.place)

    def _take(self, line: Any, sealed: bytes) -> None:
        if isinstance(line, SuiteLine):
            made = KnownSuite(line, sealed)
            self.known.append(made)
            self.by_entry[line.entry] = made
            if line.name is not None:
                self.named[line.name] = made
        elif isinstance(line, SuiteActLine):
            suite = self.known[line.suite - 1]
            suite.acts.append(line)
            if line.entry is not None:
                self.by_entry[line.entry] = suite
            fixed = json.loads(line.detail).keys() - _OF_ALL
            self.is_understood = self.is_understood and fixed == _KEYS.get(line.kind)
        else:
            suite = self.known[line.suite - 1]
            if line.run_id not in suite.runs:
                suite.askers[line.run_id] = json.loads(line.answer).get("analyst")
            suite.runs.setdefault(line.run_id, {})[line.level] = line.number
            suite.newest = line

    def answer(self, file: LedgerFile, key: bytes, number: int) -> SuiteAnswerLine:
        """Read the line of a level again.

        Parameters
        ----------
        file
            The ledger's file.
        key
            The ledger's own key.
        number
            Number of the line.

        Raises
        ------
        LedgerError
            It cannot be found or was changed.
        """
        query = f"SELECT {', '.join(SuiteAnswerLine._fields)} FROM suite_answer WHERE number = ?"
        rows: list[Any] = file.rows(query, (number,))
        line = SuiteAnswerLine(*rows[0]) if rows else None
        seals = self._seals["suite_answer"]
        if line is None or self._sealed_again(key, line) != seals[number - 1]:
            raise file.damaged()
        return line

    def _sealed_again(self, key: bytes, line: SuiteAnswerLine) -> object:
        known = 0 < line.suite <= len(self.known)
        return self.row(key, line, "suite_answer", self.known[line.suite - 1].sealed)[-1] if known else None


def act_detail(fixed: dict[str, str], who: str | None, label: str | None) -> str:
    """Return the JSON object of an act on a suite.

    Parameters
    ----------
    fixed
        The values of its kind.
    who, label
        Who does it and why; None for no word.
    """
    of_all = {"who": who, "label": label}
    return json.dumps(fixed | {name: value for name, value in of_all.items() if value is not None})
