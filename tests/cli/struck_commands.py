"""Commands that are busy for a while, and a signal that strikes one of them at some time."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpdb.doors.cli import main
from dpdb.ledger import Ledger

__all__ = ["COMMANDS", "Struck", "busy_folder", "strike", "wait_for_handlers"]

RULES = "zip -> city\nnot(t1.age>t2.age&t1.fee<t2.fee)\nnot(t1.zip=t2.zip&t1.state!=t2.state&t1.age<t2.age)\n"
JOB = """\
name = "busy"
source = "t.parquet"
constraints = "rules.txt"
ledger = "t.ledger"
results = "{results}"
[[release]]
name = "one"
epsilon = 0.001
[[release]]
name = "two"
measure = "repair"
epsilon = 0.001
by = "state"
keys = ["0", "1", "2"]
"""
STATEMENT = "SELECT measure, value FROM dp_inconsistency('t', epsilon := 0.001)"

COMMANDS = {
    "measure": "measure t.parquet --constraints rules.txt --epsilon 0.001 --ledger t.ledger --format json",
    "measure to a file": "measure t.parquet --constraints rules.txt --epsilon 0.001 --ledger t.ledger --out {out}.json",
    "count": "count t.parquet --epsilon 0.001 --ledger t.ledger --by zip --keys 1,2,3 --format json",
    "exact": "exact t.parquet --constraints rules.txt --non-private --violations {out}.parquet --format json",
    "exact repair": "exact hard.parquet --constraints hard.txt --non-private --time-limit 60 --format json",
    "r2t": "measure wide.parquet --constraints 'a -> b' --epsilon 0.001 --measure minimal_inconsistency "
    "--mechanism r2t --max-degree 64 --ledger wide.ledger --format json",
    "plan": "plan --schema 'zip VARCHAR, city VARCHAR, a BIGINT, b BIGINT' --constraints 'zip -> city' "
    "--constraints 'not(t1.a>t2.a&t1.b<t2.b)' --rows 50000 --error-rate 0.01 --format json",
    "run": "run {job} --run-id {out} --format json",
    "sql": f'sql t.parquet --constraints rules.txt --ledger t.ledger --format json "{STATEMENT}"',
    "noise": "noise conoise t.parquet --constraints rules.txt --iterations 100000 --seed 1 --out {out}.parquet",
    "overlap": "overlap boxes.sql --schema 'a BIGINT, b BIGINT, c BIGINT, d BIGINT, e BIGINT, f BIGINT' "
    "--deadline 30 --format json",
    "report": "report results.duckdb --out {out}.html",
    "explain": "explain t.parquet --constraints rules.txt --format json",
    "demo": "demo",
}


@dataclass(frozen=True)
class Struck:
    """How a command ended after a signal."""

    command: str
    number: signal.Signals
    after: float
    seconds: float
    code: int
    out: str
    err: str


def busy_folder(folder: Path, rows: int) -> Path:
    """Fill a folder with what the commands need."""
    rng = np.random.default_rng(3)
    zips = rng.integers(0, rows // 20, rows)
    table = pa.table(
        {
            "zip": zips.astype(str),
            "city": np.where(rng.random(rows) < 0.02, rng.integers(0, 50, rows), zips % 97).astype(str),
            "state": (zips % 7).astype(str),
            "age": rng.integers(0, 200, rows),
            "fee": rng.integers(0, 200, rows),
        }
    )
    pq.write_table(table, folder / "t.parquet")
    hard = pa.table({name: rng.integers(0, 3 if name in "bdf" else 800, 3_000) for name in "abcdef"})
    pq.write_table(hard, folder / "hard.parquet")
    (folder / "hard.txt").write_text("a -> b\nc -> d\ne -> f\n")
    pq.write_table(pa.table({name: rng.integers(0, 300, 30_000) for name in "ab"}), folder / "wide.parquet")
    (folder / "rules.txt").write_text(RULES)
    for name in ("results.duckdb", "parquet"):
        (folder / f"{Path(name).stem}.toml").write_text(JOB.format(results=name))
    for name in ("t", "wide", "small"):
        Ledger.create(folder / f"{name}.ledger", 1_000).close()
    small = (folder / "results.toml").read_text().replace("t.parquet", "small.parquet")
    (folder / "small.toml").write_text(small.replace("t.ledger", "small.ledger"))
    pq.write_table(table.slice(0, 100), folder / "small.parquet")
    assert main(["run", str(folder / "small.toml"), "--run-id", "first", "--quiet"]) == 0
    boxes = [
        " AND ".join(f"{c} BETWEEN {a} AND {a + 40}" for c, a in zip("abcdef", rng.integers(0, 60, 6), strict=True))
        for _ in range(400)
    ]
    (folder / "boxes.sql").write_text("\n".join(boxes))
    return folder


def strike(folder: Path, name: str, number: signal.Signals, after: float, attempt: int) -> Struck:
    """Start a command, send it a signal, a second one if it is asked only, and see how and when it ends."""
    words = shlex.split(
        COMMANDS[name].format(out=f"out-{attempt}", job="results.toml" if attempt % 2 else "parquet.toml")
    )
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [sys.executable, "-m", "dpdb", *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"TMPDIR": str(temporary), "PYTHONFAULTHANDLER": "1"},
    )
    wait_for_handlers(process)
    time.sleep(after)
    process.send_signal(number)
    began = time.monotonic()
    try:
        out, err = process.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # shows where it is
        out, err = process.communicate()
    return Struck(name, number, after, time.monotonic() - began, process.returncode, out, err)


def wait_for_handlers(process: subprocess.Popen[str]) -> None:
    """Wait until a command has its handlers: before, signals are Python's own affair."""
    wanted = 1 << (signal.SIGTERM - 1)
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt"))
        if int(caught, 16) & wanted:
            return
        time.sleep(0.001)
