"""Receipts for analysts: each of his own debits, and the refusal to go on with a ledger that went back.

A receipt shows how many lines the log has, and so when others asked and were answered. What analysts are shown
advances on a grid of time of its own, whoever asks when: see `padding` for why. Nothing else of others is in a receipt.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpdb.doors.server.asked import Asker, RefusedError
from dpdb.doors.server.refusals import Refusal
from dpdb.errors import ParameterError

if TYPE_CHECKING:  # a server without receipts needs no signatures
    from dpdb.receipts import Checkpoint, Issuer

__all__ = ["ReceiptDesk", "Receipts"]

_MOST_ASKED = 100
_TRIES = 3


class Receipts:
    """Signs receipts for the ledgers of a server; may be used by several threads.

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
        self._issuers: list[Issuer] = []
        self._next = 0.0
        if key is None:
            return
        from dpdb.receipts import Issuer, load_key

        signer = load_key(key)
        try:
            for path in ledgers.values():
                self._issuers.append(self._opened.enter_context(Issuer(path, signer)))
        except BaseException:
            self._opened.close()
            raise

    @property
    def are_given(self) -> bool:
        """Whether the server has a key of receipts."""
        return bool(self._issuers)

    def refuse_rollback(self, seen: Checkpoint, *, is_last: bool) -> float:
        """Refuse a ledger that does not have what an earlier receipt has shown.

        Parameters
        ----------
        seen
            What it has shown.
        is_last
            Whether the caller has waited before, and waits no more.

        Returns
        -------
        float
            0 if it has; else in how many seconds the shown log may reach so far, as after a receipt of another process.

        Raises
        ------
        RollbackError
            It does not have it.
        ParameterError
            There is no such log.
        """
        with self._lock:
            left = self._advance()
            own = [issuer for issuer in self._issuers if issuer.origin == seen.origin]
            if not own:
                raise ParameterError("If-Receipt names no log of this server")
            if seen.size > own[0].newest.size and not is_last:
                return left
            own[0].refuse_rollback([seen], "an earlier receipt")
            return 0.0

    def of(self, analyst: str, asked: Sequence[tuple[str, str]], seen: Checkpoint | None) -> bytes | float:
        """Return an analyst's receipts, one for each debit, a line each; or in how many seconds the log shows them.

        Parameters
        ----------
        analyst
            Who asks.
        asked
            Kinds, `run` or `release`, with names.
        seen
            What an earlier receipt has shown: the new ones are shown to follow it.

        Raises
        ------
        ParameterError
            One of them is none of his.
        """
        if not self._issuers or not 0 < len(asked) <= _MOST_ASKED:
            raise ParameterError(f"give up to {_MOST_ASKED} runs or releases of yours")
        with self._lock:
            left = self._advance()
            found = list(dict.fromkeys(self._debit(analyst, *one) for one in dict.fromkeys(asked)))
            if any(not issuer.shows(number) for issuer, number in found):
                return left
            after = [] if seen is None else [seen]
            return b"".join(issuer.issue(number, None, after, refresh=False) for issuer, number in found)

    def _advance(self) -> float:
        now = time.monotonic()
        if now >= self._next:
            self._next = (now // self._grid + 1) * self._grid
            for issuer in self._issuers:
                issuer.refresh()
        return self._next - now

    def _debit(self, analyst: str, kind: str, name: str) -> tuple[Issuer, int]:
        for issuer in self._issuers:
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
    receipts : Receipts
    told : callable
        Runs work in a thread; its errors become refusals.
    ended : callable
        Waits until an analyst's statements have ended: a receipt says whether a debit was answered, which depends on
        private work; see `dpdb.doors.server.standing`.
    """

    def __init__(
        self,
        receipts: Receipts,
        told: Callable[[Callable[[], Any]], Awaitable[Any]],
        ended: Callable[[str], Awaitable[None]],
    ) -> None:
        self._receipts, self._told, self._ended = receipts, told, ended
        self._turns: dict[str, asyncio.Lock] = {}  # by analyst: an old release is looked for in all answers

    @property
    def are_given(self) -> bool:
        """Whether the server has a key of receipts."""
        return self._receipts.are_given

    async def of(self, asker: Asker, asked: Sequence[tuple[str, str]], seen: str | None) -> bytes:
        """Return the receipts of an analyst's own runs and releases, as soon as the log shows them."""
        after, name = await self.refuse_rollback(seen), asker.analyst.name
        async with self._turns.setdefault(name, asyncio.Lock()):
            for _ in range(_TRIES):
                await self._ended(name)
                found = await self._told(lambda: self._receipts.of(name, asked, after))
                if isinstance(found, bytes):
                    return found
                await asyncio.sleep(found)
        raise RefusedError(Refusal("unavailable", "the log does not show this yet: ask again"))

    async def refuse_rollback(self, seen: str | None) -> Checkpoint | None:
        """Refuse with `rollback` unless the ledger has what a receipt has shown; return what that is."""
        shown: Checkpoint | None = await self._told(lambda: _checkpoint(seen))
        if shown is not None:
            known: Checkpoint = shown
            left = await self._told(lambda: self._receipts.refuse_rollback(known, is_last=False))
            if left:
                await asyncio.sleep(left)
                await self._told(lambda: self._receipts.refuse_rollback(known, is_last=True))
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
