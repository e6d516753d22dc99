"""Analysts of all ledgers of a configuration: the owner's acts, who holds a token, and the keys that prove it.

An act writes to every ledger. Where a crash has left one of them behind, the analyst is refused everywhere until the
act is repeated: what is known of him must be the same in all.

`LoginKeys` are kept of a token so that its holder can prove that he has it and never sends it (SCRAM-SHA-256). They are
made from the same token as its SHA-256. Nothing logs in with these keys, and 32 random bytes are not guessed from them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from dpdb.doors.server.configuration import Configuration
from dpdb.doors.server.refusals import ForbiddenError, UnauditedError
from dpdb.errors import LedgerError
from dpdb.ledger import Ledger, RecordedAnalyst

ITERATIONS = 4096
"""The least that RFC 7677 allows; a random token needs no more."""
_TEXT = re.compile(r"SCRAM-SHA-256\$(\d+):([^$:]+)\$([^$:]+):([^$:]+)")


class LoginKeys(NamedTuple):
    """The keys of RFC 5802, of one token."""

    iterations: int
    salt: bytes
    stored: bytes
    server: bytes

    @property
    def text(self) -> str:
        """As PostgreSQL writes them."""
        salt, stored, server = (base64.b64encode(one).decode() for one in self[1:])
        return f"SCRAM-SHA-256${self.iterations}:{salt}${stored}:{server}"

    @classmethod
    def read(cls, text: str) -> LoginKeys:
        """Read `text`; `ValueError` if it is none."""
        found = _TEXT.fullmatch(text)
        if found is None:
            raise ValueError("no keys of SCRAM-SHA-256")
        salt, stored, server = (base64.b64decode(one, validate=True) for one in found.groups()[1:])
        return cls(int(found[1]), salt, stored, server)


def login_keys(token: str, salt: bytes) -> LoginKeys:
    """Derive the keys of a token; it is ASCII, so SASLprep leaves it as it is."""
    salted = hashlib.pbkdf2_hmac("sha256", token.encode(), salt, ITERATIONS)
    client = hmac.digest(salted, b"Client Key", "sha256")
    return LoginKeys(ITERATIONS, salt, hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256"))


_TOKEN_BYTES = 32
AGENT_RIGHTS: Mapping[str, str] = {"quota": "0.5", "most_per_statement": "0.1"}
"""What a program may spend unless its owner says otherwise: it asks without tiring."""


@dataclass(frozen=True)
class Analyst:
    """Who asks: known to every ledger of the configuration under the same token and role."""

    name: str
    role: str


def token_digest(token: str) -> str:
    """Return what is kept of a token; 32 random bytes need no slow hash."""
    return hashlib.sha256(token.encode()).hexdigest()


def add_analyst(
    configuration: Configuration, name: str, *, expires: datetime | None = None, is_agent: bool = False, **rights: Any
) -> str:
    """Give an analyst access to every table, and return his token, which is kept nowhere.

    Asked again, he has a new token, the old one is void, and rights that are left out stay as they were.

    Parameters
    ----------
    expires
        When the access ends.
    is_agent
        Whether a program asks in his name: then he has `AGENT_RIGHTS` where nothing else is given or was before.
    **rights
        `role`, `quota`, `most_per_statement`, `approved_by`, as for `AnalystRights.grant`.
    """
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    with _all_ledgers(configuration) as ledgers:
        scram = login_keys(token, ledgers[min(ledgers)].rights.login_salt(name)).text
        for ledger in ledgers.values():
            first = _agents_rights(ledger, name, rights) if is_agent else {}
            ledger.rights.grant(name, token_digest(token), scram=scram, expires=expires, **{**rights, **first})
    return token


def _agents_rights(ledger: Ledger, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    known = ledger.rights.analyst(name)
    return {
        key: amount
        for key, amount in AGENT_RIGHTS.items()
        if given.get(key) is None and (known is None or getattr(known, key) is None)
    }


def ration_analyst(configuration: Configuration, name: str, quota: Any, most: Any, approved_by: str | None) -> None:
    """Fix an analyst's quota in every ledger, the most that one statement may cost, or both."""
    _act(configuration, name, lambda ledger: ledger.rights.ration(name, quota, most, approved_by=approved_by))


def revoke_analyst(configuration: Configuration, name: str, approved_by: str | None) -> None:
    """Withdraw an analyst's access in every ledger."""
    _act(configuration, name, lambda ledger: ledger.rights.revoke(name, approved_by=approved_by))


def list_analysts(configuration: Configuration) -> dict[str, dict[str, RecordedAnalyst | None]]:
    """Return by name and table what each ledger knows of every analyst; None where one lacks him."""
    with _all_ledgers(configuration) as ledgers:
        known = {table: {one.name: one for one in ledger.rights.analysts()} for table, ledger in ledgers.items()}
    names = sorted({name for found in known.values() for name in found})
    return {name: {table: found.get(name) for table, found in known.items()} for name in names}


