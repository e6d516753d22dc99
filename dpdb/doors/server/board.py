"""The owner's board: what is left of every table, who has spent what, suites and last debits; revoking, re-arming."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dpdb.doors.server.analysts import Directory, revoke_analyst
from dpdb.doors.server.configuration import Configuration
from dpdb.errors import LedgerError, ParameterError
from dpdb.ledger import Ledger, LedgerEntry, RecordedSuite
from dpdb.names import nearest_words
from dpdb.privacy import PURE, as_float
from dpdb.suites import refuse_small_epsilon

__all__ = ["owner_board", "rearm_check", "revoke_known"]

_LAST_DEBITS = 50


def owner_board(directory: Directory) -> list[dict[str, Any]]:
    """Return for every table its summary, analysts, suites and last debits (jobs' too); for the owner alone."""
    with directory.reading() as ledgers:
        return [_table(name, ledger) for name, ledger in ledgers.items()]


def _table(name: str, ledger: Ledger) -> dict[str, Any]:
    analysts = [
        {key: value for key, value in asdict(one).items() if key != "token"} | {"remaining": one.remaining}
        for one in ledger.analysts()
    ]
    return {
        "table": name,
        "summary": asdict(ledger.summary()),
        "analysts": analysts,
        "suites": [_suite(suite) for suite in ledger.suites()],
        "history": [_debit(entry) for entry in reversed(ledger.history()[-_LAST_DEBITS:])],
    }


def _debit(entry: LedgerEntry) -> dict[str, Any]:
    return {
        "at": entry.reserved,
        "analyst": entry.analyst,
        "measures": list(entry.request.get("measures") or ["count"]),
        "suite": entry.suite,
        "label": entry.label,
        "rows": entry.rows,
        "run_id": entry.run_id,
        "cost": entry.charge,
        "answered": entry.answered,
    }


def _suite(suite: RecordedSuite) -> dict[str, Any]:
    return {
        "name": suite.name,
        "run_id": suite.run_id,
        "opened": suite.opened,
        "ended": suite.ended,
        "runs": suite.runs,
        "reserved": as_float(suite.reserved),
        "spent": as_float(suite.spent),
        "left": as_float(suite.left),
        "failed": [{"check": check, "at": at} for check, at in suite.failed],
        "rearmed": [{"check": check, "at": at} for check, at in suite.rearmed],
    }


def revoke_known(configuration: Configuration, directory: Directory, name: str, who: str) -> None:
    """Withdraw an analyst's access in every ledger, as the owner `who`.

    Raises
    ------
    ParameterError
        No ledger knows the analyst.
    """
    with directory.reading() as ledgers:
        known = any(ledger.analyst(name) is not None for ledger in ledgers.values())
    if not known:
        raise ParameterError(f"there is no analyst {name!r}")
    revoke_analyst(configuration, name, who)
    directory.refresh()


def rearm_check(directory: Directory, asked: Mapping[str, Any], who: str) -> None:
    """Let a failed check of a kept suite be tested again: `table`, `suite`, `check`, `epsilon` and `label`.

    Raises
    ------
    ParameterError
        There is no such table, or the check of the suite cannot be re-armed; nothing was spent.
    """
    charge = None if asked.get("epsilon") is None else PURE.budget(asked["epsilon"])
    with directory.reading() as ledgers:
        if asked["table"] not in ledgers:
            raise ParameterError(f"there is no table {asked['table']!r}{nearest_words(asked['table'], ledgers)}")
        ledger = ledgers[asked["table"]]
        try:
            kept = ledger.kept_suite(asked["suite"])
            if kept is not None and charge is not None:
                refuse_small_epsilon(kept.spec, charge)
            ledger.rearm(asked["suite"], asked["check"], charge, who=who, label=asked.get("label"))
        except LedgerError as error:  # an owner reads what his ledger says, without its path
            raise ParameterError(str(error).removeprefix(f"{ledger.shown}: ")) from None
