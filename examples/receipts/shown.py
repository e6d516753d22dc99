"""A job's receipts, their verification without the ledger, a table of mutations, and a rollback that a witness catches.

    python examples/receipts/shown.py

Runs the bundled table in a temporary folder; takes a few seconds.
"""

from __future__ import annotations

import base64
import copy
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpdb.doors.cli import main
from dpdb.errors import ReceiptError
from dpdb.receipts import load_public, open_receipt, read_receipts
from dpdb.receipts.statement import canonical

DATA = Path(__file__).parents[1] / "data"
JOB = f"""\
name = "hospital"
source = "{DATA / "hospital.parquet"}"
constraints = "{DATA / "hospital.dcs.txt"}"
ledger = "owner/hospital.ledger"
results = "owner/results.duckdb"
receipt = "owner/receipts.jsonl"
receipt_key = "keys/receipts.key"
[[release]]
name = "rows"
measure = "count"
epsilon = 0.1
[[release]]
name = "by state"
measure = "count"
epsilon = 0.5
by = "state"
keys = ["AL", "AK"]
"""
LEDGER = "owner/hospital.ledger"
WITNESS = "dpdb witness elsewhere/witness --ledger owner/hospital.ledger --receipt-key keys/receipts.key"


def told(command: str) -> int:
    """Run a command, show it with its exit code, and return that."""
    print(f"\n$ {command}", flush=True)
    code = main(command.split()[1:])
    print(f"exit code {code}", flush=True)
    return code


def changed(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Give a JSON value with one field changed, removed or reordered, with the name of the field."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield name, {key: kept for key, kept in value.items() if key != name}
            yield from ((name, {**value, name: other}) for _, other in changed(one, name))
    elif isinstance(value, list):
        if len(value) > 1 and value != value[::-1]:
            yield path, value[::-1]
        for place, one in enumerate(value):
            yield path, value[:place] + value[place + 1 :]
            yield from ((path, [*value[:place], other, *value[place + 1 :]]) for _, other in changed(one, path))
    elif isinstance(value, str):
        yield path, f"{value}x"
    else:
        yield path, 1 if value is None else not value if isinstance(value, bool) else value + 1


def mutations(line: bytes, public: str) -> dict[str, tuple[int, int]]:
    """Return by part of a receipt how many changes of single fields are refused, and how many were tried."""
    key, tried, refused = load_public(public), Counter[str](), Counter[str]()
    envelope = json.loads(line)
    statement = json.loads(base64.b64decode(envelope["payload"]))
    cases = [("envelope", other) for _, other in changed(envelope)]
    for part, content in {**statement, **statement["predicate"]}.items():
        for _, other in changed(content, part) if part != "predicate" else ():
            stated = copy.deepcopy(statement)
            (stated if part in statement else stated["predicate"])[part] = other
            cases.append((part, {**envelope, "payload": base64.b64encode(canonical(stated)).decode()}))
    for part, other in cases:
        tried[part] += 1
        try:
            open_receipt(canonical(other), [key])
        except ReceiptError:
            refused[part] += 1
    return {part: (refused[part], tried[part]) for part in tried}


def show() -> dict[str, Any]:
    """Show everything in the current folder, which is empty; return the exit codes and counts."""
    for folder in ("owner", "keys", "elsewhere", "backup"):
        Path(folder).mkdir()
    Path("job.toml").write_text(JOB)
    made = [
        told("dpdb receipts key keys/receipts.key --name example.org/hospital"),
        told(f"dpdb budget create {LEDGER} --epsilon 5"),
        told("dpdb run job.toml --run-id 2026-11-23 --quiet"),
    ]
    print("\nOn another machine, without the ledger and without the data:")
    for file in ("owner/receipts.jsonl", "keys/receipts.key.pub"):
        shutil.copy2(file, "elsewhere")
    elsewhere = told("dpdb verify elsewhere/receipts.jsonl --key elsewhere/receipts.key.pub")
    print("\nOne field of a receipt is changed, removed or put in another order:")
    counts = mutations(read_receipts("owner/receipts.jsonl")[1], "keys/receipts.key.pub")
    for part, (refused, tried) in counts.items():
        print(f"  {part:20} refused {refused:4} of {tried:4}")
    print("\nThe ledger and its head are put back together, with the key's memory and the job's receipts:")
    files = [LEDGER, f"{LEDGER}-head", "owner/receipts.jsonl", "keys/receipts.key-signed"]
    for file in files:
        shutil.copy2(file, "backup")
    later = [told("dpdb run job.toml --run-id 2026-11-24 --quiet"), told(WITNESS)]
    shutil.copy2("owner/receipts.jsonl", "elsewhere")
    for file in files:
        shutil.copy2(f"backup/{Path(file).name}", file)
    unnoticed = told(f"dpdb budget show {LEDGER}")
    witness = told(WITNESS)
    older = told(f"dpdb verify elsewhere/receipts.jsonl --key keys/receipts.key.pub --ledger {LEDGER}")
    shutil.copy2("elsewhere/receipts.jsonl", "owner")
    job = told("dpdb run job.toml --run-id 2026-11-25 --quiet")
    return {
        "made": made, "elsewhere": elsewhere, "mutations": counts, "later": later, "unnoticed": unnoticed,
        "witness": witness, "older receipt": older, "job": job,
    }  # fmt: skip


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        found = show()
        os.chdir("/")
    sys.exit(0 if (found["witness"], found["job"]) == (3, 3) else 1)
