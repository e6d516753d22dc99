"""What an analyst may know: his own rights, debits and answers, and what is public."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dpdb.doors.server.analysts import Analyst, Directory
from dpdb.doors.server.tables import OpenTable
from dpdb.doors.sql import statement_words
from dpdb.ledger import LedgerEntry
from dpdb.suites import CheckResult, spoken

__all__ = ["account_of", "history_of", "schema_of"]

_MOST_HISTORY = 1_000


def account_of(directory: Directory, analyst: Analyst) -> dict[str, Any]:
    """Return an analyst's rights and what he has spent, by table; of nobody else."""
    tables = []
    with directory.reading() as ledgers:
        for name, ledger in ledgers.items():
            known = ledger.analyst(analyst.name)
            if known is not None:
                tables.append({
                    "table": name, "parameter": ledger.notion.parameter, "quota": known.quota, "spent": known.spent,
                    "remaining": known.remaining, "most_per_statement": known.most_per_statement,
                    "expires": known.expires,
                })  # fmt: skip
    return {"analyst": analyst.name, "role": analyst.role, "tables": tables}


def history_of(directory: Directory, name: str) -> list[dict[str, Any]]:
    """Return an analyst's own debits with their answers, newest first.

    Times are cut to the minute: how long a debit waited depends on the private work of others.
    """
    found: list[dict[str, Any]] = []
    with directory.reading() as ledgers:
        for table, ledger in ledgers.items():
            for entry in ledger.history_of(name)[-_MOST_HISTORY:]:
                run_id = None if entry.run_id is None else entry.run_id.removeprefix(f"{name}:")
                found.append({
                    "table": table, "at": f"{entry.reserved[:16]}Z", "cost": entry.charge, "debited": entry.debited,
                    "parameter": ledger.notion.parameter, "run_id": run_id, "label": entry.label,
                    "suite": entry.suite, "request": entry.request, "answered": entry.answered,
                    "answer": entry.answer, "words": _words(entry),
                })  # fmt: skip
    found.reverse()  # of one minute, the newest first, too
    found.sort(key=lambda one: str(one["at"]), reverse=True)
    return found


def _words(entry: LedgerEntry) -> list[dict[str, str]] | None:
    """Return the verdicts of a recorded run in words; None of numbers."""
    if entry.suite is None or not entry.answer:
        return None
    return spoken(CheckResult(**check) for check in entry.answer)


def schema_of(tables: Iterable[OpenTable], public: Iterable[str]) -> dict[str, Any]:
    """Return tables with columns, rules and suites, the tables that may be read by name, and words of statements."""
    shown = [
        {
            "name": table.name,
            "columns": [{"name": name, "type": kind} for name, kind in table.columns],
            "constraints": list(table.constraints),
            "suites": list(table.suites),
        }
        for table in tables
    ]
    return {"tables": shown, "public": list(public), "words": statement_words()}
