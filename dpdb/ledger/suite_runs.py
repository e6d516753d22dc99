"""Runs of a suite of checks in a ledger: opened with its secret, recorded level by level, ended.

One transaction holds the debit, the suite and its secret, so the secret is drawn once. A level is recorded before
anything of it leaves the process; a run that was killed goes on where its record ends, with the same secret. When a
suite that is not kept ends, its answer, its settlement and the end of its secret are one transaction, too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from dpdb.errors import LedgerError, ParameterError, RunIdError, SuiteEndedError
from dpdb.ledger.books import Books
from dpdb.ledger.debit import Asked, Written, debit, forget, settlement_rows, used_by_another
from dpdb.ledger.kept_suites import kept_otherwise
from dpdb.ledger.limits import refuse_retired
from dpdb.ledger.lines import RecordedLevel, RecordedRearm, RecordedSuite
from dpdb.ledger.quotas import refuse_rights
from dpdb.ledger.reservation import SuiteReservation
from dpdb.ledger.store.clock import now, present
from dpdb.ledger.store.file import UNSETTLED, RunLock
from dpdb.ledger.store.rows import EntryLine, act_detail
from dpdb.ledger.store.seals import SourceMark, new_key
from dpdb.ledger.store.state import LedgerState, insert
from dpdb.ledger.store.suite_lines import CLOSE, REARM, KnownSuite, SuiteActLine, SuiteAnswerLine, SuiteLine
from dpdb.predicates import Region, region_from_text, region_to_text
from dpdb.privacy import GDP, ZCDP
from dpdb.stopping import reached, unbroken

_SLACK = timedelta(minutes=1)  # by which a clock may be behind the suite's newest line
_RUN = 0  # the level under which a run of a kept suite records its own answer


class Opened(NamedTuple):
    """The values with which a suite is opened.

    Parameters
    ----------
    predicate
        The rows that any of its checks reads.
    charge
        In units of epsilon: all that its levels may cost together.
    spec
        JSON object, public: rules, limits, levels, shares.
    make_secret
        Draws its hidden thresholds, as text; called in the transaction of the debit.
    name
        To keep it; None for one run.
    """

    predicate: Region
    charge: int
    spec: str
    make_secret: Callable[[], str]
    name: str | None


class Level(NamedTuple):
    """The record of one level.

    Parameters
    ----------
    number
        From 1 on; 0 for the answer of a run of a kept suite.
    spent
        Units that all recorded levels of the suite cost together with this one.
    failed
        Checks that failed at this level.
    """

    number: int
    answer: str
    spent: int
    failed: tuple[str, ...] = ()


def open_suite(
    books: Books, opened: Opened, source: SourceMark, asked: Asked, *, deadline: float, wait: float
) -> SuiteReservation:
    """Open a suite, or go on with a run of it; see `LedgerSuites.open_suite`.

    Parameters
    ----------
    asked
        Request, names and label; `run_id` is that of this run.
    deadline
        Seconds for the decision.
    wait
        Seconds to wait for another process that answers this run, or runs this kept suite.
    """
    run_id, name = asked.run_id, opened.name
    assert run_id is not None
    notion = books.state.terms.notion
    if notion is GDP or (notion is ZCDP and name is not None):
        what = "suite of checks; only a pure or zcdp one does" if notion is GDP else "kept suite; only a pure one does"
        raise LedgerError(f"{books.file.shown}: a {notion.name} ledger takes no {what}; nothing was spent")
    lock = RunLock(books.file, run_id, wait) if name is None else RunLock(books.file, name, wait, "suite")
    with ExitStack() as held:
        held.enter_context(lock)
        found = (_of_one_run if name is None else _kept)(books, opened, source, asked, deadline)
        if found.answer is None:
            held.pop_all()  # the caller releases it
            return replace(found, lock=lock)
        if name is None:
            books.file.truncate_log()  # a process that was killed may have left this to do
    return found


def _of_one_run(books: Books, opened: Opened, source: SourceMark, asked: Asked, deadline: float) -> SuiteReservation:
    writes = _writes(books, opened)
    reservation = debit(books, opened.predicate, opened.charge, source, asked, deadline=deadline, together_with=writes)
    with books.current():
        suite = books.state.suites.by_entry.get(reservation.number)
        if suite is not None and suite.acts:
            _refuse_ended(books, suite)
        if suite is None or (reservation.answer is None and suite.line.spec != opened.spec):
            raise RunIdError(f"run id {asked.run_id!r} was used for another request; give every request its own run id")
        receipt = _receipt(books, suite, asked, reservation.answer)
        same = not books.state.terms.append_only  # `earlier_try` has compared their state
        return replace(receipt, is_low=reservation.is_low, is_new=reservation.is_new, same_rows=same)


def _kept(books: Books, opened: Opened, source: SourceMark, asked: Asked, deadline: float) -> SuiteReservation:
    name = str(opened.name)
    with books.current():
        suite = books.state.suites.named.get(name)
        if suite is not None:
            return _one_more_run(books, opened, suite, source, asked)
    if asked.analyst is not None:
        raise LedgerError(
            f"{books.file.shown}: only the owner opens kept suites, and {name!r} is none; nothing was spent"
        )
    if not (books.state.terms.append_only or opened.predicate.covers_everything):
        raise LedgerError(
            f"{books.file.shown}: a kept suite is charged for every row, since rows may change while it is open; only "
            "an append-only ledger keeps a suite of some rows; nothing was spent"
        )
    reservation = debit(
        books, opened.predicate, opened.charge, source, asked._replace(run_id=None), deadline=deadline,
        together_with=_writes(books, opened),
    )  # fmt: skip
    with books.current():
        held = _receipt(books, books.state.suites.by_entry[reservation.number], asked, None)
        return replace(held, is_low=reservation.is_low, is_new=reservation.is_new)


def _one_more_run(
    books: Books, opened: Opened, suite: KnownSuite, source: SourceMark, asked: Asked
) -> SuiteReservation:
    """A run of a kept suite that is there: the first of this run id, or one that was killed, or its answer."""
    state, shown, run_id = books.state, books.file.shown, str(asked.run_id)
    books.binding.check_table(source)
    if asked.analyst not in (None, suite.askers.get(run_id, asked.analyst)):  # the owner may read every run
        raise used_by_another(run_id)
    answer = _recorded(books, suite, run_id).get(_RUN)
    _refuse_other_suite(books, suite, opened)
    if answer is not None:
        return _receipt(books, suite, asked, answer)
    refuse_retired(state)
    _refuse_ended(books, suite)
    _refuse_moved_rows(books, suite, source)
    rights = None if asked.analyst is None else state.analysts.newest.get(asked.analyst)
    if rights is not None:  # a run that costs nothing needs them, too
        refuse_rights(rights, state, present())
    if present() + _SLACK < datetime.fromisoformat(suite.at):
        raise LedgerError(
            f"{shown}: the machine's clock is behind the newest run of kept suite {suite.line.name!r}, of "
            f"{suite.at[:16]} UTC: set it; nothing was released"
        )
    return _receipt(books, suite, asked, None)


def _refuse_moved_rows(books: Books, suite: KnownSuite, source: SourceMark) -> None:
    """Raise `LedgerError` if rows that a suite was not charged for may be rows that it tests now.

    A suite of some rows is kept in append-only ledgers, where no row moves. Where cells are read otherwise rows do: one
    of another slice may have paid for that, and would pay for this one without a charge.
    """
    line = books.state.entry(suite.line.entry)
    if region_from_text(line.predicate).covers_everything or books.binding.is_row_of(line, source):
        return
    raise LedgerError(
        f"{books.file.shown}: kept suite {suite.line.name!r} was opened for some rows, whose cells are read otherwise "
        "now (the schema, the delimiter, or the rule of another dpdb): close it and open another one; nothing was "
        "released"
    )


def _refuse_other_suite(books: Books, suite: KnownSuite, opened: Opened) -> None:
    """Raise `LedgerError` if a kept suite was opened with other values than the caller gives now."""
    state, number = books.state, suite.line.entry
    other = [] if state.debited(number) == opened.charge else ["epsilon"]
    other += ["rows"] if state.entry(number).predicate != region_to_text(opened.predicate) else []
    words = kept_otherwise(suite.line.spec, opened.spec, other)
    if words is not None:
        raise LedgerError(f"{books.file.shown}: kept suite {suite.line.name!r} {words}; nothing was spent")


def _writes(books: Books, opened: Opened) -> Callable[[Written], None]:
    """Return a function that writes, in the debit's transaction, the suite and its secret, which is in no chain."""

    def write(made: Written) -> None:
        suites = books.state.suites
        if opened.name in suites.named:
            raise LedgerError(f"{books.file.shown}: {opened.name!r} was opened by another process; nothing was spent")
        salt, secret = new_key(), opened.make_secret()
        line = SuiteLine(
            number=suites.opened.last + 1,
            entry=made.line.number,
            at=made.line.reserved,
            name=opened.name,
            spec=opened.spec,
            commitment=_commitment(salt, secret),
            place=made.line.place + 1,
        )
        insert(books.file, "suite", suites.opened.row(line, made.sealed))
        insert(books.file, "suite_secret", (line.number, salt, secret))
        reached("secret written")

    return write


