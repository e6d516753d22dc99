"""Releases in a notebook: every text escaped, nothing loaded, an open interval shown as open."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pyarrow as pa
import pytest

import dpdb
from dpdb.release.published.release import Release, Releases
from dpdb.release.published.release_fields import bounds_words, value_words

HOSTILE = "<script>alert('x')</script>\"'&amp;"
PLAIN = Release(
    measure="repair", estimand="tau*", value=1234.5, lower=1000, upper=1500, confidence=0.95, epsilon=1.0,
    mechanism="fractional", theta=None, noise_scale=2.0, where=None, constraints_sha256="0", guarantee="pure",
    release_id="r", version="0", quantity="rows",
)  # fmt: skip
EVERY_TEXT_HOSTILE = replace(
    PLAIN, measure=HOSTILE, estimand=HOSTILE, mechanism=HOSTILE, where=HOSTILE, guarantee=HOSTILE, quantity=HOSTILE,
    constraint=HOSTILE,
)  # fmt: skip


class Elements(HTMLParser):
    """Elements and attributes that a browser would see; checks that all are closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("br", "meta"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("html", [EVERY_TEXT_HOSTILE._repr_html_(), Releases([EVERY_TEXT_HOSTILE])._repr_html_()])
def test_every_text_is_escaped_and_nothing_is_loaded(html: str) -> None:
    seen = Elements(html)
    assert "script" not in seen.tags
    assert HOSTILE in seen.text
    assert {name for name, _ in seen.attributes}.isdisjoint({"src", "href", "onerror", "onload", "xlink:href"})
    assert "url(" not in html


def test_a_card_says_value_interval_and_cost() -> None:
    text = Elements(PLAIN._repr_html_()).text
    assert "1,234.5 rows" in text
    assert "at least 1,000, at most 3,000 (95% sure)" in text
    assert "whole table" in text
    assert "epsilon 1: pure" in text.partition("details")[0]
    assert "mechanism: fractional, noise scale 2" in text.partition("details")[2]


def test_an_open_interval_is_drawn_and_said_to_be_open() -> None:
    closed, opened = PLAIN._repr_html_(), replace(PLAIN, upper=None)._repr_html_()
    assert "at least 1,000, no upper bound (95% sure)" in opened
    assert opened.count("<path") == 1  # the arrow
    assert closed.count("<path") == 0


@pytest.mark.parametrize("upper", [0.0, None])
def test_zeros_can_be_drawn(upper: float | None) -> None:
    assert "nan" not in replace(PLAIN, value=0, lower=0, upper=upper)._repr_html_()


def test_shares_are_per_cent() -> None:
    share = replace(PLAIN, value=0.0123, lower=0.01, upper=0.2, quantity="share of rows")
    assert bounds_words(share) == "at least 1.000%, at most 20.000% (95% sure)"
    assert value_words(share) == "1.230%"


def test_several_releases_are_a_tuple_that_shows_as_a_table() -> None:
    table = pa.table({"zip": ["1", "1", "2"], "city": ["a", "b", "c"]})
    with dpdb.open(table, constraints="zip -> city") as session:
        released = session.dp_inconsistency("repair", 1, by="zip", keys=["1", "2"])
    assert isinstance(released, tuple)
    assert Elements(released._repr_html_()).tags.count("tr") == 3  # type: ignore[attr-defined]
