"""`publish` and its kin: the one way out for releases, verdicts and choices: load, debit, draw, record, return.

What is published was checked before: by `prepare`, `dpdb.diagnosis`, `dpdb.suites`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from dpdb.errors import OWNER_LOG, EngineError, SourceError
from dpdb.release.published.release import Releases, recorded_releases
from dpdb.stopping import debit_begins

if TYPE_CHECKING:
    from dpdb.release.account import Account, Payer, SuiteLevel, SuiteReservation, SuiteRun
    from dpdb.release.costs import Charge

_FAILED = (
    "the release failed after its budget was debited; the reason is in the owner's log (logger 'dpdb.owner'), "
    "because it may name private values"
)
_OUT_OF_MEMORY = (
    "the release failed after its budget was debited: memory did not suffice; give the process more, or let it spill "
    "(memory_limit, a temp_directory with room); the reason is in the owner's log (logger 'dpdb.owner')"
)


def publish(account: Account, charge: Charge, load: Callable[[], object], draw: Callable[[], Releases]) -> Releases:
    """Make the releases of one call as `publish_answer` makes an answer, or return the recorded ones of its run."""

    def draw_text() -> str:
        return json.dumps([release.to_dict() for release in draw()])

    return recorded_releases(publish_answer(account, charge, load, draw_text))


def publish_answer(account: Payer, charge: Charge, load: Callable[[], object], draw: Callable[[], str]) -> str:
    """Make an answer, as text, or return the recorded one of its run.

    Failures for public reasons come before the debit: `load` compiles the code of `draw`, and raises `SourceError` if
    the table is no longer the one that was opened. A run with a recorded answer in the ledger gets that answer, and
    nothing is loaded or drawn. Every failure after the debit has one constant message.

    Parameters
    ----------
    account
        Pays, and keeps the answer before it is published.
    charge
        The cost of the answer, for the rows that can change it.
    load
        Called if there will be a draw, before the debit.
    draw
        Reads private rows and draws noise, after the debit. Its result is recorded, then published.

    Raises
    ------
    BudgetExceededError, LedgerError, ParameterError
        The account does not pay; nothing is spent.
    EngineError
        Loading failed, and nothing is spent, or the draw failed, and what was debited stays spent.
    """
    _load_before_the_debit(load, account.will_draw(charge))
    with closing(account.debit(charge)) as reservation:
        if reservation.answer is not None:
            return reservation.answer
        with _one_message():
            answer = draw()
        account.record(reservation, answer)
        return answer


def publish_suite(
    account: Account,
    run: SuiteRun,
    load: Callable[[], object],
    read: Callable[[SuiteReservation], Callable[[], SuiteLevel | None]],
) -> str:
    """Make one run of a suite of checks level by level, or return the recorded answer of that run.

    The debit of the whole charge and the secret are one transaction. Each level is recorded before the next one is
    drawn and before anything of it is shown, so a killed run, asked again, goes on where its record ends: with the
    same secret and fresh noise for what was not recorded. At the end the charge is lowered to what was needed, unless
    the suite is kept. Failures as in `publish_answer`.

    Parameters
    ----------
    account
        Pays, and keeps secret and levels.
    run
        What is public about the run, and its secret when that is first drawn.
    load
        Called if there will be a draw, before the debit.
    read
        Reads private rows, once; the result draws the next level after those of the reservation, None after the last.

    Raises
    ------
    BudgetExceededError, LedgerError, ParameterError
        The account does not pay; nothing is spent.
    EngineError
        Loading failed, and nothing is spent, or the draw failed, and what was debited stays spent until the same run
        is finished.
    """
    from dpdb.ledger import RecordedLevel  # releases have no levels

    _load_before_the_debit(load, account.will_test(run))
    with closing(account.open_suite(run)) as opened:
        held = opened
        if held.answer is not None:
            return held.answer
        with _one_message():
            draw = read(held)
        while True:
            with _one_message():
                level = draw()
            if level is None:
                last = None
                break
            if not level.closes:
                account.record_level(held, level)
            held = replace(
                held,
                levels={**held.levels, level.number: level.answer},
                spent=level.spent,
                failed={**held.failed, **dict.fromkeys(level.failed, "")},
                history=[*held.history, RecordedLevel(held.run_id, level.number, "", level.answer)],
            )
            if level.closes:  # recorded with the answer, so that the suite is never open without its reserve
                last = level
                break
        verdicts = run.answer(held)
        account.end_suite(held, verdicts, last)
        return verdicts


def _load_before_the_debit(load: Callable[[], object], will_draw: bool) -> None:
    """Load what a draw needs, if one will follow; what comes next is the debit."""
    if will_draw:
        with _said_before_the_debit():
            load()
    debit_begins()


@contextmanager
def _said_before_the_debit() -> Iterator[None]:
    """Turn a failure before the debit, when no private row was read, into an error that says so and why."""
    try:
        yield
    except SourceError:
        raise
    except Exception as error:
        OWNER_LOG.exception("loading failed")
        why = str(error).splitlines()
        reason = f"{type(error).__name__}: {why[0]}" if why else type(error).__name__
        raise EngineError(f"what the release needs cannot be loaded, and nothing was spent ({reason})") from None


@contextmanager
def _one_message() -> Iterator[None]:
    """Turn failures after the debit into one constant message, or another one if memory did not suffice.

    Which of the two may depend on rows, as the failure itself does; the reason goes to the owner's log.
    """
    try:
        yield
    except Exception as error:
        if not isinstance(error, EngineError):  # the engine has logged its own
            OWNER_LOG.exception("release failed")
        raise EngineError(_OUT_OF_MEMORY if isinstance(error, MemoryError) else _FAILED) from None
