"""The fields of the page in a real Chromium: what they write, what is debited, what is text, what is left behind."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CONTRAST, Browser
from server_site import Server, Site, make_site
from test_server_pages import TEXT, sign_in

NAME = 'o\'dd "<b>name</b>"'
ODD = [
    "CA",
    "",
    "a'b",
    '"',
    "a, b",
    "<script>alert(1)</script>",
    "'); DROP TABLE x; --",
    "\\",
    "\u2028\u202e",
    "NULL",
    "${1}",
]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Answers come at full seconds, so that a page can be left while one is waited for."""
    made = make_site(
        tmp_path_factory.mktemp("form"),
        epsilon=200,
        analysts={"ann": {"quota": 100, "most_per_statement": 50}, "bob": {"quota": 3}, "eve": {"quota": 3}},
        settings={"release_seconds": 1.0},
        postgres=True,
    )
    made.config.write_text(made.config.read_text().replace("[tables.visits]", f"[tables.{json.dumps(NAME)}]"))
    with Server(made) as running:
        yield running


@pytest.fixture
def site(wire: Server) -> Site:
    return wire.site


def entered(browser: Browser, wire: Server, name: str, **how: Any) -> None:
    sign_in(browser, f"{wire.url}/", wire.site.tokens[name], **how)
    browser.wait("document.querySelectorAll('#history td, #history p').length > 0")


def put(browser: Browser, **fields: str) -> None:
    for name, value in fields.items():
        place = json.dumps("statement" if name == "statement" else f"f-{name}")
        browser.run(
            f"const field = document.getElementById({place}); field.value = {json.dumps(value)};"
            "field.dispatchEvent(new Event('input')); field.dispatchEvent(new Event('change'));"
        )


def priced(browser: Browser) -> str:
    browser.wait("!document.getElementById('run').disabled")
    return str(browser.run("return document.getElementById('run').textContent;"))


def press(browser: Browser, name: str = "run") -> None:
    browser.run(f"document.getElementById('{name}').click();")


def answered(browser: Browser) -> None:
    browser.wait("document.querySelector('#result table')")


def statement(browser: Browser) -> str:
    return str(browser.run("return document.getElementById('statement').value;"))


def keys_text(keys: list[str]) -> str:
    return ", ".join('"' + key.replace('"', '""') + '"' for key in keys)


@pytest.mark.heavy(family="spending")
def test_fields_write_a_statement_whose_price_is_shown_before_it_is_pressed(
    wire: Server, site: Site, browser: Browser
) -> None:
    """Pressed three times at once it is asked once; slices stand on one axis and in a column."""
    before = site.spent()
    entered(browser, wire, "ann")
    put(browser, where="age > 20", by="state", keys='CA, NY\n"TX",, a\'b')
    told = "document.getElementById('cost').textContent"
    browser.wait(f"{told}.startsWith('Name the epsilon')")
    put(browser, cost="much")
    browser.wait(f"{told} === 'epsilon is a number, such as 0.1.'")
    put(browser, cost="1")
    assert priced(browser) == "Run for epsilon 1"
    assert statement(browser) == (
        "SELECT \"where\" AS slice, value, lower, upper\nFROM dp_inconsistency('o''dd \"<b>name</b>\"', "
        "measure := 'repair', where_clause := 'age > 20', by_column := 'state', "
        "group_keys := ARRAY['CA', 'NY', 'TX', 'a''b'], epsilon := 1)"
    )
    assert site.spent() == before
    browser.run("const run = document.getElementById('run'); run.click(); run.click(); run.click();")
    browser.run(
        "document.getElementById('statement').dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true}));"
    )
    answered(browser)
    assert site.spent() == before + 1
    assert priced(browser) == "Run again for epsilon 1"
    lines = browser.run(
        "return [...document.querySelectorAll('#result .chart li')]"
        ".map(line => [...line.children].map(e => e.textContent));"
    )
    found = wire.client("ann").get("/v1/history").json()["releases"][0]["answer"]
    slices = ["state = 'CA'", "state = 'NY'", "state = 'TX'", "state = 'a''b'"]
    assert [line[0] for line in lines] == [*slices, ""]
    right = [f"{one['value']:g} ({one['lower']:g} to {one['upper']:g})" for one in found]
    assert [line[2] for line in lines] == [*right, ""]
    ends = browser.run(
        "return [...document.querySelectorAll('#result .chart .range')].map(r => [+r.getAttribute('x'),"
        "+r.getAttribute('x') + +r.getAttribute('width')]);"
    )
    names = [
        float(text)
        for text in browser.run("return [...document.querySelectorAll('.names span')].map(e => e.textContent);")
    ]
    scale = 980 / (names[-1] - names[0])
    for (low, high), one in zip(ends, found, strict=True):  # one axis: equal numbers stand at equal places
        assert low == pytest.approx(10 + scale * (one["lower"] - names[0]))
        assert high == pytest.approx(max(10 + scale * (one["upper"] - names[0]), low + 2))
    rows = browser.run("return [...document.querySelectorAll('#result tbody tr')].map(r => r.cells[0].textContent);")
    assert rows == [f"(age > 20) AND {one}" for one in slices]


