"""The scripts behind paper B's figures: one runs in quick form, with and without matplotlib; all of them exist."""

from __future__ import annotations

import csv
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples" / "parallel_composition_paper"
WITHOUT = (
    "import sys, runpy; sys.modules['matplotlib'] = None; del sys.argv[0];"
    "sys.path.insert(0, sys.argv[0].rpartition('/')[0]); runpy.run_path(sys.argv[0], run_name='__main__')"
)


def run(*program: str, out: Path) -> str:
    """Run a script in quick form and return what it printed."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *program, str(out), "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.heavy(family="long")
def test_table_1_without_matplotlib(tmp_path: Path) -> None:
    shown = run("-c", WITHOUT, str(FOLDER / "table_1.py"), out=tmp_path / "new")
    assert "no table_1.png: matplotlib is not installed" in shown
    assert "synthetic workload in place of the paper's logs" in shown
    assert "20.1%" in shown
    with (tmp_path / "new" / "table_1.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["queries"]) for row in rows] == [9, 120, 2, 267, 54, 68, 41, 38, 284, 883]
    for row in rows:
        assert 1 <= int(row["overlap"]) <= int(row["queries"])
        assert float(row["error_sequential"]) == pytest.approx(float(row["paper_error_sequential"]), rel=0.01)


@pytest.mark.heavy(family="long")
def test_table_1_draws_a_picture(tmp_path: Path) -> None:
    if importlib.util.find_spec("matplotlib") is None:
        pytest.skip("matplotlib is not installed (extra `figures`)")
    run(str(FOLDER / "table_1.py"), out=tmp_path)
    assert (tmp_path / "table_1.png").read_bytes().startswith(b"\x89PNG")


def test_every_figure_of_the_paper_has_a_script() -> None:
    wanted = {f"figure_{number}.py" for number in (1, 2, 3, 4, 5, 6, 7, 9, 10)} | {"table_1.py", "run_all.py"}
    assert wanted <= {path.name for path in FOLDER.iterdir()}
