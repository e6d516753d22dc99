"""What an analyst may know (his own rights, debits and answers, and what is public), and the owner's board.

The board shows what is left of every table, who has spent what, suites and last debits; it revokes and re-arms.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from dpdb.doors.server.analysts import Analyst, Directory, revoke_analyst
from dpdb.doors.server.configuration import Configuration
from dpdb.doors.server.tables import OpenTable
from dpdb.doors.sql import statement_words
from dpdb.errors import OWNER_LOG, DpdbError, LedgerError, ParameterError
from dpdb.ledger import Ledger, LedgerEntry, RecordedSuite
from dpdb.measures import all_measures
from dpdb.names import nearest_words
from dpdb.privacy import PURE, Notion
from dpdb.release import OPTIONS
from dpdb.suites import CheckResult, refuse_small_epsilon, spoken

_MOST_HISTORY = 1_000
_AMOUNTS = ("quota", "spent", "remaining", "most_per_statement", "expires")


def account_of(directory: Directory, analyst: Analyst) -> dict[str, Any]:
    """Return an analyst's rights and what he has spent, by table; of nobody else."""
    tables = []
    with directory.reading() as ledgers:
        for name, ledger in ledgers.items():
            known = ledger.rights.analyst(analyst.name)
            if known is not None:
                amounts = {one: getattr(known, one) for one in _AMOUNTS}
                tables.append({"table": name, "parameter": ledger.notion.parameter, **amounts})
    return {"analyst": analyst.name, "role": analyst.role, "tables": tables}


def history_of(directory: Directory, name: str) -> list[dict[str, Any]]:
    """Return an analyst's own debits with their answers, newest first.

    Times are cut to the minute: how long a debit waited depends on the private work of others.
    """
    found: list[dict[str, Any]] = []
    with directory.reading() as ledgers:
        for table, ledger in ledgers.items():
            for entry in ledger.rights.history_of(name)[-_MOST_HISTORY:]:
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


def schema_of(tables: Iterable[OpenTable], public: Iterable[str], postgres: int | None) -> dict[str, Any]:
    """Return what is public.

    That is: tables with columns, rules and suites, the tables that may be read by name, measures, words of statements,
    and the port at which clients of PostgreSQL are answered.
    """
    shown = [
        {
            "name": table.name,
            "columns": [{"name": name, "type": kind} for name, kind in table.columns],
            "constraints": list(table.constraints),
            "suites": list(table.suites),
        }
        for table in tables
    ]
    first = OPTIONS["measure"].default
    measures = sorted(all_measures(), key=lambda one: one.name != first)
    headings = [(one.name, one.words.heading) for one in measures] + [("count", "Rows")]
    return {
        "tables": shown,
        "public": list(public),
        "measures": [{"name": name, "words": heading} for name, heading in headings],
        "postgres": postgres,
        "words": statement_words(),
    }


_LAST_DEBITS = 50


def owner_board(configuration: Configuration, directory: Directory) -> list[dict[str, Any]]:
    """Return for every table its summary, analysts, suites and last debits (jobs' too); for the owner alone."""
    reported = {table.name: table.results is not None for table in configuration.tables}
    with directory.reading() as ledgers:
        return [_table(name, ledger) | {"has_report": reported[name]} for name, ledger in ledgers.items()]


def jobs_report(configuration: Configuration, directory: Directory, table: str) -> str:
    """Return the report on the results of a table's jobs, as `dpdb report` writes it, with what its ledger says now."""
    from dpdb.doors.jobs.results import read_results
    from dpdb.doors.reports import report_page

    path = next((one.results for one in configuration.tables if one.name == table), None)
    if path is None:
        raise ParameterError(f"the configuration names no results of a table {table!r}")
    try:
        results = read_results(path)
    except DpdbError:
        OWNER_LOG.exception("the results of jobs cannot be read")
        raise ParameterError(f"the results of {table!r} cannot be read; the reason is in the owner's log") from None
    if not (results.rows or results.verdicts):
        raise ParameterError(f"the jobs of {table!r} have no results yet")
    with directory.reading() as ledgers:
        summary = ledgers[table].summary()
    return report_page(results, title=f"Data quality of {table}", ledger=summary)


def _table(name: str, ledger: Ledger) -> dict[str, Any]:
    analysts = [
        {key: value for key, value in asdict(one).items() if key != "token"} | {"remaining": one.remaining}
        for one in ledger.rights.analysts()
    ]
    return {
        "table": name,
        "summary": asdict(ledger.summary()),
        "analysts": analysts,
        "suites": [_suite(suite, ledger.notion) for suite in ledger.suites()],
        "history": [_debit(entry) for entry in reversed(ledger.history()[-_LAST_DEBITS:])],
    }


def _debit(entry: LedgerEntry) -> dict[str, Any]:
    names = ("analyst", "suite", "label", "rows", "run_id", "answered")
    shown: dict[str, Any] = {name: getattr(entry, name) for name in names}
    measures = list(entry.request.get("measures") or ["count"])
    return {"at": entry.reserved, "cost": entry.charge, "measures": measures, **shown}


def _suite(suite: RecordedSuite, notion: Notion) -> dict[str, Any]:
    shown: dict[str, Any] = {name: getattr(suite, name) for name in ("name", "run_id", "opened", "ended", "runs")}
    amounts = {name: notion.value(getattr(suite, name)) for name in ("reserved", "spent", "left")}
    checks = {
        name: [{"check": check, "at": at} for check, at in getattr(suite, name)] for name in ("failed", "rearmed")
    }
    return shown | amounts | checks


def revoke_known(configuration: Configuration, directory: Directory, name: str, who: str) -> None:
    """Withdraw an analyst's access in every ledger, as the owner `who`."""
    with directory.reading() as ledgers:
        known = any(ledger.rights.analyst(name) is not None for ledger in ledgers.values())
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
            ledger.owner.rearm(asked["suite"], asked["check"], charge, who=who, label=asked.get("label"))
        except LedgerError as error:  # an owner reads what his ledger says, without its path
            raise ParameterError(str(error).removeprefix(f"{ledger.shown}: ")) from None