@pytest.mark.heavy(family="privacy")
def test_whatever_is_typed_is_data(wire: Server, site: Site, browser: Browser) -> None:
    """In fields, statements, answers, errors, files and copied texts; keys come to the server as they were meant."""
    entered(browser, wire, "ann")
    put(browser, by="state", keys=keys_text(ODD), cost="0.5")
    priced(browser)
    press(browser)
    answered(browser)
    found = wire.client("ann").get("/v1/history").json()["releases"][0]["answer"]
    assert [one["where"] for one in found] == ["state = '" + key.replace("'", "''") + "'" for key in ODD]
    for name in ODD:
        if name:
            put(browser, where=name)
            time.sleep(0.6)
    put(browser, where="")
    priced(browser)
    browser.run("document.getElementById('copies').open = true;")
    assert browser.run("return document.querySelectorAll('main script, main b, main img').length;") == 0
    assert NAME in browser.run(TEXT)
    assert [entry for entry in browser.log("browser") if "422" not in entry["message"]] == []
    assert {url.split("/v1/")[0].rstrip("/") for url in browser.requests()} == {wire.url}


@pytest.mark.heavy(family="long")
def test_keys_are_read_as_people_write_them(wire: Server, browser: Browser) -> None:
    entered(browser, wire, "ann")
    cases = {
        "a, b": ["a", "b"], "a,,b,": ["a", "b"], " a \n b ": ["a", "b"], '"a, b", c': ["a, b", "c"], '""': [""],
        '"a""b"': ['a"b'], 'a"b': ['a"b'], "": [], ",\n,": [], '" a "': [" a "], '"x": [1]': ['"x": [1]'],
    }  # fmt: skip
    for text, right in cases.items():
        assert browser.run(f"return keysOf({json.dumps(text)}).map(one => one.text);") == right, text
    put(browser, by="age", keys='30, -4, "31", x', cost="1")
    assert "ARRAY[30, -4, '31', 'x']" in statement(browser)


@pytest.mark.heavy(family="long")
def test_what_was_edited_is_kept(wire: Server, browser: Browser) -> None:
    entered(browser, wire, "ann")
    put(browser, cost="0.5")
    put(browser, statement="SELECT 1 AS mine")
    assert priced(browser) == "Run, at no cost"
    put(browser, measure="count", cost="0.75")
    assert statement(browser) == "SELECT 1 AS mine"
    assert browser.run("return document.getElementById('detached').hidden;") is False
    press(browser, "rewrite")
    assert "dp_count" in statement(browser)
    assert priced(browser) == "Run for epsilon 0.75"


@pytest.mark.heavy(family="spending")
def test_a_page_that_is_left_pays_once_and_finds_its_answer(wire: Server, site: Site, browser: Browser) -> None:
    """Loaded again while it waits: the same key asks again. Closed: the answer is in the history."""
    before = site.spent()
    entered(browser, wire, "ann")
    put(browser, measure="count", cost="0.5")
    priced(browser)
    press(browser)
    browser.wait("document.querySelector('#result .waiting')")
    browser.run("location.reload();")
    browser.wait("!document.getElementById('again')?.hidden && document.querySelector('#result pre')")
    assert "dp_count" in browser.run("return document.querySelector('#result pre').textContent;")
    press(browser, "again")
    answered(browser)
    assert site.spent() == before + 0.5
    browser.run("location.reload();")  # what was answered is not offered again
    browser.wait("document.querySelectorAll('#history tbody tr').length > 0")
    assert browser.run("return document.getElementById('again').hidden;") is True
    put(browser, measure="count", cost="0.5")
    priced(browser)
    press(browser)
    browser.wait("document.querySelector('#result .waiting')")
    browser.show("about:blank")
    deadline = time.monotonic() + 30
    while site.spent() < before + 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert site.spent() == before + 1
    entered(browser, wire, "ann")
    browser.wait("document.querySelectorAll('#history tbody tr').length > 1")
    assert all(one["answered"] for one in wire.client("ann").get("/v1/history").json()["releases"])