def _commitment(salt: bytes, secret: str) -> bytes:
    return hashlib.sha256(salt + secret.encode()).digest()


def _receipt(books: Books, suite: KnownSuite, asked: Asked, answer: str | None) -> SuiteReservation:
    run_id = str(asked.run_id)
    levels = _recorded(books, suite, run_id)
    levels.pop(_RUN, None)
    return SuiteReservation(
        number=suite.line.entry,
        suite=suite.line.number,
        run_id=run_id,
        name=suite.line.name,
        secret=_secret(books, suite) if answer is None else "",
        levels=levels,
        answer=answer,
        spent=suite.spent,
        reserved=_reserved(books, suite),
        failed=suite.failed,
        history=() if answer is not None else _history(books, suite),
        analyst=suite.askers.get(run_id, asked.analyst),
    )


def _history(books: Books, suite: KnownSuite) -> list[RecordedLevel | RecordedRearm]:
    """Return the recorded levels of a suite and its re-armed checks, in order; in a transaction."""
    state, found = books.state, []
    for number in sorted(n for levels in suite.runs.values() for n in levels.values()):
        line = state.suites.answers.again(number)
        answer = str(json.loads(line.answer)["answer"])
        found.append((line.place, RecordedLevel(line.run_id, line.level, line.answered, answer)))
    acts: list[tuple[int, RecordedLevel | RecordedRearm]] = [*found]
    for act in suite.acts:
        if act.kind == REARM:
            charge = 0 if act.entry is None else state.entry(act.entry).charge
            acts.append((act.place, RecordedRearm(json.loads(act.detail)["check"], charge)))
    return [each for _, each in sorted(acts, key=lambda one: one[0])]


