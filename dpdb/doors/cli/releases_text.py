"""Releases as commands print them: one JSON document, or words."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dpdb.release import Release, releases_words

__all__ = ["releases_text"]


def releases_text(releases: Sequence[Release], output: str) -> str:
    """Return releases as one JSON document or in words."""
    if output == "json":
        return json.dumps({"releases": [release.to_dict() for release in releases]}, indent=2) + "\n"
    return f"{releases_words(releases)}\n"
