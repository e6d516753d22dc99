"""What a ledger keeps as the request of a release, and what it charges, compared with recordings.

A run id may be asked again for the same request only, so a request that came to be written otherwise would lose the
answers that are paid for. Write the recordings anew with DPDB_WRITE_GOLDEN=1.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import dpdb
from dpdb.ledger import Ledger
from dpdb.predicates.region import region_to_text
from dpdb.release.ask import Ask

RECORDING = Path(__file__).parent / "requests.json"
RULES = ["zip -> city", "not(t1.age>t2.age&t1.fee<t2.fee)", "not(t1.age<0)"]
SESSIONS: Mapping[str, dict[str, Any]] = {
    "one row": {},
    "two rows of a person": {"rows_per_person": 2},
    "a unit": {"unit": "zip", "max_rows": 3},
    "a declared group": {"max_group": 7},
    "no constraints": {"constraints": None},
}
RELEASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("dp_inconsistency", {}),
    ("dp_inconsistency", {"measure": "all", "epsilon": 0.1}),
    ("dp_inconsistency", {"measure": "all", "epsilon": "0.3", "rate": True}),
    ("dp_inconsistency", {"measure": "all", "epsilon": 3, "each_constraint": True}),
    ("dp_inconsistency", {"measure": "repair", "rate": True, "each_constraint": True, "run_id": "monday"}),
    ("dp_inconsistency", {"measure": "problematic", "epsilon": Decimal("0.25"), "where": "age < 5 AND city <> 'x'"}),
    ("dp_inconsistency", {"measure": "problematic", "by": "zip", "keys": ["1", "2", "003"], "confidence": 0.9}),
    ("dp_inconsistency", {"measure": "repair", "by": "age", "keys": [1, "2"], "where": "fee >= 1.50"}),
    ("dp_inconsistency", {"measure": "minimal_inconsistency", "mechanism": "two_sided", "max_degree": 40}),
    ("dp_inconsistency", {"measure": "minimal_inconsistency", "mechanism": "optimized", "max_degree": 40}),
    ("dp_inconsistency", {"measure": "minimal_inconsistency", "theta": 12}),
    ("dp_inconsistency", {"measure": "problematic", "theta": 3, "by": "zip", "keys": ["1", "2"], "run_id": "kept"}),
    ("dp_inconsistency", {"measure": "repair", "mechanism": "greedy", "confidence": 0.5}),
    ("dp_count", {}),
    ("dp_count", {"epsilon": 0.1, "where": "age BETWEEN 1.5 AND 4 OR city LIKE 'al%'", "run_id": "tuesday"}),
    ("dp_count", {"rho": "0.01", "by": "zip", "keys": ["1"], "confidence": 0.99}),
)


def table() -> pa.Table:
    return pa.table(
        {
            "zip": ["1", "1", "2", None],
            "city": ["a", "b", "b", "c"],
            "age": pa.array([1, 2, 3, 4], pa.int16()),
            "fee": [1.0, 2.0, 3.0, 4.0],
        }
    )


def asked(session: dpdb.Session, method: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """What the release would be charged, at epsilon 1 where no other cost is named, or why it is refused."""
    cost = {} if "rho" in options else {"epsilon": 1}
    try:
        charge = session.prepare(Ask.called(method, {**cost, **options})).charge
    except dpdb.DpdbError as refused:
        return {"refused": str(refused)}
    return {
        "request": charge.request_text,
        "epsilon": charge.epsilon,
        "rho": charge.rho,
        "run_id": charge.run_id,
        "rule_set": charge.rule_set,
        "rows": region_to_text(charge.coverage),
    }


@pytest.mark.heavy(family="long")
def test_requests_are_kept_as_they_were(tmp_path: Path) -> None:
    found = []
    for words, options in SESSIONS.items():
        ledger = tmp_path / f"{words}.ledger"
        Ledger.create(ledger, 5).close()
        with dpdb.open(table(), **{"constraints": RULES, **options}, ledger=ledger) as session:
            for method, release in RELEASES:
                shown = {name: str(value) if isinstance(value, Decimal) else value for name, value in release.items()}
                found.append({"session": words, "asked": {method: shown}, **asked(session, method, release)})
    text = json.dumps(found, indent=1, default=str) + "\n"
    if os.environ.get("DPDB_WRITE_GOLDEN"):
        RECORDING.write_text(text)
    assert text == RECORDING.read_text()
