"""The report in a real headless Chromium: light, dark, on a phone and in print."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest
from browser import CONTRAST, Browser
from sample import START, release, year

from dpdb.doors.jobs.results import Results
from dpdb.doors.reports import report_page
from dpdb.release.published.release import Releases

LUMINANCE = """
const [r, g, b] = getComputedStyle(arguments[0] || document.body).backgroundColor.match(/\\d+/g).map(Number);
return (r + g + b) / 3;
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(report_page(year(14), generated=START), encoding="utf-8")
    return path


@pytest.fixture
def hostile_page(tmp_path: Path) -> Path:
    path = tmp_path / "hostile.html"
    path.write_text(report_page(year(4, hostile=True), generated=START), encoding="utf-8")
    return path


def pixel_rows(png: bytes) -> list[bytes]:
    """The filtered rows of a PNG: a blank picture has hardly any different ones."""
    position, data, width, height = 8, b"", 0, 0
    while position < len(png):
        (length,) = struct.unpack(">I", png[position : position + 4])
        kind, body = png[position + 4 : position + 8], png[position + 8 : position + 8 + length]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", body[:8])
        data += body if kind == b"IDAT" else b""
        position += length + 12
    pixels = zlib.decompress(data)
    assert width > 300
    stride = len(pixels) // height
    return [pixels[k * stride : (k + 1) * stride] for k in range(height)]


@pytest.mark.heavy(family="long")
@pytest.mark.parametrize("which", ["page", "hostile_page"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1200, 360])
def test_the_page_is_whole_in_every_view(
    browser: Browser, width: int, dark: bool, which: str, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(which)
    browser.show(path, width=width, dark=dark)
    assert browser.log("browser") == []
    assert browser.requests() == [path.as_uri()]
    assert browser.run("return document.documentElement.scrollWidth") == width
    assert browser.run("return document.scripts.length + document.images.length") == 0
    assert (browser.run(LUMINANCE) < 60) == dark
    assert browser.run(CONTRAST) == []
    assert len(set(pixel_rows(browser.screenshot()))) > 300


@pytest.mark.heavy(family="long")
def test_tables_open_on_a_phone_without_widening_the_page(browser: Browser, page: Path) -> None:
    browser.show(page, width=360)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.run("return document.documentElement.scrollWidth") == 360
    assert browser.run("return document.querySelectorAll('.scroll tbody tr').length") == 6 * 14
    # Labels of the charts stay readable.
    size = "const t = document.querySelector('.chart text'); return parseFloat(getComputedStyle(t).fontSize) * "
    assert browser.run(size + "t.ownerSVGElement.getBoundingClientRect().width / 440") > 9


@pytest.mark.heavy(family="long")
def test_labels_of_charts_do_not_overlap(browser: Browser, page: Path) -> None:
    overlaps = """
    const bad = [];
    for (const chart of document.querySelectorAll('.chart')) {
      const texts = [...chart.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
      for (const [i, [a, p]] of texts.entries()) for (const [b, q] of texts.slice(i + 1))
        if (p.left < q.right && q.left < p.right && p.top + 2 < q.bottom && q.top + 2 < p.bottom) bad.push([a, b]);
      const frame = chart.getBoundingClientRect();
      for (const [a, p] of texts) if (p.left < frame.left - 1 || p.right > frame.right + 1) bad.push([a, 'outside']);
    }
    return bad;
    """
    for width in (1200, 360):
        browser.show(page, width=width)
        assert browser.run(overlaps) == []


@pytest.mark.heavy(family="long")
def test_the_page_prints_in_light_colours_whatever_the_screen_shows(browser: Browser, page: Path) -> None:
    browser.show(page, dark=True)
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF")
    assert 1 <= pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") <= 8
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    browser.devtools("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    try:
        assert browser.run(LUMINANCE) > 240
        assert browser.run(CONTRAST) == []
    finally:
        browser.devtools("Emulation.setEmulatedMedia", {"media": ""})


@pytest.mark.parametrize("background", ["#ffffff", "#111111"])
def test_cards_and_tables_of_a_notebook_load_nothing(browser: Browser, tmp_path: Path, background: str) -> None:
    path = tmp_path / "notebook.html"
    ink = "#000" if background == "#ffffff" else "#eee"
    shown = [release(upper=None), Releases([release(), release(where="a = '<b>'")]), Results(year(2).rows)]
    parts = "".join(f"<div>{part._repr_html_()}</div>" for part in shown)
    path.write_text(f'<!doctype html><meta charset="utf-8"><body style="background:{background};color:{ink}">{parts}')
    browser.show(path, width=900)
    assert browser.log("browser") == []
    assert browser.requests() == [path.as_uri()]
    assert browser.run("return document.querySelectorAll('b').length") == 0
    assert browser.run("return document.querySelectorAll('table tr').length") == 3 + 13
    assert len(set(pixel_rows(browser.screenshot()))) > 100
