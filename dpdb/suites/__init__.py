"""The room of suites: checks with limits, their verdicts, and what these cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpdb.faces import lazy_names

if TYPE_CHECKING:
    from dpdb.suites.load import load_suite
    from dpdb.suites.suite import Limit, Suite, SuiteLine

__all__ = ["Limit", "Suite", "SuiteLine", "load_suite"]

if not TYPE_CHECKING:
    __getattr__ = lazy_names(__name__, {"load": "load_suite", "suite": "Limit Suite SuiteLine"})
