"""A real browser on the analyst's page while another analyst attacks on every connection that he may have."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator

import pytest
from browser import Browser
from one_analyst import ATTACKS, besieged
from server_site import COUNT, Server, make_site
from test_server_pages import TEXT, sign_in

TWO = {name: {"quota": 100, "most_per_statement": 10} for name in ("ann", "bob")}


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    site = make_site(tmp_path_factory.mktemp("page"), epsilon=500, analysts=TWO, postgres=True,
                     settings={"connections_per_address": 100})  # fmt: skip
    with Server(site) as server:
        yield server


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("body", marks=pytest.mark.heavy(family="long")),
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ATTACKS),
    ],
)
def test_a_page_answers_beside_an_attack(kind: str, attacked: Server, browser: Browser) -> None:
    """Cost, answer and history are shown, and nothing is spent but what the page has said."""
    before = attacked.site.spent()
    with besieged(attacked, kind):
        time.sleep(0.5)
        sign_in(browser, f"{attacked.url}/", attacked.site.tokens["bob"])
        browser.run(
            f"const box = document.getElementById('statement'); box.value = {json.dumps(COUNT)};"
            "box.dispatchEvent(new Event('input'));"
        )
        browser.wait("document.getElementById('cost').textContent.includes('0.25')")
        browser.wait("!document.getElementById('run').disabled")
        browser.run("document.getElementById('run').click();")
        browser.wait("document.querySelector('#result svg.interval')")
        browser.wait("document.querySelectorAll('#history tbody tr').length > 0")
        assert "This cost epsilon 0.25." in browser.run(TEXT)
    assert attacked.site.spent() - before == pytest.approx(0.25)