def _act(configuration: Configuration, name: str, act: Callable[[Ledger], None]) -> None:
    with _all_ledgers(configuration) as ledgers:
        knowing = [ledger for ledger in ledgers.values() if ledger.rights.analyst(name) is not None]
        if not knowing:
            raise LedgerError(f"no analyst {name!r}; give him access with `dpdb analyst add`")
        for ledger in knowing:  # one that lacks him gives him nothing
            act(ledger)


@contextmanager
def _all_ledgers(configuration: Configuration) -> Iterator[Mapping[str, Ledger]]:
    """Open every ledger before the first is written to."""
    with ExitStack() as opened:
        yield {table.name: opened.enter_context(Ledger.open(table.ledger)) for table in configuration.tables}


class Directory:
    """Who holds which token, as the ledgers said when they were last read.

    A token whose time was seen to have ended stays void, also where the machine's clock goes back; in all servers that
    share an audit.

    May be used by several threads. What an analyst may spend, the ledger itself decides in the transaction of a debit.

    Parameters
    ----------
    shared : function, optional
        Adds digests of ended tokens to those that other servers have seen, and returns them all; see `Audit.ended`.

    Attributes
    ----------
    is_readable : bool
        Whether all ledgers could be read when they were read last; otherwise nobody is known.
    """

    def __init__(
        self, ledgers: Mapping[str, Path], shared: Callable[[Collection[str]], Collection[str]] | None = None
    ) -> None:
        self._lock, self._shared = threading.Lock(), shared
        self._by_digest: Mapping[str, Analyst] = {}
        self._ended: set[str] = set()
        self.is_readable = False
        self._logins: Mapping[str, tuple[Analyst, str | None]] = {}
        self._opened = ExitStack()
        with self._opened as opened:
            self.ledgers = {table: opened.enter_context(Ledger.open(path)) for table, path in ledgers.items()}
            self.refresh()
            self._opened = opened.pop_all()

    def refresh(self) -> None:
        """Read the ledgers again; where one cannot be read, nobody is known."""
        with self._lock:
            try:
                found = [ledger.rights.access() for ledger in self.ledgers.values()]
            except BaseException:
                self._by_digest, self._logins, self.is_readable = {}, {}, False
                raise
            first, *others = found
            self._ended |= {access.token for ledger in found for access in ledger.values() if access.ended}
            if self._shared is not None:
                with suppress(UnauditedError):  # then nothing is run, and the next look tries again
                    self._ended |= {*self._shared(self._ended)}
            known = {
                name: access
                for name, access in first.items()
                if access.token not in self._ended and all(other.get(name) == access for other in others)
            }
            self._by_digest = {one.token: Analyst(name, one.role) for name, one in known.items()}
            self._logins = {name: (Analyst(name, one.role), one.scram) for name, one in known.items()}
            self.is_readable = True

    def holder(self, token: str) -> Analyst | None:
        """Return who holds a token, None if nobody does."""
        return self._by_digest.get(token_digest(token))

    def refuse_unrationed(self, analyst: Analyst) -> None:
        """Raise `ForbiddenError` unless an analyst has a quota and a cap per statement on every table."""
        with self.reading() as ledgers:
            for table, ledger in ledgers.items():
                known = ledger.rights.analyst(analyst.name)
                if known is None or known.quota is None or known.most_per_statement is None:
                    raise ForbiddenError(
                        f"a program asks within a quota and a cap per statement, and on {table!r} you lack one: the "
                        f"owner gives them by `dpdb analyst add {analyst.name} --agent`"
                    )

    def login(self, name: str) -> tuple[Analyst, LoginKeys] | None:
        """Return who has a name, with the keys of his token; None if nobody has, or his token is older than keys."""
        analyst, scram = self._logins.get(name, (None, None))
        return None if analyst is None or scram is None else (analyst, LoginKeys.read(scram))

    def login_salt(self, name: str) -> bytes:
        """Return the salt of a name's keys, also of a name that nobody has; see `AnalystRights.login_salt`."""
        return self.ledgers[min(self.ledgers)].rights.login_salt(name)

    @property
    def without_keys(self) -> list[str]:
        """Analysts whose tokens are older than the keys."""
        return sorted(name for name, (_, scram) in self._logins.items() if scram is None)

    @contextmanager
    def reading(self) -> Iterator[Mapping[str, Ledger]]:
        """Hold the ledgers, to read what they say of analysts."""
        with self._lock:
            yield self.ledgers

    def close(self) -> None:
        """Close the ledgers."""
        self._opened.close()
