"""What is left of memory is measured when a database is opened, and what is listed is kept on disk beyond a limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dpdb.database import database as of_database
from dpdb.database.database import Database, available_memory

MIB = 1 << 20


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in ({"proc/meminfo": "MemTotal: 9 kB\nMemAvailable:    1048576 kB\n"} | files).items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.mark.parametrize(
    ("files", "mebibytes"),
    [
        ({}, 1024),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 1024),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/memory.max": f"{500 * MIB}\n",
                "sys/fs/cgroup/a/memory.current": f"{300 * MIB}\n",
                "sys/fs/cgroup/a/memory.stat": f"anon 7\ninactive_file {50 * MIB}\n",
                "sys/fs/cgroup/a/b/memory.max": "max\n",
            },
            250,
        ),
        (
            {
                "proc/self/cgroup": "5:cpu:/x\n4:hugetlb,memory:/y\n",
                "sys/fs/cgroup/memory/y/memory.limit_in_bytes": f"{400 * MIB}\n",
                "sys/fs/cgroup/memory/y/memory.usage_in_bytes": f"{100 * MIB}\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            300,
        ),
        ({"proc/self/cgroup": "0::/gone\n", "sys/fs/cgroup/memory.max": f"{MIB}\n"}, 1),
    ],
    ids=["no group", "no limit", "a group above", "version 1", "a container"],
)
def test_the_least_of_what_is_left_counts(files: dict[str, str], mebibytes: int, tmp_path: Path) -> None:
    assert available_memory(machine(tmp_path, files)) == mebibytes * MIB


def limit(database: Database) -> str:
    return str(database.value("SELECT current_setting('memory_limit')"))


def test_a_database_takes_half_of_it_or_what_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(of_database, "available_memory", lambda: 3 << 30)
    with Database() as database:
        assert limit(database) == "1.5 GiB"
        database.spill_beyond(2 << 30)  # never more
        assert limit(database) == "1.5 GiB"
        database.spill_beyond(1 << 30)
        assert limit(database) == "1.0 GiB"
    with Database(memory_limit="2GiB") as database:
        database.spill_beyond(1 << 30)
        assert limit(database) == "2.0 GiB"
    monkeypatch.setattr(of_database, "available_memory", lambda: 5 << 20)
    with Database() as database:
        assert limit(database) == "256.0 MiB"


LISTING = """
import numpy as np, pyarrow as pa
from pathlib import Path
from dpdb.opening import open_table
from dpdb.engine import slice as of_slice

def peak():  # ru_maxrss would start from the parent's
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

rows = 3_500
rng = np.random.default_rng(1)
table = pa.table({"g": np.zeros(rows, int), "p": rng.integers(0, 10**6, rows), "q": rng.integers(0, 10**6, rows)})
for mebibytes in 80, 4_000:
    of_slice._LISTED_MEMORY = mebibytes << 20
    with open_table(table, constraints="not(t1.g=t2.g & t1.p>t2.q)", threads=2) as opened:
        print(opened.slice().edges.edge_count, peak())
"""


@pytest.mark.heavy(family="alone")
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peaks of memory are read from /proc")
def test_listed_pairs_are_kept_on_disk() -> None:
    """Four million pairs, of 12 bytes before they are sorted and as many after: a lower limit is felt."""
    found = subprocess.run([sys.executable, "-c", LISTING], capture_output=True, check=True, text=True).stdout
    (pairs, little), (same, much) = (map(int, line.split()) for line in found.splitlines())
    assert pairs == same > 4_500_000
    assert much - little > 48 << 10
