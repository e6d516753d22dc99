"""Why a suite that is asked for under a kept name is not the one that was opened under it, in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

# What a suite is known by: its digest, that of its rules, and its checks as they are written.
_RULES = ("suite", "constraints_sha256", "checks")
_ANY_DAY = "{date}"


def kept_otherwise(opened: str, asked: str, also: Iterable[str] = ()) -> str | None:
    """Return what a kept suite was opened with, other than is asked for now, and what to do; None if it is the same.

    Parameters
    ----------
    opened, asked
        Specs: JSON objects, public.
    """
    there, here = ({**json.loads(spec)} for spec in (opened, asked))
    names = [*also, *sorted(key for key in there.keys() | here.keys() if there.get(key) != here.get(key))]
    if not names:
        return None
    if {*names} <= {*_RULES} and _is_of_another_day(there, here):
        return (
            f"was opened for another day: its rules have {_ANY_DAY}, and one name keeps the rules of one day; ask for "
            f"that day, or check each day in a run of its own that is not kept, or keep rules without {_ANY_DAY}"
        )
    words = dict.fromkeys("rules or limits" if name in _RULES else name for name in names)
    return f"was opened with other {', '.join(words)}; ask for the same, or open another one under a new name"


def _is_of_another_day(opened: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Return whether only the day differs: the same texts are other rules, and one of them has a place for the day."""
    checks = asked.get("checks")
    return opened.get("checks") == checks and any(_ANY_DAY in str(each.get("rule")) for each in checks or ())
