"""`LedgerLog`: the lines of a ledger in the order of writing, as a log that receipts refer to, and their public hashes.

The log is followed: every line is hashed once a process, and beside the hashes stand the sums of charges before every
line, of all debits and of each asker's.

The holder of a hash can be shown its line later, and learns nothing before.

A hash is that of a leaf of a Merkle tree (RFC 6962, RFC 9162): SHA-256 of a zero byte and the line's text, a JSON
object with sorted keys. The text has a nonce made with the ledger's key, so that no line can be guessed from its hash;
key, seals and credentials are no part of it. The leaves stand in the order of `place`, and none ever changes.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dpdb.errors import LedgerError
from dpdb.ledger.books import Books
from dpdb.ledger.store.file import LedgerFile
from dpdb.ledger.store.rows import EntryLine
from dpdb.ledger.store.seals import mark
from dpdb.ledger.store.tables import CHAINS


@dataclass(frozen=True)
class Sums:
    """Debits so far: how many, their charges, and how much of these settlements gave back; units of the ledger."""

    debits: int
    debited: int
    returned: int


@dataclass(frozen=True)
class LoggedDebit:
    """One debit as the first lines of a log record it, with one run of its suite if that is kept.

    Parameters
    ----------
    lines
        Kind and place of its lines: the debit first, then suite, answer and settlement.
    settled
        The settled charge; None if it was not settled.
    overlap
        The recorded bound on what a row collects with it in its epoch.
    rationed
        Whether it is of an analyst with rights of his own; then `before` counts his debits alone.
    answer
        The recorded answer, None without one.
    suite, levels
        `kept` or `run` if it is of a suite of checks, and how many levels the run has recorded.
    region, request, analyst, run
        Marks under the ledger's key: they say nothing to whoever has not the ledger.
    """

    number: int
    epoch: int
    reserved: str
    charge: int
    settled: int | None
    overlap: int
    rationed: bool
    before: Sums
    answer: str | None
    region: str
    request: str
    analyst: str | None
    run: str | None
    suite: str | None
    levels: int
    lines: tuple[tuple[str, int], ...]


class _Scope:
    """Places and cumulative amounts, of debits and of settlements."""

    def __init__(self) -> None:
        self.places, self.debited = array("q"), array("q", [0])
        self.returns, self.returned = array("q"), array("q", [0])

    def add(self, place: int, charge: int) -> None:
        self.places.append(place)
        self.debited.append(self.debited[-1] + charge)

    def settle(self, place: int, returned: int) -> None:
        self.returns.append(place)
        self.returned.append(self.returned[-1] + returned)

    def before(self, place: int) -> Sums:
        debits = bisect_left(self.places, place)
        return Sums(debits, self.debited[debits], self.returned[bisect_left(self.returns, place)])


class LedgerLog:
    """Follows the books of a ledger; see `LedgerReading.log`.

    Attributes
    ----------
    id : str
        The name of this log: a mark under the ledger's key.
    notion : Notion
        By which the ledger counts.
    """

    def __init__(self, books: Books) -> None:
        self._books = books
        self.id, self.notion = self._mark("log", "")[:32], books.state.terms.notion
        self._read = dict.fromkeys(CHAINS, 0)
        self._all = _Scope()
        self._of: dict[str, _Scope] = {}
        self._granted: dict[str, int] = {}  # per analyst the place of his first rights
        self._charges = array("q")
        self._settled: dict[int, tuple[int, int]] = {}  # per entry place and charge
        self._size = 0

    @property
    def unit(self) -> tuple[int, str | None]:
        """The most rows of a unit, and the unit in words; None for rows or persons."""
        return self._books.state.terms.rows_per_person or 1, self._books.state.terms.unit

    def read(self) -> list[bytes]:
        """Return the hashes of the lines that were added since the last call, in the order of writing.

        Raises
        ------
        LedgerError
            The ledger cannot be used.
        """
        books = self._books
        with books.current():
            leaves = [b""] * (books.state.lines - self._size)
            for chain, line in logged_lines(books.file, self._read):
                leaves[line["place"] - 1 - self._size] = leaf(books.state.terms.key, chain, line)
                self._take(chain, line)
        self._size += len(leaves)
        return leaves

    def _take(self, chain: str, line: dict[str, Any]) -> None:
        self._read[chain] = line["number"]
        if chain == "analyst":
            self._granted.setdefault(line["name"], line["place"])
        elif chain == "entry":
            self._charges.append(line["charge"])
            for scope in self._scopes(line["analyst"]):
                scope.add(line["place"], line["charge"])
        elif chain == "settlement":
            self._settled[line["entry"]] = line["place"], line["charge"]
            asked_by = self._books.state.entry(line["entry"]).analyst
            for scope in self._scopes(asked_by):
                scope.settle(line["place"], self._charges[line["entry"] - 1] - line["charge"])

    def _scopes(self, analyst: str | None) -> list[_Scope]:
        return [self._all] if analyst is None else [self._all, self._of.setdefault(analyst, _Scope())]

    def debit_of(
        self, *, run_id: str | None = None, suite: str | None = None, release_id: str | None = None
    ) -> tuple[int, str | None] | None:
        """Return the debit of a run or else of a release, whose newest answers are looked at first; None without one.

        Parameters
        ----------
        suite
            Name of its kept suite: then the debit is the suite's, and comes with the run.
        """
        self._books.refresh()
        state = self._books.state
        known = None if suite is None else state.suites.named.get(suite)
        if known is not None and run_id in known.runs:
            return known.line.entry, run_id
        if suite is None and run_id in state.runs:
            return state.runs[run_id], None
        query = "SELECT entry FROM answer WHERE instr(answer, ?) ORDER BY number DESC LIMIT 1"
        rows: list[Any] = []
        if release_id is not None:
            rows = self._books.file.rows(query, (f'"release_id": "{release_id}"',))
        return (int(rows[0][0]), None) if rows else None

    def entries(self) -> Iterator[EntryLine]:
        """Read every debit again, with the charge that counts, and make nobody wait."""
        return self._books.state.entries()

    def closed_cost(self, epoch: int) -> int | None:
        """Return the recorded cost of a closed epoch; None for the current one."""
        state = self._books.state
        return None if epoch == state.epoch.number else state.closed_cost(epoch)

    @property
    def debits(self) -> int:
        """The number of debits that were read."""
        return len(self._charges)

    def charge(self, number: int) -> int:
        """Return what a debit was charged, before any settlement."""
        return self._charges[number - 1]

    def kept_run(self, number: int, run: str) -> str | None:
        """Return the run of a debit's kept suite by its mark; None if there is none."""
        suite = self._books.state.suites.by_entry.get(number)
        return None if suite is None else next((name for name in suite.runs if self._mark("run", name) == run), None)

    def asker(self, number: int) -> str | None:
        """Return who asked for a debit."""
        return self._books.state.entry(number).analyst

    def debit(self, number: int, size: int, run: str | None = None) -> LoggedDebit:
        """Return a debit as the first `size` lines record it.

        Parameters
        ----------
        size
            How many lines.
        run
            The run of a kept suite, whose levels are counted.

        Raises
        ------
        LedgerError
            There is no such debit in these lines.
        """
        with self._books.current():
            return self._debit(number, size, run)

    def _debit(self, number: int, size: int, run: str | None) -> LoggedDebit:
        state = self._books.state
        if not 0 < number <= state.last or (line := state.entry(number)).place > size:
            raise LedgerError(f"{self._books.file.shown}: there is no debit {number} in the first {size} lines")
        lines, suite = [("entry", line.place)], state.suites.by_entry.get(number)
        answer, answer_place = self._answer(number)
        levels, kind = 0, "answer"
        if suite is not None:
            lines.append(("suite", suite.line.place))
            recorded = suite.runs.get(run or line.run_id or "", {})
            written = {level: state.suites.answers.again(level_line) for level, level_line in recorded.items()}
            levels = sum(level_line.place <= size for level, level_line in written.items() if level)
            if run is not None:  # of a kept suite: its own answer is that of the run
                ended = written.get(0)
                answer, answer_place, kind = None, 0, "suite_answer"
                if ended is not None:
                    answer, answer_place = str(json.loads(ended.answer)["answer"]), ended.place
        if answer is not None and answer_place <= size:
            lines.append((kind, answer_place))
        else:
            answer = None
        at, charge = self._settled.get(number, (size + 1, 0))
        if at <= size:
            lines.append(("settlement", at))
        rationed = line.analyst is not None and self._granted.get(line.analyst, size + 1) < line.place
        return LoggedDebit(
            number=number,
            epoch=line.epoch,
            reserved=line.reserved,
            charge=self._charges[number - 1],
            settled=charge if at <= size else None,
            overlap=line.upper,
            rationed=rationed,
            before=(self._of[line.analyst] if rationed and line.analyst else self._all).before(line.place),
            answer=answer,
            region=self._mark("region", line.predicate),
            request=self._mark("request", line.request),
            analyst=None if line.analyst is None else self._mark("analyst", line.analyst),
            run=None if (run or line.run_id) is None else self._mark("run", str(run or line.run_id)),
            suite=None if suite is None else "kept" if suite.line.name is not None else "run",
            levels=levels,
            lines=tuple(lines),
        )

    def salt(self, debit: LoggedDebit, name: str) -> str:
        """Return the salt of one answer of a debit in receipts; made as the nonce of a leaf is, and in no leaf.

        Whoever has one salt learns nothing of another: each is a mark under the ledger's key.
        """
        place = next(place for kind, place in debit.lines if kind in ("answer", "suite_answer"))
        return self._mark("answer", json.dumps([place, name]))

    def last_place(self, number: int) -> int:
        """Return the place of the answer of a debit; of the debit itself if it has none by now."""
        with self._books.current():
            return max(self._books.state.entry(number).place, self._answer(number)[1])

    def _answer(self, number: int) -> tuple[str | None, int]:
        text = self._books.state.answer(number)
        rows: list[Any] = self._books.file.rows("SELECT place FROM answer WHERE entry = ?", (number,))
        return text, int(rows[0][0]) if rows else 0

    def _mark(self, what: str, text: str) -> str:
        return mark(self._books.state.terms.key, f"receipt {what}", text).hex()


