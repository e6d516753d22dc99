"""The HTTP door: what analysts, checkers, owners and strangers get, and what it costs."""

from __future__ import annotations

import sqlite3
import time

import pyarrow as pa
import pytest
from private_rows import shows_private
from server_site import COUNT, Server, Site, count, in_one_of_three

from dpdb.doors.server.http.application import ROUTES
from dpdb.ledger import Ledger

STRANGER = {"error": "unauthorized", "message": "a valid token is needed"}


@pytest.mark.heavy(family="spending")
def test_a_statement_is_answered_and_paid_once(server: Server, site: Site) -> None:
    before = site.spent()
    free = server.ask("ann", COUNT, path="/v1/explain").json()
    assert (free["epsilon"], free["cost"]) == (0.25, "epsilon 0.25 by 1 release")
    assert site.spent() == before
    found = server.ask("ann", COUNT)
    assert found.status_code == 200, found.text
    answer = found.json()
    assert answer["columns"] == [{"name": "value", "type": "double"}]
    assert answer["rows"] == [[answer["releases"][0]["value"]]]
    assert (answer["epsilon"], answer["checks"]) == (0.25, [])
    assert site.spent() == before + 0.25
    assert server.ask("ann", "SELECT sum(people) AS p FROM states").json()["rows"] == [[87]]
    assert site.spent() == before + 0.25


