"""What breaks in mid-release, and Spark Connect: each in a process of its own, because a session cannot be mended."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers_spark import FOLDERS, SETTINGS, why_no_spark

PREAMBLE = f"""
import os, random, signal, subprocess, sys, threading, time, warnings
warnings.simplefilter("ignore")
sys.path[:0] = {FOLDERS!r}
import pyarrow as pa
from helpers_remote import compare, of_no_rows, random_question, statistics
from pyspark.sql import SparkSession
import dpdb
from dpdb.opening import open_table
from dpdb.remote.spark import SparkTable
from dpdb.ledger import Ledger
from dpdb.thresholds import HASHES_PER_SHARED

def session(master, **more):
    builder = SparkSession.builder.master(master)
    for name, value in {{**{SETTINGS!r}, **more}}.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    return made

rng = random.Random(11)
rows = pa.table({{name: [rng.randrange(most) for _ in range(20_000)] for name, most in (("a", 3_000), ("b", 2))}})
rules = ["a -> b"]
"""

KILLED = """
def children(parent):
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True).stdout.splitlines()[1:]
    found = [line.split(None, 2) for line in listed]
    below = [(int(pid), args) for pid, of, args in found if int(of) == parent]
    return below + [each for pid, _ in below for each in children(pid)]

spark = session("local-cluster[2,1,1024]", **{"spark.executor.memory": "900m"})
frame = spark.createDataFrame(rows).repartition(8)
with open_table(rows, constraints=rules) as here:
    wanted = statistics(here)
killed = []

def kill():
    time.sleep(1)
    executors, patience = [], time.monotonic() + 120  # one that died of a busy machine is started again
    while len(executors) < 2 and time.monotonic() < patience:
        executors = [pid for pid, args in children(os.getpid()) if "CoarseGrainedExecutorBackend" in args]
    killed.append((len(executors), executors[0]))
    os.kill(executors[0], signal.SIGKILL)

found = []
with open_table(frame, constraints=rules, gather_rows=20_000) as there:
    found.append(statistics(there))
    killer = threading.Thread(target=kill)
    killer.start()
    while killer.is_alive() or len(found) < 5:
        found.append(statistics(there))
    killer.join()
assert killed[0][0] == 2
print("equal", [each == wanted for each in found].count(True), "of", len(found), "edges", wanted["degrees"][0])
assert all(each == wanted for each in found)
"""

STOPPED = """
folder = sys.argv[1]
Ledger.create(f"{folder}/rows.ledger", epsilon=3)
ask = SparkTable.ask
for round in range(2):
    spark = session("local[2]")
    frame = spark.createDataFrame(rows)
    asked = []

    def stopped(table, tree):
        asked.extend([] if of_no_rows(tree) else [tree])
        if len(asked) == 3:  # the content when it is opened, again before the debit, then a release's first query
            spark.stop()
        return ask(table, tree)

    with dpdb.open(frame, constraints=rules, ledger=f"{folder}/rows.ledger", gather_rows=20_000) as opened:
        if round == 0:
            SparkTable.ask = stopped
        else:
            SparkTable.ask = ask
        asked.append("opening") if round == 0 else None
        try:
            release = opened.dp_inconsistency("repair", 1, run_id="monday")
            print("answered", round, release.epsilon)
        except dpdb.DpdbError as error:
            print("failed", round, type(error).__name__, error)
        print("spent", opened.spent())
"""

CONNECT = """
spark = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2").getOrCreate()
spark.conf.set("spark.sql.session.timeZone", "UTC")
frame = spark.createDataFrame(rows)
print(type(frame).__module__)
compare(rows, frame, rules, "b < 2")
HASHES_PER_SHARED.at = 1  # the hashes of all rows are lent
compare(rows, frame, ["UNIQUE(a, b)"])
compared = 1
for seed in range(300, 310):
    table, constraints, where = random_question(random.Random(seed))
    if table.num_rows:  # Connect makes no frame of an empty table
        compare(table, spark.createDataFrame(table), constraints, where)
        compared += 1
frame.createOrReplaceTempView("numbers")
from dpdb.doors.cli.main import main
assert main(["measure", "spark:numbers", "--constraints", "a -> b", "--gather-rows", "20000", "--epsilon", "10"]) == 0
assert [view.name for view in spark.catalog.listTables()] == ["numbers"]
remote = SparkTable(frame, "numbers")
for lent in (rows.slice(0, 0), rows.slice(0, 3)):
    assert spark.table(remote.lend("small", lent).name).count() == lent.num_rows
    remote.take_back("small")
print("equal on", compared, "tables")
spark.stop()
"""


def run(program: str, *arguments: str, **environment: str) -> str:
    reason = why_no_spark()
    if reason is not None:
        pytest.skip(reason)
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + program, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, **environment},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    return done.stdout


@pytest.mark.slow
def test_an_executor_is_killed_in_the_middle(tmp_path: Path) -> None:
    assert "equal" in run(KILLED, SPARK_LOCAL_DIRS=str(tmp_path))


@pytest.mark.slow
def test_the_session_is_stopped_between_debit_and_answer(tmp_path: Path) -> None:
    shown = run(STOPPED, str(tmp_path), SPARK_LOCAL_DIRS=str(tmp_path)).splitlines()
    assert shown[0].startswith("failed 0 EngineError the release failed after its budget was debited")
    assert shown[1:] == ["spent 1.0", "answered 1 1.0", "spent 1.0"]


@pytest.mark.slow
def test_connect_gives_the_same_values(tmp_path: Path) -> None:
    shown = run(CONNECT, SPARK_LOCAL_DIRS=str(tmp_path))
    assert shown.startswith("pyspark.sql.connect")
    assert "equal on " in shown