_SECRET = {"seal", "credentials"}


def leaf_text(key: bytes, kind: str, line: Mapping[str, object]) -> str:
    """Return the text of a line by its columns; bytes are written as hexadecimal digits.

    Parameters
    ----------
    kind
        The chain of the line, such as `entry`.
    line
        Values by column, with the line's `place`.
    """
    public = {
        name: value.hex() if isinstance(value, bytes) else value for name, value in line.items() if name not in _SECRET
    }
    nonce = mark(key, "leaf", str(line["place"])).hex()
    return json.dumps({"kind": kind, "line": public, "nonce": nonce}, sort_keys=True, separators=(",", ":"))


def leaf(key: bytes, kind: str, line: Mapping[str, object]) -> bytes:
    """Return the hash of a line.

    Examples
    --------
    >>> leaf(b"key", "act", {"number": 1, "at": "now", "place": 1}).hex()[:16]
    '58dbac2c975f278c'
    """
    return hashlib.sha256(b"\0" + leaf_text(key, kind, line).encode()).digest()


def logged_lines(file: LedgerFile, after: Mapping[str, int]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give the lines of every chain behind a number, each with its chain and by its columns.

    Parameters
    ----------
    after
        Per chain the number of the last line that is not wanted.
    """
    for chain in CHAINS:
        names = [str(name) for _, name, *_ in file.rows(f"PRAGMA table_info({chain})")]
        for rows in file.batches(f"SELECT * FROM {chain} WHERE number > ? ORDER BY number", (after[chain],)):
            for row in rows:
                yield chain, dict(zip(names, row, strict=True))
