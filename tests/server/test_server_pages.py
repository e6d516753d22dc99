"""The pages of analysts and owners in a real Chromium, and the OpenAPI document beside the routes."""

from __future__ import annotations

import json
import re

import pytest
from browser import CONTRAST, Browser
from private_rows import RULE, shows_private
from server_site import COUNT, Server, Site

from dpdb.doors.cli.main import main
from dpdb.doors.server.http.application import PAGES, ROUTES
from dpdb.doors.server.http.openapi import openapi_document

IN = "document.getElementById('inside').hidden === false"
TEXT = "return document.body.innerText;"


def sign_in(browser: Browser, address: str, token: str, **how: bool | int) -> None:
    browser.show(address, **how)  # type: ignore[arg-type]
    browser.run("sessionStorage.clear(); location.reload();")
    browser.wait("document.getElementById('sign-in-words')")
    browser.run(f"document.getElementById('token').value = {json.dumps(token)};")
    browser.run("document.querySelector('#sign-in button').click();")
    browser.wait(IN)


@pytest.mark.heavy(family="privacy")
def test_pages_are_constant_and_name_nothing(server: Server) -> None:
    for path in PAGES:
        found = server.client().get(path)
        assert found.status_code == 200
        assert found.content == server.client("ann").get(path).content
        assert "visits" not in found.text
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", found.text)
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy


@pytest.mark.heavy(family="spending")
def test_an_analyst_sees_the_cost_then_asks(server: Server, site: Site, browser: Browser) -> None:
    before = site.spent()
    sign_in(browser, f"{server.url}/", site.tokens["ann"])
    browser.wait("document.getElementById('cost').textContent.startsWith('Name the epsilon')")
    assert browser.run("return document.getElementById('run').disabled;") is True
    assert browser.run("return document.getElementById('f-cost').value;") == ""  # nobody has named a cost
    statement = json.dumps(COUNT)
    browser.run(
        f"const box = document.getElementById('statement'); box.value = {statement};"
        "box.dispatchEvent(new Event('input'));"
    )
    browser.wait("document.getElementById('cost').textContent.startsWith('Costs at most epsilon 0.25 by 1 release.')")
    assert browser.run("return document.getElementById('run').textContent;") == "Run for epsilon 0.25"
    assert site.spent() == before
    browser.run("document.getElementById('run').click();")
    browser.wait("document.querySelector('#result svg.interval')")
    browser.wait("document.querySelectorAll('#history tbody tr').length > 0")
    assert "This cost epsilon 0.25." in browser.run(TEXT)
    assert site.spent() == before + 0.25
    assert not shows_private(browser.run("return document.documentElement.outerHTML;"))
    assert {url.split("/v1/")[0].rstrip("/") for url in browser.requests()} == {server.url}
    assert [entry["message"] for entry in browser.log("browser")] == []


@pytest.mark.heavy(family="long")
def test_a_suite_shows_its_verdicts_and_its_days(server: Server, site: Site, browser: Browser) -> None:
    sign_in(browser, f"{server.url}/", site.tokens["ann"])
    browser.run("document.querySelector('#suites button').click();")
    browser.wait("document.querySelectorAll('#days .day').length > 0")
    names = browser.run("return [...document.querySelectorAll('#result tbody tr')].map(row => row.innerText);")
    released = server.client("ann").get("/v1/history").json()["releases"][0]
    assert len(names) == len(released["words"]) == len(released["answer"])
    for check in released["words"]:
        assert any(check["name"] in name and check["how_many"] in name and check["limit"] in name for name in names)


@pytest.mark.heavy(family="long")
def test_names_complete_by_keyboard(server: Server, site: Site, browser: Browser) -> None:
    sign_in(browser, f"{server.url}/", site.tokens["ann"])
    browser.run(
        "const box = document.getElementById('statement'); box.focus(); box.value = 'SELECT dp_inc';"
        "box.setSelectionRange(13, 13); box.dispatchEvent(new Event('input'));"
    )
    browser.wait("document.querySelectorAll('#words li').length > 0")
    browser.run("document.getElementById('statement').dispatchEvent(new KeyboardEvent('keydown', {key: 'Tab'}));")
    assert browser.run("return document.getElementById('statement').value;") == "SELECT dp_inconsistency"


