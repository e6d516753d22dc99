"""Statements that mean harm, over HTTP; and errors thrown from every private step: what leaves the server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from attack_statements import ATTACKS
from case_share import fifth, twentieth
from private_rows import RULE, shows_private
from server_site import COUNT, Server, Site, make_site
from suite_door import door_with_suite

from dpdb import stopping as steps
from dpdb.doors.server.configuration import load_configuration
from dpdb.doors.server.desk import Desk
from dpdb.doors.server.http.application import http_application
from dpdb.doors.server.refusals import refusal_of
from dpdb.errors import DpdbError, EngineError, LedgerError, OutOfMemoryError, ParameterError, SourceError

CANARY = "canary_heron"
SUITE = "SELECT * FROM dp_check('nightly')"
REPAIR = "SELECT value FROM dp_inconsistency('visits', 'repair', 0.25)"


def placed(statement: str, folder: Path) -> str:
    names = {"@PRIVATE@": "visits.parquet", "@CSV@": "visits.csv", "@DB@": "visits.duckdb", "@DIR@": ""}
    for mark, name in names.items():
        statement = statement.replace(mark, str(folder / name))
    return statement


def test_hostile_statements_get_the_same_refusals(server: Server, site: Site) -> None:
    """As the front end of `dpdb sql` gives them; nothing is spent."""
    attacks = [placed(statement, site.folder) for group in ATTACKS.values() for statement in group]
    chosen = [one for one in twentieth(attacks) if "run_id" not in one]  # refused without a ledger, and there is one
    before, ledger = site.spent(), site.ledger
    public = {"states": site.folder / "states.csv"}
    with door_with_suite(site.folder, public, ledger=ledger, who="eve") as door, server.client("ann") as client:
        eve = door.of_analyst("ann")
        for statement in chosen:
            with pytest.raises(DpdbError) as refused:
                eve.run(statement)
            found = client.post("/v1/run", json={"statement": statement})
            assert found.json() == {"error": "refused", "message": str(refused.value)}, statement
            assert found.status_code == 422
            assert not shows_private(found.text, found.headers)
    assert site.spent() == before
    assert RULE


class Opened:
    """A desk and its HTTP application in this process; `sent` has every byte that left."""

    def __init__(self, site: Site) -> None:
        self.site, self.sent = site, bytearray()
        self.desk = Desk(load_configuration(site.config))

    def ask(self, *requests: tuple[str, str, Any]) -> list[httpx.Response]:
        return asyncio.run(self._ask(requests))

    async def _ask(self, requests: tuple[tuple[str, str, Any], ...]) -> list[httpx.Response]:
        transport = httpx.ASGITransport(http_application(self.desk))
        headers = {"Authorization": f"Bearer {self.site.tokens['ann']}"}
        found = []
        async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as client:
            for method, path, body in requests:
                response = await client.request(method, path, json=body)
                found.append(response)
                self.sent += response.content + b"".join(b"".join(pair) for pair in response.headers.raw)
        return found


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    made = Opened(make_site(tmp_path_factory.mktemp("canary"), epsilon=10_000))
    yield made
    made.desk.close()


STEPS = ["asked", "begun", "inserted", "secret written", "reserved", "drawn", "written", "recorded", "level drawn",
         "level written", "level recorded", "ending", "end written", "secret overwritten", "ended"]  # fmt: skip
UNTOLD = [RuntimeError, EngineError, LedgerError, SourceError, MemoryError, OutOfMemoryError, OSError, KeyError]


@contextmanager
def thrown_at(step: str, error: type[Exception]) -> Iterator[list[str]]:
    thrown: list[str] = []

    def throw(reached: str) -> None:
        if reached == step:
            thrown.append(reached)
            raise error(CANARY)

    steps.watchers.append(throw)
    try:
        yield thrown
    finally:
        steps.watchers.remove(throw)


def run(statement: str) -> tuple[str, str, Any]:
    return ("POST", "/v1/run", {"statement": statement})


@pytest.mark.heavy
@pytest.mark.parametrize("step", STEPS)
def test_a_canary_thrown_at_a_step_is_not_sent(step: str, opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    opened.ask(run(SUITE))  # finishes a run that an earlier canary has stopped, which has fewer steps left
    reached = 0
    for error in fifth(UNTOLD):
        with thrown_at(step, error) as thrown:
            answers = opened.ask(run(COUNT), run(SUITE), ("GET", "/v1/account", None), ("GET", "/v1/history", None))
        reached += len(thrown)
        for answer in answers[:2]:
            assert answer.status_code in (200, 500, 503), answer.text
    assert reached
    assert not shows_private(opened.sent.decode())
    assert opened.ask(run(COUNT))[0].status_code == 200


def private_functions() -> Iterator[tuple[str, Any, str]]:
    """Give every function of the rooms that hold private rows, as (name, where it stands, its own name)."""
    import inspect
    import sys

    rooms = ("dpdb.engine", "dpdb.graph", "dpdb.measures", "dpdb.privacy.noise", "dpdb.release.statistics",
             "dpdb.release.conflict_graph", "dpdb.release.statistics", "dpdb.suites.counted", "dpdb.database",
             "dpdb.suites.mechanism", "dpdb.release.published")  # fmt: skip
    for name, module in sorted(sys.modules.items()):
        if name.startswith(rooms):
            for own, found in sorted(vars(module).items()):
                if inspect.isfunction(found) and found.__module__ == name:
                    yield f"{name}.{own}", module, own


def test_a_canary_thrown_from_any_private_function_is_not_sent(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function that a release, a repair or a check calls while it has private rows throws once."""
    asked = (run(COUNT), run(REPAIR), run(SUITE))
    opened.ask(*asked)
    called: list[str] = []
    functions = list(private_functions())
    with monkeypatch.context() as watched:
        for name, module, own in functions:
            watched.setattr(module, own, noting(vars(module)[own], name, called))
        opened.ask(*asked)
    names = sorted({*called})
    assert len(names) >= 20, names
    thrown = 0
    for name in fifth(names):
        module, own = next((module, own) for found, module, own in functions if found == name)

        def throw(*args: object, **kwargs: object) -> None:
            nonlocal thrown
            thrown += 1
            raise RuntimeError(CANARY)

        with monkeypatch.context() as patched:
            patched.setattr(module, own, throw)
            answers = opened.ask(*asked)
        assert {answer.status_code for answer in answers} <= {200, 422, 500, 503}, name
    assert thrown
    assert not shows_private(opened.sent.decode())