@pytest.mark.heavy(family="privacy")
def test_who_is_signed_out_by_the_server_keeps_his_words_and_the_next_sees_none(
    wire: Server, site: Site, browser: Browser
) -> None:
    from dpdb.doors.server.analysts import revoke_analyst
    from dpdb.doors.server.configuration import load_configuration

    entered(browser, wire, "eve")
    put(browser, where="age = 31", measure="count", cost="0.125")
    priced(browser)
    press(browser)
    answered(browser)
    priced(browser)
    revoke_analyst(load_configuration(site.config), "eve", "test")
    wire.wait_for_access(site.tokens["eve"], 401)
    before = site.spent()
    press(browser)
    browser.wait("document.getElementById('inside').hidden")
    assert "does not take this token" in browser.run(TEXT)
    assert "age = 31" in statement(browser)  # not lost
    assert "age = 31" not in browser.run(TEXT)
    assert browser.run("return sessionStorage.getItem('dpdb token');") is None
    browser.run(f"document.getElementById('token').value = {json.dumps(site.tokens['bob'])};")
    browser.run("document.querySelector('#sign-in button').click();")
    browser.wait(
        "document.getElementById('inside')?.hidden === false && document.getElementById('who').textContent === 'bob'"
    )
    page = browser.run("return document.documentElement.outerHTML + document.getElementById('statement').value;")
    assert "age = 31" not in page
    assert browser.run("return document.getElementById('again').hidden;") is True
    assert site.spent() == before


@pytest.mark.heavy(family="spending")
def test_more_than_is_left_is_said_before_and_refused(wire: Server, site: Site, browser: Browser) -> None:
    before = site.spent()
    entered(browser, wire, "bob")
    put(browser, cost="4")
    priced(browser)
    assert "That is more than the 3 that you have left." in browser.run(TEXT)
    assert "3 of 3 left" in browser.run(TEXT)
    press(browser)
    browser.wait("document.querySelector('#result .message')")
    assert site.spent() == before


@pytest.mark.heavy(family="long")
def test_rows_are_saved_as_csv(wire: Server, browser: Browser) -> None:
    """NULL is an empty cell and empty text a quoted one; every text comes back."""
    entered(browser, wire, "ann")
    listed = ", ".join("'" + key.replace("'", "''") + "'" for key in ODD)
    put(browser, statement=f'SELECT unnest([{listed}]) AS "a,b", NULL AS none, 1.5 AS number')
    if browser.run("return document.getElementById('cost').className;") == "bad":
        pytest.fail(browser.run(TEXT))
    priced(browser)
    press(browser)
    answered(browser)
    browser.run(
        "window.saved = null; const made = URL.createObjectURL;"
        "URL.createObjectURL = (blob) => {"
        " blob.text().then(text => { window.saved = text; }); return made.call(URL, blob); };"
        "[...document.querySelectorAll('#result button')].find(one => one.textContent === 'Save as CSV').click();"
    )
    browser.wait("window.saved !== null")
    text = browser.run("return window.saved;")
    assert [*csv.reader(io.StringIO(text, newline=""))] == [
        ["a,b", "none", "number"],
        *([key, "", "1.5"] for key in ODD),
    ]
    assert text.splitlines()[2] == '"",,1.5'


