"""Releases as commands print them: one JSON document, or words."""

from __future__ import annotations

import json
from collections.abc import Sequence

from dpdb.release import Release, releases_words

__all__ = ["as_tuple", "releases_text"]


def as_tuple(released: Release | tuple[Release, ...]) -> tuple[Release, ...]:
    """Return one or several releases as several."""
    return released if isinstance(released, tuple) else (released,)


def releases_text(releases: Sequence[Release], output: str) -> str:
    """Return releases as one JSON document or in words."""
    if output == "json":
        return json.dumps({"releases": [release.to_dict() for release in releases]}, indent=2) + "\n"
    return f"{releases_words(releases)}\n"