def _secret(books: Books, suite: KnownSuite) -> str:
    rows: list[Any] = books.file.rows("SELECT salt, secret FROM suite_secret WHERE suite = ?", (suite.line.number,))
    salt, secret = rows[0] if rows else (None, None)
    if salt is None or secret is None or _commitment(salt, secret) != suite.line.commitment:
        name = suite.line.name or books.state.entry(suite.line.entry).run_id
        raise SuiteEndedError(
            f"{books.file.shown}: the secret of suite {name!r} is damaged, and it is never drawn again; nothing was "
            f"released. Close it: dpdb budget close {books.file.shown} {name!r}"
        )
    return str(secret)


def _recorded(books: Books, suite: KnownSuite, run_id: str) -> dict[int, str]:
    """Return the answers that a run has recorded, by level, as they were given."""
    numbers = suite.runs.get(run_id, {})
    return {
        level: str(json.loads(books.state.suites.answers.again(number).answer)["answer"])
        for level, number in sorted(numbers.items())
    }


def _reserved(books: Books, suite: KnownSuite) -> int:
    """Units that were debited for a suite, at the opening and for re-armed checks."""
    return sum(map(books.state.debited, suite.entries))


@unbroken()
def record_level(books: Books, run: SuiteReservation, level: Level) -> None:
    """Record what a run has found at a level; see `LedgerSuites.record_level`."""
    if isinstance(level.number, bool) or not isinstance(level.number, int) or level.number < 1:
        raise ParameterError(f"a level is a whole number from 1 on, got {level.number!r}")
    if isinstance(level.spent, bool) or not isinstance(level.spent, int):
        raise ParameterError(f"what a suite has spent is a whole number of units, got {level.spent!r}")
    reached("level drawn")
    with books.file.debited(), books.act():
        suite = _to_record(books, run, level)
        insert(books.file, "suite_answer", _answer_row(books, suite, run, level))
        reached("level written")
    reached("level recorded")


