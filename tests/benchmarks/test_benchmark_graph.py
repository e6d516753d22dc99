"""Speed against named peers, in one run: `pytest -m benchmark -s tests/benchmarks`. Prints one table of ratios.

Tables are those of `examples/make_data.py`, dirtied by RNoise with fixed seeds. Every
program runs in a process of its own, after a warm-up that fills the kernel cache, and peers in an environment of their
own (`peers.txt`). Seconds depend on the machine; what
is asserted are ratios within the run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from benchmark_data import data_folder
from conditions import conditions
from peers import PEERS, peers_python

HERE = Path(__file__).resolve().parent
CROSS_COLUMN_RULE = (
    "not(t1.gender='M'&t1.zip=t2.zip&t1.gender=t2.gender&t1.child_exemp=t2.married_exemp&t1.rate!=t2.rate)"
)

pytestmark = pytest.mark.benchmark


def run(program: str, source: str, rules: str, *more: str) -> dict[str, Any]:
    """Run one program and read its JSON; a peer runs in its own environment, and gets rules as predicates."""
    if program in PEERS:
        command = [str(peers_python()), str(HERE / f"run_{program}.py"), source, conditions(source, rules)]
    else:
        command = [sys.executable, str(HERE / f"run_{program}.py"), source, rules, *more]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def noisy(folder: Path, file: str, rules: str, alpha: float, rows: int) -> tuple[str, str]:
    """Write a dirtied sample; returns its path and that of its constraints."""
    from dpdb.owner.dirt import write_noisy

    out, constraints = folder / f"{file}-{alpha}-{rows}.parquet", data_folder() / f"{rules}.dcs.txt"
    write_noisy(data_folder() / f"{file}.parquet", constraints, out, "rnoise", alpha=alpha, sample=rows, seed=1)
    return str(out), str(constraints)


def report(label: str, ours: dict[str, Any], **peers: dict[str, Any]) -> None:
    """Print one row: ours and every peer with its ratio."""
    columns = [f"{label:22} {ours['edges']:>12,} edges  dpdb {ours['total']:7.2f} s {ours['peak GB']:5.2f} GB"]
    columns += [
        f"{name} {p['total']:7.2f} s {p['peak GB']:5.2f} GB = {p['total'] / ours['total']:6.1f}x"
        for name, p in peers.items()
    ]
    print("  |  ".join(columns))
    print("   ", ", ".join(f"{step} {seconds:.2f} s" for step, seconds in ours["steps"].items()), end="")
    print(f"; second release {ours['second'] * 1000:.0f} ms; import {ours['import']:.2f} s")


def test_small_tables(tmp_path: Path) -> None:
    cases = [("tax_synthetic", "tax", 10_000), ("adult", "adult", 10_000), ("adult", "adult", 32_561)]
    run("dpdb", *noisy(tmp_path, "adult", "adult", 0.01, 2_000))
    for file, rules, rows in cases:
        for alpha in (0.005, 0.01):
            arguments = noisy(tmp_path, file, rules, alpha, rows)
            ours, naive, polars = run("dpdb", *arguments), run("naive_duckdb", *arguments), run("polars", *arguments)
            report(f"{file} {rows:,} {alpha:.1%}", ours, naive=naive, polars=polars)
            assert ours["edges"] == naive["edges"] == polars["edges"]


def test_start_of_a_process(tmp_path: Path) -> None:
    """Whole processes on 10,000 rows, in pairs: `dpdb measure`, and the naive join in DuckDB."""
    source, rules = noisy(tmp_path, "tax_synthetic", "tax", 0.005, 10_000)
    measure = ["-m", "dpdb", "measure", source, "--constraints", rules, "--measure", "all", "--epsilon", "1", "--quiet"]
    commands = [measure, [str(HERE / "run_naive_duckdb.py"), source, conditions(source, rules)]]
    pythons = sys.executable, str(peers_python())
    rounds = [[seconds_of(*pair) for pair in zip(pythons, commands, strict=True)] for _ in range(11)][1:]
    for unit, name in enumerate(("CPU", "wall")):
        ours, naive = (median(seconds[which][unit] for seconds in rounds) for which in (0, 1))
        ratio = median(ours[unit] / naive[unit] for ours, naive in rounds)
        print(f"start, 10,000 rows, {name}: dpdb {ours:.2f} s, naive {naive:.2f} s, median ratio {ratio:.2f}")
        assert ratio < 1.25


def test_first_use(tmp_path: Path) -> None:
    """The demo with nothing compiled yet, and again."""
    demo = ["-m", "dpdb", "demo", "--quiet"]
    cold, warm = (seconds_of(sys.executable, demo, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    print(f"demo: first {cold[0]:.1f} CPU s, {cold[1]:.1f} s; again {warm[0]:.1f} CPU s, {warm[1]:.1f} s")
    assert cold[0] > warm[0]


def seconds_of(python: str, arguments: list[str], **environment: str) -> tuple[float, float]:
    """CPU and wall seconds of a process."""
    before, start = os.times(), time.perf_counter()
    run = [python, *arguments]
    subprocess.run(run, check=True, capture_output=True, env={**os.environ, **environment})
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return cpu, time.perf_counter() - start


def test_networkx_on_adult(tmp_path: Path) -> None:
    arguments = noisy(tmp_path, "adult", "adult", 0.01, 10_000)
    run("dpdb", *arguments)
    ours, peer = run("dpdb", *arguments), run("networkx", *arguments)
    report("adult 10,000 1.0%", ours, networkx=peer)
    print(
        f"    kernels loaded, from file to answers: {ours['warm']:.2f} s; networkx {peer['total'] / ours['warm']:.0f}x"
    )
    assert ours["edges"] == peer["edges"]
    assert peer["total"] / ours["warm"] > 200


def test_growth_of_dependencies(tmp_path: Path) -> None:
    """FD-only constraints: from 100k to 1M rows edges grow about 100 times, time at most 15 times."""
    rules = tmp_path / "fds.txt"
    lines = (data_folder() / "tax.dcs.txt").read_text().splitlines()
    rules.write_text("\n".join(line for line in lines if line.count("!=") == 1))
    found = []
    for rows in (100_000, 1_000_000):
        source, _ = noisy(tmp_path, "tax_synthetic", "tax", 0.005, rows)
        found.append(run("dpdb", source, str(rules)))
        report(f"tax FDs {rows:,}", found[-1])
    small, large = found
    print(f"    edges grow {large['edges'] / small['edges']:.0f}x, time {large['total'] / small['total']:.1f}x")
    assert large["total"] / small["total"] < 15


@pytest.mark.parametrize(
    ("file", "rules", "alpha", "rows"),
    [
        ("tax_synthetic", "tax", 0.005, 100_000),
        ("tax_synthetic", "tax", 0.01, 100_000),
        ("tax_synthetic", "tax", 0.003, 1_000_000),
    ],
)
def test_large_tables(tmp_path: Path, file: str, rules: str, alpha: float, rows: int) -> None:
    arguments = noisy(tmp_path, file, rules, alpha, rows)
    ours, naive = run("dpdb", *arguments), run("naive_duckdb", *arguments)
    report(f"{file} {rows:,} {alpha:.1%}", ours, naive=naive)
    assert ours["edges"] == naive["edges"]
    assert naive["total"] / ours["total"] > 8 or rows < 1_000_000
    assert ours["peak GB"] < 4


def test_flight_at_full_size(tmp_path: Path) -> None:
    """500,000 rows and 13 dependencies; the naive plan does not end in reasonable time, so only ours is printed."""
    ours = run("dpdb", *noisy(tmp_path, "flight_synthetic", "flight", 0.005, 500_000))
    report("flight 500,000 0.5%", ours)
    assert ours["peak GB"] < 4


def test_one_gigabyte_is_enough_for_a_million_rows(tmp_path: Path) -> None:
    arguments = noisy(tmp_path, "tax_synthetic", "tax", 0.005, 1_000_000)
    limited = run("dpdb", *arguments, json.dumps({"memory_limit": "1GB", "temp_directory": str(tmp_path)}))
    report("tax 1,000,000, 1GB", limited)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("dpdb-")]


def test_a_condition_costs_less_than_the_dependency(tmp_path: Path) -> None:
    """A dependency among a million rows against the same one among those that meet a condition: within 2x."""
    source, _ = noisy(tmp_path, "tax_synthetic", "tax", 0.003, 1_000_000)
    run("dpdb", source, "zip -> city")
    plain = run("dpdb", source, "zip -> city")
    conditional = run("dpdb", source, "not(t1.gender='M'&t2.gender='M'&t1.zip=t2.zip&t1.city!=t2.city)")
    for label, found in (("zip -> city", plain), ("if gender = 'M'", conditional)):
        report(label, found)
    print(f"    cpu {conditional['cpu'] / plain['cpu']:.2f}x, memory {conditional['peak GB'] / plain['peak GB']:.2f}x")
    assert conditional["cpu"] / plain["cpu"] < 2
    assert conditional["peak GB"] / plain["peak GB"] < 2


def test_a_constraint_without_blocks_lists_its_own_edges_only(tmp_path: Path) -> None:
    """Dependencies of a million rows, and with a cross-column rule of a million conflicts: within 3x."""
    source, _ = noisy(tmp_path, "tax_synthetic", "tax", 0.003, 1_000_000)
    lines = [line for line in (data_folder() / "tax.dcs.txt").read_text().splitlines() if line.count("!=") == 1]
    alone, beside = tmp_path / "alone.txt", tmp_path / "beside.txt"
    alone.write_text("\n".join(lines))
    beside.write_text("\n".join([*lines, CROSS_COLUMN_RULE]))
    run("dpdb", source, str(beside))
    blocks, mixed = run("dpdb", source, str(alone)), run("dpdb", source, str(beside))
    for label, found in (("dependencies", blocks), ("and a rule without", mixed)):
        report(label, found)
    print(f"    {mixed['edges'] - blocks['edges']:,} edges more: cpu {mixed['cpu'] / blocks['cpu']:.2f}x,", end=" ")
    print(f"memory {mixed['peak GB'] / blocks['peak GB']:.2f}x")
    assert mixed["edges"] - blocks["edges"] > 900_000
    assert mixed["cpu"] / blocks["cpu"] < 3
    assert mixed["peak GB"] / blocks["peak GB"] < 3
