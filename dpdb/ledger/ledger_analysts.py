"""`AnalystRights`: whom the owner lets ask, with which rights; and what each of them has spent."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger.amounts import budget_units, in_parameter
from dpdb.ledger.books import Books
from dpdb.ledger.lines import LedgerEntry
from dpdb.ledger.quotas import own_debits, rights_end
from dpdb.ledger.report import history
from dpdb.ledger.store.clock import now, present
from dpdb.ledger.store.rows import ROLES, AnalystLine
from dpdb.ledger.store.seals import mark
from dpdb.ledger.store.state import insert
from dpdb.names import check_name
from dpdb.privacy import Number
from dpdb.stopping import reached, unbroken

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")  # no colon: run ids begin with the name and one
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SCRAM = re.compile(r"SCRAM-SHA-256\$\d+:[\w+/=]+\$[\w+/=]+:[\w+/=]+", re.ASCII)


@dataclass(frozen=True)
class RecordedAnalyst:
    """The rights of an analyst in one ledger; amounts in its parameter.

    Parameters
    ----------
    role
        One of `ROLES`.
    quota, most_per_statement
        None for no limit but the total.
    spent
        A safe bound on what any row has collected from his releases.
    expires
        Since when he may not ask any more, or None.
    ended
        Why his rights do not hold; None while they do.
    token
        SHA-256 of his token, None when it was withdrawn.
    """

    name: str
    role: str
    quota: float | None
    most_per_statement: float | None
    spent: float
    expires: str | None
    ended: str | None
    token: str | None
    since: str

    @property
    def remaining(self) -> float | None:
        """The most of the quota that a release of every row may still cost; None without a quota."""
        return None if self.quota is None else max(0.0, self.quota - self.spent)


class Access(NamedTuple):
    """The facts of an analyst that a server reads again and again.

    Parameters
    ----------
    role
        One of `ROLES`.
    token
        SHA-256 of his token.
    scram
        The keys of SCRAM-SHA-256 made of it; None of a token that is older than they.
    ended
        Whether his rights have ended.
    """

    role: str
    token: str
    scram: str | None
    ended: bool


class AnalystRights:
    """Who may ask a ledger; its `rights`."""

    def __init__(self, books: Books) -> None:
        self._books, self._state = books, books.state

    @unbroken()
    def grant(
        self,
        name: str,
        token: str,
        *,
        scram: str | None = None,
        role: str | None = None,
        quota: Number | None = None,
        most_per_statement: Number | None = None,
        expires: datetime | None = None,
        approved_by: str | None = None,
    ) -> None:
        """Give an analyst a token, and rights; what is left out stays as it was.

        Parameters
        ----------
        name
            Small letters, digits, dots, hyphens and underscores; at most 64.
        token
            SHA-256 of the token, as hexadecimal digits.
        scram
            Keys of SCRAM-SHA-256, made from the same token, as PostgreSQL writes them.
        role
            `analyst` (the default), `checker` or `owner`.
        quota, most_per_statement
            As the epsilon that it promises, as for `create`.
        expires
            With a time zone.

        Raises
        ------
        LedgerError
            The ledger cannot be used or was retired.
        """
        if not _NAME.fullmatch(name):
            raise ParameterError(
                f"an analyst's name has 1 to 64 small letters, digits, dots, hyphens and underscores, got {name!r}"
            )
        if role not in (None, *ROLES):
            raise ParameterError(f"unknown role {role!r}; known are {', '.join(ROLES)}")
        if not _DIGEST.fullmatch(token):
            raise ParameterError("a token is kept as its SHA-256")
        if scram is not None and not _SCRAM.fullmatch(scram):
            raise ParameterError("the keys of a token are those of SCRAM-SHA-256")
        credentials = {"token": token} | ({} if scram is None else {"scram": scram})
        changes: dict[str, Any] = {"credentials": json.dumps(credentials)}
        changes |= {} if role is None else {"role": role}
        changes |= {} if expires is None else {"expires": expires.isoformat(timespec="milliseconds")}
        self._write_rights(name, changes, quota, most_per_statement, approved_by, is_new=True)

    @unbroken()
    def ration(
        self, name: str, quota: Number | None, most_per_statement: Number | None, *, approved_by: str | None = None
    ) -> None:
        """Fix the quota of an analyst, the most that a statement may cost, or both; None leaves one as it is.

        Below what was spent, nothing more is released to him. Errors as `grant`, and `LedgerError` of an unknown name.
        """
        self._write_rights(name, {}, quota, most_per_statement, approved_by, is_new=False)

    @unbroken()
    def revoke(self, name: str, *, approved_by: str | None = None) -> None:
        """Withdraw an analyst's token and rights; what he spent stays spent. Errors as `ration`."""
        self._write_rights(name, {"credentials": None}, None, None, approved_by, is_new=False)

    def analysts(self) -> list[RecordedAnalyst]:
        """Return whom the owner has given rights, in the order of their names."""
        with self._books.current():
            return [self._recorded(line) for _, line in sorted(self._state.analysts.newest.items())]

    def access(self) -> dict[str, Access]:
        """Return the token and role of every analyst who has a token, and whether their time has ended."""
        with self._books.current():
            state, clock = self._state, present()
            return {
                line.name: Access(line.role, line.token, line.scram, rights_end(line, state, clock) is not None)
                for line in state.analysts.newest.values()
                if line.token is not None
            }

    def login_salt(self, name: str) -> bytes:
        """Return the salt of a name's keys: always the same, of names that nobody has, too, and known to nobody else.

        So a login shows neither who is an analyst nor who has a new token.
        """
        return mark(self._state.terms.key, "login salt", name)[:16]

    def analyst(self, name: str) -> RecordedAnalyst | None:
        """Return the rights of one analyst, None if there is none of this name."""
        with self._books.current():
            line = self._state.analysts.newest.get(name)
            return None if line is None else self._recorded(line)

    def history_of(self, analyst: str) -> list[LedgerEntry]:
        """Return the debits of one analyst, oldest first."""
        with self._books.current():
            return history(self._state, analyst)

    def _recorded(self, line: AnalystLine) -> RecordedAnalyst:
        state, notion = self._state, self._state.terms.notion

        def amount(units: int | None) -> float | None:
            return None if units is None else in_parameter(notion, units)

        return RecordedAnalyst(
            name=line.name,
            role=line.role,
            quota=amount(line.quota),
            most_per_statement=amount(line.most_per_statement),
            spent=notion.value(own_debits(state, line.name, line.quota).spent),
            expires=line.expires,
            ended=rights_end(line, state, present()),
            token=line.token,
            since=line.at,
        )

    def _write_rights(
        self,
        name: str,
        changes: dict[str, Any],
        quota: Number | None,
        most: Number | None,
        approved_by: str | None,
        *,
        is_new: bool,
    ) -> None:
        if approved_by is not None:
            check_name("who", approved_by)
        terms, books = self._state.terms, self._books
        given = {"quota": quota, "most_per_statement": most}
        changes |= {
            key: budget_units(terms.notion, None, epsilon, terms.delta)
            for key, epsilon in given.items()
            if epsilon is not None
        }
        with books.act():
            known = self._state.analysts.newest.get(name)
            if known is None and not is_new:
                raise LedgerError(f"{books.file.shown}: no analyst {name!r}; give him access with `dpdb analyst add`")
            line = known or AnalystLine(0, "", name, ROLES[0], None, None, None, None, None, None, 0)
            line = line._replace(
                number=self._state.analysts.last + 1,
                at=now(),
                approved_by=approved_by,
                place=self._state.next_place,
                **changes,
            )
            insert(books.file, "analyst", self._state.analysts.row(line))
            reached("rights written")
        reached("rights changed")