@pytest.mark.heavy(family="long")
def test_what_a_server_says_is_text(server: Server, site: Site, browser: Browser) -> None:
    """A column may be called as HTML is written; it is shown, and not run."""
    name = "<img src=x onerror=alert(1)>"
    sign_in(browser, f"{server.url}/", site.tokens["ann"])
    browser.run(
        f"const box = document.getElementById('statement'); box.value = 'SELECT 1 AS \"{name}\"';"
        "box.dispatchEvent(new Event('input'));"
    )
    browser.wait("document.getElementById('cost').textContent.startsWith('Costs nothing')")
    browser.run("document.getElementById('run').click();")
    browser.wait("document.querySelector('#result table')")
    assert name in browser.run(TEXT)
    assert browser.run("return document.querySelectorAll('img').length;") == 0


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(("name", "shown"), [("carl", False), ("ann", True)])
def test_who_may_only_check_has_no_box_for_statements(
    server: Server, site: Site, browser: Browser, name: str, shown: bool
) -> None:
    sign_in(browser, f"{server.url}/", site.tokens[name])
    browser.wait("document.querySelectorAll('#suites button').length > 0")
    assert ("Ctrl+Enter runs" in browser.run(TEXT)) is shown
    assert "Check nightly" in browser.run(TEXT)


@pytest.mark.heavy(family="long")
def test_who_has_signed_out_leaves_nothing_to_the_next(server: Server, site: Site, browser: Browser) -> None:
    """Nor by the way back in the history of the browser."""
    sign_in(browser, f"{server.url}/", site.tokens["ann"])
    browser.wait("document.querySelectorAll('#history td, #history p').length > 0")
    browser.run("document.getElementById('sign-out').click();")
    for _ in range(2):
        browser.wait("document.getElementById('inside')?.hidden && !document.querySelector('#budget *')")
        assert browser.run("return [...Object.values(sessionStorage), ...Object.values(localStorage)];") == []
        page = browser.run("return document.documentElement.outerHTML;")
        assert site.tokens["ann"] not in page
        assert "epsilon 0.25" not in page
        browser.show(f"{server.url}/owner")
        shown = browser.devtools("Page.getNavigationHistory", {})
        before = shown["entries"][shown["currentIndex"] - 1]
        browser.devtools("Page.navigateToHistoryEntry", {"entryId": before["id"]})
        browser.wait("location.pathname === '/' && document.getElementById('sign-in-words')")


@pytest.mark.heavy(family="long")
def test_a_wrong_token_is_said_and_not_kept(server: Server, browser: Browser) -> None:
    browser.show(f"{server.url}/")
    browser.run("sessionStorage.clear(); location.reload();")
    browser.wait("document.getElementById('sign-in-words')")
    browser.run("document.getElementById('token').value = 'wrong'; document.querySelector('#sign-in button').click();")
    browser.wait("document.getElementById('sign-in-words').textContent !== ''")
    assert browser.run("return sessionStorage.length;") == 0
    assert browser.run("return document.getElementById('inside').hidden;") is True


@pytest.mark.heavy(family="spending")
def test_an_owner_sees_who_spent_what(server: Server, site: Site, browser: Browser) -> None:
    assert server.ask("bob", COUNT).status_code == 200
    sign_in(browser, f"{server.url}/owner", site.tokens["olga"])
    text = browser.run(TEXT)
    assert {"ann", "bob", "carl", "olga", "Revoke", "every row"} <= {*re.findall(r"every row|\w+", text)}
    board = server.client("olga").get("/v1/board").json()["tables"][0]
    assert board["history"][0]["analyst"] == "bob"
    assert board["summary"]["budget"] == 200
    sign_in(browser, f"{server.url}/", site.tokens["ann"])
    assert server.client("ann").get("/v1/board").status_code == 403