@pytest.mark.heavy(family="spending")
def test_one_key_has_one_answer_and_one_debit(server: Server, site: Site) -> None:
    before = site.spent()
    two = (
        "SELECT a.value, b.value AS other FROM dp_count('visits', 0.25) a, dp_inconsistency('visits', 'repair', 0.5) b"
    )
    answers = [server.ask("ann", two, "monday").json() for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert (answers[0]["epsilon"], site.spent()) == (0.75, before + 0.75)
    other = server.ask("ann", count(0.5), "monday")
    assert (other.status_code, other.json()["error"]) == (409, "run_id")
    assert server.ask("bob", two, "monday").json()["rows"] != answers[0]["rows"] or site.spent() == before + 1.5
    assert site.spent() == before + 1.5


@pytest.mark.heavy(family="privacy")
def test_nobody_gets_anothers_run(server: Server, site: Site) -> None:
    named = "SELECT value FROM dp_count('visits', 0.25, run_id := '{}')"
    first = server.ask("ann", named.format("secret")).json()
    before = site.spent()
    for guess in ("secret", "ann:secret"):
        found = server.ask("bob", named.format(guess)).json()
        assert found["releases"][0]["release_id"] != first["releases"][0]["release_id"]
    assert site.spent() == before + 0.5
    runs = [one["run_id"] for one in server.client("bob").get("/v1/history").json()["releases"]]
    assert {"secret", "ann:secret"} <= {*runs}


@pytest.mark.heavy(family="long")
def test_a_suite_takes_rows_and_slices(server: Server, site: Site) -> None:
    before = site.spent()
    client = server.client("ann")
    sliced = {"suite": "nightly", "epsilon": "0.4", "where": "age >= 30", "by": "state", "keys": ["CA", "NY"]}
    found = client.post("/v1/check", json=sliced)
    assert found.status_code == 200, found.text
    names = [one["name"] for one in found.json()["columns"]]
    assert {row[names.index("key")] for row in found.json()["rows"]} == {"CA", "NY"}
    assert before < site.spent() <= before + 0.4
    before = site.spent()
    unsliced = {key: one for key, one in sliced.items() if key != "by"}
    for wrong in (sliced | {"keys": [["CA"]]}, sliced | {"where": "pay > 1) --"}, sliced | {"date": "today"}, unsliced):
        refused = client.post("/v1/check", json=wrong)
        assert (refused.status_code, site.spent()) == (422, before), (wrong, refused.text)
        assert not shows_private(refused.text)


def test_arrow_on_demand(server: Server) -> None:
    with server.client("ann") as client:
        found = client.post(
            "/v1/run", json={"statement": COUNT}, headers={"Accept": "application/vnd.apache.arrow.stream"}
        )
    table = pa.ipc.open_stream(found.content).read_all()
    assert table.column_names == ["value"]
    assert found.headers["dpdb-epsilon"] == "0.250000000"
    assert len(found.headers["dpdb-releases"]) == 32


@pytest.mark.heavy(family="long")
def test_a_suite_by_its_name(server: Server, site: Site) -> None:
    before = site.spent()
    with server.client("carl") as client:
        asked = {"suite": "nightly", "epsilon": 1}
        found = [client.post("/v1/check", json=asked, headers={"Idempotency-Key": "x"}).json() for _ in range(2)]
        assert found[0] == found[1]
        assert [check["name"] for check in found[0]["checks"][0]["checks"]][:1] == ["zip_city warn"] or found[0]["rows"]
        assert found[0]["epsilon"] == pytest.approx(site.spent() - before)
        refused = client.post("/v1/check", json={"suite": "weekly"})
        assert (refused.status_code, refused.json()["error"]) == (422, "refused")
        refused = client.post("/v1/run", json={"statement": COUNT})
        assert (refused.status_code, refused.json()["message"]) == (403, "the role 'checker' may not run")
        injected = client.post("/v1/check", json={"suite": "x') UNION SELECT * FROM dp_count('visits', 1) --"})
        assert injected.status_code == 422


def test_numbers_of_all_checks_are_asked_for(server: Server, site: Site) -> None:
    """By HTTP: all of epsilon for a number of each check, once; other values of `sizes` are refused unpaid."""
    before = site.spent()
    with server.client("ann") as client:
        asked = {"suite": "nightly", "epsilon": "9", "sizes": True}
        found = [client.post("/v1/check", json=asked, headers={"Idempotency-Key": "sized"}).json() for _ in range(2)]
        assert found[0] == found[1]
        assert site.spent() - before == pytest.approx(9)
        [ran] = found[0]["checks"]
        assert {check["verdict"] for check in ran["checks"]} <= {"pass", "fail", "not shown"}
        # Two of six rows; Laplace noise of scale 2 rows / 9: beyond 6 by exp(-27).
        assert all(abs(check["number"] - {"row_count": 6}.get(check["name"], 1)) < 6 for check in ran["checks"])
        names = [one["name"] for one in found[0]["columns"]]
        assert [row[names.index("number")] for row in found[0]["rows"]] == [check["number"] for check in ran["checks"]]
        before = site.spent()
        for wrong in (3, 1, 0, "true", [True], {}, 1.5):
            refused = client.post("/v1/check", json=asked | {"sizes": wrong})
            assert (refused.status_code, site.spent()) == (400, before), (wrong, refused.text)
        other = client.post("/v1/check", json=asked | {"sizes": False}, headers={"Idempotency-Key": "sized"})
        assert (other.status_code, site.spent()) == (409, before), other.text


@pytest.mark.heavy(family="long")
def test_account_and_history_are_ones_own(server: Server, site: Site) -> None:
    server.ask("bob", count(0.125), "mine")
    with server.client("bob") as client:
        [table] = client.get("/v1/account").json()["tables"]
        assert table["quota"] == 50
        assert table["remaining"] == table["quota"] - table["spent"]
        releases = client.get("/v1/history").json()["releases"]
        mine = next(one for one in releases if one["run_id"] == "mine")
        assert (mine["cost"], mine["answered"], mine["answer"][0]["epsilon"]) == (0.125, True, 0.125)
        with Ledger.open(site.ledger) as ledger:
            assert len(releases) == len(ledger.rights.history_of("bob")) < len(ledger.history())
        assert client.get("/v1/history", params={"most": "1"}).json()["releases"] == releases[:1]
        assert client.get("/v1/history", params={"most": "-1"}).status_code == 400


def test_the_schema_is_what_is_public(server: Server) -> None:
    found = server.client("carl").get("/v1/schema").json()
    assert [table["name"] for table in found["tables"]] == ["visits"]
    assert found["tables"][0]["suites"] == ["nightly"]
    assert found["public"] == ["states"]
    assert not shows_private(found)


@pytest.mark.heavy(family="long")
def test_only_an_owner_sees_the_board(server: Server, site: Site) -> None:
    for path in ("/v1/board", "/metrics"):
        assert server.client("ann").get(path).status_code == 403
    with server.client("olga") as client:
        [table] = client.get("/v1/board").json()["tables"]
        assert table["summary"]["spent"] == site.spent()
        assert {one["name"] for one in table["analysts"]} >= {"ann", "bob", "carl", "olga"}
        assert all("token" not in one for one in table["analysts"])
        assert 'dpdb_http_responses_total{status="200"}' in client.get("/metrics").text
        refused = client.post("/v1/run", json={"statement": COUNT})
        assert refused.json()["error"] == "forbidden"


@pytest.mark.heavy(family="privacy")
def test_an_owner_revokes(server: Server, site: Site) -> None:
    token = site.add("dora")
    server.wait_for_access(token, 200)
    with server.client("olga") as client:
        assert client.post("/v1/board/revoke", json={"analyst": "dora"}).status_code == 200
        assert client.post("/v1/board/revoke", json={"analyst": "nobody"}).status_code == 422
    assert server.client(token=token).get("/v1/account").status_code == 401


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("method", "path"), [*(route[:2] for route in ROUTES), ("PUT", "/"), ("PUT", "/v1/run"), ("GET", "/v1/nothing")]
)
def test_strangers_learn_nothing(server: Server, method: str, path: str) -> None:
    with server.client() as client:
        found = [
            client.request(method, path, headers=headers)
            for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic d3Jvbmc6d3Jvbmc="})
        ]
        plain = client.get("/v1/account")
    for one in found:
        assert (one.status_code, one.json(), one.headers) == (401, STRANGER, plain.headers)
    assert "server" not in plain.headers