def _to_record(books: Books, run: SuiteReservation, level: Level) -> KnownSuite:
    """Return the open suite of a run whose next level may be recorded."""
    suite, shown = _open(books, run), books.file.shown
    if {level.number, _RUN} & suite.runs.get(run.run_id, {}).keys():
        raise LedgerError(
            f"{shown}: level {level.number} of this run is recorded already; the new one is not published"
        )
    if not suite.spent <= level.spent <= _reserved(books, suite):
        raise LedgerError(
            f"{shown}: a suite costs more with every level and at most what was debited for it; this level is "
            "not published"
        )
    again = sorted(suite.failed.keys() & set(level.failed))
    if again:
        raise LedgerError(f"{shown}: check {again[0]!r} failed before and was not re-armed; nothing is published")
    return suite


def _answer_row(
    books: Books, suite: KnownSuite, run: SuiteReservation, level: Level, *, nth: int = 0, before: Any = None
) -> tuple[object, ...]:
    """Return the row of a level; of the `nth` new line of a transaction, after the one with the seal `before`."""
    state, at = books.state, max(now(), suite.at)  # the times of a suite's lines never go back
    failed = suite.failed | dict.fromkeys(level.failed, at)
    text = json.dumps({"answer": level.answer, "analyst": run.analyst, "spent": level.spent, "failed": failed})
    number, place = state.suites.answers.last + 1 + nth, state.next_place + nth
    line = SuiteAnswerLine(number, suite.line.number, run.run_id, level.number, at, text, place)
    return state.suites.answers.row(line, before=before)


def _open(books: Books, run: SuiteReservation) -> KnownSuite:
    """The suite of a run, if it is open."""
    suite = books.state.suites.known[run.suite - 1]
    _refuse_ended(books, suite)
    return suite


def _refuse_ended(books: Books, suite: KnownSuite) -> None:
    if not books.state.is_answered(suite.line.entry):
        return
    if suite.line.name is None and not suite.acts:
        raise LedgerError(f"{books.file.shown}: this run has an answer already; the new one is not published")
    what = f"kept suite {suite.line.name!r}" if suite.line.name is not None else "this run"
    raise SuiteEndedError(
        f"{books.file.shown}: {what} was closed on {suite.acts[-1].at[:10]}; nothing was released or spent"
    )


@unbroken()
def end_suite(books: Books, run: SuiteReservation, answer: str, charge: int | None) -> None:
    """Record the answer of a run; settle and forget a suite that is not kept; see `LedgerSuites.end_suite`.

    Parameters
    ----------
    charge
        What the suite finally costs; None for what its levels cost.
    """
    reached("ending")
    if run.name is not None:
        _end_run(books, run, answer, charge)
        return
    with books.file.debited(UNSETTLED):
        with books.act():
            suite = _open(books, run)
            final = suite.spent if charge is None else charge
            if not suite.runs.get(run.run_id):
                raise LedgerError(f"{books.file.shown}: no level of this run is recorded; it cannot end yet")
            if not suite.spent <= final <= run.reserved:
                raise LedgerError(
                    f"{books.file.shown}: a suite costs at least what its levels do, and at most what was debited; "
                    f"{UNSETTLED}"
                )
            end = books.state.answer_row(run.number, now(), answer)
            insert(books.file, "answer", end)
            entry = books.state.entry(run.number)
            for row in settlement_rows(books.state, [(entry, final)], books.state.next_place + 1):
                insert(books.file, "settlement", row)
            forget(books, suite.line.number)
            reached("end written")
        reached("secret overwritten")
        books.file.truncate_log()
    reached("ended")


@unbroken()
def end_and_close(books: Books, run: SuiteReservation, level: Level, answer: str) -> None:
    """Record the last level of a kept suite with the run's answer, and close it; see `LedgerSuites.end_and_close`."""
    reached("level drawn")
    with books.file.debited(UNSETTLED):
        with books.act():
            suite = _to_record(books, run, level)
            place = books.state.next_place
            first = _answer_row(books, suite, run, level)
            insert(books.file, "suite_answer", first)
            last = Level(_RUN, answer, level.spent, level.failed)
            insert(books.file, "suite_answer", _answer_row(books, suite, run, last, nth=1, before=first[-1]))
            write_end(books, suite, level.spent, place + 2, (run.analyst, "its reserve bought numbers"))
            reached("end written")
        reached("secret overwritten")
        books.file.truncate_log()
    reached("ended")