@pytest.mark.heavy(family="long")
def test_an_owner_saves_the_report_on_jobs(server: Server, site: Site, browser: Browser) -> None:
    """A job of the same table is among the debits, and its results are in the report."""
    olga = server.client("olga")
    asked = {"params": {"table": "visits"}}
    assert olga.get("/v1/board/report", **asked).status_code == 422  # no job has run yet
    (site.folder / "job.toml").write_text(
        f'name = "nightly"\nsource = "visits.parquet"\nconstraints = ["{RULE}"]\n'
        'ledger = "visits.ledger"\nresults = "results.duckdb"\n'
        '[[release]]\nname = "repair"\nmeasure = "repair"\nepsilon = 0.5\nlabel = "of a job"\n'
    )
    assert main(["run", str(site.folder / "job.toml"), "--run-id", "first"]) == 0
    assert any(one["label"] == "of a job" for one in olga.get("/v1/board").json()["tables"][0]["history"])
    page = olga.get("/v1/board/report", **asked)
    assert page.status_code == 200
    assert "Data quality of visits" in page.text
    assert not shows_private(page.text)
    assert olga.get("/v1/board/report", params={"table": "other"}).status_code == 422
    assert server.client("ann").get("/v1/board/report", **asked).status_code == 403
    sign_in(browser, f"{server.url}/owner", site.tokens["olga"])
    browser.run("[...document.querySelectorAll('button')].find(one => one.textContent.startsWith('Save')).click();")
    browser.wait("document.getElementById('told').textContent.includes('was saved')")


@pytest.mark.heavy
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (390, False), (390, True)])
@pytest.mark.parametrize(("path", "name"), [("/", "ann"), ("/owner", "olga")])
def test_pages_can_be_read(
    server: Server, site: Site, browser: Browser, path: str, name: str, width: int, dark: bool
) -> None:
    """Enough contrast, nothing wider than the screen, every field with a name."""
    sign_in(browser, server.url + path, site.tokens[name], width=width, dark=dark)
    browser.wait("document.querySelectorAll('svg.budget').length > 0")
    assert browser.run(CONTRAST) == []
    assert browser.run("return document.documentElement.scrollWidth;") <= width
    unnamed = (
        "return [...document.querySelectorAll('input, textarea, button')]"
        ".filter(e => !(e.labels?.length || e.textContent.trim())).length;"
    )
    assert browser.run(unnamed) == 0


def test_the_document_has_the_routes(server: Server) -> None:
    document = server.client("ann").get("/openapi.json").json()
    assert document == openapi_document(ROUTES)
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {route[:2] for route in ROUTES}


@pytest.mark.heavy(family="long")
def test_routes_answer_as_described(server: Server) -> None:
    """What the document requires of bodies and answers is what the routes take and give."""
    paths = openapi_document(ROUTES)["paths"]
    asked = {
        "/v1/run": {"statement": COUNT},
        "/v1/check": {"suite": "nightly"},
        "/v1/explain": {"statement": COUNT},
        "/v1/board/revoke": {"analyst": "nobody"},
        "/v1/board/rearm": {"table": "visits", "suite": "nightly", "check": "none"},
    }
    schemas = openapi_document(ROUTES)["components"]["schemas"]
    for method, path, *_ in ROUTES:
        operation = paths[path][method.lower()]
        owners = "board" in path or path == "/metrics"
        client = server.client("olga" if owners else "ann")
        found = client.request(method, path, json=asked.get(path))
        if found.status_code != 200:
            said = operation["responses"].get(str(found.status_code))
            shape = schemas["Refusal"] if said is None else said["content"]["application/json"]["schema"]
            assert set(found.json()) == set(shape["properties"])
            assert path in (
                "/v1/board/revoke",
                "/v1/board/rearm",
                "/v1/board/report",
                "/v1/receipts",
                "/v1/receipts/salts",
                "/mcp",
            )
        elif path != "/metrics":
            schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
            schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
            assert set(schema.get("properties", found.json())) == set(found.json())
        if path in asked:
            body = operation["requestBody"]["content"]["application/json"]["schema"]
            for key in body["properties"]:
                of_another_type = client.request(method, path, json={**asked[path], key: {}})
                assert (of_another_type.status_code, "another type" in of_another_type.text) == (400, True)
            assert client.request(method, path, json={**asked[path], "other": 1}).status_code == 400
            for key in body["required"]:
                assert client.request(method, path, json={}).status_code == 400, key
