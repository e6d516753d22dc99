"""Runs of suites through the desk: found again by the id that the history shows, and the owner's re-arming."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inside import lines_of
from server_site import Site, make_site

from dpdb.doors.server.analysts import Analyst, Directory, revoke_analyst
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Asker, Desk, RefusedError
from dpdb.doors.server.views import rearm_check
from dpdb.errors import ParameterError
from dpdb.ledger import Ledger
from dpdb.release.ledger_account import LedgerAccount
from dpdb.suites import load_suite
from dpdb.suites.session import Session

ANN = Asker(Analyst("ann", "analyst"), "test", "here")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return make_site(tmp_path, settings={"statements_per_minute": 3})


def checked(site: Site, key: str | None, options: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """Run the suite on a server of its own; return the outcome, and the history."""

    async def asked() -> tuple[str, list[dict[str, Any]]]:
        desk = Desk(load_configuration(site.config))
        try:
            try:
                await desk.check(ANN, "nightly", options, key)
                outcome = "answered"
            except RefusedError as refused:
                outcome = refused.refusal.code
            return outcome, await desk.history(ANN)
        finally:
            desk.close()

    return asyncio.run(asked())


def keep(site: Site, epsilon: float = 1) -> None:
    """Open the suite as a kept one, as its owner."""
    (table,) = load_configuration(site.config).tables
    suite = load_suite(site.folder / "nightly.txt")
    with closing(Session(replace(table.table, constraints=suite.rules), ledger=table.ledger)) as session:
        session.check(suite, epsilon, keep="nightly")


@pytest.mark.heavy(family="spending")
def test_a_killed_run_without_a_key_is_finished_by_the_id_in_the_history(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(LedgerAccount, "record_level", killed)
        outcome, (begun,) = checked(site, None, {"epsilon": 1})
    assert (outcome, begun["answered"]) == ("failed", False)
    outcome, found = checked(site, begun["run_id"], {"epsilon": 1})
    assert outcome == "answered"
    assert [one["run_id"] for one in found] == [begun["run_id"]]  # one debit
    with Ledger.open(site.ledger) as ledger:
        assert [entry.run_id for entry in ledger.history()] == [f"ann:{begun['run_id']}"]


@pytest.mark.heavy(family="long")
def test_nested_keys_are_refused(site: Site) -> None:
    keys: list[Any] = ["CA"]
    for _ in range(900):
        keys = [keys]
    assert checked(site, None, {"by": "state", "keys": keys}) == ("refused", [])


@pytest.mark.heavy(family="long")
def test_refusals_by_rate_fill_no_audit(site: Site) -> None:
    async def asked() -> list[tuple[int]]:
        desk = Desk(load_configuration(site.config))
        try:
            for _ in range(9):
                with pytest.raises(RefusedError):
                    await desk.run(ANN, "x" * 10_000)
            return lines_of(desk).execute("SELECT length(text) FROM statement ORDER BY number").fetchall()
        finally:
            desk.close()

    assert [length for (length,) in asyncio.run(asked())] == [10_000] * 3 + [500] * 6


def test_the_board_refuses_a_rearm_that_could_not_pay_a_failure(site: Site) -> None:
    keep(site)
    directory = Directory({"visits": site.ledger})
    try:
        with pytest.raises(ParameterError, match=r"too little.*nothing was spent"):
            rearm_check(directory, {"table": "visits", "suite": "nightly", "check": "any", "epsilon": "0.01"}, "olga")
    finally:
        directory.close()
    assert site.spent() == 1


@pytest.mark.heavy(family="spending")
def test_an_answered_run_costs_nothing_by_the_id_of_its_verdicts(site: Site) -> None:
    assert checked(site, "mine", {"epsilon": 1})[0] == "answered"
    outcome, found = checked(site, "ann:mine", {"epsilon": 1})
    assert (outcome, [one["run_id"] for one in found]) == ("answered", ["mine"])


@pytest.mark.heavy(family="privacy")
def test_a_revoked_analyst_runs_no_kept_suite(site: Site) -> None:
    keep(site)
    assert checked(site, None, {})[0] == "answered"
    revoke_analyst(load_configuration(site.config), "ann", None)
    assert checked(site, None, {})[0] == "forbidden"  # as one whose statement was under way