def write_end(books: Books, suite: KnownSuite, spent: int, place: int, by: tuple[str | None, str | None]) -> None:
    """In one transaction: the answer of its first debit, the settlement of each, the act, the end of the secret.

    Parameters
    ----------
    suite
        A kept suite, or a run that was not finished.
    spent
        Units that all its levels cost.
    """
    state, entry = books.state, suite.line.entry
    at = max(now(), suite.at)
    of = state.debits.seal_of(entry), place - 1
    answer = state.answer_row(entry, at, json.dumps({"suite": suite.line.name, "closed": at}), of)
    insert(books.file, "answer", answer)
    rows = settlement_rows(state, _final(state, suite, spent), place + 1)
    for row in rows:
        insert(books.file, "settlement", row)
    insert_act(books, suite, (CLOSE, act_detail({}, *by), None), place + 1 + len(rows))
    forget(books, suite.line.number)


def _final(state: LedgerState, suite: KnownSuite, spent: int) -> Sequence[tuple[EntryLine, int]]:
    """What each debit of a suite finally costs: together what its levels cost, the oldest first.

    All of them are charged for the same rows, for life, so only their sum matters.
    """
    left, charges = spent, []
    for number in suite.entries:
        entry = state.entry(number)
        charges.append((entry, min(entry.charge, left)))
        left -= charges[-1][1]
    return charges


def insert_act(books: Books, suite: KnownSuite, act: tuple[str, str, int | None], place: int) -> None:
    """Insert an act on a suite.

    Parameters
    ----------
    act
        Its kind, its detail and the debit that it made.
    """
    state, at = books.state, max(now(), suite.at)
    line = SuiteActLine(state.suites.acts.last + 1, suite.line.number, at, *act, place)
    insert(books.file, "suite_act", state.suites.acts.row(line))


def _end_run(books: Books, run: SuiteReservation, answer: str, charge: int | None) -> None:
    if charge is not None:
        raise ParameterError("a run of a kept suite settles nothing; the suite is settled when it is closed")
    with books.file.debited(), books.act():
        suite = _open(books, run)
        if _RUN in suite.runs.get(run.run_id, {}):
            raise LedgerError(f"{books.file.shown}: this run has an answer already; the new one is not published")
        row = _answer_row(books, suite, run, Level(_RUN, answer, suite.spent))
        insert(books.file, "suite_answer", row)
        reached("end written")
    reached("ended")


def suites(books: Books) -> list[RecordedSuite]:
    """Every suite of a ledger, oldest first; in a transaction, after the ledger was read."""
    state, recorded = books.state, []
    for suite in state.suites.known:
        line, entry = suite.line, state.entry(suite.line.entry)
        answered = state.answered_at(line.entry)
        settled = [state.settlements.of(number) for number in suite.entries]
        rearmed = [(json.loads(act.detail)["check"], act.at) for act in suite.acts if act.kind == REARM]
        recorded.append(
            RecordedSuite(
                number=line.number,
                entry=line.entry,
                opened=line.at,
                ended=answered,
                name=line.name,
                run_id=entry.run_id,
                spec=line.spec,
                runs=len(suite.runs),
                reserved=_reserved(books, suite),
                spent=suite.spent if answered is None else sum(one.charge for one in settled if one is not None),
                failed=tuple(suite.failed.items()),
                rearmed=tuple(rearmed),
            )
        )
    return recorded


def suite_levels(books: Books, number: int) -> list[RecordedLevel]:
    """Return the levels that the runs of a suite have recorded, in order; in a transaction, after the ledger was read.

    Parameters
    ----------
    books
        The books of the ledger.
    number
        The number of the suite.
    """
    return [each for each in suite_history(books, number) if isinstance(each, RecordedLevel)]


def suite_history(books: Books, number: int) -> list[RecordedLevel | RecordedRearm]:
    """Return the recorded levels of a suite and its re-armed checks, in order; as `suite_levels`."""
    known = books.state.suites.known
    if not 0 < number <= len(known):
        raise ParameterError(f"{books.file.shown}: no suite {number!r}")
    return _history(books, known[number - 1])
