"""Receipts for analysts: each of his own debits, and the refusal to go on with a ledger that went back.

A receipt shows how many lines the log has, and so when others asked and were answered. What analysts are shown
advances on a grid of time of its own, by the clock alone: not when somebody asks, when another process signs, or when
a server is started. See `timing` for why. Nothing else of others is in a receipt.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpdb.doors.server.exchange import Answer, Asker, RefusedError
from dpdb.doors.server.refusals import Refusal
from dpdb.errors import OWNER_LOG, ParameterError

if TYPE_CHECKING:  # a server without receipts needs no signatures
    from dpdb.receipts import Checkpoint, Issuer

_MOST_ASKED = 100
_MOST_NAMED = 50
_TRIES = 3


class SignedReceipt(NamedTuple):
    """A receipt as one line of JSON, what it shows of the log as `If-Receipt` names it, and its answers' salts."""

    line: bytes
    shown: str
    salts: Mapping[str, str]

    def values(self) -> dict[str, Any]:
        """Return it for its asker, who has the answers, with the salts by which they are found in it."""
        line = self.line.decode().removesuffix("\n")
        return {"receipt": line, "if_receipt": self.shown, "salts": self.salts}


class Receipts:
    """Signs receipts for the ledgers of a server; may be used by several threads.

    The log is shown as it was at the last multiple of `grid` on the machine's monotonic clock, which all its processes
    share; before the first one that the server sees, none of it. A thread reads it at these moments.

    Parameters
    ----------
    key
        File of the private key; None for no receipts.
    ledgers
        By table.
    grid
        Seconds between the moments at which the shown log advances.

    Raises
    ------
    DpdbError
        The key cannot be used, or a ledger does not have what it has signed.
    """

    def __init__(self, key: Path | None, ledgers: Mapping[str, Path], grid: float) -> None:
        self._opened, self._lock, self._grid = ExitStack(), threading.Lock(), grid
        self._shown: dict[Issuer, int] = {}  # how many lines of each ledger
        self._next = (time.monotonic() // grid + 1) * grid
        self._stopped = threading.Event()
        if key is None:
            return
        from dpdb.receipts import Issuer, load_key

        signer = load_key(key)
        with self._opened as opened:
            for path in ledgers.values():
                self._shown[opened.enter_context(Issuer(path, signer))] = 0
            self._opened = opened.pop_all()
        follower = threading.Thread(target=self._follow, name="dpdb-receipts", daemon=True)
        self._opened.callback(follower.join)
        self._opened.callback(self._stopped.set)
        follower.start()

    @property
    def are_given(self) -> bool:
        """Whether the server has a key of receipts."""
        return bool(self._shown)

    def refuse_rollback(self, seen: Checkpoint) -> None:
        """Refuse a ledger that does not have what an earlier receipt has shown; also of lines that are not shown yet.

        Whoever names the root of these lines was shown them, by another process perhaps: no other root is right.

        Raises
        ------
        RollbackError
            It does not have it.
        """
        with self._lock:
            own = [issuer for issuer in self._shown if issuer.origin == seen.origin]
            if not own:
                raise ParameterError("If-Receipt names no log of this server")
            own[0].refresh()
            own[0].refuse_rollback([seen], "an earlier receipt")

    def of(
        self, analyst: str, asked: Sequence[tuple[str, str]], seen: Checkpoint | None
    ) -> list[SignedReceipt] | float:
        """Return an analyst's receipts, one for each debit; or in how many seconds the log shows them.

        Parameters
        ----------
        asked
            Kinds, `run` or `release`, with names.
        seen
            What an earlier receipt has shown: the new ones are shown to follow it.
        """
        if not self._shown:
            raise ParameterError("this server signs no receipts: its owner has given it no receipt_key")
        if not 0 < len(asked) <= _MOST_ASKED:
            raise ParameterError(f"give up to {_MOST_ASKED} runs or releases of yours")
        with self._lock:
            left = self._advance()
            found = list(dict.fromkeys(self._debit(analyst, *one) for one in dict.fromkeys(asked)))
            for issuer, number in found:
                size = self._shown[issuer]
                if not issuer.shows(number, size) or (seen and issuer.origin == seen.origin and seen.size > size):
                    return left
            return [self._signed(*one, [] if seen is None else [seen]) for one in found]

    def _signed(self, issuer: Issuer, number: int, after: list[Checkpoint]) -> SignedReceipt:
        size = self._shown[issuer]
        line = issuer.issue(number, None, after, size=size)
        shown = issuer.at(size).text.strip().replace("\n", " ")
        return SignedReceipt(line, shown, issuer.salts(number, size=size))

    def _follow(self) -> None:
        while not self._stopped.wait(max(0.0, self._next - time.monotonic())):
            with self._lock:
                self._advance()

    def _advance(self) -> float:
        """Show the log as it is now if a moment of the grid has come; return in how many seconds the next one comes."""
        now = time.monotonic()
        if now >= self._next:
            self._next = (now // self._grid + 1) * self._grid
            for issuer in self._shown:
                try:
                    issuer.refresh()
                    self._shown[issuer] = issuer.newest.size
                except Exception:
                    OWNER_LOG.exception("the log of receipts does not advance")
        return self._next - now

    def _debit(self, analyst: str, kind: str, name: str) -> tuple[Issuer, int]:
        for issuer in self._shown:
            number = issuer.own_debit(analyst, **{f"{kind}_id": f"{analyst}:{name}" if kind == "run" else name})
            if number is not None:
                return issuer, number
        raise ParameterError("there is no such run or release of yours")

    def close(self) -> None:
        """Close the ledgers."""
        self._opened.close()


class ReceiptDesk:
    """What protocols call: receipts, and the refusal of a rollback, in the event loop.

    Parameters
    ----------
    told : callable
        Runs work in a thread; its errors become refusals.
    ended : callable
        Waits until an analyst's statements have ended: a receipt says whether a debit was answered, which depends on
        private work; see `dpdb.doors.server.timing`.
    """

    def __init__(
        self,
        receipts: Receipts,
        told: Callable[[Callable[[], Any]], Awaitable[Any]],
        ended: Callable[[str], Awaitable[None]],
    ) -> None:
        self._receipts, self._told, self._ended = receipts, told, ended
        self._turns: dict[str, asyncio.Lock] = {}  # by analyst: an old release is looked for in all answers

    def named(self, asker: Asker, answer: Answer) -> list[tuple[str, str]]:
        """Return what to ask for to have the receipts of an answer: kinds with names; nothing without a key."""
        if not self._receipts.are_given:
            return []
        releases = [("release", release.release_id) for release in answer.releases[:_MOST_NAMED]]
        return releases + [("run", run_id.removeprefix(f"{asker.analyst.name}:")) for run_id in answer.runs]

    async def of(self, asker: Asker, asked: Sequence[tuple[str, str]], seen: str | None) -> list[SignedReceipt]:
        """Return the receipts of an analyst's own runs and releases, as soon as the log shows them."""
        after, name = await self.refuse_rollback(seen), asker.analyst.name
        async with self._turns.setdefault(name, asyncio.Lock()):
            for _ in range(_TRIES):
                await self._ended(name)
                found = await self._told(lambda: self._receipts.of(name, asked, after))
                if isinstance(found, list):
                    return found
                await asyncio.sleep(found)
        raise RefusedError(Refusal("unavailable", "the log does not show this yet: ask again"))

    async def refuse_rollback(self, seen: str | None) -> Checkpoint | None:
        """Refuse with `rollback` unless the ledger has what a receipt has shown; return what that is."""
        shown: Checkpoint | None = await self._told(lambda: _checkpoint(seen))
        if shown is not None:
            await self._told(partial(self._receipts.refuse_rollback, shown))
        return shown


def _checkpoint(text: str | None) -> Checkpoint | None:
    """Read what a request says that an earlier receipt has shown: name, lines and root of the log, as it writes them.

    Raises
    ------
    ParameterError
        It is something else.
    """
    if text is None:
        return None
    from dpdb.receipts import parse_checkpoint

    try:
        return parse_checkpoint("".join(f"{part}\n" for part in text.split(" ")))
    except ValueError:
        raise ParameterError("If-Receipt has the first three lines of a checkpoint, with blanks between them") from None
