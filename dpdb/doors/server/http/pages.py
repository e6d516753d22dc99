"""The two pages: constant, without names, versions or anything of a table; what they show they ask for with a token.

Each page is one file with its style and script inside. Its Content-Security-Policy names their hashes and no other
source, so that neither an answer nor a browser's extension of the page can run or load anything.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PAGES", "Page", "load_page"]

_ASSETS = Path(__file__).parent / "assets"

PAGES: Mapping[str, str] = {"/": "analyst", "/owner": "owner"}
"""The page of every path; strangers get them, too, as a browser has no token when it opens a page."""


@dataclass(frozen=True)
class Page:
    """A page, and the policy that its browser enforces."""

    content: bytes
    policy: str


def load_page(name: str) -> Page:
    """Read a page and put its style and its script in."""
    style = _text("style.css")
    script = _text("common.js") + _text(f"{name}.js")
    page = _text(f"{name}.html").replace("<style></style>", f"<style>{style}</style>")
    page = page.replace("<script></script>", f"<script>{script}</script>")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Page(page.encode(), policy)


def _text(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