def test_health_tells_a_stranger_nothing_else(server: Server) -> None:
    assert server.client().get("/healthz").json() == {"status": "ok"}


def test_no_part_of_an_answer_waits_for_the_client_to_acknowledge_another(server: Server) -> None:
    """That takes 40 ms each time (RFC 1122, 4.2.3.2: a delayed ACK), where an answer takes one."""
    with server.client() as client:

        def twenty() -> float:
            began = time.monotonic()
            for _ in range(20):
                client.get("/healthz")
            return time.monotonic() - began

        twenty()
        assert in_one_of_three(twenty, 0.4)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"{" * 100_000, 400),
        (b'{"statement": 1}', 400),
        (b'{"statement": "SELECT 1", "other": 1}', 400),
        (b'{"statement": "SELECT 1", "table": "nothing"}', 422),
        (b'{"statement": "' + b"x" * 200_000 + b'"}', 413),
        (b"\xff\xfe", 400),
        (b'{"statement": "SELECT \\ud800"}', 422),
        (b'{"statement": ""}', 422),
    ],
)
def test_bodies_that_cannot_be_read(server: Server, body: bytes, status: int) -> None:
    found = server.client("ann").post("/v1/run", content=body)
    assert found.status_code == status, found.text
    assert "\n" not in found.json()["message"]


def test_refusals_name_the_place_that_was_written(server: Server) -> None:
    bad = "SELECT city\nFROM visits"
    messages = {server.ask("ann", bad, path=path).json()["message"] for path in ("/v1/run", "/v1/explain")}
    assert len(messages) == 1
    one_line = {
        server.ask("ann", "SELECT * FROM visits", path=path).json()["message"] for path in ("/v1/run", "/v1/explain")
    }
    assert len(one_line) == 1


@pytest.mark.heavy(family="privacy")
def test_everything_asked_is_audited(server: Server, site: Site) -> None:
    server.ask("ann", "SELECT * FROM visits -- audited")
    server.ask("ann", f"{COUNT} -- audited")
    connection = sqlite3.connect(site.folder / "audit.sqlite")
    rows = connection.execute(
        "SELECT who, door, address, action, outcome, epsilon FROM statement WHERE text LIKE '%audited' ORDER BY number"
    ).fetchall()
    connection.close()
    assert rows == [
        ("ann", "http", "127.0.0.1", "run", "refused", None),
        ("ann", "http", "127.0.0.1", "run", "answered", "0.25"),
    ]
    assert (site.folder / "audit.sqlite").stat().st_mode & 0o077 == 0
