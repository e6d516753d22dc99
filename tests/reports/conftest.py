"""One browser for all tests of this folder; skipped, with a reason, where there is none."""

from __future__ import annotations

from browser import browser

__all__ = ["browser"]
