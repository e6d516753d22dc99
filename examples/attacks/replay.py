"""Replay: one run id asked again and again, with other parameters, on other rows, and after the ledger was put back.

A run id promises that a retry costs nothing. So a retry must give nothing: the recorded answer, never a fresh draw;
also where the table was loaded again in between, whose new rows then stay unread.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from common import Fact

import dpdb
from dpdb.ledger import Ledger

RULE = "zip -> city"
ROWS = pa.table({"zip": ["1", "1", "2"] * 20, "city": ["a", "b", "c"] * 20})


def attack(times: int = 200) -> Iterator[Fact]:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder, "visits.ledger")
        Ledger.create(ledger, 10).close()
        saved = Path(folder, "saved")
        with dpdb.open(ROWS, constraints=RULE, ledger=ledger) as session:
            drawn = {session.dp_inconsistency("repair", 1, run_id="monday").release_id for _ in range(times)}
            yield Fact(f"replay, draws of {times} retries", len(drawn), 1, "draws")
            yield Fact(f"replay, price of {times} retries", 10 - session.remaining(), 1, "epsilon")
            others = (
                {"measure": "problematic"}, {"epsilon": 0.5}, {"where": "zip = '1'"}, {"mechanism": "greedy"},
                {"confidence": 0.9}, {"rate": True},
            )  # fmt: skip
            yield Fact(
                "replay, other questions under the id", sum(_answers(session, other) for other in others), 0, "answers"
            )
        fresh = _opened(ledger, ROWS.slice(1), "monday") - drawn
        yield Fact("replay, draws of the id on other rows", len(fresh), 0, "draws")
        shutil.copy(ledger, saved)
        with dpdb.open(ROWS, constraints=RULE, ledger=ledger) as session:
            session.dp_inconsistency("repair", 1, run_id="tuesday")
        for left in Path(folder).glob("visits.ledger-wal"):
            left.unlink()
        shutil.copy(saved, ledger)
        yield Fact("replay, answers of a ledger that was put back", len(_opened(ledger, ROWS, "tuesday")), 0, "answers")


def _answers(session: dpdb.Session, other: dict[str, object]) -> int:
    """Ask another question under the id: 1 if there was an answer."""
    asked = {"measure": "repair", "epsilon": 1, "run_id": "monday", **other}
    try:
        session.dp_inconsistency(**asked)  # type: ignore[arg-type]
    except dpdb.DpdbError:
        return 0
    return 1


def _opened(ledger: Path, rows: pa.Table, run_id: str) -> set[str]:
    """Open a session and ask under the id: the release that answered, if one did."""
    try:
        with dpdb.open(rows, constraints=RULE, ledger=ledger) as session:
            return {session.dp_inconsistency("repair", 1, run_id=run_id).release_id}
    except dpdb.DpdbError:
        return set()


if __name__ == "__main__":
    for result in attack(*map(int, sys.argv[1:2])):
        print(result)