@pytest.mark.heavy(family="spending")
def test_copied_texts_run(wire: Server, site: Site, browser: Browser) -> None:
    """Python repeats the answer that was given, at no cost; psql asks anew, at its price."""
    entered(browser, wire, "ann")
    put(browser, by="state", keys=keys_text(["CA", "a'b", "\\", "$x `y`"]), cost="0.25")
    priced(browser)
    press(browser)
    answered(browser)
    priced(browser)
    before = site.spent()
    browser.run("document.getElementById('copies').open = true;")
    texts = browser.run("return [...document.querySelectorAll('#copied pre')].map(one => one.textContent);")
    environment = os.environ | {"DPDB_TOKEN": site.tokens["ann"], "PGPASSWORD": site.tokens["ann"], "no_proxy": "*"}
    done = subprocess.run([sys.executable, "-c", texts[1]], env=environment, capture_output=True, text=True, check=True)
    shown = browser.run(
        "return [...document.querySelectorAll('#result tbody tr')].map(r => [...r.cells].map(c => c.textContent));"
    )
    assert [str(row) for row in eval(done.stdout)["rows"]] == [str([row[0], *map(float, row[1:])]) for row in shown]
    assert site.spent() == before
    if shutil.which("psql") is None:
        pytest.skip("psql is not installed on this machine")
    done = subprocess.run(
        ["sh", "-c", f"{texts[0]} --csv"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [row[0] for row in csv.reader(io.StringIO(done.stdout))] == ["slice", *(row[0] for row in shown)]
    assert site.spent() == before + 0.25


@pytest.mark.heavy(family="long")
def test_a_thousand_slices_leave_the_page_alive(wire: Server, browser: Browser) -> None:
    entered(browser, wire, "ann")
    put(browser, by="age", keys=",".join(map(str, range(1_000))), measure="count", cost="0.5")
    priced(browser)
    press(browser)
    answered(browser)
    assert browser.run("return document.querySelectorAll('#result .chart li').length;") == 61
    assert browser.run("return document.querySelectorAll('#result tbody tr').length;") == 500
    assert "1,000 rows, of which 500 rows are shown" in browser.run(TEXT)
    assert "940 numbers more in the table" in browser.run(TEXT)


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize(("width", "dark"), [(1200, False), (1200, True), (390, False), (390, True)])
def test_an_answer_can_be_read(wire: Server, browser: Browser, width: int, dark: bool) -> None:
    """Enough contrast, nothing wider than the screen, all within reach of the keyboard."""
    entered(browser, wire, "ann", width=width, dark=dark)
    put(browser, by="state", keys=keys_text(["CA", "x" * 200]), cost="0.25")
    priced(browser)
    press(browser)
    answered(browser)
    browser.run("document.getElementById('copies').open = true;")
    assert browser.run(CONTRAST) == []
    assert browser.run("return document.documentElement.scrollWidth;") <= width
    assert (
        browser.run(
            "return [...document.querySelectorAll('input, textarea, select, button')].filter(e => e.offsetParent)"
            ".filter(e => e.tabIndex < 0 || !(e.labels?.length || e.textContent.trim())).map(e => e.id);"
        )
        == []
    )
    first = browser.run("return document.getElementById('run').getBoundingClientRect().width;")
    assert first >= (300 if width < 500 else 100)  # on a phone a thumb finds it


@pytest.mark.heavy(family="spending")
def test_a_ledger_of_rho_shows_what_epsilon_is_there(tmp_path: Path, browser: Browser) -> None:
    """Every measure is asked for epsilon; the price, and what is left of it, are in the ledger's unit."""
    made = make_site(tmp_path, epsilon=5, notion="zcdp", analysts={"ann": {"quota": 4}})
    with Server(made) as running:
        entered(browser, running, "ann")
        left = running.client("ann").get("/v1/account").json()["tables"][0]["remaining"]
        assert f"rho {left:.9g} of {left:.9g} left" in browser.run(TEXT)
        for measure in browser.run("return [...document.getElementById('f-measure').options].map(one => one.value);"):
            put(browser, measure=measure, cost="0.2")
            shown = priced(browser)
            cost = running.client("ann").post("/v1/explain", json={"statement": statement(browser)}).json()["charged"]
            assert shown == f"Run for rho {cost:.9g}", measure
            assert 0 < cost <= 0.02 + 1e-9  # 0.2 ^ 2 / 2
            words = f"Of your {left:.9g} then {left - cost:.9g} is left."
            assert words in browser.run(TEXT), measure
        press(browser)
        answered(browser)
        assert made.spent() == pytest.approx(cost)
