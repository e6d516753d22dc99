"""A headless Chromium through chromedriver's HTTP interface, with nothing but the standard library."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
CHROMEDRIVER = shutil.which("chromedriver")
ABSENT = None if CHROMIUM and CHROMEDRIVER else "chromium or chromedriver is not installed on this machine"

_ARGUMENTS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip

# Contrast of every text with what lies behind it (WCAG 2); large text needs 3, other text 4.5.
CONTRAST = """
const light = c => { c /= 255; return c <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4; };
const lum = c => .2126 * light(c[0]) + .7152 * light(c[1]) + .0722 * light(c[2]);
const numbers = text => (text.match(/[\\d.]+/g) || []).map(Number);
const behind = e => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor);
  if (c.length === 3 || c[3] > 0) return c; } return [255, 255, 255]; };
const bad = [];
for (const e of document.querySelectorAll('main *')) {
  if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || e.tagName === 'title') continue;
  const style = getComputedStyle(e), a = lum(numbers(e instanceof SVGElement ? style.fill : style.color));
  const b = lum(behind(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
  if (ratio < 4.5) bad.push([e.textContent.slice(0, 40), ratio]);
}
return bad;
"""


class Browser:
    """One browser with one tab; everything that the page logs or asks for is kept."""

    def __init__(self, profile: Path) -> None:
        self._driver = subprocess.Popen(
            [str(CHROMEDRIVER), "--port=0"],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"HOME": str(profile), "TMPDIR": str(profile)},
        )
        assert self._driver.stdout is not None
        port = None
        for line in self._driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                port = found[1]
                break
        assert port, "chromedriver did not start"
        self._base = f"http://127.0.0.1:{port}"
        self._open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
        self._session = ""
        wanted = {
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": CHROMIUM, "args": [*_ARGUMENTS, f"--user-data-dir={profile}/profile"]},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        try:
            session = self._ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]
        except BaseException:
            self.close()
            raise
        self._session = f"/session/{session}"
        self._ask("POST", f"{self._session}/url", {"url": "about:blank"})  # not the browser's own first page

    def show(self, page: Path | str, *, width: int = 1200, height: int = 900, dark: bool = False) -> None:
        self.log("browser"), self.log("performance")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.devtools("Emulation.setEmulatedMedia", {"features": [scheme]})
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        self.devtools("Emulation.setDeviceMetricsOverride", size)
        self._ask("POST", f"{self._session}/url", {"url": page if isinstance(page, str) else page.absolute().as_uri()})

    def wait(self, condition: str, seconds: float = 60) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.run(f"return Boolean({condition});"):
            if time.monotonic() > end:
                raise AssertionError(
                    f"not in time: {condition}; the page says {self.run('return document.body.innerText')}"
                )
            time.sleep(0.05)

    def run(self, script: str) -> Any:
        return self._ask("POST", f"{self._session}/execute/sync", {"script": script, "args": []})

    def screenshot(self) -> bytes:
        """The whole page as PNG."""
        asked = {"format": "png", "captureBeyondViewport": True}
        return base64.b64decode(self.devtools("Page.captureScreenshot", asked)["data"])

    def pdf(self) -> bytes:
        return base64.b64decode(self._ask("POST", f"{self._session}/print", {"background": False}))

    def log(self, kind: str) -> list[dict[str, Any]]:
        """What was logged since the last call."""
        return self._ask("POST", f"{self._session}/se/log", {"type": kind})

    def requests(self) -> list[str]:
        """Addresses that were asked for since the page was shown."""
        messages = [json.loads(entry["message"])["message"] for entry in self.log("performance")]
        return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]

    def devtools(self, command: str, parameters: dict[str, Any]) -> Any:
        return self._ask("POST", f"{self._session}/goog/cdp/execute", {"cmd": command, "params": parameters})

    def close(self) -> None:
        try:
            if self._session:
                self._ask("DELETE", self._session, None)
        finally:
            self._driver.terminate()
            self._driver.wait(30)
            if self._driver.stdout is not None:
                self._driver.stdout.close()

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        with self._open(request, timeout=60) as answer:
            return json.load(answer)["value"]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests of a folder whose `conftest.py` imports this; skipped where there is none."""
    if ABSENT:
        pytest.skip(ABSENT)
    opened = Browser(tmp_path_factory.mktemp("browser"))
    yield opened
    opened.close()