def noting(function: Callable[..., Any], name: str, called: list[str]) -> Callable[..., Any]:
    def noted(*args: Any, **kwargs: Any) -> Any:
        called.append(name)
        return function(*args, **kwargs)

    return noted


@pytest.mark.heavy
@pytest.mark.parametrize("error", UNTOLD)
@pytest.mark.parametrize(
    "function", ["views.account_of", "views.history_of", "views.schema_of", "desk.Desk._rehearsed", "desk.Desk._door"]
)
def test_a_canary_thrown_from_a_handler_is_not_sent(
    function: str, error: type[Exception], opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def throw(*args: object, **kwargs: object) -> None:
        raise error(CANARY)

    with monkeypatch.context() as patched:
        patched.setattr(f"dpdb.doors.server.{function}", throw)
        opened.desk._standing._told.clear()
        opened.ask(
            run(COUNT), ("POST", "/v1/explain", {"statement": COUNT}), ("GET", "/v1/account", None),
            ("GET", "/v1/history", None), ("GET", "/v1/schema", None),
        )  # fmt: skip
    assert not shows_private(opened.sent.decode())


def test_only_known_kinds_are_told() -> None:
    class NewError(DpdbError):
        pass

    for error in (*UNTOLD, NewError, Exception, ValueError):
        assert CANARY not in refusal_of(error(CANARY)).message
    assert refusal_of(ParameterError("epsilon must be positive")).message == "epsilon must be positive"


def test_an_audit_that_fails_spends_nothing(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    def throw(*args: object, **kwargs: object) -> None:
        raise OSError(CANARY)

    before = opened.site.spent()
    with monkeypatch.context() as patched:
        patched.setattr("dpdb.doors.server.audit.Audit.begin", throw)
        [answer] = opened.ask(run(COUNT))
    assert answer.status_code == 500
    assert opened.site.spent() == before
    with monkeypatch.context() as patched:
        patched.setattr("dpdb.doors.server.audit.Audit.end", throw)
        [answer] = opened.ask(run(COUNT))
    assert answer.status_code == 200  # what is paid for is not lost
    assert not shows_private(opened.sent.decode())
