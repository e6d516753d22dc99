"""How acts end: signals that stop a command, blocks that no signal may interrupt, steps of acts that survive a kill.

In a library the handlers are the caller's. A command has its own, `SignalsEndTheCommand`: an exception in the main
thread, as always in Python, and beside it a thread that ends the process where the exception does not come through (a
native call that takes long, code that swallows it). `unbroken` is for both.

A debit, a settlement and a job report their steps as they reach them. Nobody listens, except tests, which end the
process there, press Ctrl-C, or let others spend in between. A list of the process and no parameter: the ledger that a
command debits is opened by a session inside a job, and a parameter for tests would stand in the signature of every
entry point down to it.

Loads nothing but small modules of the standard library: a command catches signals before it imports anything else.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))

_GRACE = 1.0
"""Seconds that a terminated command has to end by itself."""
_LONGEST_COMMIT = 30.0
"""Seconds that a forced end waits for a block that must not be broken."""
_PAUSE = 0.02
_AGAIN = signal.SIGALRM if hasattr(signal, "SIGALRM") else signal.SIGTERM
"""Used within the process only, to raise an exception in the main thread."""

_gate = threading.RLock()  # whoever ends the process by force takes it for ever
_blocks = 0  # that must not be broken, in all threads
_clean_ups: list[Callable[[], None]] = []
_may_have_spent = threading.Event()


class Terminated(SystemExit):
    """SIGTERM or SIGHUP came; leaves like `SystemExit`, with the exit code that shells know."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


# -- what a command that is stopped may say of money ----------------------------------------------------------


def debit_begins() -> None:
    """Note that this process begins a debit now, whether or not the debit succeeds."""
    _may_have_spent.set()


def what_is_spent() -> str:
    """Say whether a process that is stopped now has spent budget."""
    return "what was debited stays spent" if _may_have_spent.is_set() else "nothing was spent"


# -- what must not be broken ----------------------------------------------------------------------------------


@contextmanager
def unbroken() -> Iterator[None]:
    """Let signals wait until the block ends: for short acts that must not stay half done.

    A forced end of the command waits for it, too. Of nested blocks the outermost counts. What Python does not
    handle (SIGTERM in a program that leaves it alone) does not wait. Also a decorator.
    """
    block = _Unbroken()
    try:
        block.begin()
        yield
    finally:
        block.end()
        block.let_through()


def let_through() -> None:
    """Inside an `unbroken` block: handle the signals that wait, because nothing is half done here."""
    if _outermost is not None and threading.current_thread() is threading.main_thread():
        _outermost.let_through()


class _Unbroken:
    def __init__(self) -> None:
        self._lasts = False
        self._handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self._waiting: list[int] = []

    def begin(self) -> None:
        global _blocks, _outermost  # noqa: PLW0603 - one process, one count
        with _gate:
            self._lasts = True
            _blocks += 1
        if threading.current_thread() is not threading.main_thread() or _outermost is not None:
            return  # no handler runs here, or they wait already
        _outermost = self
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._wait)

    def end(self) -> None:
        global _blocks, _outermost  # noqa: PLW0603
        if not self._lasts:
            return
        with _gate:
            self._lasts = False
            _blocks -= 1
        if _outermost is self:
            _outermost = None
            for number, handler in self._handlers.items():
                signal.signal(number, handler)

    def let_through(self) -> None:
        waiting, self._waiting = self._waiting, []
        raised: BaseException | None = None
        for number in waiting:
            try:
                self._handlers[number](number, None)
            except BaseException as error:  # the last one is raised, when all are handled
                raised = error
        if raised is not None:
            raise raised

    def _wait(self, number: int, frame: FrameType | None) -> None:
        if self._lasts:
            self._waiting.append(number)
        else:  # not put back yet, or never, because the exception of another signal came in between
            self._handlers[number](number, frame)


_outermost: _Unbroken | None = None  # of the main thread


# -- how a command stops --------------------------------------------------------------------------------------


def at_forced_end(clean_up: Callable[[], None]) -> Callable[[], None]:
    """Register a function for the forced end of a command, which runs no other clean-up."""
    _clean_ups.append(clean_up)
    return clean_up


def went_on() -> None:
    """Forget the first SIGINT: it cancelled a step, and the command goes on."""
    for command in _commands:
        command._asked = 0
        command._raised = None
        command._last = None


def asked_to_stop() -> KeyboardInterrupt | Terminated | None:
    """Return the exception of the last signal that the command was sent, None if there was none since `went_on`.

    For errors of native code: numpy, whose import was interrupted, says that it is badly installed.
    """
    number = _commands[-1]._last if _commands else None
    return None if number is None else _stop(number)


class _Interrupted(KeyboardInterrupt):
    """A `KeyboardInterrupt` that weak references can follow, which its base does not allow."""


def _stop(number: int) -> KeyboardInterrupt | Terminated:
    return _Interrupted() if number == signal.SIGINT else Terminated(number)


