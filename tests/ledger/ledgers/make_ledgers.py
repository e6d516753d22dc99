"""How the ledgers of this folder were made: by old versions of dpdb, each from its own checkout.

    PYTHONPATH=<checkout of d918e34> python make_ledgers.py format-1
    PYTHONPATH=<checkout of 79e3559> python make_ledgers.py format-2
    PYTHONPATH=<checkout of 79e3559> python make_ledgers.py format-2-unit
    PYTHONPATH=<checkout of 79e3559> python make_ledgers.py format-2-zcdp
    PYTHONPATH=<checkout of 79e3559> python make_ledgers.py format-2-leaks
    PYTHONPATH=<checkout of d0093a0> python make_ledgers.py format-3

Beside each ledger lies its head, where the version wrote one, and `NAME.json`: what that version itself said of it.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
import sys
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

import dpdb
from dpdb.errors import EngineError

try:
    import dpdb.release.private_slices as session_module
    from dpdb.ledger import Ledger
except ImportError:  # before the rooms had these names
    import dpdb.session.session as session_module
    from dpdb.accounting import Ledger

TABLE = pa.table(
    {
        "zip": ["1", "1", "1", "2", "2", None],
        "city": ["alice", "bob", "bob", "carol", "dave", "erin"],
        "age": [1, 2, 3, 4, 5, 6],
    }
)
CHANGED = pa.concat_tables([TABLE, TABLE.slice(0, 1)])
FD = "zip -> city"


def spend(path: Path, name: str) -> None:
    """Releases of every kind that both versions know: named and not, sliced, by groups, in two epochs, unanswered."""
    options = {"unit": "zip", "max_rows": 2} if name == "format-2-unit" else {}
    with dpdb.open(TABLE, constraints=FD, ledger=path, **options) as session:
        session.dp_inconsistency("repair", 0.25, run_id="monday")
        session.dp_inconsistency("problematic", 0.5, by="zip", keys=["1", "2"], where="age < 5", run_id="by zip")
        session.dp_count(0.1, where="age BETWEEN 1.5 AND 4 OR city LIKE 'al%'")
        if name == "format-2-zcdp":
            session.dp_count(rho=0.01, where="age IN (1, 2)", run_id="gaussian")
        if name != "format-1":
            session.dp_inconsistency("repair", 0.125, rate=True, each_constraint=True, run_id="rates")
        if name == "format-3":
            session.dp_inconsistency("all", 0.125, where="age < 6", confidence=0.9, run_id="all")
            session.dp_inconsistency("minimal_inconsistency", 0.125, theta=2, run_id="at a theta")
        counting, session_module.count_rows = session_module.count_rows, None
        with contextlib.suppress(EngineError):  # as a process that was killed before it had an answer
            session.dp_count(0.2, where="age >= 3", run_id="killed")
        session_module.count_rows = counting
    if name != "format-2-zcdp":  # which is append-only
        with Ledger.open(path) as ledger:
            ledger.open_epoch()
    with dpdb.open(CHANGED, constraints=FD, ledger=path, **options) as session:
        session.dp_count(0.3, where="city = 'bob'", run_id="second epoch")
        session.dp_count(0.3)


def leak(path: Path) -> None:
    """What that version released for less than it costs: predicates that it took for no row and read as every row."""
    with dpdb.open(TABLE, ledger=path) as session:
        session.dp_count(0.5, where="age < 3", run_id="honest")
        for run_id, where in {"false": "false", "not true": "NOT true", "neither": "true AND false"}.items():
            session.dp_count(1, where=where, run_id=run_id)


def main(name: str) -> None:
    path = Path(__file__).with_name(f"{name}.ledger")
    for suffix in ("", "-head"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    terms = {"notion": "zcdp", "delta": 1e-6, "append_only": True} if name == "format-2-zcdp" else {}
    Ledger.create(path, 3, **terms).close()
    leak(path) if name == "format-2-leaks" else spend(path, name)
    with Ledger.open(path) as ledger:
        said = {"summary": asdict(ledger.summary()), "history": [asdict(entry) for entry in ledger.history()]}
    connection = sqlite3.connect(path)
    answers = "SELECT entry, answer FROM answer" if name == "format-3" else "SELECT number, answer FROM entry"
    said["answers"] = {entry: answer for entry, answer in connection.execute(answers) if answer is not None}
    said["requests"] = dict(connection.execute("SELECT number, request FROM entry"))
    connection.close()
    path.with_suffix(".json").write_text(json.dumps(said, indent=1) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