class SignalsEndTheCommand:
    """Signal handlers of a command, while the block lasts.

    SIGTERM and SIGHUP raise `Terminated`, and end the process after a second if it is still there. The first SIGINT
    raises `KeyboardInterrupt`, the second ends the process. Signals that are ignored (`nohup`) stay ignored.

    Such an exception can get lost: Python drops it in a destructor or a callback of a weak reference, and native code
    that tries an import (DuckDB and Arrow look for pandas) clears whatever that raises. So it is raised once more when
    it has ceased to exist and neither `went_on` was called nor the block has ended.

    Parameters
    ----------
    say
        Prints a line on standard error before a forced end; must not block.
    """

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._before: dict[int, Any] = {}
        self._asked = 0
        self._over = threading.Event()
        self._watch: threading.Thread | None = None
        self._dropped: list[BaseException] = []
        self._raised: weakref.ref[BaseException] | None = None
        self._lost: int | None = None
        self._last: int | None = None

    def __enter__(self) -> SignalsEndTheCommand:
        if threading.current_thread() is threading.main_thread():
            self._main = threading.get_ident()
            self._pipe = os.pipe()
            os.set_blocking(self._pipe[1], False)
            self._wakeup = signal.set_wakeup_fd(self._pipe[1], warn_on_full_buffer=False)
            self._watch = threading.Thread(target=self._watched, name="dpdb-signals", daemon=True)
            self._watch.start()
            _commands.append(self)
            self._hook, sys.unraisablehook = sys.unraisablehook, self._drop
            self._before[_AGAIN] = signal.signal(_AGAIN, self._raise_again)
            for number in _SIGNALS:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._watch is None:
            return
        self._over.set()
        for number, handler in self._before.items():
            if number != _AGAIN or number in _SIGNALS:
                signal.signal(number, handler)
        sys.unraisablehook = self._hook
        signal.set_wakeup_fd(self._wakeup)
        _commands.remove(self)
        os.close(self._pipe[1])  # the watching thread reads the end of the pipe
        self._watch.join()
        os.close(self._pipe[0])
        signal.signal(_AGAIN, self._before[_AGAIN])  # last: what the thread still sends must not end the process

    def _handle(self, number: int, frame: FrameType | None) -> None:
        del frame
        raise self._followed(number)

    def _followed(self, number: int) -> BaseException:
        error = _stop(number)
        self._last = number
        self._raised = weakref.ref(error, lambda gone: self._vanished(gone, number))
        return error

    def _vanished(self, gone: weakref.ref[BaseException], number: int) -> None:
        """Raise it anew unless it has done its work; runs wherever the last reference went."""
        if gone is self._raised and not self._over.is_set():
            self._lost = number
            with suppress(OSError):
                os.write(self._pipe[1], bytes(1))

    def _drop(self, dropped: sys.UnraisableHookArgs) -> None:
        """Note an exception that goes nowhere; nothing is printed, because a traceback may show private values."""
        if isinstance(dropped.exc_value, (KeyboardInterrupt, Terminated)):
            self._dropped.append(dropped.exc_value)
            os.write(self._pipe[1], bytes(1))
        else:
            error = dropped.exc_value
            logging.getLogger("dpdb.owner").error("dropped in %r", dropped.object, exc_info=error)

    def _raise_again(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._over.is_set():
            return
        if self._dropped:
            raise self._dropped.pop()
        lost, self._lost = self._lost, None
        if lost is not None and self._raised is not None:
            raise self._followed(lost)

    def _watched(self) -> None:
        """See every signal as it comes, whatever the main thread does: Python's own C handler writes to the pipe."""
        while number := os.read(self._pipe[0], 1):
            if number[0] == 0:  # from `_drop`; by now the main thread is out of where it had to
                time.sleep(_PAUSE)
                signal.pthread_kill(self._main, _AGAIN)
            elif number[0] == signal.SIGINT:
                self._asked += 1
                if self._asked > 1:
                    self._end(128 + number[0], "interrupted")
            elif number[0] in _SIGNALS and not self._over.wait(_GRACE):
                self._end(128 + number[0], "terminated")

    def _end(self, code: int, word: str) -> None:
        end_by_force(code, lambda: self._say(f"{word}; {what_is_spent()}"), self._over.is_set)


def end_by_force(
    code: int, say: Callable[[], object] = lambda: None, is_over: Callable[[], bool] = lambda: False
) -> None:
    """End the process, whatever its threads do, once no block is unbroken; return if it is over before that.

    Parameters
    ----------
    say
        Says so, just before.
    is_over
        Whether the process ends by itself meanwhile.
    """
    latest = time.monotonic() + _LONGEST_COMMIT
    while not is_over():
        with _gate:
            if _blocks == 0 or time.monotonic() > latest:
                say()
                for clean_up in _clean_ups:
                    with suppress(Exception):
                        clean_up()
                os._exit(code)
        time.sleep(_PAUSE)


_commands: list[SignalsEndTheCommand] = []


watchers: list[Callable[[str], None]] = []
"""Called with the name of every step, in this process."""


def reached(step: str) -> None:
    """Say that a step is reached."""
    for watch in watchers:
        watch(step)


@contextmanager
def if_it_fails(undo: Callable[[], object]) -> Iterator[None]:
    """Undo what was begun before a block if that raises anything, also the exception of a signal."""
    try:
        yield
    except BaseException:
        undo()
        raise


class Closing(ABC):
    """A context manager that gives itself, and is closed at the end of the block."""

    __slots__ = ()

    @abstractmethod
    def close(self) -> None:
        """Close it. May be called twice."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *why: object) -> None:
        self.close()
